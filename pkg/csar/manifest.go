package csar

import "strings"

// Manifest is a .mf file (SOL004 clause 4.3.2).
type Manifest struct {
	// Metadata holds the keys of the metadata block in lower case, e.g. vnf_provider_id.
	Metadata map[string]string
	// Listed are the files that have a Source entry.
	Listed []Listed
	// Signed means that a CMS signature follows. It is not verified.
	Signed bool
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
	var (
		in  section
		set string
		cur *Listed
	)
	err := eachLine(data, file, func(line int, text string) *Rejection {
		if m.Signed || text == "" {
			return nil
		}
		if strings.HasPrefix(text, "-----BEGIN ") {
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
