package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/stack"
)

// v1Source is the package in the layout that users of older VNFMs have.
const v1Source = "../../vnf-packages/kubernetes-cluster-v1"

// v1File reads a parameter file of that package.
func v1File(t *testing.T, file string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var p map[string]any
	require.NoError(t, json.Unmarshal(raw, &p))
	return p
}

func v1Params(t *testing.T, name string) map[string]any {
	t.Helper()
	return v1File(t, filepath.Join(v1Source, "params", name+".json"))
}

// clusterV1 is a parameter file of that package, with the names of this cloud in it.
func (w *world) clusterV1(flavour string) map[string]any {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), flavour+".json")
	require.NoError(w.t, stack.LocalParams(
		filepath.Join(v1Source, "params", flavour+"_kubernetes_param_file.json"), file, w.cloud.Info(),
	))
	return v1File(w.t, file)
}

// Users of older VNFMs keep their packages and their requests: groups that Heat scales, aspects in place of VDUs,
// parameters given once.
func TestClusterOfTheOlderLayoutLivesItsWholeLife(t *testing.T) {
	t.Parallel()
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3, "podaffinity": 3} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			w, fleet := withMachines(t, nil)
			id := w.create(w.onboard(v1Source))
			w.completed(w.instantiate(id, w.clusterV1(flavour)))
			w.members(id, masters, 2)
			w.scaledV1(id, masters)

			dead, worker := w.machineOf(id, "workerNode", 0)
			fleet.PowerOff(dead)
			heal := v1Params(t, "heal_node")
			heal["vnfcInstanceId"] = []string{worker}
			w.completed(w.task(id, sol.LcmOperationHeal, heal))
			w.members(id, masters, 2)
			if masters > 1 {
				dead, master := w.machineOf(id, "masterNode", 0)
				fleet.PowerOff(dead)
				heal["vnfcInstanceId"] = []string{master}
				w.completed(w.task(id, sol.LcmOperationHeal, heal))
				w.members(id, masters, 2)
			}
			w.completed(w.task(id, sol.LcmOperationScale, v1Params(t, "scale_out_new_login")))
			w.members(id, masters, 3)
			w.completed(w.task(id, sol.LcmOperationHeal, v1Params(t, "heal_cluster")))
			w.members(id, masters, 3)
			w.completed(w.task(id, sol.LcmOperationTerminate, v1Params(t, "terminate")))
			w.gone()
		})
	}
}

// scaledV1 scales a cluster with two workers out and in, by signals to the policies of its package. In goes the worker
// that the instance lists first: Heat chooses it, so it must be the one that was drained.
func (w *world) scaledV1(id string, masters int) {
	w.t.Helper()
	op := w.task(id, sol.LcmOperationScale, v1Params(w.t, "scale_out"))
	w.completed(op)
	w.signalled(op, "worker_instance_scale_out")
	three := w.members(id, masters, 3)
	goes, _ := w.machineOf(id, "workerNode", 2)
	op = w.task(id, sol.LcmOperationScale, v1Params(w.t, "scale_in"))
	w.completed(op)
	w.signalled(op, "worker_instance_scale_in")
	require.Subset(w.t, three, w.members(id, masters, 2))
	for _, s := range w.cloud.State()["servers"] {
		require.NotEqual(w.t, goes, s.ID)
	}
}

// signalled wants an operation to have signalled a scaling policy, and Heat to have obeyed.
func (w *world) signalled(op, policy string) {
	w.t.Helper()
	for _, s := range w.progress(op).Steps {
		if s.Name == "signal scaling policy" {
			require.Equal(w.t, policy, s.Target)
			require.NotContains(w.t, s.Detail, "update")
			return
		}
	}
	require.Fail(w.t, "no policy was signalled")
}

