package openstack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// desired is the state that a stack is assembled from.
type desired struct {
	flavour  *vnfd.Flavour
	previous *vnfd.Flavour // that the VNFCs which are there belong to; nil when it is flavour
	files    fs.FS         // the package
	pointer  string        // pointer to the member of the request that names the package's flavour; "" = none does
	class    userdata.Class
	// own is the class of the package that makes the stack; nil for the built-in ones. class is then the one whose
	// stacks are like it. made is its stack, nil while it has not been run for the operation.
	own  *userdata.Own
	made *lcm.AssembledStack
	// counts is the number of VNFCs by VDU that there shall be, had the number that there are already.
	counts, existing map[string]int
	// ext and managed are the virtual links that hold.
	ext     []sol.ExtVirtualLinkData
	managed []sol.ExtManagedVirtualLinkData
	// nfv is what the VNFCs that are there were made from; it wins over what is computed but for the leaves that fresh
	// names.
	nfv         map[string]any
	overridable userdata.Fresh
	// patches are the additionalParams of the request, then those of the grant; their nfv wins over everything.
	patches []sol.KeyValuePairs
	grant   lcm.Grant
	// away is the flavour of the VDUs of the other parts of the instance; nil when there are none. primary says that
	// the primary connection is used, and selection points at what divides the VDUs.
	away      *vnfd.Flavour
	primary   bool
	selection string
	// publicKey is that of the instance's key; "" when it has none. It never changes while there are machines: other
	// user data would have Heat replace them.
	publicKey string
}

// build assembles the stack of a desired state: the same state gives the same stack. The error is a CodeUnprocessable
// one, with pointers where the request is to blame.
func (d *Driver) build(g desired) (*userdata.Stack, error) {
	if g.own != nil {
		return g.buildOwn()
	}
	b, err := d.bundle(g)
	if err != nil {
		return nil, err
	}
	st, bad, err := userdata.Assemble(userdata.Input{
		Class: g.class, Flavour: g.flavour, HOT: b, Counts: g.counts, Ext: g.ext, Managed: g.managed, Grant: g.grant,
		Previous: g.previous, Had: g.existing, Held: g.nfv, Fresh: g.overridable, Patches: g.patches,
		PublicKey: g.publicKey,
	})
	if err != nil {
		return nil, g.packageFault(err)
	}
	if err := lcm.Unprocessable(bad...); err != nil {
		return nil, err
	}
	return st, nil
}

// bundle reads the templates of a desired state: those of its flavour, with what belongs to its VDUs.
func (d *Driver) bundle(g desired) (*hot.Bundle, error) {
	b, err := d.templates.Load(g.files, g.flavour.ID)
	if err == nil && g.away != nil {
		s := hot.Selection{Own: vduNames(g.flavour), Away: vduNames(g.away), Primary: g.primary}
		for _, l := range g.managed {
			s.Given = append(s.Given, l.VnfVirtualLinkDescID)
		}
		b, err = b.Only(s)
	}
	if err != nil {
		return nil, g.packageFault(err)
	}
	return b, nil
}

func vduNames(f *vnfd.Flavour) []string {
	var out []string
	for _, v := range f.VDUs {
		out = append(out, v.Name)
	}
	return out
}

// packageFault makes the user's error of a fault in the package's templates.
func (g desired) packageFault(err error) error {
	if e, ok := errors.AsType[*hot.Error](err); ok {
		return lcm.Unprocessable(lcm.InvalidParam{Pointer: g.pointer, Detail: fmt.Sprintf(
			"the package cannot be used with flavour %s: %s", g.flavour.ID, e.Error(),
		)})
	}
	if e, ok := errors.AsType[*hot.SplitError](err); ok {
		return lcm.Unprocessable(
			lcm.InvalidParam{Pointer: g.selection, Detail: "the VDUs cannot use several connections: " + e.Error()},
		)
	}
	return err
}

// connections are the members of a request that say what the VNF is connected to; every operation that has them spells
// them alike.
type connections struct {
	InstantiationLevelID   string                          `json:"instantiationLevelId"`
	ExtVirtualLinks        []sol.ExtVirtualLinkData        `json:"extVirtualLinks"`
	ExtManagedVirtualLinks []sol.ExtManagedVirtualLinkData `json:"extManagedVirtualLinks"`
	AdditionalParams       sol.KeyValuePairs               `json:"additionalParams"`
}

