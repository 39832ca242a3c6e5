package process

import (
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// Account is one line of /etc/passwd with its groups.
type Account struct {
	Name, Home, Shell string
	Cred              memfs.Cred
}

// Account finds a user by name or by number in /etc/passwd.
func (s *System) Account(name string) (Account, bool) {
	for f := range s.lines("/etc/passwd", 7) {
		if f[0] == name || f[2] == name {
			uid, _ := strconv.Atoi(f[2])
			gid, _ := strconv.Atoi(f[3])
			a := Account{Name: f[0], Home: f[5], Shell: f[6], Cred: memfs.Cred{UID: uid, GID: gid}}
			for g := range s.lines("/etc/group", 4) {
				for m := range strings.SplitSeq(g[3], ",") {
					if m == a.Name {
						n, _ := strconv.Atoi(g[2])
						a.Cred.Groups = append(a.Cred.Groups, n)
					}
				}
			}
			return a, true
		}
	}
	return Account{}, false
}

// Group finds a group id by name or number in /etc/group.
func (s *System) Group(name string) (int, bool) {
	for f := range s.lines("/etc/group", 4) {
		if f[0] == name || f[2] == name {
			n, err := strconv.Atoi(f[2])
			return n, err == nil
		}
	}
	return 0, false
}

// UserName is the name of a user id, or the number if there is none.
func (s *System) UserName(uid int) string { return s.nameOf("/etc/passwd", 7, uid) }

// GroupName is the name of a group id, or the number if there is none.
func (s *System) GroupName(gid int) string { return s.nameOf("/etc/group", 4, gid) }

func (s *System) nameOf(file string, n, id int) string {
	num := strconv.Itoa(id)
	for f := range s.lines(file, n) {
		if f[2] == num {
			return f[0]
		}
	}
	return num
}

func (s *System) lines(file string, fields int) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		b, err := s.FS.As(memfs.Root).ReadFile(file)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
			if len(f) == fields && !yield(f) {
				return
			}
		}
	}
}
