package keystone

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

type domainRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (d *domainRef) ok() bool {
	return d != nil && (d.ID == domainID || d.ID == "" && d.Name == domainName)
}

type authRequest struct {
	Auth *struct {
		Identity struct {
			Methods  []string `json:"methods"`
			Password struct {
				User struct {
					ID       string     `json:"id"`
					Name     string     `json:"name"`
					Domain   *domainRef `json:"domain"`
					Password string     `json:"password"`
				} `json:"user"`
			} `json:"password"`
			Token struct {
				ID string `json:"id"`
			} `json:"token"`
		} `json:"identity"`
		Scope any `json:"scope"`
	} `json:"auth"`
}

var errUnauthorized = rest.Errorf(
	http.StatusUnauthorized, "Unauthorized", "The request you have made requires authentication.",
)

// postToken is POST /v3/auth/tokens.
func (s *Service) postToken(c *rest.Call) (int, any, error) {
	var req authRequest
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if req.Auth == nil {
		return 0, nil, rest.Errorf(
			http.StatusBadRequest, "Bad Request", "Invalid input for field 'auth': 'auth' is a required property",
		)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := req.Auth.Identity
	var user *User
	switch {
	case slices.Contains(id.Methods, "password"):
		u := id.Password.User
		if u.ID == "" && !u.Domain.ok() {
			return 0, nil, errUnauthorized
		}
		user = s.user(u.ID, u.Name)
		if user == nil || user.Password != u.Password {
			return 0, nil, errUnauthorized
		}
	case slices.Contains(id.Methods, "token"):
		t := s.valid(id.Token.ID)
		if t == nil {
			return 0, nil, errUnauthorized
		}
		user = t.user
	default:
		return 0, nil, rest.Errorf(
			http.StatusUnauthorized, "Unauthorized", "Attempted to authenticate with an unsupported method.",
		)
	}
	project, err := s.scope(req.Auth.Scope, user)
	if err != nil {
		return 0, nil, err
	}
	t := s.issue(user, project, id.Methods)
	c.W.Header().Set("X-Subject-Token", t.id)
	c.W.Header().Set("Vary", "X-Auth-Token")
	return http.StatusCreated, rest.Obj{"token": s.tokenView(t, c.Query.Has("nocatalog"))}, nil
}

// scope resolves the requested scope; a user without a role in the project is refused like a wrong password.
func (s *Service) scope(scope any, u *User) (*Project, error) {
	switch scope := scope.(type) {
	case nil:
		return s.project(u.DefaultProject, ""), nil
	case string:
		if scope == "unscoped" {
			return nil, nil
		}
	case map[string]any:
		p, ok := scope["project"].(map[string]any)
		if !ok {
			break
		}
		id, _ := p["id"].(string)
		name, _ := p["name"].(string)
		if id == "" {
			d, _ := p["domain"].(map[string]any)
			did, _ := d["id"].(string)
			dname, _ := d["name"].(string)
			if ref := (&domainRef{did, dname}); !ref.ok() {
				return nil, errUnauthorized
			}
		}
		project := s.project(id, name)
		if project == nil || len(u.Roles[project.ID]) == 0 {
			return nil, errUnauthorized
		}
		return project, nil
	}
	return nil, errUnauthorized
}

// subject finds the token that a call is about; the caller's own token must be valid too.
func (s *Service) subject(c *rest.Call) (*token, error) {
	t := s.valid(c.R.Header.Get("X-Subject-Token"))
	if t == nil {
		return nil, rest.Errorf(http.StatusNotFound, "Not Found", "Could not find token.")
	}
	return t, nil
}

func (s *Service) getToken(c *rest.Call) (int, any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.subject(c)
	if err != nil {
		return 0, nil, err
	}
	c.W.Header().Set("X-Subject-Token", t.id)
	if c.R.Method == http.MethodHead {
		return http.StatusOK, nil, nil
	}
	return http.StatusOK, rest.Obj{"token": s.tokenView(t, c.Query.Has("nocatalog"))}, nil
}

func (s *Service) deleteToken(c *rest.Call) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.subject(c)
	if err != nil {
		return 0, nil, err
	}
	delete(s.tokens, t.id)
	return http.StatusNoContent, nil, nil
}

func (s *Service) tokenView(t *token, noCatalog bool) rest.Obj {
	domain := rest.Obj{"id": domainID, "name": domainName}
	v := rest.Obj{
		"methods":    rest.Strings(t.methods),
		"user":       rest.Obj{"domain": domain, "id": t.user.ID, "name": t.user.Name, "password_expires_at": nil},
		"audit_ids":  []string{t.audit},
		"expires_at": t.expires.Format(timeForm),
		"issued_at":  t.issued.Format(timeForm),
	}
	if t.project != nil {
		v["project"] = rest.Obj{"domain": domain, "id": t.project.ID, "name": t.project.Name}
		v["is_domain"] = false
		roles := []rest.Obj{}
		for _, r := range t.user.Roles[t.project.ID] {
			roles = append(roles, rest.Obj{"id": stableID("role", r), "name": r})
		}
		v["roles"] = roles
		if !noCatalog {
			v["catalog"] = s.catalogView(t.project.ID)
		}
	}
	return v
}

func (s *Service) catalogView(project string) []rest.Obj {
	own := s.regions[0]
	out := make([]rest.Obj, 0, len(own.catalog))
	for _, service := range own.catalog {
		var endpoints []rest.Obj
		for _, r := range s.regions {
			i := slices.IndexFunc(r.catalog, func(e Endpoint) bool { return e.Type == service.Type })
			if i < 0 {
				if service.Type != "identity" {
					continue
				}
				r.catalog, i = []Endpoint{service}, 0 // one for all regions
			}
			url := strings.ReplaceAll(r.catalog[i].URL, "{project}", project)
			for _, iface := range []string{"public", "internal", "admin"} {
				endpoints = append(endpoints, rest.Obj{
					"id": stableID(service.Name, r.name, iface), "interface": iface, "region": r.name,
					"region_id": r.name, "url": url,
				})
			}
		}
		out = append(out, rest.Obj{
			"id": stableID("service", service.Name), "type": service.Type, "name": service.Name, "endpoints": endpoints,
		})
	}
	return out
}

// stableID derives an id in Keystone's form from names, the same in every process.
func stableID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}
