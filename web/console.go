package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

//go:embed assets templates
var files embed.FS

// console serves the pages.
type console struct {
	Deps
	templates *template.Template
	assets    http.Handler
	// build names the assets' content, so that browsers may keep them for ever.
	build string
	slots chan struct{}
}

// screen is one kind of page.
type screen struct {
	path     string // below /ui/
	section  string // of the navigation
	template string
	load     func(c *console, ctx context.Context, a ask) (view, error)
	// concerns selects the events after which the page may look different, nil when it follows none; kinds are
	// prefixes of their kinds. Output is followed apart from them.
	concerns func(id string) FeedQuery
	kinds    []string
	// pace is how long the page stands still at least after a change.
	pace time.Duration
	// output says that the page shows the output of the operation's steps.
	output bool
}

// ask is what a request asks of a screen.
type ask struct {
	id    string // from the path, "" for lists
	after string // id to go on after, of lists
}

// view is what a screen shows now.
type view struct {
	Title string
	Data  any
	// tick is how often the view changes by itself, 0 for never.
	tick time.Duration
	// still says that nothing can change any more.
	still bool
}

var screens = []screen{
	{path: "{$}", section: "instances", template: "instances", load: (*console).instances, concerns: everything, kinds: []string{"instance.", "op.state", "op.phase"}, pace: time.Second},
	{path: "instances/{id}", section: "instances", template: "instance", load: (*console).instance, concerns: ofInstance, kinds: []string{"instance.", "op.state", "op.phase"}, pace: time.Second},
	{path: "operations/{id}", section: "instances", template: "operation", load: (*console).operation, concerns: ofOperation, kinds: []string{"op."}, pace: 200 * time.Millisecond, output: true},
	{path: "packages", section: "packages", template: "packages", load: (*console).packages, concerns: everything, kinds: []string{"package.", "instance."}, pace: time.Second},
	{path: "packages/{id}", section: "packages", template: "package", load: (*console).pkg, concerns: everything, kinds: []string{"package.", "instance."}, pace: time.Second},
	{path: "nodes", section: "nodes", template: "nodes", load: (*console).nodes},
}

func everything(string) FeedQuery     { return FeedQuery{} }
func ofInstance(id string) FeedQuery  { return FeedQuery{InstanceID: id} }
func ofOperation(id string) FeedQuery { return FeedQuery{OpID: id} }

// Handler serves the console. Requests have paths below /ui/, whatever Prefix is. It panics only when the embedded
// templates are broken, which a test would tell.
func Handler(d Deps) http.Handler {
	if d.Clock == nil {
		d.Clock = lcm.SystemClock{}
	}
	c := &console{Deps: d, slots: make(chan struct{}, cmp.Or(d.Streams, 100)), build: buildOf(files)}
	c.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"ui":     func(elem ...string) string { return c.Prefix + "/ui/" + join(elem) },
		"api":    func(elem ...string) string { return c.Prefix + "/" + join(elem) },
		"asset":  func(name string) string { return c.Prefix + "/ui/assets/" + c.build + "/" + name },
		"state":  badgeOf,
		"stamp":  stampOf,
		"plural": plural,
		"short":  short,
		"brief":  func(id string) string { return cut(id, 9) },
	}).ParseFS(files, "templates/*.html"))
	assets, err := fs.Sub(files, "assets")
	if err != nil {
		panic(err) // the directory is embedded
	}
	c.assets = http.FileServerFS(assets)

	mux := http.NewServeMux()
	for _, s := range screens {
		mux.Handle("GET /ui/"+s.path, c.wrap("/ui/"+s.path, c.page(s)))
		stream := "/ui/events/" + s.path
		mux.Handle("GET "+stream, c.wrap(stream, c.stream(s)))
	}
	mux.Handle("GET /ui/assets/{build}/{name}", c.wrap("/ui/assets", c.asset))
	mux.Handle("/ui/", c.wrap("/ui/", func(w http.ResponseWriter, r *http.Request) {
		c.problem(w, r, lcm.Errorf(lcm.CodeNotFound, "the console has no page %s", short(r.URL.Path)))
	}))
	return mux
}

