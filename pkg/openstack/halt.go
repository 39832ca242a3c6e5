package openstack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Halt implements lcm.Infra.
func (d *Driver) Halt(ctx context.Context, w *lcm.Work, mode sol.CancelModeType) error {
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	// The operation may be cancelled again after a retry, and forcefully after gracefully: each time is a step of its own.
	target := fmt.Sprintf("%s, %s, try %d", j.stackName(), strings.ToLower(string(mode)), w.Op.Tries)
	return j.settle(w.Step(ctx, "halt", target, func(ctx context.Context, s *lcm.Step) error {
		if err := j.uploadsHalted(ctx, mode); err != nil {
			return err
		}
		if err := j.scriptsHalted(mode); err != nil {
			return err
		}
		if err := j.stackHalted(ctx, s, mode); err != nil {
			return err
		}
		return j.serversHalted(ctx)
	}))
}

// uploadsHalted ends the uploads of the instance's images by this node, or waits for them. Those of other nodes end by themselves: they
// follow no operation.
func (j *job) uploadsHalted(ctx context.Context, mode sol.CancelModeType) error {
	if !j.uploads.any() {
		return nil
	}
	all, err := j.taggedImages(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		u := j.uploads.get(i.ID)
		if u == nil {
			continue
		}
		if mode == sol.CancelModeForceful {
			j.uploads.cancel(i.ID)
		} else if over, _ := u.result(); !over {
			return lcm.Wait(time.Second, fmt.Sprintf("image %s is still being uploaded, %s", i.Name, u.progress()))
		}
	}
	return nil
}

// halting is the checkpoint of the step that halts an operation.
type halting struct {
	Since time.Time `json:"since"`
	// Asked says that Heat was asked to stop, Refused that it would not.
	Asked   bool `json:"asked,omitempty"`
	Refused bool `json:"refused,omitempty"`
}

// settleTime is how long a stopped stack may go on with what was begun in the stacks nested in it.
const settleTime = 30 * time.Second

// stackHalted is one look at the stack of a cancelled operation, and what follows from it. It is done when Heat does nothing more, or when
// what is left cannot be stopped.
func (j *job) stackHalted(ctx context.Context, s *lcm.Step, mode sol.CancelModeType) error {
	var cp halting
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	st, err := j.findStack(ctx, j.stackName())
	if err != nil {
		return err
	}
	if st == nil {
		s.Detail("there is no stack")
		return nil
	}
	now := j.w.Clock.Now()
	if cp.Since.IsZero() {
		cp.Since = now
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	elapsed := now.Sub(cp.Since)
	signals, busy, err := j.signalledGroups(ctx, st)
	if err != nil {
		return err
	}
	if busy != nil { // such a group is changed while the stack around it is at rest
		st = busy
	}
	switch {
	case signals && !st.inProgress() && elapsed < restBetween:
		return lcm.Wait(restBetween, "looking whether Heat obeys a signal")
	case !st.inProgress():
		s.Detail("stack " + st.ref() + " is " + st.Status)
		if !cp.Asked {
			return nil
		}
		return j.settled(ctx, s, st, elapsed)
	case mode == sol.CancelModeForceful && st.deleting():
		s.Detail("stack " + st.ref() + " is being deleted, which cannot be stopped; a retry asks for it again")
		return nil
	case mode != sol.CancelModeForceful || st.Status != "CREATE_IN_PROGRESS" && st.Status != "UPDATE_IN_PROGRESS":
	case !cp.Asked:
		return j.stopStack(ctx, s, st, cp)
	case cp.Refused && st.Status == "CREATE_IN_PROGRESS": // a Heat that cannot leave a stack half made can delete it
		if err := j.deleteStack(ctx, st); err != nil {
			return err
		}
	}
	return lcm.Wait(pace(elapsed), "waiting for the stack, "+st.Status)
}

// stopStack asks Heat to leave the stack as it is now. What a cancelled update would otherwise do, going back, is the user's to decide.
func (j *job) stopStack(ctx context.Context, s *lcm.Step, st *stack, cp halting) error {
	err := j.stackAction(ctx, st, "cancel_without_rollback")
	cp.Asked, cp.Refused = true, refused(err)
	if cp.Refused { // it has come to its end meanwhile, or this Heat cannot: the next look tells
		s.Logf(ctx, lcm.AsError(err).Detail)
	} else if err != nil {
		return err
	}
	if err := s.Save(ctx, cp); err != nil {
		return err
	}
	return lcm.Wait(pace(0), "stopping the stack, "+st.Status)
}

func (j *job) stackAction(ctx context.Context, st *stack, action string) error {
	return j.do(ctx, call{
		what: action + " of stack " + st.Name, service: heat, method: http.MethodPost,
		path: "/stacks/" + segment(st.Name) + "/" + segment(st.ID) + "/actions", in: map[string]any{action: nil},
	})
}

// refused says whether the VIM has understood a request and will not do it.
func refused(err error) bool {
	e := lcm.AsError(err)
	return e != nil && e.Code == lcm.CodeUpstream && e.Class == lcm.Permanent
}

// settled waits for what a stopped stack still does in nested stacks: what has been sent to Nova goes on for a while, and a retry would find
// it busy. What Heat only waits for may last; that is no reason to hold the user up.
func (j *job) settled(ctx context.Context, s *lcm.Step, st *stack, elapsed time.Duration) error {
	all, err := j.listResources(ctx, st)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(r resource) bool { return strings.HasSuffix(r.Status, "_IN_PROGRESS") && !r.container() })
	if at < 0 {
		return nil
	}
	busy := pathOf(all[at], all) + " " + all[at].Status
	if elapsed < settleTime {
		return lcm.Wait(pace(elapsed), "waiting for what is under way: "+busy)
	}
	s.Detail("stack " + st.ref() + " is " + st.Status + "; Heat still shows " + busy)
	return nil
}

// serversHalted waits for what Nova still does to the servers of an OPERATE.
func (j *job) serversHalted(ctx context.Context) error {
	if j.w.Op.Type != sol.LcmOperationOperate || j.w.Op.Scope == nil {
		return nil
	}
	return lcm.Each(ctx, 8, j.w.Op.Scope.VNFCs, func(ctx context.Context, id string) error {
		_, res, ok := j.before().VNFC(id)
		if !ok {
			return nil
		}
		sv, err := j.readServer(ctx, res.ComputeResource.ResourceID)
		if notFound(err) || err == nil && sv.Task == "" {
			return nil
		}
		if err != nil {
			return err
		}
		return lcm.Wait(time.Second, fmt.Sprintf("VNFC %s: server %s", id, sv))
	})
}
