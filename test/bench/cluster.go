package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// The times of the nodes' work, and what the cluster of three masters and two workers cannot do without: preparation of
// all nodes, the first master, and two masters that join one after the other. Workers join beside the second master. A
// worker that comes later only has to be prepared and to join.
const (
	prepare       = 30 * time.Second
	initTime      = 20 * time.Second
	join          = 10 * time.Second
	critical      = prepare + initTime + 2*join
	criticalScale = prepare + join
	nodeTimes     = "prepare 30 s, init 20 s, join 10 s"
)

const (
	masters = 3
	fewest  = masters + 2 // nodes of the smallest cluster
)

// cost is what an operation on a cluster took.
type cost struct {
	took time.Duration
	cpu  time.Duration // of gybe
	// rss and peak are gybe's resident memory before the operation and at most, bytes.
	rss, peak int64
}

// cluster measures the main job with the times of real nodes, and scaling out by one worker and by ten.
func (b *bench) cluster(ctx context.Context, dir string) error {
	c, err := b.build(ctx, dir, fewest)
	if err != nil {
		return err
	}
	b.row("cluster of 3 masters and 2 workers", nodeTimes,
		fmt.Sprintf("%.1f s, %.3f of the critical path", c.took.Seconds(), c.took.Seconds()/critical.Seconds()),
		fmt.Sprintf("aim ≤ 1.05; critical path %.0f s, one after another 210 s", critical.Seconds()))
	var first time.Duration
	for _, workers := range []int{1, 10} {
		c, err := b.spend(ctx, func() (string, error) {
			return b.api.Scale(
				ctx,
				b.clusters[fewest].id,
				sol.ScaleVnfRequest{Type: sol.ScaleTypeOut, AspectID: "workerNode_scale", NumberOfSteps: workers},
			)
		})
		if err != nil {
			return fmt.Errorf("scale out by %d: %w", workers, err)
		}
		note := fmt.Sprintf(
			"%.3f of the critical path %.0f s",
			c.took.Seconds()/criticalScale.Seconds(),
			criticalScale.Seconds(),
		)
		if first == 0 {
			first = c.took
		} else {
			note = fmt.Sprintf("%.3f of that by 1, aim ≤ 1.2; ", c.took.Seconds()/first.Seconds()) + note
		}
		b.row(
			fmt.Sprintf("cluster scaled out by %d", workers), nodeTimes, fmt.Sprintf("%.1f s", c.took.Seconds()), note,
		)
	}
	return nil
}

// fleet measures what gybe needs while it builds clusters of several sizes.
func (b *bench) fleet(ctx context.Context, dir string) error {
	var last cost
	for i, nodes := range sizes {
		c, err := b.build(ctx, dir, nodes)
		if err != nil {
			return err
		}
		note := "memory at most " + mib(c.peak)
		if i > 0 {
			more := nodes - sizes[i-1]
			note += fmt.Sprintf(
				"; each node more: %s CPU, %s",
				ms((c.cpu-last.cpu)/time.Duration(more)),
				mib((c.peak-c.rss-last.peak+last.rss)/int64(more)),
			)
		}
		last = c
		b.row(fmt.Sprintf("cluster of %d nodes", nodes), fmt.Sprintf("%.1f s", c.took.Seconds()),
			fmt.Sprintf("per node %s CPU, %s", ms(c.cpu/time.Duration(nodes)), mib((c.peak-c.rss)/int64(nodes))), note)
	}
	return nil
}

// sizes are the nodes of the clusters that fleet compares.
var sizes = []int{fewest, 20, 50}

// built is a cluster that there is already.
type built struct {
	id string
	cost
}

