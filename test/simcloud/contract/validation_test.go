package contract

import (
	"net/http"
	"slices"
	"testing"
)

// validate asks Keystone about a token, as the user of c.
func (c *cloud) validate(token string) reply {
	c.t.Helper()
	return c.request(
		http.MethodGet, c.login.url+"/auth/tokens?nocatalog=1", c.token, nil, obj{"X-Subject-Token": token},
	)
}

// roles are the names of the roles in a token.
func (r reply) roles() []string {
	var out []string
	for _, role := range r.list("token", "roles") {
		name, _ := at(role, "name").(string)
		out = append(out, name)
	}
	return out
}

// TestTokenValidation has what pkg/auth relies on: a service asks about tokens of users.
func TestTokenValidation(t *testing.T) {
	t.Parallel()
	c := connect(t, "token validation")
	other := c.other()

	r := c.validate(other.token)
	c.answers("an administrator validates the token of another user", http.StatusOK, r)
	c.fact("it names user, domain, project and roles", r.str("token", "user", "name") == other.login.user &&
		r.str("token", "user", "domain", "name") != "" && r.str("token", "project", "id") == other.project &&
		slices.Contains(r.roles(), "member"), r.text)
	c.fact("without the catalogue", r.get("token", "catalog") == nil, r.text)
	c.answers("another user does not", http.StatusForbidden, other.validate(c.token))
	c.answers("but validates its own", http.StatusOK, other.validate(other.token))
	c.answers("a token that never was is not found", http.StatusNotFound, c.validate("gAAAAAB-not-a-token"))
	c.answers("nor one of other letters", http.StatusNotFound, c.validate("not.a.token"))
	bad := *c
	bad.token = "gAAAAAB-not-a-token"
	c.answers("a service without a valid token is refused", http.StatusUnauthorized, bad.validate(other.token))
	c.request(http.MethodDelete, c.login.url+"/auth/tokens", other.token, nil, obj{"X-Subject-Token": other.token})
	c.answers("a revoked token is not found", http.StatusNotFound, c.validate(other.token))

	l := c.login
	r = c.request(http.MethodPost, l.url+"/auth/tokens", "", obj{"auth": obj{
		"identity": obj{"methods": []string{"password"}, "password": obj{
			"user": obj{"name": l.user, "password": l.password, "domain": obj{"id": l.domain}},
		}},
		"scope": "unscoped",
	}}, nil)
	c.answers("a token can be without a project", http.StatusCreated, r)
	r = c.validate(r.header.Get("X-Subject-Token"))
	c.fact("and is valid without one", r.status == http.StatusOK && r.get("token", "project") == nil, r.status, r.text)
}

// TestApplicationCredential logs in with an application credential.
func TestApplicationCredential(t *testing.T) {
	t.Parallel()
	c := connect(t, "application credential")
	user := c.validate(c.token).str("token", "user", "id")
	all := c.login.url + "/users/" + user + "/application_credentials"
	r := c.request(http.MethodPost, all, c.token, obj{"application_credential": obj{
		"name": "contract-" + user[:8], "roles": []obj{{"name": "member"}},
	}}, nil)
	c.answers("a user makes an application credential", http.StatusCreated, r)
	id, secret := r.str("application_credential", "id"), r.str("application_credential", "secret")
	defer c.request(http.MethodDelete, all+"/"+id, c.token, nil, nil)

	logIn := func(secret string) reply {
		return c.request(http.MethodPost, c.login.url+"/auth/tokens", "", obj{"auth": obj{"identity": obj{
			"methods": []string{"application_credential"}, "application_credential": obj{"id": id, "secret": secret},
		}}}, nil)
	}
	r = logIn(secret)
	c.answers("and logs in with it", http.StatusCreated, r)
	token := r.header.Get("X-Subject-Token")
	r = c.validate(token)
	c.fact("its token is for the project, with the roles of the credential", r.status == http.StatusOK &&
		r.str("token", "project", "id") == c.project && slices.Contains(r.roles(), "member") &&
		!slices.Contains(r.roles(), "admin"), r.status, r.text)
	c.fact("and names the credential", r.str("token", "application_credential", "id") == id, r.text)
	r = c.request(http.MethodPost, c.login.url+"/auth/tokens", "", obj{"auth": obj{
		"identity": obj{"methods": []string{"token"}, "token": obj{"id": c.token}},
		"scope":    obj{"project": obj{"id": c.project}},
	}}, nil)
	c.answers("a user logs in with a token", http.StatusCreated, r)
	r = c.validate(r.header.Get("X-Subject-Token"))
	c.fact("for the same project", r.str("token", "project", "id") == c.project, r.status, r.text)
	c.answers("but not for a project without a role", http.StatusUnauthorized,
		c.request(http.MethodPost, c.login.url+"/auth/tokens", "", obj{"auth": obj{
			"identity": obj{"methods": []string{"token"}, "token": obj{"id": c.other().token}},
			"scope":    obj{"project": obj{"id": c.project}},
		}}, nil))
	c.answers("another secret is refused", http.StatusUnauthorized, logIn("wrong"))

	c.answers("the credential can be deleted", http.StatusNoContent,
		c.request(http.MethodDelete, all+"/"+id, c.token, nil, nil))
	c.answers("then its token is not valid", http.StatusNotFound, c.validate(token))
	c.answers("and it is not found at a login", http.StatusNotFound, logIn(secret))
}
