package lcm

import "time"

// AuditEntry is one request in the audit trail: who asked for what, from where, when, and with which outcome. It never
// has a body, a query or a secret.
type AuditEntry struct {
	ID   int64 // grows with time; set by the trail
	Time time.Time
	// Cursor is the place of the entry for AuditQuery.After; set by the trail.
	Cursor    string
	Principal Principal
	// Remote is the address of the other end of the connection.
	Remote    string
	RequestID string
	Method    string
	Route     string // with the names of parameters, as in the table of routes
	Path      string
	// Resources are the ids of the instance, operation, package and VIM that the request was about or has made.
	Resources []string
	// Status of the answer; 0 while there is none, and for ever if the node died.
	Status int
	// Error is the title of an error.
	Error string
	Took  time.Duration
	Node  string
	// Count is the number of failed logins that the entry stands for; 1 for all other requests.
	Count int
}

// AuditQuery bounds a read of the audit trail of a project, newest first. Empty fields do not restrict.
type AuditQuery struct {
	// Before is an entry's id: only older ones are read.
	Before       int64
	Since, Until time.Time
	Subject      string
	Method       string
	Resources    []string // all of them
	Limit        int
}

// Places of the audit trail for a read that follows it.
const (
	AuditStart = "0-0" // before the oldest entry
	AuditEnd   = "end" // behind the newest entry
)
