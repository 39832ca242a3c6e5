package clients_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
	"github.com/gybe-nfv/gybe/test/stack"
)

// sshPort is where simulated machines listen, each at an address of its own.
const sshPort = 2297

// cluster is a session with a Kubernetes cluster in a guide.
type cluster struct {
	form
	source  string // the VNF package
	archive string // its name in the guide
	params  string // the parameter file of the instantiation in the folder params of the package; %s is the flavour
	flavour string
	aspect  string // of the worker nodes
	// names are the options of create, and later those of the operations after the instantiation.
	names, later string
	masters      int
	// others are the VNFCs that are no nodes, by VDU.
	others   map[string]int
	expected clusterRows
	// change changes the parameters of the instantiation; it may be nil.
	change func(obj)
}

// TestClusterOfVersion1 and TestClusterOfVersion2 are the sessions with Kubernetes clusters of the guides, from the
// package to the heal of the whole cluster, with machines that have an inside.
func TestClusterOfVersion1(t *testing.T) {
	t.Parallel()
	eachFlavour(t, cluster{
		form: version1, source: "kubernetes-cluster-v1", archive: "sample_kubernetes_csar.zip",
		params: "%s_kubernetes_param_file.json", aspect: "worker_instance", expected: rowsOfVersion1,
	})
}

func TestClusterOfVersion2(t *testing.T) {
	t.Parallel()
	eachFlavour(t, cluster{
		form: version2, source: "kubernetes-cluster", archive: "sol_v2_kubernetes_vnf_package.zip",
		params: "%s_kubernetes_param_file_v2.json", aspect: "workerNode_scale",
		names:    " --name v2-kubernetes-sample --description v2-kubernetes-sample",
		later:    " --additional-param-file simple_additional_params_req",
		expected: rowsOfVersion2,
	})
}

// eachFlavour is the session with each flavour of the guides: one master, or three.
func eachFlavour(t *testing.T, c cluster) {
	t.Helper()
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			c := c
			c.flavour, c.masters, c.params = flavour, masters, fmt.Sprintf(c.params, flavour)
			lifeOfACluster(t, c)
		})
	}
}

func lifeOfACluster(t *testing.T, c cluster) {
	t.Helper()
	cloud, _ := machines.StartTest(t, simcloud.Options{}, machine.Options{SSHPort: sshPort})
	lifeOn(t, startWith(t, cloud, func(cfg *config.Config) { cfg.SSH.Port = sshPort }), c)
}

// lifeOn is the session at a node. It returns the id of the instance.
func lifeOn(t *testing.T, w *world, c cluster) string {
	t.Helper()
	vnfd := w.clusterPackage(c)
	vim := ""
	if c.version == "v1" { // the guide of version 1 uses a registered VIM
		w.vimFile("vim.yaml", "devstack")
		w.run("vim register --config-file vim.yaml --is-default VIM0")
		vim = text(t, w.show("vim show VIM0"), "id")
	}
	w.clusterParams(c, vim)

	require.Equal(t, c.created, columns(w.run("vnflcm create "+vnfd+c.names+c.option)))
	id := text(t, w.list("vnflcm list" + c.option)[0], "ID")
	require.Equal(t, "Instantiate request for VNF Instance "+id+" has been accepted.",
		w.run("vnflcm instantiate "+id+" ./"+c.params+c.option))
	w.completed(id)
	first := w.cluster(c, id, 2, 0)

	scaled := "Scale request for VNF Instance " + id + " has been accepted."
	scale := "vnflcm scale --type %s --aspect-id " + c.aspect + " --number-of-steps 1 " + id
	if c.version == "v2" { // its guide has the instance first
		scale = "vnflcm scale " + id + " --type %s --aspect-id " + c.aspect + " --number-of-steps 1" + c.later +
			c.option
	}
	require.Equal(t, scaled, w.run(fmt.Sprintf(scale, "SCALE_OUT")))
	w.completed(id)
	three := w.cluster(c, id, 3, 1)
	require.Subset(t, keys(three), keys(first))
	require.Equal(t, scaled, w.run(fmt.Sprintf(scale, "SCALE_IN")))
	w.completed(id)
	two := w.cluster(c, id, 2, 0)
	require.Subset(t, keys(three), keys(two))

	// Heal a worker, a master where others remain, and the whole.
	healed := "Heal request for VNF Instance " + id + " has been accepted."
	vdus := []string{"workerNode"}
	if c.masters > 1 {
		vdus = append(vdus, "masterNode")
	}
	for _, vdu := range vdus {
		before := w.cluster(c, id, 2, 0)
		server, vnfc := one(t, before, vdu)
		require.Equal(t, healed, w.run("vnflcm heal "+id+" --vnfc-instance "+vnfc+c.later+c.option))
		w.completed(id)
		after := w.cluster(c, id, 2, 0)
		delete(before, server)
		require.NotContains(t, after, server, "the server is another one")
		require.Subset(t, keys(after), keys(before), "the other servers are the same")
	}
	before := w.cluster(c, id, 2, 0)
	require.Equal(t, healed, w.run("vnflcm heal "+id+c.later+c.option))
	w.completed(id)
	for server := range w.cluster(c, id, 2, 0) {
		require.NotContains(t, before, server)
	}
	return id
}