// build makes a cluster of that many nodes with a gybe that has just been started, once.
func (b *bench) build(ctx context.Context, dir string, nodes int) (cost, error) {
	if c, ok := b.clusters[nodes]; ok {
		return c.cost, nil
	}
	source, err := roomy(dir)
	if err != nil {
		return cost{}, err
	}
	vnfd, err := b.upload(ctx, dir, source)
	if err != nil {
		return cost{}, err
	}
	err = b.stack.Control(ctx, http.MethodPatch, "/sim/timing", simcloud.Timing{Machines: map[string]simcloud.Duration{
		"prepare": simcloud.Duration(prepare), "init": simcloud.Duration(initTime), "join": simcloud.Duration(join),
	}}, nil)
	if err != nil {
		return cost{}, err
	}
	at := filepath.Join(dir, "complex.json")
	if err := stack.LocalParams("vnf-packages/kubernetes-cluster/params/complex_kubernetes_param_file_v2.json", at,
		b.stack.Sim); err != nil {
		return cost{}, err
	}
	raw, err := os.ReadFile(at)
	if err != nil {
		return cost{}, err
	}
	raw = []byte(strings.Replace(string(raw), "{", fmt.Sprintf("{%q: %q,", "instantiationLevelId", level(nodes)), 1))
	if err := b.node.Stop(20 * time.Second); err != nil {
		return cost{}, err
	}
	if err := b.node.Start(ctx); err != nil {
		return cost{}, err
	}
	i, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
	if err != nil {
		return cost{}, err
	}
	c, err := b.spend(ctx, func() (string, error) { return b.api.Instantiate(ctx, i.ID, raw) })
	if err == nil {
		b.clusters[nodes] = built{id: i.ID, cost: c}
	}
	return c, err
}

// spend runs an operation and returns what it cost. It asks seldom, because the answers cost as well.
func (b *bench) spend(ctx context.Context, start func() (string, error)) (cost, error) {
	before, err := b.node.Usage()
	if err != nil {
		return cost{}, err
	}
	op, err := start()
	if err != nil {
		return cost{}, err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		o, err := b.api.Operation(ctx, op)
		if err != nil {
			return cost{}, err
		}
		if o.OperationState != sol.LcmOperationStateStarting && o.OperationState != sol.LcmOperationStateProcessing {
			break
		}
		select {
		case <-ctx.Done():
			return cost{}, ctx.Err()
		case <-tick.C:
		}
	}
	after, err := b.node.Usage()
	if err != nil {
		return cost{}, err
	}
	took, err := stack.Await(ctx, b.api, op)
	if err != nil {
		return cost{}, err
	}
	return cost{took: took[0], cpu: after.CPU - before.CPU, rss: before.RSS, peak: after.Peak}, nil
}

// level is the instantiation level of roomy that has so many nodes.
func level(nodes int) string { return fmt.Sprintf("nodes_%d", nodes) }

// roomy makes a copy of the cluster's package with a level for each of the sizes, and room to scale out. Its workers
// may share compute hosts, of which the simulated cloud has few.
func roomy(dir string) (string, error) {
	const definition, template = "Definitions/kubernetes_df_complex.yaml", "BaseHOT/complex/complex_hot_top.yaml"
	copied := filepath.Join(dir, "roomy")
	if _, err := os.Stat(copied); err == nil {
		return copied, nil
	}
	if err := os.CopyFS(copied, os.DirFS("vnf-packages/kubernetes-cluster")); err != nil {
		return "", err
	}
	var aspects, masterLevels, workerLevels strings.Builder
	for _, n := range sizes {
		fmt.Fprintf(
			&aspects,
			"            %s: { description: of the bench, scale_info: { workerNode_scale: { scale_level: %d } } }\n",
			level(n),
			n-fewest,
		)
		fmt.Fprintf(&masterLevels, "            %s: { number_of_instances: %d }\n", level(n), masters)
		fmt.Fprintf(&workerLevels, "            %s: { number_of_instances: %d }\n", level(n), n-masters)
	}
	err := edit(
		filepath.Join(copied, definition),
		"max_scale_level: 2",
		"max_scale_level: 50",
		"max_number_of_instances: 4",
		"max_number_of_instances: 52",
		"          default_level: instantiation_level_1\n",
		aspects.String()+"          default_level: instantiation_level_1\n",
		"              number_of_instances: 3\n        targets: [ masterNode ]\n\n    - workerNode_inst",
		"              number_of_instances: 3\n"+masterLevels.String()+
			"        targets: [ masterNode ]\n\n    - workerNode_inst",
		"              number_of_instances: 4\n",
		"              number_of_instances: 4\n"+workerLevels.String(),
	)
	if err != nil {
		return "", err
	}
	return copied, edit(
		filepath.Join(copied, template), "policies: [ anti-affinity ]", "policies: [ soft-anti-affinity ]",
	)
}

// edit replaces parts of a file, each of which must be there.
func edit(file string, pairs ...string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(raw)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			return fmt.Errorf("%s has no %q", file, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