// The volumes of a storage server that is no member of a group are registered, and are there again when it has been
// healed.
func TestClusterOfTheOlderLayoutHasPersistentVolumes(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	id := w.create(w.onboard(v1Source))
	w.completed(w.instantiate(id, w.clusterV1("storage")))
	registered := func() {
		volumes := w.volumes(w.clientset(id))
		require.Len(t, volumes, 3)
		for name, v := range volumes {
			require.Equal(t, corev1.VolumeAvailable, v.Status.Phase, name)
			require.NotContains(t, []string{"", "192.0.2.1"}, v.Spec.NFS.Server, "the one in the manifest")
		}
	}
	registered()
	server, vnfc := w.machineOf(id, "storage_server", 0)
	heal := v1Params(t, "heal_node")
	heal["vnfcInstanceId"] = []string{vnfc}
	w.completed(w.task(id, sol.LcmOperationHeal, heal))
	healed, _ := w.machineOf(id, "storage_server", 0)
	require.NotEqual(t, server, healed)
	registered()
	w.completed(w.task(id, sol.LcmOperationScale, v1Params(t, "scale_out")))
	registered()
	w.completed(w.task(id, sol.LcmOperationTerminate, v1Params(t, "terminate")))
	w.gone()
}

// clientset is a client of a cluster, from its kubeconfig.
func (w *world) clientset(id string) kubernetes.Interface {
	w.t.Helper()
	raw, err := w.api.Kubeconfig(w.t.Context(), id)
	require.NoError(w.t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(w.t, err)
	c, err := kubernetes.NewForConfig(cfg)
	require.NoError(w.t, err)
	return c
}

// copyV1 copies the package, and the one that it takes its script from, to be changed. The name is that of the archive,
// too.
func copyV1(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(parent, filepath.Base(clusterSource)), os.DirFS(clusterSource)))
	dir := filepath.Join(parent, strings.ReplaceAll(t.Name(), "/", "-"))
	require.NoError(t, os.CopyFS(dir, os.DirFS(v1Source)))
	return dir
}

// older copies the package with a legacy installation script in it, which change may edit: the script of the sample
// goes, with its manifest and its library.
func older(t *testing.T, change func(script string) string) string {
	t.Helper()
	dir := copyV1(t)
	require.NoError(t, os.Remove(filepath.Join(dir, ".csarinclude")))
	meta := filepath.Join(dir, "TOSCA-Metadata", "TOSCA.meta")
	raw, err := os.ReadFile(meta)
	require.NoError(t, err)
	listed := regexp.MustCompile(
		`Name: Scripts/(lib/.*|install_k8s_cluster\.yaml)\nContent-Type: .*\n\n`,
	).ReplaceAll(raw, nil)
	require.NoError(t, os.WriteFile(meta, listed, 0o600))

	script, err := os.ReadFile("testdata/older_install.sh")
	require.NoError(t, err)
	text := string(script)
	if change != nil {
		text = change(text)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "Scripts"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Scripts", "install_k8s_cluster.sh"), []byte(text), 0o600))
	return dir
}

// Users who have changed their installation script keep it: it is run on each node as the older VNFM ran it.
func TestClusterOfAnOlderScriptLivesItsWholeLife(t *testing.T) {
	t.Parallel()
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			w, fleet := withMachines(t, nil)
			id := w.create(w.onboard(older(t, nil)))
			params := w.clusterV1(flavour)
			delete(at(t, params, "additionalParams", "k8s_cluster_installation_param"), "proxy")
			op := w.instantiate(id, params)
			w.completed(op)
			w.members(id, masters, 2)
			for _, l := range w.progress(op).Lines {
				require.NotRegexp(t, `\b[a-z0-9]{6}\.[a-z0-9]{16}\b`, l.Text, "a token in the log")
			}

			w.scaledV1(id, masters)
			dead, worker := w.machineOf(id, "workerNode", 0)
			fleet.PowerOff(dead)
			w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{worker}}))
			w.members(id, masters, 2)
			if masters > 1 { // the one that initialised the cluster
				dead, master := w.machineOf(id, "masterNode", 0)
				fleet.PowerOff(dead)
				w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{master}}))
				w.balancedOlder(fleet, id, w.members(id, masters, 2))
				_, master = w.machineOf(id, "masterNode", 0) // works
				op := w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{master}})
				w.completed(op)
				w.detached(op, masters-1)
				w.balancedOlder(fleet, id, w.members(id, masters, 2))
			}
			w.completed(w.task(id, sol.LcmOperationHeal, v1Params(t, "heal_cluster")))
			w.members(id, masters, 2)
			w.completed(w.terminate(id))
			w.gone()
		})
	}
}

