package web

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/web/session"
)

// Login is how users log in to the console.
type Login struct {
	Sessions *session.Keeper
	// Token says that the page asks for a token.
	Token bool
	// Password logs in with a name and a password at Keystone, and returns the token with its expiry; nil without
	// Keystone.
	Password func(ctx context.Context, l PasswordLogin) (auth.Credential, time.Time, error)
	// Provider is the OpenID provider; nil without one.
	Provider Provider
}

// PasswordLogin is a user of Keystone who logs in to a project. Domains are names.
type PasswordLogin struct{ User, Password, UserDomain, Project, ProjectDomain string }

// Provider is an OpenID provider, used with the authorization code flow and PKCE (RFC 6749 clause 4.1, RFC 7636).
type Provider interface {
	// Name is shown to users.
	Name() string
	// LoginURL is where a login begins. redirect is where the provider leads back to.
	LoginURL(ctx context.Context, redirect, state, nonce, verifier string) (string, error)
	// Exchange returns the credential for a code, with its expiry.
	Exchange(ctx context.Context, redirect, code, nonce, verifier string) (auth.Credential, time.Time, error)
}

// maxForm bounds the form of a login in bytes.
const maxForm = 64 << 10

var form = []string{"application/x-www-form-urlencoded"}

// loginRoutes are the pages of the login.
func (c *console) loginRoutes() []frame.Route {
	if c.Login == nil {
		return nil
	}
	routes := []frame.Route{
		{Method: http.MethodGet, Path: "/login", Handle: c.loginPage, Public: true},
		{
			Method: http.MethodPost, Path: "/login", Handle: c.login, Public: true, Consumes: form, Stream: true,
		},
		{
			Method: http.MethodPost, Path: "/logout", Handle: c.logout, Public: true, Consumes: form, Stream: true,
			BodyOptional: true,
		},
	}
	if c.Login.Provider != nil {
		routes = append(routes,
			frame.Route{
				Method: http.MethodGet, Path: "/login/provider", Handle: c.beginProvider, Public: true,
			},
			frame.Route{Method: http.MethodGet, Path: "/login/return", Handle: c.returnFromProvider, Public: true})
	}
	return routes
}

// loginView is the page of the login.
type loginView struct {
	Token, Password bool
	Provider        string // its name, "" without one
	Next            string
	Failure         string // of the attempt before
	Hint            string
	// User, UserDomain, Project and ProjectDomain are as they were in the attempt before.
	User, UserDomain, Project, ProjectDomain string
}

func (c *console) newLogin(next string) loginView {
	v := loginView{
		Token: c.Login.Token, Password: c.Login.Password != nil, Next: c.localPage(next),
		UserDomain: "Default", ProjectDomain: "Default",
	}
	if c.Login.Provider != nil {
		v.Provider = c.Login.Provider.Name()
	}
	return v
}

// localPage returns a page of the console that is given from outside, or its first page.
func (c *console) localPage(next string) string {
	home := c.prefix + Path + "/"
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, home) ||
		strings.Contains(u.Path, "//") || strings.Contains(next, "\\") {
		return home
	}
	return u.RequestURI()
}

// loginPage shows what a user can log in with. A user who is logged in, e.g. by the certificate of the connection, does
// not see it.
func (c *console) loginPage(w http.ResponseWriter, r *frame.Request) error {
	v := c.newLogin(r.QueryValues().Get("next"))
	if _, err := c.Login.Sessions.Authenticate(r.Request); err == nil {
		http.Redirect(w, r.Request, v.Next, http.StatusSeeOther)
		return nil
	}
	if c.Login.Sessions.Has(r.Request) {
		c.Login.Sessions.End(w)
		v.Failure = "The session has ended."
	}
	return c.write(w, http.StatusOK, page{Title: "Log in", Section: "login"}, "login", v)
}

