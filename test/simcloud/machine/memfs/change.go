package memfs

import (
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// ReadFile returns the whole content of name.
func (v View) ReadFile(name string) ([]byte, error) {
	f, err := v.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

// WriteFile replaces the content of name, creating it with perm.
func (v View) WriteFile(name string, data []byte, perm fs.FileMode) error {
	f, err := v.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// Mkdir makes one directory.
func (v View) Mkdir(name string, perm fs.FileMode) error {
	return v.create(
		"mkdir", name, func() *node { return v.fs.newNode(fs.ModeDir|perm&(fs.ModePerm|fs.ModeSticky), v.cred) },
	)
}

// MkdirAll makes name and every missing directory above it.
func (v View) MkdirAll(name string, perm fs.FileMode) error {
	if i, err := v.Stat(name); err == nil {
		if i.IsDir() {
			return nil
		}
		return pathErr("mkdir", name, syscall.ENOTDIR)
	}
	if up := path.Dir(path.Clean(name)); up != "/" && up != "." {
		if err := v.MkdirAll(up, perm); err != nil {
			return err
		}
	}
	err := v.Mkdir(name, perm)
	if err != nil {
		if i, serr := v.Stat(name); serr == nil && i.IsDir() {
			return nil
		}
	}
	return err
}

// Symlink makes name a link to target.
func (v View) Symlink(target, name string) error {
	return v.create("symlink", name, func() *node {
		n := v.fs.newNode(fs.ModeSymlink|0o777, v.cred)
		n.target = target
		return n
	})
}

// Link makes name another name of the file old.
func (v View) Link(old, name string) error {
	v.fs.mu.Lock()
	n, err := v.walk("link", old, false)
	v.fs.mu.Unlock()
	if err != nil {
		return err
	}
	if n.mode.IsDir() {
		return pathErr("link", old, syscall.EPERM)
	}
	return v.create("link", name, func() *node { n.nlink++; return n })
}

func (v View) create(op, name string, make func() *node) error {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	if path.Clean(name) == "/" {
		return pathErr(op, name, syscall.EEXIST)
	}
	dir, base, err := v.parent(op, strings.TrimRight(name, "/"))
	if err != nil {
		return err
	}
	if _, ok := dir.children[base]; ok {
		return pathErr(op, name, syscall.EEXIST)
	}
	if !v.may(dir, Write|Exec) {
		return pathErr(op, name, syscall.EACCES)
	}
	n := make()
	dir.children[base] = n
	dir.mtime = v.fs.now()
	return nil
}

// mayUnlink checks the write permission on dir and the sticky bit.
func (v View) mayUnlink(dir, n *node) bool {
	if !v.may(dir, Write|Exec) {
		return false
	}
	if dir.mode&fs.ModeSticky != 0 && v.cred.UID != 0 {
		return n.uid == v.cred.UID || dir.uid == v.cred.UID
	}
	return true
}

// Remove unlinks a file or an empty directory.
func (v View) Remove(name string) error {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	dir, base, err := v.parent("remove", strings.TrimRight(name, "/"))
	if err != nil {
		return err
	}
	n, ok := dir.children[base]
	switch {
	case !ok:
		return pathErr("remove", name, syscall.ENOENT)
	case !v.mayUnlink(dir, n):
		return pathErr("remove", name, syscall.EACCES)
	case n.mode.IsDir() && len(n.children) > 0:
		return pathErr("remove", name, syscall.ENOTEMPTY)
	}
	delete(dir.children, base)
	dir.mtime = v.fs.now()
	v.unref(n)
	return nil
}

func (v View) unref(n *node) {
	if n.nlink--; n.nlink == 0 {
		v.fs.used -= int64(len(n.data))
	}
}

// RemoveAll removes name and everything below it; a missing name is not an error.
func (v View) RemoveAll(name string) error {
	i, err := v.Lstat(name)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	if i.IsDir() {
		list, err := v.ReadDir(name)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := v.RemoveAll(path.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	return v.Remove(name)
}

// Rename moves a file or directory, replacing a file (or an empty directory) at the new name in one step.
func (v View) Rename(from, to string) error {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	fd, fb, err := v.parent("rename", strings.TrimRight(from, "/"))
	if err != nil {
		return err
	}
	n, ok := fd.children[fb]
	if !ok {
		return pathErr("rename", from, syscall.ENOENT)
	}
	td, tb, err := v.parent("rename", strings.TrimRight(to, "/"))
	if err != nil {
		return err
	}
	if !v.mayUnlink(fd, n) || !v.may(td, Write|Exec) {
		return pathErr("rename", from, syscall.EACCES)
	}
	if n.mode.IsDir() && v.below(n, td) {
		return pathErr("rename", from, syscall.EINVAL)
	}
	if old, ok := td.children[tb]; ok && old != n {
		switch {
		case !v.mayUnlink(td, old):
			return pathErr("rename", to, syscall.EACCES)
		case old.mode.IsDir() && !n.mode.IsDir():
			return pathErr("rename", to, syscall.EISDIR)
		case !old.mode.IsDir() && n.mode.IsDir():
			return pathErr("rename", to, syscall.ENOTDIR)
		case len(old.children) > 0:
			return pathErr("rename", to, syscall.ENOTEMPTY)
		}
		v.unref(old)
	}
	delete(fd.children, fb)
	td.children[tb] = n
	fd.mtime, td.mtime = v.fs.now(), v.fs.now()
	return nil
}

// below reports whether d is n or inside it.
func (v View) below(n, d *node) bool {
	if n == d {
		return true
	}
	for _, c := range n.children {
		if c.mode.IsDir() && v.below(c, d) {
			return true
		}
	}
	return false
}

// change runs f on name's node if the identity owns it.
func (v View) change(op, name string, follow, rootOnly bool, f func(*node)) error {
	v.fs.mu.Lock()
	defer v.fs.mu.Unlock()
	n, err := v.walk(op, name, follow)
	if err != nil {
		return err
	}
	if v.cred.UID != 0 && (rootOnly || n.uid != v.cred.UID) {
		return pathErr(op, name, syscall.EPERM)
	}
	f(n)
	return nil
}

// Chmod sets permission bits (and sticky, setuid, setgid).
func (v View) Chmod(name string, mode fs.FileMode) error {
	const bits = fs.ModePerm | fs.ModeSticky | fs.ModeSetuid | fs.ModeSetgid
	return v.change("chmod", name, true, false, func(n *node) { n.mode = n.mode&^bits | mode&bits })
}

// Chown sets owner and group; -1 keeps one. Only root may give files away; an owner may change the group.
func (v View) Chown(name string, uid, gid int) error {
	rootOnly := uid != -1 && uid != v.cred.UID
	return v.change("chown", name, true, rootOnly, func(n *node) {
		if uid != -1 {
			n.uid = uid
		}
		if gid != -1 {
			n.gid = gid
		}
	})
}

// Chtimes sets the modification time.
func (v View) Chtimes(name string, mtime time.Time) error {
	return v.change("chtimes", name, true, false, func(n *node) { n.mtime = mtime })
}
