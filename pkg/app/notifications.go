package app

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// notificationFollower follows the notifications of a project, as CloudEvents: those that the transactions of events
// have written.
type notificationFollower struct {
	events  *store.Follower
	records *store.Records
	link    func(path string) sol.Link
	// due are events whose messages could not be read.
	due []store.Event
}

// Next implements gybeapi.Follower. Only the last notification of a transaction has a cursor, so that a client that
// comes back gets all of them.
func (f *notificationFollower) Next(ctx context.Context) ([]gybeapi.Event, error) {
	for {
		if len(f.due) == 0 {
			var err error
			if f.due, err = f.events.Next(ctx); err != nil {
				return nil, err
			}
		}
		last := map[uint64]store.Cursor{}
		var transactions []uint64
		for _, e := range f.due {
			if last[e.Cursor.Tx] == (store.Cursor{}) {
				transactions = append(transactions, e.Cursor.Tx)
			}
			last[e.Cursor.Tx] = e.Cursor
		}
		messages, err := f.records.MessagesOf(ctx, transactions)
		if err != nil {
			return nil, err
		}
		f.due = nil
		var out []gybeapi.Event
		for n, m := range messages {
			api := interfaces[m.API]
			if api == nil {
				continue // of a newer release
			}
			body, err := api.CloudEvent(m.Message, m.Subject, f.link)
			if err != nil {
				return nil, err
			}
			e := gybeapi.Event{Kind: gybeapi.KindNotification, Time: m.Time, Body: body}
			if !slices.ContainsFunc(messages[n+1:], func(later store.Written) bool { return later.Tx == m.Tx }) {
				e.Cursor = last[m.Tx].String()
			}
			out = append(out, e)
		}
		if len(out) > 0 {
			return out, nil
		}
	}
}
