// Package rest is the HTTP plumbing of the simulated services: routes that are counted and can be made to fail,
// authentication, bounded bodies, error forms.
package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// maxBody is the largest request body that is read into memory.
const maxBody = 16 << 20

// Obj is a JSON object. Views are built afresh under the lock and written after it, so they share nothing with state.
type Obj = map[string]any

// Caller is who a token belongs to.
type Caller struct {
	UserID, UserName       string
	ProjectID, ProjectName string
	// Admin tells whether the token carries the role admin.
	Admin bool
}

// Error is an answer other than success. Kind is the exception's name in the service; each service has its own form.
type Error struct {
	Status  int
	Kind    string
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf makes an Error.
func Errorf(status int, kind, format string, args ...any) *Error {
	return &Error{Status: status, Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// API is the HTTP side of one service.
type API struct {
	// Service names it for faults and counts: "keystone", "heat", "nova", "neutron", "glance", "cinder".
	Service string
	// Prefix is the path before the version, "/compute".
	Prefix string
	// Mux is shared by all services.
	Mux *http.ServeMux
	// World is the lock and the faults.
	World *sim.World
	// Calls counts what was called.
	Calls *Counter
	// Authenticate finds the caller of a token.
	Authenticate func(token string) (Caller, bool)
	// WriteError writes an error in the form of the service.
	WriteError func(w http.ResponseWriter, r *http.Request, e *Error)
	// Unauthorized answers a call without a valid token, after the header that names the identity service is set; nil
	// for the answer of the token middleware.
	Unauthorized http.HandlerFunc
	// Before is asked before every call, without the lock; an error is the answer.
	Before func(r *http.Request) error
	// Header is called before every answer, for headers such as microversions.
	Header func(w http.ResponseWriter, r *http.Request)
}

// Call is one authenticated request with its body read.
type Call struct {
	Caller
	R    *http.Request
	W    http.ResponseWriter
	Body []byte
	// Query is the parsed query string.
	Query url.Values

	api *API
}

// Handler does the work of one route with the world locked and returns status and JSON body (nil for none).
type Handler func(c *Call) (int, any, error)

// On makes a handler of one that works on an object, which find looks up first.
func On[T any](find func(c *Call) (T, error), h func(c *Call, v T) (int, any, error)) Handler {
	return func(c *Call) (int, any, error) {
		v, err := find(c)
		if err != nil {
			return 0, nil, err
		}
		return h(c, v)
	}
}

// WithBody makes a handler of one that takes the JSON body.
func WithBody[T any](h func(c *Call, body T) (int, any, error)) Handler { return On(Body[T], h) }

// Body reads the JSON body.
func Body[T any](c *Call) (body T, err error) {
	err = c.Decode(&body)
	return body, err
}

// Handle registers a route. The pattern is "GET /v2.1/servers/{id}", without the prefix.
func (a *API) Handle(pattern string, h Handler) {
	a.route(pattern, func(w http.ResponseWriter, r *http.Request) {
		caller, ok := a.caller(w, r)
		if !ok {
			return
		}
		a.serve(w, r, caller, h)
	})
}

// HandlePublic registers a route that needs no token.
func (a *API) HandlePublic(pattern string, h Handler) {
	a.route(pattern, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, Caller{}, h) })
}

// HandleRaw registers a route that needs a token, reads the body itself and takes the lock itself.
func (a *API) HandleRaw(pattern string, h Handler) {
	a.route(pattern, func(w http.ResponseWriter, r *http.Request) {
		caller, ok := a.caller(w, r)
		if !ok {
			return
		}
		c := &Call{Caller: caller, R: r, W: w, Query: r.URL.Query(), api: a}
		a.reply(w, r)(h(c))
	})
}

// HandleNotFound answers whatever no route of the service matches.
func (a *API) HandleNotFound(message string) {
	a.route("/", func(w http.ResponseWriter, r *http.Request) {
		a.WriteError(w, r, Errorf(http.StatusNotFound, "NotFound", "%s", message))
	})
}

func (a *API) route(pattern string, next http.HandlerFunc) {
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		method, path = "", pattern
	}
	route := strings.ReplaceAll(a.Prefix+path, "{$}", "")
	full := strings.TrimSpace(method + " " + a.Prefix + path)
	a.Mux.HandleFunc(full, func(w http.ResponseWriter, r *http.Request) {
		a.Calls.Add(a.Service, r.Method, route)
		w.Header().Set("X-Openstack-Request-Id", "req-"+sim.NewID())
		if a.Header != nil {
			a.Header(w, r)
		}
		a.World.Faults.Serve(w, r, a.Service, func(w http.ResponseWriter, status int, message string) {
			if status == http.StatusUnauthorized {
				a.unauthorized(w, r)
				return
			}
			a.WriteError(w, r, &Error{Status: status, Kind: kindOf(status), Message: message})
		}, next)
	})
}

