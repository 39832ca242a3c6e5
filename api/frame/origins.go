package frame

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Origins decides which requests of browsers are served. A browser sends requests of any web site to any address that
// it can reach, loopback addresses included.
//
// The Host header has to name this server. Otherwise a site could let its own name point to the server's address (DNS
// rebinding), and read the answers. An IP address is always accepted: a browser sends it only for pages from there.
//
// Requests of pages of other sites that can change something are rejected (http.CrossOriginProtection). Clients that
// are not browsers send neither Origin nor Sec-Fetch-Site, and are not affected.
type Origins struct {
	hosts map[string]bool
	below []string // suffixes with a dot at the start
	all   bool
	cross *http.CrossOriginProtection
}

// NewOrigins makes Origins of the names of this server. *.example.org stands for all names below example.org, and * for
// every name. Names may have a port, which is not compared. trusted are origins such as https://vnfm.example.org whose
// pages may change something; a trusted origin that is not one is an error.
func NewOrigins(hosts, trusted []string) (*Origins, error) {
	o := &Origins{hosts: map[string]bool{}, cross: http.NewCrossOriginProtection()}
	for _, h := range hosts {
		switch h = hostOf(h); {
		case h == "*":
			o.all = true
		case strings.HasPrefix(h, "*."):
			o.below = append(o.below, h[1:])
		default:
			o.hosts[h] = true
		}
	}
	for _, origin := range trusted {
		if err := o.cross.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Check returns CodeMisdirected for a request to another host, and CodeForbidden for one of another site that can
// change something. A nil Origins accepts all.
func (o *Origins) Check(r *http.Request) error {
	if o == nil {
		return nil
	}
	if !o.names(hostOf(r.Host)) {
		return lcm.Errorf(lcm.CodeMisdirected, "%.100q is not a name of this server", r.Host).WithHint(
			"add it to the setting hosts (GYBE_HOSTS), or set public_url, if clients reach the server by this name",
		)
	}
	if err := o.cross.Check(r); err != nil {
		return lcm.Errorf(lcm.CodeForbidden, "the request comes from a page of another web site (Origin %.100q)",
			r.Header.Get("Origin")).WithHint("only pages below public_url may send it")
	}
	return nil
}

// names says whether a host is this server. HTTP/1.0 allows a request without a host, which browsers do not send.
func (o *Origins) names(host string) bool {
	if o.all || host == "" || o.hosts[host] {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for _, suffix := range o.below {
		if strings.HasSuffix(host, suffix) && len(host) > len(suffix) {
			return true
		}
	}
	return false
}

// hostOf returns the host of host:port in the form that is compared.
func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
