package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
)

// statusRow is a subscription with the state of its subscriber.
type statusRow struct {
	subscriptionRow
	Pending      int64      `db:"pending"`
	Dead         int64      `db:"dead"`
	Failures     int        `db:"failures"`
	FailingSince *time.Time `db:"failing_since"`
	Due          *time.Time `db:"due"`
	Error        string     `db:"error"`
}

const statusQuery = "SELECT " + subscriptionColumns + `, b.failures, b.failing_since, b.due, b.error,
		(SELECT count(*) FROM delivery d WHERE d.subscription_id = s.id AND d.state = 'PENDING') AS pending,
		(SELECT count(*) FROM delivery d WHERE d.subscription_id = s.id AND d.state = 'DEAD') AS dead
	FROM subscription s JOIN subscriber b ON b.subscription_id = s.id WHERE s.project = $1`

func (r *statusRow) status() notify.Status {
	out := notify.Status{
		Subscription: r.subscription(), Pending: r.Pending, Dead: r.Dead, Failures: r.Failures,
		FailingSince: timeOf(r.FailingSince), Error: r.Error,
	}
	if r.Failures > 0 && r.Pending > 0 {
		out.Next = timeOf(r.Due)
	}
	return out
}

// Status implements notify.Records.
func (s *Subscriptions) Status(ctx context.Context, id string) (*notify.Status, error) {
	if !known(id) {
		return nil, notFound("subscription", id)
	}
	r, err := one[statusRow](s.pool.Query(ctx, statusQuery+" AND s.id = $2", s.project, id))
	if err != nil {
		return nil, fault("read subscription", orNotFound(err, "subscription", id))
	}
	status := r.status()
	return &status, nil
}

// Statuses implements notify.Records.
func (s *Subscriptions) Statuses(ctx context.Context, after string, limit int) ([]notify.Status, error) {
	return s.statuses(ctx, " AND ($2::uuid IS NULL OR s.id > $2) ORDER BY s.id LIMIT $3", nilIfEmpty(after), limit)
}

// Failing implements notify.Records.
func (s *Subscriptions) Failing(ctx context.Context, limit int) ([]notify.Status, error) {
	return s.statuses(ctx, " AND b.failing_since IS NOT NULL ORDER BY b.failing_since, s.id LIMIT $2", limit)
}

// statuses reads subscriptions of the project. The first parameter of more is $2.
func (s *Subscriptions) statuses(ctx context.Context, more string, args ...any) ([]notify.Status, error) {
	rows, err := all[statusRow](s.pool.Query(ctx, statusQuery+more, append([]any{s.project}, args...)...))
	if err != nil {
		return nil, fault("list subscriptions", err)
	}
	out := make([]notify.Status, len(rows))
	for n := range rows {
		out[n] = rows[n].status()
	}
	return out, nil
}

// subjectOf is the id of the resource whose messages are delivered in order. That of an operation is its instance.
const subjectOf = "coalesce(m.subject, m.instance_id, m.op_id, m.id)::text"

// Deliveries implements notify.Records.
func (s *Subscriptions) Deliveries(
	ctx context.Context, id string, q notify.DeliveryQuery,
) ([]notify.Delivery, error) {
	if _, err := s.Get(ctx, "", id); err != nil {
		return nil, err
	}
	type row struct {
		Seq       int64      `db:"seq"`
		Message   string     `db:"message"`
		Kind      string     `db:"kind"`
		Operation string     `db:"operation"`
		OpState   string     `db:"operation_state"`
		Subject   string     `db:"subject"`
		State     string     `db:"state"`
		Created   time.Time  `db:"created"`
		Deadline  time.Time  `db:"deadline"`
		Attempts  int        `db:"attempts"`
		Attempted *time.Time `db:"attempted"`
		Ended     *time.Time `db:"ended"`
		Error     string     `db:"error"`
	}
	rows, err := all[row](s.pool.Query(ctx, "SELECT d.seq, m.id::text AS message, m.kind, "+subjectOf+` AS subject, d.state,
			coalesce(m.operation, '') AS operation, coalesce(m.operation_state, '') AS operation_state,
			d.created, d.deadline, d.attempts, d.attempted, d.ended, d.error
		FROM delivery d JOIN outbox m ON m.id = d.message_id
		WHERE d.subscription_id = $1 AND d.seq > $2 AND ($3 = '' OR d.state = $3) ORDER BY d.seq LIMIT $4`,
		id, q.After, string(q.State), q.Limit))
	if err != nil {
		return nil, fault("list deliveries", err)
	}
	out := make([]notify.Delivery, len(rows))
	for n, r := range rows {
		out[n] = notify.Delivery{
			Seq: r.Seq, Message: r.Message, Kind: r.Kind, Operation: r.Operation, OperationState: r.OpState,
			Subject: r.Subject, State: notify.State(r.State), Created: r.Created.UTC(), Attempts: r.Attempts,
			Attempted: timeOf(r.Attempted), Ended: timeOf(r.Ended), Error: r.Error,
		}
		if out[n].State == notify.Pending {
			out[n].Deadline = r.Deadline.UTC()
		}
	}
	return out, nil
}

// Replay implements notify.Records.
func (s *Subscriptions) Replay(
	ctx context.Context, id string, r notify.Replay, patience time.Duration,
) (replayed int64, err error) {
	if _, err := s.Get(ctx, "", id); err != nil {
		return 0, err
	}
	if r.Message != "" && !known(r.Message) {
		return 0, notFound("notification", r.Message)
	}
	err = s.inTx(ctx, "replay deliveries", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE delivery d SET state = 'PENDING', deadline = now() + $7::interval, attempts = 0,
				attempted = NULL, ended = NULL, error = ''
			FROM outbox m WHERE m.id = d.message_id AND d.subscription_id = $1 AND d.state <> 'PENDING'
				AND ($2::uuid IS NULL OR d.message_id = $2) AND ($3::timestamptz IS NULL OR m.time >= $3)
				AND ($4::timestamptz IS NULL OR m.time <= $4) AND ($5 = '' OR d.state = $5)
				AND EXISTS (SELECT FROM subscription s WHERE s.id = d.subscription_id AND s.project = $6)`,
			id, nilIfEmpty(r.Message), nilIfZero(r.Since), nilIfZero(r.Until), string(r.State), s.project, patience)
		if err != nil {
			return err
		}
		replayed = tag.RowsAffected()
		// A user who asks for a replay has probably repaired the subscriber: do not wait for the next attempt.
		_, err = tx.Exec(ctx, `UPDATE subscriber SET generation = generation + 1,
				due = CASE WHEN node = '' THEN now() ELSE coalesce(due, now()) END
			WHERE subscription_id = $1`, id)
		return err
	})
	if err != nil || replayed > 0 || r.Message == "" {
		return replayed, err
	}
	pending, err := value[bool](s.pool.Query(ctx,
		"SELECT EXISTS (SELECT FROM delivery WHERE subscription_id = $1 AND message_id = $2)", id, r.Message))
	if err == nil && !pending {
		return 0, lcm.Errorf(lcm.CodeNotFound, "subscription %s has no notification with the id %s", id, r.Message).
			WithHint("delivered ones are kept for notify.keep")
	}
	return 0, fault("look for a delivery", err)
}

// nilIfZero makes the zero time a NULL.
func nilIfZero(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
