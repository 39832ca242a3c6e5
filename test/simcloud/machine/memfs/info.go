package memfs

import (
	"io/fs"
	"time"
)

// Info describes one inode; it is an fs.FileInfo that also knows the owner.
type Info struct {
	name     string
	size     int64
	mode     fs.FileMode
	mtime    time.Time
	uid, gid int
	nlink    int
}

func (n *node) info(name string) Info {
	size := int64(len(n.data))
	if n.mode.IsDir() {
		size = 4096
	}
	if n.mode&fs.ModeSymlink != 0 {
		size = int64(len(n.target))
	}
	return Info{
		name: name, size: size, mode: n.mode, mtime: n.mtime, uid: n.uid, gid: n.gid, nlink: n.nlink,
	}
}

// Name is the last path component.
func (i Info) Name() string { return i.name }

// Size is the length in bytes; computed files have 0, as in /proc.
func (i Info) Size() int64 { return i.size }

// Mode is type and permission.
func (i Info) Mode() fs.FileMode { return i.mode }

// ModTime is the time of the last change on the machine's clock.
func (i Info) ModTime() time.Time { return i.mtime }

// IsDir reports whether it is a directory.
func (i Info) IsDir() bool { return i.mode.IsDir() }

// Sys returns nil: there is no system below.
func (i Info) Sys() any { return nil }

// Uid is the owner (the name is the one SFTP looks for).
func (i Info) Uid() uint32 { return uint32(i.uid) } //nolint:staticcheck,revive // the name is pkg/sftp's

// Gid is the group (the name is the one SFTP looks for).
func (i Info) Gid() uint32 { return uint32(i.gid) } //nolint:staticcheck // the name is pkg/sftp's

// Links is the number of hard links.
func (i Info) Links() int { return i.nlink }
