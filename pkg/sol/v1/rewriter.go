package v1

import "bytes"

// shape says which parts of a JSON value have another form in version 1. The parts that it does not name are the same.
type shape struct {
	// members of an object.
	members map[string]*shape
	// elements of a list.
	elements *shape
	// rewrite writes the value at the place of the rewriter in the form of version 1, and goes past it.
	rewrite func(r *rewriter)
}

// rewriter copies a JSON text with some parts replaced. It does not check the text: stored JSON is valid. A broken text
// leads to a broken copy, and never beyond the end.
type rewriter struct {
	in []byte
	at int
	// copied is the place up to which the text has been copied, or left out.
	copied int
	out    []byte
	// params are additionalParams for instantiatedVnfInfo; nil for none.
	params []byte
}

// apply copies the text in the form that a shape describes, and returns the result.
func (r *rewriter) apply(s *shape) []byte {
	r.value(s)
	r.at = len(r.in)
	r.flush()
	return r.out
}

// flush copies the text up to the present place.
func (r *rewriter) flush() {
	r.out = append(r.out, r.in[r.copied:r.at]...)
	r.copied = r.at
}

// leave goes past what has not been copied, without copying it.
func (r *rewriter) leave() { r.copied = r.at }

// value goes past a value, and rewrites the parts of it that the shape names.
func (r *rewriter) value(s *shape) {
	next := r.next()
	switch {
	case s == nil:
		r.skip()
	case s.rewrite != nil:
		s.rewrite(r)
	case s.members != nil && next == '{':
		r.object(func(name []byte) { r.value(s.members[string(name)]) })
	case s.elements != nil && next == '[':
		r.list(func() { r.value(s.elements) })
	default:
		r.skip()
	}
}

// object goes past an object. each has to go past the value of the member.
func (r *rewriter) object(each func(name []byte)) {
	for r.at++; r.at < len(r.in); {
		switch r.next() {
		case '}':
			r.at++
			return
		case '"':
			begin := r.at
			r.skip()
			name := r.in[begin+1 : max(r.at-1, begin+1)]
			if r.next() == ':' {
				r.at++
				r.next()
			}
			each(name)
		default: // a comma, or the text is broken
			r.at = min(r.at+1, len(r.in))
		}
	}
}

// list goes past a list. each has to go past an element.
func (r *rewriter) list(each func()) {
	for r.at++; r.at < len(r.in); {
		switch r.next() {
		case ']':
			r.at++
			return
		case ',':
			r.at++
		default:
			before := r.at
			each()
			if r.at == before {
				r.at = min(r.at+1, len(r.in)) // the text is broken
			}
		}
	}
}

// next goes to the next token, and returns its first character; 0 at the end.
func (r *rewriter) next() byte {
	for ; r.at < len(r.in); r.at++ {
		switch b := r.in[r.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}
	return 0
}

// skip goes past a value. Most of a text is skipped, so the loop works on variables and leaves out what a number or a
// word consists of.
func (r *rewriter) skip() {
	in, at, depth := r.in, r.at, 0
	for at < len(in) {
		switch in[at] {
		case '"':
			at = endOfText(in, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		case ',', ':', ' ', '\t', '\n', '\r':
			at++
			continue // the value goes on, or has not begun
		default:
			at++
			if depth > 0 {
				continue
			}
			for at < len(in) && bytes.IndexByte(ends, in[at]) < 0 {
				at++
			}
		}
		if depth <= 0 {
			r.at = at
			return
		}
	}
	r.at = len(in)
}

// ends are the characters after a number or a word.
var ends = []byte(",]}: \t\n\r")

// endOfText is the place after the JSON string that begins at a place.
func endOfText(in []byte, at int) int {
	at++
	n := bytes.IndexByte(in[min(at, len(in)):], '"')
	if n < 0 {
		return len(in)
	}
	if n == 0 || in[at+n-1] != '\\' {
		return at + n + 1
	}
	for ; at < len(in); at++ { // there are escapes
		switch in[at] {
		case '"':
			return at + 1
		case '\\':
			at++
		}
	}
	return len(in)
}
