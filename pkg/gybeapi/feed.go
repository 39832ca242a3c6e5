package gybeapi

import "context"

// Feed is the event feed as the interface and the console read it.
type Feed interface {
	// Follow begins to follow; an invalid cursor is an error.
	Follow(ctx context.Context, q FeedQuery) (Follower, error)
	// Log reads at most limit lines of output of an operation after a cursor ("" = the beginning), and returns the
	// cursor of the last line. An invalid cursor is an error.
	Log(ctx context.Context, opID, after string, limit int) (lines []Line, next string, err error)
}

// FeedQuery says which events a follower wants. Empty fields do not restrict.
type FeedQuery struct {
	After      string // cursor of the last event that is known; "" = from now on
	InstanceID string
	OpID       string
	PackageID  string
	// Notifications asks for events of KindNotification instead of the others.
	Notifications bool
}

// Follower is one reader of the feed.
type Follower interface {
	// Next waits for the next events, at least one, until ctx ends. After an error it may be called again and continues
	// without a gap.
	Next(ctx context.Context) ([]Event, error)
}