// clusterPackage creates and uploads the package, checks its rows, and returns the id of its VNFD.
func (w *world) clusterPackage(c cluster) string {
	w.t.Helper()
	source := filepath.Join("../../vnf-packages", c.source)
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), source, filepath.Join(w.dir, c.archive)))
	require.Equal(w.t, createdPackage, columns(w.run("vnf package create")))
	id := text(w.t, w.list("vnf package list")[0], "Id")
	require.Equal(w.t, "Upload request for VNF package "+id+" has been accepted.",
		w.run("vnf package upload --path ./"+c.archive+" "+id))
	w.onboarded(id)
	rows := w.show("vnf package show " + id)
	// SOL003 requires two attributes more than the guides show.
	require.ElementsMatch(w.t, append(slices.Clip(onboardedPackage), "packageSecurityOption", "vnfmInfo"), keys(rows))
	c.expected.check(w.t, c.expected.pkg, rows)
	require.Equal(w.t, "ONBOARDED", rows["Onboarding State"])
	require.Equal(w.t, "ENABLED", rows["Operational State"])
	require.Equal(w.t, "NOT_IN_USE", rows["Usage State"])
	return text(w.t, rows, "VNFD ID")
}

// clusterParams writes the parameter files of the guide: that of the package with the names of this cloud, in version 1
// with a list of connections that names the registered VIM, and with lists in cpConfig. The operations of version 2
// have the additionalParams of the instantiation without a name of the cluster's VIM.
func (w *world) clusterParams(c cluster, vim string) {
	w.t.Helper()
	source := filepath.Join("../../vnf-packages", c.source, "params", c.params)
	file := filepath.Join(w.dir, c.params)
	require.NoError(w.t, stack.LocalParams(source, file, w.cloud.Info()))
	raw, err := os.ReadFile(file)
	require.NoError(w.t, err)
	var p obj
	require.NoError(w.t, json.Unmarshal(raw, &p))
	if c.version == "v2" {
		additional, _ := p["additionalParams"].(obj)
		installation, _ := additional["k8s_cluster_installation_param"].(obj)
		delete(installation, "vim_name")
		w.write("simple_additional_params_req", obj{"additionalParams": additional})
		return
	}
	p["vimConnectionInfo"] = []any{obj{"id": "vim1", "vimId": vim, "vimType": "openstack"}}
	for _, link := range each(p, "extVirtualLinks") {
		for _, cp := range each(link, "extCps") {
			if configs, ok := cp["cpConfig"].(obj); ok {
				cp["cpConfig"] = slices.Collect(maps.Values(configs))
			}
		}
	}
	if c.change != nil {
		c.change(p)
	}
	w.write(c.params, p)
}

// cluster shows the instance, checks the rows, and returns the VNFCs by their servers.
func (w *world) cluster(c cluster, id string, workers int, level float64) map[string]obj {
	w.t.Helper()
	rows := w.show("vnflcm show " + id + c.option)
	require.ElementsMatch(w.t, c.shown, keys(rows))
	c.expected.check(w.t, c.expected.instance, rows)
	require.Equal(w.t, "INSTANTIATED", rows["Instantiation State"])
	w.checkLinks(c.form, id, rows["Links"])
	shown := fmt.Sprint(rows)
	for _, secret := range []string{"password:ubuntu", "devstack", "password1", "password2"} {
		require.NotContains(w.t, shown, secret)
	}
	info, _ := rows["Instantiated Vnf Info"].(obj)
	require.Equal(w.t, c.flavour, info["flavourId"])
	require.Equal(w.t, "STARTED", info["vnfState"])
	require.Contains(w.t, scaleStatus(info), obj{"aspectId": c.aspect, "scaleLevel": level})

	vdus, servers := map[string]int{}, map[string]obj{}
	for _, v := range each(info, "vnfcResourceInfo") {
		vdus[text(w.t, v, "vduId")]++
		resource, _ := v["computeResource"].(obj)
		servers[text(w.t, resource, "resourceId")] = v
	}
	want := map[string]int{"masterNode": c.masters, "workerNode": workers}
	maps.Copy(want, c.others)
	require.Equal(w.t, want, vdus)
	states := map[string]int{}
	for _, v := range each(info, "vnfcInfo") {
		require.Equal(w.t, "STARTED", v["vnfcState"])
		states[text(w.t, v, "vduId")]++
		if c.version == "v2" { // the guide of version 2 heals by the id of vnfcInfo
			for _, r := range servers {
				if r["id"] == v["vnfcResourceInfoId"] {
					r["heal"] = v["id"]
				}
			}
		}
	}
	require.Equal(w.t, want, states)
	return servers
}

// one is a VNFC of a VDU: its server, and the id with which the guide heals it.
func one(t *testing.T, servers map[string]obj, vdu string) (server, vnfc string) {
	t.Helper()
	for server, v := range servers {
		if v["vduId"] != vdu {
			continue
		}
		if v["heal"] != nil {
			return server, text(t, v, "heal")
		}
		return server, text(t, v, "id")
	}
	require.Fail(t, "no VNFC of "+vdu)
	return "", ""
}

// each are the objects of a list.
func each(o obj, name string) (all []obj) {
	list, _ := o[name].([]any)
	for _, v := range list {
		if item, ok := v.(obj); ok {
			all = append(all, item)
		}
	}
	return all
}
