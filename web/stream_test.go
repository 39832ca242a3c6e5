package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// event is one server-sent event.
type event struct{ id, name, data string }

// browser follows a page. It must run in a synctest bubble.
type browser struct {
	t      *testing.T
	events chan event
	status int
	header http.Header
	pipe   *io.PipeWriter
	close  context.CancelFunc
	ended  chan struct{}
}

func (b *browser) Header() http.Header         { return b.header }
func (b *browser) WriteHeader(status int)      { b.status = status }
func (b *browser) Write(p []byte) (int, error) { return b.pipe.Write(p) }
func (b *browser) Flush()                      {}

func follow(t *testing.T, h http.Handler, path, last string) *browser {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	b := &browser{
		t: t, events: make(chan event, 1000), header: http.Header{}, pipe: w, close: cancel, ended: make(chan struct{}),
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	go func() {
		defer close(b.ended)
		h.ServeHTTP(b, req)
		_ = w.Close()
	}()
	go func() {
		var e event
		var data []string
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				data = append(data, value)
			case "":
				if len(data) > 0 {
					e.data = strings.Join(data, "\n")
					b.events <- e
				}
				e, data = event{}, nil
			}
		}
		close(b.events)
	}()
	return b
}

// got are the events so far, after d.
func (b *browser) got(d time.Duration) []event {
	b.t.Helper()
	time.Sleep(d) //nolint:forbidigo // in a bubble it takes no time
	synctest.Wait()
	var out []event
	for {
		select {
		case e, ok := <-b.events:
			if !ok {
				return out
			}
			out = append(out, e)
		default:
			return out
		}
	}
}

func (b *browser) leave() {
	b.close()
	<-b.ended
	synctest.Wait()
}

// bubble runs a test with a world whose clock goes.
func bubble(t *testing.T, test func(t *testing.T, w *world, h http.Handler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := sample()
		start := time.Now()
		w.at = func() time.Time { return now.Add(time.Since(start)) }
		test(t, w, handler(w.deps()))
	})
}

const operationEvents = "/ui/events/operations/" + running

func say(w *world, step int64, text string) {
	w.change(gybeapi.KindLog, func() {
		w.lines[running] = append(w.lines[running], gybeapi.Line{StepID: step, Time: w.Now(), Text: text})
	})
}

func TestAnOperationIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, operationEvents+"?log=35", "")
		first := b.got(0)
		require.Len(t, first, 1)
		require.Equal(t, "text/event-stream", b.header.Get("Content-Type"))
		require.Empty(t, first[0].id, "only output moves the cursor")
		require.Contains(t, first[0].data, "<h1>Instantiate</h1>")
		require.NotContains(t, first[0].data, "apt", "the lines are on the page already")

		say(w, 6, "one <more>\rline")
		ev := b.got(300 * time.Millisecond)
		require.Len(t, ev, 1, "nothing but the line has changed")
		require.Equal(t, "36", ev[0].id)
		require.Contains(t, ev[0].data, `<hx-partial hx-target="#lines-6" hx-swap="beforeend">`)
		require.Contains(t, ev[0].data, "</time> line</p>", "of a progress bar, what it wrote last")
		require.Contains(t, ev[0].data, `<hx-partial hx-target="#tail-6" hx-swap="innerHTML">line</hx-partial>`)

		require.NotEmpty(t, b.got(3*time.Second), "the bars grow by themselves")

		w.change(gybeapi.KindOperationState, func() {
			w.ops[2].State, w.ops[2].StateEntered = sol.LcmOperationStateCompleted, w.Now()
			w.lines[running] = append(w.lines[running], gybeapi.Line{StepID: 8, Text: "the last line"})
		})
		ev = b.got(time.Minute)
		require.Contains(t, ev[0].data, "Instantiate is completed")
		require.Contains(t, ev[1].data, "the last line")
		require.Equal(t, event{name: "done", data: "the end"}, ev[len(ev)-1])
		<-b.ended
	})
}

