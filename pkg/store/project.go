package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// ProjectUse is a project that has resources, with their numbers.
type ProjectUse struct {
	Project    string `db:"project" json:"project"`
	Instances  int64  `db:"instances" json:"instances"`
	Operations int64  `db:"operations" json:"operations"`
	Running    int64  `db:"running" json:"running"` // operations that nodes work on
	Packages   int64  `db:"packages" json:"packages"`
	Vims       int64  `db:"vims" json:"vims"`
}

// Projects lists the projects that have resources, by name.
func (s *Store) Projects(ctx context.Context) ([]ProjectUse, error) {
	out, err := all[ProjectUse](s.pool.Query(ctx, `SELECT project, sum(i)::bigint AS instances,
			sum(o)::bigint AS operations, sum(r)::bigint AS running, sum(p)::bigint AS packages, sum(v)::bigint AS vims
		FROM (SELECT project, count(*) AS i, 0 AS o, 0 AS r, 0 AS p, 0 AS v FROM vnf_instance GROUP BY project
			UNION ALL SELECT project, 0, count(*), count(*) FILTER (WHERE state IN `+running+`), 0, 0
				FROM vnf_lcm_op_occ GROUP BY project
			UNION ALL SELECT project, 0, 0, 0, count(*), 0 FROM vnf_package GROUP BY project
			UNION ALL SELECT project, 0, 0, 0, 0, count(*) FROM vim GROUP BY project) t
		GROUP BY project ORDER BY project`))
	return out, fault("list projects", err)
}

// Move is the resources of one project that become those of another.
type Move struct {
	From, To string
	// By names the person for the audit trail, Node the machine.
	By, Node string
}

// Moved says how many rows a move has changed.
type Moved struct {
	Instances  int64 `json:"instances"`
	Operations int64 `json:"operations"`
	Packages   int64 `json:"packages"`
	Vims       int64 `json:"vims"`
	Events     int64 `json:"events"`
	// SecondDefault is a VIM that is not the default any more, because the other project has one; "" for none.
	SecondDefault string `json:"formerDefaultVim,omitempty"`
	// Left are resources that requests created in the meantime.
	Left bool `json:"left"`
}

// moveLock bounds the wait for requests and ticks that write.
const moveLock = "5s"

// MoveProject gives all resources of a project to another one: instances, operations, packages, VIMs, subscriptions and
// messages in one transaction, then the events in batches. The same move can be repeated, also after a part of it. It
// is CodeConflict while nodes work on resources of the project, or if a name is used in both projects.
//
// The audit trail stays: its entries say in which project a user acted. The move itself is an entry in both.
func (s *Store) MoveProject(ctx context.Context, m Move) (Moved, error) {
	var out Moved
	err := s.inTx(ctx, "move the resources of a project", func(tx pgx.Tx) (err error) {
		out, err = moveResources(ctx, tx, m)
		return err
	})
	if err != nil {
		return Moved{}, err
	}
	if out.Events, err = s.moveEvents(ctx, m); err != nil {
		return out, err
	}
	out.Left, err = value[bool](s.pool.Query(ctx, `SELECT EXISTS (SELECT FROM vnf_instance WHERE project = $1) OR
		EXISTS (SELECT FROM vnf_lcm_op_occ WHERE project = $1) OR EXISTS (SELECT FROM vim WHERE project = $1) OR
		EXISTS (SELECT FROM vnf_package WHERE project = $1) OR
		EXISTS (SELECT FROM vnf_snapshot WHERE project = $1)`, m.From))
	return out, fault("look for resources that are left", err)
}

