package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/notify"
)

// KindSubscription is the kind of events about a subscriber that begins to fail or recovers: {"id","state","error"}.
const KindSubscription = gybeapi.KindSubscription

// endLeases looks at nodes that have ended since the longest lease began: there is none normally. The epoch makes sure
// that a node which only seemed to be dead stores nothing.
const endLeases = `UPDATE subscriber b SET node = '', epoch = b.epoch + 1, due = coalesce($1, now())
	FROM node n WHERE n.ended > now() - interval '5 min' AND b.node = n.id AND b.due IS NOT NULL
		AND EXISTS (SELECT FROM node WHERE ended > now() - interval '5 min')`

// EndLeases implements notify.Ledger.
func (d *Deliveries) EndLeases(ctx context.Context) (int64, error) {
	tag, err := d.pool.Exec(ctx, endLeases, d.now())
	return tag.RowsAffected(), fault("take subscribers from dead nodes", err)
}

// claimSubscribers lets the lease be the time at which the next node looks at the subscriber. The array is for the
// plan: for a LIMIT that it does not know, PostgreSQL expects a tenth of all rows, and reads both tables as a whole.
const claimSubscribers = `WITH c AS (SELECT subscription_id FROM subscriber
			WHERE due <= coalesce($1, now()) AND (slow OR failures > 0) = $2
				AND NOT EXISTS (SELECT FROM node WHERE id = $4 AND ended IS NOT NULL)
			ORDER BY due LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED),
		b AS (UPDATE subscriber u SET epoch = u.epoch + 1, node = $4, due = coalesce($1, now()) + $5::interval
			WHERE u.subscription_id = ANY (ARRAY(SELECT subscription_id FROM c)) RETURNING u.*)
	SELECT ` + subscriptionColumns + `, s.auth, b.epoch, b.failures, b.failing_since, b.slow
	FROM b JOIN subscription s ON s.id = b.subscription_id`

// ClaimSubscribers implements notify.Ledger.
func (d *Deliveries) ClaimSubscribers(
	ctx context.Context, node string, failing bool, limit int, lease time.Duration,
) ([]notify.Claim, error) {
	type row struct {
		subscriptionRow
		Auth         []byte     `db:"auth"`
		Epoch        int64      `db:"epoch"`
		Failures     int        `db:"failures"`
		FailingSince *time.Time `db:"failing_since"`
		Slow         bool       `db:"slow"`
	}
	rows, err := all[row](d.pool.Query(ctx, claimSubscribers, d.now(), failing, limit, node, lease))
	if err != nil {
		return nil, fault("claim subscribers", err)
	}
	out := make([]notify.Claim, len(rows))
	for n, r := range rows {
		out[n] = notify.Claim{
			Subscription: r.subscription(), Epoch: r.Epoch, Failures: r.Failures, FailingSince: timeOf(r.FailingSince),
			Slow: r.Slow,
		}
		if r.Auth == nil {
			continue
		}
		plain, err := d.open("subscription", "auth", r.ID, r.Auth)
		if err == nil {
			err = json.Unmarshal(plain, &out[n].Subscription.Auth)
		}
		if err != nil {
			out[n].Unusable = err
		}
	}
	return out, nil
}

// Renew implements notify.Ledger.
func (d *Deliveries) Renew(ctx context.Context, c *notify.Claim, lease time.Duration) error {
	tag, err := d.pool.Exec(ctx, `UPDATE subscriber SET due = coalesce($3, now()) + $4::interval
		WHERE subscription_id = $1 AND epoch = $2`, c.Subscription.ID, c.Epoch, d.now(), lease)
	if err == nil && tag.RowsAffected() == 0 {
		return notify.ErrLost
	}
	return fault("renew the lease of a subscriber", err)
}

