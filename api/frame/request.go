package frame

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// headerRequestID carries the id that a request has in the log.
const headerRequestID = "X-Request-Id"

// Request is a request on its way through the frame.
type Request struct {
	*http.Request
	// ID is the request's id: the client's X-Request-Id or a new one.
	ID string
	// Raw is the JSON body, valid against the document; nil without a body.
	Raw json.RawMessage
	// Principal is who sent it.
	Principal Principal

	frame *Frame
	route string
	// pageSize bounds the elements of a page of a list.
	pageSize int
	problem  func(w http.ResponseWriter, r *Request, p *sol.ProblemDetails) error // may be nil
	query    url.Values
	// versionErr is the problem of the Version header.
	versionErr error
	began      time.Time
	attrs      []slog.Attr
	// challenges are sent with a response 401.
	challenges []string
	// audit is the entry of the request in the audit trail; nil if it has none.
	audit       *lcm.AuditEntry
	loginFailed bool // audit is about a failed login
	quiet       bool
	cut         bool   // the answer broke off
	other       string // Location of an error
	err         error
}

// Param returns a part of the path by name, percent-decoded; "*" is the rest of the path.
func (r *Request) Param(name string) string {
	raw := chi.URLParam(r.Request, name)
	if r.URL.RawPath == "" {
		return raw
	}
	if s, err := url.PathUnescape(raw); err == nil {
		return s
	}
	return raw
}

// Identifier returns a part of the path that is the UUID of something, in its canonical form. Anything
// else cannot exist: CodeNotFound, saying of which kind.
func (r *Request) Identifier(name, kind string) (string, error) {
	s := r.Param(name)
	id, err := uuid.Parse(s)
	if err != nil || len(s) != 36 {
		return "", lcm.Errorf(lcm.CodeNotFound, "there is no %s %.80q", kind, s)
	}
	return id.String(), nil
}

// QueryValues returns the query parameters; never change them.
func (r *Request) QueryValues() url.Values { return r.query }

// Note adds a value to the request's log line, e.g. the id of what it is about.
func (r *Request) Note(attrs ...slog.Attr) { r.attrs = append(r.attrs, attrs...) }

// Public returns the public URL of an absolute path.
func (r *Request) Public(path string) string { return r.frame.URL(path) }

// Decode decodes the validated body into a T.
func Decode[T any](r *Request) (T, error) {
	var v T
	return v, r.Decode(&v)
}

// Decode decodes the validated body into v, a pointer.
func (r *Request) Decode(v any) error {
	if err := json.Unmarshal(r.Raw, v); err != nil {
		return unreadable(r.Raw, err)
	}
	return nil
}

// requestID takes the client's id over when it is short and plain, and makes one otherwise.
func requestID(r *http.Request) string {
	id := r.Header.Get(headerRequestID)
	if id == "" || len(id) > 64 {
		return uuid.NewString()
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '.':
		default:
			return uuid.NewString()
		}
	}
	return id
}

// parseQuery is strict where net/http is lenient: what cannot be decoded is an error.
func parseQuery(raw string) (url.Values, error) {
	// In a filter, semicolons stand between expressions and need no escape.
	q, err := url.ParseQuery(strings.ReplaceAll(raw, ";", "%3B"))
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeInvalid, "the query string cannot be read: %s", err)
	}
	for name, values := range q {
		for _, v := range append(values, name) {
			if !utf8.ValidString(v) {
				return nil, lcm.Errorf(lcm.CodeInvalid, "the query string is not UTF-8")
			}
		}
	}
	return q, nil
}

// finish ends a request: a panic becomes 500, and the one log line is written.
func (f *Frame) finish(w *recorder, r *Request) {
	switch v := recover(); v {
	case nil:
	case http.ErrAbortHandler:
		r.cut = true
	default:
		r.fail(w, panicError(v))
	}
	took := time.Since(r.began)
	f.endAudit(w, r, took)
	f.log(w, r, took)
	if f.opts.Observe != nil {
		f.opts.Observe(r.Method, r.route, w.status(), took)
	}
	if r.cut {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
}

// log writes the canonical line of a request.
func (f *Frame) log(w *recorder, r *Request, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case r.Context().Err() != nil: // the client went away; what it would have got is of no interest
	case w.status() >= http.StatusInternalServerError || r.cut:
		level = slog.LevelError
	case r.quiet:
		level = slog.LevelDebug
	}
	ctx := context.WithoutCancel(r.Context())
	handler := f.opts.Log.Handler()
	if !handler.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 10+len(r.attrs))
	attrs = append(attrs,
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", w.status()),
		slog.Int64("bytes", w.bytes), slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.String("request_id", r.ID), slog.String("remote", r.RemoteAddr))
	if r.Principal.Subject != "" {
		attrs = append(attrs, slog.String("subject", r.Principal.Subject))
	}
	attrs = append(attrs, r.attrs...)
	if r.err != nil {
		attrs = append(attrs, slog.String("error", causes(r.err)))
	}
	line := slog.NewRecord(r.began.Add(took), level, "request", 0) // LogAttrs would look up the place in the program
	line.AddAttrs(attrs...)
	_ = handler.Handle(ctx, line) // as LogAttrs does
}

// panicError makes the failure of a handler that panicked; the log gets the stack.
func panicError(v any) error {
	return lcm.AsError(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
}
