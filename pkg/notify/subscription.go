package notify

import (
	"encoding/json"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Subscription says which notifications are sent where.
type Subscription struct {
	ID      string
	API     string // name of the API
	Version string // of the API, in notifications
	// Form of the notifications, if the API has several; only a new subscription has it.
	Form    string
	Created time.Time
	// Callback is where notifications are sent to.
	Callback string
	// Verbosity of notifications; "" for an API without.
	Verbosity sol.LcmOpOccNotificationVerbosityType
	// Filter is as the client has sent it; nil matches everything.
	Filter json.RawMessage
	// Conditions are the filter in the form that is evaluated.
	Conditions Filter
	// Auth is how the node authenticates itself to the subscriber; nil is not at all. It is a secret. Only deliveries
	// have it.
	Auth *sol.SubscriptionAuthentication
}

// Message is a notification of the outbox, as it is delivered.
type Message struct {
	ID   string // of the notification
	API  string
	Kind string // type of the notification
	Time time.Time
	// Body is the notification without subscriptionId, verbosity and _links.
	Body json.RawMessage
}

// API is an interface that clients subscribe to.
type API struct {
	// Name is the first part of its paths, e.g. vnflcm.
	Name string
	// Parse makes conditions of a filter, which matches its schema; nil is no filter. The error is CodeUnprocessable
	// with the pointers of members that are wrong.
	Parse func(filter json.RawMessage) (Filter, error)
	// Pointer is the place of the values of an attribute in a request to subscribe.
	Pointer func(attribute string) string
	// Form returns the form of notifications of a version; "" is the first one. nil is for an API that has only one.
	Form func(version string) string
	// Render makes the body of a notification. link makes the URL of a path.
	Render func(m Message, s *Subscription, link func(path string) sol.Link) ([]byte, error)
}

// unprocessable rejects a member of a request.
func unprocessable(pointer, detail string) *lcm.Error {
	return &lcm.Error{
		Code: lcm.CodeUnprocessable, Detail: detail, Params: []lcm.InvalidParam{{Pointer: pointer, Detail: detail}},
	}
}
