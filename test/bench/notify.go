package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// The numbers of changes that are measured, and of subscribers that get all of them in a replay.
const (
	notifiedChanges = 300
	replaySinks     = 10
)

// otherSubscriptions adds subscriptions to single VNF instances that do not exist.
const otherSubscriptions = `WITH s AS (INSERT INTO subscription (id, created, updated, callback, verbosity, conditions, since)
		SELECT gen_random_uuid(), now(), now(), $2::text, 'FULL', jsonb_build_array(jsonb_build_object('type',
			jsonb_build_array('VnfIdentifierCreationNotification'), 'instance', jsonb_build_array(gen_random_uuid()))),
			pg_current_snapshot()
		FROM generate_series(1, $1::integer) RETURNING id),
	k AS (INSERT INTO subscription_key (project, key, subscription_id) SELECT 'default', gen_random_uuid(), id
		FROM s, generate_series(1, 3))
	INSERT INTO subscriber (subscription_id) SELECT id FROM s`

// notifications measures state changes with their fan-out beside subscriptions of which one matches, and how many
// notifications a node delivers. A change is the creation of a VNF instance.
func (b *bench) notifications(ctx context.Context, dir string) error {
	vnfd, err := b.upload(ctx, dir, plain)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, b.stack.Database.URL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var received atomic.Int64
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		received.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer sink.Close()

	made := 0
	for _, n := range []int{0, 1, 100, 10_000} {
		if n == 1 {
			if _, err := b.api.Subscribe(ctx, sol.LccnSubscriptionRequest{
				CallbackURI: sink.URL,
				Filter: &sol.LifecycleChangeNotificationsFilter{
					VnfInstanceSubscriptionFilter: &sol.VnfInstanceSubscriptionFilter{VnfdIds: []string{vnfd}},
				},
			}); err != nil {
				return err
			}
			made++
		}
		if _, err := conn.Exec(ctx, otherSubscriptions, pgx.QueryExecModeSimpleProtocol, n-made, sink.URL); err != nil {
			return err
		}
		made = n
		if _, err := conn.Exec(ctx, "ANALYZE subscription, subscription_key, subscriber"); err != nil {
			return err // autovacuum does so within a minute
		}
		if err := b.changesBeside(ctx, conn, vnfd, n); err != nil {
			return err
		}
	}
	if err := b.explainDelivery(ctx, conn, vnfd); err != nil {
		return err
	}
	return b.replays(ctx, conn, sink.URL, &received)
}

// changesBeside creates VNF instances and waits until their messages are fanned out.
func (b *bench) changesBeside(ctx context.Context, conn *pgx.Conn, vnfd string, n int) error {
	before, err := b.used([]*stack.Node{b.node})
	if err != nil {
		return err
	}
	began := time.Now()
	for range notifiedChanges {
		if _, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd}); err != nil {
			return err
		}
	}
	created := time.Since(began)
	if err := until(ctx, conn, "SELECT NOT EXISTS (SELECT FROM outbox WHERE fanned_out IS NULL)"); err != nil {
		return err
	}
	wall := time.Since(began)
	after, err := b.used([]*stack.Node{b.node})
	if err != nil {
		return err
	}
	b.row("change with its fan-out and delivery", fmt.Sprintf("%d subscriptions", n), fmt.Sprintf(
		"%s answered, %s CPU of the node, %s of PostgreSQL", ms(created/notifiedChanges),
		ms((after.gybe-before.gybe)/notifiedChanges), ms((after.database-before.database)/notifiedChanges),
	), fmt.Sprintf("all are fanned out %s after the last", ms(wall-created)))
	return nil
}

// explainDelivery reports the plans of the statements that make and deliver the notification of a change.
func (b *bench) explainDelivery(ctx context.Context, conn *pgx.Conn, vnfd string) error {
	if !b.stack.Database.Owned() {
		return nil
	}
	if err := logPlans(ctx, conn); err != nil {
		return err
	}
	if err := b.reconnect(ctx); err != nil {
		return err
	}
	const idle = `SELECT NOT EXISTS (SELECT FROM outbox WHERE fanned_out IS NULL)
		AND NOT EXISTS (SELECT FROM subscriber WHERE due IS NOT NULL)`
	if err := b.plans("a change with its fan-out and delivery", []string{
		"SELECT m.id::text AS id, m.seq", "WITH m AS", "UPDATE subscriber", "WITH c AS", "SELECT min(due)",
		"SELECT generation", "SELECT d.seq", "UPDATE delivery",
	}, func() error {
		if _, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd}); err != nil {
			return err
		}
		return until(ctx, conn, idle)
	}); err != nil {
		return err
	}
	if err := logNoPlans(ctx, conn); err != nil {
		return err
	}
	return b.reconnect(ctx)
}

// replays lets new subscribers get everything once more.
func (b *bench) replays(
	ctx context.Context, conn *pgx.Conn, url string, received *atomic.Int64,
) error {
	const idle = "SELECT NOT EXISTS (SELECT FROM delivery WHERE state = 'PENDING')"
	if err := until(ctx, conn, idle); err != nil {
		return err
	}
	var ids []string
	for range replaySinks {
		s, err := b.api.Subscribe(ctx, sol.LccnSubscriptionRequest{CallbackURI: url})
		if err != nil {
			return err
		}
		ids = append(ids, s.ID)
	}
	if _, err := conn.Exec(ctx, `INSERT INTO delivery (subscription_id, seq, message_id, state, created, deadline)
		SELECT s::uuid, m.seq, m.id, 'DEAD', now(), now() FROM unnest($1::text[]) s, outbox m`, ids); err != nil {
		return err
	}
	before, err := b.used([]*stack.Node{b.node})
	if err != nil {
		return err
	}
	first, began, since := received.Load(), time.Now(), time.Now().Add(-24*time.Hour)
	for _, id := range ids {
		if _, err := b.api.Replay(ctx, id, gybeapi.Replay{Since: &since}); err != nil {
			return err
		}
	}
	if err := until(ctx, conn, idle); err != nil {
		return err
	}
	took, sent := time.Since(began), received.Load()-first
	after, err := b.used([]*stack.Node{b.node})
	if err != nil {
		return err
	}
	b.row("notifications of one node", fmt.Sprintf("%d subscribers", replaySinks), fmt.Sprintf(
		"%.0f per second, %s CPU of the node, %s of PostgreSQL", float64(sent)/took.Seconds(),
		ms((after.gybe-before.gybe)/time.Duration(sent)), ms((after.database-before.database)/time.Duration(sent)),
	), fmt.Sprintf("%d notifications", sent))
	return nil
}

// until waits until a query returns true.
func until(ctx context.Context, conn *pgx.Conn, query string) error {
	for {
		var done bool
		if err := conn.QueryRow(ctx, query).Scan(&done); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
