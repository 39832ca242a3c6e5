package coreutils

import (
	"errors"
	"regexp"
	"strings"
)

var errBackref = errors.New("back-references in a pattern are not simulated")

// compile turns a POSIX basic or extended expression into a Go one with leftmost-longest matching.
func compile(pat string, extended, fold bool) (*regexp.Regexp, error) {
	var b strings.Builder
	if fold {
		b.WriteString("(?i)")
	}
	start := true // at the start of a (sub)expression, where * is literal in a basic one
	for i := 0; i < len(pat); i++ {
		c := pat[i]
		switch {
		case c == '[':
			end := bracketEnd(pat, i)
			if end < 0 {
				return nil, errors.New("unmatched [, [^, [:, [., or [=")
			}
			b.WriteString(bracket(pat[i+1 : end]))
			i = end
		case c == '\\' && i+1 < len(pat):
			i++
			switch e := pat[i]; {
			case strings.IndexByte("(){}|+?", e) >= 0:
				if extended {
					b.WriteByte('\\')
				}
				b.WriteByte(e)
				start = !extended && (e == '(' || e == '|')
				continue
			case e == '<' || e == '>':
				b.WriteString(`\b`)
			case e >= '1' && e <= '9':
				return nil, errBackref
			case strings.IndexByte("wWsSbB", e) >= 0:
				b.WriteString(`\` + string(e))
			case e == 'n':
				b.WriteString(`\n`)
			case e == 't':
				b.WriteString(`\t`)
			case e == '`':
				b.WriteString(`\A`)
			case e == '\'':
				b.WriteString(`\z`)
			default:
				b.WriteString(regexp.QuoteMeta(string(e)))
			}
		case !extended && strings.IndexByte("(){}|+?", c) >= 0:
			b.WriteString(`\` + string(c))
		case !extended && c == '*' && start:
			b.WriteString(`\*`)
		case !extended && c == '^' && !start:
			b.WriteString(`\^`)
		case !extended && c == '$' && i+1 < len(pat) && !strings.HasPrefix(pat[i+1:], `\)`) &&
			!strings.HasPrefix(pat[i+1:], `\|`):
			b.WriteString(`\$`)
		case c == '^':
			b.WriteByte(c)
			continue // still the start
		case extended && c == '{' && (i+1 == len(pat) || pat[i+1] < '0' || pat[i+1] > '9'):
			b.WriteString(`\{`)
		default:
			b.WriteByte(c)
		}
		start = extended && (c == '(' || c == '|')
	}
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, err
	}
	re.Longest()
	return re, nil
}

// bracketEnd is the index of the ] that closes the bracket expression at i.
func bracketEnd(pat string, i int) int {
	j := i + 1
	if j < len(pat) && pat[j] == '^' {
		j++
	}
	if j < len(pat) && pat[j] == ']' {
		j++
	}
	for ; j < len(pat); j++ {
		if pat[j] == '[' && j+1 < len(pat) && strings.IndexByte(":.=", pat[j+1]) >= 0 {
			if k := strings.Index(pat[j+2:], string(pat[j+1])+"]"); k >= 0 {
				j += 2 + k + 1
				continue
			}
		}
		if pat[j] == ']' {
			return j
		}
	}
	return -1
}

// bracket quotes what is special in Go's bracket expressions but not in POSIX ones.
func bracket(in string) string {
	var b strings.Builder
	b.WriteByte('[')
	if strings.HasPrefix(in, "^") {
		b.WriteByte('^')
		in = in[1:]
	}
	for i := 0; i < len(in); i++ {
		if in[i] == '[' && i+1 < len(in) && in[i+1] == ':' {
			if k := strings.Index(in[i:], ":]"); k >= 0 {
				b.WriteString(in[i : i+k+2])
				i += k + 1
				continue
			}
		}
		switch c := in[i]; c {
		case '\\':
			// GNU tools take \n, \t and \] here as sed does; a lone backslash is itself.
			if i+1 < len(in) && (in[i+1] == 'n' || in[i+1] == 't') {
				b.WriteString(in[i : i+2])
				i++
			} else {
				b.WriteString(`\\`)
			}
		case '[', ']':
			b.WriteString(`\` + string(c))
		case '&', '~', '^':
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(']')
	return b.String()
}
