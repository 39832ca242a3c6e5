package web

import (
	"context"
	"net/http"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/auth"
)

const (
	// afterLogout is the query parameter of the page of the login after a logout.
	afterLogout = "ended"
	// revokeTime bounds the revocation of a credential.
	revokeTime = 10 * time.Second
	// maxRevocations bounds the revocations at the same time; further credentials stay valid until they expire.
	maxRevocations = 16
	// logoutTime bounds the question who logs out.
	logoutTime = 2 * time.Second
)

// logout ends the session. The credential is revoked in the background if it was issued for the session.
func (c *console) logout(w http.ResponseWriter, r *frame.Request) error {
	if credential, issued, ok := c.Login.Sessions.Credential(r.Request); ok {
		c.auditLogout(r)
		if issued {
			c.revoke(r, credential)
		}
	}
	c.Login.Sessions.End(w)
	http.Redirect(w, r.Request, c.prefix+Path+"/login?"+afterLogout, http.StatusSeeOther)
	return nil
}

// auditLogout notes who logs out, also if Keystone or the provider does not say any more who that is.
func (c *console) auditLogout(r *frame.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), logoutTime)
	defer cancel()
	p, err := c.Login.Sessions.Authenticate(r.WithContext(ctx))
	if err != nil {
		r.AuditFailedLogin("", "", err)
		return
	}
	r.Principal = p
	r.AuditLogout()
}

// revoke revokes a credential in the background.
func (c *console) revoke(r *frame.Request, credential auth.Credential) {
	if c.Login.Revoke == nil {
		return
	}
	select {
	case c.revoking <- struct{}{}:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), revokeTime)
	go func() {
		defer func() { <-c.revoking }()
		defer cancel()
		c.Login.Revoke(ctx, credential)
	}()
}
