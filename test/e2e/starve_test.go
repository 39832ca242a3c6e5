package e2e_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// crowdSize is the number of operations that hang. GYBE_FULL=1 takes 300.
func crowdSize() int {
	if os.Getenv("GYBE_FULL") != "" {
		return 300
	}
	return 120
}

// silentServer accepts connections and never answers. It returns the endpoint, and counts the connections.
func silentServer(t *testing.T) (endpoint string, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	connections = &atomic.Int64{}
	var mu sync.Mutex
	var open []net.Conn
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			_ = c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
		}
	}()
	return "http://" + l.Addr().String() + "/identity", connections
}

// crowd instantiates many instances through a connection and returns the operations.
func (w *world) crowd(n int, vnfd string, vim sol.VimConnectionInfo) []string {
	w.t.Helper()
	params := w.plain("default")
	params["vimConnectionInfo"] = map[string]any{"vim1": vim}
	raw := encode(w.t, params)
	ops := make([]string, n)
	var all sync.WaitGroup
	errs := make(chan error, n)
	places := make(chan struct{}, 16)
	for i := range ops {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			instance, err := w.api.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
			if err == nil {
				ops[i], err = w.api.Instantiate(w.t.Context(), instance.ID, raw)
			}
			errs <- err
		})
	}
	all.Wait()
	for range ops {
		require.NoError(w.t, <-errs)
	}
	return ops
}

// endless makes requests to VIMs and ticks end by themselves only after the test. So an operation that waited for
// another one's login, request or worker would not end within the test, and no test has to compare times: that an
// operation ends proves that it did not wait. How long it takes is measured by make bench ONLY=silent.
func endless(c *configuration) {
	c.OpenStack.RequestTimeout, c.Engine.TickBudget = time.Hour, time.Hour
}

// instantiated instantiates in the simulated cloud, which answers, while others wait for a VIM that does not.
func (w *world) instantiated(vnfd string) {
	w.t.Helper()
	for range 3 {
		w.completed(w.instantiate(w.create(vnfd), w.plain("default")))
	}
}

// comesToRest cancels an operation and waits until it has come to rest.
func (w *world) comesToRest(op string, mode sol.CancelModeType) *sol.VnfLcmOpOcc {
	w.t.Helper()
	require.NoError(w.t, w.api.Cancel(w.t.Context(), op, mode))
	o := w.resting(op)
	require.Contains(w.t, o.Error.Detail, "Cancelled by the user ("+string(mode)+")")
	return o
}

// TestSilentVimDoesNotStarveOthers: a VIM accepts connections and is silent. Instantiations in another VIM are not
// slower, cancels take effect, and users see the reason.
func TestSilentVimDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *configuration) {
		endless(c)
		c.OpenStack.AwayFirst, c.OpenStack.AwayLongest = 5*time.Second, time.Minute
	})
	vnfd := w.onboard(plainSource)
	silent, connections := silentServer(t)
	vim := stubcloud.VimAt(silent)
	ops := w.crowd(crowdSize(), vnfd, vim)
	w.instantiated(vnfd)

	// nothing was changed in the VIM, so nothing has to be halted
	w.comesToRest(ops[len(ops)-1], sol.CancelModeForceful)
	w.comesToRest(ops[len(ops)-2], sol.CancelModeGraceful)

	w.visible(ops, "VIM "+silent+" does not answer since ")
	params := w.plain("default")
	params["vimConnectionInfo"] = map[string]any{"vim1": vim}
	_, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		Operation: sol.LcmOperationInstantiate, VnfInstanceID: w.create(vnfd), Params: encode(t, params),
	})
	require.Contains(t, status(t, err, http.StatusServiceUnavailable).Problem.Detail, "does not answer since ")
	require.Contains(t, w.log.String(), `"msg":"VIM does not answer","node_id"`)
	nodes, err := w.api.Nodes(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, nodes[0].UnavailableVims)
	w.instantiated(vnfd)
	w.comesToRest(ops[0], sol.CancelModeForceful)
	require.EqualValues(t, 1, connections.Load(), "one login is under way for all operations, and all requests")
}

// visible waits until one of the operations shows a text.
func (w *world) visible(ops []string, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var last *gybeapi.Progress
	for ctx.Err() == nil {
		for _, op := range ops[:10] {
			if last = w.progress(op); strings.Contains(last.Waiting, text) {
				return
			}
		}
	}
	require.Fail(w.t, "no operation shows the text", "%s; the last one shows %s", text, last.Waiting)
}

// TestSilentServiceDoesNotStarveOthers: the login works, and then all requests hang, so that they hold all workers that
// the VIM may have, and no more.
func TestSilentServiceDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	const share = 3
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *configuration) {
		endless(c)
		c.Engine.MaxWorkers, c.Engine.MaxPerVim = 4*share, share
		c.OpenStack.CancelPatience = 2 * time.Second
		c.OpenStack.AwayFirst, c.OpenStack.AwayLongest = time.Hour, time.Hour // a try of the VIM would be a request
	})
	var hanging atomic.Int64
	release := make(chan struct{})
	stub := stubcloud.New(t)
	t.Cleanup(func() { close(release) })
	stub.Routes.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		hanging.Add(1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	vnfd := w.onboard(plainSource)
	ops := w.crowd(20, vnfd, stub.Vim())
	require.Eventually(t, func() bool { return hanging.Load() == share }, patience, time.Millisecond)
	w.instantiated(vnfd)
	var running int
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job
		WHERE state = 'running' AND split_part(queue, '/', 2) = $1`, lcm.VimKey(stub.Vim())).Scan(&running))
	require.Equal(t, share, running, "the others wait in the database, and hold no worker")
	require.EqualValues(t, share, hanging.Load(), "no tick of the silent VIM has ended: others did not wait for one")

	var begun, waiting []string
	for _, op := range ops {
		if len(w.progress(op).Steps) > 0 {
			begun = append(begun, op)
		} else {
			waiting = append(waiting, op)
		}
	}
	require.Len(t, begun, share)
	w.comesToRest(waiting[0], sol.CancelModeGraceful)
	w.comesToRest(waiting[1], sol.CancelModeForceful)
	o := w.comesToRest(begun[0], sol.CancelModeForceful) // it hangs in a request of a step
	require.Contains(t, o.Error.Detail, "the VIM cannot be stopped")
}
