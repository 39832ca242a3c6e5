package store

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
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
	// Unavailable are the VIMs that do not answer to it.
	Unavailable []lcm.VimFault `db:"unavailable"`
}

// Nodes lists live nodes, and those that ended within the last hour, by start.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	nodes, err := all[Node](s.pool.Query(ctx, `SELECT n.id, n.name, n.address, n.version, n.started, n.seen, n.ended,
			CASE WHEN n.ended IS NULL THEN n.unavailable_vims END AS unavailable, (SELECT count(*) FROM vnf_lcm_op_occ o WHERE o.node = n.name AND n.ended IS NULL
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

// ReportVims stores the VIMs that do not answer to a node, for users of all nodes.
func (s *Store) ReportVims(ctx context.Context, nodeID string, vims []lcm.VimFault) error {
	raw, err := jsonb(vims)
	if err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, "UPDATE node SET unavailable_vims = $2 WHERE id = $1", nodeID, raw)
	return fault("store the availability of VIMs", err)
}

// UnavailableVims returns the VIMs that do not answer to a live node, by key; of several nodes the one that noticed it
// first.
func (s *Store) UnavailableVims(ctx context.Context) (map[string]lcm.VimFault, error) {
	found, err := all[struct {
		Unavailable []lcm.VimFault `db:"unavailable_vims"`
	}](s.pool.Query(ctx, "SELECT unavailable_vims FROM node WHERE ended IS NULL AND unavailable_vims IS NOT NULL"))
	if err != nil {
		return nil, fault("read the availability of VIMs", err)
	}
	out := map[string]lcm.VimFault{}
	for _, n := range found {
		for _, f := range n.Unavailable {
			if old, ok := out[f.Key]; !ok || f.Since.Before(old.Since) {
				out[f.Key] = f
			}
		}
	}
	return out, nil
}
