// Package audit keeps the audit trail of a node: the entry of a request is stored before the request changes something,
// outcomes are stored together, and failed logins are counted.
package audit

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Store keeps entries; *store.Store does.
type Store interface {
	// AddAudit adds an entry and sets its ID and Time. With durable, it returns when the entry cannot be lost any more.
	AddAudit(ctx context.Context, e *lcm.AuditEntry, durable bool) error
	// CompleteAudit writes the outcomes of entries.
	CompleteAudit(ctx context.Context, entries []*lcm.AuditEntry) error
}

const (
	// pause is the time that outcomes wait for others. A statement for each would double the cost of the trail.
	pause = 100 * time.Millisecond
	// enough outcomes do not wait.
	enough = 500
	// maxWaiting bounds the outcomes that wait while the database is away.
	maxWaiting = 20_000
	// statementTime bounds a statement for outcomes.
	statementTime = 5 * time.Second
)

// Trail is the audit trail of one node. It implements frame.Auditor.
type Trail struct {
	store Store
	node  string
	log   *slog.Logger
	now   func() time.Time

	writing sync.Mutex // held while outcomes are written

	mu      sync.Mutex
	waiting []*lcm.AuditEntry // complete, not stored yet
	ready   chan struct{}     // holds a value when there are outcomes
	full    chan struct{}     // holds a value when there are enough
	failing map[netip.Prefix]*failing
}

// New returns the trail of a node. Run writes its outcomes.
func New(store Store, node string, log *slog.Logger) *Trail {
	return &Trail{
		store: store, node: node, log: log, now: time.Now, ready: make(chan struct{}, 1),
		full: make(chan struct{}, 1), failing: map[netip.Prefix]*failing{},
	}
}

// Add adds an entry. With durable, it returns when the entry cannot be lost any more.
func (t *Trail) Add(ctx context.Context, e *lcm.AuditEntry, durable bool) error {
	e.Node, e.Count = t.node, 1
	return t.store.AddAudit(ctx, e, durable)
}

// Complete takes the outcome of an entry, which is stored a moment later. The entry MUST NOT be changed any more. An
// outcome is lost with the node.
func (t *Trail) Complete(e *lcm.AuditEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) >= maxWaiting {
		return // the log of the request has the outcome
	}
	t.waiting = append(t.waiting, e)
	signal(t.ready)
	if len(t.waiting) >= enough {
		signal(t.full)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run writes outcomes until ctx ends. Flush writes those that come later.
func (t *Trail) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.ready:
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-t.full:
		case <-timer.C:
		}
		timer.Stop()
		if err := t.Flush(ctx); err != nil && ctx.Err() == nil {
			t.log.WarnContext(ctx, "outcomes of the audit trail are not stored yet", "error", err)
		}
	}
}

// Flush writes the outcomes that wait. After an error they wait on.
func (t *Trail) Flush(ctx context.Context) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	batch := t.waiting
	t.waiting = nil
	counts, counted := t.newCounts()
	t.mu.Unlock()
	if len(batch)+len(counts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statementTime)
	defer cancel()
	err := t.store.CompleteAudit(ctx, append(counts, batch...))
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waiting = append(batch, t.waiting...)
		for _, f := range counted {
			f.changed = true
		}
		signal(t.ready)
	}
	return err
}