// login begins a session with a token, or with a name and a password.
func (c *console) login(w http.ResponseWriter, r *frame.Request) error {
	if err := readForm(w, r); err != nil {
		return err
	}
	v := c.newLogin(r.PostFormValue("next"))
	var credential auth.Credential
	var until time.Time
	var err error
	switch method := r.PostFormValue("method"); {
	case method == "token" && v.Token:
		credential, err = auth.TokenCredential(strings.TrimSpace(r.PostFormValue("token")))
	case method == "password" && v.Password:
		l := PasswordLogin{
			User: r.PostFormValue("user"), Password: r.PostFormValue("password"),
			UserDomain: r.PostFormValue("user_domain"), Project: r.PostFormValue("project"),
			ProjectDomain: r.PostFormValue("project_domain"),
		}
		v.User, v.UserDomain, v.Project, v.ProjectDomain = l.User, l.UserDomain, l.Project, l.ProjectDomain
		credential, until, err = c.Login.Password(r.Context(), l)
	default:
		err = lcm.Errorf(lcm.CodeInvalid, "the form of the login is not known")
	}
	if err == nil {
		r.Principal, err = c.Login.Sessions.Begin(w, r.Request, credential, until)
	}
	if err != nil {
		return c.loginFailed(w, v, err)
	}
	http.Redirect(w, r.Request, v.Next, http.StatusSeeOther)
	return nil
}

// loginFailed shows the form again with the reason.
func (c *console) loginFailed(w http.ResponseWriter, v loginView, err error) error {
	p := frame.ProblemOf(err)
	v.Failure, v.Hint = p.Detail, p.Hint
	return c.write(w, p.Status, page{Title: "Log in", Section: "login"}, "login", v)
}

// logout ends the session.
func (c *console) logout(w http.ResponseWriter, r *frame.Request) error {
	c.Login.Sessions.End(w)
	http.Redirect(w, r.Request, c.prefix+Path+"/login", http.StatusSeeOther)
	return nil
}

// beginProvider leads the browser to the OpenID provider. It is a link: the policy of the pages does not allow a form
// that ends at another site.
func (c *console) beginProvider(w http.ResponseWriter, r *frame.Request) error {
	v := c.newLogin(r.QueryValues().Get("next"))
	a := session.Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), Next: v.Next}
	to, err := c.Login.Provider.LoginURL(r.Context(), c.returnURL(r), a.State, a.Nonce, a.Verifier)
	if err == nil {
		err = c.Login.Sessions.Remember(w, a)
	}
	if err != nil {
		return c.loginFailed(w, v, err)
	}
	http.Redirect(w, r.Request, to, http.StatusSeeOther)
	return nil
}

func (c *console) returnURL(r *frame.Request) string { return r.Public(Path + "/login/return") }

// returnFromProvider begins a session with the code that the OpenID provider gave the browser. The page that follows is
// not a redirect: a browser does not send the session's cookie, which is strict, on the way from another site.
func (c *console) returnFromProvider(w http.ResponseWriter, r *frame.Request) error {
	q := r.QueryValues()
	a, ok := c.Login.Sessions.Recall(w, r.Request)
	v := c.newLogin(a.Next)
	if !ok || a.State != q.Get("state") {
		return c.loginFailed(w, v, lcm.Errorf(lcm.CodeUnauthorized, "the login was not begun in this browser, or took "+
			"too long").WithHint("log in again"))
	}
	if q.Get("error") != "" {
		return c.loginFailed(w, v, lcm.Errorf(lcm.CodeUnauthorized, "%s refused the login: %.200s", v.Provider,
			strings.TrimSpace(q.Get("error")+" "+q.Get("error_description"))))
	}
	credential, until, err := c.Login.Provider.Exchange(r.Context(), c.returnURL(r), q.Get("code"), a.Nonce, a.Verifier)
	if err == nil {
		r.Principal, err = c.Login.Sessions.Begin(w, r.Request, credential, until)
	}
	if err != nil {
		return c.loginFailed(w, v, err)
	}
	w.Header().Set("Refresh", "0; url="+a.Next)
	return c.write(w, http.StatusOK, page{Title: "Logged in"}, "entered", v)
}

func readForm(w http.ResponseWriter, r *frame.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return lcm.Errorf(lcm.CodeInvalid, "the form cannot be read, or is larger than %d bytes", maxForm)
	}
	return nil
}

// user is who is logged in, for the head of a page.
type user struct {
	Subject, Project, Role string
	// Session says that the user can log out.
	Session bool
}

// userOf is nil when users do not log in.
func (c *console) userOf(r *frame.Request) *user {
	p := r.Principal
	if p.Subject == "" {
		return nil
	}
	return &user{
		Subject: p.Subject, Project: p.Project, Role: string(p.Role),
		Session: c.Login != nil && c.Login.Sessions.Has(r.Request),
	}
}
