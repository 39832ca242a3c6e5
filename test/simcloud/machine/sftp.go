package machine

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// sftp serves the SFTP subsystem on the machine's disk with the user's rights.
func (v *visitor) sftp(ch ssh.Channel) {
	d := &disk{v: v, view: v.o.Sys.FS.As(v.account.Cred)}
	srv := sftp.NewRequestServer(
		ch, sftp.Handlers{FileGet: d, FilePut: d, FileCmd: d, FileList: d}, sftp.WithStartDirectory(v.account.Home),
	)
	err := srv.Serve()
	_ = srv.Close()
	if err == nil || errors.Is(err, io.EOF) {
		_, _ = ch.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
	}
	_ = ch.Close()
}

// disk implements the handlers of pkg/sftp.
type disk struct {
	v    *visitor
	view memfs.View
}

// status turns our errors into those that pkg/sftp knows.
func status(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return os.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return sftp.ErrSSHFxPermissionDenied
	}
	return err
}

func (d *disk) note(what, name string) {
	d.v.m.f.record(d.v.m.spec.ID, Entry{Kind: "sftp", User: d.v.account.Name, Line: what + " " + name})
}

// Fileread opens a file for reading.
func (d *disk) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	f, err := d.view.Open(r.Filepath, os.O_RDONLY, 0)
	if err != nil {
		return nil, status(err)
	}
	d.note("get", r.Filepath)
	return f, nil
}

// Filewrite opens a file for writing.
func (d *disk) Filewrite(r *sftp.Request) (io.WriterAt, error) { return d.OpenFile(r) }

// OpenFile opens a file for reading and writing.
func (d *disk) OpenFile(r *sftp.Request) (sftp.WriterAtReaderAt, error) {
	flags := r.Pflags()
	flag := os.O_WRONLY
	if flags.Read {
		flag = os.O_RDWR
	}
	if flags.Creat {
		flag |= os.O_CREATE
	}
	if flags.Trunc {
		flag |= os.O_TRUNC
	}
	if flags.Excl {
		flag |= os.O_EXCL
	}
	f, err := d.view.Open(r.Filepath, flag, permissions(r, 0o664)&^0o002)
	if err != nil {
		return nil, status(err)
	}
	d.note("put", r.Filepath)
	return f, nil
}

// permissions are those that the client asks for, or else usual.
func permissions(r *sftp.Request, usual fs.FileMode) fs.FileMode {
	if r.AttrFlags().Permissions {
		return r.Attributes().FileMode().Perm()
	}
	return usual
}

// Filecmd is everything that changes names and attributes.
func (d *disk) Filecmd(r *sftp.Request) error {
	var err error
	switch r.Method {
	case "Setstat":
		if has := r.AttrFlags(); !has.Permissions || has.UidGid || has.Acmodtime || has.Size {
			return sftp.ErrSSHFxOpUnsupported
		}
		err = d.view.Chmod(r.Filepath, r.Attributes().FileMode())
	case "Rmdir", "Remove":
		err = d.view.Remove(r.Filepath)
	case "Mkdir":
		err = d.view.Mkdir(r.Filepath, permissions(r, 0o775))
	default:
		return sftp.ErrSSHFxOpUnsupported
	}
	return status(err)
}

// PosixRename renames and replaces.
func (d *disk) PosixRename(r *sftp.Request) error {
	return status(d.view.Rename(r.Filepath, r.Target))
}

// Filelist lists a directory or describes a file.
func (d *disk) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch r.Method {
	case "List":
		l, err := d.view.ReadDir(r.Filepath)
		if err != nil {
			return nil, status(err)
		}
		out := make(infos, 0, len(l))
		for _, e := range l {
			if i, err := e.Info(); err == nil {
				out = append(out, i)
			}
		}
		return out, nil
	case "Stat":
		i, err := d.view.Stat(r.Filepath)
		return infos{i}, status(err)
	}
	return nil, sftp.ErrSSHFxOpUnsupported
}

// Lstat describes a link itself.
func (d *disk) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	i, err := d.view.Lstat(r.Filepath)
	return infos{i}, status(err)
}

// infos is a list of files as pkg/sftp wants it.
type infos []fs.FileInfo

// ListAt implements sftp.ListerAt.
func (l infos) ListAt(out []os.FileInfo, off int64) (int, error) {
	if off >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(out, l[off:])
	if n < len(out) {
		return n, io.EOF
	}
	return n, nil
}
