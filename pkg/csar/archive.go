package csar

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
)

// Archive is a package whose directory and metadata have been checked; its files have not been read yet.
type Archive struct {
	files  []file // sorted by name
	index  map[string]int
	fsys   fs.FS
	lim    Limits
	packed int64 // bytes of the zip, 0 for a folder
	info   Info
}

// file is one regular file of a package.
type file struct {
	name   string // from the package root, clean
	packed int64  // compressed bytes, 0 when not compressed
	size   int64  // bytes that the directory of the archive declares, noSize in a folder
	open   func() (io.ReadCloser, error)
	entry  *zip.File // nil in a folder
}

// Open checks the directory and the metadata of the zip archive in r, which has size bytes. r must stay open as long
// as the Archive is in use.
func Open(r io.ReaderAt, size int64, lim Limits) (*Archive, error) {
	a, err := openFiles(r, size, lim)
	if err != nil {
		return nil, err
	}
	return a.withInfo()
}

// withInfo reads the metadata.
func (a *Archive) withInfo() (*Archive, error) {
	var err error
	if a.info, err = inspect(a, strict); err != nil {
		return nil, err
	}
	return a, nil
}

// openFiles checks the directory of a zip archive; its metadata are not read.
func openFiles(r io.ReaderAt, size int64, lim Limits) (*Archive, error) {
	headers := &headerReader{r: r}
	z, err := openZip(headers, size, lim)
	if err != nil {
		return nil, err
	}
	a := &Archive{fsys: z, lim: lim, packed: size}
	if err := a.addZip(z); err != nil {
		return nil, err
	}
	if err := checkHeaders(z, headers); err != nil {
		return nil, err
	}
	a.sort()
	return a, nil
}

// Info returns the content of the metadata.
func (a *Archive) Info() Info { return a.info }

// FS returns the regular files by path; it has no directories. Reads are not counted, so callers must limit every read.
// A damaged file is a *Rejection.
func (a *Archive) FS() fs.FS { return onlyFiles{a} }

type onlyFiles struct{ a *Archive }

func (o onlyFiles) Open(name string) (fs.File, error) {
	if !o.a.Has(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := o.a.fsys.Open(name)
	if err != nil {
		return nil, readError(name, err)
	}
	return checked{f, name}, nil
}

// checked reports damage of the archive and errors of the machine separately, like broken.
type checked struct {
	fs.File
	name string
}

// Read implements io.Reader.
func (c checked) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	if err == nil || err == io.EOF { //nolint:errorlint // fs.File returns it bare at the end
		return n, err
	}
	return n, readError(c.name, err)
}

// Close implements io.Closer.
func (c checked) Close() error {
	if err := c.File.Close(); err != nil {
		return readError(c.name, err)
	}
	return nil
}

// noSize is the declared size of a file in a folder.
const noSize = -1

// UnpackedBytes returns the size of all files that the directory of a zip declares. Verify rejects an archive that has
// more.
func (a *Archive) UnpackedBytes() int64 {
	var sum int64
	for _, f := range a.files {
		sum += max(0, min(f.size, math.MaxInt64-sum))
	}
	return sum
}

// Names lists the files, sorted.
func (a *Archive) Names() []string {
	names := make([]string, len(a.files))
	for i, f := range a.files {
		names[i] = f.name
	}
	return names
}

// Has reports whether the package has a regular file with this path.
func (a *Archive) Has(name string) bool {
	_, ok := a.index[name]
	return ok
}

// sort orders the files once all are known.
func (a *Archive) sort() {
	slices.SortFunc(a.files, func(x, y file) int { return strings.Compare(x.name, y.name) })
	a.index = make(map[string]int, len(a.files))
	for i, f := range a.files {
		a.index[f.name] = i
	}
}

// ReadText reads a file that is to be parsed. A file over Limits.TextBytes is a *Rejection.
func (a *Archive) ReadText(name string) ([]byte, error) {
	rc, err := a.files[a.index[name]].open()
	if err != nil {
		return nil, readError(name, err)
	}
	data, err := io.ReadAll(io.LimitReader(rc, a.lim.TextBytes+1))
	if err := errors.Join(err, rc.Close()); err != nil {
		return nil, readError(name, err)
	}
	if int64(len(data)) > a.lim.TextBytes {
		return nil, reject(TooLarge, name,
			fmt.Sprintf("the file is larger than %d bytes, the limit for files that are parsed", a.lim.TextBytes), "")
	}
	return data, nil
}

// names detects two entries for one file.
type names struct {
	files map[string]string // by folded name
	dirs  map[string]bool   // every directory, also those that only a path implies
}

func newNames() *names { return &names{files: map[string]string{}, dirs: map[string]bool{}} }

func (n *names) add(name string, dir bool) *Rejection {
	if dir {
		n.addDir(name)
		return nil
	}
	fold := strings.ToLower(name)
	if other, ok := n.files[fold]; ok {
		if other == name {
			return reject(Duplicate, name, "the archive has two entries of this name",
				"recreate the archive instead of adding to it")
		}
		return reject(Duplicate, name, "the name differs from "+printable(other)+" only in upper and lower case", "")
	}
	n.files[fold] = name
	n.addDir(path.Dir(name))
	return nil
}

func (n *names) addDir(name string) {
	for ; name != "." && !n.dirs[name]; name = path.Dir(name) {
		n.dirs[name] = true
	}
}

// conflict reports a name that is a file and a directory.
func (n *names) conflict() *Rejection {
	for _, name := range n.files {
		if n.dirs[name] {
			return reject(Duplicate, name, "the archive has a file and a directory of this name", "")
		}
	}
	return nil
}

// readError returns a Rejection for a damaged archive, and other errors for a machine that cannot read it.
func readError(name string, err error) error {
	if isCorrupt(err) {
		return reject(Corrupt, name, "the archive is damaged here: "+err.Error(), "upload it again, or recreate it")
	}
	if errors.Is(err, zip.ErrAlgorithm) {
		return reject(BadCompression, name, "the entry's compression is not supported", "use deflate or no compression")
	}
	return fmt.Errorf("read %s: %w", printable(name), err)
}
