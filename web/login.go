package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

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
	// Keystone logs in with a name and a password; nil without Keystone. remote is the address of the browser.
	Keystone func(ctx context.Context, l auth.PasswordLogin, remote string) (auth.Credential, error)
	// Provider is the OpenID provider; nil without one.
	Provider Provider
	// Revoke revokes a credential that was issued for a session; nil revokes none.
	Revoke func(ctx context.Context, c auth.Credential)
}

// Provider is an OpenID provider, used with the authorization code flow and PKCE (RFC 6749 clause 4.1, RFC 7636).
// redirect is the address of the console that the provider leads back to. *auth.Authenticator implements it.
type Provider interface {
	StartCodeFlow(ctx context.Context, redirect string) (auth.CodeFlow, error)
	FinishCodeFlow(
		ctx context.Context, f auth.CodeFlow, redirect, state, code, remote string,
	) (auth.Credential, error)
	// EndSession is where users end their session at the provider; "" when it does not publish such a page. Afterwards,
	// it leads back to redirect.
	EndSession(ctx context.Context, redirect string) string
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
			Login: true,
		},
		{
			Method: http.MethodPost, Path: "/logout", Handle: c.logout, Public: true, Consumes: form, Stream: true,
			BodyOptional: true, Login: true,
		},
	}
	if c.Login.Provider != nil {
		routes = append(routes,
			frame.Route{
				Method: http.MethodGet, Path: "/login/provider", Handle: c.beginProvider, Public: true,
			},
			frame.Route{
				Method: http.MethodGet, Path: "/login/return", Handle: c.returnFromProvider, Public: true, Login: true,
			})
	}
	return routes
}

// loginView is the page of the login.
type loginView struct {
	Token, Keystone, Provider bool
	Next                      string
	Failure, Hint             string // of the attempt before
	EndSession                string // where the user ends the session at the OpenID provider, after a logout
	// User, UserDomain, Project and ProjectDomain are as they were in the attempt before.
	User, UserDomain, Project, ProjectDomain string
}

func (c *console) newLogin(next string) loginView {
	v := loginView{
		Token: c.Login.Token, Keystone: c.Login.Keystone != nil, Provider: c.Login.Provider != nil,
		Next: c.localPage(next), UserDomain: "Default", ProjectDomain: "Default",
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
	if c.Login.Provider != nil && r.QueryValues().Has(afterLogout) {
		v.EndSession = c.Login.Provider.EndSession(r.Context(), r.Public(Path+"/login"))
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
	var err error
	var a attempt
	switch method := r.PostFormValue("method"); {
	case method == "token" && v.Token:
		a.mode = auth.ModeToken
		if credential, err = auth.TokenCredential(strings.TrimSpace(r.PostFormValue("token"))); err == nil {
			a.user = auth.ClaimedName(credential)
		}
	case method == "password" && v.Keystone:
		l := auth.PasswordLogin{
			Username: r.PostFormValue("user"), Password: r.PostFormValue("password"),
			UserDomain: r.PostFormValue("user_domain"), Project: r.PostFormValue("project"),
			ProjectDomain: r.PostFormValue("project_domain"),
		}
		v.User, v.UserDomain, v.Project, v.ProjectDomain = l.Username, l.UserDomain, l.Project, l.ProjectDomain
		a = attempt{mode: auth.ModeKeystone, user: l.Username + "@" + l.UserDomain, issued: true}
		credential, err = c.Login.Keystone(r.Context(), l, r.RemoteAddr)
	default:
		err = lcm.Errorf(lcm.CodeInvalid, "the form of the login is not known")
	}
	if err == nil {
		err = c.begin(w, r, credential, a)
	}
	if err != nil {
		return c.loginFailed(w, r, v, a, err)
	}
	http.Redirect(w, r.Request, v.Next, http.StatusSeeOther)
	return nil
}

// attempt is a login, for the audit trail.
type attempt struct {
	mode   string
	user   string // as the client says
	issued bool   // the credential is issued for the session
}

// begin begins a session and notes it in the audit trail.
func (c *console) begin(w http.ResponseWriter, r *frame.Request, credential auth.Credential, a attempt) (err error) {
	if r.Principal, err = c.Login.Sessions.Begin(w, r.Request, credential, a.issued); err == nil {
		err = r.AuditLogin()
	}
	if err != nil {
		w.Header().Del("Set-Cookie")
		if a.issued {
			c.revoke(r, credential)
		}
	}
	return err
}

// loginFailed shows the form again with the reason.
func (c *console) loginFailed(w http.ResponseWriter, r *frame.Request, v loginView, a attempt, err error) error {
	r.AuditFailedLogin(a.user, a.mode, err)
	return c.showFailure(w, v, err)
}

func (c *console) showFailure(w http.ResponseWriter, v loginView, err error) error {
	p := frame.ProblemOf(err)
	v.Failure, v.Hint = p.Detail, p.Hint
	return c.write(w, p.Status, page{Title: "Log in", Section: "login"}, "login", v)
}

// beginProvider leads the browser to the OpenID provider. It is a link: the policy of the pages does not allow a form
// that ends at another site.
func (c *console) beginProvider(w http.ResponseWriter, r *frame.Request) error {
	v := c.newLogin(r.QueryValues().Get("next"))
	flow, err := c.Login.Provider.StartCodeFlow(r.Context(), c.returnURL(r))
	if err == nil {
		err = c.Login.Sessions.Remember(w, session.Attempt{Flow: flow, Next: v.Next})
	}
	if err != nil {
		return c.showFailure(w, v, err)
	}
	http.Redirect(w, r.Request, flow.URL, http.StatusSeeOther)
	return nil
}

func (c *console) returnURL(r *frame.Request) string { return r.Public(Path + "/login/return") }

// returnFromProvider begins a session with the code that the OpenID provider gave the browser. The page that follows is
// not a redirect: a browser does not send the session's cookie, which is strict, on the way from another site.
func (c *console) returnFromProvider(w http.ResponseWriter, r *frame.Request) error {
	q := r.QueryValues()
	begun, ok := c.Login.Sessions.Recall(w, r.Request)
	v, a := c.newLogin(begun.Next), attempt{mode: auth.ModeOIDC, issued: true}
	if !ok {
		err := lcm.Errorf(lcm.CodeUnauthorized, "the login was not begun in this browser, or took too long")
		return c.loginFailed(w, r, v, a, err.WithHint("log in again"))
	}
	if q.Get("error") != "" {
		return c.loginFailed(w, r, v, a, lcm.Errorf(
			lcm.CodeUnauthorized, "the OpenID provider refused the login: %.200s",
			strings.TrimSpace(q.Get("error")+" "+q.Get("error_description")),
		))
	}
	credential, err := c.Login.Provider.FinishCodeFlow(
		r.Context(), begun.Flow, c.returnURL(r), q.Get("state"), q.Get("code"), r.RemoteAddr,
	)
	if err == nil {
		err = c.begin(w, r, credential, a)
	}
	if err != nil {
		return c.loginFailed(w, r, v, a, err)
	}
	w.Header().Set("Refresh", "0; url="+begun.Next)
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
