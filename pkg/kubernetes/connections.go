package kubernetes

import (
	"context"
	"errors"
	"net"
	"sync"
)

// connections are the open connections of a client. client-go wraps its transport, so that
// http.Client.CloseIdleConnections has no effect on it. A connection that is dialled for a cancelled request becomes
// idle only later.
type connections struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
}

// connection removes itself from its list when it ends.
type connection struct {
	net.Conn
	of *connections
}

var errClosed = errors.New("the client is closed")

func (c *connections) dialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(errClosed, raw.Close())
	}
	conn := &connection{Conn: raw, of: c}
	c.open[conn] = struct{}{}
	return conn, nil
}

// Close ends the connection.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// close ends all connections, and those that are being dialled.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.open {
		_ = conn.Conn.Close() // no longer used
	}
	clear(c.open)
}
