package kubernetes

import (
	"context"
	"errors"
	"net"
	"sync"
)

// connections are those that a client has made and not ended. client-go hides its transport behind others, so that
// http.Client.CloseIdleConnections does not reach it, and what is dialled for a request that no longer needs it is idle only later.
type connections struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	open   map[*connection]struct{}
	closed bool
}

// connection tells its list that it has ended.
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

// close ends all of them, and those that are being made.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.open {
		_ = conn.Conn.Close() // nobody reads from it any more
	}
	clear(c.open)
}
