package kube

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// etcd is the program of a master's etcd member.
func (h *host) etcd(ctx context.Context, p *process.Proc) int {
	name := first(flagsOf(p.Args[1:])["name"])
	c := h.w.byCA(h.read(caFile))
	if c == nil || name == "" {
		return p.Errorf("error setting up initial cluster: the cluster is gone\n")
	}
	if !h.exists(etcdDir + "/member") {
		_ = h.root().MkdirAll(etcdDir+"/member", 0o700)
	}
	c.runs(c.etcd, name, h, true)
	defer c.runs(c.etcd, name, h, false)
	<-ctx.Done()
	return 0
}

// apiserver is the program of a master's API server.
func (h *host) apiserver(ctx context.Context, p *process.Proc) int {
	args := flagsOf(p.Args[1:])
	c := h.w.byCA(h.read(first(args["client-ca-file"])))
	if c == nil {
		return p.Errorf("error: unable to load client CA provider\n")
	}
	cert, err := tls.X509KeyPair(h.read(first(args["tls-cert-file"])), h.read(first(args["tls-private-key-file"])))
	if err != nil {
		return p.Errorf("Error: error creating self-signed certificates: %s\n", err)
	}
	port, err := strconv.ParseUint(first(args["secure-port"]), 10, 16)
	if err != nil {
		port = apiPort
	}
	ln := newListener(h.os.Net.Primary(), uint16(port))
	stop, err := h.os.Net.Listen(ctx, netip.IPv4Unspecified(), uint16(port), ln.take)
	if err != nil {
		return p.Errorf("Error: failed to create listener: failed to listen on 0.0.0.0:%d: %s\n", port, process.Reason(err))
	}
	srv := c.Serve(cert, ln)
	c.runs(c.api, h.m.ID, h, true)
	h.w.pokeAll(c)
	<-ctx.Done()
	c.runs(c.api, h.m.ID, h, false)
	stop()
	srv.Close()
	h.w.pokeAll(c)
	return 0
}

// pokeAll makes the nodes of a cluster report anew, after API servers have come or gone.
func (w *World) pokeAll(c *cluster) {
	c.mu.Lock()
	ids := make([]string, 0, len(c.hosts))
	for id := range c.hosts {
		ids = append(ids, id)
	}
	c.mu.Unlock()
	for _, id := range ids {
		w.mu.Lock()
		h := w.hosts[id]
		w.mu.Unlock()
		if h != nil {
			h.poke()
			h.report()
		}
	}
}

// listener hands the connections that a machine's network accepts to an HTTP server.
type listener struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newListener(ip netip.Addr, port uint16) *listener {
	return &listener{addr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, port)), conns: make(chan net.Conn), done: make(chan struct{})}
}

// take hands a connection over and returns when it is closed, because the network keeps track of it until then.
func (l *listener) take(c net.Conn) {
	w := &watched{Conn: c, closed: make(chan struct{})}
	select {
	case l.conns <- w:
		<-w.closed
	case <-l.done:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.addr }

// watched is a connection that tells when it is closed.
type watched struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close closes the connection.
func (w *watched) Close() error {
	defer w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}
