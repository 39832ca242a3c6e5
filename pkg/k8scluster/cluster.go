package k8scluster

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const (
	roleMaster = "master"
	roleWorker = "worker"

	serverType = "OS::Nova::Server"
)

// node is one machine of the cluster.
type node struct {
	vnfc   string // vnfcInfo id
	role   string
	name   string // in the cluster, also the host name
	ip     string // address by which the nodes reach each other
	host   string // compute host, "" when the VIM does not tell
	zone   string // availability zone, likewise
	target remote.Target
}

// String names the node for people.
func (n node) String() string { return n.name + " (" + n.ip + ")" }

// during says what was done to the node, or on it, when something failed.
func (n node) during(doing string) string {
	if !strings.HasSuffix(doing, " node") { // "prepare node" has the word
		doing += " on node"
	}
	return doing + " " + n.name + " of VNFC " + n.vnfc
}

// cluster is what the machines shall become.
type cluster struct {
	masters, workers []node
	storage          node   // zero when there is none; no node of the cluster
	ip               string // the cluster's address inside
	external         string // the one by which it is reached from outside; may be the same
	port             int    // of the API server at these addresses
}

func (c *cluster) nodes() []node { return slices.Concat(c.masters, c.workers) }

// pick returns the nodes of VNFCs, in the order of the cluster's, and the others.
func pick(nodes []node, vnfcs []string) (picked, others []node) {
	for _, n := range nodes {
		if slices.Contains(vnfcs, n.vnfc) {
			picked = append(picked, n)
		} else {
			others = append(others, n)
		}
	}
	return picked, others
}

func (c *cluster) ha() bool { return len(c.masters) > 1 }

// endpoint is the URL of the API server as the VNFM and the users of the cluster reach it.
func (c *cluster) endpoint() string { return "https://" + c.externalAddr() }

func (c *cluster) externalAddr() string { return net.JoinHostPort(c.external, strconv.Itoa(c.port)) }

// masterIPs lists the masters' addresses, the first master's first.
func (c *cluster) masterIPs() string {
	ips := make([]string, len(c.masters))
	for i, m := range c.masters {
		ips[i] = m.ip
	}
	return strings.Join(ips, ",")
}

// hosts lists "address name" of every node.
func (c *cluster) hosts() string {
	var lines []string
	for _, n := range c.nodes() {
		lines = append(lines, n.ip+" "+n.name)
	}
	return strings.Join(lines, ",")
}

// resolve finds the machines of the roles in the instance's inventory.
func resolve(i *lcm.Instance, p params, sshPort int) (*cluster, error) {
	inv := inventory(i.Inventory)
	c := &cluster{port: 6443}
	var err error
	if c.masters, err = inv.nodes(roleMaster, p.master, sshPort); err != nil {
		return nil, err
	}
	if c.workers, err = inv.nodes(roleWorker, p.worker, sshPort); err != nil {
		return nil, err
	}
	if len(c.masters) == 0 {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the instance has no machine of the VDU %s to be a master", p.master.vdu)
	}
	if p.storage != nil {
		if c.storage, err = inv.server(p.storage, sshPort); err != nil {
			return nil, err
		}
	}
	if c.ha() {
		c.port = 16443
	}
	rename(c)
	// The cluster's address belongs to the whole VNF, or, with one master, to that master.
	res := inv.find(p.clusterCP, "")
	if res == nil && !c.ha() {
		res = inv.find(p.clusterCP, c.masters[0].vnfc)
	}
	if res == nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the stack has no resource %s (cluster_cp_name) of its own", p.clusterCP)
	}
	if c.ip = fixed(res); c.ip == "" {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the resource %s (cluster_cp_name) has no IPv4 address", p.clusterCP)
	}
	c.external = c.ip
	switch {
	case p.clusterFIP != "":
		fip := inv.find(p.clusterFIP, "")
		if fip == nil && !c.ha() {
			fip = inv.find(p.clusterFIP, c.masters[0].vnfc)
		}
		if fip == nil || floating(fip) == "" {
			return nil, lcm.Errorf(lcm.CodeUnprocessable, "the stack has no floating IP %s (cluster_fip_name)", p.clusterFIP)
		}
		c.external = floating(fip)
	case !c.ha() && c.ip == c.masters[0].ip:
		c.external = c.masters[0].target.Host // the way that is known to work from here
	}
	return c, nil
}

