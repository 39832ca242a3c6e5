package openstack

import (
	"context"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// replacement is the server and the volumes that HEAL replaces for one VNFC, as they were before the operation. Ids of
// the VIM say what is done already: they never come back.
type replacement struct {
	vnfc   string // vnfcInfo id
	server string
	// volumes go with the server; they are empty when the storages stay.
	volumes []string
}

// maxHeals is how many updates a heal may take: one is enough unless a mark is lost.
const maxHeals = 3

// heal replaces the servers of the operation's VNFCs, and their storages when additionalParams.all says so; the ports
// stay. The whole VNF is deleted and created again.
//
// The sick servers are deleted in Nova first. Heat on its own makes the new one before it deletes the old one, and that
// fails in the cases that a heal is for: the host is dead and does not let go of the port, a volume stays and is in
// use, an anti-affinity group or a quota has room for no other one. What the old server was good for is gone by then
// either way, because Heat has taken its ports.
func (t *tick) heal(ctx context.Context) error {
	scope := t.w.Op.Scope
	if scope == nil {
		return lcm.Errorf(lcm.CodeInternal, "the operation %s does not say what to heal", t.w.Op.ID)
	}
	if err := t.images().Provide(ctx, outdatedImages(t.w)); err != nil {
		return err
	}
	if err := t.assemble(ctx); err != nil {
		return err
	}
	if scope.Whole {
		return t.healWhole(ctx)
	}
	params, err := t.w.Op.AdditionalParams()
	if err != nil {
		return err
	}
	all, _ := params["all"].(bool)
	sick, err := t.replacements(scope.VNFCs, all)
	if err != nil {
		return err
	}
	if _, err := t.desired(ctx); err != nil { // before anything is lost
		return err
	}
	return t.recreate(ctx, sick)
}

// recreate deletes servers, and has Heat replace them with the resources that are in replacements by an update to the
// desired state.
func (t *tick) recreate(ctx context.Context, sick []replacement) error {
	if err := lcm.Each(ctx, 8, sick, func(ctx context.Context, p replacement) error {
		return t.servers.Delete(ctx, p.vnfc, p.server)
	}); err != nil {
		return err
	}
	for round := range maxHeals {
		target := t.stack.Name()
		if round > 0 {
			target += fmt.Sprintf(" (%d)", round+1)
		}
		if err := t.stack.Update(ctx, target, t.desired, func(ctx context.Context) error {
			return t.markUnhealthy(ctx, sick)
		}); err != nil {
			return err
		}
		left, whole, err := t.pending(ctx, sick)
		if err != nil || len(left) == 0 && whole {
			return err
		}
		sick = left
	}
	return lcm.Errorf(lcm.CodeUpstream, "Heat has updated the stack %s %d times and not replaced all of the %d VNFCs",
		t.stack.Name(), maxHeals, len(t.w.Op.Scope.VNFCs)).WithHint(
		"look at Heat's events of the stack; heal the whole VNF with additionalParams.all",
	)
}

// healWhole deletes the stack and creates it again, from the values that held.
func (t *tick) healWhole(ctx context.Context) error {
	if _, err := t.desired(ctx); err != nil { // before anything is lost
		return err
	}
	if err := t.stack.Delete(ctx); err != nil {
		return err
	}
	return t.stack.Create(ctx, t.desired)
}

// replacements finds the servers to replace for the VNFCs, and with all their volumes, too.
func (t *tick) replacements(vnfcs []string, all bool) ([]replacement, error) {
	var out []replacement
	for _, id := range vnfcs {
		_, res, ok := t.stack.Before().VNFC(id)
		if !ok {
			return nil, lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VNFC %s", id)
		}
		p := replacement{vnfc: id, server: res.ComputeResource.ResourceID}
		if all {
			for _, s := range t.stack.Before().Instantiated.VirtualStorageResourceInfo {
				if slices.Contains(res.StorageResourceIds, s.ID) {
					p.volumes = append(p.volumes, s.StorageResource.ResourceID)
				}
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// markUnhealthy tells Heat which resources to replace with the next update. What is not there any more has been
// replaced by an earlier one.
func (t *tick) markUnhealthy(ctx context.Context, sick []replacement) error {
	all, err := t.stack.Resources(ctx)
	if err != nil {
		return err
	}
	var marks []cloud.Resource
	for _, p := range sick {
		marks = append(marks, p.in(all)...)
	}
	return lcm.Each(ctx, 8, marks, func(ctx context.Context, r cloud.Resource) error {
		if r.Status == "CHECK_FAILED" {
			return nil // marked already
		}
		return t.stack.Mark(ctx, r, true, "replaced by operation "+t.w.Op.ID)
	})
}

// in lists the resources of a replacement that a stack still has.
func (p replacement) in(all []cloud.Resource) []cloud.Resource {
	var out []cloud.Resource
	for _, r := range all {
		if r.PhysicalID != "" && (r.Type == cloud.TypeServer && r.PhysicalID == p.server || slices.Contains(
			p.volumes, r.PhysicalID,
		)) {
			out = append(out, r)
		}
	}
	return out
}

// pending lists the replacements of which the stack still has a resource. whole says that the stack is complete: an
// update that failed has taken away what was sick, and not made the rest.
func (t *tick) pending(ctx context.Context, sick []replacement) (left []replacement, whole bool, err error) {
	st, err := t.stack.Find(ctx)
	if err != nil || st == nil {
		return sick, false, err
	}
	all, err := t.cloud.ListResources(ctx, st)
	return slices.DeleteFunc(slices.Clone(sick), func(p replacement) bool {
		return len(p.in(all)) == 0
	}), st.Complete(), err
}
