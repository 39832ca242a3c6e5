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
	// Since is when it was started; it sets the pace of looking.
	Since time.Time `json:"since,omitzero"`
	// Told says that the failure of ID has been reported: whoever comes next has decided to try again.
	Told bool `json:"told,omitempty"`
	// Deletes counts how often a stack that is in the way would not be deleted.
	Deletes int `json:"deletes,omitempty"`
}

// maxDeletes is how often a stack whose deletion fails is deleted again before the failure is reported.
const maxDeletes = 3

// stackCreated is one look at the stack, and what follows from it. It is done when the stack is complete.
func (j *job) stackCreated(ctx context.Context, s *lcm.Step, name string) error {
	var cp creation
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	st, err := j.findStack(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case st == nil && cp.ID != "" && !cp.Told:
		return j.vanished(ctx, s, name, cp)
	case st == nil:
		return j.startStack(ctx, s, name)
	case st.deleting():
		return lcm.Wait(pace(j.w.Clock.Now().Sub(cp.Since)), "waiting until the previous stack "+name+" is deleted")
	case !j.ours(st), st.failed() && cp.Told && cp.ID == st.ID:
		return j.replace(ctx, s, st, cp)
	case st.failed():
		cp.ID, cp.Told = st.ID, true
		failure := j.stackFailure(ctx, "create", st)
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
		return failure
	case st.inProgress():
		if cp.ID != st.ID { // a dead predecessor made it
			cp = creation{ID: st.ID, Since: j.w.Clock.Now()}
			if err := s.Save(ctx, cp); err != nil {
				return err
			}
		}
		return j.underWay(ctx, st, j.w.Clock.Now().Sub(cp.Since))
	}
	s.Detail("stack " + st.ref())
	return nil
}

// ours says whether this operation made the stack. One that an earlier operation left behind may differ in everything; a VIM that
// does not tell tags gets the benefit of the doubt.
func (j *job) ours(st *stack) bool { return len(st.Tags) == 0 || slices.Contains(st.Tags, j.w.Op.ID) }

func (j *job) startStack(ctx context.Context, s *lcm.Step, name string) error {
	desired, _, err := j.assemble(j.w)
	if err != nil {
		return err
	}
	id, err := j.createStack(ctx, name, desired)
	if conflict(err) { // it exists although the list did not have it: a reply was lost, or Heat's list lags behind
		return lcm.Wait(200*time.Millisecond, "stack "+name+" exists already; looking at it")
	}
	if err != nil {
		return err
	}
	if err := s.Save(ctx, creation{ID: id, Since: j.w.Clock.Now()}); err != nil {
		return err
	}
	return lcm.Wait(pace(0), "stack CREATE_IN_PROGRESS")
}

// replace deletes a stack that is in the way; the next look finds it gone and creates it anew.
func (j *job) replace(ctx context.Context, s *lcm.Step, st *stack, cp creation) error {
	next := creation{ID: st.ID, Told: true, Since: j.w.Clock.Now()}
	if st.Status == "DELETE_FAILED" && cp.Told {
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
func (j *job) vanished(ctx context.Context, s *lcm.Step, name string, cp creation) error {
	if err := s.Save(ctx, creation{ID: cp.ID, Told: true}); err != nil {
		return err
	}
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Stack create failed",
		Detail: fmt.Sprintf("the stack %s/%s was deleted in the VIM %s while it was being created", name, cp.ID, j.conn.base),
		Hint:   "retry the operation to create it again, or roll it back",
	}
}

// underWay waits for Heat and says how far it is; the resources are only counted when that is a small part of the work.
func (j *job) underWay(ctx context.Context, st *stack, elapsed time.Duration) error {
	wait := pace(elapsed)
	if wait < time.Second {
		return lcm.Wait(wait, "stack "+st.Status)
	}
	all, err := j.listResources(ctx, st)
	if err != nil {
		return err
	}
	done, total := 0, 0
	for _, r := range all {
		if r.container() {
			continue
		}
		total++
		if strings.HasSuffix(r.Status, "_COMPLETE") {
			done++
		}
	}
	return lcm.Wait(wait, fmt.Sprintf("stack %s, %d of %d resources complete", st.Status, done, total))
}
