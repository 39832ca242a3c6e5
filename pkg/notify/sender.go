package notify

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Tester asks a subscriber whether it is there.
type Tester interface {
	// CheckTarget returns CodeUnprocessable for an address or authentication that cannot be used, with the pointers of
	// the members of the request.
	CheckTarget(ctx context.Context, callback string, auth *sol.SubscriptionAuthentication) error
	// Test sends the request that tests a callback. The error is CodeUnprocessable and says what is wrong.
	Test(ctx context.Context, s *Subscription) error
}

// Sender sends notifications.
type Sender interface {
	// Send sends the body of a notification once. The error is a *SendError if the subscriber has not accepted it.
	Send(ctx context.Context, s *Subscription, body []byte) error
}

// SendError says why a subscriber has not accepted a request. Its text is for users and holds no secrets.
type SendError struct {
	Reason string
	// Permanent says that the same request will fail again.
	Permanent bool
	// RetryAfter is the time that the subscriber asked to wait; 0 for none.
	RetryAfter time.Duration
}

// Error implements error.
func (e *SendError) Error() string { return e.Reason }
