package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// packageRollbackStart refuses to roll back once a node has the new version: kubeadm cannot downgrade. While no node
// has it, nodes that were closed are opened again, and the machines may be restored.
func (d *Driver) packageRollbackStart(ctx context.Context, w *lcm.Execution) error {
	upgraded, err := d.undo(ctx, w)
	if err != nil {
		// When the operation failed before the upgrade, the cluster may be down because of that, and the rollback
		// repairs it.
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
		Detail: "the previous version of Kubernetes cannot be restored, because nodes have been upgraded: " +
			strings.Join(upgraded, "; "),
		Hint: "retry the operation, it goes on with the remaining nodes; or mark it failed: the cluster works with " +
			"nodes of both versions, and a later change of the package completes it",
	}
}

// upgradeBegun says whether nodes may have been upgraded: the operation failed there, or while the rollback checked it.
func upgradeBegun(op *lcm.Operation) bool {
	if op.Error == nil {
		return false
	}
	at := lcm.Hook(op.Error.Phase)
	return at == lcm.HookChangeVnfpkgEnd || at == lcm.HookChangeVnfpkgRollbackStart
}

// undo opens the nodes that the operation has closed, and returns those that it has upgraded.
func (d *Driver) undo(ctx context.Context, w *lcm.Execution) (upgraded []string, err error) {
	additional, err := w.Instance.Params.Decode()
	if err != nil {
		return nil, err
	}
	s, err := d.session(ctx, w, additional, nil)
	if err != nil {
		return nil, err
	}
	c := &Cluster{session: s}
	err = c.withAPI(ctx, func(api *kubernetes.Client) error {
		st, err := readState(ctx, api)
		if err != nil {
			return err
		}
		for _, n := range s.t.nodes() {
			if why := st.upgradedBy(n, w.Op.ID); why != "" {
				upgraded = append(upgraded, why)
			}
		}
		if len(upgraded) > 0 {
			return nil
		}
		return lcm.Each(ctx, d.o.Parallel, s.t.nodes(), func(ctx context.Context, n node) error {
			return reopen(ctx, api, st.of(n))
		})
	})
	return upgraded, err
}

// upgradedBy names the part of a node that an operation has upgraded; "" when there is none.
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
