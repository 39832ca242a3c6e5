package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/stack"
)

// source is the package of the main job.
const source = "vnf-packages/kubernetes-cluster"

// vnfdID is the vnfdId of source.
const vnfdID = "d34ac189-5376-493f-828f-224dd5fe7393"

// defaultListen is where the demo's API is when nothing else is there.
const defaultListen = "127.0.0.1:9890"

// listen returns the usual address of the API, or "" for any when it is taken.
func (d *demo) listen(ctx context.Context) string {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", defaultListen)
	if err != nil {
		return ""
	}
	_ = l.Close()
	return defaultListen
}

// prepare makes the archive of the package and the parameter file, with this cloud's endpoint and network ids.
func (d *demo) prepare(ctx context.Context) error {
	d.archive = filepath.Join(d.dir, "k8s.zip")
	if err := d.gybe(ctx, "package", "build", source, "-o", d.archive); err != nil {
		return err
	}
	d.paramsAt = filepath.Join(d.dir, d.flavour+".json")
	name := filepath.Join(source, "params", d.flavour+"_kubernetes_param_file_v2.json")
	return stack.LocalParams(name, d.paramsAt, d.stack.Sim)
}

// job is the main job: package, instance, cluster.
func (d *demo) job(ctx context.Context) error {
	pkg, err := d.gybeFields(ctx, "package", "upload", d.archive)
	if err != nil {
		return err
	}
	d.pkg = pkg["id"]
	vnf, err := d.gybeFields(ctx, "vnf", "create", pkg["vnfd"], "--name", "demo")
	if err != nil {
		return err
	}
	d.vnf = vnf["id"]
	d.say("the parameter file, with this cloud's endpoint and network ids, is %s", d.paramsAt)
	if err := d.gybe(ctx, "vnf", "instantiate", d.vnf, d.paramsAt, "--watch"); err != nil {
		return err
	}
	if err := d.gybe(ctx, "vnf", "show", d.vnf); err != nil {
		return err
	}
	if err := d.cluster(ctx); err != nil {
		return err
	}
	return d.life(ctx)
}

// life is what happens to a cluster later: it grows, and a worker that is sick is replaced.
func (d *demo) life(ctx context.Context) error {
	if err := d.gybe(ctx, "vnf", "scale", d.vnf, "--aspect", "workerNode_scale", "--out", "1", "--watch"); err != nil {
		return err
	}
	raw, err := d.output(ctx, "vnf", "show", d.vnf, "-o", "json")
	if err != nil {
		return err
	}
	var shown sol.VnfInstance
	if err := json.Unmarshal(raw, &shown); err != nil {
		return fmt.Errorf("read the instance: %w", err)
	}
	at := slices.IndexFunc(
		shown.InstantiatedVnfInfo.VnfcInfo,
		func(c sol.VnfcInfo) bool { return c.VduID == "workerNode" },
	)
	if at < 0 {
		return errors.New("the cluster has no worker")
	}
	if err := d.gybe(ctx, "vnf", "heal", d.vnf, shown.InstantiatedVnfInfo.VnfcInfo[at].ID, "--watch"); err != nil {
		return err
	}
	return d.cluster(ctx)
}

// cluster shows the nodes of the new cluster through its kubeconfig, and insists that all are Ready.
func (d *demo) cluster(ctx context.Context) error {
	at := filepath.Join(d.dir, "kubeconfig")
	raw, err := d.output(ctx, "vnf", "kubeconfig", d.vnf)
	if err != nil {
		return err
	}
	if err := os.WriteFile(at, raw, 0o600); err != nil {
		return err
	}
	d.say("the kubeconfig of the new cluster is %s; its nodes:", at)
	cfg, err := clientcmd.BuildConfigFromFlags("", at)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes at %s: %w", cfg.Host, err)
	}
	w := tabwriter.NewWriter(d.out, 0, 4, 3, ' ', 0)
	fmt.Fprintln(w, "NAME\tREADY\tROLE\tVERSION\tADDRESS\tCIS-NODE")
	for _, n := range nodes.Items {
		role := "worker"
		if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; ok {
			role = "control-plane"
		}
		ready, address := "Unknown", ""
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				ready = string(c.Status)
			}
		}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				address = a.Address
			}
		}
		fmt.Fprintf(
			w,
			"%s\t%s\t%s\t%s\t%s\t%s\n",
			n.Name,
			ready,
			role,
			n.Status.NodeInfo.KubeletVersion,
			address,
			n.Labels["CIS-node"],
		)
		if ready != string(corev1.ConditionTrue) {
			err = errors.Join(err, fmt.Errorf("node %s is not Ready", n.Name))
		}
	}
	if len(nodes.Items) == 0 {
		err = errors.New("the cluster has no nodes")
	}
	return errors.Join(err, w.Flush())
}

// end terminates, deletes, and proves that nothing is left in the cloud.
func (d *demo) end(ctx context.Context) error {
	for _, args := range [][]string{
		{"vnf", "terminate", d.vnf, "--yes", "--watch"},
		{"vnf", "delete", d.vnf},
		{"package", "delete", d.pkg, "--disable"},
	} {
		if err := d.gybe(ctx, args...); err != nil {
			return err
		}
	}
	left, err := d.stack.Leftovers(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("the cloud still holds %s", strings.Join(left, ", "))
	}
	d.say("the cloud holds no stack, server, port, floating ip, volume and image any more")
	return nil
}

// gybe runs the gybe command as a user would and shows it with its output.
func (d *demo) gybe(ctx context.Context, args ...string) error {
	return d.command(ctx, args).Run()
}

// gybeFields does the same and reads the lines "name  value" of the output, as far as the first space in the value.
func (d *demo) gybeFields(ctx context.Context, args ...string) (map[string]string, error) {
	cmd := d.command(ctx, args)
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(d.out, &out)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("gybe %s: %w", strings.Join(args, " "), err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 1 {
			fields[f[0]] = f[1]
		}
	}
	return fields, nil
}

// output runs it without showing the answer.
func (d *demo) output(ctx context.Context, args ...string) ([]byte, error) {
	cmd := d.command(ctx, args)
	cmd.Stdout = nil
	return cmd.Output()
}

func (d *demo) command(ctx context.Context, args []string) *exec.Cmd {
	fmt.Fprintf(d.out, "\n$ gybe %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(d.bin, "gybe"), args...)
	cmd.Env = append(os.Environ(), "GYBE_ENDPOINT="+d.node.URL)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// quiet runs a program and shows its output only when it fails.
func (d *demo) quiet(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
