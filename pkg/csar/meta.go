package csar

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Meta is TOSCA-Metadata/TOSCA.meta: the keys of block 0, and the blocks that name files.
type Meta struct {
	// EntryDefinitions is the path of the main VNFD file; OtherDefinitions are further definition files.
	EntryDefinitions string
	OtherDefinitions []string
	// Manifest, Certificate and ChangeLog are the ETSI-Entry-… keys; empty when absent.
	Manifest, Certificate, ChangeLog string
	// CreatedBy and the versions are as written.
	FileVersion, CSARVersion, CreatedBy string
	// Listed are the files that have a block of their own.
	Listed []Listed
}

// Listed is one file as TOSCA.meta or the manifest declares it. Nothing in it has been checked.
type Listed struct {
	Path        string // as written
	ContentType string
	Algorithm   string // as written; empty when absent
	Hash        string
	Set         string // non-MANO artifact set of the manifest it belongs to
	Line        int    // where its Name or Source is
	// Signature and Certificate are the paths of the file's own signature and certificate, as written.
	Signature, Certificate string
}

// ParseMeta reads TOSCA.meta: blocks of "Key: value" lines with empty lines between them. It accepts variants that
// occur in practice: CRLF, a byte order mark, keys in any case, comments, and blocks that no empty line divides.
func ParseMeta(data []byte) (*Meta, error) {
	m := &Meta{}
	var cur *Listed
	err := eachLine(data, MetaPath, func(line int, text string) *Rejection {
		if text == "" {
			return nil
		}
		key, value, ok := strings.Cut(text, ":")
		if !ok {
			return metadataError(MetaPath, line, "expected \"Key: value\", found "+printable(quote(text)))
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if key == "name" {
			m.Listed = append(m.Listed, Listed{Path: value, Line: line})
			cur = &m.Listed[len(m.Listed)-1]
			return nil
		}
		if cur == nil {
			return m.set(key, value, line)
		}
		return cur.set(MetaPath, key, value, line)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// set stores a key of block 0; unknown keys are allowed.
func (m *Meta) set(key, value string, line int) *Rejection {
	dst := map[string]*string{
		"entry-definitions":       &m.EntryDefinitions,
		"etsi-entry-manifest":     &m.Manifest,
		"entry-manifest":          &m.Manifest,
		"etsi-entry-certificate":  &m.Certificate,
		"entry-certificate":       &m.Certificate,
		"etsi-entry-change-log":   &m.ChangeLog,
		"entry-change-log":        &m.ChangeLog,
		"tosca-meta-file-version": &m.FileVersion,
		"tosca-meta-version":      &m.FileVersion,
		"csar-version":            &m.CSARVersion,
		"created-by":              &m.CreatedBy,
	}[key]
	switch {
	case key == "other-definitions":
		m.OtherDefinitions = append(m.OtherDefinitions, strings.Fields(value)...)
	case dst == nil:
	case *dst != "" && *dst != value:
		return metadataError(MetaPath, line, "the key "+printable(quote(key))+" is given twice with different values")
	default:
		*dst = value
	}
	return nil
}

// set stores a key of a file's block; unknown keys are allowed.
func (l *Listed) set(file, key, value string, line int) *Rejection {
	dst := map[string]*string{
		"content-type": &l.ContentType, "algorithm": &l.Algorithm, "hash": &l.Hash, "signature": &l.Signature,
		"certificate": &l.Certificate,
	}[key]
	switch {
	case dst == nil:
	case *dst != "" && *dst != value:
		return metadataError(file, line, "the key "+printable(quote(key))+" is given twice for "+printable(l.Path))
	default:
		*dst = value
	}
	return nil
}

func metadataError(file string, line int, detail string) *Rejection {
	return &Rejection{Reason: BadMetadata, File: file, Line: line, Detail: detail}
}

func quote(s string) string { return `"` + s + `"` }

const maxLine = 16 << 10 // bytes; a path and a hash need far less

// eachLine calls f with each line, trimmed, and with comments made empty.
func eachLine(data []byte, file string, f func(line int, text string) *Rejection) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return reject(BadMetadata, file, "the file is not UTF-8 text", "save it in the encoding UTF-8")
	}
	n := 0
	for raw := range bytes.Lines(data) {
		n++
		if len(raw) > maxLine {
			return metadataError(file, n, "the line is too long")
		}
		text := strings.TrimSpace(string(raw))
		if strings.HasPrefix(text, "#") {
			text = ""
		}
		if err := f(n, text); err != nil {
			return err
		}
	}
	return nil
}
