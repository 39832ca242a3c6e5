package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
)

const checkText = "gybe"

func checkPlace(id string) string { return "secret_check.sealed/" + id }

// CheckKeys refuses a ring that lacks a key that the database uses, or has another key under its id, and records the
// ring's primary key as used.
func (s *Store) CheckKeys(ctx context.Context) error {
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
	instances.sealedColumns(), operations.sealedColumns(), vims.sealedColumns(), packages.sealedColumns(),
	snapshots.sealedColumns(),
	[][3]string{{"subscription", "auth", "id"}, {requestKeys, requestFingerprint, "row_id"}},
)

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

// notOpened is the error of a value that cannot be opened. A key that only this node lacks does not fail an
// operation: another node may have the key.
func notOpened(err error, table, column, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, secret.ErrUnknownKey):
		return (&lcm.Error{
			Code: lcm.CodeUnavailable, Title: "Key missing",
			Detail: fmt.Sprintf("this node cannot open a stored value (%s.%s of %s): %s", table, column, id, err),
			Hint:   "give this node the key file of the node that has rotated the keys", Cause: err,
		}).AsTransient()
	}
	return fmt.Errorf("open %s.%s of %s: %w", table, column, id, err)
}
