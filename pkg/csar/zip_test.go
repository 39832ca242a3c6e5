package csar_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
)

// entry is one entry of an archive made for a test.
type entry struct {
	name  string
	body  string
	mode  fs.FileMode
	store bool
	flags uint16
}

func makeZip(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Flags: e.flags}
		if e.store {
			h.Method = zip.Store
		}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		if strings.HasSuffix(e.name, "/") {
			h.Method = zip.Store
		}
		w, err := z.CreateHeader(h)
		require.NoError(tb, err)
		_, err = io.WriteString(w, e.body)
		require.NoError(tb, err)
	}
	require.NoError(tb, z.Close())
	return buf.Bytes()
}

const meta = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-by: test\n" +
	"Entry-Definitions: Definitions/top.yaml\n"

// good is a valid package with more entries added.
func good(more ...entry) []entry {
	return append([]entry{
		{name: csar.MetaPath, body: meta},
		{name: "Definitions/top.yaml", body: "tosca_definitions_version: tosca_simple_yaml_1_2\n"},
	}, more...)
}

func openZip(data []byte, lim csar.Limits) (*csar.Archive, error) {
	return csar.Open(bytes.NewReader(data), int64(len(data)), lim)
}

// verify opens and reads a whole archive.
func verify(tb testing.TB, data []byte, lim csar.Limits) (*csar.Report, error) {
	tb.Helper()
	a, err := openZip(data, lim)
	if err != nil {
		return nil, err
	}
	return a.Verify(tb.Context(), nil)
}

func requireRejection(tb testing.TB, err error, reason csar.Reason, file, detail string) {
	tb.Helper()
	var r *csar.Rejection
	require.ErrorAs(tb, err, &r)
	require.Equal(tb, reason, r.Reason, r.Error())
	require.Equal(tb, file, r.File)
	require.Contains(tb, r.Detail, detail)
	require.NotContains(tb, r.Error(), "\x00")
}

func TestHostileArchivesAreRejectedWithTheReason(t *testing.T) {
	t.Parallel()
	small := csar.DefaultLimits()
	small.Entries, small.FileBytes, small.TotalBytes, small.RatioFrom, small.Ratio = 20, 1<<20, 2<<20, 64<<10, 50
	zeros := strings.Repeat("\x00", 1<<20)

	tests := []struct {
		name   string
		data   []byte
		reason csar.Reason
		file   string
		detail string
	}{
		{"a text file", []byte("hello, I am a package"), csar.NotZip, "", "not a zip archive"},
		{"nothing", nil, csar.NotZip, "", "not a zip archive"},
		{"a truncated archive", makeZip(t, good()...)[:200], csar.NotZip, "", "not a zip archive"},
		{
			"zip slip", makeZip(t, good(entry{name: "../../etc/cron.d/x"})...), csar.UnsafeName, "../../etc/cron.d/x",
			"leads out of the package",
		},
		{
			"zip slip in the middle", makeZip(t, good(entry{name: "a/../../x"})...), csar.UnsafeName, "a/../../x",
			"leads out of the package",
		},
		{"absolute path", makeZip(t, good(entry{name: "/etc/passwd"})...), csar.UnsafeName, "/etc/passwd", "absolute"},
		{"drive letter", makeZip(t, good(entry{name: "C:/x"})...), csar.UnsafeName, "C:/x", "drive letter"},
		{"backslash", makeZip(t, good(entry{name: `..\x`})...), csar.UnsafeName, `..\x`, "backslash"},
		{"NUL in a name", makeZip(t, good(entry{name: "a\x00b"})...), csar.UnsafeName, `"a\x00b"`, "NUL"},
		{
			"invisible characters", makeZip(t, good(entry{name: "a\u202eb"})...), csar.UnsafeName, `"a\u202eb"`,
			"cannot be printed",
		},
		{"name that is not UTF-8", makeZip(t, good(entry{name: "a\xffb"})...), csar.UnsafeName, `"a\xffb"`, "UTF-8"},
		{"empty name", makeZip(t, good(entry{name: ""})...), csar.UnsafeName, "", "empty"},
		{
			"deep path", makeZip(t, good(entry{name: strings.Repeat("d/", 40) + "x"})...), csar.UnsafeName,
			strings.Repeat("d/", 40) + "x", "40 directories deep",
		},
		{
			"long path", makeZip(t, good(entry{name: strings.Repeat("a", 2000)})...), csar.UnsafeName,
			strings.Repeat("a", 200) + "…", "2000 bytes",
		},
		{
			"symbolic link",
			makeZip(t, good(entry{name: "link", body: "/etc/passwd", mode: fs.ModeSymlink | 0o777})...),
			csar.NotRegular, "link", "symbolic link",
		},
		{
			"device", makeZip(t, good(entry{name: "dev", mode: fs.ModeDevice | 0o666})...), csar.NotRegular, "dev",
			"device",
		},
		{
			"named pipe", makeZip(t, good(entry{name: "fifo", mode: fs.ModeNamedPipe | 0o666})...), csar.NotRegular,
			"fifo", "pipe",
		},
		{
			"two entries of one name", makeZip(t, good(entry{name: "Scripts/x"}, entry{name: "Scripts/x"})...),
			csar.Duplicate, "Scripts/x", "two entries",
		},
		{
			"the same name behind ./", makeZip(t, good(entry{name: "Scripts/x"}, entry{name: "./Scripts/x"})...),
			csar.Duplicate, "Scripts/x", "two entries",
		},
		{
			"names that differ in case", makeZip(t, good(entry{name: "Scripts/x"}, entry{name: "scripts/X"})...),
			csar.Duplicate, "scripts/X", "upper and lower case",
		},
		{
			"a file that is also a directory", makeZip(t, good(entry{name: "a"}, entry{name: "a/b"})...),
			csar.Duplicate, "a", "a file and a directory",
		},
		{"encrypted entry", makeZip(t, good(entry{name: "x", flags: 1})...), csar.Encrypted, "x", "encrypted"},
		{
			"unknown compression", patchMethod(makeZip(t, good(entry{name: "x", store: true})...)), csar.BadCompression,
			"x", "method 99",
		},
		{"too many entries", makeZip(t, good(many(30)...)...), csar.TooManyEntries, "", "more than 20 entries"},
		{
			"a directory far larger than the entries allowed", makeZip(t, good(many(15_000)...)...),
			csar.TooManyEntries, "", "more than 20 entries",
		},
		{
			"a file over the limit", makeZip(t, good(entry{name: "big", body: zeros + "x", store: true})...),
			csar.TooLarge, "big", "1048576 bytes",
		},
		{
			"files over the limit together",
			makeZip(t, good(stored("a", zeros), stored("b", zeros), stored("c", "x"))...), csar.TooLarge, "",
			"2097152 bytes together",
		},
		{"a bomb", makeZip(t, good(entry{name: "bomb", body: zeros})...), csar.Bomb, "bomb", "50 times"},
		{
			"a bomb whose header lies", lie(makeZip(t, good(entry{name: "bomb", body: zeros})...), len(zeros), 10),
			csar.Corrupt, "bomb", "damaged",
		},
		{"entries that share their bytes", overlapping(t), csar.Bomb, "b", "shares its bytes with a"},
		{
			"a damaged file", flip(makeZip(t, good(stored("x", "ABCDEFGH"))...), "ABCDEFGH"), csar.Corrupt, "x",
			"checksum error",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := verify(t, tc.data, small)
			requireRejection(t, err, tc.reason, tc.file, tc.detail)
		})
	}
}

