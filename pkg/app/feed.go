package app

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// Feeds gives the store's event feed the shape that the HTTP interface serves: each principal has a feed of its
// project. It implements gybe.Feeds.
type Feeds struct {
	Store *store.Store
	Feed  *store.Feed
	// PublicURL is what links in notifications begin with.
	PublicURL string
}

// In returns the feed of the project of a principal.
func (f Feeds) In(p lcm.Principal) gybeapi.Feed {
	return feed{f.Store.Of(p), f.Feed, func(path string) sol.Link { return sol.Link{Href: f.PublicURL + path} }}
}

// feed is the feed of a project.
type feed struct {
	records *store.Records
	all     *store.Feed
	link    func(path string) sol.Link
}

// Follow implements gybeapi.Feed.
func (f feed) Follow(ctx context.Context, q gybeapi.FeedQuery) (gybeapi.Follower, error) {
	fq := store.FeedQuery{Project: f.records.Project(), InstanceID: q.InstanceID, OpID: q.OpID, PackageID: q.PackageID}
	if q.After != "" {
		c, err := store.ParseCursor(q.After)
		if err != nil {
			return nil, err
		}
		fq.After = &c
	}
	if q.Notifications {
		return &notificationFollower{events: f.all.Follow(ctx, fq), records: f.records, link: f.link}, nil
	}
	return follower{f.all.Follow(ctx, fq)}, nil
}

type follower struct{ *store.Follower }

// Next implements gybeapi.Follower.
func (f follower) Next(ctx context.Context) ([]gybeapi.Event, error) {
	events, err := f.Follower.Next(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]gybeapi.Event, len(events))
	for i, e := range events {
		out[i] = gybeapi.Event{
			Cursor: e.Cursor.String(), Time: e.Time, Kind: e.Kind, VnfInstanceID: e.InstanceID, VnfLcmOpOccID: e.OpID,
			VnfPkgID: e.PackageID, Body: e.Body,
		}
	}
	return out, nil
}

// Log implements gybeapi.Feed.
func (f feed) Log(ctx context.Context, opID, after string, limit int) ([]gybeapi.Line, string, error) {
	logged, next, err := f.records.OperationLog(ctx, opID, after, limit)
	if err != nil {
		return nil, "", err
	}
	lines := make([]gybeapi.Line, len(logged))
	for i, l := range logged {
		lines[i] = gybeapi.Line{StepID: l.Step, Time: l.Time, Text: l.Text}
	}
	return lines, next, nil
}

// nodes lists the nodes in the shape that the HTTP interface serves.
func nodes(s *store.Store) func(context.Context) ([]gybeapi.Node, error) {
	return func(ctx context.Context) ([]gybeapi.Node, error) {
		list, err := s.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		out := make([]gybeapi.Node, len(list))
		for i, n := range list {
			out[i] = gybeapi.Node{
				ID: n.ID, Name: n.Name, Address: n.Address, Version: n.Version, Started: n.Started, Seen: n.Seen,
				Running: n.Running, UnavailableVims: len(n.Unavailable),
			}
			if n.Ended != nil {
				out[i].Ended = *n.Ended
			}
		}
		return out, nil
	}
}
