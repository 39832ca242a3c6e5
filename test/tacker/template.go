package tacker

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// baseHOT is what the package has for a flavour: the template, and the nested ones by bare file name.
func (n *VNF) baseHOT() (template obj, files map[string]string) {
	n.s.tb.Helper()
	dir := "BaseHOT/" + n.request.FlavourID
	files = map[string]string{}
	n.s.must(fs.WalkDir(n.Package.files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			return err
		}
		raw, err := fs.ReadFile(n.Package.files, name)
		if err != nil {
			return err
		}
		var doc obj
		if err := yaml.Unmarshal(raw, &doc); err != nil {
			return err
		}
		doc = plain(doc).(obj)
		if path.Dir(name) == dir {
			template = doc
		} else {
			files[path.Base(name)] = dump(doc)
		}
		return nil
	}))
	return template, files
}

// plain turns dates into the text that they were, such as that of heat_template_version.
func plain(v any) any {
	switch v := v.(type) {
	case obj:
		for name, member := range v {
			v[name] = plain(member)
		}
	case []any:
		for i, member := range v {
			v[i] = plain(member)
		}
	case time.Time:
		return v.Format(time.DateOnly)
	}
	return v
}

// dump writes a template.
func dump(v any) string {
	raw, err := yaml.Marshal(v)
	if err != nil {
		panic(err) // templates have only YAML's types
	}
	return string(raw)
}

// paramsOf lists the get_param in the properties of resources, as lists.
func paramsOf(resources obj) [][]any {
	var out [][]any
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case obj:
			for name, member := range v {
				if list, ok := member.([]any); ok && name == "get_param" {
					out = append(out, list)
				} else {
					walk(member)
				}
			}
		case []any:
			for _, member := range v {
				walk(member)
			}
		}
	}
	for _, r := range resources {
		walk(r.(obj)["properties"])
	}
	return out
}

// skeleton makes the parameter nfv for the get_param with at least four items: every leaf is there, without a value.
// Indexes of lists are names too.
func skeleton(resources obj) obj {
	nfv := obj{}
	for _, p := range paramsOf(resources) {
		if len(p) < 4 || p[0] != "nfv" {
			continue
		}
		at := nfv
		for _, item := range p[1 : len(p)-1] {
			name := text(item)
			if at[name] == nil {
				at[name] = obj{}
			}
			at = at[name].(obj)
		}
		at[text(p[len(p)-1])] = nil
	}
	return nfv
}

func text(v any) string {
	switch v := v.(type) {
	case int:
		return strconv.Itoa(v)
	case float64: // after clone
		return strconv.Itoa(int(v))
	case string:
		return v
	}
	return ""
}

// member is an object in an object; empty if it is absent.
func member(o obj, name string) obj {
	m, _ := o[name].(obj)
	return m
}

// withoutIndex takes the index off a name such as VDU1-0.
func withoutIndex(name string) string {
	at := strings.LastIndexByte(name, '-')
	return name[:max(at, 0)]
}

// index is the index of a name such as VDU1-0; ok is false without one.
func index(name string) (n int, ok bool) {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return n, err == nil && strings.Contains(name, "-")
}

// network is the network of an external connection point, by the external links of the request.
func (n *VNF) network(cpd string) any {
	for _, l := range n.request.ExtVirtualLinks {
		for _, cp := range l.ExtCps {
			if cp.CpdID == cpd {
				return l.ResourceID
			}
		}
	}
	return nil
}

// fixedIPs are the addresses and subnets that the request has for a connection point, of all its configurations.
func (n *VNF) fixedIPs(cpd string) []obj {
	var out []obj
	for _, l := range n.request.ExtVirtualLinks {
		for _, cp := range l.ExtCps {
			if cp.CpdID != cpd {
				continue
			}
			for _, config := range cp.CpConfig {
				for _, protocol := range config.CpProtocolData {
					if protocol.IpOverEthernet == nil {
						continue
					}
					for _, ip := range protocol.IpOverEthernet.IpAddresses {
						entry := obj{}
						if len(ip.FixedAddresses) > 0 {
							entry["ip_address"] = ip.FixedAddresses[0]
						}
						if ip.SubnetID != "" {
							entry["subnet"] = ip.SubnetID
						}
						if len(entry) > 0 {
							out = append(out, entry)
						}
					}
				}
			}
		}
	}
	return out
}

// image is the image of a VDU or a storage: the NFVO grants those of the VNFD.
func (n *VNF) image(node string) any {
	if v := n.flavour.VDU(node); v != nil && v.Image != nil {
		return v.Image.Name
	}
	for _, s := range n.flavour.Storages {
		if s.Name == node && s.Image != nil {
			return s.Image.Name
		}
	}
	return nil
}

// computeFlavour is the compute flavour of a VDU.
func (n *VNF) computeFlavour(vdu string) any {
	if v := n.flavour.VDU(vdu); v != nil {
		return v.ComputeFlavour
	}
	return nil
}

// fill gives the leaves of nfv that are there their values; node turns the name of an entry into that of the VNFD.
func (n *VNF) fill(nfv obj, node func(string) string) {
	for name, v := range member(nfv, "VDU") {
		leaves := v.(obj)
		for leaf, value := range map[string]any{
			"computeFlavourId": n.computeFlavour(node(name)), "vcImageId": n.image(node(name)),
			"locationConstraints": any(zone),
		} {
			if _, asked := leaves[leaf]; asked {
				leaves[leaf] = value
			}
		}
	}
	for name, v := range member(nfv, "CP") {
		leaves := v.(obj)
		if _, asked := leaves["network"]; asked {
			leaves["network"] = n.network(node(name))
		}
		if _, asked := leaves["fixed_ips"]; !asked {
			continue
		}
		addresses := []any{}
		for i, given := range n.fixedIPs(node(name)) {
			entry, ok := member(leaves, "fixed_ips")[strconv.Itoa(i)].(obj)
			if !ok {
				break
			}
			for leaf := range entry {
				entry[leaf] = given[leaf]
			}
			addresses = append(addresses, entry)
		}
		leaves["fixed_ips"] = addresses
	}
}

// sorted sorts by a key.
func sorted[T any, K cmp.Ordered](list []T, key func(T) K) []T {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return list
}
