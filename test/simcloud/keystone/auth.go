package keystone

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// scope is the project that a token is for.
type scope struct {
	Project struct {
		ID     string     `json:"id"`
		Name   string     `json:"name"`
		Domain *domainRef `json:"domain"`
	} `json:"project"`
	unscoped bool
}

// UnmarshalJSON implements json.Unmarshaler: the scope is an object, or the text "unscoped".
func (s *scope) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"unscoped"` {
		s.unscoped = true
		return nil
	}
	type object scope
	return json.Unmarshal(raw, (*object)(s))
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
			Application struct {
				ID     string `json:"id"`
				Secret string `json:"secret"`
			} `json:"application_credential"`
		} `json:"identity"`
		Scope scope `json:"scope"`
	} `json:"auth"`
}

var errUnauthorized = rest.Errorf(
	http.StatusUnauthorized, "Unauthorized", "The request you have made requires authentication.",
)

// postToken is POST /v3/auth/tokens.
func (s *Service) postToken(c *rest.Call, req authRequest) (int, any, error) {
	if req.Auth == nil {
		const text = "Invalid input for field 'auth': 'auth' is a required property"
		return 0, nil, rest.Errorf(http.StatusBadRequest, "Bad Request", text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, p := req.Auth.Identity, req.Auth.Scope.Project
	if slices.Contains(id.Methods, methodApplication) {
		app := s.applications[id.Application.ID]
		if app == nil {
			const text = "Could not find Application Credential: %s."
			return 0, nil, rest.Errorf(http.StatusNotFound, "Not Found", text, id.Application.ID)
		}
		if app.secret != id.Application.Secret || app.ended(s.world.Now()) {
			return 0, nil, errUnauthorized
		}
		t := s.issue(app.user, app.project, app.roles, id.Methods)
		t.application = app
		return s.issued(c, t)
	}
	if slices.Contains(id.Methods, "token") {
		return s.rescope(c, id.Token.ID, p.ID, p.Name)
	}
	if !slices.Contains(id.Methods, "password") {
		const text = "Attempted to authenticate with an unsupported method."
		return 0, nil, rest.Errorf(http.StatusUnauthorized, "Unauthorized", text)
	}
	u := id.Password.User
	user := s.user(u.ID, u.Name)
	if u.ID == "" && !u.Domain.ok() || user == nil || user.Password != u.Password {
		return 0, nil, errUnauthorized
	}
	if req.Auth.Scope.unscoped {
		return s.issued(c, s.issue(user, nil, nil, id.Methods))
	}
	project := s.project(p.ID, p.Name)
	if p.ID == "" && !p.Domain.ok() || project == nil || len(user.Roles[project.ID]) == 0 {
		return 0, nil, errUnauthorized
	}
	return s.issued(c, s.issue(user, project, user.Roles[project.ID], id.Methods))
}

// rescope is a login with a token, for the same or another project of its user. The new token does not live longer.
func (s *Service) rescope(c *rest.Call, id, projectID, projectName string) (int, any, error) {
	old, project := s.valid(id), s.project(projectID, projectName)
	if old == nil || old.application != nil || project == nil || len(old.user.Roles[project.ID]) == 0 {
		return 0, nil, errUnauthorized
	}
	t := s.issue(old.user, project, old.user.Roles[project.ID], append([]string{"token"}, old.methods...))
	t.expires = old.expires
	return s.issued(c, t)
}

func (s *Service) issued(c *rest.Call, t *token) (int, any, error) {
	c.W.Header().Set("X-Subject-Token", t.id)
	c.W.Header().Set("Vary", "X-Auth-Token")
	return http.StatusCreated, rest.Obj{"token": s.tokenView(t, !c.Query.Has("nocatalog"))}, nil
}

// subject finds the token that a call is about. The caller may use its own token; for that of another user it needs the
// role admin or service.
func (s *Service) subject(c *rest.Call, action string) (*token, error) {
	id := c.R.Header.Get("X-Subject-Token")
	t := s.valid(id)
	if t == nil {
		return nil, rest.Errorf(
			http.StatusNotFound, "Not Found", "Could not recognize Fernet token",
		)
	}
	if own := s.valid(c.R.Header.Get("X-Auth-Token")); own != nil && own.user != t.user &&
		!slices.Contains(own.roles, "admin") && !slices.Contains(own.roles, "service") {
		return nil, rest.Errorf(http.StatusForbidden, "Forbidden",
			"You are not authorized to perform the requested action: identity:%s.", action)
	}
	return t, nil
}

func (s *Service) getToken(c *rest.Call) (int, any, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.subject(c, "validate_token")
	if err != nil {
		return 0, nil, err
	}
	c.W.Header().Set("X-Subject-Token", t.id)
	if c.R.Method == http.MethodHead {
		return http.StatusOK, nil, nil
	}
	return http.StatusOK, rest.Obj{"token": s.tokenView(t, !c.Query.Has("nocatalog"))}, nil
}

func (s *Service) deleteToken(c *rest.Call) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.subject(c, "revoke_token")
	if err != nil {
		return 0, nil, err
	}
	delete(s.tokens, t.id)
	return http.StatusNoContent, nil, nil
}

func (s *Service) tokenView(t *token, catalog bool) rest.Obj {
	domain := rest.Obj{"id": domainID, "name": domainName}
	v := rest.Obj{
		"methods":    rest.Strings(t.methods),
		"user":       rest.Obj{"domain": domain, "id": t.user.ID, "name": t.user.Name, "password_expires_at": nil},
		"audit_ids":  []string{t.audit},
		"expires_at": t.ends(),
		"issued_at":  t.issued.Format(timeForm),
	}
	if t.application != nil {
		v["application_credential"] = rest.Obj{
			"id": t.application.id, "name": t.application.name, "restricted": true,
		}
	}
	if t.project == nil {
		return v
	}
	roles := []rest.Obj{}
	for _, r := range t.roles {
		roles = append(roles, rest.Obj{"id": stableID("role", r), "name": r})
	}
	v["project"] = rest.Obj{"domain": domain, "id": t.project.ID, "name": t.project.Name}
	v["is_domain"], v["roles"] = false, roles
	if catalog {
		v["catalog"] = s.catalogView(t.project.ID)
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
