package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Claim implements lcm.Ledger. It is one round trip, but three statements: the instance must be read after the
// operation's row is locked, or a tick that commits at this moment would be overwritten later.
func (s *Store) Claim(ctx context.Context, opID, node string) (*lcm.Claimed, error) {
	if !known(opID) {
		return nil, notFound("operation", opID)
	}
	var op []*lcm.Operation
	var inst []*lcm.Instance
	var phase []*lcm.PhaseRecord
	var changed []*lcm.Vim
	var exists bool
	err := s.read(ctx, "claim operation", func(b *pgx.Batch) {
		// Nothing that is rendered changes.
		b.Queue(`UPDATE vnf_lcm_op_occ o SET epoch = o.epoch + 1, node = $2, updated = now(), version = o.version + 1,
				rendered_version = o.rendered_version + 1
			WHERE o.id = $1 AND o.state IN `+running+` RETURNING `+operationClaimed.list, opID, node).
			Query(operationClaimed.into(s, &op))
		b.Queue("SELECT "+instanceClaimed.list+
			" FROM vnf_instance i JOIN vnf_lcm_op_occ o ON o.instance_id = i.id WHERE o.id = $1", opID).
			Query(instanceClaimed.into(s, &inst))
		b.Queue("SELECT "+phaseColumns.list+` FROM lcm_op_phase p
			JOIN vnf_lcm_op_occ o ON p.op_id = o.id AND p.run = o.run AND p.name = o.phase
			WHERE o.id = $1`, opID).Query(phaseColumns.into(s, &phase))
		b.Queue("SELECT "+vimColumns.list+` FROM vim v JOIN vnf_lcm_op_occ o ON o.project = v.project
			WHERE o.id = $1 AND v.previous IS NOT NULL`, opID).Query(vimColumns.into(s, &changed))
		b.Queue("SELECT EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1)", opID).QueryRow(
			func(row pgx.Row) error { return row.Scan(&exists) },
		)
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
	c := &lcm.Claimed{Op: op[0], Instance: inst[0]}
	if len(phase) > 0 {
		c.Phase = phase[0]
	}
	c.Renewed = c.Instance.Renew(valuesOf(changed))
	if c.Op.Before != nil {
		c.Op.Before.Renew(valuesOf(changed)) // a rollback leads back to it
	}
	return c, fault("read the cluster of the instance", s.follow(ctx, c))
}

// follow gives an instance the present credentials of the clusters that other instances have made, and finds out
// whether its own is gone.
func (s *Store) follow(ctx context.Context, c *lcm.Claimed) error {
	clusters, err := s.clustersOf(ctx, s.pool, c.Instance)
	if err != nil {
		return err
	}
	c.Renewed = append(c.Renewed, c.Instance.Renew(clusters)...)
	if c.Op.Before != nil {
		c.Op.Before.Renew(clusters)
	}
	owner := c.Instance.ClusterOwner()
	if owner == "" || slices.ContainsFunc(clusters, func(v lcm.Vim) bool { return v.Owner == owner }) {
		return nil
	}
	// While a cluster is healed as a whole it is not registered, and its instance is still INSTANTIATED.
	exists, err := value[bool](s.pool.Query(
		ctx, "SELECT EXISTS (SELECT FROM vnf_instance WHERE id::text = $1 AND state = $2)", owner,
		sol.InstantiationStateInstantiated,
	))
	if err == nil && !exists {
		c.ClusterGone = owner
	}
	return err
}

// CommitTick implements lcm.Ledger, in one round trip and normally one statement. It writes what is new about the
// operation and its instance back into t (version, updated).
func (s *Store) CommitTick(ctx context.Context, c lcm.Claim, t lcm.Tick) error {
	register := make([]encoded, len(t.Effects.RegisterVims))
	for n, v := range t.Effects.RegisterVims {
		var err error
		v.Default = false
		if register[n], err = vims.encode(s, &v, vims.every); err != nil {
			return err
		}
	}
	w, err := s.encodeTick(c, t)
	if err != nil {
		return err
	}
	var got tickResult
	snapshot, err := encodeSnapshotEffect(t)
	if err != nil {
		return err
	}
	others := len(register)+len(t.Effects.RemoveVims)+len(t.Effects.ForgetVNFCs) > 0 || snapshot != nil ||
		t.Effects.Share
	err = s.pipeline(ctx, "commit tick", func(b *pgx.Batch) {
		if others { // they do not check the claim themselves
			b.Queue("SELECT gybe_fence($1, $2)", c.OperationID, c.Epoch)
		}
		b.Queue(w.sql, w.args...).Query(func(rows pgx.Rows) (err error) {
			got, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[tickResult])
			return err
		})
		for n, v := range register {
			queueVim(b, &t.Effects.RegisterVims[n], v)
		}
		for _, id := range t.Effects.RemoveVims {
			queueVimRemoval(b, id, "")
		}
		queueHostKeyRemoval(b, t.Op.InstanceID, t.Effects.ForgetVNFCs)
		if snapshot != nil {
			b.Queue(snapshotEffect, snapshot...)
		}
		if t.Effects.Share {
			b.Queue(s.jobs.Move(OperationJobs, "$1"), c.OperationID)
		}
	})
	if err != nil {
		return orFenced("commit tick", err)
	}
	t.Op.Version, t.Op.Updated = got.OpVersion, got.OpUpdated.UTC()
	if got.InstanceVersion != nil {
		t.Instance.Version, t.Instance.Updated = *got.InstanceVersion, got.InstanceUpdated.UTC()
	}
	if t.Instance != nil {
		t.Instance.Fingerprint = w.fingerprint
	}
	return nil
}

// CheckClaim implements lcm.Ledger.
func (s *Store) CheckClaim(ctx context.Context, c lcm.Claim) error {
	held, err := value[bool](s.pool.Query(
		ctx, "SELECT EXISTS (SELECT FROM vnf_lcm_op_occ WHERE id = $1 AND epoch = $2)", c.OperationID, c.Epoch,
	))
	if err == nil && !held {
		return lcm.ErrFenced
	}
	return fault("check the claim", err)
}

// tickResult is what the statement of a tick returns. The instance's are nil when it has not changed.
type tickResult struct {
	OpVersion       int64
	OpUpdated       time.Time
	InstanceVersion *int64
	InstanceUpdated *time.Time
}

// queueHostKeyRemoval forgets the host keys of VNFCs whose machines are gone.
func queueHostKeyRemoval(b *pgx.Batch, instanceID string, vnfcs []string) {
	if len(vnfcs) > 0 {
		b.Queue("DELETE FROM ssh_host_key WHERE vnfc_id = ANY($1)", hostKeyNames(instanceID, vnfcs))
	}
}

// ending is the part of an UPDATE of operations that lets go of what only an active one holds; state is the new state.
func ending(state string) string {
	over := "CASE WHEN " + state + " NOT IN " + final + " THEN "
	return "before = " + over + "before END, new_pkg_id = " + over + "new_pkg_id END, old_pkg_id = " + over +
		"old_pkg_id END"
}

var updateInstance = `WITH u AS (UPDATE vnf_instance i SET version = version + 1, updated = now(), fingerprint = $2, ` + instances.set(4) + `
		WHERE id = $1 AND fingerprint <> $2 RETURNING id, project)
	INSERT INTO event (kind, instance_id, project, body) SELECT '` + KindInstanceUpdated + `', id, project, $3 FROM u`

// queueInstance stores an instance if it differs from what is stored, with its event.
func queueInstance(b *pgx.Batch, i *lcm.Instance, r encoded) {
	b.Queue(updateInstance, append([]any{i.ID, r.fingerprint, stateBody(string(i.State))}, instances.changes(r)...)...)
}
