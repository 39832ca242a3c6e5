package notify

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Stores gives each principal its Records.
type Stores interface {
	Subscriptions(p lcm.Principal) Records
}

// Records is the request side of the store: the subscriptions of a project. Those of other projects do not exist.
type Records interface {
	// Insert stores a subscription with its keys. If same is set and there is a subscription with the same API,
	// callback and filter, it returns the id of that and stores nothing. It returns CodeConflict when the project has
	// limit subscriptions.
	Insert(ctx context.Context, s *Subscription, keys []uuid.UUID, same bool, limit int) (existing string, err error)
	// Get returns CodeNotFound when the API has no such subscription; an empty API is any.
	Get(ctx context.Context, api, id string) (*Subscription, error)
	// List returns at most limit subscriptions of an API after an id, in order of id.
	List(ctx context.Context, api, after string, limit int) ([]Subscription, error)
	// Delete deletes a subscription with its deliveries.
	Delete(ctx context.Context, api, id string) error

	// Status and Statuses report on subscribers.
	Status(ctx context.Context, id string) (*Status, error)
	Statuses(ctx context.Context, after string, limit int) ([]Status, error)
	// Failing reports on at most limit subscribers that do not accept notifications, the longest first.
	Failing(ctx context.Context, limit int) ([]Status, error)
	// Deliveries lists deliveries in order.
	Deliveries(ctx context.Context, id string, q DeliveryQuery) ([]Delivery, error)
	// Replay makes deliveries pending for a time, and returns how many. It returns CodeNotFound for a notification that
	// the subscription did not get.
	Replay(ctx context.Context, id string, r Replay, patience time.Duration) (int64, error)
}

// ErrLost says that the claim is not the newest of its subscriber: another node delivers.
var ErrLost = errors.New("another node delivers to this subscriber")

// Claim is the right of a node to deliver to a subscriber, until its lease ends.
type Claim struct {
	Subscription Subscription
	Epoch        int64
	Failures     int
	FailingSince time.Time
	Slow         bool
	// Unusable says why this node cannot deliver, e.g. because it lacks the key of the credentials.
	Unusable error
}

// Outgoing is a pending delivery with its message.
type Outgoing struct {
	Seq      int64
	Subject  string
	Message  Message
	Deadline time.Time
	Attempts int
}

// Outcome is how a claim ends.
type Outcome struct {
	// Wait is the time until the next attempt; 0 for a subscriber that accepts.
	Wait time.Duration
	// Slow says that the subscriber takes long to answer.
	Slow bool
	// Generation is that of the last Pending, which returned nothing; 0 when deliveries are left.
	Generation int64
}

// Ledger is the delivering side of the store: it knows all projects. Times are those of the database. A claim that is
// not the newest of its subscriber reads and stores nothing: the result is ErrLost.
type Ledger interface {
	// FanOut makes a delivery for each message that was not fanned out yet and each subscription that it matches, in
	// order, at most limit messages in one transaction. Each delivery has patience until its deadline. It returns the
	// number of messages; 0 also while another node does it.
	FanOut(ctx context.Context, limit int, patience time.Duration) (int, error)

	// EndLeases makes subscribers due that a node has which was found dead, and returns how many.
	EndLeases(ctx context.Context) (int64, error)
	// ClaimSubscribers claims subscribers that are due, for a lease. With failing it claims those that fail or are
	// slow, else the others. A node that was found dead gets none.
	ClaimSubscribers(
		ctx context.Context, node string, failing bool, limit int, lease time.Duration,
	) ([]Claim, error)
	// Renew lets the lease of a claim last from now.
	Renew(ctx context.Context, c *Claim, lease time.Duration) error
	// Pending returns the next deliveries in order, and the generation of the subscriber.
	Pending(ctx context.Context, c *Claim, limit int) (out []Outgoing, generation int64, err error)
	// Accept stores that a delivery was accepted. The first one after failures ends them.
	Accept(ctx context.Context, c *Claim, seq int64) error
	// Reject makes a delivery dead.
	Reject(ctx context.Context, c *Claim, seq int64, reason string) error
	// Fail stores failed attempts at the same time, and makes deliveries dead whose deadline has passed; it returns how
	// many.
	Fail(ctx context.Context, c *Claim, seqs []int64, reason string) (dead int64, err error)
	// Release ends a claim. It does nothing when the claim is lost.
	Release(ctx context.Context, c *Claim, o Outcome) error
	// NextDue is the time until a subscriber is due, at most longest.
	NextDue(ctx context.Context, longest time.Duration) (time.Duration, error)
}

// Backlog is the state of all deliveries.
type Backlog struct {
	Pending, Dead, Failing int64
	Oldest                 time.Duration // age of the oldest pending delivery
}