func stored(name, body string) entry { return entry{name: name, body: body, store: true} }

func many(n int) []entry {
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = stored("f"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+"/"+strings.Repeat("y", i/1300), "")
	}
	return entries
}

// patchMethod sets the compression method of the last entry to an unknown one.
func patchMethod(data []byte) []byte {
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint16(data[at+10:], 99)
	return data
}

// lie changes an uncompressed size wherever a header claims it.
func lie(data []byte, from, to int) []byte {
	was, is := make([]byte, 4), make([]byte, 4)
	binary.LittleEndian.PutUint32(was, uint32(from))
	binary.LittleEndian.PutUint32(is, uint32(to))
	return bytes.ReplaceAll(data, was, is)
}

// overlapping makes an archive in which the header and the body of the entry b are in the body of a.
func overlapping(t *testing.T) []byte {
	t.Helper()
	const local, directory = "PK\x03\x04", "PK\x01\x02"
	alone := makeZip(t, stored("b", "body"))
	inner, _, _ := bytes.Cut(alone, []byte(directory))
	data := makeZip(t, good(stored("a", string(inner)), stored("b", "body"))...)
	at := bytes.LastIndex(data, []byte(directory)) // of b
	start := bytes.Index(data, append([]byte("a"), local...)) + 1
	binary.LittleEndian.PutUint32(data[at+42:], uint32(start)) // offset of the header
	return data
}

func flip(data []byte, body string) []byte {
	data[bytes.Index(data, []byte(body))] ^= 1
	return data
}

func TestReadErrorsAreNotBlamedOnThePackage(t *testing.T) {
	t.Parallel()
	data := makeZip(t, good()...)
	_, err := csar.Open(brokenDisk{}, int64(len(data)), csar.DefaultLimits())
	var r *csar.Rejection
	require.Error(t, err)
	require.NotErrorAs(t, err, &r)
	require.ErrorIs(t, err, os.ErrClosed)
}

type brokenDisk struct{}

func (brokenDisk) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }

// FuzzOpen: no archive makes the node fail or work beyond the limits, and every error is a rejection with a reason.
func FuzzOpen(f *testing.F) {
	f.Add(makeZip(f, good(entry{name: "Scripts/", body: ""}, stored("Scripts/x", "y"))...))
	f.Add(makeZip(f, good(entry{name: "Definitions/top.mf", body: "Source: x\n"}, entry{name: "../x"})...))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	lim := csar.DefaultLimits()
	lim.TotalBytes, lim.FileBytes, lim.TextBytes, lim.Entries = 1<<20, 1<<20, 64<<10, 100
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := openZip(data, lim)
		var report *csar.Report
		if err == nil {
			report, err = a.Verify(t.Context(), nil)
		}
		var r *csar.Rejection
		switch {
		case err != nil && (!errors.As(err, &r) || r.Reason == "" || r.Detail == ""):
			t.Fatalf("an error that is not a rejection: %v", err)
		case err == nil && (report.Bytes > lim.TotalBytes || report.Bytes != a.UnpackedBytes()):
			t.Fatalf("read %d bytes, the directory has %d", report.Bytes, a.UnpackedBytes())
		}
	})
}
