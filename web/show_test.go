package web_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

var show = flag.String(
	"show", "", "address on which TestShow serves the console with sample data until it is interrupted",
)

// TestShow is for developers of the console: go test ./web -run TestShow -v -timeout 0 -args -show 127.0.0.1:8080.
func TestShow(t *testing.T) {
	if *show == "" {
		t.Skip("it is asked for with -args -show <address>")
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w := sample()
	start := time.Now()
	w.at = func() time.Time { return now.Add(time.Since(start)) }
	go act(ctx, w)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *show)
	require.NoError(t, err)
	s := &http.Server{Handler: handler(w.deps()), ReadHeaderTimeout: time.Second}
	go func() { <-ctx.Done(); _ = s.Close() }()
	t.Logf("http://%s/ui/", l.Addr())
	require.ErrorIs(t, s.Serve(l), http.ErrServerClosed)
}

// act lets a machine say something twice a second, and the first master come up after a while.
func act(ctx context.Context, w *world) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.change(gybeapi.KindLog, func() {
			id := int64(5 + n%4)
			w.lines[running] = append(w.lines[running], gybeapi.Line{
				StepID: id, Time: w.Now(), Text: fmt.Sprintf("line %d of this machine", n/4),
			})
		})
		if n == 60 {
			w.change(gybeapi.KindStep, func() {
				s := &w.steps[running][7]
				s.State, s.Finished, s.Detail = lcm.StepDone, w.Now(), "the control plane answers at "+
					"https://172.24.4.50:16443"
			})
		}
	}
}
