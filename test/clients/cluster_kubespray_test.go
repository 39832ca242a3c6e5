package clients_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ansible"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
	"github.com/gybe-nfv/gybe/test/stack"
)

// installation is the path of the parameters of a cluster in the answers of version 1.
const installation = info + ".additionalParams.k8sClusterInstallationParam"

// rowsOfKubespray are those of version 1, with the parameters of Kubespray.
func rowsOfKubespray() clusterRows {
	c := clusterRows{
		pkg:      packageRows("Additional Artifacts?", "imagePath?"),
		instance: maps.Clone(rowsOfVersion1.instance), differs: maps.Clone(rowsOfVersion1.differs),
	}
	c.instance[installation] = "vimName,masterNode,workerNode,ansible,externalLbParam"
	delete(c.instance, installation+".proxy") // the simulated machines have none
	c.instance[installation+".masterNode"] = "username,password,podCidr,aspectId,nicCpName,sshCpName,clusterCidr"
	c.instance[installation+".ansible"] = "username,password,ipAddress,kubesprayRootPath,transferringInventoryPath"
	c.instance[installation+".externalLbParam"] = "scriptPath,sshCpName,sshPassword,sshUsername"
	c.differs[installation+".ansible.password"] = "passwords are not shown"
	c.differs[installation+".externalLbParam.sshPassword"] = "passwords are not shown"
	return c
}

// balancerParams is the path of the parameters of the load balancer in the instance of a CNF.
const balancerParams = info + ".additionalParams.lcm-kubernetes-external-lb"

// rowsOfAPod are the names of the instance of a CNF. Its parameters are the last ones.
var rowsOfAPod = clusterRows{
	instance: tableNames{
		"": "ID,Instantiated Vnf Info,Instantiation State,Links,VIM Connection Info,VNF Instance Description?," +
			"VNF Instance Name,vnfPkgId?,VNF Product Name,VNF Provider,VNF Software Version,VNFD ID,VNFD Version",
		info:                         "flavourId,vnfState,scaleStatus,extCpInfo?,vnfcResourceInfo,additionalParams",
		info + ".scaleStatus[]":      "aspectId,scaleLevel",
		info + ".vnfcResourceInfo[]": "id,vduId,computeResource,storageResourceIds?",
		info + ".vnfcResourceInfo[].computeResource": "" +
			"vimConnectionId?,resourceId,vimLevelResourceType",
		info + ".additionalParams": "" +
			"lcm-kubernetes-def-files,lcm-kubernetes-external-lb",
		balancerParams:                      "scriptPath,externalLbParam",
		balancerParams + ".externalLbParam": "sshIp,sshPassword,sshUsername",
		"VIM Connection Info[]":             "id,vimId,vimType,interfaceInfo?,accessInfo?",
	},
	differs: map[string]string{
		balancerParams + ".externalLbParam.sshPassword": "passwords are not shown",
	},
}

// TestClusterOfKubespray is the session of the guide for clusters that Kubespray makes: the cluster, its scaling and
// heals, and a CNF whose NodePorts are on the load balancer of the cluster.
func TestClusterOfKubespray(t *testing.T) {
	t.Parallel()
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3} { // the guide has one master
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			sessionWithKubespray(t, flavour, masters)
		})
	}
}

func sessionWithKubespray(t *testing.T, flavour string, masters int) {
	t.Helper()
	python := sandbox.Python(t, true) // the package has a user-data class of its own
	scripts := os.DirFS("../../vnf-packages/kubernetes-cluster/Scripts")
	cloud, fleet := machines.StartTest(t, simcloud.Options{}, machine.Options{
		SSHPort: sshPort, Playbook: ansible.Playbook{Script: scripts},
	})
	w := startWith(t, cloud, func(cfg *config.Config) { cfg.SSH.Port, cfg.Scripts.Python = sshPort, python })
	host := machines.BootAnsible(t, fleet).String()
	id := lifeOn(t, w, cluster{
		form: version1, source: "kubernetes-cluster-kubespray", archive: "kubespray_vnf_package.zip",
		params: flavour + "_kubernetes_param_file.json", flavour: flavour, aspect: "worker_instance",
		masters: masters, others: map[string]int{"externalLB": 1}, expected: rowsOfKubespray(),
		change: func(p obj) {
			additional, _ := p["additionalParams"].(obj)
			install, _ := additional["k8s_cluster_installation_param"].(obj)
			delete(install, "proxy")
			server, _ := install["ansible"].(obj)
			server["ip_address"] = host
		},
	})

	// The cluster is a VIM, whose address is that of the load balancer.
	vims := each(w.show("vnflcm show "+id), "VIM Connection Info")
	require.Len(t, vims, 2)
	vim := vims[0]
	if vim["vimType"] != "kubernetes" {
		vim = vims[1]
	}
	require.Equal(t, "kubernetes", vim["vimType"])
	require.Equal(t, "kubernetes_vim", w.show("vim show " + text(t, vim, "vimId"))["name"])
	face, _ := vim["interfaceInfo"].(obj)
	address, port, err := net.SplitHostPort(text(t, face, "endpoint")[len("https://"):])
	require.NoError(t, err)
	require.Equal(t, "8383", port)
	cnf := w.nodePorts(id, text(t, vim, "vimId"), address)

	inventory := machines.KubesprayRoot + "/inventory/mycluster"
	_, err = fleet.Machine("ansible").FS().Stat(inventory)
	require.NoError(t, err)
	for _, instance := range []string{cnf, id} {
		require.Equal(t, "Terminate request for VNF Instance '"+instance+"' has been accepted.",
			w.run("vnflcm terminate "+instance))
		w.completed(instance)
	}
	_, err = fleet.Machine("ansible").FS().Stat(inventory)
	require.ErrorIs(t, err, fs.ErrNotExist, "the inventory with its passwords is removed")
	w.refused("vim show kubernetes_vim", "kubernetes_vim")
}

