package k8scluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	titleCheck    = "check cluster"
	titleUpgrade  = "upgrade node"
	titleHealthy  = "check node"
	titleUncordon = "uncordon node"
)

// upgrade brings a cluster to another version of Kubernetes, on the machines that it has: the masters one after the other, then the workers in
// batches. Each node is drained, upgraded, looked at and opened again. What a node needs is seen on the node: one that has the version is
// passed over, whoever brought it there.
//
//	check cluster ┬ drain ─ upgrade (apply) ─ check ─ uncordon      first master
//	              ├ drain ─ upgrade ─ check ─ uncordon              every other master, one by one
//	              └ drain ─ upgrade ─ check ─ uncordon              workers, a batch at a time
type upgrade struct {
	*installer
	api  *kubernetes.Client
	want version
}

// packageStart looks, before any machine is touched, whether the cluster can be upgraded.
func (d *Driver) packageStart(ctx context.Context, w *lcm.Work) error {
	return d.upgrading(ctx, w, func(u *upgrade) error { return u.w.Step(ctx, titleCheck, "", u.check) })
}

// packageEnd upgrades the cluster.
func (d *Driver) packageEnd(ctx context.Context, w *lcm.Work) error {
	return d.upgrading(ctx, w, func(u *upgrade) error {
		if others, _ := pick(u.c.nodes(), fresh(w)); len(others) > 0 {
			return &lcm.Error{
				Code: lcm.CodeConflict, Title: "Machines were replaced",
				Detail: fmt.Sprintf("the new package's templates have replaced the machines of %s, which are no nodes of the cluster any more", list(others)),
				Hint:   "mark the operation failed and heal these VNFCs; a package that upgrades a cluster keeps its machines",
			}
		}
		// Machines that got another flavour have been restarted, and may have been moved.
		if err := u.w.Step(ctx, titleCheck, "", func(ctx context.Context, s *lcm.Step) error { return u.wait(ctx, s, u.d.o.ReadyTimeout) }); err != nil {
			return err
		}
		if err := u.rollOut(ctx); err != nil {
			return err
		}
		if err := u.welcome(ctx, u.api, u.c.nodes()); err != nil {
			return err
		}
		u.tidy(ctx)
		return nil
	})
}

// upgrading calls fn for the version that the new package, or the request, asks for.
func (d *Driver) upgrading(ctx context.Context, w *lcm.Work, fn func(*upgrade) error) error {
	in, err := d.installer(ctx, w)
	if err != nil {
		return err
	}
	if in.foreign {
		return lcm.Errorf(lcm.CodeUnprocessable, "the script %s knows no phases, so it cannot upgrade a node", in.p.script)
	}
	want, ok := targetVersion(in.p.kubernetesVersion, in.script)
	if !ok {
		return lcm.Errorf(lcm.CodeUnprocessable, "neither the request nor the script %s says which version of Kubernetes is wanted", in.p.script)
	}
	return in.withAPI(ctx, func(api *kubernetes.Client) error { return fn(&upgrade{installer: in, api: api, want: want}) })
}

func (u *upgrade) rollOut(ctx context.Context) error {
	for i, m := range u.c.masters {
		if err := u.node(ctx, m); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		// A minor alone means its newest patch. All nodes get the one that the first has found.
		s, err := u.state(ctx)
		if err != nil {
			return err
		}
		if v, ok := parseVersion(s.of(m).Version); ok {
			u.want = v
		}
	}
	for batch := range slices.Chunk(u.c.workers, u.p.batchOf(len(u.c.workers))) {
		if err := lcm.Each(ctx, 0, batch, u.node); err != nil {
			return err
		}
	}
	return nil
}

// batchOf is how many of so many workers are upgraded at the same time: as many as the request says, or a tenth of them.
func (p params) batchOf(workers int) int {
	if p.upgradeBatch > 0 {
		return p.upgradeBatch
	}
	return max(1, workers/10)
}

// node upgrades one node.
func (u *upgrade) node(ctx context.Context, n node) error {
	err := u.w.Step(ctx, titleDrain, n.vnfc, func(ctx context.Context, s *lcm.Step) error { return u.clear(ctx, s, n) })
	if err != nil {
		return err
	}
	err = u.w.Step(ctx, titleUpgrade, n.vnfc, func(ctx context.Context, s *lcm.Step) error { return u.upgrade(ctx, s, n) })
	if err != nil {
		return err
	}
	err = u.w.Step(ctx, titleHealthy, n.vnfc, func(ctx context.Context, s *lcm.Step) error { return u.healthy(ctx, s, n) })
	if err != nil {
		return err
	}
	return u.w.Step(ctx, titleUncordon, n.vnfc, func(ctx context.Context, s *lcm.Step) error { return u.open(ctx, s, n) })
}

// upgrade runs the script on a node. A run that was begun is followed to its end, also when the node has the version meanwhile.
func (u *upgrade) upgrade(ctx context.Context, s *lcm.Step, n node) error {
	var cp checkpoint
	begun, err := s.Load(&cp)
	if err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	if !begun || cp.Ended {
		st, err := u.state(ctx)
		if err != nil {
			return err
		}
		if st.lacks(n, u.want) == "" {
			s.Detail(n.String() + " has " + st.of(n).Version + " already")
			return nil
		}
	}
	in := *u.installer
	in.p.kubernetesVersion = u.want.String()
	return in.run(titleUpgrade, phaseUpgrade, n, s).follow(ctx)
}
