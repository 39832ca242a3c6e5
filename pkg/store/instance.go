package store

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

var insertInstance = instances.insert("fingerprint", "project")

// InsertInstance implements lcm.Records.
func (s *Records) InsertInstance(ctx context.Context, i *lcm.Instance, m []lcm.Message) error {
	return s.insertInstance(ctx, i, m, func(*pgx.Batch) {})
}

// AdoptInstance implements lcm.Records.
func (s *Records) AdoptInstance(ctx context.Context, a lcm.Adoption) error {
	var vim encoded
	if a.Vim != nil {
		a.Vim.Default = false
		var err error
		if vim, err = vims.encode(s.Store, a.Vim, vims.every); err != nil {
			return err
		}
	}
	err := s.insertInstance(ctx, a.Instance, a.Messages, func(b *pgx.Batch) {
		if a.Vim != nil {
			queueVim(b, a.Vim, vim)
		}
		for _, vnfc := range slices.Sorted(maps.Keys(a.HostKeys)) {
			k := a.HostKeys[vnfc]
			b.Queue(
				`INSERT INTO ssh_host_key (vnfc_id, algorithm, key, source) VALUES ($1, $2, $3, 'adoption')
				ON CONFLICT (vnfc_id) DO UPDATE SET algorithm = EXCLUDED.algorithm, key = EXCLUDED.key`,
				hostKeyName(a.Instance.ID, vnfc), k.Type, k.Key,
			)
		}
	})
	if violates(err, "vnf_instance_pkey") { // in this project or another one
		return lcm.Errorf(lcm.CodeConflict, "a VNF instance with the id %s exists", a.Instance.ID)
	}
	return err
}

