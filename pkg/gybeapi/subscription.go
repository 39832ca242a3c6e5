package gybeapi

import "time"

// States of a Subscriber.
const (
	SubscriberOK      = "OK"
	SubscriberFailing = "FAILING"
)

// Subscriber is a subscription to an interface, with the state of the delivery to it.
type Subscriber struct {
	ID           string     `json:"id"`
	API          string     `json:"api"`
	CallbackURI  string     `json:"callbackUri"`
	Created      time.Time  `json:"created"`
	State        string     `json:"state"`
	Pending      int64      `json:"pending"`
	Dead         int64      `json:"dead"`
	Failures     int        `json:"failures"`
	FailingSince *time.Time `json:"failingSince,omitempty"`
	NextAttempt  *time.Time `json:"nextAttempt,omitempty"`
	LastError    string     `json:"lastError,omitempty"`
}

// SubscriberPage is a part of the subscriptions of a project, in order of id.
type SubscriberPage struct {
	Subscriptions []Subscriber `json:"subscriptions"`
	Next          string       `json:"next,omitempty"`
}

// Delivery is a notification to a subscriber.
type Delivery struct {
	Seq              string     `json:"seq"`
	NotificationID   string     `json:"notificationId"`
	NotificationType string     `json:"notificationType"`
	Operation        string     `json:"operation,omitempty"`      // of a notification about an operation
	OperationState   string     `json:"operationState,omitempty"` // likewise
	ResourceID       string     `json:"resourceId"`
	State            string     `json:"state"` // PENDING, DELIVERED or DEAD
	Created          time.Time  `json:"created"`
	Deadline         *time.Time `json:"deadline,omitempty"`
	Attempts         int        `json:"attempts"`
	LastAttempt      *time.Time `json:"lastAttempt,omitempty"`
	NextAttempt      *time.Time `json:"nextAttempt,omitempty"`
	Ended            *time.Time `json:"ended,omitempty"`
	LastError        string     `json:"lastError,omitempty"`
}

// DeliveryPage is a part of the deliveries of a subscription, in their order.
type DeliveryPage struct {
	Deliveries []Delivery `json:"deliveries"`
	Next       string     `json:"next,omitempty"`
}

// Replay asks for notifications again: one, or those of a time range.
type Replay struct {
	NotificationID string     `json:"notificationId,omitempty"`
	Since          *time.Time `json:"since,omitempty"`
	Until          *time.Time `json:"until,omitempty"`
	State          string     `json:"state,omitempty"` // DELIVERED or DEAD; "" = both
}

// Replayed says how many notifications are sent again.
type Replayed struct {
	Replayed int64 `json:"replayed"`
}
