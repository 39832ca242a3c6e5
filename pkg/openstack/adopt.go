package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/preview"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// An adopted instance keeps the stack that another VNFM has made, with its name. Nothing marks the stack as ours before
// our first update, so it is known by the id in the inventory.

var _ lcm.Adopter = (*Driver)(nil)

// Locate implements lcm.Adopter. The stack is the one that the other VNFM names, or else the one with the instance's id
// in its name: "vnf-<id>" in version 2 of Tacker, "vnflcm_<id>" or another text before the id in version 1.
func (d *Driver) Locate(
	ctx context.Context, w *lcm.Execution, known lcm.KnownResources,
) (*lcm.PrimaryResource, error) {
	t, err := d.adopted(ctx, w)
	if err != nil {
		return nil, err
	}
	st, err := t.locate(ctx, known)
	if err != nil {
		return nil, t.settle(err)
	}
	out := &lcm.PrimaryResource{Name: st.Name, ID: st.ID, Status: st.Status}
	if err := adoptable(st, w.Instance.ID); err != nil {
		return out, err
	}
	w.Instance.PrimaryResource = st.Name
	if w.Instance.PrimaryResource == t.stack.Name() {
		w.Instance.PrimaryResource = ""
	}
	g, err := t.desiredAt(&t.part)
	if err != nil || g.own == nil {
		return out, err
	}
	has, err := t.content(ctx, st)
	if err != nil {
		return out, t.settle(err)
	}
	if secret := hiddenParameter(has); secret != "" {
		return out, lcm.Errorf(
			lcm.CodeConflict, "Heat does not show the parameter %s of the stack %s; updates of stacks of class "+
				"%s repeat it", secret, st.Ref(), g.own.Name,
		).WithHint("use a template in which the parameter is not hidden")
	}
	w.Instance.Assembled = &lcm.AssembledStack{
		OneMethod: known.Version == 1, Template: has.Template, Files: has.Files,
		Parameters: has.Parameters(),
	}
	return out, nil
}

// adopted begins the work on an instance's only part.
func (d *Driver) adopted(ctx context.Context, w *lcm.Execution) (*tick, error) {
	parts, err := presentParts(w)
	if err != nil {
		return nil, err
	}
	if len(parts) != 1 {
		return nil, lcm.Errorf(lcm.CodeConflict, "the instance has several VIM connections with resources")
	}
	return d.begin(ctx, parts[0])
}

// locate finds the stack.
func (t *tick) locate(ctx context.Context, known lcm.KnownResources) (*cloud.Stack, error) {
	id := t.w.Instance.ID
	if known.Primary != "" {
		st, err := t.cloud.FindStackByID(ctx, known.Primary)
		if err != nil || st != nil {
			return st, err
		}
	}
	all, err := t.cloud.ListStacks(ctx, "look for the stack of VNF instance "+id, url.Values{})
	if err != nil {
		return nil, err
	}
	var found []cloud.Stack
	for _, st := range all {
		if strings.Contains(st.Name, id) && st.Status != "DELETE_COMPLETE" {
			found = append(found, st)
		}
	}
	for n := range found {
		there, err := t.cloud.ListResources(ctx, &found[n])
		if err != nil {
			return nil, err
		}
		if len(found) == 1 || slices.ContainsFunc(there, func(r cloud.Resource) bool {
			return slices.Contains(known.Machines, r.PhysicalID)
		}) {
			return &found[n], nil
		}
	}
	named := ""
	if known.Primary != "" {
		named = ", and none with the id " + known.Primary
	}
	return nil, lcm.Errorf(lcm.CodeConflict, "project %s of %s has no stack whose name contains %s%s",
		t.cloud.Project(), t.cloud.URL(), id, named).WithHint(
		"name the VIM whose project has the stack; an instance without a stack cannot be adopted",
	)
}

