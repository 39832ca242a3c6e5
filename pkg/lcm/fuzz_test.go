package lcm_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// FuzzMergePatch holds MergePatch to the pseudocode of RFC 7396, and to the rules that follow from it.
func FuzzMergePatch(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":"b"}`, `{"a":"c"}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`},
		{`[1,2]`, `{"a":"b","c":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`},
		{`{"e":null}`, `{"a":1}`},
		{`null`, `[null]`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, target, patch string) {
		var a, p, original, same any
		if json.Unmarshal([]byte(target), &a) != nil || json.Unmarshal([]byte(patch), &p) != nil {
			return
		}
		require.NoError(t, json.Unmarshal([]byte(target), &original))
		require.NoError(t, json.Unmarshal([]byte(patch), &same))
		got := lcm.MergePatch(a, p)
		require.Equal(t, original, a, "the target stays")
		require.Equal(t, same, p, "the patch stays")
		require.Equal(t, got, lcm.MergePatch(got, p), "a patch can be applied again")
		require.Equal(t, mergeOfTheRFC(original, same), got)
		// A result is never larger than both together, so limits on requests and on results hold.
		const all = 1 << 30
		require.LessOrEqual(t, sol.SizeOf(got, all), sol.SizeOf(a, all)+sol.SizeOf(p, all))
	})
}

// mergeOfTheRFC is MergePatch of RFC 7396 clause 2, which changes its target.
func mergeOfTheRFC(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if p[name] == nil {
			delete(t, name)
		} else {
			t[name] = mergeOfTheRFC(t[name], p[name])
		}
	}
	return t
}
