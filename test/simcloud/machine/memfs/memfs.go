// Package memfs is the file system of a simulated machine: a Unix tree in memory with owners, modes, symbolic links,
// hard links, device files and files whose content is computed (/proc). Everything fails with the errno that Linux
// would give, wrapped in a *fs.PathError, so that programs can print the text a user knows.
package memfs

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxLinks bounds symbolic link resolution as Linux does.
const maxLinks = 40

// Cred says who is asking. UID 0 may do everything.
type Cred struct {
	UID, GID int
	Groups   []int
}

// Root is the superuser.
var Root = Cred{}

// Access modes for View.Access, as access(2) counts them.
const (
	Exec  = 1
	Write = 2
	Read  = 4
)

// FS is one file system tree. It is safe for concurrent use.
type FS struct {
	mu    sync.Mutex
	root  *node
	now   func() time.Time
	used  int64
	limit int64
}

// node is one inode.
type node struct {
	mode     fs.FileMode
	uid, gid int
	mtime    time.Time
	data     []byte
	shared   bool // another tree has data, too: it must be copied before it is changed in place
	children map[string]*node
	target   string
	nlink    int
	synth    *synth
	lock     lockState
}

// synth computes a file's content (read) and takes what is written to it (write, nil: read-only).
type synth struct {
	read  func() []byte
	write func([]byte) error
}

// New returns an empty tree whose root belongs to root. now stamps modification times; limit bounds the bytes of all
// files together (0: 256 MiB), beyond it writes fail with ENOSPC.
func New(now func() time.Time, limit int64) *FS {
	if limit == 0 {
		limit = 256 << 20
	}
	f := &FS{now: now, limit: limit}
	f.root = f.newNode(fs.ModeDir|0o755, Root)
	return f
}

// As returns the tree as cred sees it.
func (f *FS) As(cred Cred) View { return View{fs: f, cred: cred} }

// Synth makes path a regular file whose content read computes at each open; write, if not nil, gets every write call.
// Missing directories are made.
func (f *FS) Synth(name string, mode fs.FileMode, read func() []byte, write func([]byte) error) {
	f.plant(name, mode.Perm(), func(n *node) { n.synth = &synth{read: read, write: write} })
}

// Device makes path a character device: "null", "zero" or "urandom".
func (f *FS) Device(name, kind string) {
	f.plant(name, fs.ModeDevice|fs.ModeCharDevice|0o666, func(n *node) { n.target = kind })
}

// Block makes path a block device of size bytes (it holds no data).
func (f *FS) Block(name string) {
	f.plant(name, fs.ModeDevice|0o660, func(n *node) { n.target = "block" })
}

func (f *FS) plant(name string, mode fs.FileMode, set func(*node)) {
	v := f.As(Root)
	if err := v.MkdirAll(path.Dir(name), 0o755); err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := v.parent("create", name)
	if err != nil {
		return
	}
	n := f.newNode(mode, Root)
	set(n)
	dir.children[base] = n
}

func (f *FS) newNode(mode fs.FileMode, c Cred) *node {
	n := &node{mode: mode, uid: c.UID, gid: c.GID, mtime: f.now(), nlink: 1}
	if mode.IsDir() {
		n.children = map[string]*node{}
	}
	return n
}

// View is the tree seen with one identity. The zero View is not usable.
type View struct {
	fs   *FS
	cred Cred
}

func pathErr(op, name string, e syscall.Errno) error {
	return &fs.PathError{Op: op, Path: name, Err: e}
}

// may reports whether the view's identity has the wanted access bits on n.
func (v View) may(n *node, want fs.FileMode) bool {
	if v.cred.UID == 0 {
		return want != Exec || n.mode.IsDir() || n.mode&0o111 != 0
	}
	perm := n.mode.Perm()
	switch {
	case n.uid == v.cred.UID:
		perm >>= 6
	case n.gid == v.cred.GID || slices.Contains(v.cred.Groups, n.gid):
		perm >>= 3
	}
	return perm&want == want
}

// walk finds the node of name. With follow, a final symbolic link is resolved. The lock is held.
func (v View) walk(op, name string, follow bool) (*node, error) {
	n, _, _, err := v.resolve(op, name, follow, 0)
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, pathErr(op, name, syscall.ENOENT)
	}
	return n, nil
}

// parent finds the directory that holds (or would hold) name. A trailing slash is ignored.
func (v View) parent(op, name string) (dir *node, base string, err error) {
	_, dir, base, err = v.resolve(op, name, false, 0)
	if err == nil && (dir == nil || base == "" || base == "." || base == "..") {
		err = pathErr(op, name, syscall.EINVAL)
	}
	return dir, base, err
}

