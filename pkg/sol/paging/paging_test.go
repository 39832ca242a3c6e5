package paging_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol/paging"
)

func signer(tb testing.TB, keys ...string) *paging.Signer {
	tb.Helper()
	raw := make([][]byte, 0, len(keys))
	for _, k := range keys {
		raw = append(raw, []byte(k))
	}
	s, err := paging.NewSigner(raw...)
	require.NoError(tb, err)
	return s
}

const (
	key1 = "key-number-one-0123456789"
	key2 = "key-number-two-0123456789"
)

func TestMarkerSurvivesTheRoundTrip(t *testing.T) {
	t.Parallel()
	s := signer(t, key1)
	for _, m := range []paging.Marker{
		{},
		{ID: "0b6a1c1e-6f52-4b8c-9f0e-3d4c2f7a9c11"},
		{SortKey: "2026-01-02T03:04:05.123456789Z", ID: "a"},
		{SortKey: strings.Repeat("é", 200), ID: "\x00\xff"},
	} {
		text := s.Encode(m, "list?")
		require.NotContains(t, text, "=", "a marker must not need escaping in a URL")
		got, err := s.Decode(text, "list?")
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
}

func TestMarkerIsRefused(t *testing.T) {
	t.Parallel()
	s := signer(t, key1)
	good := s.Encode(paging.Marker{SortKey: "k", ID: "id"}, "list?filter=x")
	tests := []struct{ name, text, binding string }{
		{"another filter", good, "list?filter=y"},
		{"another list", good, "other?filter=x"},
		{"empty", "", "list?filter=x"},
		{"not base64", "***", "list?filter=x"},
		{"cut short", good[:len(good)-2], "list?filter=x"},
		{"a changed byte", "B" + good[1:], "list?filter=x"},
		{"a bare id", "0b6a1c1e-6f52-4b8c-9f0e-3d4c2f7a9c11", "list?filter=x"},
		{"far too long", strings.Repeat("A", 5000), "list?filter=x"},
		{"another key", signer(t, key2).Encode(paging.Marker{ID: "id"}, "list?filter=x"), "list?filter=x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Decode(tt.text, tt.binding)
			require.ErrorIs(t, err, paging.ErrInvalid)
		})
	}
}

func TestMarkerOfAnOlderKeyStaysValid(t *testing.T) {
	t.Parallel()
	old := signer(t, key1).Encode(paging.Marker{ID: "id"}, "b")
	_, err := signer(t, key2, key1).Decode(old, "b")
	require.NoError(t, err)
}

func TestNewSignerNeedsAStrongKey(t *testing.T) {
	t.Parallel()
	_, err := paging.NewSigner()
	require.Error(t, err)
	_, err = paging.NewSigner([]byte("short"))
	require.Error(t, err)
}

func TestBindingIgnoresOnlyTheMarker(t *testing.T) {
	t.Parallel()
	q := url.Values{"filter": {"(eq,id,1)"}, "fields": {"a"}}
	want := paging.Binding("l", q)
	q.Set(paging.Param, "m")
	require.Equal(t, want, paging.Binding("l", q))
	q.Set("fields", "b")
	require.NotEqual(t, want, paging.Binding("l", q))
}

func TestLinkKeepsTheQuery(t *testing.T) {
	t.Parallel()
	link := paging.Link("http://h/p/vnf_instances", url.Values{"filter": {"(eq,id,1)"}, paging.Param: {"old"}}, "new")
	require.Equal(t, `<http://h/p/vnf_instances?filter=%28eq%2Cid%2C1%29&nextpage_opaque_marker=new>; rel="next"`, link)
}

func FuzzDecode(f *testing.F) {
	s := signer(f, key1)
	f.Add(s.Encode(paging.Marker{SortKey: "k", ID: "id"}, "b"), "b")
	f.Add("AQ", "")
	f.Fuzz(func(t *testing.T, text, binding string) {
		m, err := s.Decode(text, binding)
		if err != nil {
			require.ErrorIs(t, err, paging.ErrInvalid)
			return
		}
		require.Equal(t, text, s.Encode(m, binding))
	})
}
