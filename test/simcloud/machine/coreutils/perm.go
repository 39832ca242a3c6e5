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

// parseMode applies a mode of chmod, octal or symbolic, to old.
func parseMode(t string, old fs.FileMode) (fs.FileMode, bool) {
	special := func(n uint64) fs.FileMode {
		m := fs.FileMode(n & 0o777)
		if n&0o1000 != 0 {
			m |= fs.ModeSticky
		}
		if n&0o2000 != 0 {
			m |= fs.ModeSetgid
		}
		if n&0o4000 != 0 {
			m |= fs.ModeSetuid
		}
		return m
	}
	if n, err := strconv.ParseUint(t, 8, 32); err == nil {
		return special(n), n <= 0o7777
	}
	mode := old
	for part := range strings.SplitSeq(t, ",") {
		at := strings.IndexAny(part, "+-=")
		if at < 0 {
			return 0, false
		}
		who := part[:at]
		if strings.Trim(who, "ugoa") != "" {
			return 0, false
		}
		if who == "" || strings.Contains(who, "a") {
			who = "ugo"
		}
		var bits fs.FileMode
		for _, c := range part[at+1:] {
			switch c {
			case 'r':
				bits |= 4
			case 'w':
				bits |= 2
			case 'x':
				bits |= 1
			case 'X':
				if old.IsDir() || old&0o111 != 0 {
					bits |= 1
				}
			case 't', 's':
			default:
				return 0, false
			}
		}
		for _, w := range who {
			shift := map[rune]int{'u': 6, 'g': 3, 'o': 0}[w]
			switch part[at] {
			case '+':
				mode |= bits << shift
			case '-':
				mode &^= bits << shift
			case '=':
				mode = mode&^(7<<shift) | bits<<shift
			}
		}
		if strings.Contains(part[at:], "t") {
			if part[at] == '-' {
				mode &^= fs.ModeSticky
			} else {
				mode |= fs.ModeSticky
			}
		}
	}
	return mode, true
}

// tree calls do for name and, with deep, everything below.
func tree(p *process.Proc, name string, deep bool, do func(name string, i memfs.Info) error) int {
	i, err := p.FS().Lstat(p.Abs(name))
	if err == nil && i.Mode()&fs.ModeSymlink != 0 && !deep {
		i, err = p.FS().Stat(p.Abs(name))
	}
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
	if i.Mode()&fs.ModeSymlink != 0 {
		return status
	}
	if err := do(name, i); err != nil {
		status = 1
	}
	return status
}

func chmod(_ context.Context, p *process.Proc) int {
	// A mode may look like an option: -x, -w.
	args := p.Args[1:]
	deep, quiet, mode, ref := false, false, "", ""
	var names []string
	for i, a := range args {
		switch {
		case a == "-R" || a == "--recursive":
			deep = true
		case a == "-f" || a == "-v" || a == "-c" || a == "--":
			quiet = quiet || a == "-f"
		case strings.HasPrefix(a, "--reference="):
			ref = a[len("--reference="):]
			mode = "ref"
		case mode == "":
			mode = a
		default:
			names = append(names, args[i])
		}
	}
	if len(names) == 0 {
		return p.Errorf("chmod: missing operand\n")
	}
	var like fs.FileMode
	if ref != "" {
		i, err := p.FS().Stat(p.Abs(ref))
		if err != nil {
			return fail(p, ref, err)
		}
		like = i.Mode()
	}
	status := 0
	for _, n := range names {
		st := tree(p, n, deep, func(name string, i memfs.Info) error {
			m, ok := like, true
			if ref == "" {
				m, ok = parseMode(mode, i.Mode())
			}
			if !ok {
				p.Errorf("chmod: invalid mode: ‘%s’\n", mode)
				return errors.New("mode")
			}
			if err := p.FS().Chmod(p.Abs(name), m); err != nil {
				p.Errorf("chmod: changing permissions of '%s': %s\n", name, process.Reason(err))
				return err
			}
			return nil
		})
		status = max(status, st)
	}
	return status
}

func chown(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "RfvchLP", "recursive=R", "reference:=ref", "no-dereference=h", "silent=f", "verbose=v")
	if !ok {
		return 1
	}
	uid, gid := -1, -1
	names := f.args
	if r := f.val("ref"); r != "" {
		i, err := p.FS().Stat(p.Abs(r))
		if err != nil {
			return p.Errorf("%s: failed to get attributes of '%s': %s\n", p.Name(), r, process.Reason(err))
		}
		uid, gid = int(i.Uid()), int(i.Gid())
	} else {
		if len(names) < 2 {
			return p.Errorf("%s: missing operand\n", p.Name())
		}
		spec := names[0]
		names = names[1:]
		user, group, colon := strings.Cut(strings.Replace(spec, ".", ":", 1), ":")
		if p.Name() == "chgrp" {
			user, group, colon = "", spec, true
		}
		if user != "" {
			a, ok := p.Sys.Account(user)
			if ok {
				uid = a.Cred.UID
				if colon && group == "" {
					gid = a.Cred.GID
				}
			} else if n, err := strconv.Atoi(user); err == nil {
				uid = n
			} else {
				return p.Errorf("%s: invalid user: ‘%s’\n", p.Name(), spec)
			}
		}
		if group != "" {
			g, ok := p.Sys.Group(group)
			if !ok {
				n, err := strconv.Atoi(group)
				if err != nil {
					return p.Errorf("%s: invalid group: ‘%s’\n", p.Name(), spec)
				}
				g = n
			}
			gid = g
		}
	}
	status := 0
	for _, n := range names {
		status = max(status, tree(p, n, f.has("R"), func(name string, _ memfs.Info) error {
			err := p.FS().Chown(p.Abs(name), uid, gid)
			if err != nil {
				p.Errorf("%s: changing ownership of '%s': %s\n", p.Name(), name, process.Reason(err))
			}
			return err
		}))
	}
	return status
}
