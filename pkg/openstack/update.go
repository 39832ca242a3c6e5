package openstack

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// effort is the checkpoint of a step that updates a stack. It is durable before Heat is told anything.
type effort struct {
	// Token is the tag that the stack carries as soon as Heat has accepted the update: who finds it knows that it was sent.
	Token string `json:"token,omitempty"`
	// Try is the operation's try that the token belongs to: a failure of an earlier one is no reason to stop.
	Try int `json:"try,omitempty"`
	// Since is when it was sent; it sets the pace of looking.
	Since time.Time `json:"since,omitzero"`
}

// newEffort is one more update, by which the operation's present try is told from earlier ones.
func (j *job) newEffort() effort {
	return effort{Token: strings.ToLower(rand.Text()[:12]), Try: j.w.Op.Tries, Since: j.w.Clock.Now()}
}

// stackUpdated brings the instance's stack to what want returns, as a durable step of the phase; target tells several such steps of
// one phase apart. before is called just before each request to Heat and has to be idempotent; nil is allowed.
//
// The step can be left at any point. Whoever comes next looks at the stack: the token in its tags says whether the update has
// reached Heat, its status what has become of it.
func (j *job) stackUpdated(ctx context.Context, target string, want func(context.Context) (*userdata.Stack, error), before func(context.Context) error) error {
	return j.w.Step(ctx, "update stack", target, func(ctx context.Context, s *lcm.Step) error {
		var e effort
		if _, err := s.Load(&e); err != nil {
			return fmt.Errorf("read the step's checkpoint: %w", err)
		}
		st, err := j.presentStack(ctx)
		if err != nil {
			return err
		}
		sent := e.sentTo(st)
		switch {
		case st.inProgress():
			return j.underWay(ctx, st, sent, e.Since)
		case sent && st.complete():
			s.Detail("stack " + st.ref())
			return nil
		case sent && e.Try == j.w.Op.Tries:
			return j.stackFailure(ctx, "update", st)
		}
		if sent || e.Try != j.w.Op.Tries {
			e = j.newEffort()
			if err := s.Save(ctx, e); err != nil {
				return err
			}
		}
		return j.update(ctx, st, e, want, before)
	})
}

// sentTo says whether the update has reached the stack.
func (e effort) sentTo(st *stack) bool { return e.Token != "" && slices.Contains(st.Tags, e.Token) }

// presentStack finds the instance's stack; it is an error when there is none.
func (j *job) presentStack(ctx context.Context) (*stack, error) {
	name := j.stackName()
	st, err := j.findStack(ctx, name)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, &lcm.Error{
			Code: lcm.CodeUpstream, Title: "Stack not found",
			Detail: fmt.Sprintf("the stack %s is not in the VIM %s any more", name, j.conn.base),
			Hint:   "mark the operation failed and heal the whole VNF with additionalParams.all, or terminate it",
		}
	}
	return st, nil
}

// update sends the stack to Heat. A reply that is lost does not matter: the next look finds the token.
func (j *job) update(ctx context.Context, st *stack, e effort, want func(context.Context) (*userdata.Stack, error), before func(context.Context) error) error {
	desired, err := want(ctx)
	if err != nil {
		return err
	}
	if before != nil {
		if err := before(ctx); err != nil {
			return err
		}
	}
	err = j.patchStack(ctx, st, desired, e.Token)
	if conflict(err) {
		return lcm.Wait(200*time.Millisecond, "stack "+st.Name+" is busy; looking at it")
	}
	if err != nil {
		return err
	}
	return lcm.Wait(pace(0), "stack UPDATE_IN_PROGRESS")
}

// underWay waits for Heat and says how far it is; the resources are only counted when that is a small part of the work.
func (j *job) underWay(ctx context.Context, st *stack, ours bool, since time.Time) error {
	elapsed := j.w.Clock.Now().Sub(since)
	wait := pace(elapsed)
	switch {
	case !ours:
		return lcm.Wait(max(wait, 500*time.Millisecond), "waiting for an earlier action: stack "+st.Status)
	case wait < time.Second:
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
