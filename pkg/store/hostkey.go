package store

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
)

// HostKey is a pinned SSH host key.
type HostKey struct {
	Type string // e.g. ssh-ed25519
	Key  []byte // in the wire format of RFC 4253 clause 6.6
}

// hostKeyName is the name under which the host key of a VNFC's machine is pinned. Users can choose the ids of VNFCs, so
// these are unique in their instance only.
func hostKeyName(instanceID, vnfc string) string { return instanceID + "/" + vnfc }

func hostKeyNames(instanceID string, vnfcs []string) []string {
	names := make([]string, len(vnfcs))
	for n, vnfc := range vnfcs {
		names[n] = hostKeyName(instanceID, vnfc)
	}
	return names
}

// LookupHostKey returns the key that is pinned for a VNFC of an instance, or nil.
func (s *Store) LookupHostKey(ctx context.Context, instanceID, vnfc string) (*HostKey, error) {
	k, err := hostKey(s.pool.Query(
		ctx, "SELECT algorithm, key FROM ssh_host_key WHERE vnfc_id = $1", hostKeyName(instanceID, vnfc),
	))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // the contract
	}
	return k, fault("look up host key", err)
}

// HostKeys returns the keys that are pinned for VNFCs of an instance, by VNFC; those without one are absent.
func (s *Store) HostKeys(ctx context.Context, instanceID string, vnfcs []string) (map[string]HostKey, error) {
	type row struct {
		VNFC      string `db:"vnfc_id"`
		Algorithm string `db:"algorithm"`
		Key       []byte `db:"key"`
	}
	rows, err := all[row](s.pool.Query(
		ctx, "SELECT vnfc_id, algorithm, key FROM ssh_host_key WHERE vnfc_id = ANY($1)",
		hostKeyNames(instanceID, vnfcs),
	))
	if err != nil {
		return nil, fault("read host keys", err)
	}
	out := map[string]HostKey{}
	for _, r := range rows {
		out[strings.TrimPrefix(r.VNFC, hostKeyName(instanceID, ""))] = HostKey{Type: r.Algorithm, Key: r.Key}
	}
	return out, nil
}

// PinHostKey records a key as that of a VNFC of an instance unless one is recorded already, and returns the recorded
// one: of several callers at once all get the same. source says where the key comes from ("first use", "console").
func (s *Store) PinHostKey(
	ctx context.Context, instanceID, vnfc string, k HostKey, source string,
) (HostKey, error) {
	// DO UPDATE with the old value, because DO NOTHING returns no row.
	pinned, err := hostKey(s.pool.Query(ctx, `INSERT INTO ssh_host_key AS h (vnfc_id, algorithm, key, source) VALUES ($1, $2, $3, $4)
		ON CONFLICT (vnfc_id) DO UPDATE SET vnfc_id = h.vnfc_id RETURNING algorithm, key`,
		hostKeyName(instanceID, vnfc), k.Type, k.Key, source))
	if err != nil {
		return HostKey{}, fault("pin host key", err)
	}
	return *pinned, nil
}

// ForgetHostKeys removes the pinned keys of VNFCs of an instance, when their machines are gone or an operator accepts
// new ones.
func (s *Store) ForgetHostKeys(ctx context.Context, instanceID string, vnfcs ...string) error {
	_, err := s.pool.Exec(
		ctx, "DELETE FROM ssh_host_key WHERE vnfc_id = ANY($1)", hostKeyNames(instanceID, vnfcs),
	)
	return fault("forget host keys", err)
}

func hostKey(rows pgx.Rows, err error) (*HostKey, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (*HostKey, error) {
		k := &HostKey{}
		return k, row.Scan(&k.Type, &k.Key)
	})
}
