package openstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// part is what an instance has through one connection: one stack, with the VNFCs of the VDUs that use the connection.
// Most instances have one part.
type part struct {
	key string // of the connection in vimConnectionInfo
	// vim is key, and "" for the primary connection; records show it.
	vim   string
	stack string   // the name of its stack
	other []string // the names of the instance's other stacks
	// w is the operation, as far as it is about this part, whole all of it.
	w, whole *lcm.Execution
	// away has, for each flavour of w, the flavour of the VDUs of the other parts; nil when there are none.
	away map[*vnfd.Flavour]*vnfd.Flavour
}

// partsOf lists the parts of an operation's instance, that of the primary connection first; none for an instance
// without a connection.
func partsOf(w *lcm.Execution) []part {
	var out []part
	for n, key := range usedVims(w) {
		s := part{key: key, stack: stack.NameOf(w.Instance), w: w, whole: w}
		if n > 0 {
			s.vim = key
			s.stack += "-" + plainKey(key)
		}
		out = append(out, s)
	}
	if len(out) == 1 {
		return out
	}
	for n := range out {
		for m := range out {
			if m != n {
				out[n].other = append(out[n].other, out[m].stack)
			}
		}
		out[n].narrow()
	}
	return out
}

// usedVims lists the connections of the parts. A part whose VDUs all go has a stack until then.
func usedVims(w *lcm.Execution) []string {
	keys := lcm.VimsOf(w.Instance.VimConnections)
	for _, i := range []*lcm.Instance{w.Instance, w.Op.Before} {
		for _, key := range recordedVims(i) {
			if _, ok := w.Instance.VimConnections[key]; ok && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func recordedVims(i *lcm.Instance) []string {
	if i == nil {
		return nil
	}
	return inventory.Vims(i.Instantiated)
}

var unusual = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

// plainKey is the key of a connection as a part of the name of a stack: different keys give different texts.
func plainKey(key string) string {
	const longest = 40
	plain := unusual.ReplaceAllString(key, "_")
	if plain = plain[:min(len(plain), longest)]; plain == key && key != "" {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return plain + "." + hex.EncodeToString(sum[:4])
}

// primary says whether the part is that of the primary connection.
func (s *part) primary() bool { return s.vim == "" }

// hosts says whether the VNFCs of a VDU are in the part. Those of a VDU that the operation removes are where they were.
func (s *part) hosts(vdu string) bool {
	after, _ := origins(s.whole)
	if b := s.whole.Op.Before; b != nil && after.Flavour != nil && after.Flavour.VDU(vdu) == nil {
		if vim, ok := inventory.VimOf(b.Instantiated, vdu); ok {
			return vim == s.vim
		}
	}
	key, _, _ := lcm.VimOf(s.whole.Instance.VimConnections, vdu)
	return key == s.key
}

// narrow limits w to what is about the part.
func (s *part) narrow() {
	w := s.whole
	s.away = map[*vnfd.Flavour]*vnfd.Flavour{}
	now := s.revision(lcm.Revision{VNFD: w.VNFD, Flavour: w.Flavour, Package: w.Package})
	var previous *lcm.Revision
	if w.Previous != nil {
		p := s.revision(*w.Previous)
		previous = &p
	}
	if w.Op.Grant == nil {
		w.Op.Grant = &lcm.Grant{} // the ids of images that a part uploads are added to it
	}
	op := *w.Op
	op.Before = s.instance(w.Op.Before)
	op.Scope = s.scope(w.Op.Scope)
	op.Params = s.params(w.Op.Params)
	s.w = w.Part(&op, s.instance(w.Instance), now, previous)
}

// revision is a revision with the part's VDUs only.
func (s *part) revision(r lcm.Revision) lcm.Revision {
	if r.Flavour == nil {
		return r
	}
	whole := r.Flavour
	r.Flavour = whole.Part(s.hosts, s.primary())
	s.away[r.Flavour] = whole.Part(func(vdu string) bool { return !s.hosts(vdu) }, !s.primary())
	return r
}

// instance is an instance with its resources in the part.
func (s *part) instance(i *lcm.Instance) *lcm.Instance {
	if i == nil {
		return nil
	}
	out := *i
	has := inventory.RecordOf(i).Of(s.vim, s.owns)
	out.Instantiated, out.Inventory = has.Info, has.Resources
	return &out
}

// owns says whether a connection point is in the part: it is where its VDU is.
func (s *part) owns(cpd string) bool {
	flavours := []*vnfd.Flavour{s.whole.Flavour}
	if s.whole.Previous != nil {
		flavours = append(flavours, s.whole.Previous.Flavour)
	}
	for _, f := range flavours {
		if f == nil {
			continue
		}
		if cp := f.CP(cpd); cp != nil && cp.VDU != "" {
			return s.hosts(cp.VDU)
		}
	}
	return s.primary()
}

// params is a request with the links of the part, and without the other ones.
func (s *part) params(whole json.RawMessage) json.RawMessage {
	var body map[string]json.RawMessage
	var req connections
	if json.Unmarshal(whole, &body) != nil || json.Unmarshal(whole, &req) != nil {
		return whole // those who read it report that
	}
	var err error
	if body["extVirtualLinks"] != nil {
		body["extVirtualLinks"], err = json.Marshal(s.links(req.ExtVirtualLinks))
	}
	if body["extManagedVirtualLinks"] != nil && err == nil {
		body["extManagedVirtualLinks"], err = json.Marshal(s.managed(req.ExtManagedVirtualLinks))
	}
	out, encoding := json.Marshal(body)
	if err != nil || encoding != nil {
		return whole
	}
	return out
}

// links are the external links of connection points that are in the part, and those that are given without any: these
// may be anywhere.
func (s *part) links(all []sol.ExtVirtualLinkData) []sol.ExtVirtualLinkData {
	var out []sol.ExtVirtualLinkData
	for _, l := range all {
		anywhere := len(l.ExtCps) == 0
		l.ExtCps = slices.DeleteFunc(slices.Clone(l.ExtCps), func(c sol.VnfExtCpData) bool { return !s.owns(c.CpdID) })
		if anywhere || len(l.ExtCps) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// managed are the externally managed links of the part's VIM.
func (s *part) managed(all []sol.ExtManagedVirtualLinkData) []sol.ExtManagedVirtualLinkData {
	return slices.DeleteFunc(
		slices.Clone(all), func(l sol.ExtManagedVirtualLinkData) bool { return !s.leadsHere(l.VimConnectionID) },
	)
}

// scope is a scope with the VNFCs of the part.
func (s *part) scope(whole *lcm.Scope) *lcm.Scope {
	if whole == nil {
		return nil
	}
	out := *whole
	here := func(counts map[string]int) map[string]int {
		var of map[string]int
		for vdu, n := range counts {
			if of == nil {
				of = map[string]int{}
			}
			if s.hosts(vdu) {
				of[vdu] = n
			}
		}
		return of
	}
	out.Counts, out.Add = here(whole.Counts), here(whole.Add)
	elsewhere := func(id string) bool {
		before := s.whole.Op.Before
		if before == nil {
			before = s.whole.Instance
		}
		c, _, ok := before.VNFC(id)
		return ok && !s.hosts(c.VduID)
	}
	out.Remove = slices.DeleteFunc(slices.Clone(whole.Remove), elsewhere)
	out.VNFCs = slices.DeleteFunc(slices.Clone(whole.VNFCs), elsewhere)
	if n := whole.Snapshot; n != nil {
		own := *n
		own.VNFCs = slices.DeleteFunc(slices.Clone(n.VNFCs), func(c lcm.VNFCSnapshot) bool { return !s.hosts(c.VDU) })
		out.Snapshot = &own
	}
	return &out
}

// concerned says whether the operation changes the stack of the part, of which the instance has several.
func (s *part) concerned() bool {
	scope := s.w.Op.Scope
	if s.away == nil || scope == nil {
		return true
	}
	switch s.w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel:
		return len(scope.Add)+len(scope.Remove) > 0
	case sol.LcmOperationHeal:
		return scope.Whole || len(scope.VNFCs) > 0
	case sol.LcmOperationOperate, sol.LcmOperationCreateSnapshot, sol.LcmOperationRevertToSnapshot:
		return len(scope.VNFCs) > 0
	default:
		return true
	}
}

// desiredAt is the desired state of a part after the operation.
func (d *Driver) desiredAt(s *part) (desired, error) {
	g, err := d.desiredOf(s)
	return s.narrowed(g), err
}

// previousAt is the state of a part before the operation.
func (d *Driver) previousAt(s *part) (desired, error) {
	g, err := d.previousOf(s.w)
	return s.narrowed(g), err
}

// narrowed limits a state to what is about the part.
func (s *part) narrowed(g desired) desired {
	if s.away == nil || g.flavour == nil {
		return g
	}
	g.away, g.primary = s.away[g.flavour], s.primary()
	g.selection = "/vimConnectionInfo/" + lcm.Escape(s.selecting()) + "/extra/" + lcm.ExtraVDUs
	g.patches = slices.Clone(g.patches)
	for n := range g.patches {
		g.patches[n] = userdata.Without(g.patches[n], g.away)
	}
	return g
}

// selecting is the connection that a client corrects when the VDUs cannot be divided.
func (s *part) selecting() string {
	if !s.primary() {
		return s.key
	}
	if keys := lcm.VimsOf(s.whole.Instance.VimConnections); len(keys) > 1 {
		return keys[1]
	}
	return s.key
}

// leadsHere says whether a vimConnectionId means the part; without one the primary connection is meant.
func (s *part) leadsHere(id string) bool {
	if s.primary() {
		return !slices.ContainsFunc(usedVims(s.whole), func(key string) bool { return key == id && key != s.key })
	}
	return id == s.key
}

// presentParts returns the parts of an instance that has a connection for each of its stacks.
func presentParts(w *lcm.Execution) ([]part, error) {
	parts := partsOf(w)
	if len(parts) == 0 {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VIM connection")
	}
	for _, key := range inventory.Vims(w.Instance.Instantiated) {
		if !slices.ContainsFunc(parts, func(s part) bool { return s.vim == key }) {
			return nil, lcm.Errorf(lcm.CodeUnprocessable,
				"the instance has a stack that was created through the connection %s, which is missing", key).
				WithHint("add the connection, with its VDUs, to vimConnectionInfo (MODIFY_INFO)")
		}
	}
	return parts, nil
}

// each does something with the parts that the operation is about, one after the other: a part is begun when those
// before are done. The first error, a wait too, ends it.
func (d *Driver) each(ctx context.Context, w *lcm.Execution, do func(context.Context, *tick) error) error {
	_, err := d.eachUntil(ctx, w, do)
	return err
}

// eachUntil is each, and returns the key of the VIM connection of the part that the error ended.
func (d *Driver) eachUntil(
	ctx context.Context, w *lcm.Execution, do func(context.Context, *tick) error,
) (vim string, err error) {
	parts, err := presentParts(w)
	if err != nil {
		return "", err
	}
	for n := range parts {
		if !parts[n].concerned() {
			continue
		}
		t, err := d.begin(ctx, parts[n])
		if err == nil {
			err = t.settle(do(ctx, t))
		}
		if err != nil {
			return parts[n].key, err
		}
	}
	return "", nil
}
