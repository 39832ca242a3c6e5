package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// operate starts or stops the servers of the operation's VNFCs.
func (t *tick) operate(ctx context.Context) error {
	var req sol.OperateVnfRequest
	if err := json.Unmarshal(t.w.Op.Params, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	want := cloud.ServerActive
	if req.ChangeStateTo == sol.VnfOperationalStateStopped {
		want = cloud.ServerStopped
		if req.StopType == sol.StopTypeGraceful {
			if err := t.waitGracefully(ctx, t.w, "graceful stop", req.GracefulStopTimeout); err != nil {
				return err
			}
		}
	}
	return t.setStates(ctx, func(sol.VnfcInfo) string { return want })
}

// restoreOperate gives every server of the operation the state back that it had.
func (t *tick) restoreOperate(ctx context.Context) error {
	return t.setStates(ctx, func(c sol.VnfcInfo) string {
		if c.VnfcState == sol.VnfOperationalStateStopped {
			return cloud.ServerStopped
		}
		return cloud.ServerActive
	})
}

// setStates brings the servers of the operation's VNFCs to the states that want says.
func (t *tick) setStates(ctx context.Context, want func(sol.VnfcInfo) string) error {
	scope := t.w.Op.Scope
	if scope == nil {
		return lcm.Errorf(lcm.CodeInternal, "the operation %s does not say which VNFCs it is about", t.w.Op.ID)
	}
	return lcm.Each(ctx, 8, scope.VNFCs, func(ctx context.Context, id string) error {
		c, res, ok := t.stack.Before().VNFC(id)
		if !ok {
			return lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VNFC %s", id)
		}
		to := want(c)
		name := "start server"
		if to == cloud.ServerStopped {
			name = "stop server"
		}
		return t.w.Step(ctx, name, id, func(ctx context.Context, s *lcm.Step) error {
			return t.reachState(ctx, s, id, res.ComputeResource.ResourceID, to)
		})
	})
}

// transition is the checkpoint of the step that starts or stops a server.
type transition struct {
	Try int `json:"try"` // of the operation
	// Since is when the step began to work on it, Asked when Nova was asked last.
	Since time.Time `json:"since"`
	Asked time.Time `json:"asked,omitzero"`
	// Refusal is what Nova said to the last request when it said no, Refusals how often it did.
	Refusal  string `json:"refusal,omitempty"`
	Refusals int    `json:"refusals,omitempty"`
}

// maxRefusals is how often Nova may say no before that is believed.
const maxRefusals = 3

// askAgain is how long a server may stay as it is although Nova has said yes, or no because of its state, before Nova
// is asked again.
const askAgain = 5 * time.Second

// reachState observes a server, and asks Nova for the state to or waits for it. It is done when the server has that
// state.
func (t *tick) reachState(ctx context.Context, s *lcm.Step, vnfc, id, to string) error {
	var cp transition
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	sv, err := t.cloud.ReadServer(ctx, id)
	if cloud.NotFound(err) {
		return lcm.Errorf(lcm.CodeUpstream, "VNFC %s: Nova says that the server %s is not in the VIM any more", vnfc,
			id).WithHint("heal the VNFC, then retry the operation")
	}
	if err != nil {
		return about(vnfc, err)
	}
	now := t.w.Clock.Now()
	if cp.Try != t.w.Op.Try || cp.Since.IsZero() {
		cp = transition{Try: t.w.Op.Try, Since: now}
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	elapsed := now.Sub(cp.Since)
	asked := !cp.Asked.IsZero()
	// not one that is about to change
	failed := asked && sv.Status == cloud.ServerError && sv.Task == "" && now.Sub(cp.Asked) > askAgain
	switch {
	case sv.Status == to && sv.Task == "":
		s.Detail("server " + id + " is " + to)
		return nil
	case elapsed > t.cfg.ServerTimeout, cp.Refusals >= maxRefusals, failed:
		return t.serverStuck(vnfc, sv, "does not become "+to+stack.Prefixed("; ", cp.Refusal), elapsed)
	case sv.Task != "", asked && now.Sub(cp.Asked) <= askAgain:
		return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: server %s", vnfc, sv))
	}
	cp.Asked = now
	return t.requestState(ctx, s, cp, vnfc, id, to)
}

// requestState asks Nova to bring a server to the state to.
func (t *tick) requestState(ctx context.Context, s *lcm.Step, cp transition, vnfc, id, to string) error {
	if err := s.Save(ctx, cp); err != nil {
		return err
	}
	action, request := "os-start", t.cloud.StartServer
	if to == cloud.ServerStopped {
		action, request = "os-stop", t.cloud.StopServer
	}

	err := request(ctx, id)
	if cloud.Conflict(err) { // not in the server's present state, which may be one that passes
		cp.Refusal, cp.Refusals = lcm.AsError(err).Detail, cp.Refusals+1
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	} else if err != nil {
		return about(vnfc, err)
	}
	return lcm.Wait(cloud.Pace(cp.Asked.Sub(cp.Since)), fmt.Sprintf("VNFC %s: %s of server %s", vnfc, action, id))
}

// about says in a failure which VNFC it is about.
func about(vnfc string, err error) error {
	e, ok := errors.AsType[*lcm.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Detail = "VNFC " + vnfc + ": " + e.Detail
	return &named
}

// serverStuck is the failure of a server that does not reach its state.
func (t *tick) serverStuck(vnfc string, sv *cloud.ServerState, what string, elapsed time.Duration) *lcm.Error {
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Server did not change its state",
		Detail: fmt.Sprintf("VNFC %s: server %s; it %s, after %s", vnfc, sv, what, elapsed.Round(time.Second)),
		Hint: "look at the compute service" + stack.Prefixed(" on ",
			sv.Host) + " and at the server's actions in Nova; a hard reboot may help, or a heal of the VNFC " +
			"once the operation is at its end; then retry it",
	}
	if h := cloud.Hint(sv.Fault.Message); h != "" {
		e.Hint = h
	}
	return e
}
