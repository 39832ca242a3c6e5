package csar

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
)

// openZip loads the zip directory. It limits the bytes of the directory, because archive/zip ignores the number of
// entries that the archive claims, and keeps every entry in memory.
func openZip(r *headerReader, size int64, lim Limits) (*zip.Reader, error) {
	m := &meteredReaderAt{r: r, left: lim.directoryBytes()}
	z, err := zip.NewReader(m, size)
	switch {
	case m.over:
		return nil, tooManyEntries(lim)
	case err == nil || errors.Is(err, zip.ErrInsecurePath): // names are judged below, one by one
	case errors.Is(err, zip.ErrFormat), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, reject(
			NotZip, "", "the content is not a zip archive", "upload the package as one .zip or .csar file",
		)
	default:
		return nil, fmt.Errorf("read zip directory: %w", err)
	}
	if len(z.File) > lim.Entries {
		return nil, tooManyEntries(lim)
	}
	m.off = true
	return z, nil
}

func tooManyEntries(lim Limits) *Rejection {
	return reject(TooManyEntries, "", fmt.Sprintf("the archive has more than %d entries", lim.Entries), "")
}

// meteredReaderAt ends with an error after left bytes.
type meteredReaderAt struct {
	r    io.ReaderAt
	left int64
	over bool
	off  bool // the directory has been read
}

var errMeter = errors.New("zip directory over limit")

func (m *meteredReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 { // a damaged directory leads there; an *os.File would report an error of the machine
		return 0, zip.ErrFormat
	}
	if m.off {
		return m.r.ReadAt(p, off)
	}
	if m.over || m.left < int64(len(p)) {
		m.over = true
		return 0, errMeter
	}
	n, err := m.r.ReadAt(p, off)
	m.left -= int64(n)
	return n, err
}

// addZip checks every entry of the directory and keeps the regular files.
func (a *Archive) addZip(z *zip.Reader) error {
	seen := newNames()
	for _, f := range z.File {
		name, problem := cleanName(f.Name, a.lim)
		if problem != "" {
			return reject(UnsafeName, f.Name, problem, "")
		}
		if err := checkEntry(f); err != nil {
			return err
		}
		dir := f.FileInfo().IsDir()
		if err := seen.add(name, dir); err != nil {
			return err
		}
		if !dir {
			size := int64(min(f.UncompressedSize64, math.MaxInt64))
			a.files = append(
				a.files, file{name: name, packed: int64(f.CompressedSize64), size: size, open: f.Open, entry: f},
			)
		}
	}
	if err := seen.conflict(); err != nil {
		return err
	}
	return nil
}

// Bits of the general purpose flags (PKZIP application note, 4.4.4).
const (
	flagEncrypted       = 1 << 0
	flagDescriptor      = 1 << 3
	flagStrongEncrypted = 1 << 6
	flagMaskedDirectory = 1 << 13
)

func checkEntry(f *zip.File) error {
	const onlyFiles = "only files and directories are allowed; put the file itself in the package"
	mode := f.Mode()
	switch {
	case mode&fs.ModeSymlink != 0:
		return reject(NotRegular, f.Name, "the entry is a symbolic link", onlyFiles)
	case !mode.IsRegular() && !mode.IsDir():
		return reject(NotRegular, f.Name, "the entry is a device, pipe or socket", onlyFiles)
	case f.Flags&(flagEncrypted|flagStrongEncrypted|flagMaskedDirectory) != 0:
		return reject(Encrypted, f.Name, "the entry is encrypted", "write the archive without a password")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return reject(BadCompression, f.Name, fmt.Sprintf("the entry is compressed with method %d", f.Method),
			"use deflate or no compression")
	case mode.IsDir() && f.UncompressedSize64 != 0:
		return reject(Corrupt, f.Name, "the entry is a directory with content", "")
	}
	return nil
}

// checkHeaders compares the headers of the entries with the directory, and finds entries that share bytes of the
// archive, with which a small archive produces endless output.
func checkHeaders(z *zip.Reader, r *headerReader) error {
	type span struct {
		name       string
		start, end int64
	}
	spans := make([]span, 0, len(z.File))
	for _, f := range z.File {
		start, data, err := r.dataOffset(f)
		if err != nil {
			return err
		}
		size := int64(f.CompressedSize64)
		if size < 0 || data+size < data {
			return reject(Corrupt, f.Name, "the entry's size is impossible", "")
		}
		spans = append(spans, span{f.Name, start, data + size})
	}
	r.off = true
	slices.SortFunc(spans, func(x, y span) int { return int(min(1, max(-1, x.start-y.start))) })
	for i := 1; i < len(spans); i++ {
		if spans[i-1].end > spans[i].start {
			return reject(Bomb, spans[i].name, "the entry shares its bytes with "+printable(spans[i-1].name),
				"recreate the archive")
		}
	}
	return nil
}

// isCorrupt reports whether a read error is caused by the archive.
func isCorrupt(err error) bool {
	var flateErr flate.CorruptInputError
	return errors.As(err, &flateErr) || errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrChecksum) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}
