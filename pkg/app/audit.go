package app

import (
	"context"

	"github.com/gybe-nfv/gybe/api/gybe"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// auditor writes the audit trail of this node. It implements frame.Auditor.
type auditor struct {
	store *store.Store
	node  string
}

// Add implements frame.Auditor.
func (a auditor) Add(ctx context.Context, e *lcm.AuditEntry, durable bool) error {
	e.Node = a.node
	return a.store.AddAudit(ctx, e, durable)
}

// Complete implements frame.Auditor.
func (a auditor) Complete(ctx context.Context, e *lcm.AuditEntry) error {
	return a.store.CompleteAudit(ctx, e)
}

// auditTrails gives each principal the audit trail of its project.
func auditTrails(s *store.Store) gybe.AuditTrails {
	return func(p lcm.Principal) gybe.AuditTrail { return s.Of(p) }
}
