package csar

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// Artifact is a file that the metadata list, with its verified checksum.
type Artifact struct {
	Path        string
	ContentType string
	// Algorithm is the standard name (SHA-256 …), Hash lower-case hexadecimal.
	Algorithm, Hash string
	// Size is in bytes.
	Size int64
	// Set is the non-MANO artifact set it belongs to, "" for none.
	Set string
}

// Sum names a checksum of a file.
type Sum struct {
	Path      string
	Algorithm string // standard name
}

// Report is the result of reading a whole package.
type Report struct {
	// Artifacts in the order in which the metadata list them.
	Artifacts []Artifact
	// Files and Bytes count all regular files.
	Files int
	Bytes int64
	// Sums holds the checksums that Verify was asked for, in lower-case hexadecimal.
	Sums map[Sum]string
}

// Verify reads every file of the package once: it counts the bytes, compares the declared checksums, computes the
// checksums in also, and writes the files below dst unless dst is nil; it does not sync them. A package that is not as
// its metadata say is a *Rejection; dst then holds some of the files.
func (a *Archive) Verify(ctx context.Context, dst *os.Root, also ...Sum) (*Report, error) {
	v := &verifier{a: a, ctx: ctx, dst: dst, want: map[string][]string{}, report: &Report{Sums: map[Sum]string{}}}
	for _, d := range a.info.declared {
		v.add(d.name, d.sumAlgorithm())
	}
	for _, s := range also {
		v.add(s.Path, s.Algorithm)
	}
	for _, f := range a.files {
		if err := v.file(f); err != nil {
			return nil, err
		}
	}
	return v.report, v.compareChecksums()
}

// sumAlgorithm returns the declared algorithm, or the default for a declaration without hash.
func (d declared) sumAlgorithm() string {
	if d.algorithm == "" {
		return SHA256
	}
	return d.algorithm
}

type verifier struct {
	a      *Archive
	ctx    context.Context //nolint:containedctx // one pass over the files, it does not outlive the call
	dst    *os.Root
	want   map[string][]string // algorithms by path
	sizes  map[string]int64
	report *Report
}

func (v *verifier) add(name, algorithm string) {
	if !slices.Contains(v.want[name], algorithm) {
		v.want[name] = append(v.want[name], algorithm)
	}
}

// file reads one file to its end.
func (v *verifier) file(f file) (err error) {
	rc, err := f.open()
	if err != nil {
		return readError(f.name, err)
	}
	defer func() { err = errors.Join(err, rc.Close()) }()

	sums := make(map[string]hash.Hash, len(v.want[f.name]))
	var writers []io.Writer
	for _, algorithm := range v.want[f.name] {
		sums[algorithm] = newHash(algorithm)
		writers = append(writers, sums[algorithm])
	}
	out, err := v.create(f.name)
	if err != nil {
		return err
	}
	if out != nil {
		writers = append(writers, out)
	}
	m := &meter{v: v, f: f, r: rc}
	_, err = io.Copy(io.MultiWriter(writers...), m)
	if out != nil {
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return readError(f.name, err)
	}
	v.report.Files++
	if len(sums) > 0 {
		if v.sizes == nil {
			v.sizes = map[string]int64{}
		}
		v.sizes[f.name] = m.n
	}
	for algorithm, h := range sums {
		v.report.Sums[Sum{f.name, algorithm}] = hex.EncodeToString(h.Sum(nil))
	}
	return nil
}

func (v *verifier) create(name string) (*os.File, error) {
	if v.dst == nil {
		return nil, nil //nolint:nilnil // no file wanted
	}
	if dir := path.Dir(name); dir != "." {
		if err := v.dst.MkdirAll(dir, 0o750); err != nil {
			return nil, fmt.Errorf("extract %s: %w", name, err)
		}
	}
	out, err := v.dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return nil, fmt.Errorf("extract %s: %w", name, err)
	}
	return out, nil
}

// meter counts the decompressed bytes of a file, and fails at the limits.
type meter struct {
	v *verifier
	f file
	r io.Reader
	n int64
}

func (m *meter) Read(p []byte) (int, error) {
	if m.v.ctx.Err() != nil {
		return 0, context.Cause(m.v.ctx)
	}
	n, err := m.r.Read(p)
	m.n += int64(n)
	m.v.report.Bytes += int64(n)
	if over := m.checkLimits(); over != nil {
		return 0, over
	}
	return n, err
}

func (m *meter) checkLimits() error {
	lim, total := m.v.a.lim, m.v.report.Bytes
	switch {
	case m.n > lim.FileBytes:
		return reject(TooLarge, m.f.name, fmt.Sprintf("the file is larger than %d bytes", lim.FileBytes), "")
	case total > lim.TotalBytes:
		return reject(
			TooLarge, "", fmt.Sprintf("the files of the package are larger than %d bytes together", lim.TotalBytes), "",
		)
	case m.v.a.packed == 0: // a folder: nothing is compressed
	case m.f.size != noSize && m.n > m.f.size:
		return reject(Corrupt, m.f.name, fmt.Sprintf(
			"the archive is damaged here: the file is larger than the %d bytes that the directory declares", m.f.size,
		), "upload it again, or recreate it")
	case m.n > lim.RatioFrom && m.n/lim.Ratio > m.f.packed:
		return reject(
			Bomb, m.f.name, fmt.Sprintf("the file grows to more than %d times its compressed size", lim.Ratio),
			"store disk images as qcow2 instead of raw")
	case total > lim.RatioFrom && total/lim.Ratio > m.v.a.packed:
		return reject(Bomb, "", fmt.Sprintf("the archive grows to more than %d times its size", lim.Ratio), "")
	}
	return nil
}

// compareChecksums compares the declared checksums and returns the artifacts.
func (v *verifier) compareChecksums() error {
	seen := map[string]bool{}
	for _, d := range v.a.info.declared {
		found := v.report.Sums[Sum{d.name, d.sumAlgorithm()}]
		if d.sum != "" && d.sum != found {
			return &Rejection{
				Reason: WrongChecksum, File: d.name,
				Detail: fmt.Sprintf("the file is not the one that %s was made for: expected %s %s, found %s",
					place(d.from, d.Line), d.algorithm, d.sum, found),
				Hint: "if the file was changed on purpose, build the package again: gybe package build computes the " +
					"hashes",
			}
		}
		if seen[d.name] {
			continue
		}
		seen[d.name] = true
		v.report.Artifacts = append(v.report.Artifacts, Artifact{
			Path: d.name, ContentType: d.ContentType, Algorithm: d.sumAlgorithm(), Hash: found, Size: v.sizes[d.name],
			Set: d.Set,
		})
	}
	return nil
}

// fileOf opens a file of a folder.
func fileOf(root *os.Root, name string) file {
	return file{name: name, size: noSize, open: func() (io.ReadCloser, error) { return openRegular(root, name) }}
}

// openRegular opens a file and refuses anything else.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