func TestABrowserThatComesBackMissesNothingAndSeesNothingTwice(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, operationEvents+"?log=35", "")
		say(w, 6, "earlier")
		b.got(time.Second)
		b.leave()
		say(w, 6, "in between")
		b = follow(t, h, operationEvents+"?log=35", "36")
		say(w, 6, "after")
		all := ""
		for _, e := range b.got(time.Second) {
			if e.id != "" {
				all += e.data
			}
		}
		require.NotContains(t, all, "earlier")
		require.Equal(t, 1, strings.Count(all, "in between</p>"))
		require.Equal(t, 1, strings.Count(all, "after</p>"))
		b.leave()
	})
}

func TestLinesOfNewStepsFindTheirPlace(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, operationEvents+"?log=35", "")
		b.got(0)
		w.change(gybeapi.KindLog, func() {
			w.steps[running] = append(w.steps[running], lcm.StepRecord{
				ID: 99, Phase: "instantiate_end", Name: "join node", State: lcm.StepOpen, Started: w.Now(),
			})
			w.lines[running] = append(w.lines[running], gybeapi.Line{StepID: 99, Text: "joined"})
		})
		place, lines := -1, -1
		for n, e := range b.got(time.Second) {
			if place < 0 && strings.Contains(e.data, `id="lines-99"`) {
				place = n
			}
			if strings.Contains(e.data, "joined") {
				lines = n
			}
		}
		require.GreaterOrEqual(t, place, 0)
		require.Greater(t, lines, place)
		b.leave()
	})
}

func TestAPageThatGainsTooMuchOutputMakesRoom(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, operationEvents+"?log=35", "")
		b.got(0)
		w.change(gybeapi.KindLog, func() {
			for range 2500 {
				w.lines[running] = append(w.lines[running], gybeapi.Line{StepID: 6, Text: "x"})
			}
		})
		all := ""
		for _, e := range b.got(time.Second) {
			all += e.data
		}
		require.Equal(t, 1, strings.Count(all, `hx-swap="innerHTML"><p class="dim">Older lines are not shown`))
		b.leave()
	})
}

func TestTheListOfInstancesIsFollowed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, "/ui/events/", "")
		require.Len(t, b.got(0), 1)
		w.change(gybeapi.KindLog, func() {})
		require.Empty(t, b.got(10*time.Second), "output does not show there")
		w.change(gybeapi.KindInstanceUpdated, func() { w.instances[0].State = sol.InstantiationStateInstantiated })
		ev := b.got(2 * time.Second)
		require.Len(t, ev, 1)
		require.Contains(t, ev[0].data, `title="INSTANTIATED"`)
		b.leave()
	})
}

func TestADatabaseThatComesBackIsSeen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, "/ui/events/", "")
		b.got(0)
		w.change(gybeapi.KindInstanceUpdated, func() { w.down = errors.New("away") })
		require.Empty(t, b.got(5*time.Second))
		w.mu.Lock()
		w.down, w.instances = nil, w.instances[:1]
		w.mu.Unlock()
		require.Len(t, b.got(3*time.Second), 1)
		b.leave()
	})
}

func TestStreamOfAnInstanceThatIsDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, "/ui/events/instances/"+idle, "")
		b.got(0)
		w.change(gybeapi.KindInstanceDeleted, func() { w.instances = w.instances[:1] })
		ev := b.got(2 * time.Second)
		require.Contains(t, ev[0].data, "<h1>Gone</h1>")
		require.Equal(t, "done", ev[1].name)
		<-b.ended
	})
}

func TestStreamsAreBoundedAndEndWithTheServer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, _ http.Handler) { //nolint:thelper // it is the test
		d := w.deps()
		stop := make(chan struct{})
		d.Streams, d.Stopping = 1, stop
		h := handler(d)
		b := follow(t, h, "/ui/events/nodes", "")
		require.Len(t, b.got(0), 1)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ui/events/nodes", nil))
		require.Equal(t, http.StatusServiceUnavailable, rec.Code)
		close(stop)
		<-b.ended
		require.Equal(t, http.StatusOK, b.status)
	})
}

func TestABrowserWithACursorThatIsNoneIsSentAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, _ *world, h http.Handler) { //nolint:thelper // it is the test
		b := follow(t, h, operationEvents+"?log=nonsense", "")
		<-b.ended
		require.Len(t, b.got(0), 1)
	})
}
