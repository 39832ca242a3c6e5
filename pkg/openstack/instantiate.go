package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Instantiate implements lcm.Infra: the package's images, then the stack.
func (d *Driver) Instantiate(ctx context.Context, w *lcm.Work) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	if err := w.Hold(ctx); err != nil {
		return err
	}
	if err := j.settle(j.provideImages(ctx)); err != nil {
		return err
	}
	name := j.stackName()
	return j.settle(w.Step(ctx, "create stack", name, func(ctx context.Context, s *lcm.Step) error {
		return j.stackCreated(ctx, s, name)
	}))
}

// creation is the checkpoint of the step that creates the stack.
type creation struct {
	// ID is the stack's; it is recorded as soon as Heat has said it.
	ID string `json:"id,omitempty"`
	// Doomed is the id of a stack that is in the way and has to be deleted first.
	Doomed string `json:"doomed,omitempty"`
	// effort tells this try from earlier ones; it has a token when the stack is repaired instead of made.
	effort
	// Deletes counts how often a stack that is in the way would not be deleted.
	Deletes int `json:"deletes,omitempty"`
}

// maxDeletes is how often a stack whose deletion fails is deleted again before the failure is reported.
const maxDeletes = 3

// unlisted is how long Heat's list may lack a stack that Heat has just accepted, where its API has several databases.
const unlisted = 3 * time.Second

// stackCreated is one look at the stack, and what follows from it. It is done when the stack is complete.
//
// A stack whose creation failed stays as it is until the user decides. A retry repairs it: Heat replaces what failed and keeps
// the rest. When that fails too, the next retry deletes it and makes a new one.
func (j *job) stackCreated(ctx context.Context, s *lcm.Step, name string) error {
	var cp creation
	begun, err := s.Load(&cp)
	if err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if !begun { // as a rule there is none; if there is, Heat says so
		return j.startStack(ctx, s, name, cp.Zones)
	}
	st, err := j.findStack(ctx, name)
	if err != nil {
		return err
	}
	retried := cp.Try != j.w.Op.Tries
	switch {
	case st == nil && cp.ID != "" && !retried && j.w.Clock.Now().Sub(cp.Since) < unlisted:
		return lcm.Wait(pace(j.w.Clock.Now().Sub(cp.Since)), "stack "+name+" is not listed yet")
	case st == nil && cp.ID != "" && !retried:
		return j.vanished(name, cp)
	case st == nil:
		return j.startStack(ctx, s, name, cp.Zones)
	case !j.belongs(st):
		return j.inTheWay(st)
	case st.deleting():
		return lcm.Wait(pace(j.w.Clock.Now().Sub(cp.Since)), "waiting until the previous stack "+name+" is deleted")
	case !j.ours(st) || st.ID == cp.Doomed:
		return j.replace(ctx, s, st, cp)
	case cp.ID != st.ID: // made by a node that died, or was told to stop, before it could say so
		cp = creation{ID: st.ID, effort: effort{Try: cp.Try, Since: j.w.Clock.Now(), Zones: cp.Zones}}
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	stuck := j.stuckStack(st, cp.effort)
	switch {
	case stuck && !retried:
		return j.overdue(st)
	case stuck:
		return j.repair(ctx, s, st, creation{ID: st.ID, effort: j.nextEffort(cp.Zones.again())})
	case st.inProgress():
		return j.underWay(ctx, st, true, cp.Since)
	case st.complete():
		s.Detail(strings.TrimSuffix("stack "+st.ref()+", "+cp.Zones.String(), ", "))
		return nil
	case retried && cp.Token == "" && st.Status != "DELETE_FAILED":
		return j.repair(ctx, s, st, creation{ID: st.ID, effort: j.nextEffort(cp.Zones.again())})
	case retried:
		return j.replace(ctx, s, st, cp)
	case cp.Token != "" && !cp.sentTo(st):
		return j.repair(ctx, s, st, cp)
	}
	if cp.effort, err = j.afterFailure(ctx, s, "create", st, cp.effort, j.goalStack); err != nil {
		return err
	}
	return j.repair(ctx, s, st, cp)
}

// ours says whether this operation made the stack. One that an earlier operation left behind may differ in everything.
func (j *job) ours(st *stack) bool { return slices.Contains(st.Tags, j.w.Op.ID) }

// belongs says whether the stack is the instance's. Every stack that was ever made for it carries its tag.
func (j *job) belongs(st *stack) bool { return slices.Contains(st.Tags, j.w.Instance.ID) }

// inTheWay reports a stack of somebody else's that has the name of ours. It is not touched.
func (j *job) inTheWay(st *stack) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Stack in the way",
		Detail: fmt.Sprintf("the stack %s, %s in project %s, has the name of the instance's stack and is not the instance's: it does not carry its tag",
			st.ref(), st.Status, first(j.conn.project, j.project)),
		Hint: "find out whose stack it is and delete it, then retry the operation; a rollback leaves it alone",
	}
}

func (j *job) startStack(ctx context.Context, s *lcm.Step, name string, zones zoneChoice) error {
	desired, err := wanted(j.goalStack).in(ctx, zones)
	if err != nil {
		return err
	}
	// Whoever finds the stack without its id in the checkpoint has to know whose try made it.
	if err := s.Save(ctx, creation{effort: effort{Try: j.w.Op.Tries, Since: j.w.Clock.Now(), Zones: zones}}); err != nil {
		return err
	}
	id, err := j.createStack(ctx, name, desired)
	if conflict(err) { // it exists although the list did not have it: a reply was lost, or Heat's list lags behind
		return lcm.Wait(200*time.Millisecond, "stack "+name+" exists already; looking at it")
	}
	if err != nil {
		return err
	}
	if err := s.Save(ctx, creation{ID: id, effort: effort{Try: j.w.Op.Tries, Since: j.w.Clock.Now(), Zones: zones}}); err != nil {
		return err
	}
	return lcm.Wait(pace(0), "stack CREATE_IN_PROGRESS")
}

// repair updates a stack whose creation failed.
func (j *job) repair(ctx context.Context, s *lcm.Step, st *stack, cp creation) error {
	if err := s.Save(ctx, cp); err != nil {
		return err
	}
	return j.update(ctx, st, cp.effort, j.goalStack, nil)
}

// replace deletes a stack that is in the way; the next look finds it gone and creates it anew.
func (j *job) replace(ctx context.Context, s *lcm.Step, st *stack, cp creation) error {
	next := creation{Doomed: st.ID, effort: effort{Try: j.w.Op.Tries, Since: j.w.Clock.Now(), Zones: cp.Zones.again()}}
	if st.Status == "DELETE_FAILED" && cp.Try == next.Try {
		next.Deletes = cp.Deletes + 1
	}
	if next.Deletes > maxDeletes {
		next.Deletes = 0
		failure := j.stackFailure(ctx, "delete", st)
		if err := s.Save(ctx, next); err != nil {
			return err
		}
		return failure
	}
	if err := s.Save(ctx, next); err != nil {
		return err
	}
	if err := j.deleteStack(ctx, st); err != nil {
		return err
	}
	return lcm.Wait(pace(0), "deleting the previous stack "+st.Name)
}

// vanished reports a stack that somebody else deleted; a retry makes it again.
func (j *job) vanished(name string, cp creation) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Stack create failed",
		Detail: fmt.Sprintf("the stack %s/%s was deleted in the VIM %s while it was being created", name, cp.ID, j.conn.base),
		Hint:   "retry the operation to create it again, or roll it back",
	}
}
