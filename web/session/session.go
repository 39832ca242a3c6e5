// Package session keeps the login of a user of the console in a cookie.
//
// The cookie holds the user's credential, sealed with the keys of the installation, so every node reads it and no node
// remembers it. Each request authenticates the credential again, as if it came in a header: a token that is revoked or
// expired ends the session. Scripts of a page cannot read the cookie (HttpOnly), and a browser does not send it with
// requests of other sites (SameSite=Strict).
package session

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Lifetime is how long a session lasts at most.
const Lifetime = 12 * time.Hour

// maxCookie bounds the value of a cookie in bytes. Browsers accept 4096 with name and attributes.
const maxCookie = 3900

// Access authenticates requests and credentials; *auth.Authenticator does.
type Access interface {
	Authenticate(r *http.Request) (lcm.Principal, error)
	AuthenticateCredential(ctx context.Context, c auth.Credential, remote string) (lcm.Principal, error)
	Challenges() []string
}

// Sealer encrypts what a cookie holds; *secret.Ring does.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Keeper keeps sessions. It implements frame.Authenticator.
type Keeper struct {
	Access Access
	Sealer Sealer
	// Path limits the cookies to the console, e.g. /ui.
	Path string
	// Secure keeps the cookies from connections without TLS.
	Secure bool
	Clock  lcm.Clock
}

const (
	cookieSession = "gybe_session"
	cookieLogin   = "gybe_login"
	// places bind a sealed value to its use.
	placeSession = "console session"
	placeLogin   = "console login"
)

// session is what the cookie of a user holds.
type session struct {
	Credential auth.Credential `json:"credential"`
	Ends       time.Time       `json:"ends"`
	// Issued says that the credential was issued for this session, so that the logout may revoke it.
	Issued bool `json:"issued,omitempty"`
}

// Authenticate implements frame.Authenticator: with the session, or else with the headers and the certificate of the
// request, as the API does.
func (k *Keeper) Authenticate(r *http.Request) (lcm.Principal, error) {
	var s session
	if !k.Has(r) {
		return k.Access.Authenticate(r)
	}
	if !k.open(r, cookieSession, placeSession, &s) || !s.Ends.After(k.Clock.Now()) {
		return lcm.Principal{}, lcm.Errorf(lcm.CodeUnauthorized, "the session has ended").WithHint("log in again")
	}
	return k.Access.AuthenticateCredential(r.Context(), s.Credential, r.RemoteAddr)
}

// Challenges implements frame.Authenticator.
func (k *Keeper) Challenges() []string { return k.Access.Challenges() }

// Has says whether a request has a session, valid or not.
func (k *Keeper) Has(r *http.Request) bool {
	_, err := r.Cookie(cookieSession)
	return err == nil
}

// Begin authenticates a credential and gives the client a session with it, for Lifetime at most. issued says that the
// credential was issued for this session. The principal is the session's.
func (k *Keeper) Begin(
	w http.ResponseWriter, r *http.Request, c auth.Credential, issued bool,
) (lcm.Principal, error) {
	p, err := k.Access.AuthenticateCredential(r.Context(), c, r.RemoteAddr)
	if err != nil {
		return lcm.Principal{}, err
	}
	s := session{Credential: c, Ends: k.Clock.Now().Add(Lifetime), Issued: issued}
	return p, k.set(w, cookieSession, placeSession, http.SameSiteStrictMode, s.Ends, s)
}

// Credential returns the credential of the session of a request, also if it is not valid any more, and whether it was
// issued for the session. Without a session of this installation, ok is false.
func (k *Keeper) Credential(r *http.Request) (c auth.Credential, issued, ok bool) {
	var s session
	ok = k.open(r, cookieSession, placeSession, &s)
	return s.Credential, s.Issued, ok
}

// End ends the session of a client.
func (k *Keeper) End(w http.ResponseWriter) { k.clear(w, cookieSession, http.SameSiteStrictMode) }

// Attempt is a login at an OpenID provider that has begun.
type Attempt struct {
	Flow auth.CodeFlow `json:"flow"`
	// Next is the page of the console that the user wanted.
	Next string    `json:"next"`
	Ends time.Time `json:"ends"`
}

// attemptTime is how long a user has for a login at an OpenID provider.
const attemptTime = 10 * time.Minute

// Remember keeps an attempt in the browser. The browser sends it when the provider leads back to the console, which is
// a request from another site, so the cookie is not strict; it gives no access.
func (k *Keeper) Remember(w http.ResponseWriter, a Attempt) error {
	a.Ends = k.Clock.Now().Add(attemptTime)
	return k.set(w, cookieLogin, placeLogin, http.SameSiteLaxMode, a.Ends, a)
}

// Recall returns the attempt of a browser, once; false when there is none, or it is too old.
func (k *Keeper) Recall(w http.ResponseWriter, r *http.Request) (Attempt, bool) {
	var a Attempt
	ok := k.open(r, cookieLogin, placeLogin, &a) && a.Ends.After(k.Clock.Now())
	k.clear(w, cookieLogin, http.SameSiteLaxMode)
	return a, ok
}

func (k *Keeper) open(r *http.Request, name, place string, into any) bool {
	c, err := r.Cookie(name)
	if err != nil {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return false
	}
	plain, err := k.Sealer.Open(sealed, place)
	return err == nil && plain != nil && json.Unmarshal(plain, into) == nil
}

func (k *Keeper) set(
	w http.ResponseWriter, name, place string, site http.SameSite, ends time.Time, v any,
) error {
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	value := base64.RawURLEncoding.EncodeToString(k.Sealer.Seal(plain, place))
	if len(value) > maxCookie {
		return lcm.Errorf(lcm.CodeTooLarge, "the token does not fit into a cookie: %d bytes, of which browsers keep %d",
			len(value), maxCookie).WithHint("use the gybe command, or ask for a token with fewer groups or claims")
	}
	http.SetCookie(w, k.cookie(name, value, site, int(ends.Sub(k.Clock.Now())/time.Second)))
	return nil
}

func (k *Keeper) clear(w http.ResponseWriter, name string, site http.SameSite) {
	http.SetCookie(w, k.cookie(name, "", site, -1))
}

func (k *Keeper) cookie(name, value string, site http.SameSite, age int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure depends on the public URL
		Name: name, Value: value, Path: cmp.Or(k.Path, "/"), MaxAge: age, HttpOnly: true,
		Secure: k.Secure, SameSite: site,
	}
}
