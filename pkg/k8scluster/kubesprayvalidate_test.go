package k8scluster_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

var sprayFS fs.FS = os.DirFS("../../vnf-packages/kubernetes-cluster-kubespray")

// sprayFlavour is a flavour of the package of Kubespray's clusters.
func sprayFlavour(masters int) vnfd.Flavour {
	impl := vnfd.Implementation{Name: k8scluster.KubesprayName}
	one := func(vdu string) []map[string]int { return []map[string]int{{vdu: 1}, {vdu: 1}, {vdu: 1}} }
	return vnfd.Flavour{
		ID: "simple",
		VDUs: []vnfd.VDU{
			{Name: "masterNode", MinInstances: masters},
			{Name: "workerNode", MinInstances: 1},
			{Name: "externalLB", MinInstances: 1},
		},
		CPs: []vnfd.CP{
			{Name: "masterNode_CP1", VDU: "masterNode"},
			{Name: "workerNode_CP2", VDU: "workerNode"},
			{Name: "externalLB_CP3", VDU: "externalLB"},
		},
		Aspects: []vnfd.ScalingAspect{
			{ID: "master_instance", Steps: one("masterNode")}, {ID: "worker_instance", Steps: one("workerNode")},
		},
		Levels: []vnfd.InstantiationLevel{{
			ID: "level", VDUs: map[string]int{"masterNode": masters, "workerNode": 2, "externalLB": 1},
		}},
		DefaultLevel: "level",
		LCM:          map[string]vnfd.Implementation{"instantiate_end": impl, "terminate_end": impl},
	}
}

// sprayParams reads the additionalParams of a parameter file of the package.
func sprayParams(t *testing.T, name string) sol.KeyValuePairs {
	t.Helper()
	raw, err := fs.ReadFile(sprayFS, "params/"+name)
	require.NoError(t, err)
	var req struct {
		AdditionalParams sol.KeyValuePairs `json:"additionalParams"`
	}
	require.NoError(t, json.Unmarshal(raw, &req))
	return req.AdditionalParams
}

func TestRequestsForKubesprayAreChecked(t *testing.T) {
	t.Parallel()
	const p = "/additionalParams/k8s_cluster_installation_param/"
	set := func(object, member string, value any) func(map[string]any) {
		return func(m map[string]any) { m[object].(map[string]any)[member] = value }
	}
	remove := func(object, member string) func(map[string]any) {
		return func(m map[string]any) { delete(m[object].(map[string]any), member) }
	}
	tests := []struct {
		name    string
		spoil   func(m map[string]any)
		masters int
		pointer string
		detail  string
	}{
		{name: "as documented"},
		{name: "three masters", masters: 3},
		{name: "two masters", masters: 2, pointer: p + "master_node", detail: "odd number"},
		{
			name: "without a NIC", spoil: remove("worker_node", "nic_cp_name"),
		},
		{
			name: "no Ansible host", spoil: func(m map[string]any) { delete(m, "ansible") }, pointer: p + "ansible",
			detail: "The ansible in the additionalParams does not exist.",
		},
		{
			name: "no load balancer", spoil: func(m map[string]any) { delete(m, "external_lb_param") },
			pointer: p + "external_lb_param", detail: "does not exist",
		},
		{
			name: "host name of the Ansible host", spoil: set("ansible", "ip_address", "kubespray.example"),
			pointer: p + "ansible/ip_address", detail: "is not an IP address",
		},
		{
			name: "no password of the Ansible host", spoil: remove("ansible", "password"),
			pointer: p + "ansible/password", detail: "does not exist",
		},
		{
			name: "relative path", spoil: set("ansible", "kubespray_root_path", "kubespray"),
			pointer: p + "ansible/kubespray_root_path", detail: "is not an absolute path",
		},
		{
			name: "path with a command", spoil: set("ansible", "transferring_inventory_path", "/home/u/$(reboot)"),
			pointer: p + "ansible/transferring_inventory_path", detail: "is not an absolute path",
		},
		{
			name:    "the inventory is the sample",
			spoil:   set("ansible", "transferring_inventory_path", "/home/ubuntu/kubespray-2.16.0/inventory/sample"),
			pointer: p + "ansible/transferring_inventory_path", detail: "belongs to Kubespray",
		},
		{
			name:    "the inventory contains Kubespray",
			spoil:   set("ansible", "transferring_inventory_path", "/home/ubuntu"),
			pointer: p + "ansible/transferring_inventory_path", detail: "belongs to Kubespray",
		},
		{
			name: "no script", spoil: set("external_lb_param", "script_path", "Scripts/none.sh"),
			pointer: p + "external_lb_param/script_path", detail: "The script_path in the additionalParams is invalid",
		},
		{
			name: "odd network", spoil: set("master_node", "pod_cidr", "192.168.0.0/99"),
			pointer: p + "master_node/pod_cidr", detail: "is not an IPv4 network",
		},
		{
			name: "overlapping networks", spoil: set("master_node", "cluster_cidr", "192.168.1.0/24"),
			pointer: p + "master_node/cluster_cidr", detail: "overlaps pod_cidr",
		},
		{
			name: "user name with a command", spoil: set("external_lb_param", "ssh_username", "u; id"),
			pointer: p + "external_lb_param/ssh_username", detail: "is not a user name",
		},
		{
			name: "misspelled",
			spoil: func(m map[string]any) {
				w := m["worker_node"].(map[string]any)
				w["nic_cp_nam"] = w["nic_cp_name"]
				delete(w, "nic_cp_name")
			},
			pointer: p + "worker_node/nic_cp_nam", detail: "did you mean nic_cp_name?",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			params := sprayParams(t, "simple_kubernetes_param_file.json")
			if tt.spoil != nil {
				tt.spoil(params["k8s_cluster_installation_param"].(map[string]any))
			}
			f := sprayFlavour(max(tt.masters, 1))
			raw, err := json.Marshal(map[string]any{"additionalParams": params})
			require.NoError(t, err)
			d := k8scluster.NewKubespray(k8scluster.Options{})
			err = d.Validate(t.Context(), lcm.Request{
				Type: sol.LcmOperationInstantiate, Instance: &lcm.Instance{ID: "i"}, VNFD: &vnfd.VNFD{}, Flavour: &f,
				Package: fstest.MapFS{"Scripts/install_external_lb.sh": {Data: []byte("#!/bin/bash\n")}},
				Params:  raw, AdditionalParams: params, Scope: &lcm.Scope{},
			})
			if tt.pointer == "" {
				require.NoError(t, err)
				return
			}
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			require.Len(t, e.Params, 1, "%+v", e.Params)
			require.Equal(t, tt.pointer, e.Params[0].Pointer)
			require.Contains(t, e.Params[0].Detail, tt.detail)
		})
	}
}

