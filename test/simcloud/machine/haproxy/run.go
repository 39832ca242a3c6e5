package haproxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Host is the machine that the program runs on.
type Host struct {
	Net *netstack.Stack
	// Ready tells systemd that the daemon serves.
	Ready func(p *process.Proc)
}

// Program is haproxy: -c checks the configuration, otherwise it serves until a signal ends it; USR2 reloads.
func (h Host) Program(ctx context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "f:cqWs")
	if !ok {
		return 1
	}
	files := f.Vals["f"]
	conf, ok := load(p, files)
	if !ok {
		return 1
	}
	if f.Has("c") {
		if !f.Has("q") {
			p.Printf("Configuration file is valid\n")
		}
		return 0
	}
	b := &balancer{h: h, clock: p.Sys.Clock, listeners: map[netip.AddrPort]*listener{}, health: map[string]health{}}
	defer b.close()
	if !b.use(ctx, p, conf) {
		return 1
	}
	reload := make(chan struct{}, 1)
	p.Handle(func(s process.Signal) bool {
		if s == process.SIGUSR2 || s == process.SIGHUP {
			select {
			case reload <- struct{}{}:
			default:
			}
			return true
		}
		return false
	})
	if h.Ready != nil {
		h.Ready(p)
	}
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-reload:
			if conf, ok := load(p, files); ok {
				b.use(ctx, p, conf)
			}
		}
	}
}

// load reads the files and prints what is wrong with them.
func load(p *process.Proc, files []string) (*Config, bool) {
	if len(files) == 0 {
		p.Errorf("HAProxy version 2.4.24: Usage : haproxy [-f <cfgfile|cfgdir>]* [ -vdVD ] [ -n <maxconn> ] ...\n")
		return nil, false
	}
	var text strings.Builder
	for _, f := range files {
		b, err := p.ReadFile(f)
		if err != nil {
			p.Errorf("[ALERT]    (%d) : Could not open configuration file %s : %s\n", p.PID, f, process.Reason(err))
			return nil, false
		}
		text.Write(b)
		text.WriteByte('\n')
	}
	c := Parse(files[0], text.String())
	for _, x := range c.Problems {
		p.Errorf("[ALERT]    (%d) : config : %s\n", p.PID, x)
	}
	if len(c.Problems) > 0 {
		p.Errorf("[ALERT]    (%d) : config : Error(s) found in configuration file : %s\n", p.PID, files[0])
		p.Errorf("[ALERT]    (%d) : config : Fatal errors found in configuration.\n", p.PID)
		return nil, false
	}
	return c, true
}

// balancer is a running haproxy.
type balancer struct {
	h     Host
	clock *process.Clock

	mu        sync.Mutex
	listeners map[netip.AddrPort]*listener
	health    map[string]health
}

// listener is an open port; a reload changes where it leads without closing it.
type listener struct {
	port uint16
	stop func()
	back *proxy
}

// verdict is what a check of a server found.
type verdict int

const (
	down verdict = iota
	slow         // no answer in time; the real program needs several such checks before it gives a server up
	up
)

// health is what the last check of a server found.
type health struct {
	found verdict
	till  time.Time
}

// use puts a configuration into effect; false if a port cannot be opened.
func (b *balancer) use(ctx context.Context, p *process.Proc, c *Config) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	want := map[netip.AddrPort]bool{}
	for _, px := range c.proxies {
		back := px
		if px.kind == "frontend" {
			back = c.backends[px.def]
		}
		for _, at := range px.binds {
			want[at] = true
			if l := b.listeners[at]; l != nil {
				l.back = back
				continue
			}
			l := &listener{port: at.Port(), back: back}
			stop, err := b.h.Net.Listen(ctx, at.Addr(), at.Port(), func(conn net.Conn) { b.serve(ctx, l, conn) })
			if err != nil {
				p.Errorf("[ALERT]    (%d) : Starting %s %s: cannot bind socket (%s) [%s]\n", p.PID, px.kind, px.name,
					process.Reason(err), at)
				return false
			}
			l.stop = stop
			b.listeners[at] = l
		}
	}
	for at, l := range b.listeners {
		if !want[at] {
			l.stop()
			delete(b.listeners, at)
		}
	}
	clear(b.health)
	return true
}

