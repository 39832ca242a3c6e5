// Package server starts, stops and deletes servers in Nova, as steps of an operation that can be repeated.
package server

import (
	"context"
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Worker does it for an operation.
type Worker struct {
	Cloud     *cloud.Client
	Execution *lcm.Execution
	// Timeout is how long a server may take to change.
	Timeout time.Duration
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

// Reach observes a server, and asks Nova for the state to (cloud.ServerActive or cloud.ServerStopped) or waits for it.
// It is done when the server has that state. s is the step of the VNFC that the server is.
func (w *Worker) Reach(ctx context.Context, s *lcm.Step, vnfc, id, to string) error {
	var cp transition
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	sv, err := w.Cloud.ReadServer(ctx, id)
	if cloud.NotFound(err) {
		return lcm.Errorf(lcm.CodeUpstream, "VNFC %s: Nova says that the server %s is not in the VIM any more", vnfc,
			id).WithHint("mark the operation as failed, heal the VNFC, and request the operation again")
	}
	if err != nil {
		return nameVNFC(vnfc, err)
	}
	now := w.Execution.Clock.Now()
	if cp.Try != w.Execution.Op.Try || cp.Since.IsZero() {
		cp = transition{Try: w.Execution.Op.Try, Since: now}
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
	case elapsed > w.Timeout, cp.Refusals >= maxRefusals, failed:
		problem := "does not become " + to
		if cp.Refusal != "" {
			problem += "; " + cp.Refusal
		}
		return stuck(vnfc, sv, problem, elapsed)
	case sv.Task != "", asked && now.Sub(cp.Asked) <= askAgain:
		return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: server %s", vnfc, sv))
	}
	cp.Asked = now
	return w.request(ctx, s, cp, vnfc, id, to)
}

// request asks Nova to bring a server to the state to.
func (w *Worker) request(ctx context.Context, s *lcm.Step, cp transition, vnfc, id, to string) error {
	if err := s.Save(ctx, cp); err != nil {
		return err
	}
	action, change := "os-start", w.Cloud.StartServer
	if to == cloud.ServerStopped {
		action, change = "os-stop", w.Cloud.StopServer
	}

	err := change(ctx, id)
	if cloud.Conflict(err) { // not in the server's present state, which may be one that passes
		cp.Refusal, cp.Refusals = lcm.AsError(err).Detail, cp.Refusals+1
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	} else if err != nil {
		return nameVNFC(vnfc, err)
	}
	return lcm.Wait(cloud.Pace(cp.Asked.Sub(cp.Since)), fmt.Sprintf("VNFC %s: %s of server %s", vnfc, action, id))
}
