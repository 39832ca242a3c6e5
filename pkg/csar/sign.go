package csar

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// Signing says how a package is signed with security option 1.
type Signing struct {
	// Metadata are the lines of the metadata block, if the package has no manifest yet.
	Metadata []string
	// Hash is the algorithm of the digests that Sign needs.
	Hash crypto.Hash
	// Sign returns a CMS signature in PEM of content with this digest.
	Sign func(digest []byte) ([]byte, error)
	// Artifacts also signs each file that the metadata list, except the VNFD.
	Artifacts bool
}

// SignatureSuffix is what the name of an artifact's signature adds to the name of the artifact.
const SignatureSuffix = ".cms"

// Sign writes a signed copy of a package to w: its manifest lists all files with their hashes and ends with the
// signature. A package without manifest gets one. The same package and signatures give the same bytes.
func (a *Archive) Sign(ctx context.Context, w io.Writer, s Signing) error {
	if a.info.Signed {
		return reject(Untrusted, a.info.Manifest, "the package has a signature already",
			"sign it with option 2, or remove the signature from the manifest")
	}
	replaced, err := a.signedFiles(ctx, s)
	if err != nil {
		return err
	}
	names := a.Names()
	for name := range maps.Keys(replaced) {
		if !a.Has(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	z := zip.NewWriter(w)
	for _, name := range names {
		f := file{name: name}
		if a.Has(name) {
			f = a.files[a.index[name]]
		}
		if err := pack(ctx, z, f, replaced[name]); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	return nil
}

// signedFiles returns the files that the signed copy has in addition, or with other content.
func (a *Archive) signedFiles(ctx context.Context, s Signing) (map[string][]byte, error) {
	var also []Sum
	for _, f := range a.files {
		also = append(also, Sum{f.name, SHA256}, Sum{f.name, s.algorithm()})
	}
	report, err := a.Verify(ctx, nil, also...)
	if err != nil {
		return nil, err
	}
	for _, d := range a.info.declared {
		if d.from == MetaPath && d.name == a.info.Manifest {
			return nil, &Rejection{
				Reason: BadMetadata, File: MetaPath, Line: d.Line, Detail: "the manifest is listed with its hash here",
				Hint: "remove the block: the signed manifest lists " + MetaPath,
			}
		}
	}
	files, err := a.withHashes(report)
	if err != nil {
		return nil, err
	}
	name, text, err := a.manifestToSign(files, s.Metadata)
	if err != nil {
		return nil, err
	}
	var signatures map[string]string
	if s.Artifacts {
		if signatures, err = a.signArtifacts(files, report, s, name); err != nil {
			return nil, err
		}
	}
	text = a.listAll(text, name, files, report, signatures)
	h := s.Hash.New()
	h.Write(text)
	signature, err := s.Sign(h.Sum(nil))
	if err != nil {
		return nil, err
	}
	files[name] = append(text, signature...)
	return files, nil
}

func (s Signing) algorithm() string {
	if name := s.Hash.String(); name == SHA384 || name == SHA512 {
		return name
	}
	return SHA256
}

// manifestToSign returns the manifest with current hashes, or a new one, which TOSCA.meta then names.
func (a *Archive) manifestToSign(files map[string][]byte, metadata []string) (name string, text []byte, err error) {
	if a.info.Manifest != "" {
		text := files[a.info.Manifest]
		if !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		return a.info.Manifest, text, nil
	}
	name = strings.TrimSuffix(path.Base(a.info.Entry), path.Ext(a.info.Entry)) + ".mf"
	if a.Has(name) {
		return "", nil, reject(BadMetadata, name, "TOSCA.meta does not name this manifest",
			"add \"ETSI-Entry-Manifest: "+name+"\" to its first block")
	}
	var meta bytes.Buffer
	for line := range bytes.Lines(files[MetaPath]) {
		meta.Write(bytes.TrimRight(line, "\r\n"))
		meta.WriteByte('\n')
		key, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(string(line))), ":")
		if strings.TrimSpace(strings.TrimPrefix(key, "\ufeff")) == "entry-definitions" {
			meta.WriteString("ETSI-Entry-Manifest: " + name + "\n")
		}
	}
	files[MetaPath] = meta.Bytes()
	return name, []byte("metadata:\n  " + strings.Join(metadata, "\n  ") + "\n"), nil
}

// signArtifacts adds signatures of artifacts to files, and returns their paths by artifact.
func (a *Archive) signArtifacts(
	files map[string][]byte, report *Report, s Signing, manifest string,
) (map[string]string, error) {
	signatures := map[string]string{}
	for _, d := range a.info.declared {
		_, changes := files[d.name]
		if changes || d.name == manifest || d.name == a.info.Entry || d.name == a.info.Certificate || isYAML(d.name) &&
			strings.HasPrefix(d.name, "Definitions/") || signatures[d.name] != "" || d.Signature != "" {
			continue
		}
		digest, err := hex.DecodeString(report.Sums[Sum{d.name, s.algorithm()}])
		if err != nil {
			return nil, err
		}
		name := d.name + SignatureSuffix
		if a.Has(name) {
			return nil, reject(
				Duplicate, name, "the package has a file with the name of a signature", "rename the file",
			)
		}
		if files[name], err = s.Sign(digest); err != nil {
			return nil, err
		}
		signatures[d.name] = name
	}
	return signatures, nil
}

// listAll adds the files that the manifest does not list, and the names of signatures.
func (a *Archive) listAll(
	text []byte, manifest string, files map[string][]byte, report *Report, signatures map[string]string,
) []byte {
	listed := map[string]bool{manifest: true}
	blocks := map[int]declared{}
	for _, d := range a.info.declared {
		if d.from == manifest {
			listed[d.name], blocks[d.Line] = true, d
		}
	}
	text = fillHashes(text, func(line int) []string {
		d, ok := blocks[line]
		if !ok {
			return nil
		}
		algorithm := d.sumAlgorithm()
		if algorithm == SHA224 {
			algorithm = SHA256
		}
		lines := []string{"Algorithm: " + algorithm, "Hash: " + report.Sums[Sum{d.name, algorithm}]}
		if content, changed := files[d.name]; changed {
			lines[1] = "Hash: " + sumOf(algorithm, content)
		}
		if name := signatures[d.name]; name != "" {
			lines = append(lines, "Signature: "+name)
		}
		return lines
	})
	var more bytes.Buffer
	for _, f := range a.files {
		if listed[f.name] {
			continue
		}
		sum := report.Sums[Sum{f.name, SHA256}]
		if content, changed := files[f.name]; changed {
			sum = sumOf(SHA256, content)
		}
		more.WriteString("\nSource: " + f.name + "\nAlgorithm: " + SHA256 + "\nHash: " + sum + "\n")
		if name := signatures[f.name]; name != "" {
			more.WriteString("Signature: " + name + "\n")
		}
	}
	before, after := splitSets(text)
	return slices.Concat(before, more.Bytes(), after)
}

// splitSets divides a manifest before its sets of non-MANO artifacts, which would take in files that are listed after
// them.
func splitSets(text []byte) (before, sets []byte) {
	at := 0
	for line := range bytes.Lines(text) {
		if strings.EqualFold(string(bytes.TrimSpace(line)), "non_mano_artifact_sets:") {
			return text[:at], append([]byte("\n"), text[at:]...)
		}
		at += len(line)
	}
	return text, nil
}

// PackContainer writes a container (SOL004 option 2) to w. name is that of the files in it, without extension. The
// archive is not compressed, so that it can be read in place.
func PackContainer(
	ctx context.Context, w io.Writer, name string, archive io.Reader, signature, certificate []byte,
) error {
	z := zip.NewWriter(w)
	for _, f := range []struct {
		ext  string
		body io.Reader
	}{{".csar", archive}, {".cms", bytes.NewReader(signature)}, {".cert", bytes.NewReader(certificate)}} {
		h := &zip.FileHeader{Name: name + f.ext, Method: zip.Store, Modified: epoch}
		h.SetMode(0o644)
		entry, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.Copy(entry, readerFunc(func(p []byte) (int, error) {
				if ctx.Err() != nil {
					return 0, context.Cause(ctx)
				}
				return f.body.Read(p)
			}))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("pack %s: %w", name+f.ext, err), z.Close())
		}
	}
	return z.Close()
}