// desiredOf is the desired state of the operation in a part, with the flavour of the whole part.
func (d *Driver) desiredOf(s *part) (desired, error) {
	w := s.w
	var req connections
	if err := json.Unmarshal(w.Op.Params, &req); err != nil {
		return desired{}, fmt.Errorf("decode the request: %w", err)
	}
	s.addGranted(&req)
	var g desired
	var err error
	if w.Op.Type == sol.LcmOperationInstantiate {
		g, err = initial(w, req)
	} else {
		g, err = d.previousOf(w)
	}
	if err != nil {
		return desired{}, err
	}
	if w.Op.Grant != nil {
		g.grant = *w.Op.Grant
	}
	g.patches = []sol.KeyValuePairs{req.AdditionalParams, w.Op.GrantParams}
	if w.Op.Type == sol.LcmOperationInstantiate {
		g.adopt(assembledBy(w))
		return g, nil
	}
	params, err := w.Params()
	if err != nil {
		return desired{}, err
	}
	had, former := g.choice(), g.made
	after, err := classAfter(w.Op.Type, params, had)
	if err != nil {
		return desired{}, err
	}
	if g.made = nil; after.own != nil && had.own != nil { // it is known to make stacks like its earlier ones
		after.class = had.class
	}
	g.class, g.own = after.class, after.own
	before := g.ext
	g.ext = lcm.MergeLinks(before, req.ExtVirtualLinks)
	g.managed = userdata.MergeManaged(g.managed, req.ExtManagedVirtualLinks)
	to, _ := origins(w)
	if to.Flavour != g.flavour {
		g.previous = g.flavour
		g.ext, g.managed = userdata.LinksOf(to.Flavour, g.ext, g.managed)
	}
	g.flavour, g.files, g.pointer = to.Flavour, to.Package, flavourMember[w.Op.Type]
	if w.Op.Scope != nil && w.Op.Scope.Counts != nil {
		g.counts = w.Op.Scope.Counts
	}
	g.nfv = withDisks(g.nfv, w)
	g.overridable = reconnected(overridableBy(w.Op.Type, req), before, g.ext)
	err = g.override(w, g.class != had.class)
	unmade := w.Op.State == sol.LcmOperationStateRollingBack && assembledBy(w) == nil
	if slices.Contains(classless, w.Op.Type) || unmade { // nothing else was sent
		g.made = former
	} else {
		held := g.nfv
		g.nfv = nil // the class has decided on all values
		g.adopt(assembledBy(w))
		g.nfv = held
	}
	return g, err
}

// override completes what the operation decides again, for a package, for other servers and for a grant.
func (g *desired) override(w *lcm.Execution, otherClass bool) (err error) {
	if w.Op.Type == sol.LcmOperationChangeVnfpkg {
		g.overridable, err = overridableByPackage(*g, w.Op.Params)
	}
	if otherClass || w.Op.Scope != nil && w.Op.Scope.Whole { // every server is another one afterwards
		g.overridable = regrouped(g.overridable)
	}
	if w.Op.GrantHref != "" {
		g.overridable = g.renewed(g.overridable)
	}
	g.updateImages(w)
	return err
}

// flavourMember is the member of a request that decides on the templates.
var flavourMember = map[sol.LcmOperationType]string{
	sol.LcmOperationInstantiate: "/flavourId", sol.LcmOperationChangeFlavour: "/newFlavourId",
	sol.LcmOperationChangeVnfpkg: "/vnfdId",
}

// initial is the desired state of an instantiation, without the grant.
func initial(w *lcm.Execution, req connections) (desired, error) {
	c, err := classOf(req.AdditionalParams)
	if err != nil {
		return desired{}, err
	}
	counts, ok := w.Flavour.Counts(req.InstantiationLevelID)
	if !ok {
		return desired{}, lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/instantiationLevelId", Detail: fmt.Sprintf("there is no level %q", req.InstantiationLevelID),
		})
	}
	return desired{
		flavour: w.Flavour, files: w.Package, pointer: flavourMember[w.Op.Type], class: c.class, own: c.own,
		counts: counts, ext: req.ExtVirtualLinks, managed: req.ExtManagedVirtualLinks, publicKey: publicKey(w.Instance),
	}, nil
}

// previousOf is the state before the operation, to which a rollback leads back.
func (d *Driver) previousOf(w *lcm.Execution) (desired, error) {
	before := cmp.Or(w.Op.Before, w.Instance)
	i := before.Instantiated
	if i == nil {
		return desired{}, lcm.Errorf(lcm.CodeConflict, "the instance is not instantiated")
	}
	_, from := origins(w)
	params, err := before.Params.Decode()
	if err != nil {
		return desired{}, err
	}
	c, err := classOf(params)
	if err != nil {
		return desired{}, err
	}
	if !userdata.Named(params) && numbered(i) {
		c.class = userdata.Standard
	}
	had := map[string]int{}
	for _, r := range i.VnfcResourceInfo {
		had[r.VduID]++
	}
	nfv, _ := i.Metadata["nfv"].(map[string]any)
	g := desired{
		flavour: from.Flavour, files: from.Package, class: c.class, own: c.own, counts: had, existing: maps.Clone(had),
		nfv: nfv, ext: userdata.CurrentLinks(i), managed: userdata.CurrentManaged(i), publicKey: publicKey(w.Instance),
	}
	g.adopt(before.Assembled)
	return g, nil
}

