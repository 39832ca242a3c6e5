package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// followed is a gybe audit --follow that runs.
type followed struct {
	t      *testing.T
	lines  *bufio.Scanner
	stderr bytes.Buffer
	stop   context.CancelFunc
	code   chan int
}

func follow(t *testing.T, endpoint string, args ...string) *followed {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	f := &followed{t: t, lines: bufio.NewScanner(out), stop: cancel, code: make(chan int, 1)}
	go func() {
		f.code <- cli.Run(ctx, append([]string{"audit", "--follow", "--endpoint", endpoint}, args...), cli.Env{
			Stdin: strings.NewReader(""), Stdout: in, Stderr: &f.stderr,
		})
		_ = in.Close() // never fails
	}()
	t.Cleanup(cancel)
	return f
}

func (f *followed) line() string {
	f.t.Helper()
	require.True(f.t, f.lines.Scan(), "the command has ended")
	return f.lines.Text()
}

func (f *followed) entry() (e gybeapi.AuditEntry) {
	f.t.Helper()
	require.NoError(f.t, json.Unmarshal([]byte(f.line()), &e))
	return e
}

// end interrupts the command and returns the cursor at which to go on.
func (f *followed) end() string {
	f.t.Helper()
	f.stop()
	for f.lines.Scan() {
		f.t.Errorf("unexpected line %s", f.lines.Text())
	}
	require.Equal(f.t, cli.ExitOK, <-f.code, f.stderr.String())
	_, cursor, _ := strings.Cut(strings.TrimSpace(f.stderr.String()), "--after ")
	return cursor
}

// TestAuditFollow: entries come once, in the order of the requests and with their outcome, also when the server was
// away and when the command is started again.
func TestAuditFollow(t *testing.T) {
	t.Parallel()
	node := startNode(t, apitest.NewVIM(), func(*config.Config) {})
	to, err := url.Parse(node.URL())
	require.NoError(t, err)
	var down atomic.Bool
	asked := make(chan struct{}, 1000)
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			asked <- struct{}{}
			panic(http.ErrAbortHandler)
		}
		r.Host = to.Host
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	api, err := client.New(node.URL(), nil)
	require.NoError(t, err)
	change := func() {
		t.Helper()
		_, err := api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
		require.NoError(t, err)
	}
	change()

	f := follow(t, server.URL, "-o", "json", "--since", "1h")
	first := f.entry()
	require.Equal(t, "POST", first.Method)
	require.Equal(t, http.StatusCreated, first.Status)
	require.Len(t, first.Resources, 1)
	down.Store(true)
	<-asked
	change()
	require.Error(t, api.DeletePackage(t.Context(), "00000000-0000-4000-8000-000000000000"))
	down.Store(false)
	second, third := f.entry(), f.entry()
	require.Equal(t, http.StatusCreated, second.Status)
	require.Equal(t, http.StatusNotFound, third.Status)
	require.NotEqual(t, first.ID, second.ID)
	cursor := f.end()
	require.NotEmpty(t, cursor)

	change()
	f = follow(t, server.URL, "-o", "json", "--after", cursor)
	fourth := f.entry()
	require.Greater(t, fourth.ID, third.ID)
	f.end()
	f = follow(t, server.URL, "--after", second.Cursor) // for people
	require.Contains(t, f.line(), "STATUS")
	require.Contains(t, f.line(), "404")
	require.Contains(t, f.line(), "201")
	f.end()
	f = follow(t, server.URL, "--after", second.Cursor, "-o", "yaml", "--method", "post")
	require.Equal(t, "---", f.line())
	f.stop()
	for f.lines.Scan() {
		require.NotContains(t, f.lines.Text(), "DELETE")
	}

	for _, args := range [][]string{{"--after", "nonsense"}, {"--limit", "5"}, {"--until", "1h"}} {
		f = follow(t, server.URL, args...)
		for f.lines.Scan() { // until it ends
		}
		require.Contains(t, []int{cli.ExitUsage, cli.ExitRejected}, <-f.code, args)
	}
}

// TestAuditFollowStartsNow: without --since, entries that have their outcome are not shown. A reader gets an entry only
// after all older transactions of the database, so the test waits until the old entry can be read.
func TestAuditFollowStartsNow(t *testing.T) {
	t.Parallel()
	node := startNode(t, apitest.NewVIM(), func(*config.Config) {})
	api, err := client.New(node.URL(), nil)
	require.NoError(t, err)
	_, err = api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		page, err := api.Audit(t.Context(), url.Values{"after": {lcm.AuditStart}, "limit": {"10"}})
		require.NoError(t, err)
		return len(page.Entries) == 1
	}, time.Minute, 20*time.Millisecond)
	f := follow(t, node.URL())
	require.Contains(t, f.line(), "STATUS") // the command has its place now
	_, err = api.CreatePackage(t.Context(), sol.CreateVnfPkgInfoRequest{UserDefinedData: sol.KeyValuePairs{"a": "b"}})
	require.NoError(t, err)
	require.Contains(t, f.line(), "201")
	f.end() // fails with more than one line
}
