package cloud

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// TestListsAreReadByPages: each list asks for a limit and follows the markers, whatever the service calls its links.
func TestListsAreReadByPages(t *testing.T) {
	t.Parallel()
	const total = 7
	for name, tt := range map[string]struct {
		path, member string
		next         func(at string) (string, any)
		list         func(*Client) (int, error)
	}{
		"stacks": {
			"/heat/v1/p1/stacks", "stacks",
			func(at string) (string, any) { return "links", []Link{{Href: at, Rel: "next"}} },
			func(c *Client) (int, error) {
				found, err := c.ListStacks(t.Context(), "list", url.Values{"tags": {"x"}})
				return len(found), err
			},
		},
		"images": {
			"/image/v2/images", "images",
			func(at string) (string, any) { return "next", at },
			func(c *Client) (int, error) {
				found, err := c.ListTaggedImages(t.Context(), "x")
				return len(found), err
			},
		},
		"subnets": {
			"/v2.0/subnets", "subnets",
			func(at string) (string, any) { return "subnets_links", []Link{{Href: at, Rel: "next"}} },
			func(c *Client) (int, error) {
				found, err := c.ListSubnets(t.Context(), "x")
				return len(found), err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stubcloud.New(t)
			s.Routes.HandleFunc("GET "+tt.path, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("limit") != strconv.Itoa(perPage) {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				first, _ := strconv.Atoi(r.URL.Query().Get("marker"))
				page := []any{}
				for n := first + 1; n <= min(first+2, total); n++ { // the service has a lower limit
					page = append(page, map[string]any{"id": strconv.Itoa(n), "tags": []string{"x"}})
				}
				out := map[string]any{tt.member: page}
				if first+2 < total {
					name, link := tt.next("elsewhere")
					out[name] = link
				}
				_ = json.NewEncoder(w).Encode(out)
			})
			c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
			require.NoError(t, err)
			n, err := tt.list(c)
			require.NoError(t, err)
			require.Equal(t, total, n)
		})
	}
}

// TestEndlessListEnds: neither pages without an end nor a service that repeats a page fill the memory.
func TestEndlessListEnds(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	calls := 0
	s.Routes.HandleFunc("GET /image/v2/images", func(w http.ResponseWriter, r *http.Request) {
		calls++
		if r.URL.Query().Get("name") == "repeated" {
			_, _ = w.Write([]byte(`{"images": [{"id": "same"}], "next": "again"}`))
			return
		}
		_, _ = fmt.Fprintf(w, `{"images": [{"id": "%d", "name": %q}], "next": "again"}`, calls,
			strings.Repeat("x", 3<<20))
	})
	c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	_, err = c.FindImages(t.Context(), "large")
	require.ErrorContains(t, err, "larger than 64 MiB")
	require.Equal(t, maxList/(3<<20)+1, calls)

	calls = 0
	_, err = c.FindImages(t.Context(), "repeated")
	require.NoError(t, err)
	require.Equal(t, 2, calls)
}

// TestStackWithTooManyResources: the work on a stack grows with the square of its resources.
func TestStackWithTooManyResources(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxResources, maxResources + 1} {
		s := stubcloud.New(t)
		s.Routes.HandleFunc("GET /heat/v1/p1/stacks/x/a/resources", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"resources": [{}` + strings.Repeat(",{}", n-1) + "]}"))
		})
		c, err := testPool(t, Config{}).Connect(t.Context(), "v", s.Vim())
		require.NoError(t, err)
		all, err := c.ListResources(t.Context(), &Stack{ID: "a", Name: "x"})
		require.Len(t, all, n)
		if n > maxResources {
			require.ErrorContains(t, err, "stack x/a has 10001 resources; at most 10000 are supported")
		} else {
			require.NoError(t, err)
		}
	}
}
