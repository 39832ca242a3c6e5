// Package netstack is the network of a simulated machine: its addresses in 127.0.0.0/8, the services that listen on
// them for real, and connections to other machines. An address or the whole machine can go away, or fall silent.
package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Addr is an address of the machine.
type Addr struct {
	IP netip.Addr
	// Target is the machine's own (or virtual) address behind a floating one: packets to IP arrive at Target. The
	// guest does not see IP then.
	Target netip.Addr
	// Virtual marks an address that keepalived holds.
	Virtual bool
}

// Stack is the network of one machine. It is safe for concurrent use.
type Stack struct {
	// Hosts resolves a name to an address, as /etc/hosts does; nil: no names.
	Hosts func(name string) (netip.Addr, bool)

	mu       sync.Mutex
	addrs    []Addr
	services []*service
	up       bool
	cut      chan struct{} // not nil while the network is cut; closed when it is restored
	conns    map[net.Conn]struct{}
	wg       sync.WaitGroup
	changed  func()
}

// service is something that listens on a port of some or all addresses.
type service struct {
	bind   netip.Addr // unspecified: every address
	port   uint16
	handle func(net.Conn)
	real   map[netip.Addr]net.Listener
}

// New returns a stack that is down and has no addresses.
func New() *Stack { return &Stack{conns: map[net.Conn]struct{}{}} }

// OnChange sets a function that is called (on its own goroutine's time, without locks) after the network was cut or
// restored, came up or went down.
func (s *Stack) OnChange(f func()) { s.changed = f }

func (s *Stack) notify() {
	if s.changed != nil {
		s.changed()
	}
}

// Up lets services listen.
func (s *Stack) Up() {
	s.mu.Lock()
	s.up = true
	s.mu.Unlock()
	s.notify()
}

// Down closes every listener and connection, forgets services and virtual addresses, and waits until all connection
// handlers have returned.
func (s *Stack) Down() {
	s.mu.Lock()
	s.up = false
	for _, sv := range s.services {
		sv.close()
	}
	s.services = nil
	s.addrs = slices.DeleteFunc(s.addrs, func(a Addr) bool { return a.Virtual })
	s.hangUp()
	s.mu.Unlock()
	s.wg.Wait()
	s.notify()
}

// hangUp closes all connections and ends a cut, whose waiters would stay. The lock is held.
func (s *Stack) hangUp() {
	for c := range s.conns {
		_ = c.Close()
	}
	if s.cut != nil {
		close(s.cut)
		s.cut = nil
	}
}

// Cut stops (true) or restores (false) all traffic: connections stay open but nothing gets through.
func (s *Stack) Cut(cut bool) {
	s.mu.Lock()
	switch {
	case cut && s.cut == nil:
		s.cut = make(chan struct{})
	case !cut && s.cut != nil:
		close(s.cut)
		s.cut = nil
	}
	s.mu.Unlock()
	s.notify()
}

// IsCut reports whether traffic is stopped.
func (s *Stack) IsCut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cut != nil
}

// IsUp reports whether the machine's network is up.
func (s *Stack) IsUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.up
}

// open waits until traffic flows; false if done closes first.
func (s *Stack) open(done <-chan struct{}) bool {
	for {
		s.mu.Lock()
		ch := s.cut
		s.mu.Unlock()
		if ch == nil {
			return true
		}
		select {
		case <-ch:
		case <-done:
			return false
		}
	}
}

// Add gives the machine an address and opens the services that listen on every address there.
func (s *Stack) Add(ctx context.Context, a Addr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.addrs, func(b Addr) bool { return b.IP == a.IP }) {
		return nil
	}
	s.addrs = append(s.addrs, a)
	if !s.up {
		return nil
	}
	for _, sv := range s.services {
		if err := s.listen(ctx, sv, a); err != nil {
			s.remove(a.IP)
			return err
		}
	}
	return nil
}

// Remove takes an address away: listeners there close, and so do its connections.
func (s *Stack) Remove(ip netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(ip)
}