// join makes a path of elements, each escaped.
func join(elem []string) string {
	escaped := make([]string, len(elem))
	for i, e := range elem {
		escaped[i] = url.PathEscape(e)
	}
	return strings.Join(escaped, "/")
}

func buildOf(fsys fs.FS) string {
	h := sha256.New()
	err := fs.WalkDir(fsys, "assets", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(fsys, path)
		h.Write(raw)
		return err
	})
	if err != nil {
		panic(err) // the files are embedded
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// page is what the layout needs.
type page struct {
	Title, Section string
	// Stream is where the page's changes come from, "" when there will be none.
	Stream string
	Body   template.HTML
}

// page answers with a whole page.
func (c *console) page(s screen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := ask{id: r.PathValue("id"), after: r.URL.Query().Get("after")}
		var log *output
		var err error
		if s.output { // before the view: what comes after it is in the stream
			if log, err = c.history(r.Context(), a.id); err != nil {
				c.problem(w, r, err)
				return
			}
		}
		v, err := s.load(c, r.Context(), a)
		if err != nil {
			c.problem(w, r, err)
			return
		}
		p := page{Title: v.Title, Section: s.section}
		if log != nil {
			log.attach(v.Data)
		}
		if !v.still {
			q := url.Values{}
			if a.after != "" {
				q.Set("after", a.after)
			}
			if log != nil {
				q.Set("log", log.next)
			}
			p.Stream = c.Prefix + "/ui/events" + strings.TrimPrefix(r.URL.EscapedPath(), "/ui")
			if len(q) > 0 {
				p.Stream += "?" + q.Encode()
			}
		}
		c.write(w, r, http.StatusOK, p, s.template, v.Data)
	}
}

// problem answers with an error.
func (c *console) problem(w http.ResponseWriter, r *http.Request, err error) {
	e := lcm.AsError(err)
	if e.Code == lcm.CodeInternal || e.Code == lcm.CodeUnavailable {
		c.Log.ErrorContext(r.Context(), "console page not shown", "path", r.URL.Path, "error", err, "cause", e.Cause)
	}
	title := http.StatusText(e.Status())
	c.write(w, r, e.Status(), page{Title: title}, "problem", problem{Title: cmp.Or(e.Title, title), Detail: e.Detail, Hint: e.Hint})
}

type problem struct{ Title, Detail, Hint string }

func (c *console) write(w http.ResponseWriter, r *http.Request, status int, p page, name string, data any) {
	var out bytes.Buffer
	body, err := c.fragment(name, data)
	if err == nil {
		p.Body = body
		err = c.templates.ExecuteTemplate(&out, "layout", p)
	}
	if err != nil {
		c.Log.ErrorContext(r.Context(), "console template failed", "template", name, "error", err)
		http.Error(w, "the page cannot be shown; the log has the cause", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // whoever asked has gone
}

// fragment renders a template on its own.
func (c *console) fragment(name string, data any) (template.HTML, error) {
	var out bytes.Buffer
	err := c.templates.ExecuteTemplate(&out, name, data)
	return template.HTML(out.String()), err //nolint:gosec // html/template has just escaped it
}

func (c *console) asset(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("build") == c.build {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	r2 := r.Clone(r.Context())
	r2.URL.Path = r.PathValue("name")
	c.assets.ServeHTTP(w, r2)
}

// policy allows what the console itself serves and nothing else.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// wrap sets what all answers have in common and tells of each.
func (c *console) wrap(route string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		next(rec, r)
		took := time.Since(began)
		if c.Observe != nil {
			c.Observe(r.Method, route, rec.status, took)
		}
		if route != "/ui/assets" {
			c.Log.InfoContext(r.Context(), "console", "method", r.Method, "route", route, "path", r.URL.Path, "status", rec.status, "took", took)
		}
	}
}

// recorder remembers the status.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
