package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// vims describes vim. The project is not part of it: no reader needs it.
var vims = table[lcm.Vim]{
	name: "vim", alias: "v", id: func(v *lcm.Vim) string { return v.ID },
	columns: []column[lcm.Vim]{
		text("id", func(v *lcm.Vim) *string { return &v.ID }, fixed),
		scalar("version", func(v *lcm.Vim) *int64 { return &v.Version }, derived),
		instant("created", func(v *lcm.Vim) *time.Time { return &v.Created }, fixed),
		instant("updated", func(v *lcm.Vim) *time.Time { return &v.Updated }),
		text("name", func(v *lcm.Vim) *string { return &v.Name }),
		text("description", func(v *lcm.Vim) *string { return &v.Description }),
		maybeText("owner", func(v *lcm.Vim) *string { return &v.Owner }),
		text("type", func(v *lcm.Vim) *string { return &v.Connection.VimType }, writeOnly),
		scalar("is_default", func(v *lcm.Vim) *bool { return &v.Default }),
		sealedDocument("connection", func(v *lcm.Vim) *sol.VimConnectionInfo { return &v.Connection }),
		sealedDocument("previous", func(v *lcm.Vim) *[]sol.VimConnectionInfo { return &v.Previous }, optional),
	},
}

var vimColumns = vims.selected()

// Vims implements lcm.Records.
func (s *Records) Vims(ctx context.Context) ([]lcm.Vim, error) {
	rows, err := s.pool.Query(
		ctx, "SELECT "+vimColumns.list+" FROM vim v WHERE v.project = $1 ORDER BY v.name", s.project,
	)
	found, err := vimColumns.collect(s.Store, rows, err)
	if err != nil {
		return nil, fault("list VIMs", err)
	}
	return valuesOf(found), nil
}

// Vim implements lcm.Records.
func (s *Records) Vim(ctx context.Context, id string) (*lcm.Vim, error) {
	if !known(id) {
		return nil, notFound("VIM", id)
	}
	rows, err := s.pool.Query(
		ctx, "SELECT "+vimColumns.list+" FROM vim v WHERE v.id = $1 AND v.project = $2", id, s.project,
	)
	v, err := vimColumns.one(s.Store, rows, err)
	return v, fault("read VIM", orNotFound(err, "VIM", id))
}

// RegisteredVims implements lcm.VimRegistry.
func (s *Store) RegisteredVims(
	ctx context.Context, instanceID string, ids []string,
) (map[string]sol.VimConnectionInfo, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !known(id) })
	if len(ids) == 0 {
		return map[string]sol.VimConnectionInfo{}, nil
	}
	rows, err := s.pool.Query(
		ctx, "SELECT "+vimColumns.list+" FROM vim v WHERE (v.id = ANY($1) OR v.owner = ANY($1)) AND v.project = "+
			"(SELECT project FROM vnf_instance WHERE id = $2) ORDER BY v.id", ids, instanceID,
	)
	found, err := vimColumns.collect(s, rows, err)
	if err != nil {
		return nil, fault("read VIMs", err)
	}
	out := make(map[string]sol.VimConnectionInfo, len(found))
	for _, v := range found {
		v.Connection.VimID = v.ID // one that a client stored may lack it
		out[v.ID] = v.Used(instanceID)
		if _, known := out[v.Owner]; v.Owner != "" && !known {
			out[v.Owner] = out[v.ID]
		}
	}
	return out, nil
}

// clustersOf reads the registered clusters of other instances that an instance is in.
func (s *Store) clustersOf(ctx context.Context, q querier, i *lcm.Instance) ([]lcm.Vim, error) {
	ids := slices.DeleteFunc(i.Clusters(), func(id string) bool { return !known(id) })
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.Query(
		ctx, "SELECT "+vimColumns.list+" FROM vim v WHERE v.id = ANY($1) AND v.owner IS NOT NULL AND v.project = "+
			"(SELECT project FROM vnf_instance WHERE id = $2)", ids, i.ID,
	)
	found, err := vimColumns.collect(s, rows, err)
	return valuesOf(found), err
}

