// Package redirect keeps the credentials of HTTP clients on the server that they are meant for.
package redirect

import (
	"fmt"
	"net/http"
	"net/url"
)

// maxRedirects bounds the redirects of one request.
const maxRedirects = 5

// Error reports a redirect that was not followed. It names both addresses, without user information and query.
type Error struct{ From, To string }

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s redirects to %s, which is not the same scheme, host and port", e.From, e.To)
}

// SameServer is a CheckRedirect for clients that send credentials. net/http removes only Authorization and Cookie when
// the host changes: tokens in other headers, passwords in bodies and client certificates would go to the new host, and
// nothing is removed when https becomes http.
func SameServer(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || hostPort(req.URL) != hostPort(first) {
		return &Error{From: shown(first), To: shown(req.URL)}
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("%s redirects more than %d times", shown(first), maxRedirects)
	}
	return nil
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Hostname() + ":" + port
}

// maxShown bounds an address in an error, in bytes: the server that redirects chooses it.
const maxShown = 200

func shown(u *url.URL) string {
	s := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return s
}
