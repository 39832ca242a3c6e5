package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// KeyUse says how many values of a column are sealed with a key. The key "" stands for values of the release before
// that are not sealed yet.
type KeyUse struct {
	Table  string `db:"table_name"`
	Column string `db:"column_name"`
	Key    string `db:"key_id"`
	Values int64  `db:"values"`
}

// KeyUses counts the sealed values of the database by column and key.
func (s *Store) KeyUses(ctx context.Context) ([]KeyUse, error) {
	var queries []string
	for _, c := range sealedColumns {
		// Sealed data begins with a version, the length of the key id, and the key id.
		queries = append(queries, fmt.Sprintf(`SELECT '%[1]s' AS table_name, '%[2]s' AS column_name,
			convert_from(substring(%[2]s FROM 3 FOR get_byte(%[2]s, 1)), 'UTF8') AS key_id, count(*) AS values
			FROM %[1]s WHERE %[2]s IS NOT NULL GROUP BY 3`, c[0], c[1]))
	}
	for _, column := range plainColumns {
		queries = append(queries, fmt.Sprintf(`SELECT 'vnf_instance', '%[1]s', '', count(*) FROM vnf_instance
			WHERE %[1]s IS NOT NULL HAVING count(*) > 0`, column))
	}
	uses, err := all[KeyUse](s.pool.Query(ctx, strings.Join(queries, " UNION ALL ")+" ORDER BY 1, 2, 3"))
	return uses, fault("count sealed values", err)
}

// Progress is what Reencrypt has done.
type Progress struct {
	Table, Column string
	// Values is the number of values of the column that were sealed again.
	Values int
}

// Reencrypt seals everything with the ring's primary key that is sealed with another key or not at all. Each batch is a
// short transaction, nodes go on working, and a call that was interrupted is continued by the next one. Nodes that seal
// with another key at the same time leave values behind: KeyUses counts them. It returns the number of values that it
// has changed. report may be nil.
func (s *Store) Reencrypt(ctx context.Context, report func(Progress)) (int, error) {
	if report == nil {
		report = func(Progress) {}
	}
	total, err := s.sealPlain(ctx, report)
	if err != nil {
		return total, err
	}
	for _, c := range sealedColumns {
		n, err := s.reencrypt(ctx, c[0], c[1], c[2], report)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// ForgetKey lets nodes start without a key; CodeConflict while values are sealed with it, or it is the primary one.
func (s *Store) ForgetKey(ctx context.Context, id string) error {
	if id == s.ring.Primary() {
		return lcm.Errorf(lcm.CodeConflict, "the key %s is the one that seals", id).
			WithHint("activate another key first")
	}
	uses, err := s.KeyUses(ctx)
	if err != nil {
		return err
	}
	var left int64
	for _, u := range uses {
		if u.Key == id {
			left += u.Values
		}
	}
	if left > 0 {
		return lcm.Errorf(lcm.CodeConflict, "%d values are sealed with the key %s", left, id).
			WithHint("run gybe secrets reencrypt")
	}
	_, err = s.pool.Exec(ctx, "DELETE FROM secret_check WHERE key_id = $1", id)
	return fault("forget a key", err)
}

// reencryptBatch is the number of rows of a transaction of Reencrypt. A row can have a value of a megabyte.
const reencryptBatch = 50

// reencrypt goes through one column in batches, in order of the key, so that each transaction is short.
func (s *Store) reencrypt(ctx context.Context, table, column, key string, report func(Progress)) (int, error) {
	id := s.ring.Primary()
	prefix := s.ring.Seal([]byte{}, "")[:2+len(id)]
	query := fmt.Sprintf(`SELECT %[3]s::text AS id, %[2]s AS sealed FROM %[1]s
		WHERE %[2]s IS NOT NULL AND substring(%[2]s FROM 1 FOR $1) <> $2 AND ($3::uuid IS NULL OR %[3]s > $3)
		ORDER BY %[3]s LIMIT $4 FOR NO KEY UPDATE`, table, column, key)
	update := fmt.Sprintf("UPDATE %[1]s SET %[2]s = $2 WHERE %[3]s = $1", table, column, key)
	total, after := 0, ""
	for {
		n, last := 0, after
		err := s.inTx(ctx, "reencrypt "+table, func(tx pgx.Tx) error {
			type row struct {
				ID     string `db:"id"`
				Sealed []byte `db:"sealed"`
			}
			rows, err := all[row](tx.Query(ctx, query, len(prefix), prefix, nilIfEmpty(after), reencryptBatch))
			if err != nil {
				return err
			}
			n = len(rows)
			b := &pgx.Batch{}
			for _, r := range rows {
				plain, err := s.open(table, column, r.ID, r.Sealed)
				if err != nil {
					return err
				}
				b.Queue(update, r.ID, s.seal(table, column, r.ID, plain))
				last = r.ID
			}
			return tx.SendBatch(ctx, b).Close()
		})
		if err != nil || n == 0 {
			return total, err
		}
		total, after = total+n, last
		report(Progress{Table: table, Column: column, Values: total})
	}
}

func isAttributes(c column[lcm.Instance]) bool { return c.name == attributes.name }

// sealPlain seals attributes of instances that are in the columns of the release before.
func (s *Store) sealPlain(ctx context.Context, report func(Progress)) (int, error) {
	where := strings.Join(plainColumns, " IS NOT NULL OR ") + " IS NOT NULL"
	total := 0
	for {
		n := 0
		err := s.inTx(ctx, "seal attributes", func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, "SELECT "+instanceColumns.list+" FROM vnf_instance i WHERE "+where+
				" ORDER BY i.id LIMIT $1 FOR NO KEY UPDATE", reencryptBatch)
			read, err := instanceColumns.collect(s, rows, err)
			if err != nil {
				return err
			}
			n = len(read)
			b := &pgx.Batch{}
			for _, i := range read {
				r, err := instances.encode(s, i, isAttributes)
				if err != nil {
					return err
				}
				at := slices.IndexFunc(instances.columns, isAttributes)
				b.Queue("UPDATE vnf_instance SET "+strings.Join(plainColumns, " = NULL, ")+
					" = NULL, attributes = $2 WHERE id = $1", i.ID, r.values[at])
			}
			return tx.SendBatch(ctx, b).Close()
		})
		if err != nil || n == 0 {
			return total, err
		}
		total += n
		report(Progress{Table: "vnf_instance", Column: attributes.name, Values: total})
	}
}
