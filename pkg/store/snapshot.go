package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// snapshots describes vnf_snapshot.
var snapshots = table[lcm.Snapshot]{
	name: "vnf_snapshot", alias: "n", id: func(n *lcm.Snapshot) string { return n.ID },
	columns: []column[lcm.Snapshot]{
		text("id", func(n *lcm.Snapshot) *string { return &n.ID }, fixed),
		scalar("version", func(n *lcm.Snapshot) *int64 { return &n.Version }, fixed),
		instant("created", func(n *lcm.Snapshot) *time.Time { return &n.Created }, fixed),
		instant("updated", func(n *lcm.Snapshot) *time.Time { return &n.Updated }, fixed),
		maybeText("pkg_id", func(n *lcm.Snapshot) *string { return &n.PkgID }),
		maybeText("op_id", func(n *lcm.Snapshot) *string { return &n.Operation }),
		maybeText("instance_id", func(n *lcm.Snapshot) *string { return &n.InstanceID }),
		instant("started", func(n *lcm.Snapshot) *time.Time { return &n.Started }),
		instant("finished", func(n *lcm.Snapshot) *time.Time { return &n.Finished }),
		sealedDocument("instance", func(n *lcm.Snapshot) **lcm.Instance { return &n.Instance }),
		sealedRaw("user_data", func(n *lcm.Snapshot) *sol.RawPairs { return &n.UserData }),
		document("vnfcs", func(n *lcm.Snapshot) *map[string]lcm.VNFCSnapshot { return &n.VNFCs }, large),
		instant("deleting", func(n *lcm.Snapshot) *time.Time { return &n.Deleting }),
	},
}

var (
	snapshotColumns = snapshots.selected()
	snapshotBrief   = snapshots.selected(large)
	insertSnapshot  = snapshots.insert("project")
)

// stateSnapshot is raised by gybe_use_snapshot.
const stateSnapshot = "GY003"

// kindSnapshot is the word for a snapshot in errors.
const kindSnapshot = "VNF snapshot"

// InsertSnapshot implements lcm.Records.
func (s *Records) InsertSnapshot(ctx context.Context, n *lcm.Snapshot) error {
	r, err := snapshots.encode(s.Store, n, snapshots.every)
	if err != nil {
		return err
	}
	return s.pipeline(ctx, "insert snapshot", func(b *pgx.Batch) {
		s.queueQuota(b, s.project, quotaSnapshots, 1, s.quotaOf(s.project).Snapshots)
		s.queueRequestKey(ctx, b, n.ID)
		b.Queue(insertSnapshot, snapshots.inserts(r, s.project)...)
	})
}

// Snapshot implements lcm.Records.
func (s *Records) Snapshot(ctx context.Context, id string) (*lcm.Snapshot, error) {
	if !known(id) {
		return nil, notFound(kindSnapshot, id)
	}
	n, err := s.snapshot(ctx, s.pool, id, "")
	return n, fault("read snapshot", err)
}

func (s *Records) snapshot(ctx context.Context, q querier, id, lock string) (*lcm.Snapshot, error) {
	rows, err := q.Query(ctx, "SELECT "+snapshotColumns.list+
		" FROM vnf_snapshot n WHERE n.id = $1 AND n.project = $2 "+lock, id, s.project)
	n, err := snapshotColumns.one(s.Store, rows, err)
	return n, orNotFound(err, kindSnapshot, id)
}

// SnapshotDocument implements lcm.Records.
func (s *Records) SnapshotDocument(ctx context.Context, id string) (*lcm.SnapshotDocument, error) {
	n, err := s.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return render.Snapshot(n)
}

// snapshotBatch is how many snapshots of a list are in memory at the same time: each holds an instance.
const snapshotBatch = 10

