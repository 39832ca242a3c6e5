package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// packageRollbackStart refuses to go back once a node has the new version: kubeadm has no way back. While none has, nodes that were closed
// are opened again, and the machines may become what they were.
func (d *Driver) packageRollbackStart(ctx context.Context, w *lcm.Work) error {
	upgraded, err := d.undo(ctx, w)
	if err != nil {
		// Where the operation failed before the upgrade, the cluster may be down because of that, and is what the rollback has to mend.
		if ctx.Err() != nil || errors.Is(err, lcm.ErrFenced) || upgradeBegun(w.Op) {
			return err
		}
		w.Log.WarnContext(ctx, "the cluster cannot be asked before the rollback", "error", err)
		return nil
	}
	if len(upgraded) == 0 {
		return nil
	}
	return &lcm.Error{
		Code: lcm.CodeConflict, Title: "Kubernetes cannot be downgraded",
		Detail: "there is no way back to the former version of Kubernetes, because nodes have been upgraded: " + strings.Join(upgraded, "; "),
		Hint: "retry the operation, it goes on with the nodes that are left; or mark it failed: the cluster works with nodes of both versions, " +
			"and a later change of the package completes it",
	}
}

// upgradeBegun says whether nodes may have been upgraded: the operation failed there, or while it found out.
func upgradeBegun(op *lcm.Operation) bool {
	return op.Error != nil && (op.Error.Phase == "change_current_package_end" || op.Error.Phase == "change_current_package_rollback_start")
}

// undo opens the nodes that the operation has closed, and returns those that it has upgraded.
func (d *Driver) undo(ctx context.Context, w *lcm.Work) (upgraded []string, err error) {
	p, bad := parse(w.Instance.Params, w.Flavour, w.Instance.SSHKey)
	if len(bad) > 0 {
		return nil, lcm.Unprocessable(bad...)
	}
	c, err := resolve(w.Instance, p, d.o.SSHPort)
	if err != nil {
		return nil, err
	}
	in := &installer{d: d, w: w, p: p, c: c}
	in.lead = sync.OnceValues(func() (node, error) { return in.living(ctx, nil) })
	err = in.withAPI(ctx, func(api *kubernetes.Client) error {
		u := &upgrade{installer: in, api: api}
		s, err := u.state(ctx)
		if err != nil {
			return err
		}
		for _, n := range c.nodes() {
			if why := s.upgradedBy(n, w.Op.ID); why != "" {
				upgraded = append(upgraded, why)
			}
		}
		if len(upgraded) > 0 {
			return nil
		}
		return lcm.Each(ctx, d.o.Parallel, c.nodes(), func(ctx context.Context, n node) error { return reopen(ctx, api, s.of(n)) })
	})
	return upgraded, err
}

// upgradedBy says what an operation has upgraded on a node; "" when it has not.
func (s clusterState) upgradedBy(n node, op string) string {
	have := s.of(n)
	from := strings.Fields(have.Annotations[upgradeFrom])
	if len(from) < 2 || from[0] != op {
		return ""
	}
	if have.Version != from[1] {
		return fmt.Sprintf("%s has %s and had %s", n.name, have.Version, from[1])
	}
	if server := s.servers[n.name]; len(from) > 2 && server != from[2] {
		return fmt.Sprintf("the API server of %s is %s and was %s", n.name, server, from[2])
	}
	return ""
}
