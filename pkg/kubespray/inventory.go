package kubespray

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Host is a machine of the inventory.
type Host struct {
	Name string
	// Address is what Ansible connects to, at Port (0 means 22); IP is the address by which nodes reach each other.
	Address, IP string
	Port        int
	User        string
	// Password is for the login and for sudo; it may be empty if KeyFile, a path on the Ansible host, is set.
	Password, KeyFile string
}

// Inventory is the machines of one cluster. The first master is the one that Kubespray makes the cluster from.
type Inventory struct {
	Masters, Workers []Host
	// KnownHosts is the path, on the Ansible host, of the file with the SSH keys of these machines.
	KnownHosts string
}

// names is a group's "hosts" or "children".
type names map[string]struct{}

// group is one group of the inventory.
type group struct {
	Hosts    names `yaml:"hosts,omitempty"`
	Children names `yaml:"children,omitempty"`
}

// YAML is the inventory file (hosts.yaml). It contains the passwords.
func (i Inventory) YAML() ([]byte, error) {
	hosts := map[string]map[string]any{}
	masters, workers, etcd := names{}, names{}, names{}
	add := func(h Host, groups ...names) {
		hosts[h.Name] = i.variables(h)
		for _, g := range groups {
			g[h.Name] = struct{}{}
		}
	}
	for n, h := range i.Masters {
		if n < Members(len(i.Masters)) {
			add(h, masters, etcd)
			// By default a member is called by its position in the group, which changes when a master is replaced.
			hosts[h.Name]["etcd_member_name"] = h.Name
		} else {
			add(h, masters)
		}
	}
	for _, h := range i.Workers {
		add(h, workers)
	}
	// Maps are written in the order of their keys, but Kubespray takes the first master of the group as the one that
	// has the cluster: the group is written by hand.
	file := map[string]any{"all": map[string]any{
		"hosts": hosts,
		"children": map[string]any{
			"kube_control_plane": map[string]any{"hosts": ordered(i.Masters)},
			"kube_node":          group{Hosts: workers},
			"etcd":               map[string]any{"hosts": ordered(i.Masters[:len(etcd)])},
			"k8s_cluster":        group{Children: names{"kube_control_plane": {}, "kube_node": {}}},
			"calico_rr":          map[string]any{"hosts": names{}},
		},
	}}
	raw, err := yaml.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encode the inventory: %w", err)
	}
	return raw, nil
}

// Members is how many of some masters become members of etcd: an odd number.
func Members(masters int) int { return masters - (masters+1)%2 }

// ordered is a mapping with the names of hosts in their order.
func ordered(hosts []Host) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, h := range hosts {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: h.Name},
			&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"})
	}
	return n
}

// variables are what Ansible and Kubespray know of a host.
func (i Inventory) variables(h Host) map[string]any {
	v := map[string]any{
		"ansible_host": h.Address, "ip": h.IP, "access_ip": h.IP, "ansible_user": h.User,
		// The keys of machines are accepted once. They are kept beside the inventory, so that clusters whose machines
		// have the same addresses one after the other do not meet each other's keys. ssh takes the first value of an
		// option: these words replace ssh_args of Kubespray's ansible.cfg, which ansible_ssh_common_args would follow.
		"ansible_ssh_args": "-o StrictHostKeyChecking=accept-new -o UserKnownHostsFile=" + i.KnownHosts +
			" -o ControlMaster=auto -o ControlPersist=60s",
	}
	if h.Port != 0 && h.Port != 22 {
		v["ansible_port"] = h.Port
	}
	if h.KeyFile != "" {
		v["ansible_ssh_private_key_file"] = h.KeyFile
	}
	if h.Password != "" {
		v["ansible_password"], v["ansible_become_password"] = literal(h.Password), literal(h.Password)
	}
	return v
}

// literal is a text that Ansible must not take for a template.
func literal(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.SingleQuotedStyle}
	if strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#") {
		n.Tag = "!unsafe"
	}
	return n
}
