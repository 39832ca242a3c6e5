package lcm

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// FuzzMergeRaw: objects that are not decoded are merged and compared as decoded ones.
func FuzzMergeRaw(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":"b"}`, `{"a":"c"}`},
		{`{"a":{"b":"c","d":[1e300]},"same":{"x":[]}}`, `{"a":{"b":"d","d":null},"z":{"y":null}}`},
		{`{"a":1,"b":2}`, `{"a":null,"b":null}`},
		{`{"a":1}`, `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, `{"a":1}`},
		{`{"\u003c":null,"ä":"\u0000"}`, `{"<":{},"ä":"\u2028"}`},
		{`{}`, `{"a":{}}`},
		{`null`, `{"a":null}`},
		{`{"a":1}`, `null`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, target, patch string) {
		var a, p sol.KeyValuePairs
		if json.Unmarshal([]byte(target), &a) != nil || json.Unmarshal([]byte(patch), &p) != nil {
			return
		}
		raw := func(kv sol.KeyValuePairs) sol.RawPairs {
			out, err := kv.Raw()
			require.NoError(t, err)
			return out
		}
		merged, err := mergeRaw(raw(a), p)
		require.NoError(t, err)
		require.Equal(t, raw(mergePairs(a, p)), merged)

		for _, other := range []sol.KeyValuePairs{mergePairs(a, p), p, a} {
			d, err := differenceOfRaw(raw(a), raw(other))
			require.NoError(t, err)
			require.Equal(t, sol.KeyValuePairs(difference(a, other)), d)
		}
	})
}

// TestMergeRawDecodesTheChangedMembersOnly: a member that cannot be decoded stays as it is, until a patch replaces it.
func TestMergeRawDecodesTheChangedMembersOnly(t *testing.T) {
	t.Parallel()
	const large = sol.RawPairs(`{"a":{"n":1e999},"b":1}`)
	got, err := mergeRaw(large, sol.KeyValuePairs{"b": 2.0})
	require.NoError(t, err)
	require.Equal(t, sol.RawPairs(`{"a":{"n":1e999},"b":2}`), got) //nolint:testifylint // the number cannot be decoded
	d, err := differenceOfRaw(large, got)
	require.NoError(t, err)
	require.Equal(t, sol.KeyValuePairs{"b": 2.0}, d)

	got, err = mergeRaw(large, sol.KeyValuePairs{"a": nil})
	require.NoError(t, err)
	require.Equal(t, sol.RawPairs(`{"b":1}`), got)
	_, err = mergeRaw(large, sol.KeyValuePairs{"a": map[string]any{"m": 1.0}})
	require.ErrorContains(t, err, `"a"`)
	_, err = differenceOfRaw(large, `{"a":1}`)
	require.ErrorContains(t, err, `"a"`)
}