// saveVim inserts or replaces a VIM of a project. Of a VIM of another project it changes nothing.
var saveVim = vims.insert("project") + " ON CONFLICT (id) DO UPDATE SET version = vim.version + 1, " + vims.replace() +
	" WHERE vim.project = EXCLUDED.project"

// SaveVim implements lcm.Records. A new default takes the place of the old one.
func (s *Records) SaveVim(ctx context.Context, v lcm.Vim) error {
	r, err := vims.encode(s.Store, &v, vims.every)
	if err != nil {
		return err
	}
	err = s.inTx(ctx, "save VIM", func(tx pgx.Tx) error {
		if err := s.yieldDefault(ctx, tx, &v); err != nil {
			return err
		}
		b := &pgx.Batch{}
		b.Queue(saveVim, vims.inserts(r, s.project)...).
			Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 { // the id is that of a VIM of another project
					return notFound("VIM", v.ID)
				}
				return nil
			})
		queueVimEvent(b, &v)
		return tx.SendBatch(ctx, b).Close()
	})
	return vimNameTaken(err, &v)
}

// changeVim replaces a VIM of a project that has a version.
var changeVim = "UPDATE vim v SET version = version + 1, " + vims.set(4) +
	" WHERE v.id = $1 AND v.project = $2 AND v.version = $3"

// ChangeVim implements lcm.Records.
func (s *Records) ChangeVim(ctx context.Context, v lcm.Vim) error {
	r, err := vims.encode(s.Store, &v, vims.changing)
	if err != nil {
		return err
	}
	err = s.inTx(ctx, "change VIM", func(tx pgx.Tx) error {
		if err := s.yieldDefault(ctx, tx, &v); err != nil {
			return err
		}
		b := &pgx.Batch{}
		b.Queue(changeVim, append([]any{v.ID, s.project, v.Version}, vims.changes(r)...)...).
			Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 {
					return lcm.Errorf(lcm.CodeConflict, "VIM %s has been changed or deleted in the meantime", v.ID).
						WithHint("read it again and retry")
				}
				return nil
			})
		queueVimEvent(b, &v)
		return tx.SendBatch(ctx, b).Close()
	})
	return vimNameTaken(err, &v)
}

// yieldDefault takes the mark of the default VIM from the others of the project if v gets it.
func (s *Records) yieldDefault(ctx context.Context, tx pgx.Tx, v *lcm.Vim) error {
	if !v.Default {
		return nil
	}
	// Two new defaults at once come one after the other.
	if _, err := tx.Exec(ctx, "LOCK TABLE vim IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return err
	}
	_, err := tx.Exec(
		ctx,
		"UPDATE vim SET is_default = false, version = version + 1, updated = now() WHERE is_default AND id "+
			"<> $1 AND project = $2",
		v.ID, s.project,
	)
	return err
}

// vimNameTaken explains the violation of the uniqueness of names.
func vimNameTaken(err error, v *lcm.Vim) error {
	if violates(err, "vim_name") {
		return lcm.PointAt(
			lcm.Errorf(lcm.CodeConflict, "another VIM has the name %q", clean(v.Name)), "/vim/name",
		)
	}
	return err
}

// registerVim is saveVim for a VIM that an instance owns, in the project of the instance. If another VIM of the project
// has its name, the id is appended. It does not change which VIM is the default.
var registerVim = func() string {
	name, id := vims.argument("name"), vims.argument("id")
	project := "coalesce((SELECT project FROM vnf_instance WHERE id = " + vims.argument("owner") + "), '" +
		lcm.DefaultProject + "')"
	return vims.insert(
		"name = CASE WHEN EXISTS (SELECT FROM vim WHERE name = "+name+" AND id <> "+id+" AND project = "+project+
			") THEN "+name+" || '-' || "+id+"::text ELSE "+name+" END",
		"project = "+project,
	) + " ON CONFLICT (id) DO UPDATE SET version = vim.version + 1, " + vims.replace("is_default")
}()

