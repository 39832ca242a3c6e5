package selector

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/sol/internal/wiretype"
)

// KeepOnly returns the selection that keeps attributes, given by their paths, and no others. The attributes need not
// exist.
func KeepOnly[T any](paths ...[]string) Selection[T] {
	t := &tree{}
	for _, path := range paths {
		if len(path) == 0 {
			return Selection[T]{}
		}
		t.add(path)
	}
	return Selection[T]{keep: t, alone: true}
}

// AppendJSON appends what Apply keeps of a resource to dst, as JSON, and decodes nothing. The resource is the JSON of a
// T as package json encodes it.
func (sel Selection[T]) AppendJSON(dst, resource []byte) ([]byte, error) {
	if sel.Whole() {
		return append(dst, resource...), nil
	}
	c := cutter{in: resource, out: dst, drops: sel.drop, alone: sel.alone}
	t := sel.keep
	if t == nil {
		t = sel.drop
	}
	c.value(t, reflect.TypeFor[T]())
	return c.out, c.err
}

// cutter copies the selected parts of a JSON text.
type cutter struct {
	in    []byte
	at    int
	out   []byte
	drops *tree // nil when the tree lists what to keep
	alone bool  // see Selection
	err   error
}

var (
	errCut  = errors.New("the JSON of the resource is broken")
	anyType = reflect.TypeFor[any]()
)

// value copies a value of a type without what the tree does not select.
func (c *cutter) value(t *tree, typ reflect.Type) {
	kind, typ := wiretype.Of(typ)
	switch next := c.next(); {
	case c.drops == nil && t.leaf():
		c.whole()
	case next == '{':
		c.object(t, kind, typ)
	case next == '[':
		elem := anyType
		if kind == wiretype.KindList {
			elem = typ.Elem()
		}
		c.list(t, elem)
	default:
		c.whole()
	}
}

func (c *cutter) list(t *tree, elem reflect.Type) {
	c.take()
	c.out = append(c.out, '[')
	for n := 0; c.err == nil && c.next() != ']'; n++ {
		if n > 0 {
			c.expect(',')
			c.out = append(c.out, ',')
		}
		c.value(t, elem)
	}
	c.take()
	c.out = append(c.out, ']')
}

func (c *cutter) object(t *tree, kind wiretype.Kind, typ reflect.Type) {
	c.take()
	c.out = append(c.out, '{')
	empty := len(c.out)
	for n := 0; c.err == nil && c.next() != '}'; n++ {
		if n > 0 {
			c.expect(',')
		}
		c.member(t, kind, typ, empty)
	}
	c.take()
	c.out = append(c.out, '}')
}

// member copies a member of an object, which is empty as long as the output has that length.
func (c *cutter) member(t *tree, kind wiretype.Kind, typ reflect.Type, empty int) {
	c.next()
	begin := c.at
	c.skip()
	raw := c.in[begin:c.at]
	c.expect(':')
	if c.err != nil {
		return
	}
	child, elem, stays := c.find(t, kind, typ, raw)
	how := c.how(child, stays)
	if elem == nil || how == leave {
		c.next()
		c.skip()
		return
	}
	before := len(c.out)
	if before > empty {
		c.out = append(c.out, ',')
	}
	c.out = append(append(c.out, raw...), ':')
	if how == copyWhole {
		c.whole()
		return
	}
	first := len(c.out)
	c.value(child, elem)
	if kind == wiretype.KindObject && elem.Kind() == reflect.Map && string(c.out[first:]) == "{}" {
		c.out = c.out[:before] // package json leaves empty maps out
	}
}

// find looks up a member whose name is raw JSON: what the tree says of it, its type, and whether it is always kept.
// elem is nil if the type has no such member.
func (c *cutter) find(
	t *tree, kind wiretype.Kind, typ reflect.Type, raw []byte,
) (child *tree, elem reflect.Type, stays bool) {
	if len(raw) < 2 {
		c.err = errCut
		return nil, nil, false
	}
	name := raw[1 : len(raw)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		var plain string
		if c.err = json.Unmarshal(raw, &plain); c.err != nil {
			return nil, nil, false
		}
		name = []byte(plain)
	}
	child = t.children[string(name)]
	switch kind {
	case wiretype.KindObject:
		all := attributesOf(typ)
		n := slices.IndexFunc(all, func(a attribute) bool { return a.Name == string(name) })
		if n < 0 {
			return nil, nil, false
		}
		return child, all[n].Type, all[n].stays && !c.alone
	case wiretype.KindMap:
		return child, typ.Elem(), false
	default:
		return child, anyType, false
	}
}

// handling says how a member is copied.
type handling int

const (
	leave handling = iota
	copyWhole
	cut
)

// how decides on a member by its part of the tree.
func (c *cutter) how(child *tree, stays bool) handling {
	switch {
	case child == nil && (stays || c.drops != nil):
		return copyWhole
	case child == nil:
		return leave
	case !child.leaf():
		return cut
	case stays || c.drops == nil:
		return copyWhole
	}
	return leave
}

// whole copies a value.
func (c *cutter) whole() {
	c.next()
	begin := c.at
	c.skip()
	c.out = append(c.out, c.in[begin:c.at]...)
}

// next is the first character of the next token; 0 at the end, which is an error.
func (c *cutter) next() byte {
	for ; c.at < len(c.in); c.at++ {
		switch b := c.in[c.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	c.err = errCut
	return 0
}

// take goes past a character.
func (c *cutter) take() { c.at = min(c.at+1, len(c.in)) }

// expect goes past a token of one character.
func (c *cutter) expect(b byte) {
	if c.next() != b {
		c.err = errCut
		return
	}
	c.take()
}

// skip goes past a value.
func (c *cutter) skip() {
	depth := 0
	for c.at < len(c.in) {
		switch c.in[c.at] {
		case '"':
			c.at = endOfString(c.in, c.at)
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':', ' ', '\t', '\n', '\r':
			c.at++
		default:
			for c.at < len(c.in) && bytes.IndexByte(ends, c.in[c.at]) < 0 {
				c.at++
			}
		}
		if depth == 0 {
			return
		}
	}
	c.err = errCut
}

// ends are the characters after a number or a word.
var ends = []byte(",]} \t\n\r:")

// endOfString is the place after the string that begins at a place.
func endOfString(in []byte, at int) int {
	for at++; at < len(in); at++ {
		n := bytes.IndexByte(in[at:], '"')
		if n < 0 {
			return len(in)
		}
		end := at + n
		slashes := 0
		for end-slashes-1 >= at && in[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
		at = end
	}
	return len(in)
}
