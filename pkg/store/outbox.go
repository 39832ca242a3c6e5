package store

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// queueMessages adds notifications to the outbox, with the values that filters of subscriptions match. It reads these
// values from the rows of the instance and the operation, so these MUST be written before, or deleted afterwards.
func queueMessages(b *pgx.Batch, m []lcm.Message) {
	for _, msg := range m {
		b.Queue(`INSERT INTO outbox (id, kind, instance_id, op_id, time, body, vnfd_id, provider, product_name, software_version, vnfd_version,
				instance_name, operation, operation_state, project)
			SELECT $1, $2, $3, $4, $5, $6, i.vnfd_id, i.provider, i.product_name, i.software_version, i.vnfd_version, i.name, o.type, o.state,
				coalesce(i.project, o.project, '`+lcm.DefaultProject+`')
			FROM (SELECT) message LEFT JOIN vnf_instance i ON i.id = $3 LEFT JOIN vnf_lcm_op_occ o ON o.id = $4`,
			msg.ID, msg.Kind, maybe(msg.InstanceID), maybe(msg.OperationID), msg.Time, noNUL(msg.Body))
	}
}

// messageColumns are the columns of an instance whose values a message carries.
var messageColumns = []string{"vnfd_id", "provider", "product_name", "software_version", "vnfd_version", "name"}

// putMessages adds notifications about the operation in op to the outbox. value gives the expression of one of
// messageColumns; join is what else it needs beside vnf_instance i. The arguments, those of messageArgs, start at
// first.
func putMessages(first int, value func(column string) string, join string) string {
	values := make([]string, len(messageColumns))
	for n, column := range messageColumns {
		values[n] = value(column)
	}
	return `INSERT INTO outbox (id, kind, time, body, instance_id, op_id, vnfd_id, provider, product_name, software_version, vnfd_version,
			instance_name, operation, operation_state, project)
		SELECT m.id::uuid, m.kind, m.time, m.body::jsonb, op.instance_id, op.id, ` + strings.Join(values,
		", ") + `, op.type, op.state, op.project
		FROM op LEFT JOIN vnf_instance i ON i.id = op.instance_id` + join + `,
			unnest(` + place(first) + `::text[], ` + place(first+1) + `::text[], ` + place(first+2) +
		`::timestamptz[], ` + place(first+3) + `::text[])
				m (id, kind, time, body)`
}

// messageArgs are the arguments of putMessages.
func messageArgs(m []lcm.Message) []any {
	var ids, kinds, bodies []string
	var times []time.Time
	for _, msg := range m {
		ids, kinds = append(ids, msg.ID), append(kinds, msg.Kind)
		times, bodies = append(times, msg.Time), append(bodies, string(noNUL(msg.Body)))
	}
	return []any{ids, kinds, times, bodies}
}

// PruneMessages deletes messages of the outbox that are older than age, at most limit of them, and returns how many. No
// subscription reads them yet.
func (s *Store) PruneMessages(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM outbox WHERE id IN (
		SELECT id FROM outbox WHERE time < now() - $1::interval LIMIT $2)`, age, limit)
	return tag.RowsAffected(), fault("prune messages", err)
}
