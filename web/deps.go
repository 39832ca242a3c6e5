package web

import (
	"context"
	"log/slog"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client/wire"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Deps is what the console shows and what it needs for that. Stopping, Observe, Prefix and Clock may be left out.
type Deps struct {
	Instances  Instances
	Operations Operations
	Packages   Packages
	Feed       Feed
	// Nodes lists the gybe processes that share the database.
	Nodes func(context.Context) ([]wire.Node, error)
	Log   *slog.Logger
	// Prefix is the path of the public URL, "" or e.g. "/nfv": what links begin with, not what requests have.
	Prefix string
	// Streams bounds the pages that are followed at the same time; 0 means 100.
	Streams int
	// Stopping is closed when the server stops: event streams end then.
	Stopping <-chan struct{}
	// Observe is told of every answered request, for metrics.
	Observe func(method, route string, status int, took time.Duration)
	Clock   lcm.Clock
}

// Instances reads VNF instances; lcm.Store does.
type Instances interface {
	// Instance returns CodeNotFound when there is none.
	Instance(ctx context.Context, id string) (*lcm.Instance, error)
	// Instances lists in order of id.
	Instances(ctx context.Context, q lcm.Query) ([]*lcm.Instance, error)
}

// Operations reads lifecycle operations and how far they are; lcm.Store does.
type Operations interface {
	// Operation returns CodeNotFound when there is none.
	Operation(ctx context.Context, id string) (*lcm.Operation, error)
	// Operations lists, newest last.
	Operations(ctx context.Context, q lcm.Query) ([]*lcm.Operation, error)
	// Progress returns the phases and steps of an operation in the order they began.
	Progress(ctx context.Context, opID string) ([]lcm.PhaseRecord, []lcm.StepRecord, error)
}

// Packages reads VNF packages; vnfpkg.Service does.
type Packages interface {
	// Get returns CodeNotFound when there is none.
	Get(ctx context.Context, id string) (*vnfpkg.Package, error)
	// List lists in order of id.
	List(ctx context.Context, q vnfpkg.Query) ([]*vnfpkg.Package, error)
}

// Feed is the event feed. The console uses it as a bell: what has changed it reads where it is kept.
type Feed interface {
	// Follow begins to follow from now on.
	Follow(q FeedQuery) (Follower, error)
	// Log reads at most limit lines of output of an operation after a cursor ("" = the beginning), and returns the
	// cursor to go on with. CodeInvalid when after is no cursor.
	Log(ctx context.Context, opID, after string, limit int) (lines []wire.Line, next string, err error)
}

// FeedQuery says what a follower wants to see. Empty fields do not restrict.
type FeedQuery struct {
	After      string // cursor of the last event that is known; "" = from now on
	InstanceID string
	OpID       string
	PackageID  string
}

// Follower is one reader of the feed.
type Follower interface {
	// Next waits for the next events, at least one, until ctx ends. After an error it may be called again.
	Next(ctx context.Context) ([]wire.Event, error)
}
