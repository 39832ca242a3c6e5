package sol_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

func TestRawPairsHaveOneTextForTheSameContent(t *testing.T) {
	t.Parallel()
	const want = sol.RawPairs(`{"\u003cb\u003e":[1,1.5e+300,null],"a":{"x":"\"","y":{}},"c":"ä"}`)
	for _, text := range []string{
		string(want), `{ "c": "ä", "a": {"y": {}, "x": "\u0022"},` + "\n\t" + `"<b>": [1.0, 15e299, null]}`,
	} {
		var kv sol.KeyValuePairs
		require.NoError(t, json.Unmarshal([]byte(text), &kv))
		raw, err := kv.Raw()
		require.NoError(t, err)
		require.Equal(t, want, raw) //nolint:testifylint // not another text with the same content
		decoded, err := raw.Decode()
		require.NoError(t, err)
		require.Equal(t, kv, decoded)
	}
	_, err := sol.KeyValuePairs{"a": make(chan int)}.Raw()
	require.Error(t, err)
	_, err = sol.RawPairs(`{"a":1e999}`).Decode()
	require.Error(t, err)
}

func TestRawPairsInADocument(t *testing.T) {
	t.Parallel()
	type document struct {
		A sol.RawPairs
		B sol.RawPairs `json:",omitempty"`
	}
	for text, want := range map[string]document{
		`{"A":null}`: {}, `{"A":{"n":[1]},"B":{"x":"y"}}`: {A: `{"n":[1]}`, B: `{"x":"y"}`},
	} {
		raw, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, text, string(raw))
		var got document
		require.NoError(t, json.Unmarshal(raw, &got))
		require.Equal(t, want, got)
	}
	for _, text := range []string{`{"A":[]}`, `{"A":"x"}`, `{"A":1}`, `{"A":{]}`} {
		require.Error(t, json.Unmarshal([]byte(text), new(document)), text)
	}
	for _, kv := range []sol.KeyValuePairs{nil, {}} {
		raw, err := kv.Raw()
		require.NoError(t, err)
		require.Empty(t, raw)
	}
	absent, err := sol.RawPairs("").Decode()
	require.NoError(t, err)
	require.Nil(t, absent)
}

func TestRawPairsMember(t *testing.T) {
	t.Parallel()
	for _, raw := range []sol.RawPairs{
		`{"a":{"b":[{"c":"}"},"]"]},"b":1,"\"q":"x,\\\"","d":null}`,
		" { \"a\" : {\"b\":[{\"c\":\"}\"},\"]\"]} ,\n\"b\": 1 ,\t\"\\\"q\" : \"x,\\\\\\\"\", \"d\":null } ",
	} {
		for name, want := range map[string]string{
			"a": `{"b":[{"c":"}"},"]"]}`, "b": `1`, `"q`: `"x,\\\""`, "d": `null`,
		} {
			require.Equal(t, want, string(raw.Member(name)), "%s of %s", name, raw)
		}
		for _, name := range []string{"", "c", "]", `\"q`} {
			require.Nil(t, raw.Member(name))
		}
	}
	require.Nil(t, sol.RawPairs("").Member("a"))
	require.Nil(t, sol.RawPairs("{}").Member("a"))
}

// TestRawPairsAreNotDecoded: a lookup and a count cost the same for one value and for many.
func TestRawPairsAreNotDecoded(t *testing.T) { //nolint:paralleltest // it counts allocations
	raw := sol.RawPairs(`{"a":[` + strings.Repeat(`{"n":1},`, 5000) + `null],"b":"x"}`)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() {
		if string(raw.Member("b")) != `"x"` || sol.SizeOf(raw, 1<<30) < 5000*sol.ValueSize {
			t.Error("wrong result")
		}
	}), 5.0)
}

// FuzzRawPairs: the text gives the same answers as the decoded object, and any other text does no harm.
func FuzzRawPairs(f *testing.F) {
	for _, s := range []string{
		`{"a":[[],{},"x",null,1e9,-0.5],"b":{"c":{"d":true}}}`, `{"":"","\u0000":"\ud83d\ude00\"\\"}`, `{"<&>":"\u2028"}`,
		`{"a":`, `{"a`, `{"a":"\`, `[`, `{"a":{"b":1}`, `{,,}`, "{\xff:\xff}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for range sol.RawPairs(text).Members() { // it only has to end
		}
		sol.SizeOf(sol.RawPairs(text), 1<<40)
		var kv sol.KeyValuePairs
		if json.Unmarshal([]byte(text), &kv) != nil {
			return
		}
		raw, err := kv.Raw()
		require.NoError(t, err)
		require.Equal(t, sol.SizeOf(kv, 1<<40), sol.SizeOf(raw, 1<<40))
		members := maps.Collect(raw.Members())
		require.Len(t, members, len(kv))
		for name, v := range kv {
			var got any
			require.NoError(t, json.Unmarshal([]byte(members[name]), &got))
			require.Equal(t, v, got)
		}
	})
}