// SnapshotDocuments implements lcm.Records.
func (s *Records) SnapshotDocuments(ctx context.Context, q lcm.Query) iter.Seq2[*lcm.SnapshotDocument, error] {
	return func(yield func(*lcm.SnapshotDocument, error) bool) {
		for left := q.Limit; ; left -= snapshotBatch {
			q.Limit = snapshotBatch
			if left > 0 {
				q.Limit = min(left, snapshotBatch)
			}
			found, err := s.Snapshots(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, n := range found {
				d, err := render.Snapshot(n)
				if !yield(d, err) || err != nil {
					return
				}
				q.After = n.ID
			}
			if len(found) < q.Limit || left > 0 && left <= snapshotBatch {
				return
			}
		}
	}
}

// SnapshotValidator implements lcm.Records.
func (s *Records) SnapshotValidator(ctx context.Context, id string) (lcm.Validator, error) {
	return s.validator(ctx, "vnf_snapshot", kindSnapshot, id)
}

// Snapshots implements lcm.Records.
func (s *Records) Snapshots(ctx context.Context, q lcm.Query) ([]*lcm.Snapshot, error) {
	if q.After != "" && !known(q.After) || q.InstanceID != "" && !known(q.InstanceID) {
		return nil, nil
	}
	columns := snapshotColumns
	if q.Brief {
		columns = snapshotBrief
	}
	var c listClause
	c.from = " FROM vnf_snapshot n WHERE n.project = " + c.place(s.project)
	if q.After != "" {
		c.from += " AND n.id > " + c.place(q.After)
	}
	if q.InstanceID != "" {
		c.from += " AND n.instance_id = " + c.place(q.InstanceID)
	}
	c.order, c.limit = " ORDER BY n.id", limit(q.Limit)
	rows, err := s.pool.Query(ctx, "SELECT "+columns.list+c.rows(), c.args...)
	out, err := columns.collect(s.Store, rows, err)
	return out, fault("list snapshots", err)
}

// SetSnapshotPkg implements lcm.Records.
func (s *Records) SetSnapshotPkg(
	ctx context.Context, id, pkgID string, ifVersion *int64,
) (n *lcm.Snapshot, err error) {
	err = s.changeSnapshot(ctx, "modify snapshot", id, ifVersion, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE vnf_snapshot SET pkg_id = $2, version = version + 1, updated = now()
			WHERE id = $1`, id, clean(pkgID))
		if err == nil {
			n, err = s.snapshot(ctx, tx, id, "")
		}
		return err
	})
	return n, err
}

// changeSnapshot calls change with the row of a snapshot locked that no request deletes.
func (s *Records) changeSnapshot(
	ctx context.Context, what, id string, ifVersion *int64, change func(tx pgx.Tx) error,
) error {
	if !known(id) {
		return notFound(kindSnapshot, id)
	}
	return s.inTx(ctx, what, func(tx pgx.Tx) error {
		type row struct {
			Version  int64 `db:"version"`
			Deleting bool  `db:"deleting"`
		}
		r, err := one[row](tx.Query(ctx, `SELECT version, coalesce(deleting > clock_timestamp(), false) AS deleting
			FROM vnf_snapshot WHERE id = $1 AND project = $2 FOR UPDATE`, id, s.project))
		switch {
		case err != nil:
			return orNotFound(err, kindSnapshot, id)
		case ifVersion != nil && *ifVersion != r.Version:
			return lcm.Changed(kindSnapshot, id)
		case r.Deleting:
			return lcm.Errorf(lcm.CodeConflict, "another request deletes the VNF snapshot %s", id).
				WithHint("wait until it has ended")
		}
		return change(tx)
	})
}

// BeginSnapshotDeletion implements lcm.Records.
func (s *Records) BeginSnapshotDeletion(
	ctx context.Context, id string, last time.Duration, ifVersion *int64,
) (n *lcm.Snapshot, err error) {
	err = s.changeSnapshot(ctx, "begin the deletion of a snapshot", id, ifVersion, func(tx pgx.Tx) error {
		// Operations with the snapshot are those of its instance: the index of active ones finds them.
		type row struct {
			ID    string                    `db:"id"`
			Type  sol.LcmOperationType      `db:"type"`
			State sol.LcmOperationStateType `db:"state"`
		}
		using, err := all[row](tx.Query(ctx, `SELECT o.id::text, o.type, o.state FROM vnf_lcm_op_occ o
			JOIN vnf_snapshot n ON n.instance_id = o.instance_id WHERE n.id = $1 AND o.state IN `+active+`
			AND o.scope->'snapshot'->>'id' = $1::text`, id))
		if err != nil {
			return err
		}
		if len(using) > 0 {
			return lcm.SnapshotInUse(id, using[0].ID, using[0].Type, using[0].State)
		}
		if _, err := tx.Exec(ctx, `UPDATE vnf_snapshot SET deleting = clock_timestamp() + $2 WHERE id = $1`, id,
			last); err != nil {
			return err
		}
		n, err = s.snapshot(ctx, tx, id, "")
		return err
	})
	return n, err
}

// EndSnapshotDeletion implements lcm.Records.
func (s *Records) EndSnapshotDeletion(ctx context.Context, id string, gone bool) error {
	sql := "UPDATE vnf_snapshot SET deleting = NULL WHERE id = $1 AND project = $2"
	if gone {
		sql = "DELETE FROM vnf_snapshot WHERE id = $1 AND project = $2"
	}
	_, err := s.pool.Exec(ctx, sql, id, s.project)
	return fault("end the deletion of a snapshot", err)
}

// queueSnapshotUse lets an admission fail when the snapshot of its operation has changed since it was read, or is being
// deleted. Until the operation ends, the snapshot is not deleted.
func (s *Records) queueSnapshotUse(b *pgx.Batch, op *lcm.Operation) error {
	id := op.SnapshotID()
	if id == "" {
		return nil
	}
	b.Queue("SELECT gybe_use_snapshot($1, $2, $3)", id, s.project, op.Scope.Snapshot.Version)
	if op.Type != sol.LcmOperationCreateSnapshot {
		return nil
	}
	filled := lcm.Snapshot{ID: id, Instance: op.Before.SnapshotSource()}
	var body struct {
		UserDefinedData json.RawMessage `json:"userDefinedData"`
	}
	if err := json.Unmarshal(op.Params, &body); err != nil {
		return fmt.Errorf("decode the operation's request: %w", err)
	}
	filled.UserData = sol.RawPairs(body.UserDefinedData)
	sealedOnly := func(c column[lcm.Snapshot]) bool { return c.traits.has(sealed) }
	e, err := snapshots.encode(s.Store, &filled, sealedOnly)
	if err != nil {
		return err
	}
	args := []any{id, op.ID, op.InstanceID, op.Started}
	for n, c := range snapshots.columns {
		if sealedOnly(c) {
			args = append(args, e.values[n])
		}
	}
	b.Queue(`UPDATE vnf_snapshot SET version = version + 1, updated = now(), op_id = $2, instance_id = $3, started = $4,
		finished = NULL, vnfcs = NULL, instance = $5, user_data = $6 WHERE id = $1`, args...)
	return nil
}

// snapshotEffect changes the snapshot that an operation fills. Its arguments are the ids of the snapshot and the
// operation, the VNFCs, the end of the operation, and whether the snapshot is empty again.
const snapshotEffect = `UPDATE vnf_snapshot SET
		version = version + CASE WHEN $5::boolean OR $4::timestamptz IS NOT NULL THEN 1 ELSE 0 END, updated = now(),
		vnfcs = CASE WHEN $5 THEN NULL ELSE coalesce(vnfcs, '{}') || $3::jsonb END, finished = $4,
		op_id = CASE WHEN $5 THEN NULL ELSE op_id END, instance_id = CASE WHEN $5 THEN NULL ELSE instance_id END,
		started = CASE WHEN $5 THEN NULL ELSE started END, instance = CASE WHEN $5 THEN NULL ELSE instance END,
		user_data = CASE WHEN $5 THEN NULL ELSE user_data END
	WHERE id = $1 AND op_id = $2`

// encodeSnapshotEffect makes the arguments of snapshotEffect; nil when there is nothing to change.
func encodeSnapshotEffect(t lcm.Tick) ([]any, error) {
	e := t.Effects.Snapshot
	if !e.Changes() || t.Op.SnapshotID() == "" {
		return nil, nil
	}
	if e.VNFCs == nil {
		e.VNFCs = map[string]lcm.VNFCSnapshot{}
	}
	vnfcs, err := jsonb(e.VNFCs)
	if err != nil {
		return nil, err
	}
	var finished any
	if !e.Finished.IsZero() {
		finished = e.Finished
	}
	return []any{t.Op.SnapshotID(), t.Op.ID, vnfcs, finished, e.Release}, nil
}
