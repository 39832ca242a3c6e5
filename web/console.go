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
	"path"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

//go:embed assets templates
var files embed.FS

// console serves the pages.
type console struct {
	Deps
	Project          // of the request; see in
	project   string // its name
	templates *template.Template
	// prefix is the path of the public URL, "" or e.g. "/nfv": links begin with it, requests do not.
	prefix string
	// build names the assets' content, so that browsers may keep them for ever.
	build string
	slots chan struct{}
	// revoking holds a value for each credential that is being revoked.
	revoking chan struct{}
	views    *sharedViews
}

// in returns the console for one request: with the project of its principal.
func (c *console) in(p lcm.Principal) *console {
	out := *c
	out.Project, out.project = c.In(p), p.Project
	return &out
}

// screen is one kind of page.
type screen struct {
	path     string // below /ui/
	section  string // of the navigation
	template string
	load     func(c *console, ctx context.Context, a ask) (view, error)
	// concerns selects the events after which the page may look different, nil when it follows none; kinds are
	// prefixes of their kinds. Output is followed apart from them.
	concerns func(id string) gybeapi.FeedQuery
	kinds    []string
	// pace is the shortest time between two updates of the page.
	pace time.Duration
	// role is required to see it; empty means reader.
	role lcm.Role
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
	{
		path: "", section: "instances", template: "instances", load: (*console).instances, concerns: everything,
		kinds: []string{"instance.", "op.state", "op.phase", "subscription."}, pace: time.Second,
	},
	{
		path: "instances/{id}", section: "instances", template: "instance", load: (*console).instance,
		concerns: ofInstance, kinds: []string{"instance.", "op.state", "op.phase"}, pace: time.Second,
	},
	{
		path: "operations/{id}", section: "instances", template: "operation", load: (*console).operation,
		concerns: ofOperation, kinds: []string{"op."}, pace: 200 * time.Millisecond, output: true,
	},
	{
		path: "packages", section: "packages", template: "packages", load: (*console).packages, concerns: everything,
		kinds: []string{"package.", "instance."}, pace: time.Second,
	},
	{
		path: "packages/{id}", section: "packages", template: "package", load: (*console).pkg, concerns: everything,
		kinds: []string{"package.", "instance."}, pace: time.Second,
	},
	{
		path: "subscriptions", section: "subscriptions", template: "subscriptions", load: (*console).subscriptions,
		concerns: everything, kinds: []string{"subscription."}, pace: time.Second,
	},
	{path: "nodes", section: "nodes", template: "nodes", load: (*console).nodes, role: lcm.RoleOperator},
	{
		path: "interfaces", section: "interfaces", template: "interfaces", load: (*console).interfaces,
		concerns: everything,
	},
	{
		path: "interfaces/{id}", section: "interfaces", template: "interface", load: (*console).interfaceScreen,
		concerns: everything,
	},
}

func everything(string) gybeapi.FeedQuery     { return gybeapi.FeedQuery{} }
func ofInstance(id string) gybeapi.FeedQuery  { return gybeapi.FeedQuery{InstanceID: id} }
func ofOperation(id string) gybeapi.FeedQuery { return gybeapi.FeedQuery{OpID: id} }

// Path is where the console is, below the path of the public URL.
const Path = "/ui"

// Mount adds the console to a frame. It panics only when the embedded templates are broken, which a test would show.
func Mount(f *frame.Frame, d Deps) {
	if d.Clock == nil {
		d.Clock = lcm.SystemClock{}
	}
	c := &console{
		Deps: d, slots: make(chan struct{}, cmp.Or(d.Streams, 100)), build: buildOf(files), views: newSharedViews(),
		revoking: make(chan struct{}, maxRevocations),
	}
	if u, err := url.Parse(f.URL("")); err == nil {
		c.prefix = strings.TrimRight(u.Path, "/")
	}
	c.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"ui":     func(elem ...string) string { return c.prefix + Path + "/" + join(elem) },
		"api":    func(elem ...string) string { return c.prefix + "/" + join(elem) },
		"asset":  func(name string) string { return c.prefix + Path + "/assets/" + c.build + "/" + name },
		"state":  badgeOf,
		"stamp":  stampOf,
		"plural": plural,
		"short":  short,
		"brief":  func(id string) string { return cut(id, 9) },
	}).ParseFS(files, "templates/*.html"))

	api := frame.API{Prefix: Path, Header: headers, Problem: c.problem, Routes: c.loginRoutes()}
	if c.Login != nil {
		api.Auth = c.Login.Sessions
	}
	api.Routes = append(api.Routes, frame.Route{
		Method: http.MethodGet, Path: "/instances/{vnfInstanceId}/kubeconfig", Handle: c.Kubeconfig,
		Role: lcm.RoleOperator, Secret: true,
	})
	for _, s := range screens {
		api.Routes = append(api.Routes,
			frame.Route{Method: http.MethodGet, Path: "/" + s.path, Handle: c.page(s), Role: s.role},
			frame.Route{Method: http.MethodGet, Path: "/events/" + s.path, Handle: c.stream(s), Role: s.role})
	}
	api.Routes = append(api.Routes, frame.Route{
		Method: http.MethodGet, Path: "/assets/{build}/{name}", Handle: c.asset, Public: true, Quiet: true,
	})
	f.Mount(api)

	enter := func(w http.ResponseWriter, r *frame.Request) error {
		http.Redirect(w, r.Request, c.prefix+Path+"/", http.StatusFound)
		return nil
	}
	f.Mount(frame.API{Routes: []frame.Route{
		{Method: http.MethodGet, Path: "/", Handle: enter, Public: true, Quiet: true},
		{Method: http.MethodGet, Path: Path, Handle: enter, Public: true, Quiet: true},
	}})
}

