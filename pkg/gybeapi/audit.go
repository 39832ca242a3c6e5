package gybeapi

import "time"

// AuditEntry is one request in the audit trail.
type AuditEntry struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject,omitempty"`
	Project string    `json:"project"`
	Role    string    `json:"role"`
	Mode    string    `json:"mode,omitempty"` // how the subject was authenticated
	// Remote is the address from which the request came.
	Remote    string `json:"remote"`
	RequestID string `json:"requestId"`
	Method    string `json:"method"`
	Route     string `json:"route"`
	Path      string `json:"path"`
	// Resources are the ids of the instance, operation, package and VIM that the request was about.
	Resources []string `json:"resources"`
	// Status of the answer; absent while there is none, and for ever if the node died.
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
	TookMS int64  `json:"tookMs"`
	Node   string `json:"node"`
	// Count is the number of failed logins that the entry stands for; 1 for all other requests.
	Count int `json:"count"`
	// Cursor is the place of the entry for a client that follows the trail.
	Cursor string `json:"cursor"`
}

// Action is a request of a user about an operation.
type Action struct {
	Action  string    `json:"action"` // start, retry, rollback, cancel or fail
	Time    time.Time `json:"time"`
	Subject string    `json:"subject,omitempty"` // absent without authentication
	Mode    string    `json:"mode,omitempty"`    // how the subject was authenticated
	Detail  string    `json:"detail,omitempty"`  // e.g. FORCEFUL of a cancel
}

// SharedPackage is a VNF package that all projects can use.
type SharedPackage struct {
	VnfPkgID string `json:"vnfPkgId"`
	VnfdID   string `json:"vnfdId"`
	// Own says that it belongs to the project of the request, which can change it.
	Own bool `json:"own"`
}

// Download is the progress of the download of a VNF package from another server.
type Download struct {
	// Address is where the content comes from, without its query.
	Address string    `json:"address"`
	Started time.Time `json:"started"`
	// Received is the number of bytes so far, Total that of the whole content; it is absent while it is not known.
	Received int64 `json:"received"`
	Total    int64 `json:"total,omitempty"`
	Attempts int   `json:"attempts"`
	// Reason says why the last attempt failed; absent when it did not.
	Reason string `json:"reason,omitempty"`
}

// AuditPage is a part of the audit trail, newest first, or oldest first for a client that follows it.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	// Next is the value of before for the following page, absent on the last, or the value of after.
	Next string `json:"next,omitempty"`
}
