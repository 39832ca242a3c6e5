package store

import (
	"bytes"
	"encoding/json"
	"time"
)

// table describes where values of T are kept. Select lists, INSERT, UPDATE, sealing and the fingerprint are made from
// it, so a new column is a new line here and a migration.
type table[T any] struct {
	name  string
	alias string
	id    func(*T) string
	// columns begin with the one of the id: sealed ones are opened with it.
	columns []column[T]
	// valid is the assignment of an UPDATE that keeps rendered_version correct (see rendered_row.go). It names the row
	// by the alias.
	valid string
	// hashed says that a row has a fingerprint.
	hashed bool
}

// column describes a column and the part of T that it keeps.
type column[T any] struct {
	name   string
	traits trait
	// expr is what a select list has instead of the column, for a value that the table does not keep.
	expr string
	// encode makes the column's value, before it is sealed; nil is NULL.
	encode func(*T) (any, error)
	// target returns where to scan the column into, and what to do afterwards (may be nil).
	target func(*T) (dest any, finish func() error)
	// bytes is where a document or a sealed value goes after it was scanned and opened.
	bytes func(v *T, plain []byte) error
}

// trait says how a column is used.
type trait uint

const (
	fixed     trait = 1 << iota // an UPDATE does not change it
	large                       // brief lists leave it out
	sealed                      // sealed with the id of the row; large, too
	optional                    // NULL is not part of the fingerprint: rows from before the column keep theirs
	unhashed                    // no part of the fingerprint
	claimOnly                   // only claims read it
	writeOnly                   // never read
	rendered                    // made by package render
	derived                     // no argument of an INSERT or UPDATE: the statement itself writes it, or the database
)

func (t trait) has(other trait) bool { return t&other != 0 }

// sum combines traits.
func sum(traits []trait) (t trait) {
	for _, other := range traits {
		t |= other
	}
	return t
}

// text is a column of characters.
func text[T any, S ~string](name string, field func(*T) *S, traits ...trait) column[T] {
	return column[T]{
		name: name, traits: sum(traits),
		encode: func(v *T) (any, error) { return clean(string(*field(v))), nil },
		target: func(v *T) (any, func() error) {
			var got string
			return &got, func() error { *field(v) = S(got); return nil }
		},
	}
}

// maybeText is a column that is NULL for "".
func maybeText[T any](name string, field func(*T) *string, traits ...trait) column[T] {
	return column[T]{
		name: name, traits: sum(traits),
		encode: func(v *T) (any, error) { return nilIfEmpty(clean(*field(v))), nil },
		target: func(v *T) (any, func() error) {
			var got *string
			return &got, func() error { *field(v) = textOf(got); return nil }
		},
	}
}

// nilIfEmpty makes "" a NULL.
func nilIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// scalar is a column of numbers or truth values.
func scalar[T any, S int | int64 | uint64 | bool](name string, field func(*T) *S, traits ...trait) column[T] {
	return column[T]{
		name: name, traits: sum(traits),
		encode: func(v *T) (any, error) { return *field(v), nil },
		target: func(v *T) (any, func() error) { return field(v), nil },
	}
}

// instant is a column of times; the zero time is NULL.
func instant[T any](name string, field func(*T) *time.Time, traits ...trait) column[T] {
	return column[T]{
		name: name, traits: sum(traits) | unhashed,
		encode: func(v *T) (any, error) {
			if t := *field(v); !t.IsZero() {
				return t, nil
			}
			return nil, nil
		},
		target: func(v *T) (any, func() error) {
			var got *time.Time
			return &got, func() error { *field(v) = timeOf(got); return nil }
		},
	}
}

// within is a column of a part of T that a pointer refers to; it is NULL while the pointer is nil.
func within[T, P, F any](name string, part func(*T) **P, field func(*P) *F, traits ...trait) column[T] {
	return column[T]{
		name: name, traits: sum(traits),
		encode: func(v *T) (any, error) {
			if p := *part(v); p != nil {
				return *field(p), nil
			}
			return nil, nil
		},
		target: func(v *T) (any, func() error) {
			var got *F
			return &got, func() error {
				if got == nil {
					return nil
				}
				if t, ok := any(got).(*time.Time); ok {
					*t = t.UTC()
				}
				p := part(v)
				if *p == nil {
					*p = new(P)
				}
				*field(*p) = *got
				return nil
			}
		},
	}
}

// document is a column of JSON; nil is NULL.
func document[T, F any](name string, field func(*T) *F, traits ...trait) column[T] {
	return bytesColumn(name, sum(traits), func(v *T) ([]byte, error) { return jsonb(*field(v)) },
		func(v *T, plain []byte) error {
			return decode(plain, field(v))
		})
}

// rawDocument is a column of JSON that T has as it is.
func rawDocument[T any](name string, field func(*T) *json.RawMessage, traits ...trait) column[T] {
	return bytesColumn(name, sum(traits), func(v *T) ([]byte, error) { return noNUL(*field(v)), nil },
		func(v *T, plain []byte) error {
			*field(v) = plain
			return nil
		})
}

// sealedDocument is a column of sealed JSON; nil is NULL.
func sealedDocument[T, F any](name string, field func(*T) *F, traits ...trait) column[T] {
	return bytesColumn(name, sum(traits)|sealed|large, func(v *T) ([]byte, error) {
		raw, err := json.Marshal(*field(v))
		if err != nil || bytes.Equal(raw, []byte("null")) {
			return nil, err
		}
		return raw, nil
	}, func(v *T, plain []byte) error { return decode(plain, field(v)) })
}

// sealedRaw is a column of sealed JSON that T has as text; an empty text is NULL.
func sealedRaw[T any, F ~[]byte | ~string](name string, field func(*T) *F, traits ...trait) column[T] {
	return bytesColumn(name, sum(traits)|sealed|large, func(v *T) ([]byte, error) {
		if len(*field(v)) == 0 {
			return nil, nil
		}
		return []byte(*field(v)), nil
	}, func(v *T, plain []byte) error {
		*field(v) = F(plain)
		return nil
	})
}

func bytesColumn[T any](name string, t trait, encode func(*T) ([]byte, error), put func(*T, []byte) error) column[T] {
	return column[T]{
		name: name, traits: t, bytes: put,
		encode: func(v *T) (any, error) {
			raw, err := encode(v)
			if err != nil || raw == nil {
				return nil, err
			}
			return raw, nil
		},
	}
}