func (s *Stack) remove(ip netip.Addr) {
	s.addrs = slices.DeleteFunc(s.addrs, func(a Addr) bool { return a.IP == ip })
	for _, sv := range s.services {
		if l := sv.real[ip]; l != nil {
			_ = l.Close()
			delete(sv.real, ip)
		}
	}
	for c := range s.conns {
		if local, err := netip.ParseAddrPort(c.LocalAddr().String()); err == nil && local.Addr() == ip {
			_ = c.Close()
		}
	}
}

// Addrs lists the addresses in the order they came.
func (s *Stack) Addrs() []Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.addrs)
}

// Primary is the first address of the machine's own.
func (s *Stack) Primary() netip.Addr {
	for _, a := range s.Addrs() {
		if !a.Target.IsValid() && !a.Virtual {
			return a.IP
		}
	}
	return netip.Addr{}
}

// Addresses are the addresses that the guest sees, as text.
func (s *Stack) Addresses() []string {
	var out []string
	for _, a := range s.Addrs() {
		if !a.Target.IsValid() {
			out = append(out, a.IP.String())
		}
	}
	return out
}

// Has reports whether ip is an address that the guest sees.
func (s *Stack) Has(ip netip.Addr) bool {
	return slices.ContainsFunc(s.Addrs(), func(a Addr) bool { return a.IP == ip && !a.Target.IsValid() })
}

// Listen serves port on one address (bind), or on all of them if bind is unspecified or not valid; loopback means
// inside the machine only. handle runs on a goroutine of its own and owns the connection. stop closes the listeners,
// not the connections. The error is EADDRINUSE, EADDRNOTAVAIL, or what the real listener said.
func (s *Stack) Listen(
	ctx context.Context, bind netip.Addr, port uint16, handle func(net.Conn),
) (stop func(), err error) {
	if !bind.IsValid() {
		bind = netip.IPv4Unspecified()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.up {
		return nil, syscall.ENETDOWN
	}
	for _, o := range s.services {
		if o.port == port && (o.bind == bind || o.bind.IsUnspecified() || bind.IsUnspecified()) {
			return nil, syscall.EADDRINUSE
		}
	}
	sv := &service{bind: bind, port: port, handle: handle, real: map[netip.Addr]net.Listener{}}
	if !bind.IsUnspecified() && bind != loopback && !slices.ContainsFunc(
		s.addrs, func(a Addr) bool { return a.IP == bind },
	) {
		return nil, syscall.EADDRNOTAVAIL
	}
	for _, a := range s.addrs {
		if err := s.listen(ctx, sv, a); err != nil {
			sv.close()
			return nil, err
		}
	}
	s.services = append(s.services, sv)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		sv.close()
		s.services = slices.DeleteFunc(s.services, func(o *service) bool { return o == sv })
	}, nil
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// serves reports whether the service takes what arrives at a.
func (sv *service) serves(a Addr) bool {
	return sv.bind.IsUnspecified() || sv.bind == a.IP || a.Target.IsValid() && sv.bind == a.Target
}

// listen opens the real listener of a service on one address. The lock is held.
func (s *Stack) listen(ctx context.Context, sv *service, a Addr) error {
	if !sv.serves(a) || sv.real[a.IP] != nil {
		return nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", netip.AddrPortFrom(a.IP, sv.port).String())
	if errors.Is(err, syscall.EACCES) {
		return nil // a privileged port: reachable from inside only
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", netip.AddrPortFrom(a.IP, sv.port), err)
	}
	sv.real[a.IP] = l
	s.wg.Go(func() { s.accept(l, sv) })
	return nil
}

func (sv *service) close() {
	for ip, l := range sv.real {
		_ = l.Close()
		delete(sv.real, ip)
	}
}

func (s *Stack) accept(l net.Listener, sv *service) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.serve(c, sv)
	}
}

func (s *Stack) serve(c net.Conn, sv *service) {
	s.track(c, func(g *conn) {
		if s.open(g.closed) {
			sv.handle(g)
		} else {
			_ = g.Close()
		}
	})
}

