package store

import (
	"context"
	"time"
)

// keptOperations is how many operations of an existing instance are kept, whatever their age.
const keptOperations = 20

// pruneOperations deletes with the operations their phases and steps (ON DELETE CASCADE). It skips rows that a
// transaction holds, and the operation after which an inventory is to be repeated.
const pruneOperationsTail = ` AND o.state_entered < now() - $1::interval
		AND NOT EXISTS (SELECT FROM vnf_instance i WHERE i.id = o.instance_id AND (i.unobserved = o.id
			OR (SELECT count(*) FROM (SELECT FROM vnf_lcm_op_occ n WHERE n.instance_id = o.instance_id
				AND (n.started, n.id) > (o.started, o.id) LIMIT $2) newer) < $2))
		ORDER BY o.state_entered LIMIT $3 FOR UPDATE SKIP LOCKED)`

// PruneOperations deletes operations that ended before an age, at most limit of them, and returns how many. The newest
// ones of instances that exist are kept. An age of 0 keeps all.
func (s *Store) PruneOperations(ctx context.Context, age time.Duration, limit int) (int64, error) {
	if age == 0 {
		return 0, nil
	}
	tag, err := s.pool.Exec(ctx, "DELETE FROM vnf_lcm_op_occ WHERE id IN ("+
		"SELECT o.id FROM vnf_lcm_op_occ o WHERE o.state IN "+final+pruneOperationsTail, age, keptOperations, limit)
	return tag.RowsAffected(), fault("prune operations", err)
}
