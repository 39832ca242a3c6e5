package frame

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Auditor keeps the audit trail.
type Auditor interface {
	// Add adds an entry. With durable, it returns when the entry cannot be lost any more.
	Add(ctx context.Context, e *lcm.AuditEntry, durable bool) error
	// Complete takes the outcome of an entry, which may be stored later. The entry is not changed any more.
	Complete(e *lcm.AuditEntry)
	// AddFailure counts a failed login, in an entry of its own or in one for several.
	AddFailure(ctx context.Context, e *lcm.AuditEntry) error
}

// auditTime bounds the statement for an entry that is added after the response, also when the client has left.
const auditTime = 5 * time.Second

// audited says whether requests to the route are in the audit trail: those that can change something, and those for
// secrets.
func (e *endpoint) audited() bool {
	return e.frame.opts.Audit != nil && !e.Public && (e.Method != http.MethodGet || e.Secret)
}

// beginAudit adds the entry of a request before the handler sees it, so that no change and no secret is without one. If
// this fails, the request is refused.
func (e *endpoint) beginAudit(r *Request) error {
	if !e.audited() {
		return nil
	}
	entry := r.auditEntry(e.route)
	if err := e.frame.opts.Audit.Add(r.Context(), entry, e.Secret); err != nil {
		return notAudited(err)
	}
	r.audit = entry
	return nil
}

func notAudited(err error) error {
	return &lcm.Error{
		Code: lcm.CodeUnavailable, Detail: "the request cannot be written into the audit trail, so it is refused",
		RetryAfter: time.Second, Cause: err,
	}
}

// AuditLogin adds the entry of a login that succeeds, before its response is written; the Principal of the
// request is the user. If this fails, the request has to be refused.
func (r *Request) AuditLogin() error {
	if r.frame.opts.Audit == nil {
		return nil
	}
	entry := r.auditEntry(r.route)
	if err := r.frame.opts.Audit.Add(r.Context(), entry, false); err != nil {
		return notAudited(err)
	}
	r.audit = entry
	return nil
}

// AuditLogout notes that the Principal of the request logs out. The entry is added after the response: a logout
// succeeds also if the trail cannot be written.
func (r *Request) AuditLogout() {
	if r.frame.opts.Audit != nil {
		r.audit = r.auditEntry(r.route)
	}
}

// AuditFailedLogin notes that the response is about a failed login, or a logout of a user who is not known any more.
// claimed is the name that the client gives itself, and mode the way in which it wanted to log in.
func (r *Request) AuditFailedLogin(claimed, mode string, err error) {
	if r.frame.opts.Audit == nil {
		return
	}
	r.Principal = Principal{}
	r.audit, r.loginFailed = r.auditEntry(r.route), true
	r.audit.Principal = Principal{Subject: claimed, Mode: mode}
	if err != nil {
		r.audit.Error = lcm.AsError(err).Title
	}
}

// auditRefusal notes a request whose role is not sufficient; finish adds the entry. Requests without valid credentials
// are in the log and in metrics only, so that strangers cannot fill the database.
func (e *endpoint) auditRefusal(r *Request) {
	if e.frame.opts.Audit != nil {
		r.audit = r.auditEntry(e.route)
	}
}

func (r *Request) auditEntry(route string) *lcm.AuditEntry {
	remote, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		remote = r.RemoteAddr
	}
	e := &lcm.AuditEntry{
		Time: r.began, Principal: r.Principal, Remote: remote, RequestID: r.ID, Method: r.Method, Route: route,
		Path: r.URL.Path,
	}
	if c := chi.RouteContext(r.Context()); c != nil {
		for _, value := range c.URLParams.Values {
			addResource(e, strings.TrimSuffix(value, ".json"))
		}
	}
	return e
}

func addResource(e *lcm.AuditEntry, id string) {
	if u, err := uuid.Parse(id); err == nil && len(id) == 36 && !slices.Contains(e.Resources, u.String()) {
		e.Resources = append(e.Resources, u.String())
	}
}

// endAudit writes the outcome of a request into its entry, and a line into the log.
func (f *Frame) endAudit(w *recorder, r *Request, took time.Duration) {
	e := r.audit
	if e == nil {
		return
	}
	for _, attr := range r.attrs {
		if strings.HasSuffix(attr.Key, "_id") {
			addResource(e, attr.Value.String())
		}
	}
	e.Status, e.Took = w.status(), took
	if r.err != nil {
		e.Error = lcm.AsError(r.err).Title
	}
	if e.Error == "" && (r.err != nil || e.Status >= http.StatusBadRequest) {
		e.Error = http.StatusText(e.Status)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTime)
	defer cancel()
	var err error
	switch {
	case r.loginFailed:
		err = f.opts.Audit.AddFailure(ctx, e)
	case e.ID == 0:
		err = f.opts.Audit.Add(ctx, e, false)
	default:
		f.opts.Audit.Complete(e)
	}
	level, attrs := slog.LevelInfo, []slog.Attr{
		slog.String("subject", e.Principal.Subject), slog.String("project", projectName(e.Principal)),
		slog.String("role", string(e.Principal.Role)), slog.String("mode", e.Principal.Mode),
		slog.String("remote", e.Remote), slog.String("request_id", e.RequestID), slog.String("method", e.Method),
		slog.String("route", e.Route), slog.String("path", e.Path), slog.Any("resources", e.Resources),
		slog.Int("status", e.Status), slog.String("title", e.Error),
	}
	if err != nil {
		level, attrs = slog.LevelError, append(attrs, slog.String("not_stored", causes(err)))
	}
	f.opts.Log.LogAttrs(ctx, level, "audit", attrs...)
}
