package coreutils

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// parseMode applies a mode of chmod to old: octal, or one change such as u+x or a=r.
func parseMode(t string, old fs.FileMode) (fs.FileMode, bool) {
	if n, err := strconv.ParseUint(t, 8, 32); err == nil {
		m := fs.FileMode(n & 0o777)
		if n&0o1000 != 0 {
			m |= fs.ModeSticky
		}
		return m, n <= 0o1777
	}
	at := strings.IndexAny(t, "+-=")
	if at < 0 || strings.Trim(t[:at], "ugoa") != "" || strings.Trim(t[at+1:], "rwx") != "" {
		return 0, false
	}
	var mask, bits fs.FileMode
	for _, c := range t[at+1:] {
		bits |= map[rune]fs.FileMode{'r': 0o444, 'w': 0o222, 'x': 0o111}[c]
	}
	for _, w := range t[:at] {
		mask |= map[rune]fs.FileMode{'u': 0o700, 'g': 0o070, 'o': 0o007, 'a': 0o777}[w]
	}
	if at == 0 {
		mask = 0o777
	}
	switch t[at] {
	case '+':
		return old | bits&mask, true
	case '-':
		return old &^ (bits & mask), true
	}
	return old&^mask | bits&mask, true
}

// tree calls do for name and, with deep, everything below.
func tree(p *process.Proc, name string, deep bool, do func(name string, i memfs.Info) error) int {
	i, err := p.FS().Stat(p.Abs(name))
	if err != nil {
		return p.Errorf("%s: cannot access '%s': %s\n", p.Name(), name, process.Reason(err))
	}
	status := 0
	if deep && i.IsDir() {
		list, _ := p.FS().ReadDir(p.Abs(name))
		for _, e := range list {
			status = max(status, tree(p, path.Join(name, e.Name()), true, do))
		}
	}
	if err := do(name, i); err != nil {
		status = p.Errorf("%s: changing '%s': %s\n", p.Name(), name, process.Reason(err))
	}
	return status
}

func chmod(_ context.Context, p *process.Proc) int {
	// A mode may look like an option: -x, -w.
	args, deep := p.Args[1:], false
	if len(args) > 0 && args[0] == "-R" {
		args, deep = args[1:], true
	}
	if len(args) < 2 {
		return p.Errorf("chmod: missing operand\n")
	}
	status := 0
	for _, n := range args[1:] {
		status = max(status, tree(p, n, deep, func(name string, i memfs.Info) error {
			m, ok := parseMode(args[0], i.Mode())
			if !ok {
				return errors.New("invalid mode: ‘" + args[0] + "’")
			}
			return p.FS().Chmod(p.Abs(name), m)
		}))
	}
	return status
}

func chown(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "R", "recursive=R", "reference:=ref")
	if !ok {
		return 1
	}
	uid, gid := -1, -1
	names := f.Args
	if r := f.Val("ref"); r != "" {
		i, err := p.FS().Stat(p.Abs(r))
		if err != nil {
			return p.Errorf("chown: failed to get attributes of '%s': %s\n", r, process.Reason(err))
		}
		uid, gid = int(i.Uid()), int(i.Gid())
	} else {
		if len(names) < 2 {
			return p.Errorf("chown: missing operand\n")
		}
		if uid, gid, ok = owner(p, names[0]); !ok {
			return p.Errorf("chown: invalid user: ‘%s’\n", names[0])
		}
		names = names[1:]
	}
	status := 0
	for _, n := range names {
		status = max(status, tree(p, n, f.Has("R"), func(name string, _ memfs.Info) error {
			return p.FS().Chown(p.Abs(name), uid, gid)
		}))
	}
	return status
}

// owner reads USER, USER:GROUP, USER: (the user's group) or :GROUP, by name or number; -1 means unchanged.
func owner(p *process.Proc, spec string) (uid, gid int, ok bool) {
	user, group, colon := strings.Cut(spec, ":")
	uid, gid = -1, -1
	if user != "" {
		a, known := p.Sys.Account(user)
		if !known {
			return 0, 0, false
		}
		if uid = a.Cred.UID; colon && group == "" {
			gid = a.Cred.GID
		}
	}
	if group != "" {
		if gid, ok = p.Sys.Group(group); !ok {
			return 0, 0, false
		}
	}
	return uid, gid, true
}

// stat prints what the format of -c names.
func stat(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "c:", "format:=c")
	if !ok || !f.Has("c") {
		return p.Errorf("stat: only -c is simulated\n")
	}
	status := 0
	for _, n := range f.Args {
		i, err := p.FS().Lstat(p.Abs(n))
		if err != nil {
			status = p.Errorf("stat: cannot statx '%s': %s\n", n, process.Reason(err))
			continue
		}
		mode := uint64(i.Mode().Perm())
		if i.Mode()&fs.ModeSticky != 0 {
			mode |= 0o1000
		}
		p.Printf("%s\n", strings.NewReplacer(
			"%n", n, "%s", strconv.FormatInt(i.Size(), 10), "%a", strconv.FormatUint(mode, 8), "%u",
			strconv.Itoa(int(i.Uid())), "%g", strconv.Itoa(int(i.Gid())), "%U", p.Sys.UserName(int(i.Uid())), "%G",
			p.Sys.GroupName(int(i.Gid())), "%Y", strconv.FormatInt(i.ModTime().Unix(), 10),
		).Replace(f.Val("c")))
	}
	return status
}
