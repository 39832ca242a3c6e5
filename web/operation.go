package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// operationData is what the screen of an operation shows.
type operationData struct {
	ID, Name, InstanceID, InstanceName string
	State                              sol.LcmOperationStateType
	Automatic                          bool
	Actions                            []actionRow
	Started, Entered, Deadline         time.Time
	Elapsed                            string
	Node, Waiting, Summary             string
	Error                              *failureData
	// Choices are what a user can decide now.
	Choices []string
	// Cancel says how the operation is being cancelled, "" when it is not; Cancellable that it can be, or be forced.
	Cancel      string
	Cancellable bool
	Params      string
	// Scope says what it is to do, Changes and Attributes what it has done.
	Scope      []pair
	Changes    []changeRow
	Attributes []pair
	Ticks      []tick
	Phases     []*phaseData
}

// actionRow is a request of a user about the operation.
type actionRow struct {
	Action, Subject, Detail string
	Time                    time.Time
}

func actionRows(op *lcm.Operation) (out []actionRow) {
	for _, a := range op.Actions {
		out = append(out, actionRow{words(a.Action), cmp.Or(a.Subject, "-"), strings.ToLower(a.Detail), a.Time})
	}
	return out
}

type failureData struct {
	Title, Detail, Hint, Phase string
	Params                     []lcm.InvalidParam
}

// failureOf describes a failure, unless it is said already.
func failureOf(f, said *lcm.Failure) *failureData {
	if f == nil || said != nil && said.Title == f.Title && said.Detail == f.Detail {
		return nil
	}
	return &failureData{Title: f.Title, Detail: f.Detail, Hint: f.Hint, Phase: f.Phase, Params: f.Params}
}

// span is where something lies in the time of the operation, in percent of its width.
type span struct {
	X, W  string
	Kind  string // of the state's badge
	Took  string
	Start time.Time
	Ticks []tick
}

// tick is a mark on the axis of time.
type tick struct{ X, Label string }

type phaseData struct {
	Key, Name, Code, State, Detail string
	Failing                        int
	Error                          *failureData
	Bar                            span
	Steps                          []*stepData
}

type stepData struct {
	ID                     int64
	Name, Target, TargetID string
	State, Detail, Tail    string
	Attempts               int
	Live                   bool // it is being worked on: its last line of output is shown beside it
	Error                  *failureData
	Bar                    span
	Lines                  []line
	Dropped                int
}

