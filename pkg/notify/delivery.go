package notify

import "time"

// State is what has become of a delivery.
type State string

// Values of State.
const (
	Pending   State = "PENDING"   // is sent until the subscriber accepts it, or its time is over
	Delivered State = "DELIVERED" // the subscriber has accepted it
	Dead      State = "DEAD"      // is not sent any more; a replay makes it pending
)

// Delivery is one notification to one subscriber.
type Delivery struct {
	Seq     int64 // orders deliveries
	Message string
	Kind    string // type of the notification
	// Operation and OperationState are those of a notification about an operation; else "".
	Operation      string
	OperationState string
	Subject        string // id of the resource whose notifications are in order
	State          State
	Created        time.Time
	Deadline       time.Time // for a pending one
	Attempts       int
	// Attempted is the time of the last attempt, Ended when it was delivered or became dead; zero for never.
	Attempted time.Time
	Ended     time.Time
	// Error is what the last attempt failed of.
	Error string
}

// DeliveryQuery selects deliveries of a subscription.
type DeliveryQuery struct {
	State State // "" = any
	After int64 // the Seq after which the list starts
	Limit int
}

// Replay selects deliveries that are sent again: one notification, or those of a time range.
type Replay struct {
	Message      string // id of a notification
	Since, Until time.Time
	State        State // Dead or Delivered; "" = both
}

// Status is the state of a subscriber.
type Status struct {
	Subscription Subscription
	Pending      int64
	Dead         int64
	// Failures is how many attempts have failed since the last success; FailingSince is the time of the first of
	// them, Next that of the next attempt, and Error the last reason. They are zero for a subscriber that accepts.
	Failures     int
	FailingSince time.Time
	Next         time.Time
	Error        string
}
