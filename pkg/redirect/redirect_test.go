package redirect_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/redirect"
)

func TestSameServer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, to string
		refused  string
	}{
		"same server":          {"http://vim:5000/v3", "http://vim:5000/v3/", ""},
		"default port written": {"https://vim/v3", "https://vim:443/v3/", ""},
		"another host": {
			"http://vim/v3", "http://user:word@other/v3?q=secret",
			"http://vim/v3 redirects to http://other/v3, which is",
		},
		"another port":          {"http://vim/v3", "http://vim:8080/v3", "http://vim:8080/v3"},
		"from https to http":    {"https://vim/v3", "http://vim/v3", "https://vim/v3 redirects to http://vim/v3"},
		"from https to port 80": {"https://vim/v3", "http://vim:443/v3", "http://vim:443/v3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := redirect.SameServer(httptest.NewRequest(http.MethodGet, tt.to, nil),
				[]*http.Request{httptest.NewRequest(http.MethodGet, tt.from, nil)})
			if tt.refused == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.refused)
			require.NotContains(t, err.Error(), "word")
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestRedirectLoopEnds(t *testing.T) {
	t.Parallel()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	defer s.Close()
	res, err := (&http.Client{CheckRedirect: redirect.SameServer}).Get(s.URL)
	if res != nil {
		_ = res.Body.Close()
	}
	require.ErrorContains(t, err, "redirects more than 5 times")
	require.Equal(t, 6, calls)
}
