// Package nfvo is an NFVO for tests: a real HTTP server that grants operations (SOL003 clause 9), immediately, later or
// never, changes what it grants, loses answers, and remembers all requests.
package nfvo

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// Behaviour is how the NFVO answers. The zero value grants everything as it is asked for, with 201.
type Behaviour struct {
	// Looks is the number of looks at a grant that are answered with 202; above 0 the request is answered with 202,
	// too.
	Looks int
	// RetryAfter is the header of answers 202, and of those of Status; "" for none.
	RetryAfter string
	// Status, if it is not 0, is the answer to every request, with Problem.
	Status  int
	Problem *sol.ProblemDetails
	// Down closes connections without an answer.
	Down bool
	// Lose is the number of grants whose answer is lost after they were made.
	Lose int
	// Change changes a grant before it is sent; may be nil.
	Change func(r sol.GrantRequest, g *sol.Grant)
	// Accepts says whether a request has valid credentials; nil accepts all.
	Accepts func(r *http.Request) bool
	// Cut is the number of downloads of packages that end after half of their bytes.
	Cut int
	// Asked is called for every grant request that was read, before it is answered; may be nil.
	Asked func(r sol.GrantRequest)
}

// Server is an NFVO.
type Server struct {
	URL string
	tb  Reporter

	mu       sync.Mutex
	how      Behaviour
	requests []sol.GrantRequest
	bodies   map[string]string // of requests, by operation
	grants   map[string]*pending
	packages map[string][]byte // archives, by vnfdId
	reads    []string          // Range headers of downloads
}

// pending is a grant, by its id.
type pending struct {
	grant sol.Grant
	looks int
}

// Start starts an NFVO. It ends with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := New(tb)
	h := httptest.NewServer(s)
	tb.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Reporter gets the errors of requests. It is implemented by testing.TB.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// New makes an NFVO that its user serves.
func New(tb Reporter) *Server {
	tb.Helper()
	return &Server{tb: tb, bodies: map[string]string{}, grants: map[string]*pending{}, packages: map[string][]byte{}}
}

// Set changes how the NFVO answers from now on.
func (s *Server) Set(b Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.how = b
}

// Requests returns all grant requests for an operation, in order; "" is those of all operations.
func (s *Server) Requests(opID string) []sol.GrantRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r sol.GrantRequest) bool {
		return opID != "" && r.VnfLcmOpOccID != opID
	})
}

// Grants returns the grants for an operation: more than one is an error of the VNFM, because the NFVO reserves capacity
// for each.
func (s *Server) Grants(opID string) []sol.Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []sol.Grant
	for _, p := range s.grants {
		if p.grant.VnfLcmOpOccID == opID {
			out = append(out, p.grant)
		}
	}
	return out
}

// Forget lets the NFVO forget its grants, as one that was restored from a backup.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = map[string]*pending{}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	how := s.how
	s.mu.Unlock()
	switch {
	case how.Down:
		hangUp(w)
	case how.Accepts != nil && !how.Accepts(r):
		problem(w, &sol.ProblemDetails{Status: http.StatusUnauthorized, Detail: "no valid credentials"})
	case r.Header.Get("Version") != versionOf(r.URL.Path):
		problem(w, &sol.ProblemDetails{Status: http.StatusNotAcceptable, Detail: "unknown Version"})
	case how.Status != 0:
		w.Header().Set("Retry-After", how.RetryAfter)
		p := sol.ProblemDetails{Detail: "not now"}
		if how.Problem != nil {
			p = *how.Problem
		}
		p.Status = how.Status
		problem(w, &p)
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, packagesPath):
		s.servePackage(w, r)
	case r.Method == http.MethodPost && r.URL.Path == "/grant/v1/grants":
		s.post(w, r, how)
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/grant/v1/grants/"):
		s.get(w, r, how)
	default:
		problem(w, &sol.ProblemDetails{Status: http.StatusNotFound, Detail: r.URL.Path + " does not exist"})
	}
}

// post makes a grant. The same request for the same operation gives the same grant.
func (s *Server) post(w http.ResponseWriter, r *http.Request, how Behaviour) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	var req sol.GrantRequest
	for _, finding := range oracle.Request(r.Method, r.URL.Path, raw) {
		s.tb.Errorf("differs from the standard: %s\n%s", finding, raw)
	}
	if err := json.Unmarshal(raw, &req); err != nil {
		problem(w, &sol.ProblemDetails{Status: http.StatusBadRequest, Detail: err.Error()})
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	if had, ok := s.bodies[req.VnfLcmOpOccID]; ok && had != string(raw) {
		s.tb.Errorf("another grant request for operation %s:\n%s\n%s", req.VnfLcmOpOccID, had, raw)
	}
	s.bodies[req.VnfLcmOpOccID] = string(raw)
	g := s.grantOf(r, req, how)
	lost := s.how.Lose > 0
	if lost {
		s.how.Lose--
	}
	s.mu.Unlock()
	if how.Asked != nil {
		how.Asked(req)
	}
	switch {
	case lost:
		hangUp(w)
	case g.looks < how.Looks:
		w.Header().Set("Location", g.grant.Links.Self.Href)
		w.Header().Set("Retry-After", how.RetryAfter)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Location", g.grant.Links.Self.Href)
		answer(w, http.StatusCreated, "application/json", g.grant)
	}
}

// grantOf finds or makes the grant of a request.
func (s *Server) grantOf(r *http.Request, req sol.GrantRequest, how Behaviour) *pending {
	for _, p := range s.grants {
		if p.grant.VnfLcmOpOccID == req.VnfLcmOpOccID {
			return p
		}
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	g := sol.Grant{ID: uuid.NewString(), VnfInstanceID: req.VnfInstanceID, VnfLcmOpOccID: req.VnfLcmOpOccID}
	g.Links = sol.GrantLinks{
		Self:        sol.Link{Href: scheme + "://" + r.Host + "/grant/v1/grants/" + g.ID},
		VnfLcmOpOcc: req.Links.VnfLcmOpOcc, VnfInstance: req.Links.VnfInstance,
	}
	for _, list := range []struct {
		from []sol.ResourceDefinition
		to   *[]sol.GrantInfo
	}{
		{req.AddResources, &g.AddResources},
		{req.RemoveResources, &g.RemoveResources},
		{req.UpdateResources, &g.UpdateResources},
		{req.TempResources, &g.TempResources},
	} {
		for _, d := range list.from {
			*list.to = append(*list.to, sol.GrantInfo{ResourceDefinitionID: d.ID})
		}
	}
	if how.Change != nil {
		how.Change(req, &g)
	}
	p := &pending{grant: g}
	s.grants[g.ID] = p
	return p
}

// get answers a look at a grant.
func (s *Server) get(w http.ResponseWriter, r *http.Request, how Behaviour) {
	id := strings.TrimPrefix(r.URL.Path, "/grant/v1/grants/")
	s.mu.Lock()
	p, ok := s.grants[id]
	wait := false
	if ok {
		wait = p.looks < how.Looks
		p.looks++
	}
	s.mu.Unlock()
	switch {
	case !ok:
		problem(w, &sol.ProblemDetails{Status: http.StatusNotFound, Detail: "the grant does not exist"})
	case wait:
		w.Header().Set("Retry-After", how.RetryAfter)
		w.WriteHeader(http.StatusAccepted)
	default:
		answer(w, http.StatusOK, "application/json", p.grant)
	}
}

func problem(w http.ResponseWriter, p *sol.ProblemDetails) {
	answer(w, p.Status, "application/problem+json", p)
}

func answer(w http.ResponseWriter, status int, media string, body any) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Version", "1.4.0")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}
