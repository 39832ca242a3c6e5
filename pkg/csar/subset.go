package csar

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Subset returns a zip archive of some files of the package, sorted by path. Its packed bytes are those of the package,
// which r holds; only headers and the directory are created. So it costs the same for any size, one can seek in it, and
// the same files give the same bytes. A path that the package does not have is an error; one that is given twice is
// included once.
func (a *Archive) Subset(r io.ReaderAt, paths []string) (*io.SectionReader, error) {
	paths = slices.Clone(paths)
	slices.Sort(paths)
	s := &subset{}
	for _, p := range slices.Compact(paths) {
		i, ok := a.index[p]
		if !ok || a.files[i].entry == nil {
			return nil, fmt.Errorf("the package has no file %s", printable(p))
		}
		if err := s.add(p, a.files[i].entry, r); err != nil {
			return nil, readError(p, err)
		}
	}
	s.addDirectory()
	return io.NewSectionReader(s, 0, s.size), nil
}

// subset is a sequence of parts, of which some are in memory and some in another archive.
type subset struct {
	parts     []part
	size      int64
	directory bytes.Buffer
	entries   uint64
}

// part begins at an offset.
type part struct {
	at, size int64
	r        io.ReaderAt
}

func (s *subset) append(r io.ReaderAt, size int64) {
	if size > 0 {
		s.parts = append(s.parts, part{s.size, size, r})
		s.size += size
	}
}

// Signatures, versions and marks of the format (PKZIP application note, 4.3).
const (
	signLocal, signEntry         = 0x04034b50, 0x02014b50
	signEnd, signEnd64, signLoc4 = 0x06054b50, 0x06064b50, 0x07064b50
	versionPlain, version64      = 20, 45
	extra64                      = 1
	flagUTF8                     = 1 << 11
	date1980                     = 1<<5 | 1 // the first day that the format knows
	tooLarge16, tooLarge32       = math.MaxUint16, math.MaxUint32
)

// add appends a file with its header.
func (s *subset) add(path string, f *zip.File, r io.ReaderAt) error {
	data, err := f.DataOffset()
	if err != nil {
		return err
	}
	packed, size, at := f.CompressedSize64, f.UncompressedSize64, uint64(s.size)
	if packed > math.MaxInt64-uint64(data) {
		return zip.ErrFormat
	}

	// What does not fit into 32 bits is in an extra field, in this order.
	large := packed >= tooLarge32 || size >= tooLarge32
	version, packed32, size32, at32 := uint16(versionPlain), uint32(packed), uint32(size), uint32(at)
	var local, entry []byte
	if large {
		version, packed32, size32 = version64, tooLarge32, tooLarge32
		local = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, size), packed)
		entry = slices.Clone(local)
	}
	if at >= tooLarge32 {
		version, at32 = version64, tooLarge32
		entry = binary.LittleEndian.AppendUint64(entry, at)
	}
	common := func(b *bytes.Buffer, extra []byte) {
		put(b, version, uint16(flagUTF8), f.Method, uint16(0), uint16(date1980), f.CRC32, packed32, size32,
			uint16(len(path)), uint16(len(extra)))
	}

	var header bytes.Buffer
	put(&header, uint32(signLocal))
	local, entry = extraField(local), extraField(entry)
	common(&header, local)
	header.WriteString(path)
	header.Write(local)
	s.append(bytes.NewReader(header.Bytes()), int64(header.Len()))
	s.append(io.NewSectionReader(r, data, int64(packed)), int64(packed))

	d := &s.directory
	put(d, uint32(signEntry), version)
	common(d, entry)
	put(d, uint16(0), uint16(0), uint16(0), uint32(0), at32) // comment, disk, attributes
	d.WriteString(path)
	d.Write(entry)
	s.entries++
	return nil
}

func extraField(values []byte) []byte {
	if values == nil {
		return nil
	}
	head := binary.LittleEndian.AppendUint16(nil, extra64)
	return append(binary.LittleEndian.AppendUint16(head, uint16(len(values))), values...)
}

// addDirectory appends the directory.
func (s *subset) addDirectory() {
	d, at, size := &s.directory, uint64(s.size), uint64(s.directory.Len())
	if s.entries >= tooLarge16 || at >= tooLarge32 || size >= tooLarge32 {
		put(d, uint32(signEnd64), uint64(44), uint16(version64), uint16(version64), uint32(0), uint32(0), s.entries,
			s.entries, size, at)
		put(d, uint32(signLoc4), uint32(0), at+size, uint32(1))
	}
	entries := uint16(min(s.entries, tooLarge16))
	put(d, uint32(signEnd), uint16(0), uint16(0), entries, entries, uint32(min(size, tooLarge32)),
		uint32(min(at, tooLarge32)), uint16(0))
	s.append(bytes.NewReader(d.Bytes()), int64(d.Len()))
}

// put appends numbers of 16, 32 and 64 bits in the byte order of the format.
func put(b *bytes.Buffer, values ...any) {
	free := b.AvailableBuffer()
	for _, v := range values {
		switch v := v.(type) {
		case uint16:
			free = binary.LittleEndian.AppendUint16(free, v)
		case uint32:
			free = binary.LittleEndian.AppendUint32(free, v)
		case uint64:
			free = binary.LittleEndian.AppendUint64(free, v)
		}
	}
	b.Write(free)
}

// ReadAt implements io.ReaderAt.
func (s *subset) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("read before the start of an archive")
	}
	i, found := slices.BinarySearchFunc(s.parts, off, func(q part, at int64) int { return cmp.Compare(q.at, at) })
	if !found {
		i--
	}
	for ; n < len(p) && i < len(s.parts); i++ {
		q := s.parts[i]
		at := off + int64(n) - q.at
		if at >= q.size {
			continue
		}
		want := p[n:]
		if left := q.size - at; int64(len(want)) > left {
			want = want[:left]
		}
		m, err := q.r.ReadAt(want, at)
		n += m
		if m < len(want) {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
