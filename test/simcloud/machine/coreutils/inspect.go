package coreutils

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// modeString is the first column of ls -l.
func modeString(m fs.FileMode) string {
	b := []byte("-rwxrwxrwx")
	switch {
	case m.IsDir():
		b[0] = 'd'
	case m&fs.ModeSymlink != 0:
		b[0] = 'l'
	case m&fs.ModeCharDevice != 0:
		b[0] = 'c'
	case m&fs.ModeDevice != 0:
		b[0] = 'b'
	case m&fs.ModeSocket != 0:
		b[0] = 's'
	}
	for i := range 9 {
		if m&(1<<(8-i)) == 0 {
			b[i+1] = '-'
		}
	}
	if m&fs.ModeSticky != 0 {
		b[9] = 't'
	}
	return string(b)
}

// octal is a mode as stat %a prints it.
func octal(m fs.FileMode) string {
	n := int64(m.Perm())
	if m&fs.ModeSticky != 0 {
		n |= 0o1000
	}
	if m&fs.ModeSetgid != 0 {
		n |= 0o2000
	}
	if m&fs.ModeSetuid != 0 {
		n |= 0o4000
	}
	return strconv.FormatInt(n, 8)
}

func kind(i memfs.Info) string {
	switch m := i.Mode(); {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeCharDevice != 0:
		return "character special file"
	case m&fs.ModeDevice != 0:
		return "block special file"
	case i.Size() == 0:
		return "regular empty file"
	}
	return "regular file"
}

func stat(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "c:Lft", "format:=c", "printf:=P", "dereference=L", "file-system=f", "terse=t")
	if !ok {
		return 1
	}
	status := 0
	for _, n := range f.args {
		get := p.FS().Lstat
		if f.has("L") {
			get = p.FS().Stat
		}
		i, err := get(p.Abs(n))
		if err != nil {
			status = p.Errorf("stat: cannot statx '%s': %s\n", n, process.Reason(err))
			continue
		}
		layout, nl := f.val("c"), "\n"
		if f.has("P") {
			layout, nl = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(f.val("P")), ""
		}
		if f.has("f") && layout != "" {
			p.Printf("%s%s", strings.NewReplacer("%T", "ext2/ext3", "%n", n).Replace(layout), nl)
			continue
		}
		if layout == "" {
			layout = "  File: %n\n  Size: %s\tBlocks: %b\tIO Block: 4096\t%F\nDevice: 801h/2049d\tInode: %i\tLinks: %h\n" +
				"Access: (%04a/%A)  Uid: (%u/%U)   Gid: (%g/%G)\nModify: %y"
		}
		p.Printf("%s%s", statFormat(p, layout, n, i), nl)
	}
	return status
}

func statFormat(p *process.Proc, layout, name string, i memfs.Info) string {
	var b strings.Builder
	for k := 0; k < len(layout); k++ {
		if layout[k] != '%' || k+1 == len(layout) {
			b.WriteByte(layout[k])
			continue
		}
		k++
		from := k
		for k < len(layout)-1 && layout[k] >= '0' && layout[k] <= '9' {
			k++
		}
		pad := layout[from:k]
		var v string
		switch layout[k] {
		case 'n':
			v = name
		case 'N':
			v = "'" + name + "'"
			if i.Mode()&fs.ModeSymlink != 0 {
				to, _ := p.FS().Readlink(p.Abs(name))
				v += " -> '" + to + "'"
			}
		case 's':
			v = strconv.FormatInt(i.Size(), 10)
		case 'a':
			v = octal(i.Mode())
		case 'A':
			v = modeString(i.Mode())
		case 'u':
			v = strconv.Itoa(int(i.Uid()))
		case 'U':
			v = p.Sys.UserName(int(i.Uid()))
		case 'g':
			v = strconv.Itoa(int(i.Gid()))
		case 'G':
			v = p.Sys.GroupName(int(i.Gid()))
		case 'F':
			v = kind(i)
		case 'i':
			v = strconv.FormatUint(i.Ino(), 10)
		case 'h':
			v = strconv.Itoa(i.Links())
		case 'b':
			v = strconv.FormatInt((i.Size()+511)/512, 10)
		case 'B':
			v = "512"
		case 'Y', 'X', 'Z', 'W':
			v = strconv.FormatInt(i.ModTime().Unix(), 10)
		case 'y', 'x', 'z', 'w':
			v = i.ModTime().UTC().Format("2006-01-02 15:04:05.000000000 -0700")
		case '%':
			v = "%"
		default:
			v = "?"
		}
		if w, err := strconv.Atoi(pad); err == nil {
			v = fmt.Sprintf("%*s", w, v)
			if pad[0] == '0' {
				v = strings.ReplaceAll(v, " ", "0")
			}
		}
		b.WriteString(v)
	}
	return b.String()
}

