package haproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/haproxy"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const good = `
global
  log /dev/log local0
  user haproxy
defaults
  mode tcp
  timeout connect 1s
  timeout client 10m
  timeout server 10m
frontend api
  bind *:16443
  default_backend masters
backend masters
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 1s fall 2 rise 1
  server m1 127.0.0.2:6443
  server m2 127.0.0.3:6443 weight 10 # comment
`

func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ text, want string }{
		"good":            {good, ""},
		"keyword outside": {"mode tcp\n" + good, "unknown keyword 'mode' out of section."},
		"unknown keyword": {good + "  frobnicate yes\n", "unknown keyword 'frobnicate' in 'backend' section"},
		"no backend": {strings.Replace(good, "default_backend masters", "default_backend none",
			1), "Proxy 'api': unable to find required default_backend: 'none'."},
		"server twice":   {good + "  server m1 127.0.0.9:6443\n", "another server named 'm1' was already defined"},
		"server address": {good + "  server m3 127.0.0.9:\n", "invalid address: '127.0.0.9'"},
		"server name":    {good + "  server m3 m3.example\n", "invalid address: '' in 'm3.example'"},
		"no port":        {good + "  server m3 127.0.0.9 check\n", "has neither service port nor check port."},
		"server option":  {good + "  server m3 127.0.0.9:1 chekc\n", "unknown keyword 'chekc'"},
		"bind":           {strings.Replace(good, "*:16443", "16443", 1), "invalid address: '16443'"},
		"mode":           {strings.Replace(good, "mode tcp", "mode udp", 1), "unknown proxy mode 'udp'."},
		"timeout": {
			strings.Replace(good, "connect 1s", "connect soon", 1), "unexpected character in 'timeout connect'",
		},
		"same name": {good + "backend masters\n", "has the same name as"},
		"server in a front": {strings.Replace(good, "  default_backend", "  server x 127.0.0.1:1\n  default_backend",
			1), "'server' not allowed in 'frontend' section."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(haproxy.Parse("/etc/haproxy/haproxy.cfg", x.text).Problems, "\n")
			if x.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, x.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("frontend x\n bind :\nbackend\n server a b:c")
	f.Fuzz(func(_ *testing.T, text string) { haproxy.Parse("x", text) })
}

// greeter listens on one address and greets with its name.
func greeter(t *testing.T, ip netip.Addr, name string) *netstack.Stack {
	t.Helper()
	s := netstack.New()
	require.NoError(t, s.Add(t.Context(), netstack.Addr{IP: ip}))
	s.Up()
	t.Cleanup(s.Down)
	_, err := s.Listen(t.Context(), netip.Addr{}, 6443, func(c net.Conn) {
		_, _ = io.WriteString(c, name+"\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "you said "+line)
		_ = c.Close()
	})
	require.NoError(t, err)
	return s
}

// TestBalancing: connections go to the servers in turn, a dead one is left out, a reload keeps the port open.
func TestBalancing(t *testing.T) {
	t.Parallel()
	b, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	one := greeter(t, b.Addr(10, 1), "one")
	greeter(t, b.Addr(10, 2), "two")
	sys, run := balancerAt(t, b.Addr(10, 9))
	conf := func(servers ...byte) {
		text := "defaults\n mode tcp\n timeout connect 1s\nlisten api\n bind *:7000\n"
		for _, s := range servers {
			text += fmt.Sprintf(" server s%d %s:6443 check\n", s, b.Addr(10, s))
		}
		require.NoError(t, sys.FS.As(memfs.Root).WriteFile("/haproxy.cfg", []byte(text), 0o644))
	}
	conf(1, 2)
	p := run()
	ask := func() string { return ask(t, b.Addr(10, 9)) }
	require.ElementsMatch(t, []string{"one\nyou said hello\n", "two\nyou said hello\n"}, []string{ask(), ask()})
	one.Down()
	for range 3 {
		require.Equal(t, "two\nyou said hello\n", ask())
	}
	conf(1)
	p.Signal(process.SIGUSR2)
	require.Eventually(t, func() bool {
		return ask() == ""
	}, time.Minute, 5*time.Millisecond, "without a living server the connection is closed")
	p.Signal(process.SIGTERM)
	_, err = p.Wait(t.Context())
	require.NoError(t, err)
	_, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", netip.AddrPortFrom(b.Addr(10, 9), 7000).String())
	require.ErrorContains(t, err, "refused")
}

// balancerAt is a machine with one address, and a function that starts the balancer with /haproxy.cfg there.
func balancerAt(t *testing.T, ip netip.Addr) (*process.System, func() *process.Proc) {
	t.Helper()
	own := netstack.New()
	require.NoError(t, own.Add(t.Context(), netstack.Addr{IP: ip}))
	own.Up()
	t.Cleanup(own.Down)
	clock := process.NewClock(1)
	sys := &process.System{FS: memfs.New(clock.Now, 0), Clock: clock, Net: own}
	sys.PowerOn(t.Context())
	t.Cleanup(sys.PowerOff)
	return sys, func() *process.Proc {
		p, err := sys.NewProc(process.Account{Name: "root", Home: "/"}, "haproxy", "-f", "/haproxy.cfg")
		require.NoError(t, err)
		ready := make(chan struct{})
		h := haproxy.Host{Net: own, Ready: func(*process.Proc) { close(ready) }}
		p.Start(h.Program)
		<-ready
		return p
	}
}

// ask says hello at port 7000 of an address and returns all that it hears.
func ask(t *testing.T, ip netip.Addr) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", netip.AddrPortFrom(ip, 7000).String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "hello\n")
	out, _ := io.ReadAll(c)
	return string(out)
}

// TestSlowServersAreUsedIfThereIsNoOther: a server that does not answer its check in time gets connections when no
// server has passed, and none when one has. A server that refuses connections never gets one.
func TestSlowServersAreUsedIfThereIsNoOther(t *testing.T) {
	t.Parallel()
	b, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	// server answers connections; if it is slow, it does not answer checks.
	server := func(ip netip.Addr, name string, slow bool) *netstack.Stack {
		s := netstack.New()
		require.NoError(t, s.Add(t.Context(), netstack.Addr{IP: ip}))
		s.Up()
		t.Cleanup(s.Down)
		_, err := s.Listen(t.Context(), netip.Addr{}, 6443, func(c net.Conn) {
			defer func() { _ = c.Close() }()
			r := bufio.NewReader(c)
			switch line, _ := r.ReadString('\n'); {
			case !strings.HasPrefix(line, "GET "):
				_, _ = io.WriteString(c, name)
			case slow:
				_, _ = io.Copy(io.Discard, r) // until the check gives up
			default:
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		})
		require.NoError(t, err)
		return s
	}
	server(b.Addr(10, 1), "slow", true)
	quick := server(b.Addr(10, 2), "quick", false)
	sys, run := balancerAt(t, b.Addr(10, 9))
	text := "defaults\n mode tcp\n timeout connect 1s\nlisten api\n bind *:7000\n option httpchk GET /readyz\n"
	for n := range 3 {
		text += fmt.Sprintf(" server s%d %s:6443 check\n", n, b.Addr(10, byte(n+1)))
	}
	require.NoError(t, sys.FS.As(memfs.Root).WriteFile("/haproxy.cfg", []byte(text), 0o644))
	p := run()
	require.Eventually(t, func() bool { return ask(t, b.Addr(10, 9)) == "quick" }, time.Minute, 5*time.Millisecond)
	quick.Down()
	require.Eventually(t, func() bool { return ask(t, b.Addr(10, 9)) == "slow" }, time.Minute, 5*time.Millisecond)
	p.Signal(process.SIGTERM)
	_, err = p.Wait(t.Context())
	require.NoError(t, err)
}
