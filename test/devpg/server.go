//go:build unix

package devpg

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Database is the name of the database, and User of its owner, on a server that Start made.
const (
	Database = "gybe"
	User     = "gybe"
)

// Options says how a private server is run; the zero value is a server in a new temporary folder.
type Options struct {
	// Dir keeps the data; "" is a temporary folder that Stop removes. An existing one is used again.
	Dir string
	// Private ignores GYBE_DATABASE_URL: for tests that stop and start the server.
	Private bool
	// Unsafe gives up durability against power loss for speed; for tests only. A crash of the server
	// alone loses nothing.
	Unsafe bool
	// MaxConnections is the server's max_connections; at least 200.
	MaxConnections int

	fresh bool // Dir holds nothing of value: it is emptied before and removed after
}

// Server is a running PostgreSQL.
type Server struct {
	opts Options
	url  string
	bin  string
	dir  string // holds data, the socket and the log
	temp bool
	cred *syscall.Credential

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start finds or starts a PostgreSQL and returns when it answers. The server listens on a unix socket
// in a folder that only its owner can enter, never on the network. ErrNotFound says that there are no binaries.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if u := os.Getenv(EnvURL); u != "" && !opts.Private {
		return &Server{url: u}, nil
	}
	bin, err := FindBin()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, bin: bin}
	if s.cred, err = otherUser(); err != nil {
		return nil, err
	}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	s.url = (&url.URL{
		Scheme: "postgres", User: url.User(User), Path: "/" + Database,
		RawQuery: url.Values{"host": {s.dir}}.Encode(),
	}).String()
	if _, err := os.Stat(filepath.Join(s.data(), "PG_VERSION")); err != nil {
		if err := s.initdb(ctx); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
	}
	if err := s.Restart(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// URL is the connection string of the server's database.
func (s *Server) URL() string { return s.url }

// Owned says whether the server was started here, and not found through GYBE_DATABASE_URL.
func (s *Server) Owned() bool { return s.bin != "" }

// Dir is the folder with data, socket and log; "" when the server is not owned.
func (s *Server) Dir() string { return s.dir }

// PID is the process id of the running server that Start or Restart started; 0 when none runs.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

func (s *Server) data() string    { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// Restart starts a stopped server again with its data and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	if !s.Owned() {
		return errors.New("the server of " + EnvURL + " is not ours to restart")
	}
	if err := s.launch(); err != nil {
		return err
	}
	return s.ready(ctx)
}

// Stop ends the server cleanly, breaking its connections, and removes its folder if that is temporary.
func (s *Server) Stop() error {
	err := s.signal(syscall.SIGINT)
	if s.temp {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// Halt ends the server cleanly and keeps its data.
func (s *Server) Halt() error { return s.signal(syscall.SIGINT) }

// Crash ends the server at once as a crash would: no checkpoint, recovery at the next Restart.
func (s *Server) Crash() error { return s.signal(syscall.SIGQUIT) }

// Exited is closed when the running server process ends; nil when none runs.
func (s *Server) Exited() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited
}

func (s *Server) signal(sig syscall.Signal) error {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop postgres: %w", err)
	}
	select {
	case <-exited:
	case <-time.After(time.Minute):
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill postgres: %w", err)
		}
		<-exited
	}
	s.mu.Lock()
	s.cmd = nil
	s.mu.Unlock()
	return nil
}

// launch starts the postmaster on a thread that lives as long as it does, because the kernel ties it to that thread.
func (s *Server) launch() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args := []string{
		"-D", s.data(), "-k", s.dir, "-h", "",
		"-c", "max_connections=" + strconv.Itoa(max(s.opts.MaxConnections, 200)),
		"-c", "unix_socket_permissions=0700", "-c", "timezone=UTC", "-c", "log_timezone=UTC", "-c", "lc_messages=C",
	}
	sig := syscall.SIGINT
	if s.opts.Unsafe {
		sig = syscall.SIGQUIT
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off",
			"-c", "max_wal_size=256MB", "-c", "checkpoint_timeout=30min")
	}
	cmd := s.command("postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	tieToParent(cmd.SysProcAttr, sig)
	exited := make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = log.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the log says why
			close(exited)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	return nil
}

// ready waits until the server answers or dies.
func (s *Server) ready(ctx context.Context) error {
	exited := s.Exited()
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-exited:
			return fmt.Errorf("postgres stopped at once: %s", tail(s.logFile()))
		case <-ctx.Done():
			return fmt.Errorf("wait for postgres: %w (last: %w)", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

func (s *Server) initdb(ctx context.Context) error {
	args := []string{"-D", s.data(), "-U", User, "-E", "UTF8", "--locale=C", "--auth=trust", "--no-instructions"}
	if s.opts.Unsafe {
		args = append(args, "--no-sync")
	}
	if out, err := s.command("initdb", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	// Single-user mode needs no server and leaves nothing half made: without the database the next start fails loudly.
	single := s.command("postgres", "--single", "-F", "-D", s.data(), "postgres")
	single.Stdin = strings.NewReader("CREATE DATABASE " + Database + "\n")
	if out, err := single.CombinedOutput(); err != nil {
		return errors.Join(
			fmt.Errorf("create database: %w: %s", err, strings.TrimSpace(string(out))), os.RemoveAll(s.data()),
		)
	}
	return ctx.Err()
}

// command prepares a PostgreSQL program as the right user with a clean environment.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...) //nolint:noctx // the server outlives any ctx
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + s.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true} // Ctrl-C is for us, not for it
	return cmd
}

// tail returns the last lines of the server's log.
func tail(file string) string {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-4):], " | ")
}
