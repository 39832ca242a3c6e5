package store

import (
	"strconv"

	"github.com/gybe-nfv/gybe/pkg/lcm/render"
)

// The public JSON of an instance or operation is stored with its row. It is valid while rendered_version is the version
// of the row and rendered_format is format. Every UPDATE that counts the version up also writes rendered_version, by
// table.valid. A node of another release writes another format or leaves rendered_version as it was. Then the row is
// rendered again when it is read (refresh).

// format is render.Format as SQL.
var format = strconv.Itoa(render.Format)

// renderedJSON is a column of rendered JSON; nil is NULL.
func renderedJSON[T any](name string, encode func(*T) ([]byte, error), traits ...trait) column[T] {
	return column[T]{
		name: name, traits: sum(traits) | rendered | writeOnly | unhashed,
		encode: func(v *T) (any, error) {
			raw, err := encode(v)
			if err != nil || raw == nil {
				return nil, err
			}
			return noNUL(raw), nil
		},
	}
}

// renderedText is a column of a text that was made with the JSON.
func renderedText[T any](name string, text func(*T) string, traits ...trait) column[T] {
	return column[T]{
		name: name, traits: sum(traits) | rendered | writeOnly | unhashed,
		encode: func(v *T) (any, error) { return text(v), nil },
	}
}

// renderedVersion is the version of the row that was rendered.
func renderedVersion[T any](version func(*T) int64) column[T] {
	return column[T]{
		name: "rendered_version", traits: fixed | rendered | writeOnly | unhashed,
		encode: func(v *T) (any, error) { return version(v), nil },
	}
}

// renderedFormat is the form of the JSON.
func renderedFormat[T any](traits ...trait) column[T] {
	return column[T]{
		name: "rendered_format", traits: sum(traits) | rendered | writeOnly | unhashed,
		encode: func(*T) (any, error) { return render.Format, nil },
	}
}
