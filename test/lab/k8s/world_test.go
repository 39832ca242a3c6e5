package k8s_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/stack"
	"github.com/gybe-nfv/gybe/test/subscriber"
)

const (
	pkgDir   = "../../../vnf-packages/kubernetes-cluster"
	olderDir = "../../../vnf-packages/kubernetes-cluster-v1" // in the layout of older VNFMs
	authURL  = "http://127.0.0.1:5000/v3"                    // of the lab's OpenStack
	// for one operation, on two cores that run the cloud and the cluster as well
	patience = 25 * time.Minute
)

// world is a compiled gybe in front of the lab's OpenStack, with the sample package onboarded. The test ends when a
// subscriber has got all notifications about its requests.
type world struct {
	t       *testing.T
	flavour string
	api     *client.Client
	node    *stack.Node
	web     *http.Client // for requests that api cannot make
	vnfd    string
	log     string
	dir     string
	kubebox string // of the version to install
	keys    bool   // no password: Gybe makes a pair of keys
	params  string // the package's parameter file for the flavour
	workers string // the aspect of the workers
	apiPort string // of the API servers, where it is not a virtual address that leads to them
}

func start(t *testing.T, flavour string) *world {
	t.Helper()
	w := startWith(t, flavour, pkgDir)
	w.params, w.workers = filepath.Join(pkgDir, "params", flavour+"_kubernetes_param_file_v2.json"), "workerNode_scale"
	return w
}

// startOlder is start for the package in the older layout.
func startOlder(t *testing.T, flavour string) *world {
	t.Helper()
	w := startWith(t, flavour, olderDir)
	w.params, w.workers = filepath.Join(olderDir, "params", flavour+"_kubernetes_param_file.json"), "worker_instance"
	return w
}

