package machine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// loginGrace is how long a visitor may take to log in, in real time.
const loginGrace = 2 * time.Minute

// openSSH listens on the SSH port, if nothing does yet.
func (m *Machine) openSSH(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopSSH != nil || m.fault.Refuse {
		return nil
	}
	stop, err := m.net.Listen(ctx, netip.Addr{}, m.f.port, m.visit)
	if err != nil {
		return err
	}
	m.stopSSH = stop
	return nil
}

func (m *Machine) closeSSH() {
	m.mu.Lock()
	stop := m.stopSSH
	m.stopSSH = nil
	m.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// sshd is the daemon as systemd sees it: it keeps the port open as long as it runs.
func (m *Machine) sshd(ctx context.Context, p *process.Proc) int {
	if err := m.openSSH(ctx); err != nil {
		return p.Errorf("error: Bind to port %d failed: %s.\n", m.f.port, process.Reason(err))
	}
	m.mu.Lock()
	o := m.os
	m.mu.Unlock()
	p.Handle(func(s process.Signal) bool { return s == process.SIGHUP })
	o.Ready(p)
	<-ctx.Done()
	m.closeSSH()
	return 0
}

var errDenied = errors.New("permission denied")

// visit serves one SSH connection.
func (m *Machine) visit(c net.Conn) {
	defer func() { _ = c.Close() }()
	m.mu.Lock()
	x, keys := m.fault, m.hostKeys()
	m.mu.Unlock()
	if x.Silent {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	conf := &ssh.ServerConfig{
		MaxAuthTries: 6, ServerVersion: "SSH-2.0-OpenSSH_8.9p1 Ubuntu-3ubuntu0.7",
		PasswordCallback: func(meta ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			want, ok := m.system().Password(meta.User())
			if !ok || want != string(password) || meta.User() == "root" || m.rejects() {
				m.f.record(m.spec.ID, Entry{Kind: "login", User: meta.User(), Line: "password", Exit: 1})
				return nil, errDenied
			}
			return &ssh.Permissions{}, nil
		},
		PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !m.authorized(meta.User(), key) || m.rejects() {
				return nil, errDenied
			}
			return &ssh.Permissions{}, nil
		},
	}
	for _, k := range keys {
		conf.AddHostKey(k)
	}
	_ = c.SetDeadline(time.Now().Add(loginGrace))
	conn, chans, reqs, err := ssh.NewServerConn(c, conf)
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	m.f.record(m.spec.ID, Entry{Kind: "login", User: conn.User(), Line: "ssh"})
	v := &visitor{m: m, o: m.system(), conn: conn}
	var ok bool
	if v.account, ok = v.o.Sys.Account(conn.User()); !ok {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for r := range reqs {
			if r.WantReply {
				_ = r.Reply(r.Type == "keepalive@openssh.com", nil)
			}
		}
	})
	for ch := range chans {
		switch ch.ChannelType() {
		case "session":
			wg.Go(func() { v.session(ch) })
		case "direct-tcpip":
			wg.Go(func() { v.forward(ch) })
		default:
			_ = ch.Reject(ssh.UnknownChannelType, "unknown channel type")
		}
	}
	wg.Wait()
}

// rejects uses up one refused login.
func (m *Machine) rejects() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault.RejectLogins == 0 {
		return false
	}
	if m.fault.RejectLogins > 0 {
		m.fault.RejectLogins--
	}
	return true
}

func (m *Machine) authorized(user string, key ssh.PublicKey) bool {
	o := m.system()
	a, ok := o.Sys.Account(user)
	if !ok {
		return false
	}
	b, err := o.Sys.FS.As(memfs.Root).ReadFile(a.Home + "/.ssh/authorized_keys")
	for err == nil && len(b) > 0 {
		k, _, _, rest, perr := ssh.ParseAuthorizedKey(b)
		if perr != nil {
			return false
		}
		if string(k.Marshal()) == string(key.Marshal()) {
			return true
		}
		b = rest
	}
	return false
}

// visitor is a logged-in connection.
type visitor struct {
	m       *Machine
	o       *ubuntu.OS
	conn    *ssh.ServerConn
	account process.Account
}

// session serves one session channel: at most one command, shell or subsystem.
func (v *visitor) session(nc ssh.NewChannel) {
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	s := &session{visitor: v, ch: ch, env: map[string]string{}, gone: make(chan struct{})}
	var wg sync.WaitGroup
	for r := range reqs {
		ok := false
		switch r.Type {
		case "env":
			var kv struct{ Name, Value string }
			if ssh.Unmarshal(r.Payload, &kv) == nil && (kv.Name == "LANG" || strings.HasPrefix(kv.Name, "LC_")) {
				s.env[kv.Name], ok = kv.Value, true
			}
		case "pty-req":
			var t struct {
				Term string
				Rest []byte `ssh:"rest"`
			}
			if ok = ssh.Unmarshal(r.Payload, &t) == nil; ok {
				s.tty, s.env["TERM"] = true, t.Term
			}
		case "window-change":
			ok = true
		case "signal":
			var sig struct{ Name string }
			if ssh.Unmarshal(r.Payload, &sig) == nil && s.p != nil {
				if n, known := process.ParseSignal(sig.Name); known {
					s.p.Signal(n)
				}
			}
		case "exec", "shell":
			var cmd struct{ Line string }
			_ = ssh.Unmarshal(r.Payload, &cmd)
			var start func()
			if s.p == nil {
				start = s.prepare(r.Type, cmd.Line, &wg)
			}
			if r.WantReply { // before anything the command says, and before it can end
				_ = r.Reply(start != nil, nil)
			}
			if start != nil {
				start()
			}
			continue
		case "subsystem":
			var sub struct{ Name string }
			if ssh.Unmarshal(r.Payload, &sub) == nil && sub.Name == "sftp" && s.p == nil {
				ok = true
				wg.Go(func() { v.sftp(ch) })
			}
		}
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
	}
	close(s.gone)
	wg.Wait()
	_ = ch.Close()
}

