package keystone

import (
	"net/http"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError, a.Authenticate = writeError, s.identify
	version := rest.Obj{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links":       []rest.Obj{{"rel": "self", "href": s.world.BaseURL + a.Prefix + "/v3/"}},
		"media-types": []rest.Obj{{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}},
	}
	root := func(*rest.Call) (int, any, error) {
		return http.StatusMultipleChoices, rest.Obj{"versions": rest.Obj{"values": []rest.Obj{version}}}, nil
	}
	v3 := func(*rest.Call) (int, any, error) { return http.StatusOK, rest.Obj{"version": version}, nil }
	a.HandlePublic("GET /{$}", root)
	a.HandlePublic("GET ", root)
	a.HandlePublic("GET /v3/{$}", v3)
	a.HandlePublic("GET /v3", v3)
	a.HandlePublic("POST /v3/auth/tokens", rest.WithBody(s.postToken))
	a.Handle("GET /v3/auth/tokens", s.getToken)
	a.Handle("DELETE /v3/auth/tokens", s.deleteToken)
	a.Handle("GET /v3/auth/projects", s.ownProjects)
	a.Handle("GET /v3/projects", s.listProjects)
	a.Handle("POST /v3/users/{user}/application_credentials", rest.WithBody(s.createApplication))
	a.Handle("DELETE /v3/users/{user}/application_credentials/{id}", s.deleteApplication)
	a.HandleNotFound("The resource could not be found.")
}

func (s *Service) projectView(p *Project) rest.Obj {
	return rest.Obj{
		"id": p.ID, "name": p.Name, "domain_id": domainID, "parent_id": domainID, "enabled": true, "is_domain": false,
		"description": "", "tags": []string{}, "options": rest.Obj{},
		"links": rest.Obj{"self": s.world.BaseURL + "/identity/v3/projects/" + p.ID},
	}
}

func (s *Service) ownProjects(c *rest.Call) (int, any, error) {
	u := s.user(c.UserID, "")
	out := []rest.Obj{}
	for _, p := range s.projects {
		if len(u.Roles[p.ID]) > 0 {
			out = append(out, s.projectView(p))
		}
	}
	return http.StatusOK, rest.Obj{"projects": out, "links": rest.Obj{}}, nil
}

func (s *Service) listProjects(c *rest.Call) (int, any, error) {
	if !c.Admin {
		const text = "You are not authorized to perform the requested action: identity:list_projects."
		return 0, nil, rest.Errorf(http.StatusForbidden, "Forbidden", text)
	}
	out := []rest.Obj{}
	for _, p := range s.projects {
		if rest.OneOf(c.Query, "name", p.Name) && rest.OneOf(c.Query, "domain_id", domainID) {
			out = append(out, s.projectView(p))
		}
	}
	return http.StatusOK, rest.Obj{"projects": out, "links": rest.Obj{}}, nil
}

func writeError(w http.ResponseWriter, _ *http.Request, e *rest.Error) {
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Keystone uri="/identity"`)
	}
	rest.WriteJSON(w, e.Status, rest.Obj{"error": rest.Obj{
		"code": e.Status, "message": e.Message, "title": http.StatusText(e.Status),
	}})
}
