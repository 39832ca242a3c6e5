//go:build unix

package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// All test binaries of a machine's user share one server. It belongs to a supervisor: a detached copy of the test
// binary that needed it first. Every process that uses the server holds a shared lock on a file, which the kernel
// releases even after kill -9. When the supervisor gets the exclusive lock, the server is unused. After some time
// without use, the supervisor stops the server and deletes everything.

const (
	envSupervise = "GYBE_DEVPG_SUPERVISE" // set in the supervisor: the shared folder
	idleFor      = 10 * time.Second       // time without use before the server is stopped
)

func init() { //nolint:gochecknoinits // the supervisor must not run the program that it is a copy of
	if dir := os.Getenv(envSupervise); dir != "" {
		if err := supervise(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// sharedURL returns the URL of the shared server and keeps it alive as long as this process lives.
var sharedURL = sync.OnceValues(func() (string, error) { return joinShared(sharedDir()) })

func sharedDir() string {
	return filepath.Join(parentDir(), "gybe-test-pg-"+strconv.Itoa(os.Geteuid()))
}

const (
	memoryDir  = "/dev/shm"
	memoryFree = 8 << 30 // bytes; all tests together need less than a tenth
)

// parentDir is the temporary directory, or memory if there is plenty and TMPDIR names no other place: each test creates
// a database of 300 files and removes it, which costs two thirds of its CPU on a disk.
func parentDir() string {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") == "" && syscall.Statfs(memoryDir, &fs) == nil && fs.Bavail*uint64(fs.Bsize) >= memoryFree {
		return memoryDir
	}
	return os.TempDir()
}

// usersLock stays open, and locked, until the process ends.
var usersLock *os.File //nolint:unused // holding it is its use

func joinShared(dir string) (string, error) {
	bin, err := FindBin()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := ours(dir, os.Geteuid()); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o711); err != nil { // the server's user has to get through
		return "", err
	}
	if usersLock, err = lockFile(filepath.Join(dir, "users.lock"), syscall.LOCK_SH); err != nil {
		return "", err
	}
	// One at a time looks whether the server is there, and starts it if not.
	start, err := lockFile(filepath.Join(dir, "start.lock"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer func() { _ = start.Close() }()
	if u, ok := answering(dir); ok {
		return u, nil
	}
	return startSupervisor(dir, bin)
}

// answering returns the URL that the supervisor left, if a server is behind it.
func answering(dir string) (string, bool) {
	raw, err := os.ReadFile(filepath.Join(dir, "url"))
	if err != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, string(raw))
	if err != nil {
		return "", false
	}
	_ = conn.Close(ctx)
	return string(raw), true
}

func startSupervisor(dir, bin string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := os.Remove(filepath.Join(dir, "url")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	log, err := os.Create(filepath.Join(dir, "supervisor.log"))
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self) //nolint:noctx // it outlives us on purpose
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), envSupervise+"="+dir, EnvBin+"="+bin) // it works elsewhere and may not find them
	// not ours: `go test` waits for all processes that hold its pipes
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if u, ok := answering(dir); ok {
			return u, cmd.Process.Release()
		}
		// Not a goroutine in Wait: it would stay, and tests look for goroutines that do.
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WNOHANG, nil); err != nil || pid != 0 {
			return "", errors.Join(
				fmt.Errorf("the test server did not start (exit status %d): %s", status.ExitStatus(), tail(log.Name())),
				err,
			)
		}
		<-tick.C
	}
}

// supervise runs the shared server until it has been unused for idleFor, or dies.
func supervise(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	s, err := Start(
		ctx,
		Options{Dir: filepath.Join(dir, "pg"), fresh: true, Private: true, Unsafe: true, MaxConnections: 500},
	)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "url")
	if err := os.WriteFile(file+".new", []byte(s.URL()), 0o600); err != nil {
		return errors.Join(err, s.Stop())
	}
	if err := os.Rename(file+".new", file); err != nil {
		return errors.Join(err, s.Stop())
	}
	users, err := os.OpenFile(filepath.Join(dir, "users.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Join(err, s.Stop())
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for idle := time.Duration(0); idle < idleFor; {
		select {
		case <-s.Exited():
			return errors.Join(errors.New("the server died"), s.Stop())
		case <-tick.C:
		}
		if syscall.Flock(int(users.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			idle = 0
			continue
		}
		if idle += time.Second; idle < idleFor {
			if err := syscall.Flock(int(users.Fd()), syscall.LOCK_UN); err != nil {
				return errors.Join(err, s.Stop())
			}
		}
	}
	// The lock is held to the end: a newcomer waits for it and finds no server.
	return errors.Join(os.Remove(file), s.Stop())
}

func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
