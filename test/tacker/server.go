package tacker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// Options are what a Server starts with. The zero value needs no login and has the page size of Tacker's version 1.
type Options struct {
	// Keystone is the URL of the identity service, with /v3, that checks the tokens of requests; "" needs none.
	Keystone string
	// PageSize is the number of operation occurrences on one page; 100 if zero.
	PageSize int
	// Wrap puts a layer around the API.
	Wrap func(http.Handler) http.Handler
}

// Request is a request that the server has got.
type Request struct{ Method, Path string }

// Server is the stand-in of Tacker's API.
type Server struct {
	URL string

	tb   testing.TB
	opts Options

	mu         sync.Mutex
	instances  map[string]*record
	operations []*operation // the oldest first
	packages   []*Package
	vims       []obj
	pages      map[string][]obj // of version 1, by marker
	requests   []Request
}

// record is an instance.
type record struct {
	version int
	doc     obj
}

// operation is an operation occurrence.
type operation struct {
	version int
	doc     obj // in the form of version 2
}

// Start starts a server that ends with the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	o.PageSize = cmp.Or(o.PageSize, 100)
	s := &Server{tb: tb, opts: o, instances: map[string]*record{}, pages: map[string][]obj{}}
	var h http.Handler = s
	if o.Wrap != nil {
		h = o.Wrap(h)
	}
	srv := httptest.NewServer(h)
	tb.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

