package web

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

const (
	// pageSize is the number of instances or packages on a page.
	pageSize = 100
	// maxHistory is the number of operations that an instance shows.
	maxHistory = 50
)

// instancesData is what the list of instances shows.
type instancesData struct {
	Rows []instanceRow
	// FailingSubscriptions says how many subscriptions do not accept notifications, as the begin of a sentence; "" for
	// none.
	FailingSubscriptions string
	// Next is the id to go on after, "" on the last page; Later says that this is not the first.
	Next  string
	Later bool
}

type instanceRow struct {
	ID, Name, Flavour, Product, VnfdID, VnfdVersion, PackageID string
	State                                                      sol.InstantiationState
	Changed                                                    time.Time
	Active                                                     *operationRow
	Protection                                                 *lcm.Protection
}

type operationRow struct {
	ID, Name, Phase, Took string
	State                 sol.LcmOperationStateType
	Automatic             bool
	Started               time.Time
	Detail                string // why it failed
}

func operationRowOf(op *lcm.Operation, now time.Time) *operationRow {
	r := &operationRow{
		ID: op.ID, Name: operationName(op.Type), State: op.State, Automatic: op.Automatic, Started: op.Started,
	}
	if lcm.Running(op.State) {
		r.Phase, r.Took = op.Phase, took(now.Sub(op.Started).Truncate(time.Second))
	} else {
		r.Took = took(op.StateEntered.Sub(op.Started))
	}
	if op.Error != nil {
		r.Detail = short(op.Error.Detail)
	}
	return r
}

// instances is the screen of all instances.
func (c *console) instances(ctx context.Context, a ask) (view, error) {
	active, err := c.activeOperations(ctx)
	if err != nil {
		return view{}, err
	}
	d := &instancesData{Later: a.after != ""}
	if d.FailingSubscriptions, err = c.failingSubscriptions(ctx); err != nil {
		return view{}, err
	}
	q := lcm.Query{After: a.after, Limit: pageSize + 1, Brief: true}
	for doc, err := range c.Instances.InstanceDocuments(ctx, q) {
		if err != nil {
			return view{}, err
		}
		if len(d.Rows) == pageSize {
			d.Next = d.Rows[pageSize-1].ID
			break
		}
		var i sol.VnfInstance
		if err := json.Unmarshal(doc.Brief, &i); err != nil {
			return view{}, err
		}
		row := instanceRow{
			ID: i.ID, Name: cmp.Or(i.VnfInstanceName, i.ID), Product: i.VnfProductName, VnfdID: i.VnfdID,
			VnfdVersion: i.VnfdVersion, PackageID: doc.VnfPkgID, State: i.InstantiationState, Changed: doc.Updated,
			Flavour: doc.FlavourID,
		}
		if doc.Protected {
			row.Protection = &lcm.Protection{}
		}
		if op := active[i.ID]; op != nil {
			row.Active = operationRowOf(op, c.Clock.Now())
			row.Active.Took = "" // it would change all the time
		}
		d.Rows = append(d.Rows, row)
	}
	slices.SortStableFunc(d.Rows, func(x, y instanceRow) int { return cmp.Compare(x.Name, y.Name) })
	return view{Title: "VNF instances", Data: d}, nil
}

// activeOperations finds the operation that holds each instance.
func (c *console) activeOperations(ctx context.Context) (map[string]*lcm.Operation, error) {
	ops, err := c.Operations.Operations(ctx, lcm.Query{Brief: true, States: []sol.LcmOperationStateType{
		sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack,
		sol.LcmOperationStateFailedTemp,
	}})
	out := make(map[string]*lcm.Operation, len(ops))
	for _, op := range ops {
		out[op.InstanceID] = op
	}
	return out, err
}

// instanceData is what the screen of an instance shows.
type instanceData struct {
	instanceRow
	Description, Provider, SoftwareVersion string
	Created                                time.Time
	VnfState                               sol.VnfOperationalState
	Scale                                  []pair
	Holds                                  bool
	Topology                               *topology
	Drawing                                *drawing
	Operations                             []*operationRow
	// Older counts operations that are not shown.
	Older     int
	Vims      []vimData
	Snapshots []snapshotRow
	// Cluster says that the instance is a Kubernetes cluster whose credentials are kept.
	Cluster bool
	Props   []pair
}

type vimData struct {
	Key, Type, ID string
	Own           bool // made by the instance
	Pairs         []pair
	Fault         *lcm.VimFault // of a VIM that does not answer
}

