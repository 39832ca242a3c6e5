package remote_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/remote"
)

const (
	testUser     = "ubuntu"
	testPassword = "a secret"
)

// server is an SSH and SFTP server that runs commands with bash on this machine.
type server struct {
	t    *testing.T
	addr *net.TCPAddr

	mu        sync.Mutex
	key       ssh.Signer
	clientKey ssh.PublicKey
	conns     map[net.Conn]bool
	logins    int
	deaf      bool // accepts connections and answers nothing
}

func newServer(t *testing.T) *server {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr, ok := ln.Addr().(*net.TCPAddr)
	require.True(t, ok)
	s := &server{t: t, addr: addr, key: ed25519Key(t), conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		s.dropAll()
		wg.Wait()
	})
	return s
}

func ed25519Key(t *testing.T) ssh.Signer {
	t.Helper()
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(priv)
	require.NoError(t, err)
	return signer
}

func rsaKey(t *testing.T) ssh.Signer {
	t.Helper()
	priv, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(priv)
	require.NoError(t, err)
	return signer
}

func (s *server) set(change func(*server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// dropAll cuts every connection, as a machine that loses its network does from the outside.
func (s *server) dropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *server) target() remote.Target {
	return remote.Target{
		VNFC: "workerNode-1", Host: s.addr.IP.String(), Port: s.addr.Port, User: testUser, Password: testPassword,
	}
}

func (s *server) serve(raw net.Conn) {
	s.mu.Lock()
	s.conns[raw] = true
	key, deaf := s.key, s.deaf
	s.mu.Unlock()
	defer func() {
		_ = raw.Close()
		s.mu.Lock()
		delete(s.conns, raw)
		s.mu.Unlock()
	}()
	if deaf {
		_, _ = io.Copy(io.Discard, raw)
		return
	}
	cfg := &ssh.ServerConfig{
		KeyboardInteractiveCallback: func(
			c ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge,
		) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			if err != nil || len(answers) != 1 || answers[0] != testPassword || c.User() != testUser {
				return nil, errors.New("no")
			}
			return nil, nil
		},
		PublicKeyCallback: func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.clientKey == nil || string(s.clientKey.Marshal()) != string(k.Marshal()) {
				return nil, errors.New("no")
			}
			return nil, nil
		},
		// It is called before the client hears of its login.
		AuthLogCallback: func(_ ssh.ConnMetadata, _ string, err error) {
			if err == nil {
				s.set(func(s *server) { s.logins++ })
			}
		},
	}
	cfg.AddHostKey(key)
	conn, chans, reqs, err := ssh.NewServerConn(raw, cfg)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	go func() {
		_ = conn.Wait()
		cancel()
	}()
	for ch := range chans {
		switch ch.ChannelType() {
		case "session":
			wg.Go(func() { session(ctx, ch) })
		case "direct-tcpip":
			wg.Go(func() { forward(ctx, ch) })
		default:
			_ = ch.Reject(ssh.UnknownChannelType, "no")
		}
	}
}

func session(ctx context.Context, nc ssh.NewChannel) {
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	defer ch.Close()
	for r := range reqs {
		switch r.Type {
		case "exec":
			var p struct{ Command string }
			_ = ssh.Unmarshal(r.Payload, &p)
			_ = r.Reply(true, nil)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() { // a signal, or the end of the channel
				for r := range reqs {
					if r.Type == "signal" {
						cancel()
					}
				}
				cancel()
			}()
			run(ctx, ch, p.Command)
			return
		case "subsystem":
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(reqs)
			srv, err := sftp.NewServer(ch)
			if err == nil {
				_ = srv.Serve()
			}
			return
		default:
			_ = r.Reply(false, nil)
		}
	}
}

func run(ctx context.Context, ch ssh.Channel, command string) {
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, ch, ch.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(in, ch)
		_ = in.Close()
	}()
	_ = cmd.Wait()
	ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		_, _ = ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal string
			Core   bool
			Msg    string
			Lang   string
		}{Signal: "KILL"}))
		return
	}
	_, _ = ch.SendRequest(
		"exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(cmd.ProcessState.ExitCode())}),
	)
}

func forward(ctx context.Context, nc ssh.NewChannel) {
	var p struct {
		Host  string
		Port  uint32
		Src   string
		SPort uint32
	}
	_ = ssh.Unmarshal(nc.ExtraData(), &p)
	conn, err := (&net.Dialer{}).DialContext(
		ctx, "tcp", (&net.TCPAddr{IP: net.ParseIP(p.Host), Port: int(p.Port)}).String(),
	)
	if err != nil {
		_ = nc.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer conn.Close()
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	go func() {
		_, _ = io.Copy(conn, ch)
		_ = conn.Close()
	}()
	_, _ = io.Copy(ch, conn)
	_ = ch.Close()
}

// keys is a HostKeyStore in memory.
type keys struct {
	mu  sync.Mutex
	pin map[remote.Machine]remote.HostKey
}

func (k *keys) Lookup(_ context.Context, m remote.Machine) (*remote.HostKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key, ok := k.pin[m]; ok {
		return &key, nil
	}
	return nil, nil //nolint:nilnil // the interface says so
}

func (k *keys) Pin(_ context.Context, m remote.Machine, key remote.HostKey) (remote.HostKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.pin[m]; ok {
		return old, nil
	}
	if k.pin == nil {
		k.pin = map[remote.Machine]remote.HostKey{}
	}
	k.pin[m] = key
	return key, nil
}

func dial(t *testing.T, s *server) *remote.Client {
	t.Helper()
	c, err := remote.Dial(t.Context(), s.target(), remote.Options{HostKeys: &keys{}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// newRunID returns an id of a job whose directory is removed after the test.
func newRunID(t *testing.T) string {
	t.Helper()
	id := "test-" + rand.Text()
	t.Cleanup(func() { _ = os.RemoveAll(remote.Dir(id)) })
	return id
}
