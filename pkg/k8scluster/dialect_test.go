package k8scluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func aspectFlavour() *vnfd.Flavour {
	return &vnfd.Flavour{
		ID: "simple", VDUs: []vnfd.VDU{{Name: "masterNode"}, {Name: "workerNode"}},
		CPs: []vnfd.CP{{Name: "masterNode_CP1", VDU: "masterNode"}, {Name: "workerNode_CP2", VDU: "workerNode"}},
		Aspects: []vnfd.ScalingAspect{
			{ID: "master_instance"},
			{ID: "worker_instance", MaxScaleLevel: 2, Steps: []map[string]int{{"workerNode": 1}, {"workerNode": 1}}},
			{ID: "both", MaxScaleLevel: 1, Steps: []map[string]int{{"masterNode": 1, "workerNode": 1}}},
		},
	}
}

// aspectParams are parameters as older requests have them.
func aspectParams() sol.KeyValuePairs {
	return sol.KeyValuePairs{ParamKey: map[string]any{
		"script_path": "Scripts/install_k8s_cluster.sh", "vim_name": "kubernetes_vim",
		"master_node": map[string]any{
			"aspect_id": "master_instance", "ssh_cp_name": "masterNode_CP1", "nic_cp_name": "masterNode_CP1",
			"username": "ubuntu", "password": "ubuntu", "pod_cidr": "192.168.3.0/16", "cluster_cidr": "10.199.187.0/24",
			"cluster_cp_name": "masterNode_CP1",
		},
		"worker_node": map[string]any{
			"aspect_id": "worker_instance", "ssh_cp_name": "workerNode_CP2", "nic_cp_name": "workerNode_CP2",
			"username": "ubuntu", "password": "ubuntu",
		},
		"proxy": map[string]any{
			"http_proxy": "http://user1:password1@host1:3128", "no_proxy": "10.0.0.1", "k8s_node_cidr": "10.10.0.0/30",
		},
	}}
}

// Requests that were written for the older driver work as they are.
func TestAspectsSayWhichMachinesAreMeant(t *testing.T) {
	t.Parallel()
	p, bad := parse(aspectParams(), aspectFlavour(), nil)
	require.Empty(t, bad)
	require.Equal(t, []string{"masterNode", "workerNode"}, []string{p.master.vdu, p.worker.vdu})
	require.Equal(t, "192.168.0.0/16", p.podCIDR, "the host bits that the examples have are harmless")
	require.Equal(t, []string{"10.10.0.0/30", "10.10.0.0", "10.10.0.1", "10.10.0.2", "10.10.0.3"}, p.proxy.nodes)
	require.Equal(t, []string{"10.0.0.0/8"}, addresses("10.0.0.0/8"))

	a := aspectParams()
	install, _ := a[ParamKey].(map[string]any)
	master, _ := install["master_node"].(map[string]any)
	delete(master, "aspect_id")
	delete(master, "pod_cidr")
	p, bad = parse(a, aspectFlavour(), nil)
	require.Empty(t, bad)
	require.Equal(t, []string{"masterNode", "192.168.0.0/16"}, []string{p.master.vdu, p.podCIDR},
		"the network that is usual there")

	worker, _ := install["worker_node"].(map[string]any)
	delete(worker, "aspect_id")
	master["pod_cidr"] = "192.168.3.0/16"
	_, bad = parse(a, aspectFlavour(), nil)
	require.Len(t, bad, 1, "only that dialect has host bits")
	require.Contains(t, bad[0].Pointer, "/master_node/pod_cidr")
}

