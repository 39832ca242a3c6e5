package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// vimRow is a row of vim.
type vimRow struct {
	ID          string    `db:"id"`
	Created     time.Time `db:"created"`
	Updated     time.Time `db:"updated"`
	Name        string    `db:"name"`
	Description string    `db:"description"`
	Owner       *string   `db:"owner"`
	Type        string    `db:"type"`
	IsDefault   bool      `db:"is_default"`
	Connection  []byte    `db:"connection"`
}

const vimColumns = "v.id, v.created, v.updated, v.name, v.description, v.owner, v.type, v.is_default, v.connection"

func (s *Store) encodeVim(v lcm.Vim) (vimRow, error) {
	raw, err := json.Marshal(v.Connection)
	if err != nil {
		return vimRow{}, fmt.Errorf("encode VIM %s: %w", v.ID, err)
	}
	return vimRow{
		ID: v.ID, Created: v.Created, Updated: v.Updated, Name: clean(v.Name), Description: clean(v.Description),
		Owner: maybe(v.Owner), Type: v.Connection.VimType, IsDefault: v.Default,
		Connection: s.seal("vim", "connection", v.ID, raw),
	}, nil
}

func (s *Store) decodeVim(r *vimRow) (lcm.Vim, error) {
	v := lcm.Vim{
		ID: r.ID, Created: r.Created.UTC(), Updated: r.Updated.UTC(), Name: r.Name, Description: r.Description,
		Owner: textOf(r.Owner), Default: r.IsDefault,
	}
	raw, err := s.open("vim", "connection", r.ID, r.Connection)
	if err != nil {
		return v, err
	}
	return v, decode(raw, &v.Connection)
}

// Vims implements lcm.Records.
func (s *Records) Vims(ctx context.Context) ([]lcm.Vim, error) {
	rows, err := all[vimRow](
		s.pool.Query(ctx, "SELECT "+vimColumns+" FROM vim v WHERE v.project = $1 ORDER BY v.name", s.project),
	)
	if err != nil {
		return nil, fault("list VIMs", err)
	}
	out := make([]lcm.Vim, len(rows))
	for n := range rows {
		if out[n], err = s.decodeVim(&rows[n]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Vim implements lcm.Records.
func (s *Records) Vim(ctx context.Context, id string) (*lcm.Vim, error) {
	if !known(id) {
		return nil, notFound("VIM", id)
	}
	r, err := one[vimRow](
		s.pool.Query(ctx, "SELECT "+vimColumns+" FROM vim v WHERE v.id = $1 AND v.project = $2", id, s.project),
	)
	if err != nil {
		return nil, fault("read VIM", orNotFound(err, "VIM", id))
	}
	v, err := s.decodeVim(&r)
	return &v, err
}

// SaveVim implements lcm.Records. A new default takes the place of the old one.
func (s *Records) SaveVim(ctx context.Context, v lcm.Vim) error {
	r, err := s.encodeVim(v)
	if err != nil {
		return err
	}
	err = s.inTx(ctx, "save VIM", func(tx pgx.Tx) error {
		if v.Default {
			// Two new defaults at once come one after the other.
			if _, err := tx.Exec(ctx, "LOCK TABLE vim IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				return err
			}
			if _, err := tx.Exec(
				ctx,
				"UPDATE vim SET "+
					"is_default = "+
					"false, version = version + 1, updated = now() WHERE is_default AND id <> $1 AND project = $2",
				v.ID, s.project,
			); err != nil {
				return err
			}
		}
		b := &pgx.Batch{}
		b.Queue(`INSERT INTO vim (id, created, updated, name, description, owner, type, is_default, connection, project)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (id) DO UPDATE SET version = vim.version + 1, updated = $3, name = $4, description = $5, owner = $6, type = $7,
				is_default = $8, connection = $9 WHERE vim.project = $10`,
			r.ID, r.Created, r.Updated, r.Name, r.Description, r.Owner, r.Type, r.IsDefault, r.Connection, s.project).
			Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() == 0 { // the id is that of a VIM of another project
					return notFound("VIM", v.ID)
				}
				return nil
			})
		queueVimEvent(b, r)
		return tx.SendBatch(ctx, b).Close()
	})
	if violates(err, "vim_name") {
		return lcm.Errorf(lcm.CodeConflict, "another VIM has the name %q", r.Name)
	}
	return err
}

// queueVim registers a VIM within a tick, in the project of the instance that owns it. The tick must not fail for a
// name: if another VIM of the project has it, the id is appended.
func queueVim(b *pgx.Batch, r vimRow) {
	b.Queue(`INSERT INTO vim (id, created, updated, name, description, owner, type, is_default, connection, project)
		SELECT $1, $2, $3, CASE WHEN EXISTS (SELECT FROM vim WHERE name = $4 AND id <> $1 AND project = p.name) THEN $4 || '-' || $1::text ELSE $4 END,
			$5, $6, $7, false, $8, p.name
		FROM (SELECT coalesce((SELECT project FROM vnf_instance WHERE id = $6), '`+lcm.DefaultProject+`') AS name) p
		ON CONFLICT (id) DO UPDATE SET version = vim.version + 1, updated = excluded.updated, name = excluded.name,
			description = excluded.description, owner = excluded.owner, type = excluded.type, connection = excluded.connection`,
		r.ID, r.Created, r.Updated, r.Name, r.Description, r.Owner, r.Type, r.Connection)
	queueVimEvent(b, r)
}

// queueVimEvent adds the event of a VIM that was written before, in the VIM's project.
func queueVimEvent(b *pgx.Batch, r vimRow) {
	b.Queue("INSERT INTO event (kind, instance_id, body, project) SELECT '"+KindVim+
		"', owner, $2, project FROM vim WHERE id = $1", r.ID, vimBody(r))
}

func vimBody(r vimRow) []byte {
	body, err := jsonb(map[string]string{"id": r.ID, "name": r.Name})
	if err != nil {
		return []byte("{}") // strings always encode
	}
	return body
}

// DeleteVim implements lcm.Records.
func (s *Records) DeleteVim(ctx context.Context, id string) error {
	if !known(id) {
		return notFound("VIM", id)
	}
	var gone []string
	err := s.pipeline(ctx, "delete VIM", func(b *pgx.Batch) {
		queueVimRemoval(b, id, s.project).Query(func(rows pgx.Rows) error {
			var err error
			gone, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	})
	if err == nil && len(gone) == 0 {
		return notFound("VIM", id)
	}
	return err
}

// queueVimRemoval deletes a VIM of a project ("" = of any) with its event, and returns the id if it was there.
func queueVimRemoval(b *pgx.Batch, id, project string) *pgx.QueuedQuery {
	return b.Queue(`WITH gone AS (DELETE FROM vim WHERE id = $1 AND ($2 = '' OR project = $2) RETURNING id, owner, project),
		told AS (INSERT INTO event (kind, instance_id, body, project) SELECT '`+KindVimDeleted+
		`', owner, jsonb_build_object('id', id), project FROM gone)
		SELECT id::text FROM gone`, id, project)
}
