package k8scluster

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// masterTimeout bounds the attempt to reach one master.
const masterTimeout = 15 * time.Second

// reachableMaster finds a master that accepts a login, and none of those in avoid.
func (s *session) reachableMaster(ctx context.Context, avoid []string) (node, error) {
	_, candidates := pick(s.t.masters, avoid)
	if len(candidates) == 0 {
		return node{}, lcm.Errorf(lcm.CodeUnprocessable, "the cluster has no master left")
	}
	if len(candidates) == 1 { // the first use shows whether it answers
		return candidates[0], nil
	}
	var first error
	for _, m := range candidates {
		err := s.reach(ctx, m)
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil {
			return node{}, err
		}
		if first == nil {
			first = nodeError(m, "look for a master that answers", err)
		}
	}
	return node{}, first
}

// reach logs in to a machine and does nothing there.
func (s *session) reach(ctx context.Context, n node) error {
	inner, cancel := context.WithTimeoutCause(ctx, masterTimeout, errSlow)
	defer cancel()

	_, release, err := s.o.Connect(inner, n.target)
	if err != nil {
		if ctx.Err() == nil && inner.Err() != nil {
			err = &remote.Error{Kind: remote.KindTimeout, Op: "connect", Target: n.target.String(), Err: errSlow}
		}
		return err
	}
	release()
	return nil
}
