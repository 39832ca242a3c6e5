package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

const checkText = "gybe"

func checkPlace(id string) string { return "secret_check.sealed/" + id }

// checkKeys refuses a ring that lacks a key that the database uses, or has another key under its id, and records the
// ring's primary key as used.
func (s *Store) checkKeys(ctx context.Context) error {
	return s.inTx(ctx, "check the key file", func(tx pgx.Tx) error {
		id := s.ring.Primary()
		// Two nodes with different new keys must not both find the table empty.
		if _, err := tx.Exec(ctx, "LOCK TABLE secret_check IN SHARE ROW EXCLUSIVE MODE"); err != nil {
			return err
		}
		type check struct {
			KeyID  string `db:"key_id"`
			Sealed []byte `db:"sealed"`
		}
		checks, err := all[check](tx.Query(ctx, "SELECT key_id, sealed FROM secret_check ORDER BY key_id"))
		if err != nil {
			return err
		}
		var missing []string
		seen := false
		for _, c := range checks {
			if !s.ring.Has(c.KeyID) {
				missing = append(missing, c.KeyID)
				continue
			}
			if _, err := s.ring.Open(c.Sealed, checkPlace(c.KeyID)); err != nil {
				return fmt.Errorf(
					"the key file has another key under the id %s than the one that the database was sealed with; "+
						"use the key file of the other nodes",
					c.KeyID,
				)
			}
			seen = seen || c.KeyID == id
		}
		if len(missing) > 0 {
			return fmt.Errorf(
				"the database is sealed with keys that the key file lacks (%s); use the key file of the other nodes",
				strings.Join(missing, ", "),
			)
		}
		if seen {
			return nil
		}
		_, err = tx.Exec(ctx, "INSERT INTO secret_check (key_id, sealed) VALUES ($1, $2)", id,
			s.ring.Seal([]byte(checkText), checkPlace(id)))
		return err
	})
}

// sealedColumns lists everything that is sealed: table, column, key.
var sealedColumns = slices.Concat(
	instances.sealedColumns(), operations.sealedColumns(), vims.sealedColumns(),
	[][3]string{{"subscription", "auth", "id"}},
)

// Reencrypt seals everything with the ring's primary key that is sealed with another, and then forgets the other
// keys, so that they can be removed from the key file. It returns the number of values it changed. Nodes may go
// on working, as long as all of them have the primary key.
func (s *Store) Reencrypt(ctx context.Context) (int, error) {
	total := 0
	for _, c := range sealedColumns {
		n, err := s.reencrypt(ctx, c[0], c[1], c[2])
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, s.inTx(ctx, "forget old keys", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM secret_check WHERE key_id <> $1", s.ring.Primary())
		return err
	})
}

// reencrypt goes through one column in batches, in order of the key, so that each transaction is short.
func (s *Store) reencrypt(ctx context.Context, table, column, key string) (int, error) {
	// Sealed data begins with a version, the length of the key id, and the key id.
	id := s.ring.Primary()
	prefix := s.ring.Seal([]byte{}, "")[:2+len(id)]
	query := fmt.Sprintf(`SELECT %[3]s::text AS id, %[2]s AS sealed FROM %[1]s
		WHERE %[2]s IS NOT NULL AND substring(%[2]s FROM 1 FOR $1) <> $2 AND ($3::uuid IS NULL OR %[3]s > $3)
		ORDER BY %[3]s LIMIT 200 FOR NO KEY UPDATE`, table, column, key)
	update := fmt.Sprintf("UPDATE %[1]s SET %[2]s = $2 WHERE %[3]s = $1", table, column, key)
	total, after := 0, ""
	for {
		n := 0
		err := s.inTx(ctx, "reencrypt "+table, func(tx pgx.Tx) error {
			type row struct {
				ID     string `db:"id"`
				Sealed []byte `db:"sealed"`
			}
			rows, err := all[row](tx.Query(ctx, query, len(prefix), prefix, nilIfEmpty(after)))
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
				after = r.ID
			}
			return tx.SendBatch(ctx, b).Close()
		})
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// seal seals a value for its place.
func (s *Store) seal(table, column, id string, plain []byte) []byte {
	return s.ring.Seal(plain, table+"."+column+"/"+id)
}

// open opens what seal sealed. The error names the place, for the log.
func (s *Store) open(table, column, id string, sealed []byte) ([]byte, error) {
	plain, err := s.ring.Open(sealed, table+"."+column+"/"+id)
	return plain, notOpened(err, table, column, id)
}

// openInPlace is open for a value of which nothing else needs the sealed form: the result takes its place.
func (s *Store) openInPlace(table, column, id string, sealed []byte) ([]byte, error) {
	plain, err := s.ring.OpenInPlace(sealed, table+"."+column+"/"+id)
	return plain, notOpened(err, table, column, id)
}

func notOpened(err error, table, column, id string) error {
	if err != nil {
		return fmt.Errorf("open %s.%s of %s: %w", table, column, id, err)
	}
	return nil
}
