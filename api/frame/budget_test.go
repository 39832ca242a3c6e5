package frame_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
)

const largeBodies = `
openapi: 3.0.3
info: {title: test, version: "1"}
servers: [{url: /large}]
paths:
  /things:
    post:
      requestBody: {required: true, content: {application/json: {schema: {type: string}}}}
      responses: {"204": {description: done}}
`

// serveLarge serves POST /large/things with bodies of any size.
func serveLarge(t *testing.T, opts frame.Options, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	opts.Log = slog.New(slog.DiscardHandler)
	f := frame.New(opts)
	f.Mount(frame.API{
		Prefix: "/large",
		Document: frame.NewDocument(
			func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData([]byte(largeBodies)) },
		),
		Routes: []frame.Route{{
			Method: "POST", Path: "/things", Consumes: frame.JSON,
			Handle: func(w http.ResponseWriter, _ *frame.Request) error { return frame.NoContent(w) },
		}},
	})
	require.NoError(t, f.Preload())

	s := httptest.NewServer(wrap(f))
	t.Cleanup(s.Close)
	return s
}

// received counts what the server reads of bodies.
type received struct{ calls, bytes atomic.Int64 }

func (c *received) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = counted{r.Body, c}
		h.ServeHTTP(w, r)
	})
}

type counted struct {
	io.ReadCloser
	received *received
}

func (c counted) Read(p []byte) (int, error) {
	c.received.calls.Add(1)
	n, err := c.ReadCloser.Read(p)
	c.received.bytes.Add(int64(n))
	return n, err
}

// TestMemoryFollowsTheBytesThatArrive: what a client announces costs nothing. The test measures the heap of the process
// and is therefore not parallel to others.
func TestMemoryFollowsTheBytesThatArrive(t *testing.T) {
	const (
		connections = 1000
		announced   = 4 << 20
		allowed     = 50 << 20
	)
	var arrived received
	s := serveLarge(t, frame.Options{MaxBody: announced}, arrived.wrap)

	before := memory()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for range connections {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		require.NoError(t, err)
		conns = append(conns, c)
		_, err = fmt.Fprintf(
			c,
			"POST /large/things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n\"",
			announced,
		)
		require.NoError(t, err)
	}

	require.Eventually(
		t, func() bool { return arrived.calls.Load() >= 2*connections }, time.Minute, 10*time.Millisecond,
		"every request has read its first byte and waits for the second")
	require.Less(t, memory()-before, int64(allowed))
}

// memory is what the heap and the stacks use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// TestBodiesInMemoryAreBounded: one request has used nearly all of the budget and does not finish.
func TestBodiesInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	const megabyte = 1 << 20
	var arrived received
	s := serveLarge(t, frame.Options{MaxBody: megabyte, BodyBudget: megabyte}, arrived.wrap)
	post := func(size int) *http.Response {
		res, err := s.Client().Post(
			s.URL+"/large/things", "application/json", strings.NewReader(`"`+strings.Repeat("x", size-2)+`"`),
		)
		require.NoError(t, err)
		_ = res.Body.Close()
		return res
	}

	body, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	var wg sync.WaitGroup
	wg.Go(func() {
		res, err := s.Client().Post(s.URL+"/large/things", "application/json", body)
		if err == nil {
			_ = res.Body.Close()
		}
	})
	const sent = megabyte - 8<<10 // clients keep the last bytes in a buffer
	_, err := io.WriteString(feed, `"`+strings.Repeat("x", megabyte-100))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return arrived.bytes.Load() >= sent }, time.Minute, 10*time.Millisecond)

	refused := post(megabyte / 2)
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	require.Equal(t, "5", refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusNoContent, post(10_000).StatusCode, "ordinary requests are served")

	require.NoError(t, feed.CloseWithError(io.ErrUnexpectedEOF))
	wg.Wait()
	require.Eventually(
		t, func() bool { return post(megabyte).StatusCode == http.StatusNoContent }, time.Minute, 10*time.Millisecond,
		"the bytes of requests that have ended do not count")
}
