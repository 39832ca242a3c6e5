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

// clusterState is what the cluster reports about its nodes.
type clusterState struct {
	nodes   []kubernetes.Node
	servers map[string]string // version of the API server, by node
}

func readState(ctx context.Context, api *kubernetes.Client) (clusterState, error) {
	nodes, err := api.Nodes(ctx)
	if err != nil {
		return clusterState{}, err
	}
	servers, err := api.ControlPlane(ctx)
	return clusterState{nodes, servers}, err
}

// of returns the report about a node; a node that is not in the cluster has no version.
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

// lacks names the parts of a node that have another version than the wanted one; "" when none has.
func (s clusterState) lacks(n node, want version) string {
	var words []string
	for what, is := range s.versions(n) {
		if v, ok := parseVersion(is); !ok || !want.takes(v) {
			words = append(words, fmt.Sprintf("its %s is %s", what, orUnknown(is)))
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// check requires a cluster that can lose a node for a while, with versions from which the wanted one can be reached.
func (u *upgrade) check(ctx context.Context, s *lcm.Step) error {
	if err := u.waitHealthy(ctx, s, checkTimes*u.o.CommandTimeout); err != nil {
		return err
	}
	st, err := readState(ctx, u.api)
	if err != nil {
		return err
	}
	todo := 0
	for _, n := range u.t.nodes() {
		for what, is := range st.versions(n) {
			if bad := versionSkew(is, u.want); bad != "" {
				return &lcm.Error{
					Code: lcm.CodeConflict, Title: "Version cannot be reached",
					Detail: fmt.Sprintf("the %s of node %s is %s: %s", what, n.name, orUnknown(is), bad),
					Hint: "roll the operation back and choose another version; " + ParamKey +
						".kubernetes_version names it",
				}
			}
		}
		if st.lacks(n, u.want) != "" {
			todo++
		}
	}
	s.Detail(fmt.Sprintf("%d of %d nodes to be upgraded to %s", todo, len(u.t.nodes()), u.want))
	return nil
}

// checkTimes is how many times CommandTimeout a cluster gets to become healthy before its machines are touched.
const checkTimes = 3

// waitHealthy waits until the cluster is healthy.
func (u *upgrade) waitHealthy(ctx context.Context, s *lcm.Step, limit time.Duration) error {
	return u.await(ctx, s, limit, "the cluster is not healthy",
		"roll the operation back and heal the nodes that are not Ready, or repair them and retry it", u.unhealthy)
}

// versionSkew says why a version cannot be reached from the version that a node reports; "" when it can.
func versionSkew(is string, want version) string {
	v, ok := parseVersion(is)
	if !ok {
		return "it is not known whether " + want.String() + " can be reached from there"
	}
	return notReachable(v, want)
}

// notReachable says why one version cannot be reached from another; "" when it can.
func notReachable(from, to version) string {
	switch {
	case to.below(from):
		return fmt.Sprintf("%s is older, and Kubernetes cannot be downgraded", to)
	case to.minor > from.minor+1:
		return fmt.Sprintf("%s is %d minor versions newer, and kubeadm goes one at a time", to, to.minor-from.minor)
	}
	return ""
}

// unhealthy names the problems of the cluster: of the API server at the cluster's address, the nodes, etcd. A node that
// the operation has begun to upgrade may be down: the operation goes on with it.
func (u *upgrade) unhealthy(ctx context.Context) (string, error) {
	if err := u.api.Ready(ctx); err != nil {
		return "", err
	}
	st, err := readState(ctx, u.api)
	if err != nil {
		return "", err
	}
	etcd := true
	var down []string
	for _, n := range u.t.nodes() {
		why := notReady([]node{n}, st.nodes)
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
	return "", u.cluster.etcdHealthy(ctx)
}

// await waits until look finds no problem.
func (u *upgrade) await(
	ctx context.Context, s *lcm.Step, limit time.Duration, detail, hint string,
	look func(context.Context) (string, error),
) error {
	return patience{limit: limit, title: "Upgrade stopped", detail: detail, hint: hint}.await(ctx, u.w, s, look)
}
