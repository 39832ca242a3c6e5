package sol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestSizeOfIsTheSizeOfTheText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, `"a text"`, `12.5`, `[]`, `{}`, `[1,[],{"a":{"b":[null,"x"]}}]`,
		`{"a":"` + strings.Repeat("x", 1000) + `"}`,
	} {
		var v any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&v))
		require.InDelta(t, len(text), sol.SizeOf(v, 1<<20), float64(5+strings.Count(text, ":")+strings.Count(text, "[")), text)
	}
}

func TestSizeOfStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	v := sol.KeyValuePairs{}
	for _, c := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		v[c] = strings.Repeat(c, 100)
	}
	require.Greater(t, sol.SizeOf(v, 200), 200)
	require.Less(t, sol.SizeOf(v, 200), 500)
	require.Greater(t, sol.SizeOf(v, 10_000), 2600)
}

// FuzzSizeOf: the size is not less than half of the text's bytes that matter, and not more than the text and some bytes
// for each value.
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
		require.LessOrEqual(t, size, 9*len(text)+16)
		for limit := range 20 {
			require.Equal(t, size > limit, sol.SizeOf(v, limit) > limit)
		}
	})
}
