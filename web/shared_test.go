package web_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/web"
)

// reads counts what the console reads.
type reads struct {
	*world
	instances, operations, logs, follows atomic.Int32
}

func (r *reads) InstanceDocuments(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.InstanceDocument, error] {
	r.instances.Add(1)
	return r.world.InstanceDocuments(ctx, q)
}

func (r *reads) Operation(ctx context.Context, id string) (*lcm.Operation, error) {
	r.operations.Add(1)
	return r.world.Operation(ctx, id)
}

func (r *reads) Log(ctx context.Context, op, after string, limit int) ([]gybeapi.Line, string, error) {
	r.logs.Add(1)
	return r.world.Log(ctx, op, after, limit)
}

func (r *reads) Follow(ctx context.Context, q gybeapi.FeedQuery) (gybeapi.Follower, error) {
	r.follows.Add(1)
	return r.world.Follow(ctx, q)
}

func (r *reads) deps() web.Deps {
	d := r.world.deps()
	d.In = func(lcm.Principal) web.Project {
		return web.Project{
			Instances: r, Operations: r, Packages: packages{r.world}, Feed: r, Subscriptions: subscribers{r.world},
		}
	}
	return d
}

// TestAPageIsRenderedOnceForAllFollowers: 100 browsers cost one read of the database for each change, and each of them
// receives every change.
func TestAPageIsRenderedOnceForAllFollowers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, _ http.Handler) { //nolint:thelper // it is the test
		r := &reads{world: w}
		h := handler(r.deps())
		browsers := make([]*browser, 100)
		for n := range browsers {
			browsers[n] = follow(t, h, "/ui/events/", "")
		}
		for _, b := range browsers {
			require.Len(t, b.got(0), 1)
		}
		require.EqualValues(t, 1, r.instances.Load())
		require.EqualValues(t, 1, r.follows.Load())
		for n := range 3 {
			w.change(gybeapi.KindInstanceUpdated, func() { w.instances[0].Name = fmt.Sprint("name", n) })
			synctest.Wait()
			for i, b := range browsers {
				ev := b.got(map[bool]time.Duration{true: 2 * time.Second}[i == 0])
				require.Len(t, ev, 1)
				require.Contains(t, ev[0].data, fmt.Sprint("name", n))
			}
		}
		require.LessOrEqual(t, r.instances.Load(), int32(5), "one for each change, and one without")
		for _, b := range browsers {
			b.leave()
		}
		w.change(gybeapi.KindInstanceUpdated, func() {})
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble it takes no time
		synctest.Wait()
		require.LessOrEqual(t, r.instances.Load(), int32(5), "a page without followers is not rendered")
	})
}

// TestOutputIsReadOnceForAllFollowers: a line of output costs one read, and a browser that comes later gets all lines.
func TestOutputIsReadOnceForAllFollowers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, _ http.Handler) { //nolint:thelper // it is the test
		r := &reads{world: w}
		h := handler(r.deps())
		browsers := make([]*browser, 50)
		for n := range browsers {
			browsers[n] = follow(t, h, operationEvents+"?log=35", "")
			browsers[n].got(0)
		}
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble it takes no time
		synctest.Wait()
		logs := r.logs.Load()
		say(w, 6, "a line")
		for n, b := range browsers {
			all := ""
			for _, e := range b.got(map[bool]time.Duration{true: 300 * time.Millisecond}[n == 0]) {
				all += e.data
			}
			require.Contains(t, all, "a line</p>")
		}
		require.LessOrEqual(t, r.logs.Load()-logs, int32(4))

		late := follow(t, h, operationEvents+"?log=35", "")
		all := ""
		for _, e := range late.got(0) {
			all += e.data
		}
		require.Contains(t, all, "a line</p>")
		late.leave()
		for _, b := range browsers {
			b.leave()
		}
	})
}

// byQuery takes the project from the URL.
type byQuery struct{ frame.NoAuth }

func (byQuery) Authenticate(r *http.Request) (lcm.Principal, error) {
	return lcm.Principal{Project: r.URL.Query().Get("project"), Role: lcm.RoleReader}, nil
}

// TestPagesAreNotSharedBetweenProjects: followers of two projects see their own instances.
func TestPagesAreNotSharedBetweenProjects(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, _ http.Handler) { //nolint:thelper // it is the test
		other := sample()
		other.at = w.at
		other.instances = other.instances[:1]
		other.instances[0].Name = "of-the-other-project"
		d := w.deps()
		own := d.In
		d.In = func(p lcm.Principal) web.Project {
			if p.Project == "other" {
				return other.deps().In(p)
			}
			return own(p)
		}
		f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), Auth: byQuery{}})
		web.Mount(f, d)
		var browsers []*browser
		for _, project := range []string{"", "other"} {
			b := follow(t, f, "/ui/events/?project="+project, "")
			ev := b.got(0)
			require.Len(t, ev, 1)
			require.Equal(t, project == "other", strings.Contains(ev[0].data, "of-the-other-project"))
			browsers = append(browsers, b)
		}
		for _, b := range browsers {
			b.leave()
		}
	})
}

// stuck is a browser that reads nothing.
type stuck struct {
	header  http.Header
	entered chan struct{}
	release chan struct{}
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}
func (s *stuck) Flush()              {}
func (s *stuck) Write(p []byte) (int, error) {
	select {
	case s.entered <- struct{}{}:
	default:
	}
	<-s.release
	return 0, io.ErrClosedPipe
}

// TestASlowBrowserDoesNotHoldOthersUp: it misses what the others see.
func TestASlowBrowserDoesNotHoldOthersUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *world, h http.Handler) { //nolint:thelper // it is the test
		slow := &stuck{header: http.Header{}, entered: make(chan struct{}, 1), release: make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.ServeHTTP(slow, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ui/events/", nil))
		}()
		<-slow.entered
		b := follow(t, h, "/ui/events/", "")
		require.Len(t, b.got(0), 1)
		for n := range 3 {
			w.change(gybeapi.KindInstanceUpdated, func() { w.instances[0].Name = fmt.Sprint("name", n) })
			require.Len(t, b.got(2*time.Second), 1)
		}
		b.leave()
		close(slow.release)
		<-done
	})
}
