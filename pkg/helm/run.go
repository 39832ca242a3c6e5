package helm

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// lease is how long an action of Helm goes on without a tick of its operation. It bounds the time in which a node that
// has lost the operation still works on the release.
const lease = 30 * time.Second

// look is how long a tick waits for an action before it returns.
const look = 5 * time.Second

// runs are the actions of Helm that are under way on this node. An action waits for hooks of the chart, which can take
// longer than a tick.
type runs struct {
	mu  sync.Mutex
	all map[string]*run
}

// run is an action under way.
type run struct {
	done   chan struct{}
	err    error // once done is closed
	lease  *time.Timer
	cancel context.CancelFunc
	// refused is the last answer of the API server, if it asks to come back later; nil for any other answer.
	refused atomic.Pointer[string]
}

// note keeps an answer that asks to come back later: the client does so for a while, without a word.
func (r *run) note(req *http.Request, res *http.Response) {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode < http.StatusInternalServerError {
		r.refused.Store(nil)
		return
	}
	text := fmt.Sprintf("; the API server answers %s to %s %s", res.Status, req.Method, req.URL.Path)
	r.refused.Store(&text)
}

// run starts an action, or waits for the one with this key that is under way. It returns the action's error once, or a
// wait.
func (d *Driver) run(
	ctx context.Context, key string, vim sol.VimConnectionInfo, namespace string, limit time.Duration, why string,
	do func(ctx context.Context, s *session) error,
) error {
	r := d.runs.begin(ctx, key, limit, func(ctx context.Context, r *run) error {
		s, err := d.open(ctx, vim, namespace, r.note)
		if err != nil {
			return err
		}
		defer s.close()
		return do(ctx, s)
	})
	timer := time.NewTimer(look)
	defer timer.Stop()
	select {
	case <-r.done:
		d.runs.forget(key)
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		if text := r.refused.Load(); text != nil {
			why += *text
		}
		return lcm.Wait(pause, why)
	}
}

func (rs *runs) begin(ctx context.Context, key string, limit time.Duration, do func(context.Context, *run) error) *run {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.all[key]; r != nil {
		r.lease.Reset(lease)
		return r
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	r := &run{done: make(chan struct{}), cancel: cancel, lease: time.AfterFunc(lease, cancel)}
	if rs.all == nil {
		rs.all = map[string]*run{}
	}
	rs.all[key] = r
	go func() {
		defer close(r.done)
		defer cancel()
		r.err = do(ctx, r)
	}()
	return r
}

func (rs *runs) forget(key string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.all[key]; r != nil {
		r.lease.Stop()
		delete(rs.all, key)
	}
}

// stop ends the action with this key and waits for its end; cancel is false to let it finish.
func (rs *runs) stop(ctx context.Context, key string, cancel bool) error {
	rs.mu.Lock()
	r := rs.all[key]
	rs.mu.Unlock()
	if r == nil {
		return nil
	}
	if cancel {
		r.cancel()
	} else {
		r.lease.Reset(lease)
	}
	timer := time.NewTimer(look)
	defer timer.Stop()
	select {
	case <-r.done:
		rs.forget(key)
		return nil
	case <-timer.C:
		return lcm.Wait(pause, "Helm finishes its work on the release")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends all actions.
func (rs *runs) close() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		r.lease.Stop()
		r.cancel()
	}
}