// Some operations would break the cluster, or are not done on clusters of Kubespray.
func TestOperationsThatKubesprayRefuses(t *testing.T) {
	t.Parallel()
	instance := func(masters int) *lcm.Instance {
		i := &lcm.Instance{ID: "i", Instantiated: &sol.InstantiatedVnfInfo{}}
		for n, vdu := range []string{"masterNode", "masterNode", "masterNode"}[:masters] {
			i.Instantiated.VnfcInfo = append(i.Instantiated.VnfcInfo, sol.VnfcInfo{
				ID: "m" + string(rune('1'+n)), VduID: vdu, VnfcState: sol.VnfOperationalStateStarted,
			})
		}
		i.Instantiated.VnfcInfo = append(i.Instantiated.VnfcInfo,
			sol.VnfcInfo{ID: "w1", VduID: "workerNode", VnfcState: sol.VnfOperationalStateStarted})
		return i
	}
	const one = `{"vnfcInstanceId":["x"]}`
	tests := []struct {
		name    string
		typ     sol.LcmOperationType
		masters int
		scope   lcm.Scope
		body    string
		refused string
	}{
		{name: "worker", typ: sol.LcmOperationHeal, masters: 1, scope: lcm.Scope{VNFCs: []string{"w1"}}, body: one},
		{
			name: "one of three masters", typ: sol.LcmOperationHeal, masters: 3,
			scope: lcm.Scope{VNFCs: []string{"m1"}}, body: one,
		},
		{
			name: "whole", typ: sol.LcmOperationHeal, masters: 1,
			scope: lcm.Scope{VNFCs: []string{"m1", "w1"}, Whole: true}, body: `{}`,
		},
		{
			name: "only master", typ: sol.LcmOperationHeal, masters: 1, scope: lcm.Scope{VNFCs: []string{"m1"}},
			body: one, refused: "the only master cannot be healed alone",
		},
		{
			name: "all masters", typ: sol.LcmOperationHeal, masters: 3,
			scope: lcm.Scope{VNFCs: []string{"m1", "m2", "m3"}}, body: one, refused: "cannot all be healed",
		},
		{
			name: "scale masters", typ: sol.LcmOperationScale, masters: 1,
			scope: lcm.Scope{Add: map[string]int{"masterNode": 1}}, body: `{}`, refused: "masters cannot be scaled",
		},
		{
			name: "other number of workers by a package", typ: sol.LcmOperationChangeVnfpkg, masters: 1,
			scope: lcm.Scope{Add: map[string]int{"workerNode": 1}}, body: `{}`, refused: "which only scaling can do",
		},
		{
			name: "flavour", typ: sol.LcmOperationChangeFlavour, masters: 1, body: `{}`,
			refused: "a cluster keeps its flavour",
		},
		{
			name: "revert", typ: sol.LcmOperationRevertToSnapshot, masters: 1, body: `{}`,
			refused: "cannot be reverted to a snapshot",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := sprayFlavour(tt.masters)
			r := lcm.Request{
				Type: tt.typ, Instance: instance(tt.masters), VNFD: &vnfd.VNFD{}, Flavour: &f,
				Package: fstest.MapFS{"Scripts/install_external_lb.sh": {Data: []byte("#!/bin/bash\n")}},
				Params:  json.RawMessage(tt.body), Scope: &tt.scope,
				AdditionalParams: sprayParams(t, "simple_kubernetes_param_file.json"),
			}
			if tt.typ == sol.LcmOperationChangeVnfpkg {
				r.Previous = &lcm.Revision{Flavour: &f}
			}
			err := k8scluster.NewKubespray(k8scluster.Options{}).Validate(t.Context(), r)
			if tt.refused == "" {
				require.NoError(t, err)
				return
			}
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			require.Len(t, e.Params, 1)
			require.Contains(t, e.Params[0].Detail, tt.refused)
		})
	}
}
