package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	"github.com/gybe-nfv/gybe/test/stack"
)

// podCounts are the sizes of the CNFs that the section cnf compares.
var podCounts = []int{1, 10, 100}

// cnfDriver is one of the infra drivers for clusters, with the package and the parameters that it is measured with.
type cnfDriver struct {
	name, vimType, source, definition string
	params                            map[string]any
}

var cnfDrivers = []cnfDriver{
	{
		name: "manifests", vimType: kubernetes.VimType, source: "vnf-packages/cnf-web",
		definition: "Definitions/cnf_web_df_simple.yaml",
	},
	{
		name: "Helm", vimType: "ETSINFV.HELM.V_3", source: "vnf-packages/cnf-web-helm",
		definition: "Definitions/cnf_web_helm_df_simple.yaml",
		params: map[string]any{
			"helm_chart_path":  "Files/charts/web",
			"helm_value_names": map[string]any{"VDU1": map[string]any{"replica": "replicaCount"}},
		},
	},
}

// kubeVim is a simulated cluster, which runs in the process of the benchmark: the CPU of gybe is that of its own
// process alone.
type kubeVim struct {
	*kubeapi.Cluster
	access kubernetes.Access
	made   int
}

// cnfs measures CNFs of several sizes and many at once, with both drivers.
func (b *bench) cnfs(ctx context.Context, dir string) error {
	for _, d := range cnfDrivers {
		if err := b.cnf(ctx, dir, d); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

func (b *bench) cnf(ctx context.Context, dir string, d cnfDriver) error {
	source, err := sized(dir, d)
	if err != nil {
		return err
	}
	vnfd, err := b.upload(ctx, dir, source)
	if err != nil {
		return err
	}
	for _, pods := range podCounts {
		if err := b.cnfLife(ctx, d, vnfd, pods); err != nil {
			return err
		}
	}
	for _, many := range []int{max(b.parallel/10, 1), b.parallel} {
		if err := b.cnfsAtOnce(ctx, d, vnfd, many); err != nil {
			return err
		}
	}
	return nil
}

// cnfLife measures the operations on one CNF.
func (b *bench) cnfLife(ctx context.Context, d cnfDriver, vnfd string, pods int) error {
	return b.withCluster(ctx, func(k *kubeVim) error {
		i, err := b.api.CreateInstance(ctx, sol.CreateVnfRequest{VnfdID: vnfd})
		if err != nil {
			return err
		}
		params, err := k.request(d, pods)
		if err != nil {
			return err
		}
		for _, step := range []struct {
			name  string
			start func() (string, error)
		}{
			{"instantiate", func() (string, error) { return b.api.Instantiate(ctx, i.ID, params) }},
			{"heal one VNFC", func() (string, error) {
				now, err := b.api.Instance(ctx, i.ID)
				if err != nil {
					return "", err
				}
				return b.api.Heal(ctx, i.ID, sol.HealVnfRequest{
					VnfcInstanceID: []string{now.InstantiatedVnfInfo.VnfcInfo[0].ID},
				})
			}},
			{"terminate", func() (string, error) {
				return b.api.Terminate(ctx, i.ID, sol.TerminateVnfRequest{
					TerminationType: sol.TerminationTypeForceful,
				})
			}},
		} {
			asked := k.Requests()
			c, err := b.spend(ctx, step.start)
			if err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			b.row(fmt.Sprintf("CNF, %s: %s", d.name, step.name), fmt.Sprintf("pods: %d", pods),
				fmt.Sprintf("%s, %s CPU, %d requests", ms(c.took), ms(c.cpu), k.Requests()-asked),
				"memory at most "+mib(c.peak))
		}
		return nil
	})
}

// cnfsAtOnce measures the instantiation of many CNFs of one pod at the same time.
func (b *bench) cnfsAtOnce(ctx context.Context, d cnfDriver, vnfd string, many int) error {
	return b.withCluster(ctx, func(k *kubeVim) error {
		before, err := b.node.Usage()
		if err != nil {
			return err
		}
		began := time.Now()
		var ops []string
		for range many {
			params, err := k.request(d, podCounts[0])
			if err != nil {
				return err
			}
			started, err := b.instantiate(ctx, vnfd, params, 1)
			if err != nil {
				return err
			}
			ops = append(ops, started...)
		}
		if _, err := stack.Await(ctx, b.api, ops...); err != nil {
			return err
		}
		wall := time.Since(began)
		after, err := b.node.Usage()
		if err != nil {
			return err
		}
		b.row(fmt.Sprintf("CNFs of one pod, %s: instantiate", d.name), fmt.Sprintf("%d at once", many),
			fmt.Sprintf("%.2f s for all, %s CPU each, %.1f requests each", wall.Seconds(),
				ms((after.CPU-before.CPU)/time.Duration(many)), float64(k.Requests())/float64(many)),
			"memory at most "+mib(after.Peak))
		return nil
	})
}

// withCluster runs measurements on a cluster of their own.
func (b *bench) withCluster(ctx context.Context, measure func(*kubeVim) error) error {
	sim, err := kubeapi.NewCluster(kubeapi.Options{})
	if err != nil {
		return err
	}
	defer sim.Close()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, err := sim.IssueServing("127.0.0.1")
	if err != nil {
		return err
	}
	defer sim.Serve(serving, l).Close()
	sim.CNIInstalled(true)
	sim.AddNode(kubeapi.NodeSpec{Name: "worker1", IP: "10.0.0.2"})
	cred, err := sim.IssueClient("admin", "system:masters")
	if err != nil {
		return err
	}
	return measure(&kubeVim{Cluster: sim, access: kubernetes.Access{
		Endpoint: "https://" + l.Addr().String(), CA: sim.CAPEM(), Certificate: cred.Certificate, Key: cred.Key,
	}})
}

// request is the request to instantiate a CNF in a namespace of its own.
func (k *kubeVim) request(d cnfDriver, pods int) (json.RawMessage, error) {
	k.made++
	namespace := fmt.Sprintf("cnf-%d", k.made)
	if _, err := k.Store().Create(kubeapi.Kind("Namespace"), "", kubeapi.Object{
		"metadata": map[string]any{"name": namespace},
	}); err != nil {
		return nil, err
	}
	vim := k.access.Vim()
	vim.VimType = d.vimType
	more := map[string]any{"namespace": namespace}
	maps.Copy(more, d.params)
	return json.Marshal(map[string]any{
		"flavourId": "simple", "instantiationLevelId": podLevel(pods), "additionalParams": more,
		"vimConnectionInfo": map[string]any{"vim1": vim},
	})
}

func podLevel(pods int) string { return fmt.Sprintf("pods_%d", pods) }

// sized makes a copy of the package of a driver with an instantiation level for each of the sizes.
func sized(dir string, d cnfDriver) (string, error) {
	copied := filepath.Join(dir, "sized-"+filepath.Base(d.source))
	if err := os.CopyFS(copied, os.DirFS(d.source)); err != nil {
		return "", err
	}
	most := podCounts[len(podCounts)-1]
	var levels, counts strings.Builder
	for _, n := range podCounts {
		fmt.Fprintf(
			&levels, "            %s: { description: of the bench, scale_info: { web: { scale_level: %d } } }\n",
			podLevel(n), n-1,
		)
		fmt.Fprintf(&counts, "            %s: { number_of_instances: %d }\n", podLevel(n), n)
	}
	const level = "            instantiation_level_1:\n              number_of_instances: 1\n"
	return copied, edit(
		filepath.Join(copied, d.definition),
		"number_of_instances: 2", "number_of_instances: 1",
		"max_number_of_instances: 4", fmt.Sprintf("max_number_of_instances: %d", most),
		"max_scale_level: 2", fmt.Sprintf("max_scale_level: %d", most-1),
		"          default_level: instantiation_level_1\n",
		levels.String()+"          default_level: instantiation_level_1\n",
		level, level+counts.String(),
	)
}
