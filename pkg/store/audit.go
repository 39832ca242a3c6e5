package store

import (
	"context"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The statements of the audit trail do not wait for the disk: the transaction of the change that follows does, and
// PostgreSQL writes its log in order. If its machine fails, an entry can be lost only with the change, or without its
// outcome. An entry about a secret has no such transaction behind it, so it waits itself.
const (
	unhurried = "WITH s AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) "
	newEntry  = `INSERT INTO audit (project, subject, role, mode, remote, request_id, method, route, path, resources,
		node, status, error, took_ms) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, nullif($12, 0), $13, $14`
	insertEntry        = unhurried + newEntry + " FROM s RETURNING id, time"
	insertDurableEntry = newEntry + " RETURNING id, time"
	completeEntries    = unhurried + `UPDATE audit a SET status = c.status, error = c.error, took_ms = c.took_ms,
		resources = string_to_array(c.resources, ','), count = c.count
		FROM s, unnest($1::bigint[], $2::integer[], $3::text[], $4::bigint[], $5::text[], $6::integer[])
			AS c (id, status, error, took_ms, resources, count)
		WHERE a.id = c.id`
)

// longestPath bounds the path of an entry.
const longestPath = 300

// AddAudit adds an entry to the audit trail and sets its ID and Time. With durable, it returns when the entry cannot be
// lost any more.
func (s *Store) AddAudit(ctx context.Context, e *lcm.AuditEntry, durable bool) error {
	sql := insertEntry
	if durable {
		sql = insertDurableEntry
	}
	p := e.Principal
	err := s.pool.QueryRow(ctx, sql, projectOf(p), clean(p.Subject), string(p.Role), p.Mode, e.Remote,
		clean(e.RequestID), e.Method, e.Route, clean(e.Path[:min(len(e.Path), longestPath)]),
		append([]string{}, e.Resources...), e.Node,
		e.Status, clean(e.Error), e.Took.Milliseconds()).Scan(&e.ID, &e.Time)
	return fault("write the audit trail", err)
}

// CompleteAudit writes the outcomes of entries: status, error, duration, resources and count.
func (s *Store) CompleteAudit(ctx context.Context, entries []*lcm.AuditEntry) error {
	n := len(entries)
	ids, statuses, took, counts := make([]int64, n), make([]int, n), make([]int64, n), make([]int, n)
	errs, resources := make([]string, n), make([]string, n)
	for i, e := range entries {
		ids[i], statuses[i], took[i], counts[i] = e.ID, e.Status, e.Took.Milliseconds(), e.Count
		errs[i], resources[i] = clean(e.Error), strings.Join(e.Resources, ",") // ids
	}
	_, err := s.pool.Exec(ctx, completeEntries, ids, statuses, errs, took, resources, counts)
	return fault("complete the audit trail", err)
}

// PruneAudit deletes entries of the audit trail that are older than age, at most limit of them, and returns how many.
func (s *Store) PruneAudit(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM audit WHERE id IN (
		SELECT id FROM audit WHERE time < now() - $1::interval ORDER BY time LIMIT $2)`, age, limit)
	return tag.RowsAffected(), fault("prune the audit trail", err)
}
