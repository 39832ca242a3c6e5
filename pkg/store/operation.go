package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Operation implements lcm.Records.
func (s *Records) Operation(ctx context.Context, id string) (*lcm.Operation, error) {
	if !known(id) {
		return nil, notFound("operation", id)
	}
	o, err := s.operation(ctx, s.pool, id, "")
	return o, fault("read operation", err)
}

func (s *Records) operation(ctx context.Context, q querier, id, lock string) (*lcm.Operation, error) {
	rows, err := q.Query(
		ctx,
		"SELECT "+operationColumns.list+" FROM vnf_lcm_op_occ o WHERE o.id = $1 AND o.project = $2 "+lock,
		id, s.project,
	)
	o, err := operationColumns.one(s.Store, rows, err)
	return o, orNotFound(err, "operation", id)
}

// Operations implements lcm.Records: oldest first, by start and id.
func (s *Records) Operations(ctx context.Context, q lcm.Query) ([]*lcm.Operation, error) {
	columns := operationColumns
	if q.Brief {
		columns = operationBrief
	}
	c, ok := s.operationList(q)
	if !ok {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, "SELECT "+columns.list+c.rows(), c.args...)
	out, err := columns.collect(s.Store, rows, err)
	return out, fault("list operations", err)
}

// operationList makes the list of a query; false when nothing can match. It is one statement per kind of list: each has
// its index, and the plan does not depend on the arguments.
func (s *Records) operationList(q lcm.Query) (listClause, bool) {
	if q.After != "" && !known(q.After) || q.InstanceID != "" && !known(q.InstanceID) {
		return listClause{}, false
	}
	var c listClause
	c.from = " FROM vnf_lcm_op_occ o WHERE o.project = " + c.place(s.project)
	if q.After != "" {
		c.from += " AND (o.started, o.id) > (SELECT a.started, a.id FROM vnf_lcm_op_occ a" +
			" WHERE a.project = $1 AND a.id = " + c.place(q.After) + ")"
	}
	if q.InstanceID != "" {
		c.from += " AND o.instance_id = " + c.place(q.InstanceID)
	}
	if len(q.States) > 0 { // no argument: states differ in how many operations have them
		there := knownStates(q.States)
		if len(there) == 0 {
			return listClause{}, false
		}
		c.from += " AND o.state IN " + sqlList(there)
	}
	if !c.where(q.Where, operationFilter, lcm.OperationColumns) {
		return listClause{}, false
	}
	c.order, c.limit = " ORDER BY o.started, o.id", limit(q.Limit)
	return c, true
}

// admission is the statement that inserts an operation with its job. Its arguments are the columns, the project and the
// id.
func admission(jobs Queue) string {
	project := len(operations.inserted()) + 1
	kind := OperationJobs
	kind.Share = shareOf(operations.argument("vim_key")+"::text", place(project)+"::text")
	return "WITH job AS (" + jobs.Insert(kind, place(project+1), kind.QueueOf(false)) + ") " +
		operations.insert("project", "job_id = (SELECT id FROM job)")
}

// knownStates are the given states that there are, in the order of the program. The others, which clients can send,
// match nothing.
func knownStates(given []sol.LcmOperationStateType) (out []sol.LcmOperationStateType) {
	for _, s := range slices.Concat(lcm.ActiveStates, lcm.FinalStates) {
		if slices.Contains(given, s) {
			out = append(out, s)
		}
	}
	return out
}

