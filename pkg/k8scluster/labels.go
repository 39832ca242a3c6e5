package k8scluster

import (
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

const titleLabel = "label node"

// Labels of nodes by which workloads keep apart or stay together (topologyKey).
const (
	hostLabel = "CIS-node"           // the compute host
	zoneLabel = "kubernetes.io/zone" // the availability zone, as other VNFMs name it
	// topologyLabel is the zone under its well-known name, which schedulers and volume drivers look at by themselves.
	topologyLabel = "topology.kubernetes.io/zone"
)

// labels say where the node runs. The VIM shows compute hosts only to administrators.
func (n node) labels() map[string]string {
	out := map[string]string{}
	if v := labelValue(n.host); v != "" {
		out[hostLabel] = v
	}
	if v := labelValue(n.zone); v != "" {
		out[zoneLabel], out[topologyLabel] = v, v
	}
	return out
}

// maxLabel is the longest value of a label that Kubernetes takes.
const maxLabel = 63

// labelValue turns a name of the VIM into a value for a label: names of zones may contain spaces.
func labelValue(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, name)
	if len(name) > maxLabel {
		name = name[:maxLabel]
	}
	return strings.Trim(name, "-_.")
}

// label labels nodes with the place where they run.
func (c *Cluster) label(ctx context.Context, api *kubernetes.Client, nodes []node) error {
	return lcm.Each(ctx, c.o.Parallel, nodes, func(ctx context.Context, n node) error {
		labels := n.labels()
		if len(labels) == 0 {
			return nil
		}
		return c.w.Step(ctx, titleLabel, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
			var words []string
			for k, v := range labels {
				words = append(words, k+"="+v)
			}
			slices.Sort(words)
			s.Detail(n.name + " " + strings.Join(words, " "))
			return api.Label(ctx, n.name, labels)
		})
	})
}
