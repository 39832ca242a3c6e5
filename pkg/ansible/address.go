package ansible

import (
	"cmp"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// outputPrefix begins the name of the output of a template that has the management address of a VDU, in Tacker's form.
const outputPrefix = "mgmt_ip-"

// maxTemplate limits a template that is searched for outputs, in bytes.
const maxTemplate = 2 << 20

// outputs finds, by VDU, the resource that the outputs mgmt_ip-<VDU> of the templates name: a port or a floating IP. A
// template that is not readable has none; the infra driver reports it.
func outputs(files fs.FS, flavour string) map[string]string {
	found := map[string]string{}
	_ = fs.WalkDir(files, "BaseHOT/"+flavour, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
			return nil //nolint:nilerr // a folder that does not exist has no outputs
		}
		if info, err := d.Info(); err != nil || info.Size() > maxTemplate {
			return nil //nolint:nilerr // as above
		}
		data, err := fs.ReadFile(files, name)
		if err != nil || !strings.Contains(string(data), outputPrefix) {
			return nil //nolint:nilerr // as above
		}
		var template struct {
			Outputs map[string]struct {
				Value struct {
					GetAttr []any `yaml:"get_attr"`
				} `yaml:"value"`
			} `yaml:"outputs"`
		}
		if err := yaml.Unmarshal(data, &template); err != nil {
			return nil //nolint:nilerr // as above
		}
		for output, o := range template.Outputs {
			vdu, ok := strings.CutPrefix(output, outputPrefix)
			if !ok || len(o.Value.GetAttr) == 0 {
				continue
			}
			if resource, ok := o.Value.GetAttr[0].(string); ok {
				found[vdu] = resource
			}
		}
		return nil
	})
	return found
}

// machine is a VNFC with its management address.
type machine struct {
	vnfc, vdu string
	index     int
	address   string // "" = it has none
}

// String names the machine for people.
func (m machine) String() string { return "VNFC " + m.vnfc + " (" + m.address + ")" }

// machines lists the VNFCs of an instance in the order of their VDUs and indices. Their address is that of the resource
// which the templates name in outputs, or else a floating address, or else the first address of the VDU's first
// connection point that has one.
func machines(i *lcm.Instance, f *vnfd.Flavour, files fs.FS) []machine {
	if i.Instantiated == nil || f == nil {
		return nil
	}
	named := outputs(files, f.ID)
	var out []machine
	for _, c := range i.Instantiated.VnfcInfo {
		m := machine{vnfc: c.ID, vdu: c.VduID}
		var own []lcm.Resource
		for _, r := range i.Inventory {
			if r.VNFC != c.ID {
				continue
			}
			own = append(own, r)
			if r.Kind == lcm.KindCompute {
				m.index = r.Index
			}
		}
		m.address = addressOf(own, named[c.VduID], f)
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b machine) int {
		return cmp.Or(cmp.Compare(a.vdu, b.vdu), cmp.Compare(a.index, b.index))
	})
	return out
}

// addressOf selects the management address among the resources of a VNFC.
func addressOf(own []lcm.Resource, named string, f *vnfd.Flavour) string {
	var fixed, floating string
	for _, r := range own {
		if named != "" && r.Name == named {
			return first(r.Addresses, func(lcm.Address) bool { return true })
		}
		floating = cmp.Or(floating, first(r.Addresses, func(a lcm.Address) bool { return a.Floating }))
	}
	for _, cp := range f.CPs {
		for _, r := range own {
			if r.Name == cp.Name {
				fixed = cmp.Or(fixed, first(r.Addresses, func(a lcm.Address) bool { return !a.Floating }))
			}
		}
	}
	for _, r := range own {
		fixed = cmp.Or(fixed, first(r.Addresses, func(a lcm.Address) bool { return !a.Floating }))
	}
	return cmp.Or(floating, fixed)
}

// first returns the first IP address of a kind, IPv4 before IPv6.
func first(all []lcm.Address, kind func(lcm.Address) bool) string {
	for _, v4 := range []bool{true, false} {
		for _, a := range all {
			if ip, err := netip.ParseAddr(a.IP); err == nil && ip.Is4() == v4 && kind(a) {
				return a.IP
			}
		}
	}
	return ""
}

// byVDU are the addresses of VNFCs by VDU, as Tacker gives them to playbooks: a text, or a list of several.
func byVDU(all []machine) map[string]any {
	lists := map[string][]any{}
	for _, m := range all {
		if m.address != "" {
			lists[m.vdu] = append(lists[m.vdu], m.address)
		}
	}
	out := map[string]any{}
	for _, vdu := range slices.Sorted(maps.Keys(lists)) {
		if out[vdu] = lists[vdu]; len(lists[vdu]) == 1 {
			out[vdu] = lists[vdu][0]
		}
	}
	return out
}

// addresses lists the addresses of the VNFCs of a VDU.
func addresses(all []machine, vdu string) []string {
	var out []string
	for _, m := range all {
		if m.vdu == vdu && m.address != "" {
			out = append(out, m.address)
		}
	}
	return out
}
