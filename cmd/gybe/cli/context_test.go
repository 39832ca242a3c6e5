package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
)

// TestCommandsAtTheSameTimeLoseNoContext: logins, and commands that create and select contexts, run at the same time.
func TestCommandsAtTheSameTimeLoseNoContext(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, []string{})
	}))
	defer server.Close()
	u := newUser(t)
	u.ok("", "context", "set", "first", "--endpoint", server.URL)
	const each = 10
	var running sync.WaitGroup
	begin := make(chan struct{})
	var failures atomic.Int64
	start := func(stdin string, args ...string) {
		running.Go(func() {
			<-begin
			if code, _, errs := u.gybe(stdin, args...); code != 0 {
				failures.Add(1)
				t.Log(args, errs)
			}
		})
	}
	for n := range each {
		start("", "context", "set", fmt.Sprint("set-", n), "--endpoint", server.URL)
		start(fmt.Sprint("token-", n),
			"login", "--token", "--endpoint", server.URL, "--context", fmt.Sprint("login-", n))
		start("", "context", "use", "first")
	}
	close(begin)
	running.Wait()
	require.Zero(t, failures.Load())
	f, err := contexts.Load(contexts.Path(func(name string) string {
		return map[string]string{"HOME": u.home}[name]
	}))
	require.NoError(t, err)
	require.Len(t, f.Contexts, 1+2*each)
	for n := range each {
		require.Equal(t, fmt.Sprint("token-", n), f.Contexts[fmt.Sprint("login-", n)].Token)
	}
}
