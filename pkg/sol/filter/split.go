package filter

import (
	"slices"
	"strings"
	"time"
)

// Columns are simple top-level attributes on which a caller evaluates expressions itself, for example in SQL.
type Columns map[string]Kind

// Kind is the kind of the values of a column.
type Kind int

// Values of Kind.
const (
	Text Kind = iota
	// Instant is a time with microseconds.
	Instant
	Truth
)

// Split separates the expressions on columns from the rest, which has to be evaluated on the documents. All
// expressions have to hold and columns are no arrays, so the result is the same. A text that may be a time equals
// other texts, and is left to the rest.
func (f Filter) Split(columns Columns) (pushed []Expr, rest Filter) {
	for _, e := range f.Exprs {
		name, simple := e.Attribute()
		kind, ok := columns[name]
		if simple && ok && !slices.ContainsFunc(e.Values, func(v string) bool { return !kind.takes(v) }) {
			pushed = append(pushed, e)
		} else {
			rest.Exprs = append(rest.Exprs, e)
		}
	}
	return pushed, rest
}

// takes says whether a column of the kind compares a value as Match does.
func (k Kind) takes(v string) bool {
	switch k {
	case Instant:
		t, err := time.Parse(time.RFC3339, v)
		return err == nil && t.Nanosecond()%int(time.Microsecond) == 0 && t.UTC().Year() > 0
	case Truth:
		return v == "true" || v == "false"
	default:
		return !mayBeTime(v) && !strings.Contains(v, "\x00")
	}
}

// mayBeTime says whether a value can be a time of RFC 3339.
func mayBeTime(v string) bool {
	return len(v) >= len("2006-01-02T15:04:05Z") && v[4] == '-' && v[7] == '-'
}
