package k8scluster

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// The parameters have two dialects. One names the machines of a role by vdu_id, the other, that of older requests, by
// aspect_id: the scaling aspect that the VNFD has for them. aspect_id may be left out for one of them; then the VDU is
// the one that nic_cp_name belongs to.

// olderPodCIDR is the network of pods when a request of the older dialect names none.
const olderPodCIDR = "192.168.0.0/16"

// older says whether the parameters are of the older dialect: a role has an aspect_id, and none a vdu_id.
func (g group) older() bool {
	found := false
	for _, role := range []string{"master_node", "worker_node"} {
		m, _ := group{r: &reader{}, m: g.m}.object(role, false)
		if v, ok := m.m["vdu_id"]; ok && v != nil {
			return false
		}
		_, ok := m.m["aspect_id"]
		found = found || ok
	}
	return found
}

// missing reports a member that may not be missing, in the words that the dialect's users know.
func (g group) missing(member string) {
	switch {
	case g.r.older:
		g.fail(member, fmt.Sprintf("The %s in the additionalParams does not exist.", member))
	case g.name == "":
		g.fail(member, member+" is not defined in additionalParams.")
	default:
		g.fail(member, fmt.Sprintf("%s %s is not defined in additionalParams.", g.name, member))
	}
}

// invalid reports a member with a value that cannot be.
func (g group) invalid(member, why string) {
	if g.r.older {
		g.fail(member, fmt.Sprintf("The %s in the additionalParams is invalid: %s", member, why))
		return
	}
	g.fail(member, fmt.Sprintf("%s %s %s", g.name, member, why))
}

// noScript reports that there is no installation script, as every dialect does.
func (g group) noScript() {
	if g.r.older {
		g.missing("script_path")
		return
	}
	g.fail("script_path", "The script_path in the additionalParams is invalid.")
}

// vdu finds the VDU whose machines play the role.
func (g group) vdu(f *vnfd.Flavour, nicCP string) string {
	id, aspect := g.text("vdu_id"), g.text("aspect_id")
	switch {
	case id != "":
		return id
	case aspect != "":
		found := aspectVDUs(f, aspect)
		if i := slices.Index(found, cpVDU(f, nicCP)); i >= 0 {
			return found[i]
		}
		switch len(found) {
		case 1:
			return found[0]
		case 0:
			g.fail("aspect_id", fmt.Sprintf(
				"the flavour has no scaling aspect %q that scales a VDU, nor a VDU of that name; vdu_id names the "+
					"VDU itself.",
				aspect,
			))
		default:
			g.fail("aspect_id", fmt.Sprintf(
				"the scaling aspect %q scales several VDUs, %s; vdu_id says which one is meant.", aspect,
				strings.Join(found, ", "),
			))
		}
		return ""
	}
	if v := cpVDU(f, nicCP); v != "" {
		return v
	}
	return g.must("vdu_id")
}

// aspectVDUs lists the VDUs that an aspect scales. An aspect that cannot be scaled has none, so the CP decides, or a
// VDU of the same name.
func aspectVDUs(f *vnfd.Flavour, aspect string) []string {
	if f == nil {
		return nil
	}
	if a := f.Aspect(aspect); a != nil {
		vdus := map[string]bool{}
		for _, step := range a.Steps {
			for v := range step {
				vdus[v] = true
			}
		}
		if len(vdus) > 0 {
			return slices.Sorted(maps.Keys(vdus))
		}
		var all []string
		for _, v := range f.VDUs {
			all = append(all, v.Name)
		}
		return all
	}
	if f.VDU(aspect) != nil {
		return []string{aspect}
	}
	return nil
}

// cpVDU is the VDU that a CP of the VNFD is bound to.
func cpVDU(f *vnfd.Flavour, cp string) string {
	if f == nil || cp == "" {
		return ""
	}
	for _, c := range f.CPs {
		if c.Name == cp {
			return c.VDU
		}
	}
	return ""
}

// override puts the logins that scale and heal requests may name beside the parameters in place of those that are
// remembered.
func (g group) override(member string, l login) login {
	if user := g.text(member + "_username"); user != "" {
		l.username = user
		if !userText.MatchString(user) {
			g.fail(member+"_username", fmt.Sprintf("%s_username %q is not a user name.", member, user))
		}
	}
	if password := g.text(member + "_password"); password != "" {
		l.password = password
		if strings.ContainsAny(password, "\r\n\x00") {
			g.fail(member+"_password", member+"_password has a line break, which no login takes.")
		}
	}
	return l
}

// maxListed is the largest network whose addresses are listed one by one.
const maxListed = 1024

// addresses lists a network for no_proxy: as a network, and, because many programs do not know networks there, every
// address of it.
func addresses(cidr string) []string {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return nil // reported already
	}
	p = p.Masked()
	out := []string{p.String()}
	if 1<<(32-p.Bits()) > maxListed {
		return out
	}
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		out = append(out, a.String())
	}
	return out
}
