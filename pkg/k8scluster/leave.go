package k8scluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const (
	titleCordon = "cordon nodes"
	titleDrain  = "drain node"
	titleRemove = "remove node"
)

// leave takes nodes out of the cluster: none of them gets new pods any more, then each is drained and removed.
func (in *installer) leave(ctx context.Context, api *kubernetes.Client, leaving []node) error {
	err := in.w.Step(ctx, titleCordon, "", func(ctx context.Context, s *lcm.Step) error {
		s.Detail(list(leaving))
		return lcm.Each(ctx, 0, leaving, func(ctx context.Context, n node) error { return api.Cordon(ctx, n.name) })
	})
	if err != nil {
		return err
	}
	return lcm.Each(ctx, in.d.o.Parallel, leaving, func(ctx context.Context, n node) error {
		if err := in.w.Step(ctx, titleDrain, n.vnfc, func(ctx context.Context, s *lcm.Step) error { return in.drain(ctx, s, api, n) }); err != nil {
			return err
		}
		return in.remove(ctx, api, n)
	})
}

// remove takes a node off the cluster's list.
func (in *installer) remove(ctx context.Context, api *kubernetes.Client, n node) error {
	return in.w.Step(ctx, titleRemove, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		s.Detail(n.String())
		return api.DeleteNode(ctx, n.name)
	})
}

// draining is the checkpoint of the step that drains a node.
type draining struct {
	Try   int       `json:"try"` // of the operation
	Since time.Time `json:"since"`
}

// drain evicts the pods of a node and waits until they have gone. A node that is not Ready is not drained: nobody would end its pods; they
// are given up with the node.
func (in *installer) drain(ctx context.Context, s *lcm.Step, api *kubernetes.Client, n node) error {
	var cp draining
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if cp.Try != in.w.Op.Tries {
		cp = draining{Try: in.w.Op.Tries, Since: in.w.Clock.Now()}
		if err := s.Save(ctx, cp); err != nil {
			return err
		}
	}
	pause := backoff{first: 100 * time.Millisecond, longest: time.Second}
	said := ""
	for {
		all, err := api.Nodes(ctx)
		if err != nil {
			return err
		}
		if why := missing([]node{n}, all); len(why) > 0 {
			s.Detail("not drained: " + why[0])
			return nil
		}
		why, err := in.evict(ctx, api, n)
		if err != nil {
			return err
		}
		if why == "" {
			s.Detail(n.String() + " is empty")
			return nil
		}
		if in.w.Clock.Now().Sub(cp.Since) >= in.p.drainTimeout {
			return &lcm.Error{
				Code: lcm.CodeTimeout, Title: "Node not drained",
				Detail: fmt.Sprintf("node %s of VNFC %s still has pods after %s: %s", n.name, n.vnfc, in.p.drainTimeout, why),
				Hint:   "delete or move these pods, or relax their disruption budgets, and retry the operation; " + ParamKey + ".drain_timeout sets the time",
			}
		}
		if why != said {
			said = why
			if err := s.Waits(ctx, n.name+": waits for "+why); err != nil {
				return err
			}
		}
		if err := pause.wait(ctx); err != nil {
			return lcm.Wait(0, n.name+": waits for "+why)
		}
	}
}

// maxNamed is how many pods a message names.
const maxNamed = 5

// evict asks every pod of a node to go and says who is still there, "" when nobody is.
func (in *installer) evict(ctx context.Context, api *kubernetes.Client, n node) (string, error) {
	pods, err := api.Occupants(ctx, n.name)
	if err != nil || len(pods) == 0 {
		return "", err
	}
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
