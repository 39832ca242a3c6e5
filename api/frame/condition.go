package frame

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// subject finds the endpoint whose representation the conditions of a request that modifies are about (RFC 9110 clause
// 13): the GET of the same path, or for a task or a part that has none, of the nearest resource above. A POST to a
// collection makes a new resource and has none.
func (e *endpoint) subject(byPath map[string]resource) *endpoint {
	path := e.Path
	if e.Method == http.MethodPost {
		path = above(path)
	}
	for ; path != ""; path = above(path) {
		get := byPath[path][http.MethodGet]
		if get != nil && slices.Equal(get.Produces, JSON) && (path == e.Path || strings.HasSuffix(path, "}")) {
			return get
		}
	}
	return nil
}

// above cuts the last part off a path.
func above(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// conditional lets a handler run only if the conditions of the request hold. It reads the resource as a GET does, so
// that no route can forget it. A handler whose resource has a version compares that again in its transaction.
func conditional(get *endpoint, handle Handler) Handler {
	return func(w http.ResponseWriter, r *Request) error {
		if r.Header.Get("If-None-Match") == "" && !r.Conditional() {
			return handle(w, r)
		}
		etag, modified, err := current(get, r)
		if err != nil {
			if lcm.AsError(err).Code != lcm.CodeNotFound || r.Conditional() {
				return err
			}
			return handle(w, r) // If-None-Match holds for what is not there
		}
		if err := r.precondition(etag, modified); err != nil {
			return err
		}
		if h := r.Header.Values("If-None-Match"); len(h) > 0 && listed(h, etag, true) {
			return lcm.Errorf(lcm.CodePrecondition, "the resource has version %s, which If-None-Match excludes", etag).
				WithHint("read the resource again and retry")
		}
		return handle(w, r)
	}
}

// unconditional rejects conditions on what has no representation: the client relies on them.
func unconditional(handle Handler) Handler {
	return func(w http.ResponseWriter, r *Request) error {
		if r.Conditional() {
			return lcm.Errorf(lcm.CodePrecondition, "the resource has no version that If-Match can name").
				WithHint("send the request without If-Match and If-Unmodified-Since")
		}
		return handle(w, r)
	}
}

// current reads the validators of a resource as a GET of the same sender shows them.
func current(get *endpoint, r *Request) (etag string, modified time.Time, err error) {
	read := r.Clone(r.Context())
	read.Method, read.Body, read.ContentLength, read.URL.RawQuery = http.MethodGet, http.NoBody, 0, ""
	for _, name := range []string{
		"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range", "Accept-Encoding",
	} {
		read.Header.Del(name)
	}
	w := &recorder{ResponseWriter: unread(http.Header{}), request: read}
	err = get.Handle(w, &Request{
		Request: read, ID: r.ID, Principal: r.Principal, frame: r.frame, route: get.route, began: r.began,
	})
	if err != nil {
		return "", time.Time{}, err
	}
	modified, err = http.ParseTime(w.Header().Get("Last-Modified"))
	if err != nil {
		modified = time.Time{} // it has none
	}
	return w.Header().Get("Etag"), modified, nil
}

// unread is an answer of which only the header is looked at.
type unread http.Header

// Header implements http.ResponseWriter.
func (u unread) Header() http.Header { return http.Header(u) }

// Write implements io.Writer.
func (unread) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (unread) WriteHeader(int) {}
