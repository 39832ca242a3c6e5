package cloud

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// VimType is the type of VIM that this package drives (the registry of ETSI NFV-SOL 003, VimConnectionInfo.vimType).
const VimType = "ETSINFV.OPENSTACK_KEYSTONE.V_3"

// connection is a VimConnectionInfo made sense of.
type connection struct {
	base string // Keystone's URL without version and trailing slash

	username, userID, userDomain, userDomainID         string
	project, projectID, projectDomain, projectDomainID string
	region, password                                   string
	// An application credential logs in to its own project, without any other names.
	appID, appName, appSecret string
	cas                       []string // PEM
	skipVerify, skipHostname  bool
}

// parseConnection reads the connection with this key. It reports everything that is missing or wrong, with pointers
// into the request.
func parseConnection(key string, v sol.VimConnectionInfo) (connection, []lcm.InvalidParam) {
	p := connParser{at: "/vimConnectionInfo/" + lcm.Escape(key)}
	var c connection
	c.base = p.endpoint(v.InterfaceInfo)
	c.skipVerify = p.flag(v.InterfaceInfo, "skipCertificateVerification")
	c.skipHostname = p.flag(v.InterfaceInfo, "skipCertificateHostnameCheck")
	for _, name := range []string{"trustedCertificates", "caCert"} {
		c.cas = append(c.cas, p.certificates(v.InterfaceInfo, name)...)
	}
	a := v.AccessInfo
	c.username, c.userID = p.text(a, "username", "userName"), p.text(a, "userId")
	c.userDomain, c.userDomainID = p.text(a, "userDomain", "userDomainName"), p.text(a, "userDomainId")
	c.project, c.projectID = p.text(a, "project", "projectName"), p.text(a, "projectId")
	c.projectDomain, c.projectDomainID = p.text(a, "projectDomain", "projectDomainName"), p.text(a, "projectDomainId")
	c.region, c.password = p.text(a, "region", "regionName"), p.text(a, "password")
	c.appID, c.appName = p.text(a, "applicationCredentialId"), p.text(a, "applicationCredentialName")
	c.appSecret = p.text(a, "applicationCredentialSecret")
	if c.appID != "" || c.appName != "" {
		c.application(&p)
		return c, p.bad
	}
	if c.username == "" && c.userID == "" {
		p.report("/accessInfo/username", "is missing")
	}
	if c.password == "" {
		p.report("/accessInfo/password", "is missing")
	}
	if c.project == "" && c.projectID == "" {
		p.report("/accessInfo/project", "is missing")
	}
	if c.userID == "" && c.userDomain == "" && c.userDomainID == "" {
		c.userDomain = "Default"
	}
	if c.projectID == "" && c.projectDomain == "" && c.projectDomainID == "" {
		c.projectDomain = "Default"
	}
	return c, p.bad
}

// application checks a connection with an application credential; one that is named needs its user.
func (c *connection) application(p *connParser) {
	if c.appSecret == "" {
		p.report("/accessInfo/applicationCredentialSecret", "is missing")
	}
	if c.appID == "" && c.username == "" && c.userID == "" {
		p.report(
			"/accessInfo/username",
			"is missing: an application credential is known by its id, or by its name and its user",
		)
	}
	if c.appID == "" && c.userID == "" && c.userDomain == "" && c.userDomainID == "" {
		c.userDomain = "Default"
	}
}

// identity is the same for two connections that may share a session.
func (c connection) identity() [sha256.Size]byte {
	return sha256.Sum256([]byte(fmt.Sprintf("%q", []string{
		c.base, c.username, c.userID, c.userDomain, c.userDomainID, c.project, c.projectID, c.projectDomain,
		c.projectDomainID, c.region, c.password, c.appID, c.appName, c.appSecret, strings.Join(c.cas, "\n"),
		strconv.FormatBool(c.skipVerify), strconv.FormatBool(c.skipHostname),
	})))
}

type connParser struct {
	at  string
	bad []lcm.InvalidParam
}

func (p *connParser) report(where, detail string) {
	p.bad = append(p.bad, lcm.InvalidParam{Pointer: p.at + where, Detail: detail})
}

// endpoint accepts Keystone's URL with and without /v3.
func (p *connParser) endpoint(info sol.KeyValuePairs) string {
	const where = "/interfaceInfo/endpoint"
	v, ok := info["endpoint"]
	if !ok {
		p.report(where, "is missing: it is the URL of Keystone, e.g. http://controller/identity/v3")
		return ""
	}
	s, _ := v.(string)
	u, err := url.Parse(strings.TrimRight(s, "/"))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		p.report(where, "is not an http or https URL")
		return ""
	case u.User != nil:
		p.report(where, "contains credentials; these belong in accessInfo")
		return ""
	case u.RawQuery != "" || u.Fragment != "":
		p.report(where, "has a query or a fragment")
		return ""
	case strings.HasSuffix(u.Path, "/v2.0"):
		p.report(where, "is version 2.0 of the Identity API; version 3 is needed")
		return ""
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/auth/tokens"), "/v3")
	u.RawPath = ""
	return strings.TrimRight(u.String(), "/")
}

// text returns the first of the members that is given.
func (p *connParser) text(info sol.KeyValuePairs, names ...string) string {
	for _, n := range names {
		v, ok := info[n]
		if !ok || v == nil {
			continue
		}
		s, ok := v.(string)
		if !ok {
			p.report("/accessInfo/"+n, "is not a string")
		}
		if s != "" {
			return s
		}
	}
	return ""
}

func (p *connParser) flag(info sol.KeyValuePairs, name string) bool {
	switch v := info[name].(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b
		}
	}
	p.report("/interfaceInfo/"+name, "is not a boolean")
	return false
}

// certificates reads PEM text, alone or in a list.
func (p *connParser) certificates(info sol.KeyValuePairs, name string) []string {
	var list []any
	switch v := info[name].(type) {
	case nil:
		return nil
	case []any:
		list = v
	default:
		list = []any{v}
	}
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		pem, ok := pemOf(s)
		if !ok {
			p.report("/interfaceInfo/"+name, "is not a PEM certificate")
			continue
		}
		out = append(out, pem)
	}
	return out
}
