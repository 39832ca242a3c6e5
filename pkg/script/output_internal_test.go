package script

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzOutput: the output of a script is stored and shown without its secrets, as text, within the limits.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("a\nthe password is s3cret-value\r\n\x00\xff"), "s3cret-value", 3)
	f.Add([]byte("Authorization: Basic czNjcmV0\n"+strings.Repeat("x", 3*maxLine)), "line one\nline two", 1000)
	f.Add([]byte("pin 12\n123\n"), "12", 1)
	f.Add([]byte("\x890 %890"), "\x890", 1)
	f.Add([]byte("from se\x01cret\rto value"), "se\x01cret\rvalue", 100)
	f.Fuzz(func(t *testing.T, out []byte, secret string, size int) {
		o := newOutput([]string{secret})
		for rest := out; len(rest) > 0; {
			n := min(max(1, size), len(rest))
			_, err := o.stdout.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		o.flush()
		var lines []string
		o.takeLines(func(l string) { lines = append(lines, l) })
		lines = append(lines, o.lastLine())
		total := 0
		for _, l := range lines {
			total += len(l)
			require.True(t, utf8.ValidString(l))
			require.Equal(t, -1, strings.IndexFunc(l, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }))
			require.LessOrEqual(t, len(l), maxLine)
			for part := range strings.FieldsFuncSeq(secret, isLineEnd) {
				if part = printable(part); len(part) >= 4 && isPlain(part) {
					require.NotContains(t, l, part)
				}
			}
		}
		require.LessOrEqual(t, total, maxPending+2*maxLine)
		require.LessOrEqual(t, len(o.lastOutput()), maxErrorText+len("…"))
	})
}

// isPlain says that a secret has no characters of which masks consist, or that are removed or replaced.
func isPlain(secret string) bool {
	return !strings.ContainsFunc(secret, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) || r == utf8.RuneError
	})
}
