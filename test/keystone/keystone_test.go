package keystone_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// application makes an application credential of alice and returns a login with it.
func (w *world) application(t *testing.T, spec obj) (identity obj) {
	t.Helper()
	token, _, user := w.logIn(alice().identity(), alice().scope())
	all := w.keystone + "/users/" + user + "/application_credentials"
	spec["name"] = "gybe " + t.Name()
	resp, answer := w.call(http.MethodPost, all, token, nil, obj{"application_credential": spec})
	require.Equal(t, http.StatusCreated, resp.StatusCode, answer)
	made, _ := answer["application_credential"].(obj)
	id, _ := made["id"].(string)
	t.Cleanup(func() { w.call(http.MethodDelete, all+"/"+id, token, nil, nil) })
	return obj{"methods": []string{"application_credential"}, "application_credential": obj{
		"id": id, "secret": made["secret"],
	}}
}

// create tries to create a package and returns the status and the id.
func (w *world) create(token string) (int, string) {
	w.t.Helper()
	resp, made := w.call(http.MethodPost, w.node.URL()+"/vnfpkgm/v1/vnf_packages", token, nil, obj{})
	id, _ := made["id"].(string)
	return resp.StatusCode, id
}

func TestLoginsByPasswordApplicationCredentialAndToken(t *testing.T) {
	w := start(t, 5*time.Minute)
	password := w.token(alice())
	status, _ := w.create(password)
	require.Equal(t, http.StatusCreated, status)

	application, _, _ := w.logIn(w.application(t, obj{"roles": []obj{{"name": "reader"}}}), nil)
	require.Equal(t, http.StatusOK, w.status(application).StatusCode)
	status, _ = w.create(application)
	require.Equal(t, http.StatusForbidden, status, "the credential has only the role reader")

	again, _, _ := w.logIn(obj{"methods": []string{"token"}, "token": obj{"id": password}}, alice().scope())
	status, _ = w.create(again)
	require.Equal(t, http.StatusCreated, status)
}

func TestTokenWithoutProjectAndTokenThatIsNone(t *testing.T) {
	w := start(t, 5*time.Minute)
	unscoped, _, _ := w.logIn(alice().identity(), "unscoped")
	require.Equal(t, http.StatusForbidden, w.status(unscoped).StatusCode)
	for _, token := range []string{"", "gAAAAAB-not-a-token", "not.a.token"} {
		resp := w.status(token)
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode, token)
		require.Contains(t, resp.Header.Get("WWW-Authenticate"), "Keystone uri=")
	}
}

func TestRevokedToken(t *testing.T) {
	w := start(t, time.Second)
	token := w.token(alice())
	require.Equal(t, http.StatusOK, w.status(token).StatusCode)
	subject := map[string]string{"X-Subject-Token": token}
	resp, _ := w.call(http.MethodDelete, w.keystone+"/auth/tokens", token, subject, nil)
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Eventually(t, func() bool {
		return w.status(token).StatusCode == http.StatusUnauthorized
	}, time.Minute, 100*time.Millisecond)
}

func TestExpiredToken(t *testing.T) {
	w := start(t, time.Second)
	end := time.Now().Add(10 * time.Second).UTC()
	token, _, _ := w.logIn(w.application(t, obj{"expires_at": end.Format("2006-01-02T15:04:05.000000")}), nil)
	require.Equal(t, http.StatusOK, w.status(token).StatusCode)
	require.Eventually(t, func() bool {
		return w.status(token).StatusCode == http.StatusUnauthorized
	}, 2*time.Minute, 200*time.Millisecond)
	require.False(t, time.Now().Before(end))
}

func TestTokenOfAnotherProjectFindsNothing(t *testing.T) {
	w := start(t, 5*time.Minute)
	own, other := w.token(alice()), w.token(bob())
	status, id := w.create(own)
	require.Equal(t, http.StatusCreated, status)
	at := w.node.URL() + "/vnfpkgm/v1/vnf_packages/" + id
	resp, _ := w.call(http.MethodGet, at, own, nil, nil)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	resp, _ = w.call(http.MethodGet, at, other, nil, nil)
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	resp, _ = w.call(http.MethodDelete, at, other, nil, nil)
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

// TestKeystoneUnreachable: for 30 s on a real Keystone, and as long as the calls take on the simulated one.
func TestKeystoneUnreachable(t *testing.T) {
	w := start(t, 5*time.Minute)
	known, unknown := w.token(alice()), w.token(bob())
	require.Equal(t, http.StatusOK, w.status(known).StatusCode)
	w.down.Store(true)
	pace := time.NewTicker(200 * time.Millisecond)
	defer pace.Stop()
	for end := time.Now().Add(30 * time.Second); ; <-pace.C {
		require.Equal(t, http.StatusOK, w.status(known).StatusCode)
		resp := w.status(unknown)
		require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
		require.NotEmpty(t, resp.Header.Get("Retry-After"))
		if !w.real || time.Now().After(end) {
			break
		}
	}
	w.down.Store(false)
	require.Eventually(t, func() bool {
		return w.status(unknown).StatusCode == http.StatusOK
	}, time.Minute, 100*time.Millisecond)
}
