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
	titleHealthy  = "check node"
	titleUncordon = "uncordon node"
)

// upgrade brings a cluster to another version of Kubernetes, on the machines that it has: the masters one after the
// other, then the workers in batches, and the pods' network at the end. Each node is drained, upgraded, checked and
// uncordoned. The decisions follow the state of the nodes: one that has the version is skipped, no matter who upgraded
// it.
//
//	check cluster ┬ drain ─ upgrade (apply) ─ check ─ uncordon      first master
//	              ├ drain ─ upgrade ─ check ─ uncordon              every other master, one by one
//	              ├ drain ─ upgrade ─ check ─ uncordon              workers, a batch at a time
//	              └ upgrade network                                 through the first master
type upgrade struct {
	*operation
	api  *kubernetes.Client
	want version
}

// packageStart checks, before any machine is touched, whether the cluster can be upgraded.
func (d *Driver) packageStart(ctx context.Context, w *lcm.Execution) error {
	return d.upgrading(ctx, w, func(u *upgrade) error { return u.w.Step(ctx, titleCheck, "", u.check) })
}

// packageEnd upgrades the cluster.
func (d *Driver) packageEnd(ctx context.Context, w *lcm.Execution) error {
	return d.upgrading(ctx, w, func(u *upgrade) error {
		if replaced, _ := pick(u.t.nodes(), newVNFCs(w)); len(replaced) > 0 {
			return &lcm.Error{
				Code: lcm.CodeConflict, Title: "Machines were replaced",
				Detail: fmt.Sprintf(
					"the new package's templates have replaced the machines of %s, which are not nodes of the "+
						"cluster any more",
					list(replaced),
				),
				Hint: "mark the operation failed and heal these VNFCs; a package that upgrades a cluster keeps its " +
					"machines",
			}
		}
		// Machines that got another flavour have been restarted, and may have been moved.
		if err := u.w.Step(ctx, titleCheck, "", func(ctx context.Context, s *lcm.Step) error {
			return u.waitHealthy(ctx, s, u.o.ReadyTimeout)
		}); err != nil {
			return err
		}
		if err := u.rollOut(ctx); err != nil {
			return err
		}
		if err := u.UpgradeNetwork(ctx, u.t.masters[0]); err != nil {
			return err
		}
		if err := u.cluster.waitReadyAndLabel(ctx, u.api, u.t.nodes()); err != nil {
			return err
		}
		u.tidy(ctx)
		return nil
	})
}

// upgrading calls fn for the version that the new package, or the request, asks for.
func (d *Driver) upgrading(ctx context.Context, w *lcm.Execution, fn func(*upgrade) error) error {
	op, err := d.begin(ctx, w, nil, nil)
	if err != nil {
		return err
	}
	if !op.Traits().upgrades {
		return lcm.Errorf(lcm.CodeUnprocessable, "the script %s has no phase %s, so it cannot upgrade a node",
			op.p.script, phaseUpgrade)
	}
	want, ok := targetVersion(op.p.kubernetesVersion, op.script)
	if !ok {
		return lcm.Errorf(
			lcm.CodeUnprocessable, "neither the request nor the script %s names a version of Kubernetes", op.p.script,
		)
	}
	return op.cluster.withAPI(
		ctx, func(api *kubernetes.Client) error { return fn(&upgrade{operation: op, api: api, want: want}) },
	)
}

func (u *upgrade) rollOut(ctx context.Context) error {
	for i, m := range u.t.masters {
		if err := u.node(ctx, m); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		// A minor version alone means its newest patch. All nodes get the one that the first master has found.
		s, err := readState(ctx, u.api)
		if err != nil {
			return err
		}
		if v, ok := parseVersion(s.of(m).Version); ok {
			u.want = v
		}
	}
	for batch := range slices.Chunk(u.t.workers, u.p.batchOf(len(u.t.workers))) {
		if err := lcm.Each(ctx, 0, batch, u.node); err != nil {
			return err
		}
	}
	return nil
}

// batchOf is how many of the workers are upgraded at the same time: the request's number, or a tenth of them.
func (p params) batchOf(workers int) int {
	if p.upgradeBatch > 0 {
		return p.upgradeBatch
	}
	return max(1, workers/10)
}

// node upgrades one node.
func (u *upgrade) node(ctx context.Context, n node) error {
	for _, step := range []struct {
		title string
		do    func(context.Context, *lcm.Step, node) error
	}{
		{titleDrain, u.closeAndDrain},
		{titleUpgrade, u.upgradeNode},
		{titleHealthy, u.waitUpgraded},
		{titleUncordon, u.uncordon},
	} {
		if err := u.w.Step(ctx, step.title, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
			return step.do(ctx, s, n)
		}); err != nil {
			return err
		}
	}
	return nil
}

// upgradeNode lets the Installer upgrade a node. A run that has begun is followed to its end, also when the node has
// the version by then.
func (u *upgrade) upgradeNode(ctx context.Context, s *lcm.Step, n node) error {
	var cp checkpoint
	begun, err := s.Load(&cp)
	if err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	if !begun || cp.Ended {
		st, err := readState(ctx, u.api)
		if err != nil {
			return err
		}
		if st.lacks(n, u.want) == "" {
			s.Detail(n.String() + " has " + st.of(n).Version + " already")
			return nil
		}
	}
	return u.Upgrade(ctx, s, n, u.want)
}
