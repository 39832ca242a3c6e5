package k8scluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const titleServer = "wait for API server"

// revertEnd waits until the cluster of the snapshot works: the machines have booted, the API server answers, and the
// kubelets of all nodes have reported since. Then it publishes the cluster again: a cluster that was rebuilt after the
// snapshot had other credentials.
func (d *Driver) revertEnd(ctx context.Context, w *lcm.Execution) error {
	err := w.Step(ctx, titleServer, "", func(ctx context.Context, s *lcm.Step) error {
		return d.o.patience("the API server of the cluster does not answer").await(ctx, w, s,
			func(ctx context.Context) (string, error) { return "", d.answers(ctx, w, s) })
	})
	if err != nil {
		return err
	}
	op, err := d.begin(ctx, w, nil, nil)
	if err != nil {
		return err
	}
	err = op.cluster.withAPI(ctx, func(api *kubernetes.Client) error {
		if err := w.Step(ctx, titleReady, "", func(ctx context.Context, s *lcm.Step) error {
			return op.waitReverted(ctx, s, api)
		}); err != nil {
			return err
		}
		if err := op.cluster.ensureAccount(ctx, api); err != nil {
			return err
		}
		if err := op.cluster.label(ctx, api, op.t.nodes()); err != nil {
			return err
		}
		return op.cluster.publish(ctx, api)
	})
	if err != nil {
		return err
	}
	op.tidy(ctx)
	return nil
}

// patience is how long the driver waits for a reverted cluster.
func (o Options) patience(detail string) patience {
	return patience{
		limit: o.ReadyTimeout, title: "Cluster not reverted", detail: detail,
		hint: "see the kubelet's log on the machine (journalctl -u kubelet) and kubectl describe node; retry the " +
			"operation when the machines work, or revert to another snapshot",
	}
}

// answers asks the API server, through a master that is looked for each time: machines boot one after the other.
func (d *Driver) answers(ctx context.Context, w *lcm.Execution, s *lcm.Step) error {
	op, err := d.begin(ctx, w, nil, nil)
	if err != nil {
		return err
	}
	s.Detail(op.t.url())
	return op.cluster.withAPI(ctx, func(api *kubernetes.Client) error { return api.Ready(ctx) })
}

// waitReverted waits until all nodes are Ready and etcd is complete. At first the cluster says what was stored about
// its nodes at the time of the snapshot, so their kubelets must have renewed their leases since.
func (op *operation) waitReverted(ctx context.Context, s *lcm.Step, api *kubernetes.Client) error {
	var stored map[string]time.Time
	if _, err := s.Load(&stored); err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	want := op.t.nodes()
	err := op.o.patience("the cluster of the snapshot is not complete").await(ctx, op.w, s,
		func(ctx context.Context) (string, error) {
			leases, err := api.NodeLeases(ctx)
			if err != nil {
				return "", err
			}
			if stored == nil {
				stored = leases
				if err := s.Save(ctx, stored); err != nil {
					return "", err
				}
			}
			nodes, err := api.Nodes(ctx)
			if err != nil {
				return "", err
			}
			if reasons := notReverted(want, nodes, stored, leases); len(reasons) > 0 {
				return fmt.Sprintf("%d of %d nodes are Ready; %s", len(want)-len(reasons), len(want),
					strings.Join(reasons, "; ")), nil
			}
			return "", op.cluster.etcdHealthy(ctx)
		})
	if err == nil {
		s.Detail(fmt.Sprintf("%d nodes are Ready", len(want)))
	}
	return err
}

// notReverted lists the nodes that do not work yet, with the reason.
func notReverted(want []node, nodes []kubernetes.Node, stored, leases map[string]time.Time) []string {
	var out []string
	for _, n := range want {
		renewed, has := leases[n.name]
		switch before, had := stored[n.name]; {
		case len(notReady([]node{n}, nodes)) > 0:
			out = append(out, notReady([]node{n}, nodes)...)
		case !has, had && renewed.Equal(before):
			out = append(out, n.name+": its kubelet has not reported since")
		}
	}
	return out
}

// requireConsistentDisks refuses a snapshot of several masters that run. Their disks are copied one after the other,
// and a member of etcd that has confirmed more than the others have stored cannot start with them. Nothing else in a
// cluster needs disks of the same moment.
func requireConsistentDisks(r lcm.Request) error {
	p, bad := parse(r.AdditionalParams, r.Flavour, loginKey(r))
	if len(bad) > 0 {
		return lcm.Unprocessable(bad...)
	}
	return consistentDisks(r, p)
}

// consistentDisks is requireConsistentDisks with parsed parameters.
func consistentDisks(r lcm.Request, p params) error {
	if r.Instance.Instantiated == nil {
		return nil
	}
	masters, running := 0, 0
	for _, c := range r.Instance.Instantiated.VnfcInfo {
		if c.VduID != p.master.vdu {
			continue
		}
		masters++
		if c.VnfcState != sol.VnfOperationalStateStopped {
			running++
		}
	}
	if masters < 2 || running == 0 {
		return nil
	}
	return lcm.Errorf(lcm.CodeConflict, "%d of the %d masters of the cluster run, and their disks would be of "+
		"different moments: etcd could not start with them again", running, masters).
		WithHint("stop the VNF, take the snapshot, and start the VNF: operate with changeStateTo STOPPED and STARTED")
}

// requireSameCluster refuses a revert after which the machines could not be the cluster of the snapshot.
func (d *Driver) requireSameCluster(r lcm.Request) error {
	if r.Scope == nil || r.Instance.Instantiated == nil {
		return nil
	}
	if len(r.Scope.VNFCs) < len(r.Instance.Instantiated.VnfcInfo) {
		return lcm.Unprocessable(lcm.InvalidParam{
			Pointer: "/vnfcSnapshotInfoId",
			Detail: "single nodes of a Kubernetes cluster cannot be reverted: etcd would have members of different " +
				"times. Revert the whole cluster, or heal the node.",
		})
	}
	if stopped := stoppedVNFCs(r.Instance.Instantiated.VnfcInfo); len(stopped) > 0 {
		c := checker{Request: r}
		return c.notStarted("every machine of the cluster", stopped)
	}
	if r.Snapshot == nil || r.Snapshot.Instance == nil {
		return nil
	}
	p, bad := parse(r.AdditionalParams, r.Flavour, loginKey(r))
	if len(bad) > 0 {
		return lcm.Unprocessable(bad...)
	}
	had, err := resolve(r.Snapshot.Instance, p, d.o.SSHPort)
	if err != nil {
		return err
	}
	has, err := resolve(r.Instance, p, d.o.SSHPort)
	if err != nil {
		return err
	}
	moved := had.differs(has)
	if len(moved) == 0 {
		return nil
	}
	return lcm.Errorf(lcm.CodeConflict, "machines have other addresses than in the snapshot, for which its "+
		"certificates and its members of etcd were made: %s", strings.Join(moved, "; ")).
		WithHint("VNFCs that were removed or recreated since the snapshot cannot go back to it: take another " +
			"snapshot, or terminate and instantiate the VNF")
}

// differs lists what has another address in another topology with as many nodes.
func (t *topology) differs(other *topology) []string {
	var out []string
	note := func(what, had, has string) {
		if had != has {
			out = append(out, fmt.Sprintf("%s has %s and had %s", what, has, had))
		}
	}
	note("the cluster", t.internal, other.internal)
	is := other.nodes()
	for i, n := range t.nodes() {
		if i < len(is) {
			note("VNFC "+is[i].vnfc, n.ip, is[i].ip)
		}
	}
	return out
}
