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
)

// node is one machine of the cluster.
type node struct {
	vnfc   string // vnfcInfo id
	role   string // see also roleAnsible and roleBalancer
	name   string // in the cluster, also the host name
	ip     string // address by which the nodes reach each other
	host   string // compute host; "" when the VIM does not show it
	zone   string // availability zone, likewise
	target remote.Target
}

// String names the node for people.
func (n node) String() string { return n.name + " (" + n.ip + ")" }

// during names the work and the node for an error message.
func (n node) during(doing string) string {
	switch n.role {
	case roleAnsible:
		return doing + " on the Ansible host " + n.ip
	case roleBalancer:
		return doing + " (VNFC " + n.vnfc + ")"
	}
	if !strings.HasSuffix(doing, " node") { // "prepare node" contains it
		doing += " on node"
	}
	return doing + " " + n.name + " of VNFC " + n.vnfc
}

// topology is the machines of a cluster by role, and the cluster's address.
type topology struct {
	masters, workers []node
	storage          node // zero when there is none; it is not a node of the cluster
	endpoint
}

// endpoint is where the API servers of a cluster answer together.
type endpoint struct {
	internal string // the address for the nodes
	external string // the address for the VNFM and the users of the cluster; may be the same
	port     int    // at both addresses
}

// serverPort is where the API server of one master answers.
const serverPort = "6443"

// url is the endpoint for the VNFM and the users of the cluster.
func (e endpoint) url() string {
	return "https://" + net.JoinHostPort(e.external, strconv.Itoa(e.port))
}

// nodes lists the machines that are nodes of the cluster.
func (t *topology) nodes() []node { return slices.Concat(t.masters, t.workers) }

// pick returns the nodes of VNFCs and the other nodes, both in the given order.
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

// ha says whether the cluster has several masters, behind a load balancer.
func (t *topology) ha() bool { return len(t.masters) > 1 }

// masterIPs lists the masters' addresses, the first master's first.
func (t *topology) masterIPs() string {
	ips := make([]string, len(t.masters))
	for i, m := range t.masters {
		ips[i] = m.ip
	}
	return strings.Join(ips, ",")
}

// hosts lists "address name" of every node.
func (t *topology) hosts() string {
	var lines []string
	for _, n := range t.nodes() {
		lines = append(lines, n.ip+" "+n.name)
	}
	return strings.Join(lines, ",")
}

// resolve finds the machines of the roles in the instance's inventory.
func resolve(i *lcm.Instance, p params, sshPort int) (*topology, error) {
	t, err := resolveNodes(i, p, sshPort)
	if err != nil {
		return nil, err
	}
	inv := inventory(i.Inventory)
	if p.storage != nil {
		if t.storage, err = inv.server(p.storage, sshPort); err != nil {
			return nil, err
		}
	}
	t.storage.target.Instance = i.ID
	t.endpoint, err = inv.endpoint(t, p)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// resolveNodes finds the machines that are to be nodes.
func resolveNodes(i *lcm.Instance, p params, sshPort int) (*topology, error) {
	inv := inventory(i.Inventory)
	t := &topology{}
	var err error
	if t.masters, err = inv.nodes(roleMaster, p.master, sshPort); err != nil {
		return nil, err
	}
	if t.workers, err = inv.nodes(roleWorker, p.worker, sshPort); err != nil {
		return nil, err
	}
	if len(t.masters) == 0 {
		return nil, lcm.Errorf(
			lcm.CodeUnprocessable, "the instance has no machine of the VDU %s to be a master", p.master.vdu,
		)
	}
	for _, nodes := range [][]node{t.masters, t.workers} {
		for n := range nodes {
			nodes[n].target.Instance = i.ID
		}
	}
	t.renameDuplicates()
	return t, nil
}

// endpoint finds the cluster's address. It belongs to the whole VNF, or, with one master, to that master.
func (inv inventory) endpoint(t *topology, p params) (endpoint, error) {
	e := endpoint{port: 6443}
	if t.ha() {
		e.port = 16443
	}
	find := func(name string) *lcm.Resource {
		r := inv.find(name, "")
		if r == nil && !t.ha() {
			r = inv.find(name, t.masters[0].vnfc)
		}
		return r
	}

	res := find(p.clusterCP)
	if res == nil {
		return e, lcm.Errorf(
			lcm.CodeUnprocessable, "the stack has no resource %s (cluster_cp_name) of its own", p.clusterCP,
		)
	}
	if e.internal = fixed(res); e.internal == "" {
		return e, lcm.Errorf(
			lcm.CodeUnprocessable, "the resource %s (cluster_cp_name) has no IPv4 address", p.clusterCP,
		)
	}
	e.external = e.internal
	switch {
	case p.clusterFIP != "":
		fip := find(p.clusterFIP)
		if fip == nil || floating(fip) == "" {
			return e, lcm.Errorf(
				lcm.CodeUnprocessable, "the stack has no floating IP %s (cluster_fip_name)", p.clusterFIP,
			)
		}
		e.external = floating(fip)
	case !t.ha() && e.internal == t.masters[0].ip:
		e.external = t.masters[0].target.Host // SSH works by this address
	}
	return e, nil
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
		if r.VDU == l.vdu && r.Kind == lcm.KindCompute && r.VNFC != "" {
			servers = append(servers, r)
		}
	}
	slices.SortFunc(servers, func(a, b lcm.Resource) int { return a.Index - b.Index })
	var out []node
	for _, s := range servers {
		nic, ssh := inv.find(l.nicCP, s.VNFC), inv.find(l.sshCP, s.VNFC)
		for what, r := range map[string]*lcm.Resource{
			l.nicCP + " (nic_cp_name)": nic, l.sshCP + " (ssh_cp_name)": ssh,
		} {
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
			return nil, lcm.Errorf(
				lcm.CodeUnprocessable, "VNFC %s has no IPv4 address at %s or %s", s.VNFC, l.nicCP, l.sshCP,
			)
		}
		n.name = role + n.ip[strings.LastIndexByte(n.ip, '.')+1:]
		n.target = remote.Target{
			VNFC: s.VNFC, Host: addr, Port: sshPort, User: l.username, Password: l.password,
			PrivateKey: []byte(l.privateKey),
		}
		out = append(out, n)
	}
	return out, nil
}

// renameDuplicates gives a node whose address ends like that of an earlier one (in another subnet) the whole address as
// its name. The earlier one keeps its name: it has joined under it.
func (t *topology) renameDuplicates() {
	for _, role := range [][]node{t.masters, t.workers} {
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

// vrrpAuth is the password that the masters' keepalived share. VRRP sends it in clear text, so it protects nothing: it
// only makes sure that two clusters in one network ignore each other's messages. It needs to be the same for all
// masters, not secret.
func vrrpAuth(instanceID string) string {
	sum := sha256.Sum256([]byte("keepalived of " + instanceID))
	return hex.EncodeToString(sum[:])[:8]
}
