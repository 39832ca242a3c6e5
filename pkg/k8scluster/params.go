package k8scluster

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// ParamKey is the member of additionalParams that the driver reads.
const ParamKey = "k8s_cluster_installation_param"

// The values of parameters that a request leaves out.
const (
	defaultPodCIDR     = "10.0.0.0/8"
	defaultServiceCIDR = "10.96.0.0/12"

	defaultDrainTimeout = 5 * time.Minute
)

// params is k8s_cluster_installation_param, checked.
type params struct {
	script            string // path of the installation script in the package
	vimName           string
	kubernetesVersion string // "" = the script's default
	ciliumVersion     string
	master, worker    login
	podCIDR           string
	serviceCIDR       string // cluster_cidr
	clusterCP         string // resource whose address is the cluster's
	clusterFIP        string // floating IP of it; may be empty
	proxy             proxy
	// drainTimeout is how long the pods of a node that leaves may take to be evicted.
	drainTimeout time.Duration
	// upgradeBatch is how many workers an upgrade of Kubernetes may take out of service at the same time; 0 = the
	// driver decides.
	upgradeBatch int
	// storage is nil when the cluster has no storage server; manifests are the volumes that it offers.
	storage   *storage
	manifests []volumeManifest
	// helm is the path of the script that installs Helm on masters; "" = none.
	helm       string
	registries []registry
}

// login says which machines play a role and how to get in.
type login struct {
	vdu, sshCP, nicCP, username, password, privateKey string
	// keyed says that the request has neither a password nor a private_key: privateKey is the instance's own.
	keyed bool
}

type proxy struct {
	http, https, no string
	// nodes is k8s_node_cidr with its addresses.
	nodes []string
}

var (
	versionText = regexp.MustCompile(`^v?1\.[0-9]{1,3}(\.[0-9]{1,3})?$`)
	ciliumText  = regexp.MustCompile(`^v?1\.[0-9]{1,3}\.[0-9]{1,3}$`)
	userText    = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)
)

// reader walks the parameters and gathers everything that is wrong.
type reader struct {
	bad []lcm.InvalidParam
	// older says that the request is of the older dialect.
	older bool
	key   *lcm.SSHKey // see parse
}

// group is one JSON object of the parameters.
type group struct {
	r       *reader
	name    string // in messages, e.g. "master_node"
	pointer string
	m       map[string]any
}

func (g group) fail(member, detail string) {
	p := g.pointer
	if member != "" {
		p += "/" + lcm.Escape(member)
	}
	g.r.bad = append(g.r.bad, lcm.InvalidParam{Pointer: p, Detail: detail})
}

// text returns a member that may be missing.
func (g group) text(member string) string {
	v, ok := g.m[member]
	if !ok || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		g.fail(member, fmt.Sprintf("%s %s is not a string.", g.name, member))
	}
	return s
}

// must returns a member that may not be missing.
func (g group) must(member string) string {
	s := g.text(member)
	if v, ok := g.m[member]; (!ok || v == nil || v == "") && s == "" {
		g.missing(member)
	}
	return s
}

// object returns a member that is an object; ok is false when there is none.
func (g group) object(member string, required bool) (group, bool) {
	sub := group{r: g.r, name: member, pointer: g.pointer + "/" + member}
	v, ok := g.m[member]
	if !ok || v == nil {
		if required {
			group{r: g.r, pointer: g.pointer}.missing(member)
		}
		return sub, false
	}
	switch m := v.(type) {
	case map[string]any:
		sub.m = m
	case sol.KeyValuePairs:
		sub.m = m
	default:
		sub.fail("", member+" is not an object.")
		return sub, false
	}
	return sub, true
}

// cidr returns an IPv4 network without host bits, or def.
func (g group) cidr(member, def string) string {
	s := g.text(member)
	if s == "" {
		return def
	}
	p, err := netip.ParsePrefix(s)
	if err == nil && g.r.older {
		p = p.Masked() // the examples of that dialect have host bits
	}
	if err != nil || !p.Addr().Is4() || p != p.Masked() {
		g.invalid(member, fmt.Sprintf("%q is not an IPv4 network such as %s.", s, cmp.Or(def, "192.0.2.0/24")))
		return s
	}
	return p.String()
}

// apart refuses networks that no cluster can work with: they overlap, or one is nearly all addresses there are. The two
// defaults overlap and work all the same, because pods get parts of their network that are far from it.
func (g group) apart(pods, services string) {
	a, errA := netip.ParsePrefix(pods)
	b, errB := netip.ParsePrefix(services)
	if errA != nil || errB != nil {
		return // reported already
	}
	for member, p := range map[string]netip.Prefix{"pod_cidr": a, "cluster_cidr": b} {
		if p.Bits() < 8 {
			g.fail(member, fmt.Sprintf("%s %s %s is too large; /8 is the largest.", g.name, member, p))
			return
		}
	}
	if a.Overlaps(b) && (pods != defaultPodCIDR || services != defaultServiceCIDR) {
		g.fail("cluster_cidr", fmt.Sprintf("%s cluster_cidr %s overlaps pod_cidr %s.", g.name, b, a))
	}
}

func (g group) matching(member string, form *regexp.Regexp, like string) string {
	s := g.text(member)
	if s != "" && !form.MatchString(s) {
		g.fail(member, fmt.Sprintf("%s %q is not like %s.", member, s, like))
	}
	return s
}