func publicKey(i *lcm.Instance) string {
	if i.SSHKey == nil {
		return ""
	}
	return i.SSHKey.Public
}

// origins are what the instance is made from after the operation and before it.
func origins(w *lcm.Execution) (after, before lcm.Revision) {
	after = lcm.Revision{VNFD: w.VNFD, Flavour: w.Flavour, Package: w.Package}
	switch {
	case w.Previous == nil:
		return after, after
	case w.Op.State == sol.LcmOperationStateRollingBack:
		return *w.Previous, after
	}
	return after, *w.Previous
}

// choice is the class that assembles a stack; own as in desired.
type choice struct {
	class userdata.Class
	own   *userdata.Own
}

func (g desired) choice() choice { return choice{g.class, g.own} }

// String is the name of the class.
func (c choice) String() string {
	if c.own != nil {
		return c.own.String()
	}
	return string(c.class)
}

// differs says whether two classes make different stacks: a class of the package may have another name in another one.
func (c choice) differs(from choice) bool {
	if c.own != nil && from.own != nil {
		return false
	}
	return c.own != from.own || c.class != from.class
}

func classOf(params sol.KeyValuePairs) (choice, error) {
	class, own, bad := userdata.Select(params)
	return choice{class, own}, lcm.Unprocessable(bad...)
}

// numbered says whether the VNFCs of an instance have indexes of their own, as only one class gives them.
func numbered(i *sol.InstantiatedVnfInfo) bool {
	return slices.ContainsFunc(
		i.VnfcResourceInfo, func(r sol.VnfcResourceInfo) bool { return r.Metadata["vdu_idx"] != nil },
	)
}

// classAfter is the class that an operation assembles with. Only one that exchanges the templates can change it:
// resources would get other names, and Heat would recreate everything.
func classAfter(t sol.LcmOperationType, params sol.KeyValuePairs, has choice) (choice, error) {
	class, err := classOf(params)
	if err == nil && !userdata.Named(params) {
		return has, nil
	}
	exchanges := t == sol.LcmOperationChangeFlavour || t == sol.LcmOperationChangeVnfpkg
	if err == nil && class.differs(has) && !exchanges {
		err = lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/additionalParams/" + userdata.ParamClass,
			Detail:  fmt.Sprintf("is %s, and the VNF was made with %s", class, has),
		})
	}
	return class, err
}

// overridableBy says which leaves an operation decides again for existing VNFCs.
func overridableBy(t sol.LcmOperationType, req connections) userdata.Fresh {
	return func(kind, name, leaf string) bool {
		switch kind {
		case "VDU":
			return t == sol.LcmOperationChangeFlavour && (userdata.IsLeaf(leaf, userdata.LeafFlavour) ||
				userdata.IsLeaf(leaf, userdata.LeafImage))
		case "CP":
			return (leaf == "network" || leaf == "fixed_ips" || leaf == "port") && userdata.Names(
				req.ExtVirtualLinks, name,
			)
		}
		return false
	}
}

// regrouped adds the server groups to the leaves that an operation decides again.
func regrouped(fresh userdata.Fresh) userdata.Fresh {
	return func(kind, name, leaf string) bool {
		return kind == "VDU" && leaf == userdata.LeafServerGroup || fresh(kind, name, leaf)
	}
}

// desired returns the stack that the operation leads to. It is assembled once per tick, when a request needs it.
func (t *tick) desired(context.Context) (*userdata.Stack, error) {
	if t.assembled == nil {
		t.assembled = sync.OnceValues(func() (*userdata.Stack, error) {
			g, err := t.desiredAt(&t.part)
			if err != nil {
				return nil, err
			}
			return t.build(g)
		})
	}
	return copied(t.assembled())
}

// built returns the stack of a desired state.
func (t *tick) built(g desired) stack.Desired {
	assembled := sync.OnceValues(func() (*userdata.Stack, error) { return t.build(g) })
	return func(context.Context) (*userdata.Stack, error) { return copied(assembled()) }
}

// copied is a copy of a stack: its sender may choose other zones in it.
func copied(s *userdata.Stack, err error) (*userdata.Stack, error) {
	if err != nil {
		return nil, err
	}
	c := *s
	return &c, nil
}
