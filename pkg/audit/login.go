package audit

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/source"
)

const (
	// window is how long failed logins of one address are counted in one entry.
	window = time.Minute
	// maxAddresses bounds the entries of failed logins that are added within a window. Further addresses share one.
	maxAddresses = 20
	// maxName bounds the claimed name of a user in bytes.
	maxName = 100
)

// failing are the failed logins of an address within a window.
type failing struct {
	entry   lcm.AuditEntry // of the first one, with the outcome of the last one; ID is 0 until it is stored
	changed bool           // since it was stored
	ends    time.Time
}

// AddFailure adds an entry about a failed login, in which the Subject of the principal is the name that the client has
// claimed. It belongs to the default project: the client is a stranger, and must not write into the trail of a project
// by claiming its name. Further failures from the same address within a minute increase the count of the entry, so that
// an attacker cannot fill the database.
func (t *Trail) AddFailure(ctx context.Context, e *lcm.AuditEntry) error {
	e.Principal = lcm.Principal{
		Subject: shorten(e.Principal.Subject), Project: lcm.DefaultProject, Mode: e.Principal.Mode,
	}
	e.Node, e.Count = t.node, 1
	f, first := t.count(e)
	if !first {
		return nil
	}
	if err := t.store.AddAudit(ctx, e, false); err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		f.ends, f.changed = time.Time{}, false // the next failure tries again
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f.entry.ID = e.ID
	signal(t.ready) // others may have come while the entry was added
	return nil
}

// count counts a failure and says whether it is the first of its entry.
func (t *Trail) count(e *lcm.AuditEntry) (f *failing, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for from, old := range t.failing {
		if !now.Before(old.ends) && !old.changed {
			delete(t.failing, from)
		}
	}
	addr, _ := netip.ParseAddr(e.Remote) // all that are no address count as one
	from := source.Of(addr)
	if t.failing[from] == nil && len(t.failing) >= maxAddresses {
		from = netip.Prefix{}
		e.Remote = "several addresses"
	}
	f = t.failing[from]
	if f == nil {
		f = &failing{entry: *e, ends: now.Add(window)}
		t.failing[from] = f
		return f, true
	}
	f.entry.Count++
	f.entry.Status, f.entry.Error, f.entry.Took, f.changed = e.Status, e.Error, e.Took, true
	signal(t.ready)
	return f, false
}

// newCounts returns the entries of failed logins whose count has changed. It needs the lock.
func (t *Trail) newCounts() (entries []*lcm.AuditEntry, counted []*failing) {
	for _, f := range t.failing {
		if f.changed && f.entry.ID != 0 {
			f.changed = false
			e := f.entry
			entries, counted = append(entries, &e), append(counted, f)
		}
	}
	return entries, counted
}

// shorten bounds a name.
func shorten(s string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName], "") + "…"
}
