package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
)

// The main job: from a package and a parameter file to a running Kubernetes cluster, and back to nothing.
func TestMainJob(t *testing.T) {
	t.Parallel()
	for flavour, size := range map[string]struct {
		masters, workers int
		cluster          string // vim_name of the parameter file
	}{"simple": {1, 2, "kubernetes_vim"}, "complex": {3, 2, ""}} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			cloud, fleet := machines.StartTest(t, simcloud.Options{}, machine.Options{SSHPort: sshPort})
			w := start(t, cloud, nil)
			id := w.create(w.onboard(clusterSource))
			_, err := w.api.Kubeconfig(t.Context(), id)
			status(t, err, 409)
			op := w.instantiate(id, w.cluster(flavour))
			o := w.completed(op)

			shown := w.shown(id)
			cluster := cmp.Or(size.cluster, "kubernetes_vim_"+id)
			sameShape(t, flavour, cluster, shown)
			w.related(id, size.masters, size.workers)
			require.Len(t, o.ResourceChanges.AffectedVnfcs, size.masters+size.workers)
			w.history(op, size.masters, size.workers)
			w.installedOnce(fleet, id)
			cfg := w.ready(id)
			vim := w.registered(id, cluster)

			op = w.terminate(id)
			w.completed(op)
			require.Equal(t, "grant infra terminate_end", phases(w.progress(op).Phases))
			w.gone()
			require.Empty(t, fleet.Snapshot())
			_, err = w.api.Vim(t.Context(), vim)
			status(t, err, 404)
			_, err = w.api.Kubeconfig(t.Context(), id)
			status(t, err, 409)
			_, err = nodes(t, cfg)
			require.Error(t, err, "the cluster is gone")
			i, err := w.api.Instance(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, sol.InstantiationStateNotInstantiated, i.InstantiationState)
			require.Empty(t, i.VimConnectionInfo)
			require.NoError(t, w.api.DeleteInstance(t.Context(), id))
			_, err = w.api.Instance(t.Context(), id)
			status(t, err, 404)
		})
	}
}

// shown is the instance as its user gets it, undecoded by our own types.
func (w *world) shown(id string) any {
	w.t.Helper()
	req, err := http.NewRequestWithContext(
		w.t.Context(), http.MethodGet, w.node.URL()+"/vnflcm/v2/vnf_instances/"+id, http.NoBody,
	)
	require.NoError(w.t, err)
	req.Header.Set("Version", "2.0.0")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	require.Equal(w.t, http.StatusOK, resp.StatusCode)
	var v any
	require.NoError(w.t, json.NewDecoder(resp.Body).Decode(&v))
	return v
}