// resolve walks name and returns the node (nil if only the last component is missing), its directory and its name
// there (both empty for the root).
func (v View) resolve(op, name string, follow bool, depth int) (n, dir *node, base string, err error) {
	if name == "" {
		return nil, nil, "", pathErr(op, name, syscall.ENOENT)
	}
	if depth > maxLinks {
		return nil, nil, "", pathErr(op, name, syscall.ELOOP)
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	mustDir := strings.HasSuffix(name, "/")
	stack := []*node{v.fs.root}
	for i, part := range parts {
		cur := stack[len(stack)-1]
		last := i == len(parts)-1
		if part == "." {
			continue
		}
		if part == ".." {
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			continue
		}
		if !cur.mode.IsDir() {
			return nil, nil, "", pathErr(op, name, syscall.ENOTDIR)
		}
		if !v.may(cur, Exec) {
			return nil, nil, "", pathErr(op, name, syscall.EACCES)
		}
		next, ok := cur.children[part]
		if !ok {
			if last {
				return nil, cur, part, nil
			}
			return nil, nil, "", pathErr(op, name, syscall.ENOENT)
		}
		if next.mode&fs.ModeSymlink != 0 && (!last || follow || mustDir) {
			target := next.target
			if !path.IsAbs(target) {
				target = "/" + strings.Join(v.namesOf(stack), "/") + "/" + target
			}
			if !last {
				target += "/" + strings.Join(parts[i+1:], "/")
			}
			return v.resolve(op, target, follow, depth+1)
		}
		if last {
			return next, cur, part, nil
		}
		stack = append(stack, next)
	}
	return stack[len(stack)-1], nil, "", nil
}

// namesOf gives the names of the directories on the stack (without the root). It searches the parents, which is fine:
// it runs only for relative links.
func (v View) namesOf(stack []*node) []string {
	var names []string
	for i := 1; i < len(stack); i++ {
		for name, c := range stack[i-1].children {
			if c == stack[i] {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// Real resolves every link in name and returns the path without them. The last component need not exist.
func (v View) Real(name string) (string, error) {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	out := "/"
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	for links := 0; len(parts) > 0; {
		part := parts[0]
		parts = parts[1:]
		next := path.Join(out, part)
		n, _, _, err := v.resolve("readlink", next, false, 0)
		if err != nil {
			return "", err
		}
		if n == nil && len(parts) > 0 {
			return "", pathErr("readlink", name, syscall.ENOENT)
		}
		if n != nil && n.mode&fs.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return "", pathErr("readlink", name, syscall.ELOOP)
			}
			target := strings.FieldsFunc(n.target, func(r rune) bool { return r == '/' })
			if path.IsAbs(n.target) {
				out = "/"
			}
			parts = append(slices.Clone(target), parts...)
			continue
		}
		out = next
	}
	return out, nil
}

// Stat describes name, following links.
func (v View) Stat(name string) (Info, error) { return v.stat("stat", name, true) }

// Lstat describes name itself, also when it is a link.
func (v View) Lstat(name string) (Info, error) { return v.stat("lstat", name, false) }

func (v View) stat(op, name string, follow bool) (Info, error) {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	n, err := v.walk(op, name, follow)
	if err != nil {
		return Info{}, err
	}
	return n.info(path.Base(name)), nil
}

// Access reports nil if the identity may use name in every way of mode (Read|Write|Exec).
func (v View) Access(name string, mode int) error {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	n, err := v.walk("access", name, true)
	if err != nil {
		return err
	}
	for _, bit := range []int{Read, Write, Exec} {
		if mode&bit != 0 && !v.may(n, fs.FileMode(bit)) {
			return pathErr("access", name, syscall.EACCES)
		}
	}
	return nil
}

// ReadDir lists a directory sorted by name.
func (v View) ReadDir(name string) ([]fs.DirEntry, error) {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	n, err := v.walk("open", name, true)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, pathErr("readdir", name, syscall.ENOTDIR)
	}
	if !v.may(n, Read) {
		return nil, pathErr("open", name, syscall.EACCES)
	}
	out := make([]fs.DirEntry, 0, len(n.children))
	for _, k := range slices.Sorted(maps.Keys(n.children)) {
		out = append(out, fs.FileInfoToDirEntry(n.children[k].info(k)))
	}
	return out, nil
}

// Readlink returns where the link name points.
func (v View) Readlink(name string) (string, error) {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	n, err := v.walk("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", pathErr("readlink", name, syscall.EINVAL)
	}
	return n.target, nil
}
