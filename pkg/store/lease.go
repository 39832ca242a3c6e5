package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Lease implements lcm.Records. Times are the database's.
func (s *Records) Lease(ctx context.Context, id, purpose string) (*lcm.Lease, error) {
	if !known(id) {
		return nil, notFound("VNF instance", id)
	}
	l := &lcm.Lease{Token: uuid.NewString()}
	err := s.inTx(ctx, "lease instance", func(tx pgx.Tx) (err error) {
		if l.Instance, err = s.instance(ctx, tx, id, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		if err := s.requireFree(ctx, tx, id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO instance_lease (instance_id, token, purpose, expires) VALUES ($1, $2, $3, clock_timestamp() + $4)
			ON CONFLICT (instance_id) DO UPDATE SET token = $2, purpose = $3, expires = clock_timestamp() + $4`, id, l.Token, purpose, lcm.LeaseTime)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// RenewLease implements lcm.Records.
func (s *Records) RenewLease(ctx context.Context, l *lcm.Lease) error {
	tag, err := s.pool.Exec(ctx, `UPDATE instance_lease SET expires = clock_timestamp() + $3
		WHERE instance_id = $1 AND token = $2 AND expires > clock_timestamp()`, l.Instance.ID, l.Token, lcm.LeaseTime)
	if err == nil && tag.RowsAffected() == 0 {
		return lcm.LeaseLost(l.Instance.ID)
	}
	return fault("renew lease", err)
}

// EndLease implements lcm.Records.
func (s *Records) EndLease(ctx context.Context, l *lcm.Lease, change func(*lcm.Instance)) error {
	return s.inTx(ctx, "end lease", func(tx pgx.Tx) error {
		i, err := s.instance(ctx, tx, l.Instance.ID, "FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		tag, err := tx.Exec(
			ctx, "DELETE FROM instance_lease WHERE instance_id = $1 AND token = $2 AND expires > clock_timestamp()",
			i.ID, l.Token,
		)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return lcm.LeaseLost(i.ID)
		}
		if change == nil {
			return nil
		}
		change(i)
		return s.storeInstance(ctx, tx, i, nil)
	})
}

// requireFree returns CodeConflict, naming the active operation of the instance or the request that has leased it, if
// there is one. The caller has locked the instance, and so has every transaction that makes an operation active or
// takes a lease, so the answer stays true.
func (s *Store) requireFree(ctx context.Context, tx pgx.Tx, instanceID string) error {
	var busy error
	b := &pgx.Batch{}
	queueBusy(b, instanceID, &busy)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	return busy
}

// queueBusy stores what requireFree returns in busy.
func queueBusy(b *pgx.Batch, instanceID string, busy *error) {
	type row struct {
		ID      *string    `db:"id"`
		Type    *string    `db:"type"`
		State   *string    `db:"state"`
		Purpose *string    `db:"purpose"`
		Expires *time.Time `db:"expires"`
	}
	b.Queue(`
		SELECT id, type, state, NULL AS purpose, NULL::timestamptz AS expires FROM vnf_lcm_op_occ WHERE instance_id = $1 AND state IN `+active+`
		UNION ALL
		SELECT NULL, NULL, NULL, purpose, expires FROM instance_lease WHERE instance_id = $1 AND expires > clock_timestamp()
		LIMIT 1`, instanceID).Query(func(rows pgx.Rows) error {
		found, err := all[row](rows, nil)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			*busy = nil
		case found[0].ID != nil:
			*busy = lcm.ActiveConflict(
				*found[0].ID, sol.LcmOperationType(*found[0].Type), sol.LcmOperationStateType(*found[0].State),
			)
		default:
			*busy = lcm.LeaseConflict(instanceID, *found[0].Purpose, *found[0].Expires)
		}
		return nil
	})
}
