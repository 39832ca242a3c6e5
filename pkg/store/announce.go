package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// announcePause is the shortest time between two notifications of a node.
const announcePause = 20 * time.Millisecond

// announce says that a transaction with events was committed. It never blocks: Feed.Run sends the notification.
//
// The notification is not part of the transaction. PostgreSQL lets the commits of all transactions with a NOTIFY wait
// for each other, in all databases of the server. A node that dies before it has sent the notification delays its last
// events until the other nodes' feeds look without one (docs/adr/019).
func (s *Store) announce() {
	for _, c := range []chan struct{}{s.committed, s.changed} {
		select {
		case c <- struct{}{}:
		default: // a notification is due already
		}
	}
}

// Changed has a value when this node has committed a transaction with events, and perhaps messages. It has one
// receiver.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// sendAnnouncements notifies the feeds of all nodes of the events that this node commits, until ctx ends.
func (f *Feed) sendAnnouncements(ctx context.Context) {
	f.reconnect(ctx, "event notifications", func(ctx context.Context) error {
		select { // a node without changes needs no connection
		case <-ctx.Done():
			return ctx.Err()
		case <-f.store.committed:
		}
		conn, err := pgx.ConnectConfig(ctx, f.store.pool.Config().ConnConfig)
		if err != nil {
			f.store.announce()
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

		for {
			if _, err := conn.Exec(ctx, "SELECT pg_notify('gybe_event', '')"); err != nil {
				f.store.announce()
				return err
			}
			if err := sleep(ctx, announcePause); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-f.store.committed:
			}
		}
	})
}

// reconnect calls run, which works on a connection until that breaks, again and again: until run returns nil, because
// the connection is not needed any more, or ctx ends.
func (f *Feed) reconnect(ctx context.Context, what string, run func(context.Context) error) {
	const shortest, longest = 50 * time.Millisecond, 2 * time.Second
	pause := shortest
	for {
		began := time.Now()
		err := run(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if time.Since(began) > longest {
			pause = shortest
		}
		f.store.log.WarnContext(ctx, "connection to the database lost; connecting again", "for", what, "error", err)
		if sleep(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, longest)
	}
}

// sleep waits, or returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