// insertInstance stores an instance and what more queues, in one transaction.
func (s *Records) insertInstance(ctx context.Context, i *lcm.Instance, m []lcm.Message, more func(*pgx.Batch)) error {
	r, err := instances.encode(s.Store, i, instances.every)
	if err != nil {
		return err
	}
	sent, err := messages.records(s.Store, m)
	if err != nil {
		return err
	}
	if !known(i.VnfPkgID) {
		return noPackage(i.VnfPkgID)
	}
	err = s.pipeline(ctx, "insert instance", func(b *pgx.Batch) {
		s.queueQuota(b, s.project, quotaInstances, 1, s.quotaOf(s.project).Instances)
		s.queueRequestKey(ctx, b, i.ID)
		b.Queue(insertInstance, instances.inserts(r, r.fingerprint, s.project)...)
		more(b)
		s.queueEvent(b, KindInstanceCreated, i.ID, "", stateBody(string(i.State)))
		queueMessages(b, sent)
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

// Instance implements lcm.Records.
func (s *Records) Instance(ctx context.Context, id string) (*lcm.Instance, error) {
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

// instance reads one with the present credentials of its VIMs, with a lock clause such as FOR UPDATE; CodeNotFound when
// there is none.
func (s *Records) instance(ctx context.Context, q querier, id, lock string) (*lcm.Instance, error) {
	rows, err := q.Query(
		ctx, "SELECT "+instanceColumns.list+" FROM vnf_instance i WHERE i.id = $1 AND i.project = $2 "+lock,
		id, s.project,
	)
	i, err := instanceColumns.one(s.Store, rows, err)
	if err != nil {
		return nil, orNotFound(err, "VNF instance", id)
	}
	return i, s.renewed(ctx, q, i)
}

// renewed gives an instance the present credentials of its registered VIMs.
func (s *Records) renewed(ctx context.Context, q querier, i *lcm.Instance) error {
	if len(i.VimConnections)+len(i.PreviousVims) == 0 {
		return nil
	}
	rows, err := q.Query(
		ctx, "SELECT "+vimColumns.list+" FROM vim v WHERE v.project = $1 AND v.previous IS NOT NULL", s.project,
	)
	changed, err := vimColumns.collect(s.Store, rows, err)
	if err != nil {
		return err
	}
	i.Renew(valuesOf(changed))
	clusters, err := s.clustersOf(ctx, q, i)
	i.Renew(clusters)
	return err
}

// Instances implements lcm.Records.
func (s *Records) Instances(ctx context.Context, q lcm.Query) ([]*lcm.Instance, error) {
	columns := instanceColumns
	if q.Brief {
		columns = instanceBrief
	}
	c, ok := s.instanceList(q)
	if !ok {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, "SELECT "+columns.list+c.rows(), c.args...)
	out, err := columns.collect(s.Store, rows, err)
	return out, fault("list instances", err)
}

// listClause is a list without its columns.
type listClause struct {
	from, order, limit string
	args               []any
}

// rows is the list after its columns.
func (c *listClause) rows() string { return c.from + c.order + c.limit }

// place adds an argument and returns its placeholder.
func (c *listClause) place(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// instanceList makes the list of a query; false when nothing can match.
func (s *Records) instanceList(q lcm.Query) (listClause, bool) {
	if q.After != "" && !known(q.After) {
		return listClause{}, false
	}
	var c listClause
	c.from = " FROM vnf_instance i WHERE i.project = " + c.place(s.project)
	if q.After != "" {
		c.from += " AND i.id > " + c.place(q.After)
	}
	if !c.where(q.Where, instanceFilter, lcm.InstanceColumns) {
		return listClause{}, false
	}
	c.order, c.limit = " ORDER BY i.id", limit(q.Limit)
	return c, true
}

// limit is the LIMIT of a list; 0 is none. It is no argument, because the plan depends on it, and a program has few
// sizes of pages.
func limit(n int) string {
	if n <= 0 {
		return ""
	}
	return " LIMIT " + strconv.Itoa(n)
}

// DeleteInstance implements lcm.Records.
func (s *Records) DeleteInstance(ctx context.Context, id string, ifVersion *int64, m []lcm.Message) error {
	if !known(id) {
		return notFound("VNF instance", id)
	}
	return s.inTx(ctx, "delete instance", func(tx pgx.Tx) error {
		type row struct {
			Version    int64           `db:"version"`
			State      string          `db:"state"`
			Holds      bool            `db:"holds_resources"`
			Protection *lcm.Protection `db:"protection"`
		}
		r, err := one[row](tx.Query(
			ctx, "SELECT version, state, holds_resources, protection FROM vnf_instance"+
				" WHERE id = $1 AND project = $2 FOR UPDATE", id, s.project,
		))
		if err != nil {
			return orNotFound(err, "VNF instance", id)
		}
		if ifVersion != nil && *ifVersion != r.Version {
			return lcm.Changed("VNF instance", id)
		}
		if err := s.requireFree(ctx, tx, id); err != nil {
			return err
		}
		if r.State != string(sol.InstantiationStateNotInstantiated) {
			return lcm.Errorf(lcm.CodeConflict, "VNF instance %s is %s", id, r.State).WithHint("terminate it first")
		}
		if err := r.Protection.RefuseDeletion(id, "it is not deleted"); err != nil {
			return err
		}
		if r.Holds {
			return lcm.Errorf(lcm.CodeConflict, "the VIM may still hold resources of VNF instance %s", id).
				WithHint("look at its leftovers and remove them, or instantiate and terminate it")
		}
		sent, err := messages.records(s.Store, m)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		queueMessages(b, sent)
		b.Queue("DELETE FROM vnf_instance WHERE id = $1", id)
		b.Queue("DELETE FROM vim WHERE owner = $1", id)
		s.queueEvent(b, KindInstanceDeleted, id, "", []byte(`{}`))
		return tx.SendBatch(ctx, b).Close()
	})
}

// UpdateInstance implements lcm.Records.
func (s *Records) UpdateInstance(ctx context.Context, id string, change func(*lcm.Instance) ([]string, error)) error {
	if !known(id) {
		return notFound("VNF instance", id)
	}
	return s.inTx(ctx, "update instance", func(tx pgx.Tx) error {
		i, err := s.instance(ctx, tx, id, "FOR NO KEY UPDATE")
		if err != nil {
			return err
		}
		if err := s.requireFree(ctx, tx, id); err != nil {
			return err
		}
		gone, err := change(i)
		if err != nil {
			return err
		}
		return s.storeInstance(ctx, tx, i, gone)
	})
}

// storeInstance writes an instance that tx has locked, and removes the host keys of VNFCs whose machines are gone.
func (s *Store) storeInstance(ctx context.Context, tx pgx.Tx, i *lcm.Instance, gone []string) error {
	r, err := instances.encode(s, i, instances.every)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	queueInstance(b, i, r)
	queueHostKeyRemoval(b, i.ID, gone)
	return tx.SendBatch(ctx, b).Close()
}
