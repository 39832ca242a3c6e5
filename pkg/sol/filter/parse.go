package filter

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a filter. They are far above real use and limit the work for one
// request.
const (
	MaxLength = 8 << 10
	MaxExprs  = 32
	MaxValues = 256
	MaxDepth  = 16
)

// Parse parses a filter, after the percent decoding of the query string. An empty
// text is the filter that matches everything. The error is a *SyntaxError.
func Parse(text string) (Filter, error) {
	if text == "" {
		return Filter{}, nil
	}
	if len(text) > MaxLength {
		return Filter{}, &SyntaxError{
			Offset: MaxLength,
			Reason: fmt.Sprintf("the filter is longer than %d characters", MaxLength),
		}
	}
	p := &parser{text: text}
	f := Filter{}
	for {
		e, err := p.expr()
		if err != nil {
			return Filter{}, err
		}
		f.Exprs = append(f.Exprs, e)
		if p.done() {
			return f, nil
		}
		if len(f.Exprs) == MaxExprs {
			return Filter{}, p.fail("more than %d expressions", MaxExprs)
		}
		if !p.take(';') {
			return Filter{}, p.fail("expected ';' or the end after an expression")
		}
	}
}

type parser struct {
	text   string
	pos    int
	values int
}

func (p *parser) done() bool { return p.pos == len(p.text) }

func (p *parser) take(c byte) bool {
	if p.done() || p.text[p.pos] != c {
		return false
	}
	p.pos++
	return true
}

func (p *parser) fail(format string, args ...any) error {
	return &SyntaxError{Offset: p.pos, Reason: fmt.Sprintf(format, args...)}
}

func (p *parser) expr() (Expr, error) {
	if !p.take('(') {
		return Expr{}, p.fail("expected '(': an expression looks like (eq,attribute,value)")
	}
	op, err := p.op()
	if err != nil {
		return Expr{}, err
	}
	e := Expr{Op: op}
	if e.Path, err = p.path(); err != nil {
		return Expr{}, err
	}
	for {
		value, err := p.value()
		if err != nil {
			return Expr{}, err
		}
		e.Values = append(e.Values, value)
		if p.values++; p.values > MaxValues {
			return Expr{}, p.fail("more than %d values", MaxValues)
		}
		if p.take(')') {
			return e, nil
		}
		if !p.take(',') {
			return Expr{}, p.fail("expected ',' or ')' after a value")
		}
		if !op.Multi() {
			return Expr{}, p.fail("%s takes exactly one value; put it in quotes if it contains a comma", op)
		}
	}
}

func (p *parser) op() (Op, error) {
	start := p.pos
	word := p.until(",()")
	if op := Op(word); slices.Contains(ops, op) && p.take(',') {
		return op, nil
	}
	p.pos = start
	return "", p.fail("unknown operator %.20q; known are eq, neq, gt, lt, gte, lte, in, nin, cont and ncont", word)
}

func (p *parser) path() (Path, error) {
	var path Path
	for {
		start := p.pos
		raw := p.until(",/()'")
		if p.done() || (p.text[p.pos] != ',' && p.text[p.pos] != '/') {
			return nil, p.fail("expected ',' and a value after the attribute name")
		}
		seg, ok := segment(raw)
		if !ok {
			p.pos = start
			return nil, p.fail(
				"%.40q is not an attribute name; '~', '/', ',' and '@' are written ~0, ~1, ~a and ~b", raw,
			)
		}
		if path = append(path, seg); len(path) > MaxDepth {
			return nil, p.fail("the attribute path has more than %d parts", MaxDepth)
		}
		if p.take(',') {
			return path, nil
		}
		p.pos++ // the slash
	}
}

func segment(raw string) (Segment, bool) {
	if raw == "@key" {
		return Segment{Key: true}, true
	}
	if raw == "" || strings.Contains(raw, "@") {
		return Segment{}, false
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] != '~' {
			b.WriteByte(raw[i])
			continue
		}
		if i++; i == len(raw) {
			return Segment{}, false
		}
		switch raw[i] {
		case '0':
			b.WriteByte('~')
		case '1':
			b.WriteByte('/')
		case 'a':
			b.WriteByte(',')
		case 'b':
			b.WriteByte('@')
		default:
			return Segment{}, false
		}
	}
	return Segment{Name: b.String()}, true
}

func (p *parser) value() (string, error) {
	if p.take('\'') {
		return p.quoted()
	}
	value := p.until(",)'")
	switch {
	case p.done():
		return "", p.fail("the expression is not closed with ')'")
	case p.text[p.pos] == '\'':
		return "", p.fail("a quote inside a value needs quotes around the value, and is written twice")
	case value == "":
		return "", p.fail("a value is missing; an empty value is written ''")
	}
	return value, nil
}

func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for {
		b.WriteString(p.until("'"))
		if !p.take('\'') {
			return "", p.fail("a quoted value is not closed")
		}
		if !p.take('\'') {
			return b.String(), nil
		}
		b.WriteByte('\'') // two quotes mean one
	}
}

// until reads the text up to one of the given characters or the end.
func (p *parser) until(stop string) string {
	rest := p.text[p.pos:]
	n := strings.IndexAny(rest, stop)
	if n < 0 {
		n = len(rest)
	}
	p.pos += n
	return rest[:n]
}
