package cli

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// view shows an operation as it goes on, one line per change: seconds since its start, phase, step, state and
// how long it took. It shows repeated input only once.
type view struct {
	out    io.Writer
	paint  func(string) string
	logs   bool
	silent bool
	start  time.Time
	shown  map[string]string // what was shown last, by thing
	// failures holds the number of the attempt that failed last, by step.
	failures map[int64]int
	// phaseWide and stepWide are the widths of two columns, which grow with what is in them.
	phaseWide, stepWide int
	// failure is why a step failed last: its phase need not say it again.
	failure string
}

// begin names the operation.
func (v *view) begin(op *sol.VnfLcmOpOcc) {
	v.shown, v.failures = map[string]string{}, map[int64]int{}
	if !v.silent {
		printf(v.out, "%s of %s, operation %s\n", op.Operation, op.VnfInstanceID, op.ID)
	}
}

// changed reports whether what a thing says is new.
func (v *view) changed(thing, says string) bool {
	if v.shown[thing] == says {
		return false
	}
	v.shown[thing] = says
	return true
}

// row writes one line.
func (v *view) row(at time.Time, phase, step, state, rest string) {
	if v.silent {
		return
	}
	v.phaseWide, v.stepWide = max(v.phaseWide, 18, len(phase)), max(v.stepWide, 34, len(step))
	padding := strings.Repeat(" ", max(0, 8-len(state)))
	line := fmt.Sprintf("%8s  %-*s  %-*s  %s%s  %s", since(v.start, at), v.phaseWide, phase, v.stepWide, step,
		v.paint(state), padding, rest)
	printline(v.out, strings.TrimRight(line, " "))
}

func (v *view) state(at time.Time, s sol.LcmOperationStateType) {
	if v.changed("op", string(s)+at.String()) {
		v.row(at, string(s), "", "", "")
	}
}

func (v *view) phase(at time.Time, p gybeapi.Phase) {
	key := fmt.Sprintf("phase %d %s", p.Run, p.Name)
	d := detail(p.Detail, p.Error)
	if !v.changed(key, p.State+d) {
		return
	}
	switch p.State {
	case "DONE", "FAILED":
		at = p.Finished
		if d == v.failure {
			d = ""
		}
		d = strings.TrimSpace(took(p.Started, p.Finished) + "  " + d)
	case "RUNNING":
		at = p.Started
		d = ""
	}
	v.row(at, p.Name, "", p.State, d)
}

func (v *view) step(at time.Time, s gybeapi.Step) {
	failures := v.failures[s.ID]
	d := detail(s.Detail, s.Error)
	if s.State == "FAILED" {
		v.failures[s.ID], v.failure = s.Attempts, d
	}
	if failures > 0 && s.State == "OPEN" && s.Detail == "" {
		d = "" // the error of the attempt before
	}
	// A step is entered again whenever its operation continues; only after a failure this is another attempt.
	if !v.changed(fmt.Sprintf("step %d", s.ID), fmt.Sprintf("%s %d %s", s.State, failures, d)) {
		return
	}
	switch {
	case !s.Finished.IsZero():
		at = s.Finished
		d = strings.TrimSpace(took(s.Started, s.Finished) + "  " + d)
	case failures == 0 && d == "":
		at = s.Started
	}
	if failures > 0 && s.State == "OPEN" {
		d = strings.TrimSpace("again  " + d)
	}
	v.row(at, s.Phase, stepName(s.Name, s.Target), stepState(s.State), d)
}

// line shows one line of a step's output.
func (v *view) line(at time.Time, phase, step, text string) {
	if v.logs && !v.silent {
		printf(v.out, "%8s  %-18s  %s | %s\n", since(v.start, at), phase, step, text)
	}
}

// progress shows what is new in a snapshot.
func (v *view) progress(p *gybeapi.Progress) {
	steps := map[int64]gybeapi.Step{}
	for _, s := range p.Steps {
		steps[s.ID] = s
	}
	for _, ph := range p.Phases {
		if ph.State == "DONE" || ph.State == "FAILED" {
			v.phase(ph.Started, gybeapi.Phase{Run: ph.Run, Name: ph.Name, State: "RUNNING", Started: ph.Started})
		}
		for _, s := range p.Steps {
			if s.Phase == ph.Name && s.Run == ph.Run {
				v.step(s.Started, s)
			}
		}
		v.phase(ph.Started, ph)
	}
	for _, l := range p.Lines {
		v.line(l.Time, steps[l.StepID].Phase, stepName(steps[l.StepID].Name, steps[l.StepID].Target), l.Text)
	}
}

// end shows the outcome, also when the view is silent.
func (v *view) end(op *sol.VnfLcmOpOcc) {
	printf(v.out, "%s %s after %s\n", op.Operation, v.paint(string(op.OperationState)),
		since(op.StartTime, op.StateEnteredTime))
	if op.Error == nil {
		return
	}
	printline(v.out, "  "+strings.ReplaceAll(problemText(op.Error), "\n", "\n  "))
	if op.Error.Hint != "" {
		printline(v.out, "  hint: "+op.Error.Hint)
	}
	if next := choices(op.Links); next != "" {
		printf(v.out, "  next: gybe op %s %s\n", strings.ReplaceAll(next, ", ", "|"), op.ID)
	}
}

// uuids are cut in step names: a line has to be read by a person.
var uuids = regexp.MustCompile(`([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// stepName is a step with its target, short.
func stepName(name, target string) string {
	return strings.TrimSpace(name + " " + uuids.ReplaceAllString(target, "$1"))
}

// stepState says it in the words that phases use.
func stepState(s string) string {
	if s == "OPEN" {
		return "RUNNING"
	}
	return s
}

// detail is what a phase or step says for itself, or why it failed.
func detail(text string, f *gybeapi.Failure) string {
	if text != "" || f == nil {
		return oneLine(text)
	}
	return oneLine(strings.TrimPrefix(f.Title+": "+f.Detail, ": "))
}

// oneLine keeps a text in its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// since is a moment as seconds after the start.
func since(start, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf("%.1fs", max(0, at.Sub(start).Seconds()))
}

// took is how long something lasted; "" while it lasts.
func took(from, to time.Time) string {
	if to.IsZero() {
		return ""
	}
	return fmt.Sprintf("%.1fs", max(0, to.Sub(from).Seconds()))
}
