package k8scluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Annotations of nodes. Whoever goes on with an upgrade, also in the way back, finds in them what was done to a node: the records of an
// operation's steps are those of one pass only.
const (
	// cordonedBy names the operation that has closed the node; one that its operator had closed has none, and stays closed.
	cordonedBy = "gybe/cordoned-by"
	// upgradeFrom is "operation kubelet API-server": the versions that the node had when the operation came to it.
	upgradeFrom = "gybe/upgrade-from"
)

// clusterState is what the cluster says of its nodes.
type clusterState struct {
	nodes   []kubernetes.Node
	servers map[string]string // version of the API server, by node
}

func (u *upgrade) state(ctx context.Context) (clusterState, error) {
	nodes, err := u.api.Nodes(ctx)
	if err != nil {
		return clusterState{}, err
	}
	servers, err := u.api.ControlPlane(ctx)
	return clusterState{nodes, servers}, err
}

// of is what is known of a node; a node that is not there has no version.
func (s clusterState) of(n node) kubernetes.Node {
	if i := slices.IndexFunc(s.nodes, func(k kubernetes.Node) bool { return k.Name == n.name }); i >= 0 {
		return s.nodes[i]
	}
	return kubernetes.Node{}
}

// versions are those of the node's kubelet and, on a master, its API server.
func (s clusterState) versions(n node) map[string]string {
	out := map[string]string{"kubelet": s.of(n).Version}
	if n.role == roleMaster {
		out["API server"] = s.servers[n.name]
	}
	return out
}

