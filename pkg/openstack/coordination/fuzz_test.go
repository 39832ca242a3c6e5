package coordination

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// canned answers every request with the same bytes.
type canned struct {
	status   int
	header   http.Header
	body     []byte
	requests []string
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests = append(c.requests, r.URL.Scheme+"://"+r.URL.Host)
	return &http.Response{
		StatusCode: c.status, Status: http.StatusText(c.status), Header: c.header,
		Body: io.NopCloser(bytes.NewReader(c.body)), Request: r,
	}, nil
}

// FuzzBegin gives the answer of a coordination server. Its result is one of the interface, or there is a place to ask
// again, on the same server and without credentials, after a bounded time; or there is an error for users.
func FuzzBegin(f *testing.F) {
	f.Add(201, "", "", []byte(`{"coordinationResult": "CONTINUE"}`))
	f.Add(201, "", "", []byte(`{"coordinationResult": "ABORT", "error": {"title": "t", "detail": "d"}}`))
	f.Add(202, "/lcmcoord/v1/coordinations/1", "5", []byte(""))
	f.Add(202, "http://other.example/lcmcoord/v1/coordinations/1?x#y", "Mon, 23 Nov 2026 00:00:00 GMT", []byte(""))
	f.Add(202, "//user:pa55@em.example/c", "99999999999999999999", []byte(""))
	f.Add(302, "http://other.example/", "", []byte(""))
	f.Add(409, "", "-5", []byte(`{"title": "t", "detail": "d"}`))
	f.Add(500, "", "", []byte("text"))
	f.Fuzz(func(t *testing.T, status int, location, retryAfter string, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		header := http.Header{}
		header.Set("Location", location)
		header.Set("Retry-After", retryAfter)
		server := &canned{status: status, header: header, body: body}
		c := Client{
			HTTP:     &http.Client{Transport: server, CheckRedirect: rejectRedirect},
			Endpoint: &url.URL{Scheme: "https", Host: "em.example", Path: "/em"},
		}
		c.Auth.AuthType = []string{authBasic}
		c.Auth.ParamsBasic.UserName, c.Auth.ParamsBasic.Password = "user", "pa55-word"
		a, err := c.Begin(t.Context(), Request{}, "key")
		check(t, a, err)
		if err != nil || a.Result != "" || a.Location == "" {
			return
		}
		at, parseErr := url.Parse(a.Location)
		if parseErr != nil || at.Scheme != "https" || at.Host != "em.example" || at.User != nil {
			t.Fatalf("Location %q", a.Location)
		}
		a, err = c.Look(t.Context(), a.Location)
		check(t, a, err)
		for _, to := range server.requests {
			if to != "https://em.example" {
				t.Fatalf("a request to %s", to)
			}
		}
	})
}

func check(t *testing.T, a Answer, err error) {
	t.Helper()
	if a.Delay < 0 || a.Delay > maxDelay {
		t.Fatalf("delay %s", a.Delay)
	}
	if err == nil {
		return
	}
	e, ok := errors.AsType[*lcm.Error](err)
	switch {
	case !ok:
		t.Fatalf("%T is not for users: %v", err, err)
	case e.RetryAfter < 0 || e.RetryAfter > maxDelay:
		t.Fatalf("retry after %s", e.RetryAfter)
	case e.Code == lcm.CodeInternal || len(e.Error()) > 1500 || strings.Contains(e.Error(), "pa55-word"):
		t.Fatalf("%s: %q", e.Code, e.Error())
	}
}
