package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Operation implements lcm.Store.
func (s *Store) Operation(ctx context.Context, id string) (*lcm.Operation, error) {
	if !known(id) {
		return nil, notFound("operation", id)
	}
	o, err := s.operation(ctx, s.pool, id, "")
	return o, fault("read operation", err)
}

func (s *Store) operation(ctx context.Context, q querier, id, lock string) (*lcm.Operation, error) {
	r, err := one[operationRow](q.Query(ctx, "SELECT "+operationColumns+" FROM vnf_lcm_op_occ o WHERE o.id = $1 "+lock, id))
	if err != nil {
		return nil, orNotFound(err, "operation", id)
	}
	return s.decodeOperation(&r)
}

// Operations implements lcm.Store: oldest first, by start and id.
func (s *Store) Operations(ctx context.Context, q lcm.Query) ([]*lcm.Operation, error) {
	if q.After != "" && !known(q.After) || q.InstanceID != "" && !known(q.InstanceID) {
		return nil, nil
	}
	// One statement per kind of list: each has its index, and the plan does not depend on the arguments.
	where, args := "true", []any{limit(q.Limit)}
	arg := func(v any) string {
		args = append(args, v)
		return "$" + string('0'+rune(len(args)))
	}
	if q.After != "" {
		where += " AND (o.started, o.id) > (SELECT a.started, a.id FROM vnf_lcm_op_occ a WHERE a.id = " + arg(q.After) + ")"
	}
	if q.InstanceID != "" {
		where += " AND o.instance_id = " + arg(q.InstanceID)
	}
	if len(q.States) > 0 {
		where += " AND o.state = ANY(" + arg(states(q.States)) + ")"
	}
	columns := operationColumns
	if q.Brief {
		columns = operationBrief
	}
	rows, err := all[operationRow](s.pool.Query(ctx, "SELECT "+columns+
		" FROM vnf_lcm_op_occ o WHERE "+where+" ORDER BY o.started, o.id LIMIT $1", args...))
	if err != nil {
		return nil, fault("list operations", err)
	}
	out := make([]*lcm.Operation, len(rows))
	for n := range rows {
		if out[n], err = s.decodeOperation(&rows[n]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Admit implements lcm.Store.
func (s *Store) Admit(ctx context.Context, op *lcm.Operation, m []lcm.Message, check func(*lcm.Instance) error) error {
	if !known(op.InstanceID) {
		return notFound("VNF instance", op.InstanceID)
	}
	err := s.inTx(ctx, "admit operation", func(tx pgx.Tx) error {
		i, err := s.instance(ctx, tx, op.InstanceID, "FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		if err := s.noActive(ctx, tx, i.ID); err != nil {
			return err
		}
		if err := check(i); err != nil {
			return err
		}
		r, err := s.encodeOperation(op, true)
		if err != nil {
			return err
		}
		ir, err := s.encodeInstance(i)
		if err != nil {
			return err
		}
		job, err := s.jobs.EnqueueAdvance(ctx, tx, op.ID)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		b.Queue(`INSERT INTO vnf_lcm_op_occ (id, instance_id, type, state, state_entered, started, updated, version, automatic,
				params, deadline, granted, changed_info, job_id, tries, scope, before, new_pkg_id, old_pkg_id)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
			r.ID, r.InstanceID, r.Type, r.State, r.StateEntered, r.Started, r.Updated, r.Version, r.Automatic,
			r.Params, r.Deadline, r.Granted, r.ChangedInfo, job, r.Tries, r.Scope, r.Before, r.NewPkgID, r.oldPkgID)
		queueInstance(b, ir)
		queueEvent(b, KindOperationState, r.InstanceID, r.ID, operationBody(op))
		queueMessages(b, m)
		return tx.SendBatch(ctx, b).Close()
	})
	if refers(err, "vnf_lcm_op_occ_new_pkg") {
		return noPackage(op.VnfPkgID)
	}
	if violates(err, "vnf_lcm_op_occ_active") {
		// Cannot happen while everybody locks the instance first; the index is the second net.
		return lcm.Errorf(lcm.CodeConflict, "another operation of VNF instance %s was accepted at the same time", op.InstanceID)
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

// Steer implements lcm.Store.
func (s *Store) Steer(ctx context.Context, id string, change func(*lcm.Operation) ([]lcm.Message, error)) (*lcm.Operation, error) {
	if !known(id) {
		return nil, notFound("operation", id)
	}
	var op *lcm.Operation
	err := s.inTx(ctx, "steer operation", func(tx pgx.Tx) error {
		var err error
		if op, err = s.operation(ctx, tx, id, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		m, err := change(op)
		if err != nil {
			return err
		}
		r, err := s.encodeOperation(op, false)
		if err != nil {
			return err
		}
		var job *int64
		if lcm.Running(op.State) {
			n, err := s.jobs.EnqueueAdvance(ctx, tx, id)
			if err != nil {
				return err
			}
			job = &n
		}
		b := &pgx.Batch{}
		b.Queue(`UPDATE vnf_lcm_op_occ SET epoch = epoch + 1, version = version + 1, updated = now(), state = $2, state_entered = $3,
				phase = $4, run = $5, failed_in = $6, waiting = $7, deadline = $8, error = $9, job_id = $10,
				tries = $11, cancel = $12, `+ending("$2")+`
			WHERE id = $1 RETURNING epoch, version, updated`,
			r.ID, r.State, r.StateEntered, r.Phase, r.Run, r.FailedIn, r.Waiting, r.Deadline, r.Error, job,
			r.Tries, r.Cancel).QueryRow(func(row pgx.Row) error {
			return row.Scan(&op.Epoch, &op.Version, &op.Updated)
		})
		queueEvent(b, KindOperationState, r.InstanceID, r.ID, operationBody(op))
		queueMessages(b, m)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return nil, err
	}
	op.Updated = op.Updated.UTC()
	return op, nil
}
