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
	completeEntry      = unhurried + `UPDATE audit SET status = $2, error = $3, took_ms = $4, resources = $5 FROM s
		WHERE id = $1`
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

// CompleteAudit writes the outcome of an entry: status, error, duration and resources.
func (s *Store) CompleteAudit(ctx context.Context, e *lcm.AuditEntry) error {
	_, err := s.pool.Exec(ctx, completeEntry, e.ID, e.Status, clean(e.Error), e.Took.Milliseconds(),
		append([]string{}, e.Resources...))
	return fault("complete the audit trail", err)
}

// Audit reads the audit trail of the project, newest first.
func (s *Records) Audit(ctx context.Context, q lcm.AuditQuery) ([]lcm.AuditEntry, error) {
	var c listClause
	where := []string{"project = " + c.place(s.project)}
	restrict := func(set bool, condition string, value any) {
		if set {
			where = append(where, condition+c.place(value))
		}
	}
	restrict(q.Before > 0, "id < ", q.Before)
	restrict(!q.Since.IsZero(), "time >= ", q.Since)
	restrict(!q.Until.IsZero(), "time < ", q.Until)
	restrict(q.Subject != "", "subject = ", clean(q.Subject))
	restrict(q.Method != "", "method = ", clean(q.Method))
	restrict(len(q.Resources) > 0, "resources @> ", q.Resources)
	type row struct {
		ID        int64     `db:"id"`
		Time      time.Time `db:"time"`
		Project   string    `db:"project"`
		Subject   string    `db:"subject"`
		Role      string    `db:"role"`
		Mode      string    `db:"mode"`
		Remote    string    `db:"remote"`
		RequestID string    `db:"request_id"`
		Method    string    `db:"method"`
		Route     string    `db:"route"`
		Path      string    `db:"path"`
		Resources []string  `db:"resources"`
		Status    int       `db:"status"`
		Error     string    `db:"error"`
		TookMS    int64     `db:"took_ms"`
		Node      string    `db:"node"`
	}
	rows, err := all[row](s.pool.Query(ctx, `SELECT id, time, project, subject, role, mode, remote, request_id, method,
		route, path, resources, coalesce(status, 0) AS status, error, coalesce(took_ms, 0)::bigint AS took_ms, node
		FROM audit WHERE `+strings.Join(where, " AND ")+" ORDER BY id DESC"+limit(q.Limit), c.args...))
	if err != nil {
		return nil, fault("read the audit trail", err)
	}
	out := make([]lcm.AuditEntry, len(rows))
	for n, r := range rows {
		out[n] = lcm.AuditEntry{
			ID: r.ID, Time: r.Time.UTC(),
			Principal: lcm.Principal{Subject: r.Subject, Project: r.Project, Role: lcm.Role(r.Role), Mode: r.Mode},
			Remote:    r.Remote, RequestID: r.RequestID, Method: r.Method, Route: r.Route, Path: r.Path,
			Resources: r.Resources, Status: r.Status, Error: r.Error, Took: time.Duration(r.TookMS) * time.Millisecond,
			Node: r.Node,
		}
	}
	return out, nil
}

// PruneAudit deletes entries of the audit trail that are older than age, at most limit of them, and returns how many.
func (s *Store) PruneAudit(ctx context.Context, age time.Duration, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM audit WHERE id IN (
		SELECT id FROM audit WHERE time < now() - $1::interval ORDER BY time LIMIT $2)`, age, limit)
	return tag.RowsAffected(), fault("prune the audit trail", err)
}
