package frame_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/filter"
	"github.com/gybe-nfv/gybe/pkg/sol/paging"
	"github.com/gybe-nfv/gybe/pkg/sol/selector"
)

const (
	inPages   = 40     // resources in the lists of TestPagesAreLimitedByBytes
	largeText = 10_000 // bytes of each
)

// storedThings and typedThings are the two kinds of lists, of the same resources.
func storedThings() frame.Handler {
	return frame.Resources[sol.VnfInstance]{
		Path: "/lists/stored", Selectors: selector.VnfInstances,
		Query: func(f filter.Filter) (lcm.Query, filter.Filter) { return lcm.Query{}, f },
		Fetch: func(_ context.Context, q lcm.Query) iter.Seq2[frame.Resource, error] {
			return func(yield func(frame.Resource, error) bool) {
				n := 0
				for _, v := range largeThings(q.After) {
					brief := fmt.Appendf(nil, `{"id":%q}`, v.ID)
					details := fmt.Appendf(nil, `{"metadata":{"k":%q}}`, v.Metadata["k"])
					d := &lcm.Document{ID: v.ID, Brief: brief, Details: details}
					if n++; n > q.Limit || !yield(frame.Resource{Document: d}, nil) {
						return
					}
				}
			}
		},
	}.Serve
}

func typedThings() frame.Handler {
	return frame.List[sol.VnfInstance]{
		Path: "/lists/typed", Selectors: selector.VnfInstances,
		ID: func(v *sol.VnfInstance) string { return v.ID },
		Fetch: func(_ context.Context, q frame.Fetch) ([]sol.VnfInstance, error) {
			all := largeThings(q.After)
			return all[:min(len(all), q.Limit)], nil
		},
	}.Serve
}

func largeThings(after string) (out []sol.VnfInstance) {
	for n := range inPages {
		if id := fmt.Sprintf("%03d", n); id > after {
			out = append(out, sol.VnfInstance{
				ID: id, Metadata: sol.KeyValuePairs{"k": strings.Repeat(fmt.Sprint(n%2), largeText)},
			})
		}
	}
	return out
}

// TestPagesAreLimitedByBytes: a page ends when it has a number of bytes, and a search ends when it has looked at some
// pages of bytes. The links lead to all resources all the same.
func TestPagesAreLimitedByBytes(t *testing.T) {
	t.Parallel()
	signer, err := paging.NewSigner([]byte("0123456789abcdef"))
	require.NoError(t, err)
	const public = "http://public.example"
	f := frame.New(frame.Options{
		Log: slog.New(slog.DiscardHandler), PublicURL: public, PageSize: 15, Markers: signer,
		Limits: frame.Limits{PageBytes: 3 * largeText},
	})
	f.Mount(frame.API{Prefix: "/lists", Routes: []frame.Route{
		{Method: "GET", Path: "/stored", Query: frame.ListParams, Handle: storedThings()},
		{Method: "GET", Path: "/typed", Query: frame.ListParams, Handle: typedThings()},
	}})
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	for _, tt := range []struct {
		name, query string
		pages       []int
	}{
		{"without large attributes", "", []int{15, 15, 10}},
		{"with large attributes", "?all_fields", []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1}},
		{"all match", "?all_fields&filter=(cont,metadata/k,0)", []int{3, 3, 3, 3, 3, 3, 2}},
		{"nothing matches", "?filter=(eq,metadata/k,none)", []int{0, 0}},
	} {
		for _, list := range []string{"stored", "typed"} {
			t.Run(list+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				var pages []int
				seen := map[string]bool{}
				for path := "/lists/" + list + tt.query; path != ""; {
					res, err := s.Client().Get(s.URL + path)
					require.NoError(t, err)
					var page []sol.VnfInstance
					require.NoError(t, json.NewDecoder(res.Body).Decode(&page))
					require.NoError(t, res.Body.Close())
					require.Equal(t, http.StatusOK, res.StatusCode)
					requireNotModified(t, s.URL+path, res.Header)
					pages = append(pages, len(page))
					for _, v := range page {
						require.False(t, seen[v.ID], "%s is on two pages", v.ID)
						seen[v.ID] = true
					}
					path = ""
					if link := res.Header.Get("Link"); link != "" {
						path = strings.TrimPrefix(link[1:strings.Index(link, ">")], public)
					}
				}
				require.Equal(t, tt.pages, pages)
			})
		}
	}
}

// requireNotModified asks for a page that the client has already: the answer has the same tag and link, and no body.
func requireNotModified(t *testing.T, url string, known http.Header) {
	t.Helper()
	require.NotEmpty(t, known.Get("ETag"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("If-None-Match", known.Get("ETag"))
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusNotModified, res.StatusCode)
	require.Equal(t, known.Get("ETag"), res.Header.Get("ETag"))
	require.Equal(t, known.Values("Link"), res.Header.Values("Link"))
	require.Equal(t, "Accept-Encoding", res.Header.Get("Vary"))
}

// TestTagOfAPageChangesWithItsLink: when the first resource of the next page is made, the bytes of this page stay, and
// its link is new. A client with the page as it was before must not get 304.
func TestTagOfAPageChangesWithItsLink(t *testing.T) {
	t.Parallel()
	signer, err := paging.NewSigner([]byte("0123456789abcdef"))
	require.NoError(t, err)
	all := []sol.VnfInstance{{ID: "1"}, {ID: "2"}}
	f := frame.New(frame.Options{Log: slog.New(slog.DiscardHandler), PageSize: 2, Markers: signer})
	f.Mount(frame.API{Prefix: "/lists", Routes: []frame.Route{{
		Method: "GET", Path: "/typed", Query: frame.ListParams, Handle: frame.List[sol.VnfInstance]{
			Path: "/lists/typed", Selectors: selector.VnfInstances,
			ID: func(v *sol.VnfInstance) string { return v.ID },
			Fetch: func(_ context.Context, q frame.Fetch) ([]sol.VnfInstance, error) {
				return all[:min(len(all), q.Limit)], nil
			},
		}.Serve,
	}}})
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/lists/typed", http.NoBody))
		require.Equal(t, http.StatusOK, w.Code)
		return w
	}
	before := get()
	require.Empty(t, before.Header().Get("Link"))
	all = append(all, sol.VnfInstance{ID: "3"})
	after := get()
	require.NotEmpty(t, after.Header().Get("Link"))
	require.Equal(t, before.Body.String(), after.Body.String())
	require.NotEqual(t, before.Header().Get("ETag"), after.Header().Get("ETag"))
}
