package k8scluster

import (
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// sprayParams is k8s_cluster_installation_param of a cluster that Kubespray makes, checked.
type sprayParams struct {
	params   // without a script; empty networks mean those of Kubespray
	ansible  ansibleHost
	balancer login // only sshCP and the credentials
	// lbScript is the path, in the package, of the script that installs the load balancer.
	lbScript string
}

// ansibleHost is the machine with Kubespray.
type ansibleHost struct {
	login
	address string
	// root is the directory of Kubespray, inventory that of the instance's inventory.
	root, inventory string
}

// sprayMembers are the names that the parameters have.
var sprayMembers = members{
	"master_node_username": nil, "master_node_password": nil, "worker_node_username": nil, "worker_node_password": nil,
	ParamKey: {
		"vim_name": nil, "drain_timeout": nil,
		"master_node": loginMembers(members{"pod_cidr": nil, "cluster_cidr": nil}),
		"worker_node": loginMembers(nil),
		"proxy":       {"http_proxy": nil, "https_proxy": nil, "no_proxy": nil, "k8s_node_cidr": nil},
		"ansible": {
			"ip_address": nil, "username": nil, "password": nil, "private_key": nil, "kubespray_root_path": nil,
			"transferring_inventory_path": nil,
		},
		"external_lb_param": {
			"ssh_cp_name": nil, "ssh_username": nil, "ssh_password": nil, "ssh_private_key": nil, "script_path": nil,
		},
	},
}

// parseSpray reads the parameters like parse.
func parseSpray(
	additional sol.KeyValuePairs, f *vnfd.Flavour, key *lcm.SSHKey,
) (sprayParams, []lcm.InvalidParam) {
	r := &reader{key: key}
	top := group{r: r, name: "additionalParams", pointer: "/additionalParams", m: additional}
	root, ok := top.object(ParamKey, true)
	if !ok {
		return sprayParams{}, r.bad
	}
	r.older = root.older()
	k := sprayParams{}
	k.vimName = root.text("vim_name")
	root.vimName(k.vimName)
	k.drainTimeout = root.seconds("drain_timeout", defaultDrainTimeout)
	if m, ok := root.object("master_node", true); ok {
		k.master = top.override("master_node", m.sprayLogin(f))
		k.podCIDR, k.serviceCIDR = m.cidr("pod_cidr", ""), m.cidr("cluster_cidr", "")
		m.apart(k.podCIDR, k.serviceCIDR)
	}
	if m, ok := root.object("worker_node", true); ok {
		k.worker = top.override("worker_node", m.sprayLogin(f))
	}
	if m, ok := root.object("proxy", false); ok {
		k.proxy = m.proxy()
	}
	if m, ok := root.object("ansible", true); ok {
		k.ansible = m.ansible()
	}
	if m, ok := root.object("external_lb_param", true); ok {
		k.balancer.sshCP = m.must("ssh_cp_name")
		m.credentials(&k.balancer, "ssh_", key)
		k.lbScript = strings.TrimPrefix(m.must("script_path"), "./")
	}
	return k, r.bad
}

// sprayLogin is login with an optional nic_cp_name: without it nodes reach each other where SSH does.
func (g group) sprayLogin(f *vnfd.Flavour) login {
	l := login{sshCP: g.must("ssh_cp_name"), nicCP: g.text("nic_cp_name")}
	if l.nicCP == "" {
		l.nicCP = l.sshCP
	}
	l.vdu = g.vdu(f, l.nicCP)
	g.credentials(&l, "", g.r.key)
	return l
}

// ansible reads the object ansible.
func (g group) ansible() ansibleHost {
	h := ansibleHost{
		address: g.must("ip_address"), root: g.absolute("kubespray_root_path"),
		inventory: g.absolute("transferring_inventory_path"),
	}
	g.credentials(&h.login, "", nil)
	if a, err := netip.ParseAddr(h.address); h.address != "" && (err != nil || a.Zone() != "") {
		g.invalid("ip_address", fmt.Sprintf("%q is not an IP address.", h.address))
	}
	if h.inventory == "" || h.root == "" {
		return h
	}
	if sample := h.root + "/inventory/sample"; h.inventory == h.root || h.inventory == sample ||
		strings.HasPrefix(h.root+"/", h.inventory+"/") {
		g.invalid("transferring_inventory_path", fmt.Sprintf(
			"%q belongs to Kubespray; name a directory of its own for the cluster, such as %s/inventory/mycluster.",
			h.inventory, h.root,
		))
	}
	return h
}

// absolute returns the absolute path of a directory that is not one of the system.
func (g group) absolute(member string) string {
	s := g.must(member)
	if s == "" {
		return ""
	}
	clean := strings.TrimSuffix(s, "/")
	if !dirText.MatchString(clean) || path.Clean(clean) != clean || strings.Count(clean, "/") < 2 {
		g.invalid(member, fmt.Sprintf(
			"%q is not an absolute path of at least two directories, of letters, digits, '.', '_' and '-'.", s,
		))
	}
	return clean
}
