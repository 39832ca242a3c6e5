package contract

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	c := connect(t, "identity")
	r := c.logIn()
	c.like("a token has its end", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`, r.str("token", "expires_at"))
	end, err := time.Parse(time.RFC3339, r.str("token", "expires_at"))
	c.fact("which is to come", err == nil && end.After(time.Now()), err, end)
	c.fact("a token comes with a catalogue of every service", c.endpoints["orchestration"] != "" &&
		c.endpoints["compute"] != "" && c.endpoints["network"] != "" &&
		c.endpoints["image"] != "" && c.endpoints["volumev3"] != "", c.endpoints)
	c.fact("Heat's and Cinder's addresses have the project in them", strings.HasSuffix(c.endpoints["orchestration"],
		"/"+c.project) && strings.HasSuffix(c.endpoints["volumev3"], "/"+c.project), c.endpoints)
	r = c.request(http.MethodGet, c.login.url, "", nil, nil)
	c.fact("the version is public", r.status == http.StatusOK && strings.HasPrefix(r.str("version", "id"), "v3."),
		r.status, r.text)

	const refusal = "The request you have made requires authentication."
	wrong := *c
	wrong.login.password = "wrong"
	r = wrong.logIn()
	c.fact("a wrong password is refused", r.status == http.StatusUnauthorized && r.str("error", "message") == refusal,
		r.status, r.text)
	wrong = *c
	wrong.login.project = "contract-none"
	r = wrong.logIn()
	c.fact("an unknown project likewise", r.status == http.StatusUnauthorized && r.str("error", "message") == refusal,
		r.status, r.text)

	bad := *c
	bad.token = "gAAAAAB-not-a-token"
	refused := func(what string, c *cloud) {
		for _, s := range []struct{ service, path string }{
			{"heat", "/stacks"}, {"nova", "/servers"}, {"neutron", "/ports"}, {"cinder", "/volumes"},
		} {
			r := c.call(http.MethodGet, s.service, s.path, nil)
			c.fact(what+" by "+s.service, r.status == http.StatusUnauthorized && r.get("error", "code") == 401.0 &&
				r.str("error", "message") == refusal &&
				strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Keystone uri="), r.status, r.text, r.header)
		}
		r := c.call(http.MethodGet, "glance", "/images", nil)
		c.fact(what+" by glance, in its own words", r.status == http.StatusUnauthorized &&
			r.str("code") == "401 Unauthorized" && strings.HasPrefix(r.header.Get("WWW-Authenticate"), "Keystone uri="),
			r.status, r.text)
	}
	refused("a token that never was is refused", &bad)
	second := *c
	second.logIn()
	c.answers("a token can be revoked", http.StatusNoContent, c.request(
		http.MethodDelete, c.login.url+"/auth/tokens", c.token, nil, obj{"X-Subject-Token": second.token},
	))
	refused("a revoked token is refused at once", &second)
	c.answers("the others are not", http.StatusOK, c.call(http.MethodGet, "heat", "/stacks", nil))
}