// detached checks that the masters that stayed in a heal had the other one taken out of their HAProxy before its member
// of etcd was removed: its API server accepts connections then, and does not answer.
func (w *world) detached(op string, stayed int) {
	w.t.Helper()
	found := 0
	var last, removed time.Time
	for _, s := range w.progress(op).Steps {
		switch s.Name {
		case "detach leaving masters":
			found++
			if s.Finished.After(last) {
				last = s.Finished
			}
		case "remove etcd member":
			removed = s.Started
		}
	}
	require.Equal(w.t, stayed, found, "masters whose HAProxy was changed")
	require.False(
		w.t, removed.Before(last), "the member was removed at %s, the last HAProxy changed at %s", removed, last,
	)
}

// balancedOlder checks that every master's HAProxy knows the masters that there are, and no others.
func (w *world) balancedOlder(fleet *machine.Fleet, id string, members []string) {
	w.t.Helper()
	servers := regexp.MustCompile(`(?m)^    server  (master\d+)  [\d.]+:6443 check$`)
	for n := range 3 {
		server, _ := w.machineOf(id, "masterNode", n)
		raw, err := fleet.Machine(server).FS().ReadFile("/etc/haproxy/haproxy.cfg")
		require.NoError(w.t, err)
		var known []string
		for _, m := range servers.FindAllStringSubmatch(string(raw), -1) {
			known = append(known, m[1])
		}
		require.ElementsMatch(w.t, slices.DeleteFunc(slices.Clone(members), func(n string) bool {
			return !strings.HasPrefix(n, "master")
		}), known, "%s", raw)
	}
}

// A package as it was made for an older VNFM: its templates ask for flavours and images by other names, its driver is
// an artifact in Python that that does not run, and the VNFD could scale masters.
func TestPackageOfAnOlderVNFMIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	dir := copyV1(t)
	change := func(name string, pairs ...string) {
		file := filepath.Join(dir, name)
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		text := strings.NewReplacer(pairs...).Replace(string(raw))
		require.NotEqual(t, string(raw), text)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	change("BaseHOT/complex/complex_hot_top.yaml", "computeFlavourId", "flavor", "vcImageId", "image",
		"network: { get_param: [ nfv, CP, masterNode_CP1, network ] }\n\noutputs", "network: net0\n\noutputs")
	change("Definitions/sample_kubernetes_df_complex.yaml",
		"          min_ram: 0 GB\n", "",
		"max_scale_level: 0\n", "max_scale_level: 2\n              step_deltas: [ delta_1 ]\n",
		"    - workerNode_initial_delta:", `    - masterNode_scaling_deltas:
        type: tosca.policies.nfv.VduScalingAspectDeltas
        properties:
          aspect: master_instance
          deltas:
            delta_1:
              number_of_instances: 1
        targets: [ masterNode ]

    - workerNode_initial_delta:`,
		"max_number_of_instances: 3", "max_number_of_instances: 5",
		"    masterNode:\n      type", `      artifacts:
        mgmt-drivers-kubernetes:
          description: Management driver for kubernetes cluster
          type: tosca.artifacts.Implementation.Python
          file: Scripts/kubernetes_mgmt.py

    masterNode:
      type`)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "Scripts"), 0o755))
	require.NoError(t, os.WriteFile(
		filepath.Join(dir, "Scripts", "kubernetes_mgmt.py"), []byte("raise SystemExit('this does not run')\n"), 0o600,
	))

	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(dir))
	w.completed(w.instantiate(id, w.clusterV1("complex")))
	w.members(id, 3, 2)
	_, err := w.api.Start(
		t.Context(), id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "master_instance"},
	)
	require.ErrorContains(t, err, "masters cannot be scaled")
	w.completed(w.task(id, sol.LcmOperationScale, v1Params(t, "scale_out")))
	w.members(id, 3, 3)
	dead, worker := w.machineOf(id, "workerNode", 0)
	fleet.PowerOff(dead)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{worker}}))
	w.members(id, 3, 3)
	w.completed(w.terminate(id))
	w.gone()
}
