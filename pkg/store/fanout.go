package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/notify"
)

// Deliveries is the delivering side of the store. It implements notify.Ledger.
type Deliveries struct {
	*Store
	// Now is the time for tests; nil is that of the database.
	Now func() time.Time
}

// now is the argument for the time; NULL means that of the database.
func (d *Deliveries) now() any {
	if d.Now == nil {
		return nil
	}
	return d.Now()
}

// fanningOut is the advisory lock of the node that fans out.
const fanningOut = 0x67796266

// The statements of a fan-out. One node does it at a time, so that deliveries are made in the order of the messages. A
// node that stops in between loses its connection, and with it the lock. The plans use indexes whatever the statistics
// say: they must not depend on the number of subscriptions. Each table is read by one condition, for which one index is
// right, so that a plan that was made for few subscriptions is good for many.
const (
	beginFanOut = `SET LOCAL idle_in_transaction_session_timeout = '10s'; SET LOCAL enable_seqscan = off;
		SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off`
	dueMessages = `SELECT m.id::text AS id, m.seq, m.project, m.api, m.tx::text AS tx, m.kind, m.instance_id::text,
			m.vnfd_id, m.provider, m.product_name, m.software_version, m.vnfd_version, m.instance_name, m.operation,
			m.operation_state, m.attributes, m.audience, m.project_attributes
		FROM outbox m WHERE m.fanned_out IS NULL ORDER BY m.seq LIMIT $1`
	fanOut = `WITH m AS (SELECT * FROM jsonb_to_recordset($1) AS
				(id uuid, seq bigint, project text, audience text, api text, tx xid8, attributes jsonb, own jsonb,
					keys uuid[])),
		matched AS (SELECT DISTINCT m.id, m.seq, k.subscription_id FROM m CROSS JOIN LATERAL unnest(m.keys) wanted
			CROSS JOIN LATERAL (
				(SELECT k.subscription_id, k.project FROM subscription_key k
					WHERE m.audience <> 'OTHERS' AND k.project = m.project AND k.key = wanted OFFSET 0)
				UNION ALL
				(SELECT k.subscription_id, k.project FROM subscription_key k
					WHERE m.audience <> 'PROJECT' AND k.project <> m.project AND k.key = wanted OFFSET 0)) k
			CROSS JOIN LATERAL (SELECT s.* FROM subscription s WHERE s.id = k.subscription_id OFFSET 0) s
			WHERE s.api = m.api AND s.project = k.project
				AND (s.since IS NULL OR NOT pg_visible_in_snapshot(m.tx, s.since))
				AND EXISTS (SELECT FROM jsonb_array_elements(s.conditions) c WHERE NOT EXISTS (
					SELECT FROM jsonb_each(c) a WHERE NOT coalesce(
						coalesce(m.own -> s.project -> a.key, m.attributes -> a.key)
							?| ARRAY(SELECT jsonb_array_elements_text(a.value)), false)))),
		added AS (INSERT INTO delivery (subscription_id, seq, message_id, created, deadline)
			SELECT subscription_id, seq, id, coalesce($2, now()), coalesce($2, now()) + $3::interval FROM matched
			ORDER BY seq ON CONFLICT DO NOTHING RETURNING subscription_id),
		due AS (UPDATE subscriber b SET generation = b.generation + 1, due = coalesce(b.due, $2, now())
			FROM (SELECT DISTINCT subscription_id FROM added) a WHERE b.subscription_id = a.subscription_id)
		UPDATE outbox o SET fanned_out = coalesce($2, now()) FROM m WHERE o.id = m.id`
)

// dueMessage is a row of dueMessages.
type dueMessage struct {
	ID              string  `db:"id"`
	Seq             int64   `db:"seq"`
	Project         string  `db:"project"`
	API             string  `db:"api"`
	Tx              string  `db:"tx"`
	Kind            string  `db:"kind"`
	InstanceID      *string `db:"instance_id"`
	VnfdID          *string `db:"vnfd_id"`
	Provider        *string `db:"provider"`
	ProductName     *string `db:"product_name"`
	SoftwareVersion *string `db:"software_version"`
	VnfdVersion     *string `db:"vnfd_version"`
	InstanceName    *string `db:"instance_name"`
	Operation       *string `db:"operation"`
	OperationState  *string `db:"operation_state"`
	Attributes      []byte  `db:"attributes"`
	Audience        string  `db:"audience"`
	OfProjects      []byte  `db:"project_attributes"`
}

// attributes are what filters look at: the columns of the message, and what it has in addition.
func (m *dueMessage) attributes() (notify.Attributes, error) {
	out := notify.Attributes{notify.AttrType: {m.Kind}}
	for name, v := range map[string]*string{
		notify.AttrInstance: m.InstanceID, notify.AttrVnfd: m.VnfdID, notify.AttrName: m.InstanceName,
		notify.AttrOperation: m.Operation, notify.AttrState: m.OperationState,
	} {
		if v != nil {
			out[name] = []string{*v}
		}
	}
	if m.Provider != nil {
		out[notify.AttrProduct] = notify.ProductPaths(
			*m.Provider, textOf(m.ProductName), textOf(m.SoftwareVersion), textOf(m.VnfdVersion),
		)
	}
	return out, decode(m.Attributes, &out)
}

// FanOut implements notify.Ledger.
func (d *Deliveries) FanOut(ctx context.Context, limit int, patience time.Duration) (done int, err error) {
	due, err := value[bool](d.pool.Query(ctx, "SELECT EXISTS (SELECT FROM outbox WHERE fanned_out IS NULL)"))
	if err != nil || !due {
		return 0, fault("look for messages", err)
	}
	err = d.inQuietTx(ctx, "fan out messages", func(tx pgx.Tx) error {
		done = 0
		locked, err := value[bool](tx.Query(ctx, "SELECT pg_try_advisory_xact_lock($1)", fanningOut))
		if err != nil || !locked {
			return err
		}
		if _, err := tx.Exec(ctx, beginFanOut); err != nil {
			return err
		}
		found, err := all[dueMessage](tx.Query(ctx, dueMessages, limit))
		if err != nil || len(found) == 0 {
			return err
		}
		rows, err := fanOutRows(found)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fanOut, rows, d.now(), patience); err != nil {
			return err
		}
		done = len(found)
		return nil
	})
	if refers(err, "delivery_subscription_id_fkey") {
		return 0, nil // a subscription was deleted at the same moment; the next call does not find it
	}
	return done, err
}

// fanOutRows are the messages as the argument of fanOut.
func fanOutRows(found []dueMessage) ([]byte, error) {
	type row struct {
		ID         string            `json:"id"`
		Seq        int64             `json:"seq"`
		Project    string            `json:"project"`
		Audience   string            `json:"audience"`
		API        string            `json:"api"`
		Tx         string            `json:"tx"`
		Attributes notify.Attributes `json:"attributes"`
		Own        json.RawMessage   `json:"own,omitempty"`
		Keys       []uuid.UUID       `json:"keys"`
	}
	rows := make([]row, len(found))
	for n := range found {
		m := &found[n]
		attributes, err := m.attributes()
		if err != nil {
			return nil, err
		}
		rows[n] = row{
			m.ID, m.Seq, m.Project, m.Audience, m.API, m.Tx, attributes, m.OfProjects, attributes.Keys(m.API),
		}
	}
	return json.Marshal(rows)
}
