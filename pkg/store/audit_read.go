package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// openTime is how long a reader that follows the audit trail waits for the outcome of an entry.
const openTime = 10 * time.Second

// auditRow is an entry as it is read.
type auditRow struct {
	ID        int64     `db:"id"`
	Tx        uint64    `db:"tx"`
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
	Count     int       `db:"count"`
	Open      bool      `db:"open"`
}

func (r auditRow) cursor() Cursor { return Cursor{Tx: r.Tx, Seq: r.ID} }

func (r auditRow) entry() lcm.AuditEntry {
	return lcm.AuditEntry{
		ID: r.ID, Time: r.Time.UTC(), Cursor: r.cursor().String(),
		Principal: lcm.Principal{Subject: r.Subject, Project: r.Project, Role: lcm.Role(r.Role), Mode: r.Mode},
		Remote:    r.Remote, RequestID: r.RequestID, Method: r.Method, Route: r.Route, Path: r.Path,
		Resources: r.Resources, Status: r.Status, Error: r.Error, Took: time.Duration(r.TookMS) * time.Millisecond,
		Node: r.Node, Count: r.Count,
	}
}

// auditRows reads entries of the project. where has more conditions, and c their arguments.
func (s *Records) auditRows(
	ctx context.Context, q lcm.AuditQuery, c listClause, where []string, order string,
) ([]auditRow, error) {
	restrict := func(set bool, condition string, value any) {
		if set {
			where = append(where, condition+c.place(value))
		}
	}
	restrict(true, "project = ", s.project)
	restrict(q.Before > 0, "id < ", q.Before)
	restrict(!q.Since.IsZero(), "time >= ", q.Since)
	restrict(!q.Until.IsZero(), "time < ", q.Until)
	restrict(q.Subject != "", "subject = ", clean(q.Subject))
	restrict(q.Method != "", "method = ", clean(q.Method))
	restrict(len(q.Resources) > 0, "resources @> ", q.Resources)
	rows, err := all[auditRow](s.pool.Query(ctx, `SELECT id, tx, time, project, subject, role, mode, remote, request_id,
		method, route, path, resources, coalesce(status, 0) AS status, error, coalesce(took_ms, 0)::bigint AS took_ms,
		node, count, status IS NULL AND time > clock_timestamp() - `+c.place(openTime)+`::interval AS open
		FROM audit WHERE `+strings.Join(where, " AND ")+" ORDER BY "+order+limit(q.Limit), c.args...))
	return rows, fault("read the audit trail", err)
}

// Audit reads the audit trail of the project, newest first.
func (s *Records) Audit(ctx context.Context, q lcm.AuditQuery) ([]lcm.AuditEntry, error) {
	rows, err := s.auditRows(ctx, q, listClause{}, nil, "id DESC")
	out := make([]lcm.AuditEntry, len(rows))
	for n, r := range rows {
		out[n] = r.entry()
	}
	return out, err
}

// FollowAudit reads the audit trail of the project behind a place, oldest first: lcm.AuditStart, lcm.AuditEnd, the
// next place of an earlier call or the cursor of an entry. It returns an entry when it has its outcome, or is older
// than ten seconds, and when no older transaction can add one before it. So a reader that goes on at the place that is
// returned gets each entry once.
func (s *Records) FollowAudit(
	ctx context.Context, after string, q lcm.AuditQuery,
) (entries []lcm.AuditEntry, next string, err error) {
	both, err := readHorizons(ctx, s.pool)
	if err != nil {
		return nil, "", err
	}
	end := Cursor{Tx: uint64(both.database)}
	if after == lcm.AuditEnd {
		return nil, end.String(), nil
	}
	at, err := ParseCursor(after)
	if err != nil {
		return nil, "", lcm.Errorf(lcm.CodeInvalid, "after is %.40q, which is not a cursor of an entry", clean(after))
	}
	if !end.After(at) {
		return nil, at.String(), nil
	}
	var c listClause
	where := []string{
		"(tx, id) > (" + c.place(strconv.FormatUint(at.Tx, 10)) + "::text::xid8, " + c.place(at.Seq) + ")",
		"tx < " + c.place(both.database.String()) + "::text::xid8",
	}
	rows, err := s.auditRows(ctx, q, c, where, "tx, id")
	if err != nil {
		return nil, "", err
	}
	for _, r := range rows {
		if r.Open {
			return entries, at.String(), nil
		}
		entries, at = append(entries, r.entry()), r.cursor()
	}
	if len(rows) < q.Limit {
		at = end
	}
	return entries, at.String(), nil
}
