package remote

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Whatever a node prints must be storable, and must not depend on how the network cut it into pieces.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\nb\r\nc"), 1)
	f.Add([]byte("\xff\x00\x1b[0m\r\n"), 2)
	f.Add([]byte(strings.Repeat("é", MaxLine)+"\n"), 7)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		size = max(1, size)
		split := func(size int) []string {
			var lines []string
			s := &splitter{line: func(l string) { lines = append(lines, l) }}
			for rest := in; len(rest) > 0; {
				n := min(size, len(rest))
				_, _ = s.Write(rest[:n])
				rest = rest[n:]
			}
			s.flush(false)
			return lines
		}
		lines := split(size)
		require.Equal(t, split(len(in)+1), lines)
		for _, l := range lines {
			require.True(t, utf8.ValidString(l))
			require.LessOrEqual(t, len(l), 3*MaxLine+len(cut))
			require.Equal(t, -1, strings.IndexFunc(l, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }))
		}
	})
}
