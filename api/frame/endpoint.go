package frame

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// endpoint is a route made ready to serve.
type endpoint struct {
	Route
	frame *Frame
	auth  Authenticator
	route string // prefix and path, for logs and metrics
	// pageSize and lenient are those of the API.
	pageSize int
	lenient  bool
	// schema of the JSON body; may be nil. It is looked up at the first use, because reading
	// the documents takes a good part of a start.
	schema func() (*openapi3.Schema, error)
}

func (f *Frame) endpoint(a API, r Route) *endpoint {
	e := &endpoint{
		Route: r, frame: f, auth: a.Auth, route: a.Prefix + r.Path, pageSize: f.opts.PageSize, lenient: a.LenientQuery,
	}
	if a.PageSize > 0 {
		e.pageSize = min(e.pageSize, a.PageSize)
	}
	if e.auth == nil {
		e.auth = f.opts.Auth
	}
	if e.Role == "" && !e.Public {
		e.Role = defaultRole(e.Method)
	}
	f.table = append(f.table, Access{e.Method, e.route, e.Public, e.Role, e.Secret, e.Login, ""})
	if len(r.Consumes) > 0 && !r.Stream {
		e.schema = sync.OnceValues(func() (*openapi3.Schema, error) {
			s, err := a.Document.body(r.Method, a.Prefix, cmp.Or(r.Schema, r.Path))
			if err != nil {
				return nil, fmt.Errorf("find the schema of %s %s: %w", r.Method, e.route, err)
			}
			return s, nil
		})
		f.schemas = append(f.schemas, e.schema)
	}
	return e
}

// Preload reads the documents and looks up all schemas, so that no request has to wait for it. The error
// says which route has no schema.
func (f *Frame) Preload() error {
	var bad []error
	for _, s := range f.schemas {
		_, err := s()
		bad = append(bad, err)
	}
	return errors.Join(bad...)
}

// allow lists the methods of a resource as the Allow header wants them.
func (res resource) allow() string {
	methods := slices.Collect(maps.Keys(res))
	if _, ok := res[http.MethodGet]; ok {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// serve leads a request through the stations that depend on its route.
func (e *endpoint) serve(w http.ResponseWriter, r *Request) error {
	if err := e.authorise(r); err != nil {
		return err
	}
	if !e.AnyVersion && r.versionErr != nil {
		return r.versionErr
	}
	if e.Produces != nil && !accepts(r.Header.Values("Accept"), e.Produces) {
		return lcm.Errorf(lcm.CodeNotAcceptable, "the answer is %s, which the Accept header does not allow",
			strings.Join(e.Produces, " or "))
	}
	if err := e.query(w, r); err != nil {
		return err
	}
	if len(e.Consumes) > 0 {
		release, err := e.body(w, r)
		defer release()
		if err != nil {
			return err
		}
	}
	if !e.Stream {
		// Everything has been read. The deadline for that would end the request's context when it passes.
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // not supported by test recorders
	}
	e.allowCompression(w, r)
	if err := e.beginAudit(r); err != nil {
		return err
	}
	return e.once(w, r)
}

// query refuses a query string that cannot be read, and parameters that the route does not know. A lenient API ignores
// these: deployed clients send some that no server knows, and say nothing of a filter or a selector that is refused.
func (e *endpoint) query(w http.ResponseWriter, r *Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	r.query = q
	if e.Query == nil {
		return nil
	}
	known := "it has none"
	if len(e.Query) > 0 {
		known = "it has " + strings.Join(e.Query, ", ")
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if slices.Contains(e.Query, name) {
			continue
		}
		if !e.lenient {
			return lcm.Errorf(lcm.CodeInvalid, "%.60q is not a query parameter of this resource", name).WithHint(known)
		}
		unknown = append(unknown, name)
		delete(q, name) // links to further pages do not repeat it
	}
	warn(w.Header(), unknown, known)
	return nil
}

// maxWarnings bounds the Warning headers of one answer.
const maxWarnings = 8

// warn adds a Warning header (RFC 7234 clause 5.5) for each query parameter that was ignored.
func warn(h http.Header, ignored []string, known string) {
	for n, name := range ignored {
		text := fmt.Sprintf("%.60q is not a query parameter of this resource and was ignored; %s", name, known)
		if n == maxWarnings-1 && len(ignored) > maxWarnings {
			text = fmt.Sprintf("%d more query parameters were ignored; %s", len(ignored)-n, known)
		}
		h.Add("Warning", "299 gybe "+strconv.QuoteToASCII(text))
		if n == maxWarnings-1 {
			return
		}
	}
}

// body checks the body's type and, unless the handler streams it, reads and validates it. release MUST be
// called when the body is no longer needed.
func (e *endpoint) body(w http.ResponseWriter, r *Request) (release func(), err error) {
	release = func() {}
	empty := r.ContentLength == 0 && len(r.TransferEncoding) == 0
	if empty && e.BodyOptional {
		return release, nil
	}
	if !empty && !consumes(r.Header.Get("Content-Type"), e.Consumes) {
		return release, unreadableType(r.Header.Get("Content-Type"), e.Consumes)
	}
	if c := r.Header.Get("Content-Encoding"); !empty && c != "" && !strings.EqualFold(c, "identity") {
		return release, lcm.Errorf(lcm.CodeUnsupportedType,
			"the body has the Content-Encoding %.40q, but only identity is supported", c).WithHint(
			"send it without a Content-Encoding",
		)
	}
	if e.Stream {
		return release, nil
	}
	raw, release, err := readBody(w, r.Request, e.frame.opts.MaxBody, e.frame.opts.Limits, &e.frame.bodies)
	if err != nil {
		return release, err
	}
	if len(raw) == 0 {
		if e.BodyOptional {
			return release, nil
		}
		return release, lcm.Errorf(lcm.CodeInvalid, "the request has no body").WithHint("send a JSON object")
	}
	schema, err := e.schema()
	if err != nil {
		return release, err
	}
	if err := validateBody(raw, schema, e.frame.opts.Limits); err != nil {
		return release, err
	}
	r.Raw = raw
	return release, nil
}

// unreadableType is the error of a body whose Content-Type is not among those that a resource reads.
func unreadableType(given string, reads []string) error {
	if given == "" {
		return lcm.Errorf(
			lcm.CodeUnsupportedType, "the body has no Content-Type, and this resource reads %s",
			strings.Join(reads, " or "),
		).WithHint("send Content-Type: " + reads[0])
	}
	return lcm.Errorf(
		lcm.CodeUnsupportedType, "the body is %.80q, but this resource reads %s", given, strings.Join(reads, " or "),
	)
}
