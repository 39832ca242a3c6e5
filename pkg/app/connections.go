package app

import (
	"container/list"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// localReserve is how many connections clients on this machine may have beyond the limit, e.g. health probes.
	localReserve = 16
	// maxRefusals is how many refused connections may wait at the same time until the client has read the answer.
	maxRefusals = 64
	// refusalTime is how long one of them may wait.
	refusalTime = time.Second
	// silence is how long a new connection may be silent before another may take its place.
	silence = time.Second
	// refusalLog is the shortest time between two lines in the log about refused connections.
	refusalLog = time.Minute
)

// connections is a listener with at most limit connections. When all are open, a new one closes the one that has been
// idle for longest, or has been silent since it was opened. When requests are running on all, it is answered with 503.
// The http.Server MUST report the states of connections to observe.
type connections struct {
	net.Listener
	limit int
	plain bool // clients understand an answer without TLS
	log   *slog.Logger

	mu       sync.Mutex
	open     int
	idle     *list.List // of *connection, the longest first
	refusals chan struct{}
	refused  int // since the last line in the log
	logged   time.Time
}

func limitConnections(l net.Listener, limit int, plain bool, log *slog.Logger) *connections {
	return &connections{
		Listener: l, limit: limit, plain: plain, log: log, idle: list.New(), refusals: make(chan struct{}, maxRefusals),
	}
}

// connection is a connection that counts.
type connection struct {
	net.Conn
	of     *connections
	opened time.Time
	once   sync.Once

	// Guarded by of.mu: the place in of.idle, nil while a request is running, and whether there was a request.
	idle *list.Element
	used bool
}

// Accept implements net.Listener.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if counted := l.admit(c); counted != nil {
			return counted, nil
		}
		l.refuse(c)
	}
}

// admit counts a connection; nil when there is no room for it.
func (l *connections) admit(c net.Conn) *connection {
	l.mu.Lock()
	var longest *connection
	if l.open >= l.limit {
		if longest = l.replaceable(); longest != nil {
			l.remove(longest)
		} else if !isLocal(c) || l.open >= l.limit+localReserve {
			l.mu.Unlock()
			return nil
		}
	}
	l.open++
	counted := &connection{Conn: c, of: l, opened: time.Now()}
	counted.idle = l.idle.PushBack(counted)
	l.mu.Unlock()
	if longest != nil {
		_ = longest.Close() // the client sends its next request on another connection
	}
	return counted
}

// replaceable returns the connection that has been idle for longest; nil when there is none.
func (l *connections) replaceable() *connection {
	for e := l.idle.Front(); e != nil; e = e.Next() {
		if c, ok := e.Value.(*connection); ok && (c.used || time.Since(c.opened) > silence) {
			return c
		}
	}
	return nil
}

// remove takes a connection from those that are idle.
func (l *connections) remove(c *connection) {
	if c.idle != nil {
		l.idle.Remove(c.idle)
		c.idle = nil
	}
}

// isLocal says whether a client is on this machine.
func isLocal(c net.Conn) bool {
	a, err := netip.ParseAddrPort(c.RemoteAddr().String())
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// observe is the http.Server's ConnState.
func (l *connections) observe(conn net.Conn, state http.ConnState) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = t.NetConn()
	}
	c, ok := conn.(*connection)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c)
	c.used = c.used || state == http.StateActive
	if state == http.StateIdle || state == http.StateNew {
		c.idle = l.idle.PushBack(c)
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.open--
		c.of.remove(c)
	})
	return err
}

// ReadFrom lets the kernel copy files to sockets.
func (c *connection) ReadFrom(src io.Reader) (int64, error) { return io.Copy(c.Conn, src) }

// CloseWrite closes one direction, which net/http does before it closes a connection whose request it has not read.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// refusal is the answer on a connection for which there is no room.
const refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n" +
	"Content-Type: application/problem+json\r\nContent-Length: 99\r\n\r\n" +
	`{"title":"Too many connections","status":503,"detail":"this node has no room for more connections"}`

// refuse answers and closes a connection for which there is no room.
func (l *connections) refuse(c net.Conn) {
	l.report()
	select {
	case l.refusals <- struct{}{}:
	default:
		_ = c.Close()
		return
	}
	go func() {
		defer func() { <-l.refusals }()
		defer func() { _ = c.Close() }()
		if !l.plain {
			return
		}
		_ = c.SetDeadline(time.Now().Add(refusalTime))
		if _, err := io.WriteString(c, refusal); err != nil {
			return
		}
		if half, ok := c.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
		// Closing with unread data would reset the connection before the client has read the answer.
		_, _ = io.Copy(io.Discard, io.LimitReader(c, 64<<10))
	}()
}

// report logs refused connections now and then.
func (l *connections) report() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused++
	if time.Since(l.logged) < refusalLog {
		return
	}
	l.log.WarnContext(
		context.Background(), "connections are refused: requests are running on all", "refused", l.refused,
		"limit", l.limit, "hint", "raise limits.connections",
	)
	l.refused, l.logged = 0, time.Now()
}
