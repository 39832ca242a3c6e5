package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// The states of a server that OPERATE leads to, in Nova's words.
const (
	serverActive  = "ACTIVE"
	serverStopped = "SHUTOFF"
	serverError   = "ERROR"
)

// operate starts or stops the servers of the operation's VNFCs.
func (j *job) operate(ctx context.Context) error {
	var req sol.OperateVnfRequest
	if err := json.Unmarshal(j.w.Op.Params, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	want := serverActive
	if req.ChangeStateTo == sol.VnfOperationalStateStopped {
		want = serverStopped
		if req.StopType == sol.StopTypeGraceful {
			if err := j.waited(ctx, j.w, "graceful stop", req.GracefulStopTimeout); err != nil {
				return err
			}
		}
	}
	return j.operated(ctx, func(sol.VnfcInfo) string { return want })
}

// restoreOperate gives every server of the operation the state back that it had.
func (j *job) restoreOperate(ctx context.Context) error {
	return j.operated(ctx, func(c sol.VnfcInfo) string {
		if c.VnfcState == sol.VnfOperationalStateStopped {
			return serverStopped
		}
		return serverActive
	})
}

// operated brings the servers of the operation's VNFCs to the states that want says.
func (j *job) operated(ctx context.Context, want func(sol.VnfcInfo) string) error {
	scope := j.w.Op.Scope
	if scope == nil {
		return lcm.Errorf(lcm.CodeInternal, "the operation %s does not say which VNFCs it is about", j.w.Op.ID)
	}
	return lcm.Each(ctx, 8, scope.VNFCs, func(ctx context.Context, id string) error {
		c, res, ok := j.before().VNFC(id)
		if !ok {
			return lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VNFC %s", id)
		}
		to := want(c)
		name := "start server"
		if to == serverStopped {
			name = "stop server"
		}
		return j.w.Step(ctx, name, id, func(ctx context.Context, s *lcm.Step) error {
			return j.serverReached(ctx, s, id, res.ComputeResource.ResourceID, to)
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

// askAgain is how long a server may stay as it is although Nova has said yes, or no because of its state, before Nova is asked again.
const askAgain = 5 * time.Second

// serverReached is one look at a server, and what follows from it. It is done when the server has the state to.
func (j *job) serverReached(ctx context.Context, s *lcm.Step, vnfc, id, to string) error {
	var cp transition
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	sv, err := j.readServer(ctx, id)
	if notFound(err) {
		return lcm.Errorf(lcm.CodeUpstream, "VNFC %s: Nova says that the server %s is not in the VIM any more", vnfc, id).WithHint("heal the VNFC, then retry the operation")
	}
	if err != nil {
		return about(vnfc, err)
	}
	now := j.w.Clock.Now()
	if cp.Try != j.w.Op.Tries || cp.Since.IsZero() {
		cp = transition{Try: j.w.Op.Tries, Since: now}
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	elapsed := now.Sub(cp.Since)
	switch asked := !cp.Asked.IsZero(); {
	case sv.Status == to && sv.Task == "":
		s.Detail("server " + id + " is " + to)
		return nil
	case elapsed > j.cfg.ServerTimeout, cp.Refusals >= maxRefusals,
		asked && sv.Status == serverError && sv.Task == "" && now.Sub(cp.Asked) > askAgain: // not one that is about to change
		return j.stuck(vnfc, sv, "does not become "+to+prefixed("; ", cp.Refusal), elapsed)
	case sv.Task != "", asked && now.Sub(cp.Asked) <= askAgain:
		return lcm.Wait(pace(elapsed), fmt.Sprintf("VNFC %s: server %s", vnfc, sv))
	}
	cp.Asked = now
	if err := s.Save(ctx, cp); err != nil {
		return err
	}
	action := "os-start"
	if to == serverStopped {
		action = "os-stop"
	}
	err = j.do(ctx, call{
		what: action + " of server " + id, service: nova, method: http.MethodPost, path: "/servers/" + segment(id) + "/action",
		in: map[string]any{action: nil},
	})
	if conflict(err) { // not in the server's present state, which may be one that passes
		cp.Refusal, cp.Refusals = lcm.AsError(err).Detail, cp.Refusals+1
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	} else if err != nil {
		return about(vnfc, err)
	}
	return lcm.Wait(pace(elapsed), fmt.Sprintf("VNFC %s: %s of server %s", vnfc, action, id))
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

// serverState is what Nova says about the state of a server.
type serverState struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Task   string `json:"OS-EXT-STS:task_state"`
	Host   string `json:"OS-EXT-SRV-ATTR:host"` // administrators only
	Fault  struct {
		Message string `json:"message"`
	} `json:"fault"`
}

// String tells the state to the user.
func (s *serverState) String() string {
	out := s.ID + " is " + s.Status
	if s.Task != "" {
		out += ", " + s.Task
	}
	if s.Fault.Message != "" && s.Status == serverError {
		out += ": " + tidy(s.Fault.Message)
	}
	return out
}

func (j *job) readServer(ctx context.Context, id string) (*serverState, error) {
	var out struct {
		Server serverState `json:"server"`
	}
	err := j.do(ctx, call{what: "read server " + id, service: nova, method: http.MethodGet, path: "/servers/" + segment(id), out: &out})
	return &out.Server, err
}

// stuck is the failure of a server that does not get where it shall.
func (j *job) stuck(vnfc string, sv *serverState, what string, elapsed time.Duration) *lcm.Error {
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Server does not follow",
		Detail: fmt.Sprintf("VNFC %s: server %s; it %s, after %s", vnfc, sv, what, elapsed.Round(time.Second)),
		Hint: "look at the compute service" + prefixed(" on ", sv.Host) + " and at the server's actions in Nova; a hard reboot may help, or a heal of the VNFC " +
			"once the operation is at its end; then retry it",
	}
	if h := hint(sv.Fault.Message); h != "" {
		e.Hint = h
	}
	return e
}