// Pending implements notify.Ledger. It reads the generation first: deliveries that are added later change it.
func (d *Deliveries) Pending(
	ctx context.Context, c *notify.Claim, limit int,
) (out []notify.Outgoing, generation int64, err error) {
	type row struct {
		Seq      int64     `db:"seq"`
		Subject  string    `db:"subject"`
		ID       string    `db:"id"`
		API      string    `db:"api"`
		Kind     string    `db:"kind"`
		Time     time.Time `db:"time"`
		Body     []byte    `db:"body"`
		Deadline time.Time `db:"deadline"`
		Attempts int       `db:"attempts"`
	}
	var rows []row
	lost := false
	err = d.read(ctx, "read deliveries", func(b *pgx.Batch) {
		b.Queue(
			"SELECT generation FROM subscriber WHERE subscription_id = $1 AND epoch = $2", c.Subscription.ID, c.Epoch,
		).QueryRow(func(r pgx.Row) error {
			err := r.Scan(&generation)
			lost = errors.Is(err, pgx.ErrNoRows)
			if lost {
				return nil
			}
			return err
		})
		b.Queue("SELECT d.seq, "+subjectOf+` AS subject, m.id::text AS id, m.api, m.kind, m.time, m.body, d.deadline, d.attempts
			FROM delivery d JOIN outbox m ON m.id = d.message_id
			WHERE d.subscription_id = $1 AND d.state = 'PENDING' ORDER BY d.seq LIMIT $2`, c.Subscription.ID, limit).
			Query(func(r pgx.Rows) (err error) {
				rows, err = all[row](r, nil)
				return err
			})
	})
	if err := unlessLost(err, lost); err != nil {
		return nil, 0, err
	}
	for _, r := range rows {
		out = append(out, notify.Outgoing{
			Seq: r.Seq, Subject: r.Subject, Deadline: r.Deadline.UTC(), Attempts: r.Attempts,
			Message: notify.Message{ID: r.ID, API: r.API, Kind: r.Kind, Time: r.Time.UTC(), Body: r.Body},
		})
	}
	return out, generation, nil
}

// held is the condition that the claim with the epoch $2 of the subscription $1 is the newest.
const held = "EXISTS (SELECT FROM subscriber WHERE subscription_id = $1 AND epoch = $2)"

// queueHeld locks the subscriber if the claim is the newest, so that no node can claim it until the transaction ends.
func queueHeld(b *pgx.Batch, c *notify.Claim, lost *bool) {
	b.Queue("SELECT FROM subscriber WHERE subscription_id = $1 AND epoch = $2 FOR NO KEY UPDATE",
		c.Subscription.ID, c.Epoch).Exec(func(tag pgconn.CommandTag) error {
		*lost = tag.RowsAffected() == 0
		return nil
	})
}

// failing marks a subscriber as failing for the reason $3 at the time $4, with an event if it did not fail before. more
// is added to the number of failures.
func failing(more string) string {
	return `WITH old AS (SELECT subscription_id, failing_since FROM subscriber
			WHERE subscription_id = $1 AND epoch = $2 FOR NO KEY UPDATE),
		u AS (UPDATE subscriber b SET failures = b.failures + ` + more + `, error = $3,
				failing_since = coalesce(b.failing_since, $4, now())
			FROM old WHERE b.subscription_id = old.subscription_id)
		INSERT INTO event (kind, project, body) SELECT '` + KindSubscription + `', s.project,
				jsonb_build_object('id', s.id, 'state', 'FAILING', 'error', $3::text)
			FROM old JOIN subscription s ON s.id = old.subscription_id WHERE old.failing_since IS NULL`
}

var failsOnce, rejects = failing("1"), failing("0")

// Accept implements notify.Ledger.
func (d *Deliveries) Accept(ctx context.Context, c *notify.Claim, seq int64) error {
	const what = "store that a notification is delivered"
	accept := `UPDATE delivery SET state = 'DELIVERED', attempts = attempts + 1, attempted = coalesce($3, now()),
			ended = coalesce($3, now()), error = '' WHERE subscription_id = $1 AND seq = $4 AND ` + held
	if c.FailingSince.IsZero() {
		tag, err := d.pool.Exec(ctx, accept, c.Subscription.ID, c.Epoch, d.now(), seq)
		if err == nil && tag.RowsAffected() == 0 {
			return notify.ErrLost
		}
		return fault(what, err)
	}
	lost := false
	err := d.pipeline(ctx, what, func(b *pgx.Batch) {
		queueHeld(b, c, &lost)
		b.Queue(accept, c.Subscription.ID, c.Epoch, d.now(), seq)
		b.Queue(`WITH u AS (UPDATE subscriber SET failures = 0, failing_since = NULL, error = ''
				WHERE subscription_id = $1 AND epoch = $2 AND failing_since IS NOT NULL RETURNING subscription_id)
			INSERT INTO event (kind, project, body) SELECT '`+KindSubscription+`', s.project,
				jsonb_build_object('id', s.id, 'state', 'RECOVERED') FROM u JOIN subscription s ON s.id = u.subscription_id`,
			c.Subscription.ID, c.Epoch)
	})
	return unlessLost(err, lost)
}

// unlessLost returns err, or ErrLost.
func unlessLost(err error, lost bool) error {
	if err == nil && lost {
		return notify.ErrLost
	}
	return err
}

