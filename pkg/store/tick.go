package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Claim implements lcm.Store. It is one round trip, but three statements: the instance must be read after the
// operation's row is locked, or a tick that commits at this moment would be overwritten later.
func (s *Store) Claim(ctx context.Context, opID, node string) (*lcm.Claimed, error) {
	if !known(opID) {
		return nil, notFound("operation", opID)
	}
	var op []operationRow
	var inst []instanceRow
	var phase []phaseRow
	var exists bool
	err := s.pipeline(ctx, "claim operation", func(b *pgx.Batch) {
		b.Queue(`UPDATE vnf_lcm_op_occ o SET epoch = o.epoch + 1, node = $2, updated = now(), version = o.version + 1
			WHERE o.id = $1 AND o.state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK') RETURNING `+operationClaimed, opID, node).
			Query(collect(&op))
		b.Queue("SELECT "+instanceColumns+" FROM vnf_instance i JOIN vnf_lcm_op_occ o ON o.instance_id = i.id WHERE o.id = $1", opID).
			Query(collect(&inst))
		b.Queue("SELECT "+phaseColumns+` FROM lcm_op_phase p JOIN vnf_lcm_op_occ o ON p.op_id = o.id AND p.run = o.run AND p.name = o.phase
			WHERE o.id = $1`, opID).Query(collect(&phase))
		b.Queue("SELECT EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1)", opID).QueryRow(func(row pgx.Row) error { return row.Scan(&exists) })
	})
	switch {
	case err != nil:
		return nil, err
	case !exists:
		return nil, notFound("operation", opID)
	case len(op) == 0:
		return nil, nil //nolint:nilnil // the contract: nothing to do
	case len(inst) == 0:
		return nil, fmt.Errorf("operation %s has no VNF instance", opID)
	}
	c := &lcm.Claimed{}
	var errOp, errInst error
	c.Op, errOp = s.decodeOperation(&op[0])
	c.Instance, errInst = s.decodeInstance(&inst[0])
	if err := errors.Join(errOp, errInst); err != nil {
		return nil, err
	}
	if len(phase) > 0 {
		rec, err := phase[0].record()
		if err != nil {
			return nil, err
		}
		c.Phase = &rec
	}
	return c, nil
}

// collect reads the rows of a pipelined query into out, by column names.
func collect[T any](out *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var err error
		*out, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	}
}

// CommitTick implements lcm.Store, in one round trip. It writes what is new about the operation, its instance and phases
// back into t (version, updated).
func (s *Store) CommitTick(ctx context.Context, c lcm.Claim, t lcm.Tick) error {
	op, err := s.encodeOperation(t.Op, false)
	if err != nil {
		return err
	}
	var inst *instanceRow
	if t.Instance != nil {
		if inst, err = s.encodeInstance(t.Instance); err != nil {
			return err
		}
	}
	phases := make([]phaseRow, len(t.Phases))
	for n, rec := range t.Phases {
		if phases[n], err = encodePhase(c.OperationID, op.Run, rec); err != nil {
			return err
		}
	}
	vims := make([]vimRow, len(t.Effects.RegisterVims))
	for n, v := range t.Effects.RegisterVims {
		if vims[n], err = s.encodeVim(v); err != nil {
			return err
		}
	}
	var opVersion, instVersion int64
	var opUpdated, instUpdated time.Time
	err = s.pipeline(ctx, "commit tick", func(b *pgx.Batch) {
		b.Queue("SELECT gybe_fence($1, $2)", c.OperationID, c.Epoch)
		// Before the state, so that whoever follows the events has seen all phases when the operation comes to rest.
		for _, p := range phases {
			queuePhase(b, op.InstanceID, p)
		}
		b.Queue(`WITH old AS (SELECT id, state FROM vnf_lcm_op_occ WHERE id = $1),
			told AS (INSERT INTO event (kind, instance_id, op_id, body)
				SELECT '`+KindOperationState+`', $15, old.id, $14 FROM old WHERE old.state <> $2)
			UPDATE vnf_lcm_op_occ o SET version = o.version + 1, updated = now(), state = $2, state_entered = $3, phase = $4, run = $5,
				failed_in = $6, waiting = $7, deadline = $8, granted = $9, error = $10, resource_changes = $11,
				changed_info = $12, automatic = $13, cancel = $16, changed_ext_connectivity = $17, modifications = $18, `+ending("$2")+`
			FROM old WHERE o.id = old.id RETURNING o.version, o.updated`,
			op.ID, op.State, op.StateEntered, op.Phase, op.Run, op.FailedIn, op.Waiting, op.Deadline, op.Granted, op.Error,
			op.ResourceChanges, op.ChangedInfo, op.Automatic, operationBody(t.Op), op.InstanceID,
			op.Cancel, op.ChangedExtConnectivity, op.Modifications).
			QueryRow(func(row pgx.Row) error { return row.Scan(&opVersion, &opUpdated) })
		if inst != nil {
			queueInstance(b, inst)
			b.Queue("SELECT version, updated FROM vnf_instance WHERE id = $1", inst.ID).QueryRow(func(row pgx.Row) error {
				return row.Scan(&instVersion, &instUpdated)
			})
		}
		for _, v := range vims {
			queueVim(b, v)
		}
		for _, id := range t.Effects.RemoveVims {
			queueVimRemoval(b, id)
		}
		if gone := t.Effects.ForgetVNFCs; len(gone) > 0 {
			b.Queue("DELETE FROM ssh_host_key WHERE vnfc_id = ANY($1)", gone)
		}
		queueMessages(b, t.Messages)
	})
	if err != nil {
		return err
	}
	t.Op.Version, t.Op.Updated = opVersion, opUpdated.UTC()
	if inst != nil {
		t.Instance.Version, t.Instance.Updated = instVersion, instUpdated.UTC()
	}
	return nil
}

// queueInstance stores an instance if it differs from what is stored, with its event.
func queueInstance(b *pgx.Batch, r *instanceRow) {
	b.Queue(`WITH u AS (UPDATE vnf_instance SET version = version + 1, updated = now(), name = $2, description = $3, vnfd_id = $4, vnf_pkg_id = $5,
				provider = $6, product_name = $7, software_version = $8, vnfd_version = $9, state = $10, holds_resources = $11,
				vim_connections = $12, configurable_properties = $13, metadata = $14, extensions = $15, instantiated = $16,
				inventory = $17, params = $18, former_vims = $19, fingerprint = $20, ssh_key = $22
			WHERE id = $1 AND fingerprint <> $20 RETURNING id)
		INSERT INTO event (kind, instance_id, body) SELECT '`+KindInstanceUpdated+`', id, $21 FROM u`,
		r.ID, r.Name, r.Description, r.VnfdID, r.VnfPkgID, r.Provider, r.ProductName, r.SoftwareVersion, r.VnfdVersion, r.State,
		r.HoldsResources, r.VimConnections, r.ConfigurableProperties, r.Metadata, r.Extensions, r.Instantiated, r.Inventory,
		r.Params, r.FormerVims, r.fingerprint, stateBody(r.State), r.SSHKey)
}
