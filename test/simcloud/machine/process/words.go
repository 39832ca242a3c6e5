package process

import "strings"

// Words splits a line of a configuration file at blanks; a pair of quotes of the given kinds protects them. With a
// comment character the line ends there.
func Words(line, quotes, comment string) []string {
	var out []string
	var b strings.Builder
	quote, in := rune(0), false
	end := func() {
		if in {
			out = append(out, b.String())
		}
		b.Reset()
		in = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && strings.ContainsRune(quotes, r):
			quote, in = r, true
		case quote == 0 && strings.ContainsRune(comment, r):
			end()
			return out
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			end()
		default:
			b.WriteRune(r)
			in = true
		}
	}
	end()
	return out
}
