package nodeport

import (
	"fmt"
	"net/netip"
	"regexp"

	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The members of additionalParams that the driver reads.
const (
	// ParamKey is the load balancer: script_path and external_lb_param with ssh_ip, ssh_username and ssh_password.
	ParamKey = "lcm-kubernetes-external-lb"
	// defFiles are the manifests of the CNF, and namespace where those go that do not name one; both are the infra
	// driver's.
	defFiles       = "lcm-kubernetes-def-files"
	namespaceParam = "namespace"
)

// balancer is the machine of the load balancer and the login to it.
type balancer struct {
	address  netip.Addr
	username string
	password string
	// privateKey is in PEM, "" for a login with the password.
	privateKey string
	// script is the path of the package's script, which the driver does not run; "" for none.
	script string
}

var userName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

// parse reads the load balancer; nil when the parameters do not have it, or have null in its place.
func parse(params sol.KeyValuePairs) (*balancer, []lcm.InvalidParam) {
	value, ok := params[ParamKey]
	if !ok || value == nil {
		return nil, nil
	}
	r := &reader{}
	top := r.object(value, "/additionalParams/"+ParamKey)
	login := group{r: r, pointer: top.pointer + "/external_lb_param"}
	if member, ok := top.m["external_lb_param"]; ok && member != nil {
		login = r.object(member, login.pointer)
	} else if top.m != nil {
		top.fail("external_lb_param", "is required: the address of the load balancer and the login to it")
	}
	b := &balancer{script: top.text("script_path")}
	if login.m != nil {
		b.login(login)
	}
	return b, r.bad
}

// login reads external_lb_param.
func (b *balancer) login(g group) {
	if text := g.must("ssh_ip"); text != "" {
		var err error
		if b.address, err = parseAddress(text); err != nil {
			g.fail("ssh_ip", err.Error())
		}
	}
	if b.username = g.must("ssh_username"); b.username != "" && !userName.MatchString(b.username) {
		g.fail("ssh_username", "is not the name of a user")
	}
	b.privateKey = g.text("private_key")
	if b.privateKey == "" {
		b.password = g.must("ssh_password")
		return
	}
	b.password = g.text("ssh_password")
	if _, err := ssh.ParsePrivateKey([]byte(b.privateKey)); err != nil {
		g.fail("private_key", "is not a private key in PEM or OpenSSH format without a passphrase")
	}
}

// parseAddress reads an IP address. A prefix that has one address is the address: other VNFMs accept it.
func parseAddress(text string) (netip.Addr, error) {
	if p, err := netip.ParsePrefix(text); err == nil && p.IsSingleIP() {
		return p.Addr(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsUnspecified() || a.IsMulticast() {
		return netip.Addr{}, fmt.Errorf("%q is not the IP address of a machine", text)
	}
	return a, nil
}

// reader gathers everything that is wrong.
type reader struct{ bad []lcm.InvalidParam }

// object returns a JSON object; its members are nil when it is none.
func (r *reader) object(value any, pointer string) group {
	m, ok := value.(map[string]any)
	if !ok {
		r.bad = append(r.bad, lcm.InvalidParam{Pointer: pointer, Detail: "is not an object"})
	}
	return group{r, pointer, m}
}

// group is one JSON object of the parameters.
type group struct {
	r       *reader
	pointer string
	m       map[string]any
}

func (g group) fail(member, detail string) {
	g.r.bad = append(g.r.bad, lcm.InvalidParam{Pointer: g.pointer + "/" + member, Detail: detail})
}

// text returns a member that may be missing.
func (g group) text(member string) string {
	v, ok := g.m[member]
	if !ok || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		g.fail(member, "is not a string")
	}
	return s
}

// must returns a member that may not be missing.
func (g group) must(member string) string {
	s := g.text(member)
	if v, ok := g.m[member]; s == "" && (!ok || v == nil || v == "") {
		g.fail(member, "is required")
	}
	return s
}
