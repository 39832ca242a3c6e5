package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// jsonb encodes v for a jsonb column; nil pointers, maps and slices become NULL. PostgreSQL refuses U+0000, which
// scripts and clients can send: it becomes U+FFFD.
func jsonb(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	if bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	return noNUL(raw), nil
}

// noNUL replaces the escape of U+0000 in JSON, but not an escaped backslash before "u0000".
func noNUL(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		if bytes.HasPrefix(raw[i:], []byte(`\u0000`)) {
			out = append(out, `\ufffd`...)
			i += len(`\u0000`) - 1
			continue
		}
		out = append(out, raw[i], raw[i+1])
		i++
	}
	return out
}

// decode reads a jsonb column; NULL leaves v as it is.
func decode(raw []byte, v any) error {
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	return nil
}

// clean makes a text storable: PostgreSQL refuses broken UTF-8 and NUL, which scripts can print.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// timeOf is a time in UTC; NULL is the zero time.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// textOf is the reverse of nilIfEmpty.
func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
