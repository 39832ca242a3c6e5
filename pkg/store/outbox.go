package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// messages describes the part of outbox that comes from a message.
var messages = table[lcm.Message]{
	name: "outbox", alias: "m", id: func(m *lcm.Message) string { return m.ID },
	columns: []column[lcm.Message]{
		text("id", func(m *lcm.Message) *string { return &m.ID }),
		text("kind", func(m *lcm.Message) *string { return &m.Kind }),
		maybeText("instance_id", func(m *lcm.Message) *string { return &m.InstanceID }),
		maybeText("op_id", func(m *lcm.Message) *string { return &m.OperationID }),
		instant("time", func(m *lcm.Message) *time.Time { return &m.Time }),
		rawDocument("body", func(m *lcm.Message) *json.RawMessage { return &m.Body }),
	},
}

// The values of an instance that filters of subscriptions match: its columns, and those of outbox.
var (
	messageColumns = []string{"vnfd_id", "provider", "product_name", "software_version", "vnfd_version", "name"}
	filterColumns  = "vnfd_id, provider, product_name, software_version, vnfd_version, instance_name"
)

// putMessages adds the messages m of the FROM list to the outbox, with the values that filters of subscriptions match.
// value gives the expression of one of messageColumns, op has the operation.
func putMessages(from string, value func(column string) string, op, project string) string {
	columns := messages.inserted()
	values := make([]string, len(messageColumns))
	for n, column := range messageColumns {
		values[n] = value(column)
	}
	return "INSERT INTO outbox (" + strings.Join(columns, ", ") + ", " + filterColumns +
		", operation, operation_state, project) SELECT m." + strings.Join(columns, ", m.") + ", " +
		strings.Join(values, ", ") + ", " + op + ".type, " + op + ".state, " + project + " FROM " + from +
		" ORDER BY m.ordinality"
}

// insertMessages looks each row up by its key: PostgreSQL does not know that there are few messages.
var insertMessages = putMessages(
	messages.rows(1)+" m LEFT JOIN LATERAL (SELECT * FROM vnf_instance WHERE id = m.instance_id LIMIT 1) i ON true"+
		" LEFT JOIN LATERAL (SELECT * FROM vnf_lcm_op_occ WHERE id = m.op_id LIMIT 1) o ON true",
	func(column string) string { return "i." + column }, "o",
	"coalesce(i.project, o.project, '"+lcm.DefaultProject+"')",
)

// queueMessages adds notifications to the outbox; sent is what messages.records has made of them. It reads the values
// for filters from the rows of the instance and the operation, so these MUST be written before, or deleted afterwards.
func queueMessages(b *pgx.Batch, sent []byte) { b.Queue(insertMessages, sent) }

// PruneMessages deletes messages of the outbox that are older than age, at most limit of them, and returns how many. It
// keeps those that were not fanned out and those that have a delivery.
func (s *Store) PruneMessages(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM outbox WHERE id IN (
		SELECT id FROM outbox m WHERE time < now() - $1::interval AND fanned_out IS NOT NULL
			AND NOT EXISTS (SELECT FROM delivery d WHERE d.message_id = m.id) LIMIT $2)`, age, limit)
	return tag.RowsAffected(), fault("prune messages", err)
}