// steps lists the steps of all phases.
func (d *operationData) steps() iter.Seq[*stepData] {
	return func(yield func(*stepData) bool) {
		if d == nil {
			return
		}
		for _, p := range d.Phases {
			for _, s := range p.Steps {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// operation is the screen of one operation.
func (c *console) operation(ctx context.Context, a ask) (view, error) {
	op, err := c.Operations.Operation(ctx, a.id)
	if err != nil {
		return view{}, err
	}
	phases, steps, err := c.Operations.Progress(ctx, a.id)
	if err != nil {
		return view{}, err
	}
	inst, err := c.Instances.Instance(ctx, op.InstanceID)
	if e, is := errors.AsType[*lcm.Error](err); is && e.Code == lcm.CodeNotFound {
		inst, err = nil, nil // operations outlive their instance
	}
	if err != nil {
		return view{}, err
	}
	d := timeline(op, inst, phases, steps, c.Clock.Now())
	v := view{Title: fmt.Sprintf("%s of %s", d.Name, d.InstanceName), Data: d, still: !lcm.Active(op.State)}
	if lcm.Running(op.State) {
		v.tick = time.Second
	}
	return v, nil
}

// timeline arranges the phases and steps of an operation on one axis of time.
func timeline(
	op *lcm.Operation, inst *lcm.Instance, phases []lcm.PhaseRecord, steps []lcm.StepRecord, now time.Time,
) *operationData {
	d := &operationData{
		ID: op.ID, Name: operationName(op.Type), InstanceName: short(op.InstanceID), State: op.State,
		Actions: actionRows(op), Automatic: op.Automatic, Started: op.Started, Entered: op.StateEntered,
		Deadline: op.Deadline, Node: op.Node,
		Error: failureOf(op.Reason(), nil), Params: document(op.Params, redact.New(op.SecretNames...)),
	}
	running := lcm.Running(op.State)
	end := now
	if running {
		d.Waiting = op.Waiting
	} else {
		d.Deadline = time.Time{} // it has no meaning any more
		end = op.StateEntered
		for _, p := range phases { // a clock of another node may be ahead
			end = later(end, p.Finished)
		}
	}
	names := map[string]string{}
	if inst != nil {
		d.InstanceID, d.InstanceName = inst.ID, cmp.Or(inst.Name, inst.ID)
		names = vnfcNames(inst)
	}
	for _, ev := range lcm.Allowed(op) {
		if ev == lcm.EventCancel {
			d.Cancellable = true
		} else {
			d.Choices = append(d.Choices, string(ev))
		}
	}
	if op.Cancel != "" {
		d.Cancel = strings.ToLower(string(op.Cancel))
	}
	d.Scope, d.Changes, d.Attributes = scopeOf(op, names), changesOf(op, names), attributesOf(op)
	ax := axis{from: op.Started, to: later(end, op.Started.Add(time.Second))}
	ax.marks = ax.ticks()
	d.Elapsed, d.Ticks = took(end.Sub(op.Started)), ax.marks
	done := 0
	for n, p := range phases {
		pd := phaseEntry(op, p)
		pd.Key = strconv.Itoa(n)
		if pd.Detail == d.Waiting {
			pd.Detail = "" // it is said above
		}
		pd.Bar = ax.span(p.Started, p.Finished, pd.State)
		d.Phases = append(d.Phases, pd)
	}
	for _, s := range steps {
		pd, sd := d.phaseOf(s, phases), stepEntry(op, s, names)
		if s.State == lcm.StepDone {
			done++
		}
		sd.Bar = ax.span(s.Started, s.Finished, sd.State)
		pd.Steps = append(pd.Steps, sd)
	}
	d.Summary = d.summary(op, done, len(steps))
	return d
}

// phaseEntry is a phase as the timeline shows it, without its place.
func phaseEntry(op *lcm.Operation, p lcm.PhaseRecord) *phaseData {
	pd := &phaseData{
		Name: words(p.Name), Code: p.Name, State: string(p.State), Detail: p.Detail, Failing: p.Failing,
		Error: failureOf(p.Error, op.Error),
	}
	switch open := p.State == lcm.PhaseRunning || p.State == lcm.PhaseWaiting; {
	case open && !lcm.Running(op.State):
		pd.State = "UNFINISHED"
	case open && p.Failing > 0:
		pd.State = "RETRYING"
	case p.State == lcm.PhaseDone:
		pd.Error = nil // it was overcome
	}
	return pd
}

// stepEntry is a step as the timeline shows it, without its place. names are those of VNFCs by id.
func stepEntry(op *lcm.Operation, s lcm.StepRecord, names map[string]string) *stepData {
	running := lcm.Running(op.State)
	sd := &stepData{
		ID: s.ID, Name: words(s.Name), TargetID: s.Target, State: string(s.State), Detail: s.Detail,
		Attempts: s.Attempts,
		Target:   cmp.Or(names[s.Target], strings.ReplaceAll(s.Target, op.InstanceID, cut(op.InstanceID, 9))),
		Live:     running && s.State == lcm.StepOpen, Error: failureOf(s.Error, op.Error),
	}
	switch {
	case s.State == lcm.StepDone:
		sd.Error = nil
	case s.State == lcm.StepOpen && !running:
		sd.State = string(lcm.StepUnfinished) // of an earlier release
	}
	return sd
}

// phaseOf finds the phase of a step: of several runs of the phase the last that had begun.
func (d *operationData) phaseOf(s lcm.StepRecord, phases []lcm.PhaseRecord) *phaseData {
	found := -1
	for n, p := range phases {
		if p.Name == s.Phase && (found < 0 || !p.Started.After(s.Started)) {
			found = n
		}
	}
	if found < 0 { // the phase is not recorded before its first tick ends
		n := slices.IndexFunc(d.Phases, func(p *phaseData) bool { return p.Code == s.Phase })
		if n < 0 {
			n = len(d.Phases)
			d.Phases = append(d.Phases, &phaseData{
				Key: strconv.Itoa(n), Name: words(s.Phase), Code: s.Phase, State: string(lcm.PhaseRunning),
			})
		}
		found = n
	}
	return d.Phases[found]
}

// summary is what a screen reader says when it changes, so it has no times.
func (d *operationData) summary(op *lcm.Operation, done, steps int) string {
	text := fmt.Sprintf("%s is %s", d.Name, strings.ToLower(words(op.State)))
	switch op.State { //nolint:exhaustive // the others need no further words
	case sol.LcmOperationStateFailedTemp:
		text = d.Name + " has failed and needs a decision"
	case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
		if op.Phase != "" {
			text += ", phase " + op.Phase
		}
		if op.Cancel != "" {
			text += ", being cancelled"
		}
	}
	if steps > 0 {
		text += fmt.Sprintf(", %d of %s done", done, plural(steps, "step", "steps"))
	}
	return text
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// axis is the time that the page shows.
type axis struct {
	from, to time.Time
	marks    []tick
}

func (x axis) percent(t time.Time) float64 {
	p := float64(t.Sub(x.from)) / float64(x.to.Sub(x.from)) * 100
	return min(max(p, 0), 100)
}

// span places something; one without an end goes on until the end of the axis.
func (x axis) span(from, to time.Time, state string) span {
	if to.IsZero() || to.Before(from) {
		to = x.to
	}
	const least = 0.4 // so that what is short can be seen
	a, b := x.percent(from), x.percent(to)
	w := max(b-a, least)
	return span{
		X: percent(min(a, 100-w)), W: percent(w), Kind: badgeOf(state).Kind, Took: took(to.Sub(from)),
		Start: from, Ticks: x.marks,
	}
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 2, 64) + "%" }

// ticks marks three to six round times.
func (x axis) ticks() []tick {
	whole := x.to.Sub(x.from)
	step := time.Second
	for _, s := range []int{
		1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 6 * 3600, 12 * 3600, 24 * 3600,
	} {
		if step = time.Duration(s) * time.Second; whole <= 6*step {
			break
		}
	}
	step = max(step, (whole / 6).Round(24*time.Hour))
	var out []tick
	for at := time.Duration(0); at < whole-whole/25; at += step {
		label := strconv.Itoa(int(at.Seconds())) + " s"
		switch {
		case at >= time.Hour:
			label = fmt.Sprintf("%d:%02d h", int(at.Hours()), int(at.Minutes())%60)
		case at >= time.Minute:
			label = fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60)
		}
		out = append(out, tick{X: percent(x.percent(x.from.Add(at))), Label: label})
	}
	return out
}
