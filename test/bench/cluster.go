package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// The times of the nodes' work, and what the cluster of three masters and two workers cannot do without: preparation of
// all nodes, the first master, and two masters that join one after the other. Workers join beside the second master.
const (
	prepare  = 30 * time.Second
	initTime = 20 * time.Second
	join     = 10 * time.Second
	critical = prepare + initTime + 2*join
)

// cluster measures the main job with the times of real nodes.
func (b *bench) cluster(ctx context.Context, dir string) error {
	vnfd, err := b.upload(ctx, dir, "vnf-packages/kubernetes-cluster")
	if err != nil {
		return err
	}
	err = b.stack.Control(ctx, http.MethodPatch, "/sim/timing", simcloud.Timing{Machines: map[string]simcloud.Duration{
		"prepare": simcloud.Duration(prepare), "init": simcloud.Duration(initTime), "join": simcloud.Duration(join),
	}}, nil)
	if err != nil {
		return err
	}
	at := filepath.Join(dir, "complex.json")
	if err := stack.LocalParams("vnf-packages/kubernetes-cluster/params/complex_kubernetes_param_file_v2.json", at, b.stack.Sim); err != nil {
		return err
	}
	raw, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	i, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
	if err != nil {
		return err
	}
	op, err := b.api.Instantiate(ctx, i.ID, raw)
	if err != nil {
		return err
	}
	took, err := stack.Await(ctx, b.api, op)
	if err != nil {
		return err
	}
	b.row("cluster of 3 masters and 2 workers", "prepare 30 s, init 20 s, join 10 s",
		fmt.Sprintf("%.1f s, %.3f of the critical path", took[0].Seconds(), took[0].Seconds()/critical.Seconds()),
		fmt.Sprintf("aim ≤ 1.05; critical path %.0f s, one after another 210 s", critical.Seconds()))
	return nil
}