// track registers a connection so that Down can close it, and gives it to a handler, if there is one, for which Down
// waits. If the machine is down already, it closes the connection and returns nil.
func (s *Stack) track(c net.Conn, handle func(*conn)) *conn {
	g := &conn{Conn: c, s: s, closed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.up {
		_ = c.Close()
		return nil
	}
	s.conns[g] = struct{}{}
	if handle != nil {
		s.wg.Go(func() {
			defer s.forget(g)
			handle(g)
		})
	}
	return g
}

func (s *Stack) forget(g *conn) {
	s.mu.Lock()
	delete(s.conns, g)
	s.mu.Unlock()
}

// conn is a connection whose traffic stops while the machine is cut off.
type conn struct {
	net.Conn
	s      *Stack
	closed chan struct{}
	once   sync.Once
}

// Read reads, and holds back what arrived while traffic is stopped.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.s.open(c.closed) {
		return 0, net.ErrClosed
	}
	return n, err
}

// Write waits while traffic is stopped.
func (c *conn) Write(b []byte) (int, error) {
	if !c.s.open(c.closed) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// CloseWrite shuts the sending side, if the transport can.
func (c *conn) CloseWrite() error {
	if h, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return nil
}

// Close closes the connection and wakes who waits for the traffic.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// outgoing is a connection from the machine; closing it forgets it.
type outgoing struct {
	*conn
}

// Close closes the connection.
func (o *outgoing) Close() error {
	o.s.forget(o.conn)
	return o.conn.Close()
}

// errNoHost is what an unknown name gives.
var errNoHost = errors.New("name or service not known")

// Resolve finds the address of a name or of an address in text form.
func (s *Stack) Resolve(host string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip, nil
	}
	if s.Hosts != nil {
		if ip, ok := s.Hosts(host); ok {
			return ip, nil
		}
	}
	if host == "localhost" {
		return loopback, nil
	}
	return netip.Addr{}, fmt.Errorf("%s: %w", host, errNoHost)
}

// NoHost reports whether err means that a name is unknown.
func NoHost(err error) bool { return errors.Is(err, errNoHost) }

// Dial connects to host:port as a program of the machine would: loopback and the machine's own addresses stay inside,
// other machines are reached over real TCP, and there is nothing else (ENETUNREACH).
func (s *Stack) Dial(ctx context.Context, addr string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", portText, err)
	}
	ip, err := s.Resolve(host)
	if err != nil {
		return nil, err
	}
	if ip == loopback || ip == netip.IPv6Loopback() || s.Has(ip) {
		return s.inside(ip, uint16(port))
	}
	if !ip.Is4() || !ip.IsLoopback() {
		return nil, refusal(ip, port, syscall.ENETUNREACH)
	}
	if !s.open(ctx.Done()) {
		return nil, context.Cause(ctx)
	}
	d := net.Dialer{}
	if from := s.Primary(); from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	c, err := d.DialContext(ctx, "tcp4", netip.AddrPortFrom(ip, uint16(port)).String())
	if err != nil {
		return nil, err
	}
	g := s.track(c, nil)
	if g == nil {
		return nil, syscall.ENETDOWN
	}
	return &outgoing{conn: g}, nil
}

func refusal(ip netip.Addr, port uint64, err error) error {
	return &net.OpError{
		Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, uint16(port))),
		Err: os.NewSyscallError("connect", err),
	}
}

// inside connects to a service of the machine itself without the real network.
func (s *Stack) inside(ip netip.Addr, port uint16) (net.Conn, error) {
	s.mu.Lock()
	var sv *service
	for _, o := range s.services {
		if o.port == port && (o.bind.IsUnspecified() || o.bind == ip) {
			sv = o
		}
	}
	s.mu.Unlock()
	if sv == nil {
		return nil, refusal(ip, uint64(port), syscall.ECONNREFUSED)
	}
	near, far := net.Pipe()
	// A cut does not reach traffic inside the machine.
	if s.track(far, func(g *conn) { sv.handle(g.Conn) }) == nil {
		_ = near.Close()
		return nil, syscall.ENETDOWN
	}
	return near, nil
}

// Sockets lists what listens: "0.0.0.0:6443" for every address.
func (s *Stack) Sockets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, sv := range s.services {
		out = append(out, netip.AddrPortFrom(sv.bind, sv.port).String())
	}
	slices.Sort(out)
	return out
}

// InUse reports whether something listens on the port.
func (s *Stack) InUse(port uint16) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.services, func(sv *service) bool { return sv.port == port })
}
