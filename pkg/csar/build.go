package csar

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Build writes the package in a source folder to w. The same folder gives the same bytes: files are sorted and have a
// constant time. For every file that TOSCA.meta or an unsigned manifest lists, Build computes the hash and writes it
// into the packed copy of that metadata file, with the algorithm of the entry or SHA-256. The folder is not changed. A
// *Rejection says why the folder is not a package.
func Build(ctx context.Context, root *os.Root, w io.Writer, lim Limits) (*Report, error) {
	a, err := OpenDir(root, lim)
	if err != nil {
		return nil, err
	}
	report, err := a.Verify(ctx, nil)
	if err != nil {
		return nil, err
	}
	replaced, err := a.withHashes(report)
	if err != nil {
		return nil, err
	}
	z := zip.NewWriter(w)
	for _, f := range a.files {
		if err := pack(ctx, z, f, replaced[f.name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return report, nil
}

// withHashes returns the content of the metadata files for the archive.
func (a *Archive) withHashes(report *Report) (map[string][]byte, error) {
	// One of the two may list the other, which then has to be finished first.
	order := []string{MetaPath, a.info.Manifest}
	for _, d := range a.info.declared {
		if d.from == MetaPath && d.name == a.info.Manifest {
			order = []string{a.info.Manifest, MetaPath}
		}
	}
	replaced := map[string][]byte{}
	for _, name := range order {
		if !a.Has(name) || name == a.info.Manifest && a.info.Signed {
			continue
		}
		data, err := a.ReadText(name)
		if err != nil {
			return nil, err
		}
		lines := map[int]declared{}
		for _, d := range a.info.declared {
			if d.from == name {
				lines[d.Line] = d
			}
		}
		replaced[name] = fillHashes(data, func(line int) []string {
			d, ok := lines[line]
			if !ok {
				return nil
			}
			sum := report.Sums[Sum{d.name, d.sumAlgorithm()}]
			if content, changed := replaced[d.name]; changed {
				sum = sumOf(d.sumAlgorithm(), content)
			}
			return []string{"Algorithm: " + d.sumAlgorithm(), "Hash: " + sum}
		})
	}
	return replaced, nil
}

func sumOf(algorithm string, data []byte) string {
	h := newHash(algorithm)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// fillHashes replaces the Algorithm and Hash lines of blocks. values returns the lines for the block that begins in a
// line, nil where none begins.
func fillHashes(data []byte, values func(line int) []string) []byte {
	var (
		out     bytes.Buffer
		pending string // the lines that belong at the end of the block
	)
	flush := func() { out.WriteString(pending); pending = "" }
	n := 0
	for raw := range bytes.Lines(data) {
		n++
		text := strings.TrimRight(string(raw), "\r\n")
		key, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), ":")
		switch {
		case pending != "" && (key == "algorithm" || key == "hash"):
			continue
		case pending != "" && strings.TrimSpace(text) == "":
			flush()
		}
		if lines := values(n); lines != nil {
			flush()
			indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
			pending = indent + strings.Join(lines, "\n"+indent) + "\n"
		}
		out.WriteString(text + "\n")
	}
	flush()
	return out.Bytes()
}

// epoch is the time of every entry: the first that the zip format can hold.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

func pack(ctx context.Context, z *zip.Writer, f file, content []byte) (err error) {
	h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch}
	h.SetMode(0o644)
	if isImage(Listed{Path: f.name}) {
		h.Method = zip.Store // already compressed, or so sparse that the reader would reject it as a decompression bomb
	}
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	if content != nil {
		_, err = w.Write(content)
		return err
	}
	r, err := f.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	_, err = io.Copy(w, readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	}))
	return err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