// startWith is start for the package in the folder pkg. env is added to Gybe's environment.
func startWith(t *testing.T, flavour, pkg string, env ...string) *world {
	t.Helper()
	if lab == "" {
		t.Skipf(
			"%s names no running lab: no cluster is made by the real kubeadm; `make test-lab-k8s` does (root, Debian "+
				"12)",
			envLab,
		)
	}
	dir := t.TempDir()
	w := &world{t: t, flavour: flavour, dir: dir, kubebox: kubeboxes[0]}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "gybe"), "./cmd/gybe")
	build.Dir = "../../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	notified := subscriber.Start(t)
	w.log = filepath.Join(dir, "gybe.log")
	log, err := os.Create(w.log)
	require.NoError(t, err)
	n, err := stack.StartNode(t.Context(), stack.NodeOptions{
		Bin: dir, ID: "node-1", Database: devpg.TestURL(t), Data: filepath.Join(dir, "content"), SSHPort: 22, Log: log,
		Env: env,
	})
	require.NoError(t, err)
	w.node = n
	t.Cleanup(func() {
		n.Kill()
		_ = log.Close()
		if t.Failed() {
			raw, _ := os.ReadFile(w.log)
			lines := slices.DeleteFunc(
				strings.Split(string(raw), "\n"), func(l string) bool { return strings.Contains(l, "msg=request ") },
			)
			t.Logf("the end of gybe's log:\n%s", strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
	})
	w.web = notified.Client()
	w.api, err = client.New(n.URL, w.web)
	require.NoError(t, err)
	notified.Subscribe(n.URL)
	archive := filepath.Join(dir, "package.zip")
	require.NoError(t, stack.BuildPackage(t.Context(), pkg, archive))
	w.vnfd, err = stack.Onboard(t.Context(), w.api, archive)
	require.NoError(t, err)
	return w
}

// request is the sample's parameter file, for this cloud and this Kubernetes.
func (w *world) request() json.RawMessage {
	w.t.Helper()
	raw, err := os.ReadFile(w.params)
	require.NoError(w.t, err)
	var req sol.InstantiateVnfRequest
	require.NoError(w.t, json.Unmarshal(raw, &req))
	vim := req.VimConnectionInfo["vim1"]
	vim.VimID, vim.InterfaceInfo = "", sol.KeyValuePairs{"endpoint": authURL}
	req.VimConnectionInfo["vim1"] = vim
	net0 := w.openstack("network", "show", "net0", "-f", "value", "-c", "id")
	for i := range req.ExtVirtualLinks {
		req.ExtVirtualLinks[i].ResourceID = net0
	}
	params := req.AdditionalParams["k8s_cluster_installation_param"].(map[string]any)
	if w.keys {
		delete(params["master_node"].(map[string]any), "password")
		delete(params["worker_node"].(map[string]any), "password")
	}
	delete(params, "proxy") // the lab has no proxy
	params["kubernetes_version"] = strings.TrimPrefix(w.run(w.kubebox, "kubeadm", "version", "-o", "short"), "v")
	raw, err = json.Marshal(req)
	require.NoError(w.t, err)
	return raw
}

// openstack asks the cloud behind Gybe's back.
func (w *world) openstack(args ...string) string { return w.cloud("openrc", args) }

// admin asks it as its administrator, who sees on which hosts servers run.
func (w *world) admin(args ...string) string { return w.cloud("adminrc", args) }

func (w *world) cloud(rc string, args []string) string {
	w.t.Helper()
	const script = `. "$0" && PATH=/usr/bin:$PATH exec openstack "$@"`
	return w.run("bash", append([]string{"-c", script, filepath.Join(lab, "openstack", rc)}, args...)...)
}

// host runs a command on a server's console.
func (w *world) host(server string, argv ...string) string {
	w.t.Helper()
	return w.run(hosts, append([]string{"run", server}, argv...)...)
}

// kubectl asks a cluster as its user does: with what Gybe gives out.
func (w *world) kubectl(id string, args ...string) string {
	w.t.Helper()
	out, err := w.output(
		kubeboxes[0],
		append([]string{"kubectl", "--kubeconfig", w.kubeconfig(id), "--request-timeout", "10s"}, args...)...,
	)
	require.NoError(w.t, err)
	return out
}

func (w *world) kubeconfig(id string) string {
	w.t.Helper()
	raw, err := w.api.Kubeconfig(w.t.Context(), id)
	require.NoError(w.t, err)
	switch {
	case w.apiPort != "":
		require.Contains(w.t, string(raw), ":"+w.apiPort, "the cluster is not asked through its load balancer")
	case w.flavour != "simple" && w.flavour != "storage":
		require.Contains(w.t, string(raw), ":16443", "the cluster is not asked through its virtual address")
	}
	file := filepath.Join(w.dir, "kubeconfig")
	require.NoError(w.t, os.WriteFile(file, raw, 0o600))
	return file
}

func (w *world) run(program string, args ...string) string {
	w.t.Helper()
	out, err := w.output(program, args...)
	require.NoError(w.t, err)
	return out
}

func (w *world) output(program string, args ...string) (string, error) {
	return w.outputWithin(3*time.Minute, program, args...)
}

func (w *world) outputWithin(limit time.Duration, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	var errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), settings...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s%s", program, strings.Join(args, " "), err, out, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// completed waits for an operation, which must succeed, and notes the time it took under a title.
func (w *world) completed(title, op string, err error) {
	w.t.Helper()
	require.NoError(w.t, err)
	o := w.ended(op)
	w.steps(op)
	if o.OperationState != sol.LcmOperationStateCompleted {
		w.explain(op)
	}
	require.Equal(w.t, sol.LcmOperationStateCompleted, o.OperationState, "%s: %+v", title, o.Error)
	spent.add(w.flavour, title, o.StateEnteredTime.Sub(o.StartTime))
}

// ended waits until an operation does nothing by itself any more.
func (w *world) ended(op string) *sol.VnfLcmOpOcc {
	w.t.Helper()
	for began := time.Now(); ; pause(w.t.Context(), 500*time.Millisecond) {
		o, err := w.api.Operation(w.t.Context(), op)
		require.NoError(w.t, err)
		if s := o.OperationState; s != sol.LcmOperationStateStarting && s != sol.LcmOperationStateProcessing &&
			s != sol.LcmOperationStateRollingBack {
			return o
		}
		require.Less(w.t, time.Since(began), patience, "the operation takes too long")
	}
}

// steps notes the time of every step of an operation, and of the phase in which the machines are made.
func (w *world) steps(op string) {
	w.t.Helper()
	p, err := w.api.Progress(w.t.Context(), op, "", 0)
	require.NoError(w.t, err)
	for _, f := range p.Phases {
		if !f.Finished.IsZero() {
			spent.add(w.flavour, "    phase "+f.Name, f.Finished.Sub(f.Started))
		}
	}
	for _, s := range p.Steps {
		if !s.Finished.IsZero() {
			spent.add(w.flavour, "        "+s.Name+" "+s.Target, s.Finished.Sub(s.Started))
		}
	}
}

// explain logs the output of the steps that failed.
func (w *world) explain(op string) {
	w.t.Helper()
	p, err := w.api.Progress(w.t.Context(), op, "", 1000)
	require.NoError(w.t, err)
	failed := map[int64]bool{}
	for _, s := range p.Steps {
		if failed[s.ID] = s.State == "FAILED"; failed[s.ID] {
			w.t.Logf("%s %s failed", s.Name, s.Target)
		}
	}
	for _, l := range p.Lines {
		if failed[l.StepID] {
			w.t.Log(l.Text)
		}
	}
}

// pause waits between two polls.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
