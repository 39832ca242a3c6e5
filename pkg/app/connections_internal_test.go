package app

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// limitedServer serves / at once, and /wait when release is closed.
func limitedServer(t *testing.T, limit int) (conns *connections, release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-release
		}
	}))
	conns = limitConnections(s.Listener, limit, true, slog.New(slog.DiscardHandler))
	s.Listener, s.Config.ConnState = conns, conns.observe
	s.Start()
	t.Cleanup(s.Close)
	return conns, release
}

// dial opens a connection.
func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c
}

// send sends a request without waiting for the answer.
func send(t *testing.T, c net.Conn, path string) {
	t.Helper()
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
}

// answer reads the answer to a request.
func answer(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	return res
}

// await waits until some connections are open, and some of these are idle.
func (l *connections) await(t *testing.T, open, idle int) {
	t.Helper()
	require.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open == open && l.idle.Len() == idle
	}, time.Minute, time.Millisecond)
}

// age makes all idle connections older.
func (l *connections) age(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.idle.Front(); e != nil; e = e.Next() {
		if c, ok := e.Value.(*connection); ok {
			c.opened = c.opened.Add(-by)
		}
	}
}

func TestIdleConnectionsMakeRoomForNewOnes(t *testing.T) {
	t.Parallel()
	const limit = 3
	conns, _ := limitedServer(t, limit)
	silent := dial(t, conns)
	conns.await(t, 1, 1)
	conns.age(silence)
	var open []net.Conn
	for n := range limit - 1 {
		c := dial(t, conns)
		send(t, c, "/")
		require.Equal(t, 200, answer(t, c).StatusCode)
		conns.await(t, n+2, n+2)
		open = append(open, c)
	}
	for _, oldest := range append([]net.Conn{silent}, open...) {
		probe := dial(t, conns)
		send(t, probe, "/")
		require.Equal(t, 200, answer(t, probe).StatusCode)
		_, err := oldest.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "the connection that was idle for longest is closed")
		conns.await(t, limit, limit)
	}
}

func TestConnectionsAreRefusedWhileRequestsRunOnAll(t *testing.T) {
	t.Parallel()
	const limit = 2
	conns, release := limitedServer(t, limit)
	var busy []net.Conn
	for n := range limit + localReserve { // clients of this machine have a reserve
		c := dial(t, conns)
		send(t, c, "/wait")
		conns.await(t, n+1, 0)
		busy = append(busy, c)
	}

	refused := dial(t, conns)
	send(t, refused, "/")
	res := answer(t, refused)
	require.Equal(t, 503, res.StatusCode)
	require.Equal(t, "5", res.Header.Get("Retry-After"))

	close(release)
	for _, c := range busy {
		require.Equal(t, 200, answer(t, c).StatusCode)
		require.NoError(t, c.Close())
	}
	conns.await(t, 0, 0)
	again := dial(t, conns)
	send(t, again, "/")
	require.Equal(t, 200, answer(t, again).StatusCode)
}
