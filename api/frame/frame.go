package frame

import (
	"cmp"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/paging"
	"github.com/gybe-nfv/gybe/pkg/sol/version"
)

// Options configure a Frame.
type Options struct {
	Log *slog.Logger
	// PublicURL is how clients reach the API, with any prefix, without a slash at the end.
	PublicURL string
	// MaxBody bounds JSON bodies, in bytes; 0 means 1 MiB.
	MaxBody int64
	// BodyBudget bounds the memory of JSON bodies at the same time; 0 means 64 MiB. A request that exceeds it is
	// answered with 503 and Retry-After.
	BodyBudget int64
	// AnswerBudget bounds the memory of answers at the same time; 0 means 128 MiB. A client may take a minute to read
	// one.
	AnswerBudget int64
	// Limits bound what one request may cost.
	Limits Limits
	// Requests bounds the requests of one user in a second; 0 is no limit. A request above it is answered with 429 and
	// Retry-After.
	Requests int
	// Origins bounds the hosts and web sites that requests may be sent from and to; nil allows all.
	Origins *Origins
	// PageSize bounds the elements of one page of a list; 0 means 200.
	PageSize int
	// Markers signs paging markers.
	Markers *paging.Signer
	// Auth authenticates requests; nil accepts all.
	Auth Authenticator
	// Audit keeps the audit trail; nil keeps none.
	Audit Auditor
	// RequestKeys knows repeated requests; nil ignores Idempotency-Key.
	RequestKeys RequestKeys
	// Observe is called for every answered request, for metrics; may be nil.
	Observe func(method, route string, status int, took time.Duration)
}

// Frame routes requests to APIs. Mount all APIs before the first request.
type Frame struct {
	opts     Options
	mux      *chi.Mux
	prefixes []mounted
	handlers map[string]http.HandlerFunc // by pattern
	schemas  []func() (*openapi3.Schema, error)
	bodies   budget
	answers  budget
	rates    *rates
	decoding chan struct{} // holds a token for each large resource that is decoded
	table    []Access

	compressors *compressors
	running     runningKeys
}

// mounted is what all answers below a prefix have in common.
type mounted struct {
	prefix   string
	versions versions
	header   http.Header
	problem  func(w http.ResponseWriter, r *Request, p *sol.ProblemDetails) error
}

// New returns a Frame without APIs: it answers 404 to everything.
func New(opts Options) *Frame {
	if opts.MaxBody == 0 {
		opts.MaxBody = 1 << 20
	}
	if opts.BodyBudget == 0 {
		opts.BodyBudget = max(bodyBudget, opts.MaxBody)
	}
	if opts.AnswerBudget == 0 {
		opts.AnswerBudget = answerBudget
	}
	opts.Limits = opts.Limits.withDefaults()
	if opts.PageSize == 0 {
		opts.PageSize = 200
	}
	if opts.Auth == nil {
		opts.Auth = NoAuth{}
	}
	opts.PublicURL = strings.TrimRight(opts.PublicURL, "/")
	f := &Frame{
		opts: opts, mux: chi.NewMux(), handlers: map[string]http.HandlerFunc{},
		bodies: budget{limit: opts.BodyBudget}, answers: budget{limit: opts.AnswerBudget},
		rates:    newRates(opts.Requests),
		decoding: make(chan struct{}, runtime.GOMAXPROCS(0)), compressors: newCompressors(),
	}
	f.mux.NotFound(f.serve(nil, nil))
	f.mux.MethodNotAllowed(f.unknownMethod)
	return f
}

// API is one interface, such as /vnflcm/v2.
type API struct {
	// Prefix of all its paths, e.g. /vnflcm/v2.
	Prefix string
	// Versions it serves, the default one last: it is named in errors about the Version header. An API without any
	// ignores the header.
	Versions []version.Version
	// VersionOptional serves a request without a Version header in the default version.
	VersionOptional bool
	// AnyMinor serves a request for any version with the major number of the default one in the default version.
	AnyMinor bool
	// LenientQuery ignores query parameters that a route does not know, with a Warning header, instead of refusing
	// them.
	LenientQuery bool
	// PageSize bounds the elements of one page of a list, besides Options.PageSize; 0 means no other bound.
	PageSize int
	// Document holds the schemas of its request bodies; may be nil when no route has one.
	Document *Document
	// Routes of the API.
	Routes []Route
	// Auth authenticates the requests of this API; nil means Options.Auth.
	Auth Authenticator
	// Header is set in all answers below the prefix, also in errors.
	Header http.Header
	// Problem shows an error to the client; nil answers with application/problem+json. The status is not written yet.
	Problem func(w http.ResponseWriter, r *Request, p *sol.ProblemDetails) error
}

