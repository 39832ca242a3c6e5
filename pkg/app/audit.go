package app

import (
	"context"

	"github.com/gybe-nfv/gybe/api/gybe"
	"github.com/gybe-nfv/gybe/pkg/audit"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// auditTrails gives each principal the audit trail of its project.
func (a *App) auditTrails(p lcm.Principal) gybe.AuditTrail {
	return auditReader{a.store.Of(p), a.audit}
}

// auditReader reads the audit trail of a project, with the outcomes that this node has not stored yet.
type auditReader struct {
	records *store.Records
	trail   *audit.Trail
}

// Audit implements gybe.AuditTrail.
func (r auditReader) Audit(ctx context.Context, q lcm.AuditQuery) ([]lcm.AuditEntry, error) {
	if err := r.trail.Flush(ctx); err != nil {
		return nil, err
	}
	return r.records.Audit(ctx, q)
}

// FollowAudit implements gybe.AuditTrail.
func (r auditReader) FollowAudit(
	ctx context.Context, after string, q lcm.AuditQuery,
) (entries []lcm.AuditEntry, next string, err error) {
	if err := r.trail.Flush(ctx); err != nil {
		return nil, "", err
	}
	return r.records.FollowAudit(ctx, after, q)
}
