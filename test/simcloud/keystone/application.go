package keystone

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// methodApplication is the login with an application credential.
const methodApplication = "application_credential"

// application is an application credential: a login for one project of a user, with some of its roles.
type application struct {
	id, name, secret string
	user             *User
	project          *Project
	roles            []string
	expires          time.Time // zero is never
}

// ends is the expiry as Keystone writes it: without a zone when the token ends with its application credential.
func (t *token) ends() string {
	if t.application != nil && t.expires.Equal(t.application.expires) {
		return t.expires.Format("2006-01-02T15:04:05")
	}
	return t.expires.Format(timeForm)
}

func (a *application) ended(now time.Time) bool { return !a.expires.IsZero() && !now.Before(a.expires) }

type applicationRequest struct {
	Credential struct {
		Name   string `json:"name"`
		Secret string `json:"secret"`
		Roles  []struct {
			Name string `json:"name"`
		} `json:"roles"`
		ExpiresAt string `json:"expires_at"`
	} `json:"application_credential"`
}

// createApplication is POST /v3/users/{user}/application_credentials. The response is the only one with the secret.
func (s *Service) createApplication(c *rest.Call, req applicationRequest) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.valid(c.R.Header.Get("X-Auth-Token"))
	if own == nil || own.project == nil || own.application != nil || c.R.PathValue("user") != own.user.ID {
		return 0, nil, rest.Errorf(http.StatusForbidden, "Forbidden",
			"You are not authorized to perform the requested action: identity:create_application_credential.")
	}
	app := &application{
		id: randomID(), name: req.Credential.Name, secret: req.Credential.Secret, user: own.user, project: own.project,
		roles: own.roles,
	}
	if text := req.Credential.ExpiresAt; text != "" {
		end, err := time.Parse("2006-01-02T15:04:05.999999", strings.TrimSuffix(text, "Z"))
		if err != nil || app.ended(s.world.Now()) {
			return 0, nil, rest.Errorf(http.StatusBadRequest, "Bad Request", "Invalid input for field 'expires_at'")
		}
		app.expires = end
	}
	if app.secret == "" {
		app.secret = randomID()
	}
	if len(req.Credential.Roles) > 0 {
		app.roles = nil
		for _, r := range req.Credential.Roles {
			app.roles = append(app.roles, r.Name)
		}
	}
	s.applications[app.id] = app
	return http.StatusCreated, rest.Obj{methodApplication: rest.Obj{
		"id": app.id, "name": app.name, "secret": app.secret, "project_id": app.project.ID, "unrestricted": false,
		"expires_at": nil, "description": nil,
	}}, nil
}

// deleteApplication is DELETE /v3/users/{user}/application_credentials/{id}. It revokes the tokens of the credential.
func (s *Service) deleteApplication(c *rest.Call) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	app := s.applications[c.R.PathValue("id")]
	if app == nil || app.user.ID != c.UserID || c.R.PathValue("user") != c.UserID {
		return 0, nil, rest.Errorf(http.StatusNotFound, "Not Found",
			"Could not find Application Credential: %s.", c.R.PathValue("id"))
	}
	delete(s.applications, app.id)
	for id, t := range s.tokens {
		if t.application == app {
			delete(s.tokens, id)
		}
	}
	return http.StatusNoContent, nil, nil
}

func randomID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
