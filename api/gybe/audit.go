package gybe

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// AuditTrails gives each principal the audit trail of its project.
type AuditTrails func(p lcm.Principal) AuditTrail

// AuditTrail reads an audit trail.
type AuditTrail interface {
	// Audit lists entries, newest first.
	Audit(ctx context.Context, q lcm.AuditQuery) ([]lcm.AuditEntry, error)
	// FollowAudit lists entries behind a place, oldest first, and returns the place for the next call.
	FollowAudit(
		ctx context.Context, after string, q lcm.AuditQuery,
	) (entries []lcm.AuditEntry, next string, err error)
}

// Bounds of one answer about the audit trail.
const (
	defaultEntries = 100
	maxEntries     = 1000
	auditPatience  = 20 * time.Second
)

// auditParams are the query parameters of the audit trail; those of resources are ids.
var (
	auditResources = []string{"vnfInstanceId", "vnfLcmOpOccId", "vnfPkgId", "vimId"}
	auditParams    = append(
		[]string{"since", "until", "subject", "method", "before", "after", "limit"}, auditResources...,
	)
)

func (a *API) audit(w http.ResponseWriter, r *frame.Request) error {
	q, err := auditQuery(r.QueryValues())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), auditPatience)
	defer cancel()
	if after := r.QueryValues().Get("after"); after != "" {
		entries, next, err := a.Audit(r.Principal).FollowAudit(ctx, after, q)
		if err != nil {
			return err
		}
		page := gybeapi.AuditPage{Entries: each(entries, auditEntryOf), Next: next}
		return frame.WriteJSON(w, http.StatusOK, page)
	}
	size := q.Limit
	q.Limit++ // to see whether there are more
	entries, err := a.Audit(r.Principal).Audit(ctx, q)
	if err != nil {
		return err
	}
	page := gybeapi.AuditPage{}
	if len(entries) > size {
		entries = entries[:size]
		page.Next = strconv.FormatInt(entries[size-1].ID, 10)
	}
	page.Entries = each(entries, auditEntryOf)
	return frame.WriteJSON(w, http.StatusOK, page)
}

func auditQuery(v url.Values) (q lcm.AuditQuery, err error) {
	q = lcm.AuditQuery{Subject: v.Get("subject"), Method: v.Get("method"), Limit: defaultEntries}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if text := v.Get(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return q, lcm.Errorf(
					lcm.CodeInvalid, "%s is %.40q; it is a time such as 2026-01-31T12:00:00Z", name, text,
				)
			}
		}
	}
	if text := v.Get("before"); text != "" {
		if q.Before, err = strconv.ParseInt(text, 10, 64); err != nil || q.Before < 1 {
			return q, lcm.Errorf(lcm.CodeInvalid, "before is %.20q; it is next of an earlier answer", text)
		}
	}
	if v.Get("before") != "" && v.Get("after") != "" {
		return q, lcm.Errorf(lcm.CodeInvalid, "before and after exclude each other")
	}
	if text := v.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > maxEntries {
			return q, lcm.Errorf(lcm.CodeInvalid, "limit is %.20q; it is a number from 1 to %d", text, maxEntries)
		}
	}
	for _, name := range auditResources {
		if text := v.Get(name); text != "" {
			id, err := uuid.Parse(text)
			if err != nil {
				return q, lcm.Errorf(lcm.CodeInvalid, "%s is %.80q, which is not an id", name, text)
			}
			q.Resources = append(q.Resources, id.String())
		}
	}
	return q, nil
}

func auditEntryOf(e lcm.AuditEntry) gybeapi.AuditEntry {
	return gybeapi.AuditEntry{
		ID: strconv.FormatInt(e.ID, 10), Time: e.Time, Subject: e.Principal.Subject, Project: e.Principal.Project,
		Role: string(e.Principal.Role), Mode: e.Principal.Mode, Remote: e.Remote, RequestID: e.RequestID,
		Method: e.Method, Route: e.Route, Path: e.Path, Resources: list(e.Resources), Status: e.Status, Error: e.Error,
		TookMS: e.Took.Milliseconds(), Node: e.Node, Count: e.Count, Cursor: e.Cursor,
	}
}