// lacks says what on a node has another version than the one that is wanted; "" when nothing has.
func (s clusterState) lacks(n node, want version) string {
	var words []string
	for what, is := range s.versions(n) {
		if v, ok := parseVersion(is); !ok || !want.takes(v) {
			words = append(words, fmt.Sprintf("its %s is %s", what, orNone(is)))
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func orNone(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// clear empties a node that has to be upgraded. The only node of a cluster is not emptied: its pods have nowhere to go.
func (u *upgrade) clear(ctx context.Context, s *lcm.Step, n node) error {
	st, err := u.state(ctx)
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
		marks[upgradeFrom] = strings.Join([]string{u.w.Op.ID, orNone(have.Version), st.servers[n.name]}, " ")
	}
	if len(st.nodes) == 1 {
		s.Detail(n.String() + " is the only node; its pods stay")
		return u.api.Mark(ctx, n.name, marks, nil)
	}
	pods, err := u.api.Occupants(ctx, n.name)
	if err != nil {
		return err
	}
	if err := lonely(n, pods); err != nil {
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
	return u.drain(ctx, s, u.api, n)
}

// lonely refuses to evict pods that nobody would start again.
func lonely(n node, pods []kubernetes.Pod) error {
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
		Detail: fmt.Sprintf("node %s of VNFC %s has pods without a controller, which nobody would start again elsewhere: %s", n.name, n.vnfc, strings.Join(names, ", ")),
		Hint:   "delete these pods, or have a Deployment run them, and retry the operation",
	}
}

// open lets a node that an upgrade has closed take pods again.
func (u *upgrade) open(ctx context.Context, s *lcm.Step, n node) error {
	st, err := u.state(ctx)
	if err != nil {
		return err
	}
	s.Detail(n.String())
	return reopen(ctx, u.api, st.of(n))
}

func reopen(ctx context.Context, api *kubernetes.Client, n kubernetes.Node) error {
	if n.Annotations[cordonedBy] == "" {
		return nil
	}
	return api.Mark(ctx, n.Name, map[string]string{cordonedBy: ""}, new(false))
}

// check wants a cluster that can lose a node for a while, with versions from which the wanted one can be reached.
func (u *upgrade) check(ctx context.Context, s *lcm.Step) error {
	if err := u.wait(ctx, s, checkTimes*u.d.o.CommandTimeout); err != nil {
		return err
	}
	st, err := u.state(ctx)
	if err != nil {
		return err
	}
	todo := 0
	for _, n := range u.c.nodes() {
		for what, is := range st.versions(n) {
			if bad := obstacle(is, u.want); bad != "" {
				return &lcm.Error{
					Code: lcm.CodeConflict, Title: "Version cannot be reached",
					Detail: fmt.Sprintf("the %s of node %s is %s: %s", what, n.name, orNone(is), bad),
					Hint:   "roll the operation back and choose another version; " + ParamKey + ".kubernetes_version names it",
				}
			}
		}
		if st.lacks(n, u.want) != "" {
			todo++
		}
	}
	s.Detail(fmt.Sprintf("%d of %d nodes to be upgraded to %s", todo, len(u.c.nodes()), u.want))
	return nil
}

// checkTimes is how many times CommandTimeout a cluster gets to become healthy before its machines are touched.
const checkTimes = 3

// wait waits until the cluster is healthy.
func (u *upgrade) wait(ctx context.Context, s *lcm.Step, limit time.Duration) error {
	return u.await(ctx, s, limit, "the cluster is not healthy", "roll the operation back and heal the nodes that are not Ready, or mend them and retry it", u.unhealthy)
}

// obstacle says why a version cannot be reached from what a node has, as it has told; "" when it can.
func obstacle(is string, want version) string {
	v, ok := parseVersion(is)
	if !ok {
		return "nobody can tell whether " + want.String() + " can be reached from there"
	}
	return unreachable(v, want)
}

// unreachable says why one version cannot be reached from another; "" when it can.
func unreachable(from, to version) string {
	switch {
	case to.below(from):
		return fmt.Sprintf("%s is older, and Kubernetes has no way back", to)
	case to.minor > from.minor+1:
		return fmt.Sprintf("%s is %d minor versions newer, and kubeadm goes one at a time", to, to.minor-from.minor)
	}
	return ""
}

// unhealthy says what is wrong with the cluster: the API server at the cluster's address, the nodes, etcd. A node that the operation has begun
// to upgrade may be down: that is what the operation goes on with.
func (u *upgrade) unhealthy(ctx context.Context) (string, error) {
	if err := u.api.Ready(ctx); err != nil {
		return "", err
	}
	st, err := u.state(ctx)
	if err != nil {
		return "", err
	}
	etcd := true
	var down []string
	for _, n := range u.c.nodes() {
		why := missing([]node{n}, st.nodes)
		switch {
		case len(why) == 0:
		case strings.HasPrefix(st.of(n).Annotations[upgradeFrom], u.w.Op.ID+" "):
			etcd = etcd && n.role != roleMaster
		default:
			down = append(down, why...)
		}
	}
	if len(down) > 0 || !etcd {
		return strings.Join(down, "; "), nil
	}
	return "", u.etcdHealthy(ctx)
}

// etcdHealthy asks all members of etcd.
func (u *upgrade) etcdHealthy(ctx context.Context) error {
	m, err := u.lead()
	if err != nil {
		return err
	}
	_, err = u.etcd(ctx, m, "endpoint health --cluster")
	return err
}

// healthy waits until the cluster is well with an upgraded node, which is the condition for touching the next.
func (u *upgrade) healthy(ctx context.Context, s *lcm.Step, n node) error {
	hint := "kubectl describe node and the kubelet's log on the node tell more; retry the operation when it is mended"
	err := u.await(ctx, s, u.d.o.ReadyTimeout, "node "+n.name+" of VNFC "+n.vnfc+" is not well after its upgrade", hint, func(ctx context.Context) (string, error) {
		if err := u.api.Ready(ctx); err != nil {
			return "", err
		}
		st, err := u.state(ctx)
		if err != nil {
			return "", err
		}
		if why := missing([]node{n}, st.nodes); len(why) > 0 {
			return why[0], nil
		}
		if why := st.lacks(n, u.want); why != "" {
			return n.name + ": " + why, nil
		}
		if n.role == roleMaster {
			return "", u.etcdHealthy(ctx)
		}
		return "", nil
	})
	if err == nil {
		s.Detail(n.String() + " is Ready")
	}
	return err
}

// await looks until nothing is wrong. What cannot be asked for a while, because an API server is being replaced, is wrong as well.
func (u *upgrade) await(ctx context.Context, s *lcm.Step, limit time.Duration, title, hint string, look func(context.Context) (string, error)) error {
	began := s.Started()
	if e := u.w.Op.StateEntered; e.After(began) { // a retry has all the time again
		began = e
	}
	pause := backoff{first: 200 * time.Millisecond, longest: 2 * time.Second}
	said := ""
	for {
		why, err := look(ctx)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil {
			why = lcm.AsError(err).Error()
		}
		if why == "" {
			return nil
		}
		if why != said {
			said = why
			if err := s.Waits(ctx, "waits: "+why); err != nil {
				return err
			}
		}
		if u.w.Clock.Now().Sub(began) >= limit {
			return &lcm.Error{Code: lcm.CodeTimeout, Title: "Upgrade stopped", Detail: fmt.Sprintf("%s (for %s): %s", title, limit, why), Hint: hint, Cause: err}
		}
		if err := pause.wait(ctx); err != nil {
			return lcm.Wait(0, why)
		}
	}
}
