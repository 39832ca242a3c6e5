package gybe

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// maxLines bounds the lines of output in one answer.
const maxLines = 10_000

func (a *API) progress(w http.ResponseWriter, r *frame.Request) error {
	id, err := r.Identifier("vnfLcmOpOccId", "VNF LCM operation occurrence")
	if err != nil {
		return err
	}
	r.Note(slog.String("op_id", id))
	limit := 0
	if text := r.QueryValues().Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 || limit > maxLines {
			return lcm.Errorf(lcm.CodeInvalid, "limit is %.20q; it is a number from 0 to %d", text, maxLines)
		}
	}
	op, err := a.Services.In(r.Principal).Operation(r.Context(), id)
	if err != nil {
		return err
	}
	phases, steps, err := a.Services.In(r.Principal).Progress(r.Context(), id)
	if err != nil {
		return err
	}
	p := present(op, phases, steps)
	p.Next = r.QueryValues().Get("since")
	if limit > 0 {
		lines, next, err := a.Feeds.In(r.Principal).Log(r.Context(), id, p.Next, limit)
		if err != nil {
			return err
		}
		p.Lines, p.Next = append(p.Lines, lines...), next
	}
	return frame.WriteJSON(w, http.StatusOK, p)
}

func present(op *lcm.Operation, phases []lcm.PhaseRecord, steps []lcm.StepRecord) gybeapi.Progress {
	p := gybeapi.Progress{
		VnfLcmOpOccID: op.ID, VnfInstanceID: op.InstanceID, Operation: op.Type, OperationState: op.State,
		StateEnteredTime: op.StateEntered.UTC(), StartTime: op.Started.UTC(), Deadline: op.Deadline.UTC(),
		Phase: op.Phase, Waiting: op.Waiting, Node: op.Node, Error: op.Error.Problem(op),
		Phases: make([]gybeapi.Phase, 0, len(phases)), Steps: make([]gybeapi.Step, 0, len(steps)),
		Lines: []gybeapi.Line{}, Actions: each(op.Actions, actionOf),
	}
	for _, r := range phases {
		p.Phases = append(p.Phases, gybeapi.Phase{
			Run: r.Run, Name: r.Name, State: string(r.State), Attempts: r.Attempts, Started: r.Started,
			Finished: r.Finished, Detail: r.Detail, Error: failure(r.Error),
		})
	}
	for _, r := range steps {
		p.Steps = append(p.Steps, gybeapi.Step{
			ID: r.ID, Run: r.Run, Phase: r.Phase, Name: r.Name, Target: r.Target, State: string(r.State),
			Attempts: r.Attempts, Started: r.Started, Finished: r.Finished, Detail: r.Detail, Error: failure(r.Error),
		})
	}
	return p
}

func actionOf(a lcm.Action) gybeapi.Action {
	return gybeapi.Action{Action: a.Action, Time: a.Time, Subject: a.Subject, Mode: a.Mode, Detail: a.Detail}
}

// maxActionsOf bounds the operations in one request for actions.
const maxActionsOf = 100

func (a *API) actions(w http.ResponseWriter, r *frame.Request) error {
	ids := strings.Split(r.QueryValues().Get("vnfLcmOpOccId"), ",")
	if len(ids) > maxActionsOf {
		return lcm.Errorf(lcm.CodeInvalid, "vnfLcmOpOccId has %d ids; %d are possible", len(ids), maxActionsOf)
	}
	found, err := a.Services.In(r.Principal).Actions(r.Context(), ids)
	if err != nil {
		return err
	}
	out := make(map[string][]gybeapi.Action, len(found))
	for id, actions := range found {
		out[id] = each(actions, actionOf)
	}
	return frame.WriteJSON(w, http.StatusOK, out)
}

func failure(f *lcm.Failure) *gybeapi.Failure {
	if f == nil {
		return nil
	}
	return &gybeapi.Failure{Status: f.Status, Title: f.Title, Detail: f.Detail, Hint: f.Hint, Phase: f.Phase}
}
