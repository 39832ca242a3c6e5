package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// InsertInstance implements lcm.Store.
func (s *Store) InsertInstance(ctx context.Context, i *lcm.Instance, m []lcm.Message) error {
	r, err := s.encodeInstance(i)
	if err != nil {
		return err
	}
	if !known(i.VnfPkgID) {
		return noPackage(i.VnfPkgID)
	}
	err = s.pipeline(ctx, "insert instance", func(b *pgx.Batch) {
		b.Queue(`INSERT INTO vnf_instance (id, version, created, updated, name, description, vnfd_id, vnf_pkg_id, provider,
				product_name, software_version, vnfd_version, state, holds_resources, vim_connections,
				configurable_properties, metadata, extensions, instantiated, inventory, params, former_vims, fingerprint, ssh_key)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`,
			r.ID, r.Version, r.Created, r.Updated, r.Name, r.Description, r.VnfdID, r.VnfPkgID, r.Provider,
			r.ProductName, r.SoftwareVersion, r.VnfdVersion, r.State, r.HoldsResources, r.VimConnections,
			r.ConfigurableProperties, r.Metadata, r.Extensions, r.Instantiated, r.Inventory, r.Params, r.FormerVims, r.fingerprint, r.SSHKey)
		queueEvent(b, KindInstanceCreated, r.ID, "", stateBody(r.State))
		queueMessages(b, m)
	})
	if refers(err, "vnf_instance_pkg") {
		return noPackage(i.VnfPkgID)
	}
	return err
}

// noPackage is the answer to an instance whose package was deleted since it was looked up.
func noPackage(id string) *lcm.Error {
	return lcm.Errorf(lcm.CodeUnprocessable, "the VNF package %s does not exist any more", id)
}

// Instance implements lcm.Store.
func (s *Store) Instance(ctx context.Context, id string) (*lcm.Instance, error) {
	if !known(id) {
		return nil, notFound("VNF instance", id)
	}
	i, err := s.instance(ctx, s.pool, id, "")
	return i, fault("read instance", err)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// instance reads one, with a lock clause such as FOR UPDATE; CodeNotFound when there is none.
func (s *Store) instance(ctx context.Context, q querier, id, lock string) (*lcm.Instance, error) {
	r, err := one[instanceRow](q.Query(ctx, "SELECT "+instanceColumns+" FROM vnf_instance i WHERE i.id = $1 "+lock, id))
	if err != nil {
		return nil, orNotFound(err, "VNF instance", id)
	}
	return s.decodeInstance(&r)
}

// Instances implements lcm.Store.
func (s *Store) Instances(ctx context.Context, q lcm.Query) ([]*lcm.Instance, error) {
	if q.After != "" && !known(q.After) {
		return nil, nil
	}
	columns := instanceColumns
	if q.Brief {
		columns = instanceBrief
	}
	rows, err := all[instanceRow](s.pool.Query(ctx, "SELECT "+columns+` FROM vnf_instance i
		WHERE $1::uuid IS NULL OR i.id > $1 ORDER BY i.id LIMIT $2`, maybe(q.After), limit(q.Limit)))
	if err != nil {
		return nil, fault("list instances", err)
	}
	out := make([]*lcm.Instance, len(rows))
	for n := range rows {
		if out[n], err = s.decodeInstance(&rows[n]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// limit makes 0 the NULL that LIMIT takes for no limit.
func limit(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// DeleteInstance implements lcm.Store.
func (s *Store) DeleteInstance(ctx context.Context, id string, ifVersion *int64, m []lcm.Message) error {
	if !known(id) {
		return notFound("VNF instance", id)
	}
	return s.inTx(ctx, "delete instance", func(tx pgx.Tx) error {
		type row struct {
			Version int64  `db:"version"`
			State   string `db:"state"`
			Holds   bool   `db:"holds_resources"`
		}
		r, err := one[row](tx.Query(ctx, "SELECT version, state, holds_resources FROM vnf_instance WHERE id = $1 FOR UPDATE", id))
		if err != nil {
			return orNotFound(err, "VNF instance", id)
		}
		if ifVersion != nil && *ifVersion != r.Version {
			return lcm.Changed("VNF instance", id)
		}
		if err := s.noActive(ctx, tx, id); err != nil {
			return err
		}
		if r.State != string(sol.InstantiationStateNotInstantiated) {
			return lcm.Errorf(lcm.CodeConflict, "VNF instance %s is %s", id, r.State).WithHint("terminate it first")
		}
		if r.Holds {
			return lcm.Errorf(lcm.CodeConflict, "the VIM may still hold resources of VNF instance %s", id).
				WithHint("look at its leftovers and remove them, or instantiate and terminate it")
		}
		b := &pgx.Batch{}
		b.Queue("DELETE FROM vnf_instance WHERE id = $1", id)
		b.Queue("DELETE FROM vim WHERE owner = $1", id)
		queueEvent(b, KindInstanceDeleted, id, "", []byte(`{}`))
		queueMessages(b, m)
		return tx.SendBatch(ctx, b).Close()
	})
}

// noActive returns CodeConflict, naming the operation in the way, when one holds the instance. The caller has locked the instance,
// and whoever makes an operation active does so too, so that the answer stays true.
func (s *Store) noActive(ctx context.Context, tx pgx.Tx, instanceID string) error {
	type row struct {
		ID    string `db:"id"`
		Type  string `db:"type"`
		State string `db:"state"`
	}
	ops, err := all[row](tx.Query(ctx, `SELECT id, type, state FROM vnf_lcm_op_occ
		WHERE instance_id = $1 AND state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK', 'FAILED_TEMP')`, instanceID))
	if err != nil || len(ops) == 0 {
		return err
	}
	return lcm.InTheWay(ops[0].ID, sol.LcmOperationType(ops[0].Type), sol.LcmOperationStateType(ops[0].State))
}

// HoldInstance implements lcm.Store.
func (s *Store) HoldInstance(ctx context.Context, id string, change func(*lcm.Instance) error) error {
	if !known(id) {
		return notFound("VNF instance", id)
	}
	return s.inTx(ctx, "hold instance", func(tx pgx.Tx) error {
		i, err := s.instance(ctx, tx, id, "FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		if err := s.noActive(ctx, tx, id); err != nil {
			return err
		}
		if err := change(i); err != nil {
			return err
		}
		r, err := s.encodeInstance(i)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		queueInstance(b, r)
		return tx.SendBatch(ctx, b).Close()
	})
}