// instance is the screen of one instance.
func (c *console) instance(ctx context.Context, a ask) (view, error) {
	i, err := c.Instances.Instance(ctx, a.id)
	if err != nil {
		return view{}, err
	}
	ops, err := c.Operations.Operations(ctx, lcm.Query{InstanceID: a.id, Brief: true})
	if err != nil {
		return view{}, err
	}
	d := &instanceData{
		instanceRow: instanceRow{
			ID: i.ID, Name: cmp.Or(i.Name, i.ID), Product: i.ProductName, VnfdID: i.VnfdID, VnfdVersion: i.VnfdVersion,
			PackageID: i.VnfPkgID, State: i.State, Changed: i.Updated, Protection: i.Protection,
		},
		Description: i.Description, Provider: i.Provider, SoftwareVersion: i.SoftwareVersion, Created: i.Created,
		Holds: i.HoldsResources,
	}
	for _, op := range slices.Backward(ops) {
		row := operationRowOf(op, c.Clock.Now())
		if lcm.Active(op.State) {
			d.Active = row
		}
		if len(d.Operations) < maxHistory {
			d.Operations = append(d.Operations, row)
		}
	}
	d.Older = len(ops) - len(d.Operations)
	if d.Snapshots, err = c.snapshots(ctx, i, ops); err != nil {
		return view{}, err
	}
	if info := i.Instantiated; info != nil {
		d.Flavour = info.FlavourID
		if i.State == sol.InstantiationStateInstantiated { // before, it says nothing
			d.VnfState = info.VnfState
		}
		for _, s := range info.ScaleStatus {
			d.Scale = append(d.Scale, pair{s.AspectID, scaleText(s, info.MaxScaleLevels)})
		}
		d.Topology = topologyOf(i)
		d.Drawing = draw(d.Topology)
	}
	away, err := c.unavailable(ctx)
	if err != nil {
		return view{}, err
	}
	redactor := redact.New(i.SecretNames...)
	d.addVims(i, redactor, away)
	if err := d.addProps(i, redactor); err != nil {
		return view{}, err
	}
	v := view{Title: d.Name, Data: d}
	if d.Active != nil && lcm.Running(d.Active.State) || len(away) > 0 { // there are no events of VIMs
		v.tick = 5 * time.Second
	}
	return v, nil
}

// addVims adds the VIM connections of the instance, with the faults of those VIMs that do not answer.
func (d *instanceData) addVims(i *lcm.Instance, redactor redact.Redactor, away map[string]lcm.VimFault) {
	for _, key := range slices.Sorted(maps.Keys(i.VimConnections)) {
		vim := redactor.Connection(i.VimConnections[key])
		v := vimData{Key: key, Type: vim.VimType, ID: vim.VimID, Pairs: slices.Concat(
			named("interfaceInfo", leavesOf(vim.InterfaceInfo)), named("accessInfo", leavesOf(vim.AccessInfo)),
			named("extra", leavesOf(vim.Extra)),
		)}
		if owner, ok := vim.Extra[lcm.ExtraOwner]; ok && owner == i.ID {
			v.Own, d.Cluster = true, true
		}
		if f, ok := away[lcm.VimKey(i.VimConnections[key])]; ok {
			v.Fault = &f
		}
		d.Vims = append(d.Vims, v)
	}
}

// addProps adds the attributes with free names.
func (d *instanceData) addProps(i *lcm.Instance, redactor redact.Redactor) error {
	for _, a := range []struct {
		name  string
		pairs sol.RawPairs
	}{{"configurable", i.ConfigurableProperties}, {"metadata", i.Metadata}, {"extensions", i.Extensions}} {
		pairs, err := a.pairs.Decode()
		if err != nil {
			return err
		}
		d.Props = append(d.Props, named(a.name, flatten(pairs, redactor))...)
	}
	return nil
}

// unavailable returns the VIMs that do not answer, by lcm.VimKey.
func (c *console) unavailable(ctx context.Context) (map[string]lcm.VimFault, error) {
	if c.Unavailable == nil {
		return nil, nil //nolint:nilnil // an empty map
	}
	return c.Unavailable(ctx)
}

// named puts a name before those of values.
func named(name string, out []pair) []pair {
	for n := range out {
		out[n].Name = name + "." + out[n].Name
	}
	return out
}

// scaleText says how far an aspect is scaled.
func scaleText(s sol.ScaleInfo, limits []sol.ScaleInfo) string {
	text := "level " + strconv.Itoa(s.ScaleLevel)
	if n := slices.IndexFunc(limits, func(m sol.ScaleInfo) bool { return m.AspectID == s.AspectID }); n >= 0 {
		text += " of " + strconv.Itoa(limits[n].ScaleLevel)
	}
	return text
}
