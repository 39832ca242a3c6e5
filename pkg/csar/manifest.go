package csar

import (
	"bytes"
	"strings"
)

// Manifest is a .mf file (SOL004 clause 4.3.2).
type Manifest struct {
	// Metadata holds the keys of the metadata block in lower case, e.g. vnf_provider_id.
	Metadata map[string]string
	// Listed are the files that have a Source entry.
	Listed []Listed
	// Signed means that a CMS signature follows. It is not verified.
	Signed bool
	// Content is the part that a signature covers: all bytes before the signature. CMS is the rest, nil without one.
	Content, CMS []byte
}

// CompatibleVersions is compatible_specification_versions.
func (m *Manifest) CompatibleVersions() []string {
	return strings.FieldsFunc(
		m.Metadata["compatible_specification_versions"], func(r rune) bool { return r == ',' || r == ' ' },
	)
}

// The sections of a manifest.
type section int

const (
	sources section = iota
	metadata
	nonMano
)

// ParseManifest reads a manifest; file is its path, for errors.
func ParseManifest(data []byte, file string) (*Manifest, error) {
	m := &Manifest{Metadata: map[string]string{}}
	m.Content, m.CMS = splitSignature(data)
	var (
		in  section
		set string
		cur *Listed
	)
	err := eachLine(data, file, func(line int, text string) *Rejection {
		if m.Signed || text == "" {
			return nil
		}
		if strings.HasPrefix(text, beginBlock) {
			m.Signed = true
			return nil
		}
		key, value, ok := strings.Cut(strings.TrimPrefix(text, "- "), ":")
		if !ok {
			return metadataError(file, line, "expected \"key: value\", found "+printable(quote(text)))
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch {
		case key == "metadata" && value == "":
			in, cur = metadata, nil
		case key == "non_mano_artifact_sets" && value == "":
			in, cur = nonMano, nil
		case key == "source" || key == "name" && in == sources:
			if in == metadata {
				in = sources
			}
			m.Listed = append(m.Listed, Listed{Path: value, Line: line, Set: set})
			cur = &m.Listed[len(m.Listed)-1]
		case in == metadata:
			m.Metadata[key] = value
		case in == nonMano && value == "":
			set, cur = key, nil
		case cur != nil:
			return cur.set(file, key, value, line)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// beginBlock starts the signature at the end of a manifest.
const beginBlock = "-----BEGIN "

// splitSignature divides a manifest before the first line of its signature.
func splitSignature(data []byte) (content, signature []byte) {
	at := 0
	for line := range bytes.Lines(data) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte(beginBlock)) {
			return data[:at], data[at:]
		}
		at += len(line)
	}
	return data, nil
}

// ManifestFile is a file that the manifest lists.
type ManifestFile struct {
	// Path is the path in the package.
	Path string
	// Algorithm is the standard name of the algorithm of its hash, "" when the manifest has no hash of it.
	Algorithm string
	// Signature and Certificate are paths in the package of its own signature and the signer's certificate, "" without.
	Signature, Certificate string
}

// ManifestFiles returns the files that the manifest lists.
func (a *Archive) ManifestFiles() []ManifestFile {
	var out []ManifestFile
	for _, d := range a.info.declared {
		if d.from == a.info.Manifest {
			out = append(out, ManifestFile{
				Path: d.name, Algorithm: d.algorithm,
				Signature: a.pathOf(d.Signature), Certificate: a.pathOf(d.Certificate),
			})
		}
	}
	return out
}

// pathOf cleans a path of the metadata; one that is not valid stays and is not the path of a file.
func (a *Archive) pathOf(text string) string {
	if name, problem := cleanName(text, a.lim); problem == "" {
		return name
	}
	return text
}

// ReadManifest reads the manifest that Info names.
func (a *Archive) ReadManifest() (*Manifest, error) {
	data, err := a.ReadText(a.info.Manifest)
	if err != nil {
		return nil, err
	}
	return ParseManifest(data, a.info.Manifest)
}