// Reject implements notify.Ledger.
func (d *Deliveries) Reject(ctx context.Context, c *notify.Claim, seq int64, reason string) error {
	lost := false
	err := d.pipeline(ctx, "store a dead letter", func(b *pgx.Batch) {
		queueHeld(b, c, &lost)
		b.Queue(`UPDATE delivery SET state = 'DEAD', attempts = attempts + 1, attempted = coalesce($4, now()),
				ended = coalesce($4, now()), error = $3
			WHERE subscription_id = $1 AND seq = $5 AND state = 'PENDING' AND `+held,
			c.Subscription.ID, c.Epoch, clean(reason), d.now(), seq)
		b.Queue(rejects, c.Subscription.ID, c.Epoch, clean(reason), d.now())
	})
	return unlessLost(err, lost)
}

// Fail implements notify.Ledger.
func (d *Deliveries) Fail(
	ctx context.Context, c *notify.Claim, seqs []int64, reason string,
) (dead int64, err error) {
	lost := false
	err = d.pipeline(ctx, "store a failed delivery", func(b *pgx.Batch) {
		queueHeld(b, c, &lost)
		b.Queue(`UPDATE delivery SET attempts = attempts + 1, attempted = coalesce($4, now()), error = $3
			WHERE subscription_id = $1 AND seq = ANY ($5) AND state = 'PENDING' AND `+held,
			c.Subscription.ID, c.Epoch, clean(reason), d.now(), seqs)
		b.Queue(`WITH dead AS (UPDATE delivery SET state = 'DEAD', ended = coalesce($4, now()), error = $3
				WHERE subscription_id = $1 AND state = 'PENDING' AND deadline <= coalesce($4, now()) AND `+held+`
				RETURNING 1)
			SELECT count(*) FROM dead`, c.Subscription.ID, c.Epoch, clean(reason), d.now()).
			QueryRow(func(r pgx.Row) error { return r.Scan(&dead) })
		b.Queue(failsOnce, c.Subscription.ID, c.Epoch, clean(reason), d.now())
	})
	return dead, unlessLost(err, lost)
}

// Release implements notify.Ledger.
func (d *Deliveries) Release(ctx context.Context, c *notify.Claim, o notify.Outcome) error {
	_, err := d.pool.Exec(ctx, `UPDATE subscriber SET node = '', slow = $6, due = CASE
			WHEN $4::interval > '0' THEN coalesce($3, now()) + $4::interval
			WHEN generation = $5 THEN NULL ELSE coalesce($3, now()) END
		WHERE subscription_id = $1 AND epoch = $2`, c.Subscription.ID, c.Epoch, d.now(), o.Wait, o.Generation, o.Slow)
	return fault("release a subscriber", err)
}

// NextDue implements notify.Ledger.
func (d *Deliveries) NextDue(ctx context.Context, longest time.Duration) (time.Duration, error) {
	due, err := value[*time.Duration](d.pool.Query(ctx,
		"SELECT min(due) - coalesce($1, now()) FROM subscriber WHERE due IS NOT NULL", d.now()))
	if err != nil || due == nil {
		return longest, fault("look for subscribers", err)
	}
	return min(max(*due, 0), longest), nil
}

// Backlog returns the state of all deliveries.
func (s *Store) Backlog(ctx context.Context) (notify.Backlog, error) {
	type row struct {
		Pending int64    `db:"pending"`
		Dead    int64    `db:"dead"`
		Failing int64    `db:"failing"`
		Oldest  *float64 `db:"oldest"`
	}
	r, err := one[row](s.pool.Query(ctx, `SELECT (SELECT count(*) FROM delivery WHERE state = 'PENDING') AS pending,
		(SELECT count(*) FROM delivery WHERE state = 'DEAD') AS dead,
		(SELECT count(*) FROM subscriber WHERE failing_since IS NOT NULL) AS failing,
		(SELECT extract(epoch FROM now() - min(created))::float8 FROM delivery WHERE state = 'PENDING') AS oldest`))
	if err != nil {
		return notify.Backlog{}, fault("count deliveries", err)
	}
	b := notify.Backlog{Pending: r.Pending, Dead: r.Dead, Failing: r.Failing}
	if r.Oldest != nil {
		b.Oldest = time.Duration(*r.Oldest * float64(time.Second))
	}
	return b, nil
}

// PruneDeliveries deletes deliveries that ended well before an age, at most limit of them, and returns how many.
func (s *Store) PruneDeliveries(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM delivery WHERE (subscription_id, seq) IN (
		SELECT subscription_id, seq FROM delivery WHERE state = 'DELIVERED' AND ended < now() - $1::interval
		LIMIT $2 FOR UPDATE SKIP LOCKED)`, age, limit)
	return tag.RowsAffected(), fault("prune deliveries", err)
}