func (b *balancer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at, l := range b.listeners {
		l.stop()
		delete(b.listeners, at)
	}
}

// serve passes one connection on to the first server that takes it.
func (b *balancer) serve(ctx context.Context, l *listener, client net.Conn) {
	defer func() { _ = client.Close() }()
	b.mu.Lock()
	back := l.back
	b.mu.Unlock()
	if back == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	for _, s := range b.order(ctx, back) {
		dctx, cancel := context.WithTimeout(ctx, max(b.clock.Real(back.connect), patience))
		addr := s.addr
		if isAddress(addr) {
			addr = net.JoinHostPort(addr, strconv.Itoa(int(l.port)))
		}
		server, err := b.h.Net.Dial(dctx, addr)
		cancel()
		if err != nil {
			continue
		}
		relay(client, server)
		return
	}
}

// patience is how long a server that takes part may need for a connection: the machine of the tests may be busy.
const patience = 5 * time.Second

// order is the servers to try, in turn: those that passed their check or, if there are none, those that were slow. On a
// busy machine all can be slow at the same time.
func (b *balancer) order(ctx context.Context, back *proxy) []*server {
	b.mu.Lock()
	start := back.next
	back.next++
	b.mu.Unlock()
	n := len(back.servers)
	found := make([]verdict, n)
	var wg sync.WaitGroup
	for i, s := range back.servers {
		wg.Go(func() { found[i] = b.check(ctx, back, s) })
	}
	wg.Wait()
	if n == 0 || slices.Max(found) == down {
		return nil
	}
	best := slices.Max(found)
	var out []*server
	for i := range n {
		if j := (start + i) % n; found[j] == best {
			out = append(out, back.servers[j])
		}
	}
	return out
}

// quick is how fast a refusal is not worth remembering: the server is asked again for the next connection, so that one
// that has just come up is used at once.
const quick = 20 * time.Millisecond

func (b *balancer) mark(back *proxy, s *server, found verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.health[back.name+"/"+s.name] = health{found, time.Now().Add(max(b.clock.Real(s.inter), 50*time.Millisecond))}
}

// check asks a server, or recalls what it answered less than a check interval ago. Checks are made only when a
// connection needs them, so that an idle balancer costs nothing.
func (b *balancer) check(ctx context.Context, back *proxy, s *server) verdict {
	if !s.check {
		return up
	}
	b.mu.Lock()
	h, ok := b.health[back.name+"/"+s.name]
	b.mu.Unlock()
	if ok && time.Now().Before(h.till) {
		return h.found
	}
	cctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	start, found := time.Now(), down
	switch {
	case b.ask(cctx, back, s):
		found = up
	case cctx.Err() != nil:
		found = slow
	}
	if found != down || time.Since(start) > quick {
		b.mark(back, s, found)
	}
	return found
}

func (b *balancer) ask(ctx context.Context, back *proxy, s *server) bool {
	if !back.check.on {
		c, err := b.h.Net.Dial(ctx, s.addr)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	}
	scheme := "http"
	if s.checkTLS {
		scheme = "https"
	}
	tr := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return b.h.Net.Dial(ctx, addr) },
	}
	defer tr.CloseIdleConnections()
	url := fmt.Sprintf("%s://%s%s", scheme, s.addr, back.check.uri)
	req, err := http.NewRequestWithContext(ctx, back.check.method, url, nil)
	if err != nil {
		return false
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
	_ = res.Body.Close()
	if back.check.status != "" {
		return strconv.Itoa(res.StatusCode) == back.check.status
	}
	return res.StatusCode < 400
}

// relay copies both ways until both sides have finished.
func relay(a, b net.Conn) {
	defer func() { _ = b.Close() }()
	var wg sync.WaitGroup
	one := func(dst, src net.Conn) {
		_, err := io.Copy(dst, src)
		if h, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
			if h.CloseWrite() == nil {
				return
			}
		}
		_ = dst.Close()
		_ = src.Close()
	}
	wg.Go(func() { one(a, b) })
	one(b, a)
	wg.Wait()
}
