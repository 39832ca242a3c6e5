package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// setProtection leaves rendered JSON valid: it does not contain the protection.
const setProtection = `WITH u AS (UPDATE vnf_instance SET protection = $3, version = version + 1, updated = now(),
		rendered_version = rendered_version + 1
	WHERE id = $1 AND project = $2 AND protection IS DISTINCT FROM $3 RETURNING id, project, state),
	told AS (INSERT INTO event (kind, instance_id, project, body)
		SELECT '` + KindInstanceUpdated + `', id, project, jsonb_build_object('state', state) FROM u)
	SELECT EXISTS (SELECT FROM vnf_instance WHERE id = $1 AND project = $2)`

// SetProtection implements lcm.Records. It waits for an admission that has locked the instance, and an admission that
// comes later reads what it has written.
func (s *Records) SetProtection(ctx context.Context, id string, p *lcm.Protection) error {
	if !known(id) {
		return notFound("VNF instance", id)
	}
	var raw []byte
	if p != nil {
		var err error
		if raw, err = json.Marshal(p); err != nil {
			return err
		}
		raw = noNUL(raw)
	}
	exists, err := value[bool](s.pool.Query(ctx, setProtection, id, s.project, raw))
	if err == nil && !exists {
		return notFound("VNF instance", id)
	}
	return fault("set the protection", err)
}

// lockProtection reads the protection of an instance, which does not change until tx ends.
func (s *Store) lockProtection(ctx context.Context, tx pgx.Tx, instanceID string) (*lcm.Protection, error) {
	p, err := value[*lcm.Protection](tx.Query(
		ctx, "SELECT protection FROM vnf_instance WHERE id = $1 FOR SHARE", instanceID,
	))
	return p, orNotFound(err, "VNF instance", instanceID)
}