// unauthorized answers a call without a valid token.
func (a *API) unauthorized(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Keystone uri="`+a.World.BaseURL+`/identity"`)
	if a.Unauthorized != nil {
		a.Unauthorized(w, r)
		return
	}
	WriteUnauthorized(w)
}

func (a *API) caller(w http.ResponseWriter, r *http.Request) (Caller, bool) {
	caller, ok := a.Authenticate(r.Header.Get("X-Auth-Token"))
	if !ok {
		a.unauthorized(w, r)
	}
	return caller, ok
}

func (a *API) serve(w http.ResponseWriter, r *http.Request, caller Caller, h Handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		a.WriteError(w, r, Errorf(http.StatusRequestEntityTooLarge, "RequestTooLarge", "Request is too large."))
		return
	}
	c := &Call{Caller: caller, R: r, W: w, Body: body, Query: r.URL.Query(), api: a}
	if a.Before != nil {
		if err := a.Before(r); err != nil {
			a.reply(w, r)(0, nil, err)
			return
		}
	}
	a.reply(w, r)(a.locked(c, h))
}

func (a *API) locked(c *Call, h Handler) (int, any, error) {
	a.World.Lock()
	defer a.World.Unlock()
	return h(c)
}

func (a *API) reply(w http.ResponseWriter, r *http.Request) func(status int, v any, err error) {
	return func(status int, v any, err error) {
		if err != nil {
			e := &Error{}
			if !errors.As(err, &e) {
				e = Errorf(http.StatusInternalServerError, "InternalServerError", "%v", err)
			}
			a.WriteError(w, r, e)
			return
		}
		WriteJSON(w, status, v)
	}
}

// WriteJSON writes status and, unless v is nil, v as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	if v == nil {
		if status != http.StatusNoContent {
			w.Header().Set("Content-Length", "0")
		}
		w.WriteHeader(status)
		return
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		status = http.StatusInternalServerError
		buf.Reset()
		_, _ = fmt.Fprintf(&buf, "{\"message\": %q}", err.Error())
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes())
}

// WriteUnauthorized answers as the token middleware before most services does.
func WriteUnauthorized(w http.ResponseWriter) {
	WriteJSON(w, http.StatusUnauthorized, Obj{"error": Obj{
		"code": http.StatusUnauthorized, "title": "Unauthorized",
		"message": "The request you have made requires authentication.",
	}})
}

// Path returns a path variable of the route.
func (c *Call) Path(name string) string { return c.R.PathValue(name) }

// Decode reads the JSON body into v.
func (c *Call) Decode(v any) error {
	if err := json.Unmarshal(c.Body, v); err != nil {
		return Errorf(http.StatusBadRequest, "BadRequest", "Malformed request body: %v", err)
	}
	return nil
}

func kindOf(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// Counter counts calls by service, method and route.
type Counter struct {
	mu sync.Mutex
	n  map[Route]int
}

// Route is what calls are counted by.
type Route struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Route   string `json:"route"`
}

// Add counts one call.
func (c *Counter) Add(service, method, route string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[Route]int{}
	}
	c.n[Route{service, method, route}]++
}

// Snapshot returns the counts so far.
func (c *Counter) Snapshot() map[Route]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.n)
}

// Reset forgets all counts.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n = nil
}
