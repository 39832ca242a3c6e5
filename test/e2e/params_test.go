package e2e_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

const installParam = "/additionalParams/k8s_cluster_installation_param"

// A request that cannot work is refused with everything that is wrong with it, before the cloud hears of it.
func TestWrongParametersAreRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	vnfd := w.onboard(clusterSource)
	type object = map[string]any
	install := func(p object) object { return at(t, p, "additionalParams", "k8s_cluster_installation_param") }
	master := func(p object) object { return at(t, install(p), "master_node") }
	worker := func(p object) object { return at(t, install(p), "worker_node") }
	all := func(prefix string, names ...string) []string {
		if len(names) == 0 {
			return []string{installParam + prefix}
		}
		for i, n := range names {
			names[i] = installParam + prefix + n
		}
		return names
	}
	for name, tc := range map[string]struct {
		change func(p object)
		want   []string // pointers
		detail string
	}{
		"no parameters at all": {
			func(p object) { delete(at(t, p, "additionalParams"), "k8s_cluster_installation_param") },
			all(""), "k8s_cluster_installation_param is not defined in additionalParams.",
		},
		"no script": {func(p object) {
			delete(install(p), "script_path")
		}, all("/script_path"), "The script_path in the additionalParams is invalid."},
		"script not in package": {func(p object) {
			install(p)["script_path"] = "Scripts/other.sh"
		}, all("/script_path"), `no file "Scripts/other.sh"`},
		"script outside package": {func(p object) {
			install(p)["script_path"] = "../../../etc/passwd"
		}, all("/script_path"), "not a path in the package"},
		"no masters": {func(p object) {
			delete(install(p), "master_node")
		}, all("/master_node"), "master_node is not defined in additionalParams."},
		"no workers": {func(p object) {
			delete(install(p), "worker_node")
		}, all("/worker_node"), "worker_node is not defined in additionalParams."},
		"nothing about masters": {
			func(p object) { clear(master(p)) },
			all("/master_node/", "vdu_id", "ssh_cp_name", "nic_cp_name", "username", "cluster_cp_name"),
			"master_node vdu_id is not defined in additionalParams.",
		},
		"nothing about workers": {
			func(p object) { clear(worker(p)) },
			all("/worker_node/", "vdu_id", "ssh_cp_name", "nic_cp_name", "username"),
			"worker_node username is not defined in additionalParams.",
		},
		"pod network": {
			func(p object) { master(p)["pod_cidr"] = "10.200.0.0/99" }, all("/master_node/pod_cidr"), "10.200.0.0/99",
		},
		"service network": {
			func(p object) { master(p)["cluster_cidr"] = "many" }, all("/master_node/cluster_cidr"), "many",
		},
		"VDU that is not there": {
			func(p object) { worker(p)["vdu_id"] = "workers" }, all("/worker_node/vdu_id"), `no VDU "workers"`,
		},
		"port that is not there": {func(p object) {
			worker(p)["nic_cp_name"] = "eth0"
		}, all("/worker_node/nic_cp_name"), `no template of the flavour complex has a resource "eth0"`},
		"address of one master": {func(p object) {
			master(p)["cluster_cp_name"] = "masterNode_CP1"
		}, all("/master_node/cluster_cp_name"), "with 3 masters"},
		"flavour": {
			func(p object) { p["flavourId"] = "huge" }, []string{"/flavourId"}, `"huge"; it has simple, complex`,
		},
		"level": {
			func(p object) { p["instantiationLevelId"] = "level_9" }, []string{"/instantiationLevelId"}, `"level_9"`,
		},
		"external port": {
			func(p object) { cps(t, p, 1)["cpdId"] = "CP9" },
			[]string{"/extVirtualLinks", "/extVirtualLinks", "/extVirtualLinks/1/extCps/0/cpdId"},
			"the template needs the network of workerNode_CP1-1",
		},
		"user data class": {func(p object) {
			delete(at(t, p, "additionalParams"), "lcm-operation-user-data-class")
		}, []string{"/additionalParams/lcm-operation-user-data-class"}, ""},
		"VIM without endpoint": {func(p object) {
			delete(at(t, p, "vimConnectionInfo", "vim1"), "vimId") // or it is looked up among the registered ones
			clear(at(t, p, "vimConnectionInfo", "vim1", "interfaceInfo"))
		}, []string{"/vimConnectionInfo/vim1/interfaceInfo/endpoint"}, ""},
		"VIM of an unknown type": {func(p object) {
			at(t, p, "vimConnectionInfo", "vim1")["vimType"] = "VAX"
		}, []string{"/vimConnectionInfo/vim1/vimType"}, `"VAX"`},
		"several at once": {
			func(p object) {
				delete(install(p), "script_path")
				delete(worker(p), "username")
				p["instantiationLevelId"] = "level_9"
			},
			append(all("", "/script_path", "/worker_node/username"), "/instantiationLevelId"), "level_9",
		},
	} {
		t.Run(name, func(t *testing.T) {
			params := w.cluster("complex")
			tc.change(params)
			id := w.create(vnfd)
			w.cloud.ResetCalls()
			_, err := w.api.Instantiate(t.Context(), id, encode(t, params))
			e := status(t, err, 422)
			var got []string
			for _, p := range e.Problem.InvalidParams {
				got = append(got, p.Pointer)
				require.NotEmpty(t, p.Detail)
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			require.Equal(t, tc.want, got, e.Error())
			require.Contains(t, e.Error(), tc.detail)

			require.Zero(t, w.cloud.CallsTo(""), "the VIM has not heard of it")
			ops, err := w.api.Operations(t.Context(), "(eq,vnfInstanceId,"+id+")", false)
			require.NoError(t, err)
			require.Empty(t, ops, "there is no operation")
			i, err := w.api.Instance(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, sol.InstantiationStateNotInstantiated, i.InstantiationState)
			require.Empty(t, i.VimConnectionInfo)
			require.NoError(t, w.api.DeleteInstance(t.Context(), id), "and nothing holds the instance")
		})
	}
	w.gone()
}

// cps is the first extCp of the n-th external virtual link.
func cps(t *testing.T, p map[string]any, n int) map[string]any {
	t.Helper()
	links, ok := p["extVirtualLinks"].([]any)
	require.True(t, ok)
	link, ok := links[n].(map[string]any)
	require.True(t, ok)
	list, ok := link["extCps"].([]any)
	require.True(t, ok)
	cp, ok := list[0].(map[string]any)
	require.True(t, ok)
	return cp
}
