package oracle

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// Handler puts a layer around the API of a node that fails the test if a response differs from the published documents,
// whatever program has sent the request. The node must have stopped when the test ends.
func Handler(tb testing.TB) func(http.Handler) http.Handler {
	tb.Helper()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if list, _ := describing(r.URL.Path); len(list) == 0 || isUnversioned(r) {
				next.ServeHTTP(w, r)
				return
			}
			method, path := r.Method, r.URL.Path
			c := &copied{ResponseWriter: w}
			next.ServeHTTP(c, r)
			if c.broken || r.Context().Err() != nil {
				return // the client has not got all of it
			}
			c.WriteHeader(http.StatusOK) // nothing was written
			check(tb.Errorf, method, path, c.status, c.header, c.body.Bytes())
		})
	}
}

// copied keeps what is written to a client, if it is JSON.
type copied struct {
	http.ResponseWriter

	status int // 0 until the headers are written
	header http.Header
	body   bytes.Buffer
	broken bool
}

// WriteHeader implements http.ResponseWriter.
func (c *copied) WriteHeader(status int) {
	if c.status != 0 {
		return
	}
	if status >= http.StatusOK { // informational responses come before the status
		c.status, c.header = status, c.Header().Clone()
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *copied) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	n, err := c.ResponseWriter.Write(p)
	c.broken = c.broken || err != nil
	if isJSON(c.header) {
		c.body.Write(p[:n])
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (c *copied) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Subscriber puts a layer around the notification endpoint of a test that fails the test if a notification differs from
// the published documents. Without next it accepts each one.
func Subscriber(tb testing.TB, next http.Handler) http.Handler {
	tb.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler) // the sender has ended
			}
			r.Body = io.NopCloser(bytes.NewReader(raw))
			for _, finding := range Notification(raw) {
				tb.Errorf("a notification differs from the standard: %s: %s", finding, raw)
			}
		}
		if next == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
