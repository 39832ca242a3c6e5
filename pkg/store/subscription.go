package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Subscriptions is what a principal sees of subscriptions: those of its project. It implements notify.Records.
type Subscriptions struct {
	*Store
	project string
}

var (
	_ notify.Records = (*Subscriptions)(nil)
	_ notify.Stores  = (*Store)(nil)
	_ notify.Ledger  = (*Deliveries)(nil)
)

// Subscriptions implements notify.Stores.
func (s *Store) Subscriptions(p lcm.Principal) notify.Records { return &Subscriptions{s, projectOf(p)} }

const (
	// subscribing is the advisory lock of a transaction that adds a subscription to the project $1.
	subscribing = "SELECT pg_advisory_xact_lock(hashtextextended('gybe subscriptions ' || $1, 0))"
	// sinceNow is the snapshot of a new subscription. It is in a statement after the locks.
	insertSubscription = `INSERT INTO subscription (id, project, api, api_version, created, updated, callback, verbosity,
			filter, auth, conditions, fingerprint, since)
		VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11, pg_current_snapshot())`
)

// Insert implements notify.Records.
func (s *Subscriptions) Insert(
	ctx context.Context, n *notify.Subscription, keys []uuid.UUID, same bool, limit int,
) (existing string, err error) {
	conditions, err := jsonb(n.Conditions)
	if err != nil {
		return "", err
	}
	if conditions == nil {
		conditions = []byte("[]")
	}
	var auth any
	if n.Auth != nil {
		plain, err := json.Marshal(n.Auth)
		if err != nil {
			return "", err
		}
		auth = s.seal("subscription", "auth", n.ID, plain)
	}
	var filter any
	if n.Filter != nil {
		filter = noNUL(n.Filter)
	}
	parts := []string{n.API, n.Callback, string(conditions)}
	if n.Form != "" { // a subscription to notifications in another form is not the same
		parts = append(parts, n.Form)
	}
	like, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	fingerprint := sha256.Sum256(like)
	err = s.inTx(ctx, "store subscription", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, subscribing, s.project); err != nil {
			return err
		}
		existing = ""
		if same {
			err := tx.QueryRow(ctx, "SELECT id::text FROM subscription WHERE project = $1 AND fingerprint = $2 LIMIT 1",
				s.project, fingerprint[:]).Scan(&existing)
			if err == nil || !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		number, err := value[int64](tx.Query(ctx, "SELECT count(*) FROM subscription WHERE project = $1", s.project))
		if err != nil {
			return err
		}
		if number >= int64(limit) {
			return lcm.Errorf(lcm.CodeForbidden, "the project has %d subscriptions, which is its limit", number).
				WithHint("delete subscriptions, or raise notify.subscriptions")
		}
		b := &pgx.Batch{}
		s.queueRequestKey(ctx, b, n.ID)
		b.Queue(insertSubscription, n.ID, s.project, n.API, n.Version, n.Created, clean(n.Callback),
			string(n.Verbosity), filter, auth, conditions, fingerprint[:])
		b.Queue("INSERT INTO subscription_key (project, key, subscription_id) SELECT $1, unnest($2::uuid[]), $3",
			s.project, keys, n.ID)
		b.Queue("INSERT INTO subscriber (subscription_id) VALUES ($1)", n.ID)
		return tx.SendBatch(ctx, b).Close()
	})
	return existing, err
}

// subscriptionColumns are those that clients see.
const subscriptionColumns = `s.id::text AS id, s.api AS api, s.api_version AS api_version, s.created AS created,
	s.callback AS callback, s.verbosity AS verbosity, s.filter AS filter`

// subscriptionRow is a row of subscriptionColumns.
type subscriptionRow struct {
	ID         string    `db:"id"`
	API        string    `db:"api"`
	APIVersion string    `db:"api_version"`
	Created    time.Time `db:"created"`
	Callback   string    `db:"callback"`
	Verbosity  string    `db:"verbosity"`
	Filter     []byte    `db:"filter"`
}

func (r *subscriptionRow) subscription() notify.Subscription {
	return notify.Subscription{
		ID: r.ID, API: r.API, Version: r.APIVersion, Created: r.Created.UTC(), Callback: r.Callback,
		Verbosity: sol.LcmOpOccNotificationVerbosityType(r.Verbosity), Filter: r.Filter,
	}
}

// Get implements notify.Records.
func (s *Subscriptions) Get(ctx context.Context, api, id string) (*notify.Subscription, error) {
	if !known(id) {
		return nil, notFound("subscription", id)
	}
	r, err := one[subscriptionRow](s.pool.Query(ctx, "SELECT "+subscriptionColumns+
		" FROM subscription s WHERE s.id = $1 AND s.project = $2 AND ($3 = '' OR s.api = $3)", id, s.project, api))
	if err != nil {
		return nil, fault("read subscription", orNotFound(err, "subscription", id))
	}
	n := r.subscription()
	return &n, nil
}

// List implements notify.Records.
func (s *Subscriptions) List(ctx context.Context, api, after string, limit int) ([]notify.Subscription, error) {
	rows, err := all[subscriptionRow](s.pool.Query(ctx, "SELECT "+subscriptionColumns+` FROM subscription s
		WHERE s.project = $1 AND s.api = $2 AND ($3::uuid IS NULL OR s.id > $3) ORDER BY s.id LIMIT $4`,
		s.project, api, nilIfEmpty(after), limit))
	if err != nil {
		return nil, fault("list subscriptions", err)
	}
	out := make([]notify.Subscription, len(rows))
	for n := range rows {
		out[n] = rows[n].subscription()
	}
	return out, nil
}

// Delete implements notify.Records.
func (s *Subscriptions) Delete(ctx context.Context, api, id string) error {
	if !known(id) {
		return notFound("subscription", id)
	}
	var deleted int64
	err := s.inTx(ctx, "delete subscription", func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx, "DELETE FROM subscription WHERE id = $1 AND project = $2 AND api = $3", id, s.project, api,
		)
		deleted = tag.RowsAffected()
		return err
	})
	if err == nil && deleted == 0 {
		return notFound("subscription", id)
	}
	return err
}
