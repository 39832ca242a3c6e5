package store

import (
	"context"
	"time"
)

// Node is one run of a gybe process.
type Node struct {
	ID      string    `db:"id"`
	Name    string    `db:"name"`
	Address string    `db:"address"`
	Version string    `db:"version"`
	Started time.Time `db:"started"`
	Seen    time.Time `db:"seen"` // at most about ten seconds ago while it lives
	// Ended is when it stopped or was found dead; nil while it lives.
	Ended *time.Time `db:"ended"`
	// Running is the number of operations it has claimed last and that are not at rest.
	Running int `db:"running"`
}

// Nodes lists live nodes, and those that ended within the last hour, by start.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	nodes, err := all[Node](s.pool.Query(ctx, `SELECT n.id, n.name, n.address, n.version, n.started, n.seen, n.ended,
			(SELECT count(*) FROM vnf_lcm_op_occ o WHERE o.node = n.name AND n.ended IS NULL
				AND o.state IN `+running+`) AS running
		FROM node n WHERE n.ended IS NULL OR n.ended > now() - interval '1 hour' ORDER BY n.started, n.id`))
	for i := range nodes {
		nodes[i].Started, nodes[i].Seen = nodes[i].Started.UTC(), nodes[i].Seen.UTC()
		if nodes[i].Ended != nil {
			end := nodes[i].Ended.UTC()
			nodes[i].Ended = &end
		}
	}
	return nodes, fault("list nodes", err)
}