// nodePorts is the guide's session with a CNF: its NodePorts are open at the load balancer, also after a heal, which
// changes the one that Kubernetes chooses. It returns the id of the CNF.
func (w *world) nodePorts(cluster, vim, balancer string) (id string) {
	w.t.Helper()
	const source = "../../vnf-packages/cnf-nodeport"
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), source, filepath.Join(w.dir, "cnf.zip")))
	vnfd, err := stack.Onboard(w.t.Context(), w.api, filepath.Join(w.dir, "cnf.zip"))
	require.NoError(w.t, err)
	w.write("simple_cnf_param_file.json", w.cnfParams(source, vim, balancer))

	require.Equal(w.t, version1.created, columns(w.run("vnflcm create "+vnfd)))
	for _, row := range w.list("vnflcm list") {
		if row["VNFD ID"] == vnfd {
			id = text(w.t, row, "ID")
		}
	}
	require.Equal(w.t, "Instantiate request for VNF Instance "+id+" has been accepted.",
		w.run("vnflcm instantiate "+id+" ./simple_cnf_param_file.json"))
	w.completed(id)
	rows := w.show("vnflcm show " + id)
	require.ElementsMatch(w.t, version1.shown, keys(rows))
	rowsOfAPod.check(w.t, rowsOfAPod.instance, rows)
	shown, _ := rows[info].(obj)
	pods := each(shown, "vnfcResourceInfo")
	require.Len(w.t, pods, 1)
	require.Equal(w.t, "VDU1", pods[0]["vduId"])
	resource, _ := pods[0]["computeResource"].(obj)
	require.Contains(w.t, text(w.t, resource, "resourceId"), "vdu1-")
	require.Equal(w.t, "Deployment", resource["vimLevelResourceType"])

	given := []int{30422, 32019}
	before := w.chosen(cluster)
	w.open(balancer, append(given, before)...)
	require.Equal(w.t, "Heal request for VNF Instance "+id+" has been accepted.", w.run("vnflcm heal "+id))
	w.completed(id)
	after := w.chosen(cluster)
	w.open(balancer, append(given, after)...)
	if before != after {
		_, err := net.DialTimeout("tcp", net.JoinHostPort(balancer, strconv.Itoa(before)), time.Minute)
		require.Error(w.t, err, "the port of before is closed")
	}
	return id
}

// cnfParams are the parameters of the guide, with the VIM and the load balancer of the test.
func (w *world) cnfParams(source, vim, balancer string) obj {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(source, "params", "simple_cnf_param_file.json"))
	require.NoError(w.t, err)
	var p obj
	require.NoError(w.t, json.Unmarshal(raw, &p))
	each(p, "vimConnectionInfo")[0]["vimId"] = vim
	additional, _ := p["additionalParams"].(obj)
	lb, _ := additional["lcm-kubernetes-external-lb"].(obj)
	login, _ := lb["external_lb_param"].(obj)
	login["ssh_ip"] = balancer
	return p
}

// chosen is the NodePort that Kubernetes has chosen for the Service of the CNF in kube-system.
func (w *world) chosen(cluster string) int {
	w.t.Helper()
	raw, err := w.api.Kubeconfig(w.t.Context(), cluster)
	require.NoError(w.t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(w.t, err)
	c, err := objects.New(cfg)
	require.NoError(w.t, err)
	defer c.Close()
	live, err := c.Get(w.t.Context(), objects.Ref{
		APIVersion: "v1", Kind: "Service", Namespace: "kube-system", Name: "nginx-service",
	})
	require.NoError(w.t, err)
	ports, _, err := unstructured.NestedSlice(live.Object, "spec", "ports")
	require.NoError(w.t, err)
	port, _ := ports[0].(obj)
	number, ok := port["nodePort"].(int64)
	require.True(w.t, ok, "%v", port)
	return int(number)
}

// open requires that ports of the load balancer accept connections.
func (w *world) open(balancer string, ports ...int) {
	w.t.Helper()
	for _, port := range ports {
		d := net.Dialer{Timeout: time.Minute}
		conn, err := d.DialContext(w.t.Context(), "tcp", net.JoinHostPort(balancer, strconv.Itoa(port)))
		require.NoError(w.t, err)
		require.NoError(w.t, conn.Close())
	}
}