func ls(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "lAa1dRhtrSinFpLGgoCsZ", "all=a", "almost-all=A", "directory=d", "recursive=R", "reverse=r", "color?=color",
		"human-readable=h", "time-style:=ts", "full-time=ft", "size=s")
	if !ok {
		return 2
	}
	names := f.args
	if len(names) == 0 {
		names = []string{"."}
	}
	l := lister{p: p, f: f}
	status := 0
	var files, dirs []string
	for _, n := range names {
		i, err := p.FS().Lstat(p.Abs(n))
		if err == nil && i.Mode()&fs.ModeSymlink != 0 && !f.has("l") {
			if t, serr := p.FS().Stat(p.Abs(n)); serr == nil {
				i = t
			}
		}
		switch {
		case err != nil:
			p.Errorf("ls: cannot access '%s': %s\n", n, process.Reason(err))
			status = 2
		case i.IsDir() && !f.has("d"):
			dirs = append(dirs, n)
		default:
			files = append(files, n)
		}
	}
	slices.Sort(files)
	slices.Sort(dirs)
	for _, n := range files {
		l.entry(n, n)
	}
	for k, n := range dirs {
		if len(dirs) > 1 || len(files) > 0 || f.has("R") {
			if k > 0 || len(files) > 0 {
				p.Printf("\n")
			}
			p.Printf("%s:\n", n)
		}
		status = max(status, l.dir(n))
	}
	return status
}

type lister struct {
	p *process.Proc
	f *flags
}

func (l lister) dir(n string) int {
	list, err := l.p.FS().ReadDir(l.p.Abs(n))
	if err != nil {
		l.p.Errorf("ls: cannot open directory '%s': %s\n", n, process.Reason(err))
		return 2
	}
	var names []string
	if l.f.has("a") {
		names = append(names, ".", "..")
	}
	for _, e := range list {
		if e.Name()[0] != '.' || l.f.has("a") || l.f.has("A") {
			names = append(names, e.Name())
		}
	}
	info := func(x string) memfs.Info { i, _ := l.p.FS().Lstat(l.p.Abs(path.Join(n, x))); return i }
	if l.f.has("t") {
		slices.SortStableFunc(names, func(a, b string) int { return info(b).ModTime().Compare(info(a).ModTime()) })
	}
	if l.f.has("S") {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(info(b).Size(), info(a).Size()) })
	}
	if l.f.has("r") {
		slices.Reverse(names)
	}
	if l.f.has("l") || l.f.has("s") {
		l.p.Printf("total %d\n", len(names)*4)
	}
	var below []string
	for _, x := range names {
		l.entry(x, path.Join(n, x))
		if i := info(x); i.IsDir() && x != "." && x != ".." {
			below = append(below, path.Join(n, x))
		}
	}
	if l.f.has("R") {
		for _, d := range below {
			l.p.Printf("\n%s:\n", d)
			l.dir(d)
		}
	}
	return 0
}

func (l lister) entry(show, name string) {
	i, err := l.p.FS().Lstat(l.p.Abs(name))
	if err != nil {
		return
	}
	line := show
	if (l.f.has("F") || l.f.has("p")) && i.IsDir() {
		line += "/"
	}
	if l.f.has("l") || l.f.has("n") || l.f.has("g") || l.f.has("o") {
		owner, group := l.p.Sys.UserName(int(i.Uid())), l.p.Sys.GroupName(int(i.Gid()))
		if l.f.has("n") {
			owner, group = strconv.Itoa(int(i.Uid())), strconv.Itoa(int(i.Gid()))
		}
		if i.Mode()&fs.ModeSymlink != 0 {
			to, _ := l.p.FS().Readlink(l.p.Abs(name))
			line += " -> " + to
		}
		sz := strconv.FormatInt(i.Size(), 10)
		if l.f.has("h") {
			sz = human(i.Size())
		}
		line = fmt.Sprintf("%s %d %s %s %5s %s %s", modeString(i.Mode()), i.Links(), owner, group, sz, i.ModTime().UTC().Format("Jan _2 15:04"), line)
	}
	if l.f.has("i") {
		line = strconv.FormatUint(i.Ino(), 10) + " " + line
	}
	l.p.Printf("%s\n", line)
}

func human(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10)
	}
	v := float64(n)
	for _, u := range "KMGT" {
		if v /= 1024; v < 1024 {
			return strconv.FormatFloat(v, 'f', 1, 64) + string(u)
		}
	}
	return strconv.FormatInt(n, 10)
}

func readlink(_ context.Context, p *process.Proc) int {
	f, ok := options(p, false, "femnqsvz", "canonicalize=f", "canonicalize-existing=e", "canonicalize-missing=m", "no-newline=n", "quiet=q")
	if !ok {
		return 1
	}
	real := p.Name() == "realpath" || f.has("f") || f.has("e") || f.has("m")
	status := 0
	for _, n := range f.args {
		var out string
		var err error
		if real {
			out, err = p.FS().Real(p.Abs(n))
			if err == nil && (f.has("e") || p.Name() == "realpath" && f.has("e")) {
				_, err = p.FS().Stat(out)
			}
			if err != nil && f.has("m") {
				out, err = path.Clean(p.Abs(n)), nil
			}
		} else {
			out, err = p.FS().Readlink(p.Abs(n))
		}
		if err != nil {
			status = 1
			if p.Name() == "realpath" && !f.has("q") {
				p.Errorf("realpath: %s: %s\n", n, process.Reason(err))
			}
			continue
		}
		p.Printf("%s", out)
		if !f.has("n") {
			p.Printf("\n")
		}
	}
	return status
}