// Admit implements lcm.Records.
func (s *Records) Admit(
	ctx context.Context, op *lcm.Operation, m []lcm.Message, check func(*lcm.Instance) error,
) error {
	if !known(op.InstanceID) {
		return notFound("VNF instance", op.InstanceID)
	}
	var locked []*lcm.Instance
	var busy error
	err := s.inTwoTrips(ctx, "admit operation", func(b *pgx.Batch) {
		b.Queue("SELECT "+instanceColumns.list+
			" FROM vnf_instance i WHERE i.id = $1 AND i.project = $2 FOR NO KEY UPDATE", op.InstanceID, s.project).
			Query(instanceColumns.into(s.Store, &locked))
		queueBusy(b, op.InstanceID, &busy) // a statement of its own: it sees what was committed before the lock
	}, func(b *pgx.Batch) error {
		switch {
		case len(locked) == 0:
			return notFound("VNF instance", op.InstanceID)
		case busy != nil:
			return busy
		}
		i := locked[0]
		if err := check(i); err != nil {
			return err
		}
		r, err := operations.encode(s.Store, op, operations.every)
		if err != nil {
			return err
		}
		ir, err := instances.encode(s.Store, i, instances.every)
		if err != nil {
			return err
		}
		sent, err := messages.records(s.Store, m)
		if err != nil {
			return err
		}
		s.queueRequestKey(ctx, b, op.ID)
		if err := s.queueSnapshotUse(b, op); err != nil {
			return err
		}
		s.queueQuota(b, s.project, quotaOperations, 1, s.quotaOf(s.project).Operations)
		b.Queue(s.admission(), operations.inserts(r, s.project, op.ID)...)
		queueInstance(b, i, ir)
		s.queueEvent(b, KindOperationState, op.InstanceID, op.ID, operationBody(op))
		queueMessages(b, sent)
		return nil
	})
	if err == nil {
		s.jobs.Added(OperationJobs)
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == stateSnapshot {
		return lcm.SnapshotChanged(op.SnapshotID())
	}
	if refers(err, "vnf_lcm_op_occ_new_pkg") {
		return noPackage(op.VnfPkgID)
	}
	if violates(err, "vnf_lcm_op_occ_active") {
		// Cannot happen while every transaction locks the instance first; the index makes sure.
		return lcm.Errorf(
			lcm.CodeConflict, "another operation of VNF instance %s was accepted at the same time", op.InstanceID,
		)
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok && e.Code == lcm.CodeUnavailable && s.admitted(ctx, op.ID) {
		return nil // only the answer to the commit was lost
	}
	return err
}

// admitted reports whether an operation is there for sure.
func (s *Store) admitted(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var there bool
	err := s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1)", id).Scan(&there)
	return err == nil && there
}

var steerOperation = `UPDATE vnf_lcm_op_occ o
	SET epoch = epoch + 1, version = version + 1, updated = now(), job_id = $3, actions = $4, ` + ending("$2") + `, ` +
	operations.set(5) + `
	WHERE id = $1 RETURNING epoch, version, updated`

// Steer implements lcm.Records.
func (s *Records) Steer(
	ctx context.Context, id string, change func(*lcm.Operation, *lcm.Protection) ([]lcm.Message, error),
) (*lcm.Operation, error) {
	if !known(id) {
		return nil, notFound("operation", id)
	}
	var op *lcm.Operation
	err := s.inTx(ctx, "steer operation", func(tx pgx.Tx) error {
		var err error
		if op, err = s.operation(ctx, tx, id, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		protection, err := s.lockProtection(ctx, tx, op.InstanceID)
		if err != nil {
			return err
		}
		m, err := change(op, protection)
		if err != nil {
			return err
		}
		r, err := operations.encode(s.Store, op, operations.changing)
		if err != nil {
			return err
		}
		sent, err := messages.records(s.Store, m)
		if err != nil {
			return err
		}
		actions, err := jsonb(op.Actions)
		if err != nil {
			return err
		}
		var job *int64
		if lcm.Running(op.State) {
			n, err := s.addJob(ctx, tx, OperationJobs, id, op.Cancel != "")
			if err != nil {
				return err
			}
			job = &n
		}
		b := &pgx.Batch{}
		s.queueRequestKey(ctx, b, id)
		args := append([]any{op.ID, string(op.State), job, actions}, operations.changes(r)...)
		b.Queue(steerOperation, args...).QueryRow(
			func(row pgx.Row) error { return row.Scan(&op.Epoch, &op.Version, &op.Updated) },
		)
		if !lcm.Running(op.State) {
			queueUnfinishedSteps(b, id) // none is open, unless a node of an earlier release has left it
		}
		s.queueEvent(b, KindOperationState, op.InstanceID, op.ID, operationBody(op))
		queueMessages(b, sent)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return nil, err
	}
	if lcm.Running(op.State) {
		s.jobs.Added(OperationJobs)
	}
	op.Updated = op.Updated.UTC()
	return op, nil
}

// Actions implements lcm.Records.
func (s *Records) Actions(ctx context.Context, opIDs []string) (map[string][]lcm.Action, error) {
	type row struct {
		ID      string `db:"id"`
		Actions []byte `db:"actions"`
	}
	rows, err := all[row](s.pool.Query(ctx, `SELECT id::text, actions FROM vnf_lcm_op_occ
		WHERE id = ANY($1) AND project = $2 AND actions IS NOT NULL`, slices.DeleteFunc(
		slices.Clone(opIDs), func(id string) bool { return !known(id) },
	), s.project))
	if err != nil {
		return nil, fault("read actions", err)
	}
	out := make(map[string][]lcm.Action, len(rows))
	for _, r := range rows {
		var actions []lcm.Action
		if err := decode(r.Actions, &actions); err != nil {
			return nil, fault("decode actions", err)
		}
		out[r.ID] = actions
	}
	return out, nil
}

// CountActive counts the operations that hold an instance, by state.
func (s *Store) CountActive(ctx context.Context) (map[string]float64, error) {
	type row struct {
		State string  `db:"state"`
		Count float64 `db:"count"`
	}
	rows, err := all[row](s.pool.Query(
		ctx, "SELECT state, count(*)::float8 AS count FROM vnf_lcm_op_occ WHERE state IN "+active+" GROUP BY state",
	))
	if err != nil {
		return nil, fault("count operations", err)
	}
	out := make(map[string]float64, len(rows))
	for _, r := range rows {
		out[r.State] = r.Count
	}
	return out, nil
}

// texts converts values of a named type.
func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for n, s := range in {
		out[n] = string(s)
	}
	return out
}