// Route is one method of one resource.
type Route struct {
	Method string
	// Path below the prefix in chi's notation, e.g. /vnf_instances/{vnfInstanceId}.
	Path string
	// Handle answers the request.
	Handle Handler
	// Replay answers a repeated request with an Idempotency-Key; nil ignores the header. The effect of a route with it
	// MUST be stored by a transaction that also stores lcm.RequestKeyOf.
	Replay Replayer
	// Produces lists the media types of the answer for the Accept check; nil means the check is left out
	// because the answer has no body.
	Produces []string
	// Consumes lists the media types of the body; nil means that a body is neither needed nor read. The
	// body is read, checked and given to the handler when they are JSON; with Stream the handler reads it.
	Consumes []string
	// BodyOptional allows a JSON body to be absent.
	BodyOptional bool
	// Schema is the path in the document whose body schema holds, when it is not Path.
	Schema string
	// Stream leaves the body to the handler: no limit, no schema.
	Stream bool
	// Query lists the query parameters; any other is refused, or ignored if the API is lenient. nil allows all.
	Query []string
	// AnyVersion switches the Version header check off for this route.
	AnyVersion bool
	// Public switches authentication off for this route.
	Public bool
	// Role is required to use the route; empty means reader for GET, and operator for other methods.
	Role lcm.Role
	// Secret says that the response holds a secret.
	Secret bool
	// Login says that the handler adds the entries of logins and logouts to the audit trail.
	Login bool
	// Quiet logs the request at debug level.
	Quiet bool
}

// Handler answers one request or returns why it cannot. After the first byte is written it MUST return
// nil or an error that only the log sees.
type Handler func(w http.ResponseWriter, r *Request) error

// JSON is the media type of nearly everything.
var JSON = []string{"application/json"}

// Patches are the media types of PATCH: the standard's, and what the openstack client sends.
var Patches = []string{"application/merge-patch+json", "application/json"}

// Mount adds an API.
func (f *Frame) Mount(a API) {
	m := mounted{
		prefix: a.Prefix, versions: versions{a.Versions, a.VersionOptional, a.AnyMinor}, header: a.Header,
		problem: a.Problem,
	}
	f.prefixes = append(f.prefixes, m)
	byPath := map[string]resource{}
	var order []string
	for _, r := range a.Routes {
		res, ok := byPath[r.Path]
		if !ok {
			order = append(order, r.Path)
			res = resource{}
		}
		res[r.Method] = f.endpoint(a, r)
		byPath[r.Path] = res
	}
	for n, r := range a.Routes {
		e := byPath[r.Path][r.Method]
		if r.Method == http.MethodGet {
			continue
		}
		if get := e.subject(byPath); get != nil {
			e.Handle = conditional(get, e.Handle)
			f.table[len(f.table)-len(a.Routes)+n].Condition = get.route
		} else if r.Method != http.MethodPost {
			e.Handle = unconditional(e.Handle)
		}
	}
	for _, p := range order {
		h := f.serve(&m, byPath[p])
		f.handlers[a.Prefix+p] = h
		f.mux.Handle(a.Prefix+p, h)
	}
}

// ServeHTTP implements http.Handler.
func (f *Frame) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// URL returns the public URL of an absolute path.
func (f *Frame) URL(path string) string { return f.opts.PublicURL + path }

// resource holds the endpoints of one path by method.
type resource map[string]*endpoint

// serve is the outermost part of every request to one path; a nil resource answers 404.
func (f *Frame) serve(m *mounted, res resource) http.HandlerFunc {
	allow := res.allow()
	return func(w http.ResponseWriter, hr *http.Request) {
		rw := &recorder{ResponseWriter: w, request: hr}
		r := &Request{Request: hr, frame: f, began: time.Now(), ID: requestID(hr)}
		rw.Header().Set(headerRequestID, r.ID)
		defer f.finish(rw, r) //nolint:contextcheck // it takes the request's
		at := m
		if at == nil {
			at = f.mountedAt(hr.URL.Path)
		}
		if at != nil {
			maps.Copy(rw.Header(), at.header)
			r.problem = at.problem
			r.versionErr = at.versions.negotiate(rw.Header(), hr.Header)
		}
		if err := f.opts.Origins.Check(hr); err != nil {
			r.fail(rw, err)
			return
		}
		if res == nil {
			r.fail(rw, lcm.Errorf(lcm.CodeNotFound, "there is no resource at %s", hr.URL.Path))
			return
		}
		method := hr.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		e := res[method]
		if e == nil {
			rw.Header().Set("Allow", allow)
			r.fail(rw, lcm.Errorf(lcm.CodeMethod, "%s is not a method of this resource", hr.Method).WithHint("it has "+
				allow))
			return
		}
		r.route, r.quiet, r.pageSize = e.route, e.Quiet, e.pageSize
		if err := e.serve(rw, r); err != nil { //nolint:contextcheck // r has the context
			r.fail(rw, err)
		}
	}
}

// unknownMethod answers a method that HTTP does not know; the router does not look at its path.
func (f *Frame) unknownMethod(w http.ResponseWriter, r *http.Request) {
	path := cmp.Or(r.URL.RawPath, r.URL.Path) // an escaped slash divides nothing
	h, ok := f.handlers[f.mux.Find(chi.NewRouteContext(), http.MethodGet, path)]
	if !ok {
		h = f.serve(nil, nil)
	}
	h(w, r)
}

// mountedAt finds the API that a path without a resource would belong to.
func (f *Frame) mountedAt(path string) *mounted {
	var best *mounted
	for i, m := range f.prefixes {
		if strings.HasPrefix(path, m.prefix+"/") && (best == nil || len(m.prefix) > len(best.prefix)) {
			best = &f.prefixes[i]
		}
	}
	return best
}
