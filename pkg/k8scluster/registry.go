package k8scluster

import (
	"context"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// registryScript lets a node pull images from private registries. Packages do not contain it, so that older packages
// work, too.
//
//go:embed nodescripts/registry.sh
var registryScript []byte

const (
	titleRegistry = "connect registries"
	phaseRegistry = "registries"
)

// registry is an entry of private_registry_connection_info.
type registry struct {
	server             string // host, or host:port
	tls                bool
	username, password string
	certificate        string // path of the CA's certificate in the package; "" = the machine's CAs
	hosts              string // line for /etc/hosts
}

// serverText is a registry's name; hostName one of a line in /etc/hosts.
var (
	serverText = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)
	hostName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
)

// registries reads private_registry_connection_info.
func (g group) registries() []registry {
	var out []registry
	for _, e := range g.list("private_registry_connection_info", false) {
		r := registry{
			server: e.must("server"), username: e.text("username"), password: e.text("password"),
			hosts: strings.TrimSpace(e.text("hosts_string")),
		}
		r.certificate = strings.TrimPrefix(e.text("certificate_path"), "./")
		kind, ok := e.m["connection_type"]
		switch fmt.Sprint(kind) { // requests have it as a string or as a number
		case "0":
		case "1":
			r.tls = true
		default:
			if !ok || kind == nil || kind == "" {
				e.missing("connection_type")
			} else {
				e.invalid("connection_type", `it is "0" for HTTP or "1" for HTTPS.`)
			}
		}
		switch {
		case r.server == "":
		case !serverText.MatchString(r.server):
			e.invalid("server", fmt.Sprintf("%q is not a name such as 192.0.2.10:5000.", r.server))
		case slices.ContainsFunc(out, func(o registry) bool { return o.server == r.server }):
			e.fail("server", fmt.Sprintf("%s names the server %s twice.", g.name, r.server))
		}
		if r.username != "" && r.password == "" {
			e.missing("password")
		}
		if r.username == "" && r.password != "" {
			e.missing("username")
		}
		if strings.ContainsFunc(r.username+r.password, func(c rune) bool {
			return c < ' '
		}) || strings.Contains(r.username, ":") {
			e.fail("username", "username or password of a registry have characters that are not allowed there.")
		}
		if r.hosts != "" && !isHostsLine(r.hosts) {
			e.invalid("hosts_string", fmt.Sprintf(
				"%q is not a line for /etc/hosts, such as 192.0.2.10 registry.example.com.", r.hosts,
			))
		}
		out = append(out, r)
	}
	return out
}

func isHostsLine(s string) bool {
	fields := strings.Fields(s)
	if len(fields) < 2 || strings.ContainsAny(s, "\r\n") {
		return false
	}
	if _, err := netip.ParseAddr(fields[0]); err != nil {
		return false
	}
	return !slices.ContainsFunc(fields[1:], func(name string) bool { return !hostName.MatchString(name) })
}

// extras checks the package's files that Helm and registries need.
func (c *checker) extras(p params) {
	if p.helm != "" {
		if _, err := readScript(c.Package, p.helm); err != nil {
			c.fail("helm_installation_script_path",
				"The helm_installation_script_path in the additionalParams is invalid: %v.", err)
		}
	}
	for i, r := range p.registries {
		if r.certificate == "" {
			continue
		}
		raw, err := readScript(c.Package, r.certificate)
		if err == nil {
			err = certificates(raw)
		}
		if err != nil {
			c.fail(fmt.Sprintf("private_registry_connection_info/%d/certificate_path", i),
				"The certificate_path(path:%s) in the additionalParams is invalid: %v.", r.certificate, err)
		}
	}
}

// certificates says whether a file holds certificates, and nothing else.
func certificates(raw []byte) error {
	n := 0
	for {
		block, rest := pem.Decode(raw)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("it holds a %s", strings.ToLower(block.Type))
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err
		}
		n, raw = n+1, rest
	}
	if n == 0 {
		return errors.New("it is not a certificate in PEM")
	}
	return nil
}

// addons is what nodes get beside Kubernetes: private registries on all nodes, Helm on masters.
type addons struct{ *session }

// install gives nodes that are in the cluster their add-ons.
func (x addons) install(ctx context.Context, nodes []node) error {
	return lcm.Each(ctx, x.o.Parallel, nodes, func(ctx context.Context, n node) error {
		if err := x.connectRegistries(ctx, n); err != nil {
			return err
		}
		return x.installHelm(ctx, n)
	})
}

// connectRegistries lets a node pull from the private registries, and makes sure that they accept its login.
func (x addons) connectRegistries(ctx context.Context, n node) error {
	if len(x.p.registries) == 0 {
		return nil
	}
	files, err := x.registryFiles()
	if err != nil {
		return err
	}
	return x.runScript(ctx, titleRegistry, phaseRegistry, n, remote.Job{
		Env: x.proxyVars(), Command: "bash ./registry.sh", Files: files,
	})
}

// registryFiles are the files that the script needs. Logins are in files that are removed when it has ended.
func (x addons) registryFiles() ([]remote.File, error) {
	files := append(library("base.sh"), remote.File{Name: "registry.sh", Mode: 0o700, Content: registryScript})
	var servers, hosts, logins strings.Builder
	type auth struct {
		Auth string `json:"auth"`
	}
	auths := map[string]auth{}
	b64 := base64.StdEncoding.EncodeToString
	for i, r := range x.p.registries {
		scheme, ca := "http", "-"
		if r.tls {
			scheme = "https"
		}
		if r.tls && r.certificate != "" {
			raw, err := readScript(x.w.Package, r.certificate)
			if err != nil {
				return nil, lcm.Errorf(lcm.CodeUnprocessable,
					"The certificate_path(path:%s) in the additionalParams is invalid: %w.", r.certificate, err)
			}
			ca = fmt.Sprintf("ca-%d.crt", i)
			files = append(files, remote.File{Name: ca, Mode: 0o644, Content: raw})
		}
		fmt.Fprintf(&servers, "%s %s %s\n", scheme, r.server, ca)
		if r.hosts != "" {
			fmt.Fprintln(&hosts, r.hosts)
		}
		if r.username != "" {
			login := b64([]byte(r.username + ":" + r.password))
			auths[r.server] = auth{login}
			fmt.Fprintf(&logins, "%s %s\n", r.server, login)
		}
	}
	config := []byte("{}")
	if len(auths) > 0 {
		var err error
		if config, err = json.Marshal(map[string]any{"auths": auths}); err != nil {
			return nil, err
		}
	}
	return append(files,
		remote.File{Name: "servers", Mode: 0o600, Content: []byte(servers.String())},
		remote.File{Name: "hosts", Mode: 0o600, Content: []byte(hosts.String())},
		remote.File{Name: "logins", Mode: 0o600, Content: []byte(logins.String()), Secret: true},
		remote.File{Name: "config.json", Mode: 0o600, Content: config, Secret: true},
	), nil
}

// plainRegistries lists the registries without TLS in the form of HTTP_PRIVATE_REGISTRIES, which installation scripts
// for Docker read.
func (p params) plainRegistries() string {
	var out []string
	for _, r := range p.registries {
		if !r.tls {
			out = append(out, `"`+r.server+`"`)
		}
	}
	return strings.Join(out, ",")
}