// related checks that the parts of an instance refer to each other and to what the cloud has.
func (w *world) related(id string, masters, workers int) {
	w.t.Helper()
	t := w.t
	i, err := w.api.Instance(t.Context(), id)
	require.NoError(t, err)
	info, state := i.InstantiatedVnfInfo, w.cloud.State()
	has := func(kind, id string) bool {
		return slices.ContainsFunc(state[kind], func(o simcloud.Object) bool { return o.ID == id })
	}
	count := map[string]int{}
	for _, c := range info.VnfcInfo {
		r := slices.IndexFunc(
			info.VnfcResourceInfo, func(r sol.VnfcResourceInfo) bool { return r.ID == c.VnfcResourceInfoID },
		)
		require.GreaterOrEqual(t, r, 0)
		res := info.VnfcResourceInfo[r]
		require.Equal(t, c.VduID+"-"+res.ComputeResource.ResourceID, c.ID)
		require.True(t, has("servers", res.ComputeResource.ResourceID))
		stack, _ := res.Metadata["stack_id"].(string)
		name, stackID, _ := strings.Cut(stack, "/")
		require.True(t, strings.HasPrefix(name, "vnf-"+id+"-"), name)
		require.True(t, has("stacks", stackID))
		require.Len(t, res.VnfcCpInfo, 1)
		e := slices.IndexFunc(
			info.ExtCpInfo, func(e sol.VnfExtCpInfo) bool { return e.ID == res.VnfcCpInfo[0].VnfExtCpID },
		)
		require.GreaterOrEqual(t, e, 0)
		ext := info.ExtCpInfo[e]
		require.Equal(t, res.VnfcCpInfo[0].ID, ext.AssociatedVnfcCpID)
		require.Equal(t, "cp-"+ext.ExtLinkPortID, ext.ID)
		require.True(t, has("ports", ext.ExtLinkPortID))
		port := slices.IndexFunc(state["ports"], func(o simcloud.Object) bool { return o.ID == ext.ExtLinkPortID })
		require.Equal(t, []string{state["ports"][port].Detail},
			ext.CpProtocolInfo[0].IpOverEthernet.IpAddresses[0].Addresses, "the address that the port really has")
		count[c.VduID]++
	}
	require.Equal(t, map[string]int{"masterNode": masters, "workerNode": workers}, count)
	require.Len(t, info.VnfcResourceInfo, masters+workers)
	require.Len(t, info.ExtCpInfo, masters+workers)
	require.Len(t, info.ExtVirtualLinkInfo, 2)
	for _, l := range info.ExtVirtualLinkInfo {
		require.Equal(t, w.cloud.Net0ID(), l.ResourceHandle.ResourceID)
		for _, p := range l.ExtLinkPorts {
			require.Equal(t, p.CpInstanceID, "cp-"+p.ResourceHandle.ResourceID)
			require.True(t, has("ports", p.ID))
		}
	}
	require.Len(t, info.ExtVirtualLinkInfo[0].ExtLinkPorts, masters)
	require.Len(t, info.ExtVirtualLinkInfo[1].ExtLinkPorts, workers)
	require.True(t, has("stacks", info.Metadata["stack_id"].(string)))
}

// history checks what the user sees of the way: phases, steps and their output, and the feed.
func (w *world) history(op string, masters, workers int) {
	w.t.Helper()
	t := w.t
	events := w.events(op) // output is shown when no older transaction runs any more, the state at once
	p := w.progress(op)
	require.Equal(t, "grant infra inventory instantiate_end", phases(p.Phases))
	steps := map[string]int{}
	byID := map[int64]string{}
	for _, s := range p.Steps {
		require.Equal(t, "DONE", s.State)
		require.Equal(t, 1, s.Attempts, s.Name)
		require.False(t, s.Finished.IsZero())
		steps[s.Name]++
		byID[s.ID] = s.Name
	}
	all := masters + workers
	require.Equal(t, map[string]int{
		"upload image": 2, "create stack": 1, "prepare node": all, "initialise cluster": 1, "join node": all - 1,
		"make account": 1, "wait for nodes": 1, "label node": all,
	}, steps)
	said := map[string]bool{}
	for _, l := range p.Lines {
		said[byID[l.StepID]] = true
	}
	require.True(t, said["prepare node"] && said["initialise cluster"] && said["join node"],
		"the script's output is kept: %v", said)
	var states, ended []string
	var output int
	for _, e := range events {
		switch e.Kind {
		case gybeapi.KindOperationState:
			var s gybeapi.OperationState
			decode(t, e.Body, &s)
			states = append(states, string(s.State))
		case gybeapi.KindPhase:
			var ph gybeapi.Phase
			decode(t, e.Body, &ph)
			if ph.State == "DONE" {
				ended = append(ended, ph.Name)
			}
		case gybeapi.KindLog:
			var l gybeapi.Log
			decode(t, e.Body, &l)
			output += len(l.Lines)
		}
	}
	require.Equal(t, []string{"STARTING", "PROCESSING", "COMPLETED"}, states)
	require.Equal(t, states, w.notified(op))
	require.Equal(t, []string{"grant", "infra", "inventory", "instantiate_end"}, ended)
	require.Len(t, p.Lines, output, "the feed and the answer to progress have the same output")
}

// started is how the journal of a machine shows the start of the installation script, with its part and number.
var started = regexp.MustCompile(`^setsid --fork .*-(prepare|init|join|tokens)-([0-9a-f]+)/run$`)

