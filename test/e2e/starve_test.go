package e2e_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
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

// silentServer accepts connections and never answers. It returns the endpoint.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
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
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
		}
	}()
	return "http://" + l.Addr().String() + "/identity"
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

// timed instantiates an instance in the simulated cloud and returns the time until it is completed.
func (w *world) timed(vnfd string) time.Duration {
	w.t.Helper()
	began := time.Now()
	w.completed(w.instantiate(w.create(vnfd), w.plain("default")))
	return time.Since(began)
}

// atMostTwice compares the time of an instantiation beside a VIM that hangs with the time without it. The second
// summand is for busy machines; an instantiation that waits for a worker takes more than 45 s.
func (w *world) atMostTwice(vnfd string, alone time.Duration) {
	w.t.Helper()
	for range 3 {
		beside := w.timed(vnfd)
		w.t.Logf("instantiated in %s alone, in %s beside the others", alone, beside)
		require.Less(w.t, beside, 2*alone+8*time.Second)
	}
}

// comesToRest cancels an operation and waits until it has come to rest. The limit is for busy machines: an operation
// whose cancel waits for a worker takes more than 45 s.
func (w *world) comesToRest(op string, mode sol.CancelModeType) *sol.VnfLcmOpOcc {
	w.t.Helper()
	began := time.Now()
	require.NoError(w.t, w.api.Cancel(w.t.Context(), op, mode))
	o := w.resting(op)
	w.t.Logf("%s cancel: %s after %s", mode, o.OperationState, time.Since(began))
	require.Less(w.t, time.Since(began), 15*time.Second)
	require.Contains(w.t, o.Error.Detail, "Cancelled by the user ("+string(mode)+")")
	return o
}

// TestSilentVimDoesNotStarveOthers: a VIM accepts connections and is silent. Instantiations in another VIM are not
// slower, cancels take effect, and users see the reason.
func TestSilentVimDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *configuration) {
		c.OpenStack.AwayFirst, c.OpenStack.AwayLongest = 5*time.Second, time.Minute
	})
	vnfd := w.onboard(plainSource)
	w.timed(vnfd) // the first one reads the package
	alone := w.timed(vnfd)
	silent := silentServer(t)
	vim := stubcloud.VimAt(silent)
	ops := w.crowd(crowdSize(), vnfd, vim)
	w.atMostTwice(vnfd, alone)

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
	w.atMostTwice(vnfd, alone)
	w.comesToRest(ops[0], sol.CancelModeForceful)
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
// the VIM may have.
func TestSilentServiceDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *configuration) {
		c.Engine.MaxWorkers, c.Engine.MaxPerVim = 12, 3
		c.OpenStack.CancelPatience = 2 * time.Second
	})
	hanging, release := make(chan struct{}, 1000), make(chan struct{})
	stub := stubcloud.New(t)
	t.Cleanup(func() { close(release) })
	stub.Routes.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
		hanging <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	vnfd := w.onboard(plainSource)
	w.timed(vnfd)
	alone := w.timed(vnfd)
	ops := w.crowd(20, vnfd, stub.Vim())
	for range 3 {
		<-hanging
	}
	w.atMostTwice(vnfd, alone)
	for _, op := range ops {
		if p := w.progress(op); len(p.Steps) > 0 { // it hangs in a request of a step
			o := w.comesToRest(op, sol.CancelModeForceful)
			require.Contains(t, o.Error.Detail, "the VIM cannot be stopped")
			break
		}
	}
	waiting := slices.DeleteFunc(slices.Clone(ops), func(op string) bool { return len(w.progress(op).Steps) > 0 })
	require.NotEmpty(t, waiting, "the jobs of most operations wait behind the others")
	w.comesToRest(waiting[0], sol.CancelModeGraceful)
}
