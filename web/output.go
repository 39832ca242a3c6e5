package web

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// outputBatch is the output after a cursor, read and rendered once for all followers that have got as far.
type outputBatch struct {
	once    sync.Once
	lines   int
	next    string
	gains   []*gain
	unknown bool   // a line belongs to a step that the view does not have
	event   []byte // for browsers that need no fresh lines
	err     error
}

// outputAfter reads the output after a cursor, as far as it is there in this round.
func (s *sharedView) outputAfter(after string, r rendition) *outputBatch {
	s.mu.Lock()
	if s.batches == nil {
		s.batches = map[string]*outputBatch{}
	}
	b := s.batches[after]
	if b == nil {
		b = &outputBatch{}
		s.batches[after] = b
		r = s.now
	}
	s.mu.Unlock()

	b.once.Do(func() {
		d, known := r.view.Data.(*operationData)
		if !known {
			return // it could not be read; the lines wait for it
		}
		var lines []gybeapi.Line
		if lines, b.next, b.err = s.Feed.Log(s.ctx, s.ask.id, after, batch); b.err != nil {
			return
		}
		b.lines = len(lines)
		b.gains, b.unknown = d.gains(lines)
		if b.lines > 0 {
			b.event, b.err = s.outputEvent(b.next, b.gains)
		}
	})
	return b
}

// outputEvent makes the event for lines of output, the last of which has this cursor.
func (c *console) outputEvent(cursor string, gains []*gain) ([]byte, error) {
	html, err := c.fragment("output", gains)
	return eventText(cursor, "", string(html)), err
}

// sendOutput sends the lines that are new, and returns the rendition that they belong to: r, or a newer one when a line
// belongs to a step that r does not have. ok is false when the stream has ended.
func (f *follow) sendOutput(ctx context.Context, r rendition) (_ rendition, ok bool) {
	renewed := false
	for {
		b := f.outputAfter(f.log.next, r)
		if e, is := errors.AsType[*lcm.Error](b.err); is && e.Code == lcm.CodeInvalid {
			return r, false // the browser sent a cursor that is none
		}
		if b.err != nil || b.lines == 0 {
			return r, ctx.Err() == nil
		}
		if b.unknown && !renewed { // the step has begun since the view was made; its lines need a place
			renewed = true
			if r = f.renewed(ctx); r.revision > f.sent {
				if !f.out.write(r.event) {
					return r, false
				}
				f.sent = r.revision
			}
			if r.gone {
				f.log = nil
				return r, ctx.Err() == nil
			}
			if ctx.Err() != nil {
				return r, false
			}
			continue
		}
		event, err := f.fresh(b)
		if err != nil || !f.out.write(event) {
			return r, false
		}
		f.log.next = b.next
		if b.lines < batch {
			return r, true
		}
	}
}

// fresh returns the event of a batch. On a page that has gained too much, the lines replace the older ones.
func (f *follow) fresh(b *outputBatch) ([]byte, error) {
	own := make([]*gain, len(b.gains))
	changed := false
	for n, g := range b.gains {
		own[n] = g
		if f.log.sent[g.Step] += len(g.Lines); f.log.sent[g.Step] > growLines {
			replaced := *g
			replaced.Fresh, f.log.sent[g.Step] = true, len(g.Lines)
			own[n], changed = &replaced, true
		}
	}
	if !changed {
		return b.event, nil
	}
	return f.outputEvent(b.next, own)
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