// installedOnce asks the machines what was done to them: each part of the installation was started once, where it
// belongs.
func (w *world) installedOnce(fleet *machine.Fleet, id string) {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	firsts := 0
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		runs := map[string]int{}
		for _, e := range fleet.Journal(r.ID) {
			if m := started.FindStringSubmatch(e.Line); m != nil && e.Kind == "exec" {
				runs[m[1]]++
			}
		}
		delete(runs, "tokens") // new ones are created whenever a node joins
		if runs["init"] > 0 {
			firsts++
			require.Equal(w.t, "masterNode", r.VduID)
			require.Equal(w.t, map[string]int{"prepare": 1, "init": 1}, runs)
		} else {
			require.Equal(w.t, map[string]int{"prepare": 1, "join": 1}, runs, r.VduID)
			require.Equal(w.t, 1, fleet.Count(r.ID, "kubeadm join"))
		}
		require.Equal(w.t, 1, fleet.Count(r.ID, "apt-mark hold"))
	}
	require.Equal(w.t, 1, firsts, "one master makes the cluster")
}

// ready looks at the new cluster with the kubeconfig that its owner gets, and checks that all nodes are there, Ready
// and labelled with the host they run on. It returns the configuration.
func (w *world) ready(id string) *rest.Config {
	w.t.Helper()
	t := w.t
	raw, err := w.api.Kubeconfig(t.Context(), id)
	require.NoError(t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(t, err)
	require.False(t, cfg.Insecure, "the server's certificate is verified")
	require.NotEmpty(t, cfg.CAData)
	list, err := nodes(t, cfg)
	require.NoError(t, err)

	other := rest.CopyConfig(cfg)
	other.CAData = nil
	_, err = nodes(t, other)
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	anonymous := rest.AnonymousClientConfig(cfg)
	_, err = nodes(t, anonymous)
	require.Error(t, err, "the cluster requires credentials")

	i, err := w.api.Instance(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, list, len(i.InstantiatedVnfInfo.VnfcInfo))
	hosts := map[string]string{} // by address
	for n, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		for _, s := range w.cloud.State()["servers"] {
			if s.ID == r.ID {
				ip := i.InstantiatedVnfInfo.ExtCpInfo[n].CpProtocolInfo[0].IpOverEthernet.IpAddresses[0].Addresses[0]
				for _, e := range i.InstantiatedVnfInfo.ExtCpInfo {
					if e.ID == r.VnfcCpInfo[0].VnfExtCpID {
						ip = e.CpProtocolInfo[0].IpOverEthernet.IpAddresses[0].Addresses[0]
					}
				}
				hosts[ip] = s.Detail
			}
		}
	}
	for _, n := range list {
		ip := ""
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				ip = a.Address
			}
		}
		require.True(t, isReady(n), n.Name)
		require.NotEmpty(t, hosts[ip])
		require.Equal(t, hosts[ip], n.Labels["CIS-node"], n.Name)
		role := "worker"
		if _, ok := n.Labels["node-role.kubernetes.io/control-plane"]; ok {
			role = "master"
		}
		require.Equal(t, role+ip[strings.LastIndexByte(ip, '.')+1:], n.Name)
	}
	return cfg
}

func isReady(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func nodes(t *testing.T, cfg *rest.Config) ([]corev1.Node, error) {
	t.Helper()
	c, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	list, err := c.CoreV1().Nodes().List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// registered checks that the cluster is a VIM of its own and a connection of its instance, without secrets in what is
// shown. It returns the VIM's id.
func (w *world) registered(id, name string) string {
	w.t.Helper()
	t := w.t
	i, err := w.api.Instance(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, i.VimConnectionInfo, 2)
	conn := i.VimConnectionInfo[name]
	require.Equal(t, "ETSINFV.KUBERNETES.V_1", conn.VimType)
	require.Contains(t, conn.InterfaceInfo["endpoint"], "https://")
	require.NotContains(t, conn.AccessInfo, "bearer_token")
	require.NotContains(t, i.VimConnectionInfo["vim1"].AccessInfo, "password")
	vim, err := w.api.Vim(t.Context(), conn.VimID)
	require.NoError(t, err)
	require.Equal(t, name, vim.Name)
	require.Equal(t, "kubernetes", vim.Type)
	require.Equal(t, conn.InterfaceInfo["endpoint"], vim.AuthURL)
	require.Equal(t, "***", vim.AuthCred["bearer_token"])
	return conn.VimID
}