// moveResources changes everything but events. No other transaction writes to these tables until it ends, so none adds
// a resource that refers to one of the other project.
func moveResources(ctx context.Context, tx pgx.Tx, m Move) (out Moved, err error) {
	if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+moveLock+"'"); err != nil {
		return out, err
	}
	if _, err := tx.Exec(ctx, `LOCK TABLE vnf_lcm_op_occ, vnf_instance, vnf_package, vim, vnf_snapshot, subscription,
		subscription_key, outbox
		IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return out, err
	}
	if err := checkMove(ctx, tx, m); err != nil {
		return out, err
	}
	rows, err := tx.Query(ctx, `SELECT name FROM vim WHERE project = $1 AND is_default
		AND EXISTS (SELECT FROM vim WHERE project = $2 AND is_default)`, m.From, m.To)
	if err != nil {
		return out, err
	}
	former, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return out, err
	}
	out.SecondDefault = strings.Join(former, "")
	if _, err := tx.Exec(ctx, `DELETE FROM request_key a USING request_key b WHERE a.project = $1 AND b.project = $2
		AND a.subject = b.subject AND a.key = b.key`, m.From, m.To); err != nil {
		return out, err
	}
	for _, part := range []struct {
		set   string
		moved *int64
	}{
		{"vnf_instance SET project = $2", &out.Instances},
		{"vnf_lcm_op_occ SET project = $2", &out.Operations},
		{"vnf_package SET project = $2", &out.Packages},
		{"vim SET project = $2, is_default = is_default AND NOT EXISTS (SELECT FROM vim d WHERE d.project = $2 AND " +
			"d.is_default)", &out.Vims},
		{"vnf_snapshot SET project = $2", nil},
		{"subscription SET project = $2", nil},
		{"subscription_key SET project = $2", nil},
		{"outbox SET project = $2", nil},
		{"request_key SET project = $2", nil},
	} {
		tag, err := tx.Exec(ctx, "UPDATE "+part.set+" WHERE project = $1", m.From, m.To)
		if err != nil {
			return out, err
		}
		if part.moved != nil {
			*part.moved = tag.RowsAffected()
		}
	}
	if out.Instances+out.Operations+out.Packages+out.Vims == 0 {
		return out, nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO audit (project, subject, role, mode, remote, request_id, method, route, path, node,
		status) SELECT p, $3, $4, 'local', '', '', 'MOVE', 'gybe project move', $5, $6, 200 FROM unnest(ARRAY[$1, $2]) p`,
		m.From, m.To, clean(m.By), string(lcm.RoleAdmin), m.From+" to "+m.To, m.Node)
	return out, err
}

// checkMove rejects a move while something works on resources of the project, and one that would give two resources
// the same name.
func checkMove(ctx context.Context, tx pgx.Tx, m Move) error {
	for _, check := range []struct{ busy, sql, hint string }{
		{
			"operations run", `SELECT id::text FROM vnf_lcm_op_occ WHERE project = $1 AND $2 <> ''
				AND state IN ` + running, "wait for them, or cancel them",
		}, {
			"packages are uploaded or processed", `SELECT id::text FROM vnf_package WHERE project = $1 AND $2 <> ''
				AND onboarding_state IN ('UPLOADING', 'PROCESSING')`, "wait, or delete the packages",
		}, {
			"requests work on instances", `SELECT i.id::text FROM vnf_instance i JOIN instance_lease l ON
				l.instance_id = i.id WHERE i.project = $1 AND $2 <> '' AND l.expires > now()`, "wait a moment",
		}, {
			"requests delete snapshots", `SELECT id::text FROM vnf_snapshot WHERE project = $1 AND $2 <> ''
				AND deleting > now()`, "wait a moment",
		}, {
			"both projects have a package with the same vnfdId", `SELECT a.vnfd_id FROM vnf_package a JOIN vnf_package b
				ON a.vnfd_id = b.vnfd_id WHERE a.project = $1 AND b.project = $2`, "delete one of the packages",
		}, {
			"both projects have a VIM with the same name", `SELECT a.name FROM vim a JOIN vim b ON a.name = b.name
				WHERE a.project = $1 AND b.project = $2`, "unregister one of the VIMs, or register it with another name",
		},
	} {
		const shown = 5
		rows, err := tx.Query(ctx, check.sql+" ORDER BY 1 LIMIT $3", m.From, m.To, shown)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return lcm.Errorf(lcm.CodeConflict, "the resources of the project %s cannot be moved to %s: %s (%s)",
				m.From, m.To, check.busy, strings.Join(names, ", ")).WithHint(check.hint + "; nothing was moved")
		}
	}
	return nil
}

// eventBatch bounds the events that one transaction moves.
const eventBatch = 10_000

// moveEvents changes the events, which belong to the history of operations, in their order.
func (s *Store) moveEvents(ctx context.Context, m Move) (moved int64, err error) {
	for at := (Cursor{}); ; {
		var tx *uint64
		var seq *int64
		var n int64
		err := s.inTx(ctx, "move events", func(t pgx.Tx) error {
			return t.QueryRow(ctx, `WITH batch AS (SELECT tx, seq, project FROM event
					WHERE (tx, seq) > ($1::text::xid8, $2) ORDER BY tx, seq LIMIT $3),
				moved AS (UPDATE event e SET project = $5 FROM batch b WHERE b.project = $4 AND e.tx = b.tx
					AND e.seq = b.seq RETURNING 1),
				last AS (SELECT tx, seq FROM batch ORDER BY tx DESC, seq DESC LIMIT 1)
				SELECT (SELECT count(*) FROM moved), (SELECT tx::text::bigint FROM last), (SELECT seq FROM last)`,
				strconv.FormatUint(at.Tx, 10), at.Seq, eventBatch, m.From, m.To).Scan(&n, &tx, &seq)
		})
		if err != nil {
			return moved, err
		}
		moved += n
		if tx == nil || seq == nil {
			return moved, nil
		}
		at = Cursor{Tx: *tx, Seq: *seq}
	}
}
