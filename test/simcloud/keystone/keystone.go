// Package keystone is the simulated identity service (v3): passwords, application credentials and tokens, project
// scope, catalog.
package keystone

import (
	"crypto/rand"
	"encoding/base64"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

const (
	domainID   = "default"
	domainName = "Default"
	timeForm   = "2006-01-02T15:04:05.000000Z"
)

// Project is a project of the only domain.
type Project struct {
	ID   string
	Name string
}

// User is a user of the only domain with its roles by project id.
type User struct {
	ID, Name, Password string
	// Roles are role names by project id.
	Roles map[string][]string
}

// Endpoint is one entry of the catalog: the same URL for the public, internal and admin interface.
type Endpoint struct {
	Type, Name string
	// URL may hold {project}, which each token replaces by its own.
	URL string
}

type token struct {
	id              string
	user            *User
	project         *Project // nil without a scope
	roles           []string
	application     *application // nil unless the login was an application credential
	issued, expires time.Time
	audit           string
	methods         []string
}

// Service is the identity service of one cloud. It has its own lock, since every call of every service asks it.
type Service struct {
	world *sim.World
	// regions are those that share the service, its own first.
	regions []region

	mu       sync.RWMutex
	ttl      time.Duration
	projects []*Project
	users    []*User
	tokens   map[string]*token
	// applications are the application credentials by id.
	applications map[string]*application
}

// region is where services are.
type region struct {
	name    string
	catalog []Endpoint
}

// Config is what the service starts with.
type Config struct {
	Region   string
	TokenTTL time.Duration
	Projects []*Project
	Users    []*User
	Catalog  []Endpoint
}

// New returns the service.
func New(w *sim.World, c Config) *Service {
	return &Service{
		world: w, regions: []region{{c.Region, c.Catalog}}, ttl: c.TokenTTL,
		projects: c.Projects, users: c.Users, tokens: map[string]*token{},
		applications: map[string]*application{},
	}
}

// Join adds a region with its services, but for the identity service, to the catalog.
func (s *Service) Join(name string, catalog []Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	catalog = slices.DeleteFunc(catalog, func(e Endpoint) bool { return e.Type == "identity" })
	s.regions = append(s.regions, region{name, catalog})
}

// Offer adds an endpoint to the catalogue of all regions.
func (s *Service) Offer(e Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.regions {
		s.regions[n].catalog = append(slices.Clip(s.regions[n].catalog), e)
	}
}

// Leave takes a region that has joined out of the catalog.
func (s *Service) Leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.regions = slices.DeleteFunc(s.regions, func(r region) bool { return r.name == name })
}

// Authenticate returns the caller behind a valid, project-scoped token.
func (s *Service) Authenticate(id string) (rest.Caller, bool) {
	c, ok := s.identify(id)
	return c, ok && c.ProjectID != ""
}

// identify returns the caller behind a valid token.
func (s *Service) identify(id string) (rest.Caller, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.valid(id)
	if t == nil {
		return rest.Caller{}, false
	}
	c := rest.Caller{UserID: t.user.ID, UserName: t.user.Name, Admin: slices.Contains(t.roles, "admin")}
	if t.project != nil {
		c.ProjectID, c.ProjectName = t.project.ID, t.project.Name
	}
	return c, true
}

// ExpireAll makes every token invalid now.
func (s *Service) ExpireAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// SetPassword changes the password of a user, and makes the tokens of the user invalid, as Keystone does. It returns
// false for a user that does not exist.
func (s *Service) SetPassword(name, password string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user("", name)
	if u == nil {
		return false
	}
	u.Password = password
	maps.DeleteFunc(s.tokens, func(_ string, t *token) bool { return t.user == u })
	return true
}

// SetTTL sets how long tokens issued from now on are valid.
func (s *Service) SetTTL(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ttl = d
}

// TokenCount returns how many tokens there are; of one user if it has a name.
func (s *Service) TokenCount(user string) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, t := range s.tokens {
		if user == "" || t.user.Name == user {
			n++
		}
	}
	return n
}

func (s *Service) valid(id string) *token {
	t := s.tokens[id]
	if t == nil || !s.world.Now().Before(t.expires) || t.application != nil && t.application.ended(s.world.Now()) {
		return nil
	}
	return t
}

func (s *Service) issue(u *User, p *Project, roles, methods []string) *token {
	var raw [132]byte
	_, _ = rand.Read(raw[:]) // never fails
	now := s.world.Now()
	t := &token{
		id:   "gAAAAAB" + base64.RawURLEncoding.EncodeToString(raw[:]),
		user: u, project: p, roles: roles, issued: now, expires: now.Add(s.ttl), methods: methods,
		audit: base64.RawURLEncoding.EncodeToString(raw[:16]),
	}
	const many = 4096
	if len(s.tokens) > many {
		for id := range s.tokens {
			if s.valid(id) == nil {
				delete(s.tokens, id)
			}
		}
	}
	s.tokens[t.id] = t
	return t
}

func (s *Service) project(id, name string) *Project {
	for _, p := range s.projects {
		if id != "" && p.ID == id || id == "" && p.Name == name {
			return p
		}
	}
	return nil
}

func (s *Service) user(id, name string) *User {
	for _, u := range s.users {
		if id != "" && u.ID == id || id == "" && u.Name == name {
			return u
		}
	}
	return nil
}
