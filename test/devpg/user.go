//go:build unix

package devpg

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// otherUser returns who runs the server when we are root, which PostgreSQL refuses; nil when we are not.
func otherUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	names := []string{"postgres", "nobody"}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and none of the users %v exists", names)
}

// maxSocketDir leaves room for the socket's name in the 104 bytes (macOS; 108 on Linux) of a socket path.
const maxSocketDir = 104 - len("/.s.PGSQL.5432.lock") - 1

// makeDir creates the server's folder, which only the server's user can access.
func (s *Server) makeDir() error {
	dir := s.opts.Dir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "gybe-pg-")
		if err != nil {
			return err
		}
		dir, s.temp = tmp, true
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if len(dir) > maxSocketDir || s.cred != nil && !reachable(dir) {
		// Root's home is closed to the other user, and a deep path has no room for a socket.
		sum := sha256.Sum256([]byte(dir))
		if s.temp {
			_ = os.Remove(dir) // made above, still empty
		}
		dir = filepath.Join("/var/tmp", "gybe-pg-"+strconv.Itoa(os.Geteuid())+"-"+hex.EncodeToString(sum[:4]))
	}
	s.dir = dir
	if s.opts.fresh {
		s.temp = true
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	owner := os.Geteuid()
	if s.cred != nil {
		if err := os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return err
		}
		owner = int(s.cred.Uid)
	}
	return ours(dir, owner)
}

// ours rejects a folder that another user has created in a shared place.
func ours(dir string, owner int) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || ok && int(sys.Uid) != owner {
		return fmt.Errorf("%s is not a folder of user %d", dir, owner)
	}
	return os.Chmod(dir, 0o700)
}

// reachable says whether any user may walk down to dir, which need not exist.
func reachable(dir string) bool {
	for p := filepath.Dir(dir); ; p = filepath.Dir(p) {
		if st, err := os.Stat(p); err == nil && st.Mode()&0o001 == 0 {
			return false
		}
		if p == filepath.Dir(p) {
			return true
		}
	}
}
