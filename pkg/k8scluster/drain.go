package k8scluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	titleCordon = "cordon nodes"
	titleDrain  = "drain node"
	titleRemove = "remove node"
)

// leave takes nodes out of the cluster: first all of them stop getting new pods, then each is drained and removed.
func (c *Cluster) leave(ctx context.Context, api *kubernetes.Client, leaving []node) error {
	return c.vacate(ctx, api, leaving, func(ctx context.Context, n node) error { return c.remove(ctx, api, n) })
}

// vacate drains nodes at the same time, after all of them have stopped getting new pods. It calls then for each node
// that is empty.
func (c *Cluster) vacate(
	ctx context.Context, api *kubernetes.Client, leaving []node, then func(context.Context, node) error,
) error {
	err := c.w.Step(ctx, titleCordon, "", func(ctx context.Context, s *lcm.Step) error {
		s.Detail(list(leaving))
		return lcm.Each(ctx, 0, leaving, func(ctx context.Context, n node) error { return api.Cordon(ctx, n.name) })
	})
	if err != nil {
		return err
	}
	return lcm.Each(ctx, c.o.Parallel, leaving, func(ctx context.Context, n node) error {
		if err := c.w.Step(ctx, titleDrain, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
			return c.drain(ctx, s, api, n)
		}); err != nil {
			return err
		}
		return then(ctx, n)
	})
}

// remove deletes a node from the cluster.
func (c *Cluster) remove(ctx context.Context, api *kubernetes.Client, n node) error {
	return c.w.Step(ctx, titleRemove, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		s.Detail(n.String())
		return api.DeleteNode(ctx, n.name)
	})
}

// draining is the checkpoint of the step that drains a node.
type draining struct {
	Try   int       `json:"try"` // of the operation
	Since time.Time `json:"since"`
	// Tolerant are the UIDs of the pods that tolerate a cordoned node and were there first; nil before the first look.
	Tolerant []types.UID `json:"tolerant"`
}

// drain evicts the pods of a node and waits until they have gone. A node that is not Ready is not drained: nothing
// would end its pods, and they are lost with the node. A pod that tolerates cordoned nodes, such as Cilium's operator,
// can be started on the node again after its eviction. It is evicted once, and its successor stays.
func (c *Cluster) drain(ctx context.Context, s *lcm.Step, api *kubernetes.Client, n node) error {
	var cp draining
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if cp.Try != c.w.Op.Try {
		cp = draining{Try: c.w.Op.Try, Since: c.w.Clock.Now()}
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	w := waiting{first: 100 * time.Millisecond, longest: time.Second, prefix: n.name + ": waits for "}
	return w.until(ctx, s, func(ctx context.Context) (string, error) {
		all, err := api.Nodes(ctx)
		if err != nil {
			return "", err
		}
		if why := notReady([]node{n}, all); len(why) > 0 {
			s.Detail("not drained: " + why[0])
			return "", nil
		}
		pods, err := api.Occupants(ctx, n.name)
		if err != nil {
			return "", err
		}
		if cp.Tolerant == nil {
			cp.Tolerant = tolerant(pods)
			if err := s.Save(ctx, cp); err != nil {
				return "", err
			}
		}
		return c.empty(ctx, s, api, n, cp.leaving(pods), len(pods))
	}, func(why string) error {
		if c.w.Clock.Now().Sub(cp.Since) < c.p.drainTimeout {
			return nil
		}
		return &lcm.Error{
			Code: lcm.CodeTimeout, Title: "Node not drained",
			Detail: fmt.Sprintf(
				"node %s of VNFC %s still has pods after %s: %s", n.name, n.vnfc, c.p.drainTimeout, why,
			),
			Hint: "delete or move these pods, or relax their disruption budgets, and retry the operation; " +
				ParamKey + ".drain_timeout sets the time",
		}
	})
}

// tolerant lists the pods that tolerate a cordoned node; never nil.
func tolerant(pods []kubernetes.Pod) []types.UID {
	out := []types.UID{}
	for _, p := range pods {
		if p.Tolerant {
			out = append(out, p.UID)
		}
	}
	return out
}

// leaving leaves out the pods that were started on the node although it is cordoned.
func (d draining) leaving(pods []kubernetes.Pod) []kubernetes.Pod {
	var out []kubernetes.Pod
	for _, p := range pods {
		if !p.Tolerant || slices.Contains(d.Tolerant, p.UID) {
			out = append(out, p)
		}
	}
	return out
}

// empty evicts the pods that have to leave, of all pods of the node, and lists those that are still there, "" when
// there are none.
func (c *Cluster) empty(
	ctx context.Context, s *lcm.Step, api *kubernetes.Client, n node, leaving []kubernetes.Pod, all int,
) (string, error) {
	why, err := evict(ctx, api, leaving)
	if err != nil || why != "" {
		return why, err
	}
	if all > 0 {
		s.Detail(fmt.Sprintf("%s has only pods that tolerate cordoned nodes", n))
	} else {
		s.Detail(n.String() + " is empty")
	}
	return "", nil
}

// maxNamed is how many pods a message names.
const maxNamed = 5

// evict asks every pod to leave and lists them, "" when there are none.
func evict(ctx context.Context, api *kubernetes.Client, pods []kubernetes.Pod) (string, error) {
	var words []string
	for i, p := range pods {
		why := "is ending"
		if !p.Leaving {
			refused, err := api.Evict(ctx, p)
			if err != nil {
				return "", err
			}
			if refused != "" {
				why = refused
			}
		}
		if i < maxNamed {
			words = append(words, p.String()+": "+why)
		}
	}
	if more := len(pods) - maxNamed; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; "), nil
}

// list names nodes for people.
func list(nodes []node) string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.String())
	}
	return strings.Join(out, ", ")
}