// remembered reads the parameters that an instance remembers.
func remembered(i *lcm.Instance, f *vnfd.Flavour) (params, []lcm.InvalidParam) {
	additional, err := i.Params.Decode()
	if err != nil {
		return params{}, []lcm.InvalidParam{{Pointer: "/additionalParams", Detail: err.Error()}}
	}
	return parse(additional, f, i.SSHKey)
}

// parse reads the parameters of a request for a flavour; it looks at nothing else. key is the instance's own, by which
// roles are logged in to for which the parameters have no other way; without it they have to have one.
func parse(additional sol.KeyValuePairs, f *vnfd.Flavour, key *lcm.SSHKey) (params, []lcm.InvalidParam) {
	r := &reader{key: key}
	top := group{r: r, name: "additionalParams", pointer: "/additionalParams", m: additional}
	root, ok := top.object(ParamKey, true)
	if !ok {
		return params{}, r.bad
	}
	podCIDR := defaultPodCIDR
	if r.older = root.older(); r.older {
		podCIDR = olderPodCIDR
	}
	p := params{
		script:            strings.TrimPrefix(root.text("script_path"), "./"),
		vimName:           root.text("vim_name"),
		kubernetesVersion: root.matching("kubernetes_version", versionText, "1.34 or 1.34.2"),
		ciliumVersion:     root.matching("cilium_version", ciliumText, "1.18.4"),
	}
	if p.script == "" {
		root.noScript()
	}
	root.vimName(p.vimName)
	p.helm, p.registries = strings.TrimPrefix(root.text("helm_installation_script_path"), "./"), root.registries()
	if m, ok := root.object("master_node", true); ok {
		p.master = top.override("master_node", m.login(f))
		p.podCIDR, p.serviceCIDR = m.cidr("pod_cidr", podCIDR), m.cidr("cluster_cidr", defaultServiceCIDR)
		m.apart(p.podCIDR, p.serviceCIDR)
		p.clusterCP, p.clusterFIP = m.must("cluster_cp_name"), m.text("cluster_fip_name")
	}
	if m, ok := root.object("worker_node", true); ok {
		p.worker = top.override("worker_node", m.login(f))
	}
	if m, ok := root.object("proxy", false); ok {
		p.proxy = m.proxy()
	}
	if m, ok := root.object("storage_server", false); ok {
		p.storage = m.storage(f)
	}
	if p.manifests = root.manifests(); len(p.manifests) > 0 && p.storage == nil {
		root.fail(
			"storage_server", "storage_server is not defined in additionalParams: pv_registration_params needs it.",
		)
	}
	p.upgradeBatch = root.batch("upgrade_batch")
	p.drainTimeout = root.seconds("drain_timeout", defaultDrainTimeout)
	return p, r.bad
}

// vimName checks the name of the VIM that the cluster becomes.
func (g group) vimName(name string) {
	if len(name) > 255 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' }) {
		g.fail("vim_name", "vim_name is longer than 255 bytes or has control characters.")
	}
}

// seconds returns a whole number of seconds, or def.
func (g group) seconds(member string, def time.Duration) time.Duration {
	v, ok := g.m[member]
	if !ok || v == nil {
		return def
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > maxSeconds {
		g.fail(member, fmt.Sprintf("%s is not a whole number of seconds between 0 and %d.", member, maxSeconds))
		return def
	}
	return time.Duration(n) * time.Second
}

// maxSeconds is the longest time that a parameter can ask for: a day.
const maxSeconds = 86400

func (g group) login(f *vnfd.Flavour) login {
	l := login{sshCP: g.must("ssh_cp_name"), nicCP: g.must("nic_cp_name")}
	l.vdu = g.vdu(f, l.nicCP)
	g.credentials(&l, "", g.r.key)
	return l
}

// credentials reads the user name and the password or the private key of a login, from members that begin with prefix.
// own is the key to use when both are missing; nil if there is none.
func (g group) credentials(l *login, prefix string, own *lcm.SSHKey) {
	user, password, key := prefix+"username", prefix+"password", prefix+"private_key"
	l.username, l.privateKey = g.must(user), g.text(key)
	if l.username != "" && !userText.MatchString(l.username) {
		g.fail(user, fmt.Sprintf("%s %s %q is not a user name.", g.name, user, l.username))
	}
	if strings.ContainsAny(g.text(password), "\r\n\x00") {
		g.fail(password, g.name+" "+password+" has a line break, which no login takes.")
	}
	l.password = g.text(password)
	if l.privateKey == "" {
		switch {
		case l.password != "":
		case own != nil:
			l.privateKey, l.keyed = own.Private, true
		default:
			l.password = g.must(password)
		}
		return
	}
	if _, err := ssh.ParsePrivateKey([]byte(l.privateKey)); err != nil {
		// the parser's words may quote it
		g.fail(key, g.name+" "+key+" is not a private key without a passphrase.")
	}
}

func (g group) proxy() proxy {
	p := proxy{http: g.text("http_proxy"), https: g.text("https_proxy"), no: g.text("no_proxy")}
	for member, s := range map[string]string{"http_proxy": p.http, "https_proxy": p.https} {
		if u, err := url.Parse(s); s != "" && (err != nil || u.Host == "" ||
			u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(s, "\"\\ \n")) {
			g.fail(member, "proxy "+member+" is not a URL such as http://192.0.2.1:3128.")
		}
	}
	if cidr := g.cidr("k8s_node_cidr", ""); cidr != "" {
		p.nodes = addresses(cidr)
	}
	if strings.ContainsAny(p.no, "\"\\ \n") {
		g.fail("no_proxy", "proxy no_proxy is not a list of names and networks separated by commas.")
	}
	return p
}