type session struct {
	*visitor
	ch   ssh.Channel
	env  map[string]string
	tty  bool
	p    *process.Proc
	gone chan struct{} // closed when the channel is
}

// prepare makes the user's shell with a command, or reading from the channel; what it returns starts it.
func (s *session) prepare(kind, cmd string, wg *sync.WaitGroup) (start func()) {
	args := []string{"bash", "-c", cmd}
	if kind == "shell" {
		args = []string{"-bash"}
	}
	p, err := s.o.Sys.NewProc(s.account, args...)
	if err != nil {
		return nil
	}
	maps.Copy(p.Env, s.env)
	p.TTY = s.tty
	host, port, _ := net.SplitHostPort(s.conn.RemoteAddr().String())
	p.Env["SSH_CLIENT"] = host + " " + port + " " + strconv.Itoa(int(s.m.f.port))
	in, feed := process.Pipe()
	done := make(chan struct{})
	outs := &outputs{open: 2, done: done}
	p.SetFD(0, in)
	p.SetFD(1, process.NewFD(&channelStream{w: s.ch, o: outs}))
	errs := io.Writer(s.ch.Stderr())
	if s.tty {
		errs = s.ch
	}
	p.SetFD(2, process.NewFD(&channelStream{w: errs, o: outs}))
	s.p = p
	s.m.f.record(s.m.spec.ID, Entry{Kind: "ssh", User: s.account.Name, PID: p.PID, Line: cmd})
	return func() {
		ctx, cancel := context.WithCancel(p.Context())
		wg.Go(func() { // what the client sends
			defer feed.Close()
			_, _ = io.Copy(feed.Writer(ctx), s.ch)
		})
		p.Start(shell.Bash)
		wg.Go(func() {
			defer cancel()
			s.attend(ctx, p, done)
		})
	}
}

// attend waits for the end of the command and tells the client.
func (s *session) attend(ctx context.Context, p *process.Proc, done <-chan struct{}) {
	select {
	case <-p.Done():
	case <-s.gone:
		// Without a terminal the command goes on; its next output will fail.
		if s.tty {
			_ = p.Kill(-p.PID, process.SIGHUP)
		}
		return
	}
	st, _ := p.Wait(ctx)
	s.sendStatus(st)
	// Like OpenSSH, the session stays until all processes have closed the output.
	select {
	case <-done:
	case <-s.gone:
	}
	_ = s.ch.CloseWrite()
	_ = s.ch.Close()
}

func (s *session) sendStatus(status int) {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(status))
	_, _ = s.ch.SendRequest("exit-status", false, b[:])
}

// outputs counts the open output streams of a session.
type outputs struct {
	mu   sync.Mutex
	open int
	done chan struct{}
}

// channelStream is standard output or error over SSH.
type channelStream struct {
	w io.Writer
	o *outputs
}

// Read implements process.Stream.
func (c *channelStream) Read(context.Context, []byte) (int, error) { return 0, syscall.EBADF }

// Write implements process.Stream; a closed channel is a broken pipe.
func (c *channelStream) Write(_ context.Context, b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil {
		return n, syscall.EPIPE
	}
	return n, nil
}

// Close implements process.Stream.
func (c *channelStream) Close() error {
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	if c.o.open--; c.o.open == 0 {
		close(c.o.done)
	}
	return nil
}

// forward connects a direct-tcpip channel (ssh -L) to what it asks for.
func (v *visitor) forward(nc ssh.NewChannel) {
	var to struct {
		Host     string
		Port     uint32
		From     string
		FromPort uint32
	}
	if ssh.Unmarshal(nc.ExtraData(), &to) != nil {
		_ = nc.Reject(ssh.ConnectionFailed, "malformed request")
		return
	}
	ctx, cancel := context.WithTimeout(v.o.Sys.Context(), 10*time.Second)
	conn, err := v.m.net.Dial(ctx, net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
	cancel()
	if err != nil {
		_ = nc.Reject(ssh.ConnectionFailed, process.Reason(err))
		return
	}
	defer func() { _ = conn.Close() }()
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { ssh.DiscardRequests(reqs) })
	wg.Go(func() {
		_, _ = io.Copy(conn, ch)
		_ = conn.Close()
	})
	_, _ = io.Copy(ch, conn)
	_ = ch.Close()
	wg.Wait()
}