// headers are set in all answers. The policy allows what the console itself serves and nothing else.
var headers = http.Header{
	"Content-Security-Policy": {
		"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
	},
	"X-Content-Type-Options":       {"nosniff"},
	"Referrer-Policy":              {"same-origin"},
	"Cross-Origin-Opener-Policy":   {"same-origin"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
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
	User   *user // who is logged in; nil when users do not log in
}

// page answers with a whole page.
func (c *console) page(s screen) frame.Handler {
	return func(w http.ResponseWriter, r *frame.Request) error {
		c := c.in(r.Principal)
		a := ask{id: r.Param("id"), after: r.QueryValues().Get("after")}

		var log *output
		if s.output { // before the view: what comes after it is in the stream
			var err error
			if log, err = c.history(r.Context(), a.id); err != nil {
				return err
			}
		}
		v, err := s.load(c, r.Context(), a)
		if err != nil {
			return err
		}

		p := page{Title: v.Title, Section: s.section, User: c.userOf(r)}
		if log != nil {
			log.attach(v.Data)
		}
		if !v.still {
			p.Stream = c.streamOf(r, a, log)
		}
		return c.write(w, http.StatusOK, p, s.template, v.Data)
	}
}

// streamOf is where the changes of the page that r asks for come from.
func (c *console) streamOf(r *frame.Request, a ask, log *output) string {
	q := url.Values{}
	if a.after != "" {
		q.Set("after", a.after)
	}
	if log != nil {
		q.Set("log", log.next)
	}
	stream := c.prefix + Path + "/events" + strings.TrimPrefix(r.URL.EscapedPath(), Path)
	if len(q) > 0 {
		stream += "?" + q.Encode()
	}
	return stream
}

// problem shows an error as a page. A user who is not logged in gets the page of the login.
func (c *console) problem(w http.ResponseWriter, r *frame.Request, p *sol.ProblemDetails) error {
	if p.Status == http.StatusUnauthorized && c.Login != nil && r.Method == http.MethodGet &&
		!strings.HasPrefix(r.URL.Path, Path+"/events/") {
		next := url.Values{"next": {c.prefix + r.URL.RequestURI()}}
		http.Redirect(w, r.Request, c.prefix+Path+"/login?"+next.Encode(), http.StatusSeeOther)
		return nil
	}
	return c.write(w, p.Status, page{Title: http.StatusText(p.Status), User: c.userOf(r)}, "problem",
		problem{Title: p.Title, Detail: p.Detail, Hint: p.Hint})
}

type problem struct{ Title, Detail, Hint string }

func (c *console) write(w http.ResponseWriter, status int, p page, name string, data any) error {
	var out bytes.Buffer
	body, err := c.fragment(name, data)
	if err != nil {
		return err
	}
	p.Body = body
	if err := c.templates.ExecuteTemplate(&out, "layout", p); err != nil {
		return err
	}

	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // an error means that the client is gone
	return nil
}

// fragment renders a template on its own.
func (c *console) fragment(name string, data any) (template.HTML, error) {
	var out bytes.Buffer
	err := c.templates.ExecuteTemplate(&out, name, data)
	return template.HTML(out.String()), err //nolint:gosec // html/template has just escaped it
}

func (c *console) asset(w http.ResponseWriter, r *frame.Request) error {
	name := r.Param("name")
	raw, err := fs.ReadFile(files, path.Join("assets", name))
	if err != nil || name != path.Base(name) {
		return lcm.Errorf(lcm.CodeNotFound, "the console has no file %s", short(name))
	}
	if r.Param("build") == c.build {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r.Request, name, time.Time{}, bytes.NewReader(raw))
	return nil
}
