package sol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestSizeOfCountsValuesAndTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`null`: 32, `true`: 32, `"a text"`: 38, `12.5`: 36, `[]`: 32, `{}`: 32, `{"name":[]}`: 68,
		`[1,[],{"a":{"b":[null,"x"]}}]`:             8*32 + 4,
		`{"a":"` + strings.Repeat("x", 1000) + `"}`: 2*32 + 1001,
	} {
		var v any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&v))
		require.Equal(t, want, sol.SizeOf(v, 1<<20), text)
	}
}

func TestSizeOfStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	v := sol.KeyValuePairs{}
	for c := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyz", "") {
		v[c] = strings.Repeat(c, 100)
	}
	require.Greater(t, sol.SizeOf(v, 200), 200)
	require.Less(t, sol.SizeOf(v, 200), 500)
	require.Greater(t, sol.SizeOf(v, 10_000), 2600)
}

// FuzzSizeOf: the size is not less than the text without escapes, and not more than the text and some bytes for each
// value.
func FuzzSizeOf(f *testing.F) {
	for _, s := range []string{`{"a":[[],{},"x",null,1e9]}`, `"\u0000"`, `[[[[]]]]`, `{"":{"":""}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		const all = 1 << 40
		size := sol.SizeOf(v, all)
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		require.LessOrEqual(t, len(raw), 6*size+16, "escapes take up to six bytes for one")
		require.LessOrEqual(t, size, (sol.ValueSize+3)*len(text), "an invalid byte becomes U+FFFD")
		for limit := range 20 {
			require.Equal(t, size > limit, sol.SizeOf(v, limit) > limit)
		}
	})
}
