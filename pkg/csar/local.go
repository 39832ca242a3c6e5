package csar

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
)

// localHeader is the fixed part of the header in front of an entry's data (PKZIP application note, 4.3.7). Its values
// repeat those of the directory.
type localHeader [30]byte

func (h *localHeader) flags() uint16 { return binary.LittleEndian.Uint16(h[6:]) }

func (h *localHeader) method() uint16 { return binary.LittleEndian.Uint16(h[8:]) }

// sums are the CRC-32, the compressed and the uncompressed size.
func (h *localHeader) sums() [3]uint32 {
	return [3]uint32{
		binary.LittleEndian.Uint32(h[14:]), binary.LittleEndian.Uint32(h[18:]), binary.LittleEndian.Uint32(h[22:]),
	}
}

func (h *localHeader) nameBytes() int { return int(binary.LittleEndian.Uint16(h[26:])) }

// headerReader notices the header that archive/zip reads when it looks for an entry's data: archive/zip itself does not
// compare it with the directory.
type headerReader struct {
	r      io.ReaderAt
	header localHeader
	at     int64
	off    bool // all entries have been checked
}

// ReadAt implements io.ReaderAt.
func (h *headerReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.r.ReadAt(p, off)
	if !h.off && n == len(h.header) {
		h.at = off
		copy(h.header[:], p)
	}
	return n, err
}

// dataOffset returns the offsets of an entry's header and data. It rejects an entry whose header does not agree with
// the directory.
func (h *headerReader) dataOffset(f *zip.File) (header, data int64, err error) {
	data, err = f.DataOffset()
	if err != nil {
		return 0, 0, readError(f.Name, err)
	}
	damaged := func(what string) error {
		return reject(Corrupt, f.Name, "the archive is damaged here: the entry's header and the directory have "+
			"different "+what, "upload it again, or recreate it")
	}
	if h.header.nameBytes() != len(f.Name) {
		return 0, 0, damaged("names")
	}
	name := make([]byte, len(f.Name))
	if _, err := h.r.ReadAt(name, h.at+int64(len(h.header))); err != nil {
		return 0, 0, readError(f.Name, err)
	}
	switch {
	case string(name) != f.Name:
		return 0, 0, damaged("names")
	case h.header.method() != f.Method:
		return 0, 0, damaged("compression methods")
	case (h.header.flags()^f.Flags)&(flagEncrypted|flagDescriptor) != 0:
		return 0, 0, damaged("flags")
	case f.Flags&flagDescriptor != 0: // the values follow the data; the reader compares the CRC-32
		return h.at, data, nil
	}
	for i, value := range h.header.sums() {
		const moved = 0xFFFFFFFF // to the extra field, as a 64-bit value
		what, want := [...]string{"CRC-32 values", "sizes", "sizes"}[i],
			[...]uint64{uint64(f.CRC32), f.CompressedSize64, f.UncompressedSize64}[i]
		if uint64(value) != want && (i == 0 || value != moved) {
			return 0, 0, damaged(fmt.Sprintf("%s (%d, %d)", what, value, want))
		}
	}
	return h.at, data, nil
}
