package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	if scope.Whole {
		return t.healWhole(ctx)
	}
	sick, err := t.replacements(scope.VNFCs)
	if err != nil {
		return err
	}
	if _, err := t.desired(ctx); err != nil { // before anything is lost
		return err
	}
	if err := lcm.Each(ctx, 8, sick, t.serverDeleted); err != nil {
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
		t.stack.Name(), maxHeals, len(scope.VNFCs)).WithHint(
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

// replacements finds the servers and volumes to replace for the VNFCs.
func (t *tick) replacements(vnfcs []string) ([]replacement, error) {
	params, err := t.w.Op.AdditionalParams()
	if err != nil {
		return nil, err
	}
	all, _ := params["all"].(bool)
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

// deletion is the checkpoint of the step that deletes a sick server.
type deletion struct {
	Try   int       `json:"try,omitempty"` // of the operation
	Since time.Time `json:"since,omitzero"`
}

// serverDeleted deletes the server of a replacement in Nova, as a step.
func (t *tick) serverDeleted(ctx context.Context, p replacement) error {
	return t.w.Step(ctx, "delete server", p.vnfc, func(ctx context.Context, s *lcm.Step) error {
		var cp deletion
		if _, err := s.Load(&cp); err != nil {
			return fmt.Errorf("read the step's checkpoint: %w", err)
		}
		sv, err := t.cloud.ReadServer(ctx, p.server)
		// believed at the second look: this step is not repeated, and a server that is there has the volumes
		if cloud.NotFound(err) {
			sv, err = t.cloud.ReadServer(ctx, p.server)
		}
		if cloud.NotFound(err) || err == nil && strings.HasSuffix(sv.Status, "DELETED") {
			s.Detail("server " + p.server + " is gone")
			return nil
		}
		if err != nil {
			return about(p.vnfc, err)
		}
		now := t.w.Clock.Now()
		if cp.Try != t.w.Op.Try || cp.Since.IsZero() {
			cp = deletion{Try: t.w.Op.Try, Since: now}
			if err := s.Save(ctx, cp); err != nil {
				return err
			}
		}
		elapsed := now.Sub(cp.Since)
		if elapsed > t.cfg.ServerTimeout {
			return t.serverStuck(p.vnfc, sv, "is not deleted", elapsed)
		}
		if sv.Task == "deleting" {
			return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: server %s", p.vnfc, sv))
		}
		err = t.cloud.DeleteServer(ctx, p.server)
		if err != nil && !cloud.NotFound(err) {
			return about(p.vnfc, err)
		}
		return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: deleting server %s", p.vnfc, p.server))
	})
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
		return t.stack.Mark(ctx, r, true, "healed by operation "+t.w.Op.ID)
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
