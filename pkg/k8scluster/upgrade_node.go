package k8scluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Annotations of nodes. They tell a later pass of the operation, also its rollback, what was done to a node: the
// records of an operation's steps are those of one pass only.
const (
	// cordonedBy names the operation that has closed the node. A node that its operator had closed has none, and stays
	// closed.
	cordonedBy = "gybe/cordoned-by"
	// upgradeFrom is "operation kubelet API-server": the versions that the node had when the operation came to it.
	upgradeFrom = "gybe/upgrade-from"
)

// closeAndDrain empties a node that is going to be upgraded. The only node of a cluster is not emptied: its pods have
// nowhere to go.
func (u *upgrade) closeAndDrain(ctx context.Context, s *lcm.Step, n node) error {
	st, err := readState(ctx, u.api)
	if err != nil {
		return err
	}
	if st.lacks(n, u.want) == "" {
		s.Detail(n.String() + " has " + st.of(n).Version + " already")
		return nil
	}
	have := st.of(n)
	marks := map[string]string{}
	if !strings.HasPrefix(have.Annotations[upgradeFrom], u.w.Op.ID+" ") {
		marks[upgradeFrom] = strings.Join([]string{u.w.Op.ID, orUnknown(have.Version), st.servers[n.name]}, " ")
	}
	if len(st.nodes) == 1 {
		s.Detail(n.String() + " is the only node; its pods stay")
		return u.api.Mark(ctx, n.name, marks, nil)
	}
	pods, err := u.api.Occupants(ctx, n.name)
	if err != nil {
		return err
	}
	if err := refuseBarePods(n, pods); err != nil {
		return err
	}
	var closed *bool
	if !have.Closed || have.Annotations[cordonedBy] != "" {
		closed = new(true)
		marks[cordonedBy] = u.w.Op.ID
	}
	if err := u.api.Mark(ctx, n.name, marks, closed); err != nil {
		return err
	}
	return u.cluster.drain(ctx, s, u.api, n)
}

// refuseBarePods refuses to evict pods that have no controller to start them again.
func refuseBarePods(n node, pods []kubernetes.Pod) error {
	var names []string
	for _, p := range pods {
		if p.Bare && !p.Leaving {
			names = append(names, p.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return &lcm.Error{
		Code: lcm.CodeConflict, Title: "Node not drained",
		Detail: fmt.Sprintf(
			"node %s of VNFC %s has pods without a controller, which would not be started again on another node: %s",
			n.name, n.vnfc, strings.Join(names, ", "),
		),
		Hint: "delete these pods, or run them by a Deployment, and retry the operation",
	}
}

// uncordon lets a node that an upgrade has closed take pods again.
func (u *upgrade) uncordon(ctx context.Context, s *lcm.Step, n node) error {
	st, err := readState(ctx, u.api)
	if err != nil {
		return err
	}
	s.Detail(n.String())
	return reopen(ctx, u.api, st.of(n))
}

// reopen uncordons a node if an upgrade has cordoned it.
func reopen(ctx context.Context, api *kubernetes.Client, n kubernetes.Node) error {
	if n.Annotations[cordonedBy] == "" {
		return nil
	}
	return api.Mark(ctx, n.Name, map[string]string{cordonedBy: ""}, new(false))
}

// waitUpgraded waits until an upgraded node and the cluster are healthy. Only then the next node is touched.
func (u *upgrade) waitUpgraded(ctx context.Context, s *lcm.Step, n node) error {
	hint := "see kubectl describe node and the kubelet's log on the node; retry the operation when the node works"
	err := u.await(
		ctx, s, u.o.ReadyTimeout, "node "+n.name+" of VNFC "+n.vnfc+" is not healthy after its upgrade", hint,
		func(ctx context.Context) (string, error) {
			if err := u.api.Ready(ctx); err != nil {
				return "", err
			}
			st, err := readState(ctx, u.api)
			if err != nil {
				return "", err
			}
			if why := notReady([]node{n}, st.nodes); len(why) > 0 {
				return why[0], nil
			}
			if why := st.lacks(n, u.want); why != "" {
				return n.name + ": " + why, nil
			}
			if n.role == roleMaster {
				return "", u.cluster.etcdHealthy(ctx)
			}
			return "", nil
		})
	if err == nil {
		s.Detail(n.String() + " is Ready")
	}
	return err
}