// inventory is the VIM's resources.
type inventory []lcm.Resource

// find returns the resource of that name of a VNFC, or, with an empty vnfc, of the whole VNF.
func (inv inventory) find(name, vnfc string) *lcm.Resource {
	for i := range inv {
		if inv[i].Name == name && inv[i].VNFC == vnfc {
			return &inv[i]
		}
	}
	return nil
}

// nodes lists the machines of a role in the order of their index.
func (inv inventory) nodes(role string, l login, sshPort int) ([]node, error) {
	var servers []lcm.Resource
	for _, r := range inv {
		if r.VDU == l.vdu && r.Type == serverType && r.VNFC != "" {
			servers = append(servers, r)
		}
	}
	slices.SortFunc(servers, func(a, b lcm.Resource) int { return a.Index - b.Index })
	var out []node
	for _, s := range servers {
		nic, ssh := inv.find(l.nicCP, s.VNFC), inv.find(l.sshCP, s.VNFC)
		for what, r := range map[string]*lcm.Resource{l.nicCP + " (nic_cp_name)": nic, l.sshCP + " (ssh_cp_name)": ssh} {
			if r == nil {
				return nil, lcm.Errorf(lcm.CodeUnprocessable, "VNFC %s has no resource %s", s.VNFC, what)
			}
		}
		n := node{vnfc: s.VNFC, role: role, ip: fixed(nic), host: s.Host, zone: s.Zone}
		addr := floating(ssh)
		if addr == "" {
			addr = fixed(ssh)
		}
		if n.ip == "" || addr == "" {
			return nil, lcm.Errorf(lcm.CodeUnprocessable, "VNFC %s has no IPv4 address at %s or %s", s.VNFC, l.nicCP, l.sshCP)
		}
		n.name = role + n.ip[strings.LastIndexByte(n.ip, '.')+1:]
		n.target = remote.Target{VNFC: s.VNFC, Host: addr, Port: sshPort, User: l.username, Password: l.password, PrivateKey: []byte(l.privateKey)}
		out = append(out, n)
	}
	return out, nil
}

// rename gives a node whose address ends like that of one before it (in another subnet) the whole address as a name. The one before keeps its own:
// it has joined under it, perhaps long ago.
func rename(c *cluster) {
	for _, role := range [][]node{c.masters, c.workers} {
		taken := map[string]bool{}
		for i := range role {
			if taken[role[i].name] {
				role[i].name = role[i].role + "-" + strings.ReplaceAll(role[i].ip, ".", "-")
			}
			taken[role[i].name] = true
		}
	}
}

func fixed(r *lcm.Resource) string    { return address(r, false) }
func floating(r *lcm.Resource) string { return address(r, true) }

// address is the resource's first IPv4 address of that kind.
func address(r *lcm.Resource, floating bool) string {
	for _, a := range r.Addresses {
		if ip, err := netip.ParseAddr(a.IP); err == nil && ip.Is4() && a.Floating == floating {
			return a.IP
		}
	}
	return ""
}

// vrrpAuth is the password that the masters' keepalived share. VRRP sends it in clear, so it keeps nobody out: it only makes sure
// that two clusters in one network never take each other's messages for their own. That needs no secret, only a value that is the
// same for all masters whoever computes it.
func vrrpAuth(instanceID string) string {
	sum := sha256.Sum256([]byte("keepalived of " + instanceID))
	return hex.EncodeToString(sum[:])[:8]
}
