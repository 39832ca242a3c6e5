package lcm

import (
	"slices"
	"time"
)

// ActionStart is the first action on an operation: the request that started it. The others are events of users.
const ActionStart = "start"

// maxActions bounds the actions that an operation keeps: the first one and the latest ones.
const maxActions = 50

// Action is a request of a user about an operation: who started it, retried it, rolled it back, cancelled it or failed
// it, and when.
type Action struct {
	Action  string    `json:"action"`
	Time    time.Time `json:"time"`
	Subject string    `json:"subject,omitempty"` // empty without authentication
	Mode    string    `json:"mode,omitempty"`    // how the subject was authenticated
	Detail  string    `json:"detail,omitempty"`  // e.g. FORCEFUL of a cancel
}

// AddAction records an action of a principal.
func (o *Operation) AddAction(p Principal, action string, at time.Time, detail string) {
	o.Actions = append(slices.Clone(o.Actions), Action{
		Action: action, Time: at.UTC(), Subject: p.Subject, Mode: p.Mode, Detail: detail,
	})
	if over := len(o.Actions) - maxActions; over > 0 {
		o.Actions = slices.Delete(o.Actions, 1, 1+over)
	}
}
