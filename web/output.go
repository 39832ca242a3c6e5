package web

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Bounds of the output on a page.
const (
	// keepLines is how many lines of each step a new page shows.
	keepLines = 200
	// growLines is how many lines a step may gain on a page that is followed, before the older ones make room.
	growLines = 2000
	// batch is how many lines are read at a time, and maxBatches how often for one page.
	batch, maxBatches = 1000, 200
)

// output is what the steps of an operation have put out.
type output struct {
	op string
	// next is the cursor after the last line that was taken.
	next string
	// lines are the last ones of each step, and dropped how many came before them; on a page only.
	lines   map[int64][]line
	dropped map[int64]int
	// sent counts what a step has gained; in a stream only.
	sent map[int64]int
}

// line is a line of output.
type line struct{ Time, ISO, Text string }

func lineOf(l gybeapi.Line) line {
	t := l.Time.UTC()
	return line{Time: t.Format("15:04:05"), ISO: t.Format(time.RFC3339Nano), Text: plain(l.Text)}
}

// sequence is a control sequence of terminals.
var sequence = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)

// plain takes out what a terminal would not show either.
func plain(text string) string {
	if i := strings.LastIndexByte(strings.TrimRight(text, "\r"), '\r'); i >= 0 { // what a progress bar wrote last
		text = text[i+1:]
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return -1
		}
		return r
	}, sequence.ReplaceAllString(text, ""))
}

// history reads the output so far.
func (c *console) history(ctx context.Context, op string) (*output, error) {
	out := &output{op: op, lines: map[int64][]line{}, dropped: map[int64]int{}}
	for range maxBatches {
		lines, next, err := c.Feed.Log(ctx, op, out.next, batch)
		if err != nil {
			return nil, err
		}
		out.next = next
		for _, l := range lines {
			all := out.lines[l.StepID]
			all = append(all, lineOf(l))
			if over := len(all) - keepLines; over >= keepLines { // not at every line
				all = slices.Clone(all[over:])
				out.dropped[l.StepID] += over
			}
			out.lines[l.StepID] = all
		}
		if len(lines) < batch {
			break
		}
	}
	for id, all := range out.lines {
		if over := len(all) - keepLines; over > 0 {
			out.lines[id] = all[over:]
			out.dropped[id] += over
		}
	}
	return out, nil
}

// attach puts the lines where they belong.
func (o *output) attach(data any) {
	d, ok := data.(*operationData)
	if !ok {
		return
	}
	for s := range d.steps() {
		s.Lines, s.Dropped = o.lines[s.ID], o.dropped[s.ID]
		if n := len(s.Lines); n > 0 && s.Live {
			s.Tail = s.Lines[n-1].Text
		}
	}
}

// gain is what a step has put out since the last message of a stream.
type gain struct {
	Step  int64
	Lines []line
	// Fresh says that the lines replace those before them; Tail shows the last one beside the step.
	Fresh bool
	Tail  string
}

// sendOutput sends the lines that are new, and returns the view that they belong to: v, or a newer one when a line
// belongs to a step that v does not have. ok is false when the stream has ended.
func (f *follow) sendOutput(ctx context.Context, v view) (_ view, ok bool) {
	renewed := false
	for {
		d, known := v.Data.(*operationData)
		if !known {
			return v, true // it could not be read; the lines wait for it
		}
		lines, next, err := f.Feed.Log(ctx, f.log.op, f.log.next, batch)
		if e, is := errors.AsType[*lcm.Error](err); is && e.Code == lcm.CodeInvalid {
			return v, false // the browser sent a cursor that is none
		}
		if err != nil || len(lines) == 0 {
			return v, ctx.Err() == nil
		}
		gains, unknown := d.gains(lines)
		if unknown && !renewed { // the step has begun since the view was made; its lines need a place
			renewed = true
			if v, ok = f.sendView(ctx); !ok || f.log == nil {
				return v, ok
			}
			continue
		}
		for _, g := range gains {
			if f.log.sent[g.Step] += len(g.Lines); f.log.sent[g.Step] > growLines {
				g.Fresh, f.log.sent[g.Step] = true, len(g.Lines)
			}
		}
		html, err := f.fragment("output", gains)
		if err != nil || !f.out.event(next, "", string(html)) {
			return v, false
		}
		f.log.next = next
		if len(lines) < batch {
			return v, true
		}
	}
}

// gains sorts lines by step. unknown says that a line belongs to a step that d does not have; it is left out.
func (d *operationData) gains(lines []gybeapi.Line) (out []*gain, unknown bool) {
	steps, by := map[int64]*stepData{}, map[int64]*gain{}
	for s := range d.steps() {
		steps[s.ID] = s
	}
	for _, l := range lines {
		s := steps[l.StepID]
		if s == nil {
			unknown = true
			continue
		}
		g := by[s.ID]
		if g == nil {
			g = &gain{Step: s.ID}
			by[s.ID] = g
			out = append(out, g)
		}
		g.Lines = append(g.Lines, lineOf(l))
		if s.Live {
			g.Tail = g.Lines[len(g.Lines)-1].Text
		}
	}
	return out, unknown
}