// adoptable says why an instance cannot have a stack as it is.
func adoptable(st *cloud.Stack, instance string) error {
	is := fmt.Sprintf("the stack %s is %s", st.Ref(), st.Status)
	other := otherOwner(st, instance)
	switch {
	case other != "":
		return lcm.Errorf(lcm.CodeConflict, "the stack %s belongs to VNF instance %s", st.Ref(), other).WithHint(
			"a stack has one instance; check the id of the stack in instantiatedVnfInfo")
	case st.InProgress():
		return lcm.Errorf(lcm.CodeConflict, "%s", is).WithHint("wait until Heat has finished")
	case st.Failed():
		return lcm.Errorf(lcm.CodeConflict, "%s: %s", is, cloud.Clip(st.Reason, cloud.MaxText)).WithHint(
			"let the other VNFM repair it with a retry or a heal")
	case strings.HasPrefix(st.Status, "CREATE_"), strings.HasPrefix(st.Status, "UPDATE_"),
		strings.HasPrefix(st.Status, "CHECK_"), strings.HasPrefix(st.Status, "RESUME_"):
		return nil
	}
	return lcm.Errorf(lcm.CodeConflict, "%s", is).WithHint("an update of it has to be possible")
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// otherOwner is the id of another VNF instance that a stack belongs to: that of its tags if we have made or updated it,
// or that in its name. "" if it belongs to none.
func otherOwner(st *cloud.Stack, instance string) string {
	if stack.Owned(st, instance) {
		return ""
	}
	for _, text := range append(slices.Clone(st.Tags), st.Name) {
		if id := uuids.FindString(text); id != "" && id != instance {
			return id
		}
	}
	return ""
}

// content reads a stack as Heat has it: the templates and the values of the parameters that were given.
func (t *tick) content(ctx context.Context, st *cloud.Stack) (*userdata.Stack, error) {
	var template map[string]any
	var files map[string]string
	var values map[string]any
	err := parallel(ctx,
		func(ctx context.Context) (err error) { template, err = t.cloud.StackTemplate(ctx, st); return err },
		func(ctx context.Context) (err error) { files, err = t.cloud.StackFiles(ctx, st); return err },
		func(ctx context.Context) (err error) { values, _, err = t.cloud.StackParameters(ctx, st); return err })
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	out := &userdata.Stack{Template: string(text), Files: files, NFV: map[string]any{}, NoNFV: true}
	for name, v := range values {
		switch {
		case strings.HasPrefix(name, "OS::"): // pseudo parameters
		case name == "nfv":
			out.NFV, out.NoNFV = inventory.DecodeNFV(v), false
		default:
			if out.Other == nil {
				out.Other = map[string]any{}
			}
			out.Other[name] = v
		}
	}
	return out, nil
}

// hiddenParameter is a parameter of a stack whose value Heat does not show; "" when there is none.
func hiddenParameter(s *userdata.Stack) string {
	if !s.NoNFV && s.NFV == nil {
		return "nfv"
	}
	for _, name := range slices.Sorted(maps.Keys(s.Other)) {
		if text, ok := s.Other[name].(string); ok && text != "" && strings.Trim(text, "*") == "" {
			return name
		}
	}
	return ""
}

// Drift implements lcm.Adopter: the stack that Heat has is compared with the one that is assembled for the same state.
func (d *Driver) Drift(ctx context.Context, w *lcm.Execution) (*lcm.Preview, error) {
	t, err := d.adopted(ctx, w)
	if err != nil {
		return nil, err
	}
	st, err := t.stack.Present(ctx)
	if err != nil {
		return nil, t.settle(err)
	}
	has, err := t.content(ctx, st)
	if err != nil {
		return nil, t.settle(err)
	}
	g, err := d.previousOf(t.w)
	if err != nil {
		return nil, err
	}
	next, err := d.build(g)
	if err != nil {
		return nil, err
	}
	if has.NFV == nil { // Heat hides it
		has.NFV = next.NFV
	}
	return preview.Drift(
		w.Instance, &preview.Side{Stack: has, Flavour: g.flavour}, &preview.Side{Stack: next, Flavour: g.flavour},
	)
}