// Messages have the wording of the older driver, and the place in the request.
func TestMissingParametersAreReportedInTheWordsOfTheirDialect(t *testing.T) {
	t.Parallel()
	const base = "/additionalParams/" + ParamKey
	for name, tt := range map[string]struct {
		spoil func(install, master, worker map[string]any)
		want  map[string]string
	}{
		"nodes": {func(_, m, w map[string]any) {
			for _, member := range []string{"username", "ssh_cp_name", "cluster_cp_name"} {
				delete(m, member)
			}
			w["password"] = ""
		}, map[string]string{
			"/master_node/username":        "The username in the additionalParams does not exist.",
			"/master_node/ssh_cp_name":     "The ssh_cp_name in the additionalParams does not exist.",
			"/master_node/cluster_cp_name": "The cluster_cp_name in the additionalParams does not exist.",
			"/worker_node/password":        "The password in the additionalParams does not exist.",
		}},
		"script": {func(i, _, _ map[string]any) {
			delete(i, "script_path")
		}, map[string]string{"/script_path": "The script_path in the additionalParams does not exist."}},
		"masters": {func(i, _, _ map[string]any) {
			delete(i, "master_node")
		}, map[string]string{"/master_node": "The master_node in the additionalParams does not exist."}},
		"networks": {func(_, m, _ map[string]any) {
			m["pod_cidr"], m["cluster_cidr"] = "many", "10.0.0.0/33"
		}, map[string]string{
			"/master_node/pod_cidr":     `The pod_cidr in the additionalParams is invalid: "many" is not an IPv4 network such as 192.168.0.0/16.`,
			"/master_node/cluster_cidr": `The cluster_cidr in the additionalParams is invalid: "10.0.0.0/33" is not an IPv4 network such as 10.96.0.0/12.`,
		}},
		"storage": {func(i, _, _ map[string]any) {
			i["storage_server"] = map[string]any{
				"ssh_cp_name": "storage_server_CP", "vdu_id": "workerNode", "username": "ubuntu",
				"cinder_volume_setup_params": []any{map[string]any{"mount_to": "/volume"}},
				"nfs_server_setup_params":    []any{map[string]any{"export_dir": "/volume/nfs"}},
			}
			i["pv_registration_params"] = []any{map[string]any{}}
		}, map[string]string{
			"/storage_server/password": "The password in the additionalParams does not exist.",

			"/storage_server/cinder_volume_setup_params/0/" +
				"volume_resource_id": "The volume_resource_id in the additionalParams does not exist.",
			"/storage_server/nfs_server_setup_params/0/" +
				"export_to": "The export_to in the additionalParams does not exist.",
			"/pv_registration_params/0/" +
				"pv_manifest_file_path": "The pv_manifest_file_path in the additionalParams does not exist.",
			"/pv_registration_params/0/nfs_server_cp": "The nfs_server_cp in the additionalParams does not exist.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := aspectParams()
			install, _ := a[ParamKey].(map[string]any)
			master, _ := install["master_node"].(map[string]any)
			worker, _ := install["worker_node"].(map[string]any)
			tt.spoil(install, master, worker)
			_, bad := parse(a, aspectFlavour(), nil)
			got := map[string]string{}
			for _, b := range bad {
				got[strings.TrimPrefix(b.Pointer, base)] = b.Detail
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestAspectsThatSayNothingAreRefused(t *testing.T) {
	t.Parallel()
	for aspect, want := range map[string]string{
		"worker": `no scaling aspect "worker"`, "both": "scales several VDUs, masterNode, workerNode",
	} {
		a := aspectParams()
		install, _ := a[ParamKey].(map[string]any)
		w, _ := install["worker_node"].(map[string]any)
		w["aspect_id"], w["nic_cp_name"] = aspect, "port"
		_, bad := parse(a, aspectFlavour(), nil)
		require.Len(t, bad, 1)
		require.Equal(t, "/additionalParams/"+ParamKey+"/worker_node/aspect_id", bad[0].Pointer)
		require.Contains(t, bad[0].Detail, want)
	}
}

// Passwords change after the instantiation; later requests name the new ones.
func TestLaterRequestsNameNewLogins(t *testing.T) {
	t.Parallel()
	a := aspectParams()
	a["master_node_username"], a["master_node_password"], a["worker_node_password"] = "admin", "new", "newer"
	p, bad := parse(a, aspectFlavour(), nil)
	require.Empty(t, bad)
	require.Equal(t, []string{"admin", "new", "ubuntu", "newer"}, []string{
		p.master.username, p.master.password, p.worker.username, p.worker.password,
	})
	a["master_node_username"], a["worker_node_password"] = "a;b", "a\nb"
	_, bad = parse(a, aspectFlavour(), nil)
	require.Equal(t, []lcm.InvalidParam{
		{Pointer: "/additionalParams/master_node_username", Detail: `master_node_username "a;b" is not a user name.`},
		{
			Pointer: "/additionalParams/worker_node_password",
			Detail:  "worker_node_password has a line break, which no login takes.",
		},
	}, bad)
}

func TestNamesOfPlacesBecomeLabels(t *testing.T) {
	t.Parallel()
	n := node{host: "cmp1.example.org", zone: "zone one"}
	require.Equal(t, map[string]string{
		"CIS-node": "cmp1.example.org", "kubernetes.io/zone": "zone-one", "topology.kubernetes.io/zone": "zone-one",
	}, n.labels())
	require.Empty(t, node{}.labels())
	require.Len(t, labelValue(strings.Repeat("a", 80)), maxLabel)
}