// queueVim registers a VIM within a tick. The tick must not fail for a name.
func queueVim(b *pgx.Batch, v *lcm.Vim, r encoded) {
	b.Queue(registerVim, vims.inserts(r)...)
	queueVimEvent(b, v)
}

// queueVimEvent adds the event of a VIM that was written before, in the VIM's project.
func queueVimEvent(b *pgx.Batch, v *lcm.Vim) {
	b.Queue("INSERT INTO event (kind, instance_id, body, project) SELECT '"+KindVim+
		"', owner, $2, project FROM vim WHERE id = $1", v.ID, vimBody(v))
}

func vimBody(v *lcm.Vim) []byte {
	body, err := jsonb(map[string]string{"id": v.ID, "name": clean(v.Name)})
	if err != nil {
		return []byte("{}") // strings always encode
	}
	return body
}

// DeleteVim implements lcm.Records. An operation that is admitted at the same time has a copy of the connection, so it
// does not need the VIM to stay.
func (s *Records) DeleteVim(ctx context.Context, id string) error {
	if !known(id) {
		return notFound("VIM", id)
	}
	return s.inTx(ctx, "delete VIM", func(tx pgx.Tx) error {
		users, err := s.vimUsers(ctx, tx, id)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return vimInUse(id, users)
		}
		var gone []string
		b := &pgx.Batch{}
		queueVimRemoval(b, id, s.project).Query(func(rows pgx.Rows) (err error) {
			gone, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if len(gone) == 0 {
			return notFound("VIM", id)
		}
		return nil
	})
}

// VimUsers implements lcm.Records.
func (s *Records) VimUsers(ctx context.Context, id string) ([]string, error) {
	users, err := s.vimUsers(ctx, s.pool, id)
	return users, fault("list the users of a VIM", err)
}

// vimUsers lists the instances of the project with a connection to a VIM, without the instance that has made it.
// Connections are sealed, so each is opened: a VIM is seldom deleted.
func (s *Records) vimUsers(ctx context.Context, q querier, vimID string) (users []string, err error) {
	rows, err := q.Query(ctx, "SELECT id::text, vim_connections FROM vnf_instance WHERE project = $1 "+
		"AND vim_connections IS NOT NULL ORDER BY id", s.project)
	if err != nil {
		return nil, err
	}
	var id string
	var sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &sealed}, func() error {
		plain, err := s.open(instances.name, "vim_connections", id, sealed)
		if err != nil {
			return err
		}
		var conns map[string]sol.VimConnectionInfo
		if err := decode(plain, &conns); err != nil {
			return err
		}
		for _, c := range conns {
			if c.VimID == vimID && c.Extra[lcm.ExtraOwner] != id {
				users = append(users, id)
				break
			}
		}
		return nil
	})
	return users, err
}

func vimInUse(id string, users []string) error {
	return lcm.Errorf(lcm.CodeConflict, "VIM %s is in use by VNF instances: %s", id, lcm.NameUsers(users)).
		WithHint("terminate them, or give them another VIM connection, and delete the VIM then")
}

// queueVimRemoval deletes a VIM of a project ("" = of any) with its event, and returns the id if it was there.
func queueVimRemoval(b *pgx.Batch, id, project string) *pgx.QueuedQuery {
	return b.Queue(`WITH gone AS (DELETE FROM vim WHERE id = $1 AND ($2 = '' OR project = $2) RETURNING id, owner, project),
		told AS (INSERT INTO event (kind, instance_id, body, project) SELECT '`+KindVimDeleted+
		`', owner, jsonb_build_object('id', id), project FROM gone)
		SELECT id::text FROM gone`, id, project)
}
