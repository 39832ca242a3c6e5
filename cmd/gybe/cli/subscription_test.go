package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// TestCommandsOfSubscriptions runs them against a whole node that sends notifications to a subscriber.
func TestCommandsOfSubscriptions(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	status.Store(http.StatusNoContent)
	s := httptest.NewServer(oracle.Subscriber(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(int(status.Load()))
	})))
	t.Cleanup(s.Close)
	p := serve(t, "subscriptions")
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("SUBSCRIBER", s.URL)
		return setup(e)
	}
	// subscriber lets the subscriber accept notifications, or reject them.
	p.Cmds["subscriber"] = func(ts *testscript.TestScript, _ bool, args []string) {
		code, ok := map[string]int{"accepts": http.StatusNoContent, "rejects": http.StatusNotFound}[args[0]]
		if !ok {
			ts.Fatalf("subscriber %s", args[0])
		}
		status.Store(int64(code))
	}
	// sent waits until a subscription has a number of dead letters, and no pending notification: sent SUBSCRIPTION DEAD
	p.Cmds["sent"] = func(ts *testscript.TestScript, _ bool, args []string) {
		c, err := client.New(ts.Getenv("GYBE_ENDPOINT"), nil)
		ts.Check(err)
		want := map[string]int64{"0": 0, "1": 1}[args[1]]
		await(ts, func() (bool, string) {
			got, err := c.Subscriber(t.Context(), args[0])
			ts.Check(err)
			page, err := c.Deliveries(t.Context(), args[0], nil)
			ts.Check(err)
			return got.Pending == 0 && got.Dead == want && len(page.Deliveries) > 0,
				fmt.Sprintf("%d pending, %d dead", got.Pending, got.Dead)
		})
	}
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}