// Requests are those that the server has got.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// fault is an error response: its status and body.
type fault struct {
	status int
	body   obj
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, Request{r.Method, r.URL.RequestURI()})
	s.mu.Unlock()
	path := strings.TrimSuffix(r.URL.Path, ".json")
	if !s.authorized(r) {
		answer(w, http.StatusUnauthorized, obj{"error": obj{
			"code": http.StatusUnauthorized, "title": "Unauthorized",
			"message": "The request you have made requires authentication.",
		}})
		return
	}
	if r.Method != http.MethodGet { // the stand-in has no more than the reading side
		answer(w, http.StatusMethodNotAllowed, obj{"status": http.StatusMethodNotAllowed, "detail": "not here"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body, f := s.read(w, r, path)
	switch {
	case f != nil:
		answer(w, f.status, f.body)
	case body == nil:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<html><head><title>404 Not Found</title></head></html>")
	default:
		if raw, ok := body.([]byte); ok {
			w.Header().Set("Content-Type", "application/zip")
			_, _ = w.Write(raw)
			return
		}
		answer(w, http.StatusOK, body)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	media := "application/json"
	if o, ok := body.(obj); ok && status >= http.StatusBadRequest && o["detail"] != nil {
		media = "application/problem+json"
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

// authorized asks Keystone about the token of a request.
func (s *Server) authorized(r *http.Request) bool {
	if s.opts.Keystone == "" {
		return true
	}
	token := r.Header.Get("X-Auth-Token")
	if token == "" {
		return false
	}
	url := strings.TrimRight(s.opts.Keystone, "/") + "/auth/tokens"
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		s.tb.Error(err)
		return false
	}
	req.Header.Set("X-Auth-Token", token)
	req.Header.Set("X-Subject-Token", token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.tb.Error(err)
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

var route = regexp.MustCompile(
	`^/(vnflcm/v[12]|vnfpkgm/v1|v1\.0)/(vnf_instances|vnf_lcm_op_occs|vnf_packages|vims|api_versions)` +
		`(?:/([^/]+))?(/package_content)?$`)

// read answers a GET request; nil and nil is the answer to an unknown path.
func (s *Server) read(w http.ResponseWriter, r *http.Request, path string) (any, *fault) {
	if path == "/vnflcm/api_versions" {
		return versions("1.3.0", "2.0.0"), nil
	}
	m := route.FindStringSubmatch(path)
	if m == nil {
		return nil, nil
	}
	api, resource, id, content := m[1], m[2], m[3], m[4]
	if api == "vnflcm/v2" && resource != "api_versions" {
		w.Header().Set("Version", "2.0.0")
		w.Header().Set("Accept-Ranges", "none")
		switch r.Header.Get("Version") {
		case "":
			return nil, problem(http.StatusBadRequest, "'Version' HTTP header missing.")
		case "2.0.0":
		default:
			return nil, problem(http.StatusNotAcceptable, "The API version is not supported.")
		}
	}
	switch {
	case api == "vnfpkgm/v1" && resource == "vnf_packages":
		return s.readPackages(r, id, content)
	case api == "v1.0" && resource == "vims":
		return s.readVims(r, id)
	case resource == "vnf_instances":
		return s.readInstances(api, id)
	case resource == "vnf_lcm_op_occs":
		return s.readOperations(w, r, api, id)
	case api == "vnflcm/v1" && resource == "api_versions" && id == "":
		return versions("1.3.0"), nil
	case api == "vnflcm/v2" && resource == "api_versions" && id == "":
		return versions("2.0.0"), nil
	}
	return nil, nil
}

func versions(list ...string) obj {
	var out []obj
	for _, v := range list {
		out = append(out, obj{"version": v, "isDeprecated": false})
	}
	return obj{"uriPrefix": "/vnflcm", "apiVersions": out}
}

// problem is an error of version 2.
func problem(status int, detail string) *fault {
	return &fault{status, obj{"status": status, "detail": detail}}
}

// absent is the error for a resource that does not exist, in the form of an API.
func absent(api, kind, id string) *fault {
	if api == "vnflcm/v2" {
		return problem(http.StatusNotFound, kind+" "+id+" not found.")
	}
	return &fault{http.StatusNotFound, obj{"itemNotFound": obj{
		"code": http.StatusNotFound, "message": "Can not find requested " + kind + ": " + id,
	}}}
}

// version is the number in vnflcm/v1 or vnflcm/v2.
func version(api string) int {
	n, _ := strconv.Atoi(api[len(api)-1:])
	return n
}

func (s *Server) readInstances(api, id string) (any, *fault) {
	if id == "" {
		list := []obj{}
		for _, in := range s.instances {
			if in.version == version(api) {
				list = append(list, in.doc)
			}
		}
		slices.SortFunc(list, func(a, b obj) int { return cmp.Compare(a["id"].(string), b["id"].(string)) })
		return list, nil
	}
	in := s.instances[id]
	if in == nil || in.version != version(api) {
		return nil, absent(api, "VnfInstance", id)
	}
	return in.doc, nil
}

var byInstance = regexp.MustCompile(`^\(eq,vnfInstanceId,([^,)]+)\)$`)

// hidden are the members that lists of version 2 leave out.
var hidden = []string{"operationParams", "error", "resourceChanges", "changedInfo", "changedExtConnectivity"}

func (s *Server) readOperations(w http.ResponseWriter, r *http.Request, api, id string) (any, *fault) {
	if id != "" {
		for _, o := range s.operations {
			if o.version == version(api) && o.doc["id"] == id {
				return o.view(s.URL), nil
			}
		}
		return nil, absent(api, "VnfLcmOpOcc", id)
	}
	q := r.URL.Query()
	marker := q.Get("nextpage_opaque_marker")
	if marker != "" && api == "vnflcm/v1" { // pages are kept once
		list := s.pages[marker]
		delete(s.pages, marker)
		return s.page(w, r, api, slices.Clone(list)), nil
	}
	of := ""
	if filter := q.Get("filter"); filter != "" {
		m := byInstance.FindStringSubmatch(filter)
		if m == nil {
			return nil, problem(http.StatusBadRequest, "the stand-in knows only filters by vnfInstanceId")
		}
		of = m[1]
	}
	list := []obj{}
	for _, o := range s.operations {
		if o.version != version(api) || of != "" && o.doc["vnfInstanceId"] != of {
			continue
		}
		doc := o.view(s.URL)
		if api == "vnflcm/v2" && !q.Has("all_fields") {
			for _, name := range hidden {
				delete(doc, name)
			}
		}
		list = append(list, doc)
	}
	if api == "vnflcm/v2" { // in the order of their ids
		slices.SortFunc(list, func(a, b obj) int { return cmp.Compare(a["id"].(string), b["id"].(string)) })
		if marker != "" {
			list = slices.DeleteFunc(list, func(o obj) bool { return o["id"].(string) <= marker })
		}
	}
	if api == "vnflcm/v1" && q.Get("all_records") == "yes" {
		return list, nil
	}
	return s.page(w, r, api, list), nil
}

// page cuts the first page off a list and links to the next one.
func (s *Server) page(w http.ResponseWriter, r *http.Request, api string, list []obj) []obj {
	if len(list) <= s.opts.PageSize {
		return list
	}
	page, rest := list[:s.opts.PageSize], list[s.opts.PageSize:]
	if api == "vnflcm/v1" { // the link has no other parameters
		marker := uuid.NewString()
		s.pages[marker] = rest
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?nextpage_opaque_marker=%s>; rel="next"`, s.URL, r.URL.Path, marker))
		return page
	}
	q := r.URL.Query()
	q.Set("nextpage_opaque_marker", page[len(page)-1]["id"].(string))
	w.Header().Set("Link", fmt.Sprintf(`<%s%s?%s>;rel="next"`, s.URL, r.URL.Path, q.Encode()))
	return page
}

// view is an operation occurrence as its version shows it.
func (o *operation) view(root string) obj {
	doc := clone(o.doc)
	self := fmt.Sprintf("%s/vnflcm/v%d/vnf_lcm_op_occs/%s", root, o.version, doc["id"])
	links := obj{
		"self": obj{"href": self},
		"vnfInstance": obj{
			"href": fmt.Sprintf("%s/vnflcm/v%d/vnf_instances/%s", root, o.version, doc["vnfInstanceId"]),
		},
	}
	for _, task := range []string{"retry", "rollback", "fail"} {
		links[task] = obj{"href": self + "/" + task}
	}
	if o.version == 1 {
		raw, err := json.Marshal(doc["operationParams"])
		if err != nil {
			panic(err)
		}
		doc["operationParams"] = string(raw)
		for _, name := range hidden {
			if doc[name] == nil {
				doc[name] = nil
			}
		}
		links["grant"] = obj{"href": self + "/grant"}
	}
	doc["_links"] = links
	return doc
}

func (s *Server) readVims(r *http.Request, id string) (any, *fault) {
	list := []obj{}
	for _, v := range s.vims {
		if id != "" && v["id"] == id {
			return obj{"vim": v}, nil
		}
		if name := r.URL.Query().Get("name"); name == "" || v["name"] == name {
			list = append(list, v)
		}
	}
	if id != "" {
		return nil, &fault{http.StatusNotFound, obj{"TackerError": obj{
			"type": "VimNotFoundException", "detail": "",
			"message": "Specified VIM id " + id + " is invalid. Please verify and pass a valid VIM id",
		}}}
	}
	return obj{"vims": list}, nil
}
