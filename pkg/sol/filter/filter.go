// Package filter implements attribute-based filters of SOL013 §5.2: a parser
// that returns a small syntax tree, a check of that tree against the Go type that
// is served, and an evaluation over decoded JSON.
//
//	filter=(eq,instantiationState,INSTANTIATED);(in,vnfdId,a,b)
//
// All expressions must hold. The tree is exported so that a store can answer
// simple expressions itself; see Filter.Split.
package filter

import (
	"fmt"
	"strings"
)

// Op is a comparison.
type Op string

// Values of Op. The first six take one value, the others one or more.
const (
	Eq    Op = "eq"
	Neq   Op = "neq"
	Gt    Op = "gt"
	Lt    Op = "lt"
	Gte   Op = "gte"
	Lte   Op = "lte"
	In    Op = "in"
	Nin   Op = "nin"
	Cont  Op = "cont"
	Ncont Op = "ncont"
)

var ops = []Op{Eq, Neq, Gt, Lt, Gte, Lte, In, Nin, Cont, Ncont}

// Multi reports whether the operator takes more than one value.
func (o Op) Multi() bool {
	return o == In || o == Nin || o == Cont || o == Ncont
}

// Ordered reports whether the operator needs an order of the values.
func (o Op) Ordered() bool {
	return o == Gt || o == Lt || o == Gte || o == Lte
}

// Segment is one step of an attribute path: a name, or @key, which means
// the key of a map's entry.
type Segment struct {
	Name string
	// Key marks @key; Name is empty then.
	Key bool
}

// Path leads to an attribute from the top of the resource.
type Path []Segment

// Expr is one simple expression.
type Expr struct {
	Op     Op
	Path   Path
	Values []string
}

// Filter is a conjunction of expressions; the zero value matches everything.
type Filter struct {
	Exprs []Expr
}

// SyntaxError reports a filter with invalid syntax; the answer is 400.
type SyntaxError struct {
	// Offset is the byte in the filter where the problem was found.
	Offset int
	// Reason is a sentence for the user.
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("filter, character %d: %s", e.Offset+1, e.Reason)
}

// Empty reports whether the filter matches everything.
func (f Filter) Empty() bool { return len(f.Exprs) == 0 }

// Attribute returns the name of the attribute when the path is a single name.
func (e Expr) Attribute() (string, bool) {
	if len(e.Path) != 1 || e.Path[0].Key {
		return "", false
	}
	return e.Path[0].Name, true
}

// String writes the filter in canonical form; it parses to the same tree.
func (f Filter) String() string {
	var b strings.Builder
	for i, e := range f.Exprs {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString("(" + string(e.Op) + "," + e.Path.String())
		for _, v := range e.Values {
			b.WriteString("," + quote(v))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// String writes the path with its escapes.
func (p Path) String() string {
	parts := make([]string, 0, len(p))
	for _, s := range p {
		if s.Key {
			parts = append(parts, "@key")
			continue
		}
		parts = append(parts, nameEscaper.Replace(s.Name))
	}
	return strings.Join(parts, "/")
}

var nameEscaper = strings.NewReplacer("~", "~0", "/", "~1", ",", "~a", "@", "~b")

func quote(v string) string {
	if v != "" && !strings.ContainsAny(v, ",)'") {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}
