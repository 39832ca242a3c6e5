package web

import (
	"context"
	"iter"
	"log/slog"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// Deps is what the console shows and what it needs for that. Streams, Stopping and Clock may be left out.
type Deps struct {
	// In gives each principal its project.
	In func(lcm.Principal) Project
	// Nodes lists the gybe processes that share the database.
	Nodes func(context.Context) ([]gybeapi.Node, error)
	// Unavailable returns the VIMs that do not answer, by lcm.VimKey; nil leaves that out.
	Unavailable func(context.Context) (map[string]lcm.VimFault, error)
	// Login lets users log in; nil means that requests are authenticated as those of the API are.
	Login *Login
	// Kubeconfig answers with the kubeconfig of the VNF instance whose id is the parameter vnfInstanceId of the path.
	// It is a route of the console, because a session is not valid for the API.
	Kubeconfig frame.Handler
	Log        *slog.Logger
	// Streams bounds the pages that are followed at the same time; 0 means 100.
	Streams int
	// Stopping is closed when the server stops: event streams end then.
	Stopping <-chan struct{}
	Clock    lcm.Clock
}

// Project is the project of a principal, as the console shows it.
type Project struct {
	Instances  Instances
	Operations Operations
	Packages   Packages
	// Subscriptions are those to all interfaces.
	Subscriptions Subscriptions
	// Feed says when something has changed; the console then reads it again.
	Feed gybeapi.Feed
}

// Instances reads VNF instances; admission.Service does.
type Instances interface {
	// Instance returns CodeNotFound when it does not exist.
	Instance(ctx context.Context, id string) (*lcm.Instance, error)
	// InstanceDocuments lists in order of id. A document is valid until the next one is read.
	InstanceDocuments(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.InstanceDocument, error]
	// SnapshotsOf lists the VNF snapshots of an instance, with those that are not complete.
	SnapshotsOf(ctx context.Context, instanceID string) ([]*lcm.Snapshot, error)
}

// Operations reads lifecycle operations and how far they are; lcm.Store does.
type Operations interface {
	// Operation returns CodeNotFound when it does not exist.
	Operation(ctx context.Context, id string) (*lcm.Operation, error)
	// Operations lists, newest last.
	Operations(ctx context.Context, q lcm.Query) ([]*lcm.Operation, error)
	// Progress returns the phases and steps of an operation in the order they began.
	Progress(ctx context.Context, opID string) ([]lcm.PhaseRecord, []lcm.StepRecord, error)
}

// Subscriptions reads the state of subscribers; notify.Records does.
type Subscriptions interface {
	// Statuses lists in order of id.
	Statuses(ctx context.Context, after string, limit int) ([]notify.Status, error)
	// Failing lists those that do not accept notifications, the longest first.
	Failing(ctx context.Context, limit int) ([]notify.Status, error)
}

// Packages reads VNF packages; vnfpkg.Service does.
type Packages interface {
	// Get returns CodeNotFound when it does not exist.
	Get(ctx context.Context, id string) (*vnfpkg.Package, error)
	// List lists in order of id.
	List(ctx context.Context, q vnfpkg.Query) ([]*vnfpkg.Package, error)
}
