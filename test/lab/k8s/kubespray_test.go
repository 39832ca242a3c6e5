package k8s_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	kubesprayDir = "../../../vnf-packages/kubernetes-cluster-kubespray"
	nodePortDir  = "../../../vnf-packages/cnf-nodeport"
	// the ports that its manifests name; of a third, Kubernetes chooses the number
	httpPort, otherPort = 30422, 32019
)

// TestKubespraySmoke: a cluster by playbooks is the VIM of a CNF, whose pages the load balancer serves.
func TestKubespraySmoke(t *testing.T) {
	s := startKubespray(t, "simple")
	id := s.up()
	cnf := s.cnf(id)
	s.served(id)
	s.end(cnf)
	s.down(id)
}

// TestKubespraySimple is the guide of Tacker for clusters by Kubespray, with version 1 of the API: one master.
func TestKubespraySimple(t *testing.T) {
	s := startKubespray(t, "simple")
	id := s.up()
	s.inventory()
	s.resize(id, sol.ScaleTypeOut)
	s.resize(id, sol.ScaleTypeIn)
	s.replace(id, s.vnfcs(id, workers)[0])
	dead := s.vnfcs(id, workers)[0]
	s.run(hosts, "off", dead.server)
	s.replace(id, dead)

	cnf := s.cnf(id)
	before := s.served(id)
	s.do(cnf, "heal the CNF", "heal", map[string]any{})
	if after := s.served(id); before != after {
		s.closed(id, before)
	}
	s.end(cnf)

	old := s.kubeconfigText(id)
	s.do(id, "heal all", "heal", map[string]any{})
	s.ready(id)
	require.NotEqual(t, old, s.kubeconfigText(id), "a new cluster has credentials of its own")
	s.end(s.cnf(id))
	s.down(id)
}

// TestKubesprayComplex: of three masters the first and another are replaced, and a playbook outlives Gybe.
func TestKubesprayComplex(t *testing.T) {
	s := startKubespray(t, "complex")
	id := s.up()
	s.etcd(id)
	for _, at := range []int{0, 1} {
		s.replace(id, s.vnfcs(id, masters)[at])
		s.etcd(id)
	}
	s.killed(id)
	s.etcd(id)
	cnf := s.cnf(id)
	s.served(id)
	s.end(cnf)
	s.down(id)
}

// TestKubesprayWorkload: manifests and charts live their whole life in a cluster that Gybe has made, with the tests of
// ../cnf, and in the same Gybe by the id of the instance.
func TestKubesprayWorkload(t *testing.T) {
	s := startKubespray(t, "simple")
	id := s.up()
	began := time.Now()
	out, err := s.outputWithin(
		patience, "env", "GYBE_LAB_CNF="+s.kubeconfig(id), "go", "test", "-count=1", "-v", "../cnf",
	)
	t.Log(out)
	require.NoError(t, err)
	require.NotContains(t, out, "--- SKIP")
	spent.add(s.flavour, "CNFs", time.Since(began))
	s.inCluster(id)
	s.down(id)
}

// startKubespray is a world with the package for clusters by Kubespray, and the guide's parameter file for a flavour.
func startKubespray(t *testing.T, flavour string) *sampled {
	t.Helper()
	if ansibleHost == "" {
		t.Skipf("%s names no Ansible host: no cluster is made by playbooks; `make test-lab-kubespray` does (root, "+
			"Debian 12)", envAnsible)
	}
	s := startSample(t, filepath.Join(kubesprayDir, "params"), kubesprayDir, flavour+"_kubernetes_param_file",
		"GYBE_SCRIPTS_PYTHON="+sandbox.Python(t, true)) // for the package's user data
	s.apiPort = "8383"
	s.install()["ansible"].(map[string]any)["ip_address"] = ansibleHost
	s.host("ansible", "rm", "-rf", s.inventoryDir()) // of a test that has failed
	return s
}

// install are the parameters of the driver.
func (s *sampled) install() map[string]any {
	s.t.Helper()
	params, _ := s.request["additionalParams"].(map[string]any)
	install, _ := params["k8s_cluster_installation_param"].(map[string]any)
	require.NotNil(s.t, install)
	return install
}

// resize scales the workers by one.
func (s *sampled) resize(id string, kind sol.ScaleType) {
	s.t.Helper()
	s.do(id, string(kind), "scale", s.read(strings.ToLower(string(kind))))
	s.ready(id)
}

// inventory wants Ansible to find the machines in the groups of Kubespray.
func (s *sampled) inventory() {
	s.t.Helper()
	graph := s.host("ansible", "ansible-inventory", "-i", s.inventoryDir()+"/hosts.yaml", "--graph")
	s.t.Log("the inventory:\n" + graph)
	for _, group := range []string{"kube_control_plane", "kube_node", "etcd", "k8s_cluster", "calico_rr"} {
		require.Contains(s.t, graph, "@"+group+":")
	}
	require.NotContains(s.t, graph, "@ungrouped:\n  |  |--", "every machine is in a group")
}

func (s *sampled) inventoryDir() string {
	ansible, _ := s.install()["ansible"].(map[string]any)
	dir, _ := ansible["transferring_inventory_path"].(string)
	return dir
}

// balancer is the address of the cluster's load balancer, and vim the id of the cluster as a VIM.
func (s *sampled) balancer(id string) (address, vim string) {
	s.t.Helper()
	vims, err := s.api.Vims(s.t.Context())
	require.NoError(s.t, err)
	for _, v := range vims {
		if v.Name != "kubernetes_vim" {
			continue
		}
		u, err := url.Parse(v.AuthURL)
		require.NoError(s.t, err)
		require.Equal(s.t, s.apiPort, u.Port())
		return u.Hostname(), v.ID
	}
	require.Fail(s.t, "the cluster of instance "+id+" is no VIM")
	return "", ""
}

// cnf makes the CNF with three NodePorts in the cluster, with the guide's parameter file.
func (s *sampled) cnf(cluster string) string {
	s.t.Helper()
	if s.nodePort == "" {
		s.nodePort = s.onboard(nodePortDir)
	}
	i, err := s.api.CreateInstance(s.t.Context(), sol.CreateVnfRequest{VnfdID: s.nodePort, VnfInstanceName: "cnf"})
	require.NoError(s.t, err)
	guide := *s
	guide.dir = filepath.Join(nodePortDir, "params")
	request := guide.read("simple_cnf_param_file")
	address, vim := s.balancer(cluster)
	request["vimConnectionInfo"].([]any)[0].(map[string]any)["vimId"] = vim
	lb := request["additionalParams"].(map[string]any)["lcm-kubernetes-external-lb"].(map[string]any)
	lb["external_lb_param"].(map[string]any)["ssh_ip"] = address
	s.do(i.ID, "instantiate the CNF", "instantiate", request)
	// The Service of kube-system selects pods of its own namespace, of which the package has none.
	if s.kubectl(cluster, "-n", "kube-system", "get", "deployment", "webserver", "--ignore-not-found") == "" {
		s.kubectl(cluster, "-n", "kube-system", "create", "deployment", "webserver", "--image", "nginx")
	}
	return i.ID
}

// onboard makes a package of a folder, and returns the id of its VNFD.
func (s *sampled) onboard(folder string) string {
	s.t.Helper()
	archive := filepath.Join(s.world.dir, "cnf.zip")
	require.NoError(s.t, stack.BuildPackage(s.t.Context(), folder, archive))
	vnfd, err := stack.Onboard(s.t.Context(), s.api, archive)
	require.NoError(s.t, err)
	return vnfd
}

// inCluster makes a CNF from manifests and one from a chart in the cluster of an instance, which requests name by the
// instance. Each is scaled, healed and terminated. The cluster cannot be terminated while they are there.
func (s *sampled) inCluster(cluster string) {
	s.t.Helper()
	version := s.version
	s.version = "v2"
	pods := func() string {
		return s.kubectl(cluster, "get", "deployment", "web", "--ignore-not-found", "-o",
			"jsonpath={.status.readyReplicas}")
	}
	defer func() { s.version = version }()
	for _, p := range []struct {
		folder, vimType string
		params          map[string]any
	}{
		{"cnf-web", kubernetes.VimType, map[string]any{}},
		{"cnf-web-helm", helm.VimType, map[string]any{
			"helm_chart_path":  "Files/charts/web",
			"helm_value_names": map[string]any{"VDU1": map[string]any{"replica": "replicaCount"}},
		}},
	} {
		i, err := s.api.CreateInstance(s.t.Context(), sol.CreateVnfRequest{
			VnfdID: s.onboard("../../../vnf-packages/" + p.folder), VnfInstanceName: p.folder,
		})
		require.NoError(s.t, err)
		s.do(i.ID, p.folder+": instantiate", "instantiate", map[string]any{
			"flavourId": "simple", "additionalParams": p.params,
			"vimConnectionInfo": map[string]any{"vim1": map[string]any{"vimId": cluster, "vimType": p.vimType}},
		})
		require.Equal(s.t, "2", pods())
		s.do(i.ID, p.folder+": scale", "scale", map[string]any{"type": sol.ScaleTypeOut, "aspectId": "web"})
		require.Equal(s.t, "3", pods())
		_, err = s.api.Terminate(s.t.Context(), cluster, sol.TerminateVnfRequest{
			TerminationType: sol.TerminationTypeGraceful, GracefulTerminationTimeout: 1,
		})
		require.ErrorContains(s.t, err, "other VNF instances have resources: "+i.ID)
		s.do(i.ID, p.folder+": heal", "heal", map[string]any{})
		s.do(i.ID, p.folder+": terminate", "terminate", map[string]any{"terminationType": sol.TerminationTypeForceful})
		require.Empty(s.t, pods())
		require.NoError(s.t, s.api.DeleteInstance(s.t.Context(), i.ID))
	}
}

// served wants pages of the CNF's pods at its three ports of the load balancer, and returns the one that Kubernetes has
// chosen.
func (s *sampled) served(cluster string) int {
	s.t.Helper()
	chosen, err := strconv.Atoi(s.kubectl(cluster, "-n", "kube-system", "get", "service", "nginx-service", "-o",
		"jsonpath={.spec.ports[0].nodePort}"))
	require.NoError(s.t, err)
	address, _ := s.balancer(cluster)
	for port, service := range map[int]string{
		httpPort: "default/nginx-service", otherPort: "default/nginx-service", chosen: "kube-system/nginx-service",
	} {
		pages := s.pages(address, port, service)
		s.t.Logf("http://%s:%d/\n%s", address, port, pages)
	}
	return chosen
}

// pages asks a port of the load balancer until the Service answers.
func (s *sampled) pages(address string, port int, service string) string {
	s.t.Helper()
	began := time.Now()
	for {
		text, err := page(s.t.Context(), fmt.Sprintf("http://%s:%d/", address, port))
		if err == nil && strings.Contains(text, "Service "+service+",") {
			return text
		}
		require.Less(s.t, time.Since(began), time.Minute, "port %d of the load balancer: %q %v", port, text, err)
		pause(s.t.Context(), 500*time.Millisecond)
	}
}

func page(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Close = true // each request is a connection of its own, which HAProxy may give another worker
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return string(raw), err
}

// closed wants a port of the load balancer to refuse connections.
func (s *sampled) closed(cluster string, port int) {
	s.t.Helper()
	address, _ := s.balancer(cluster)
	d := net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(s.t.Context(), "tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err == nil {
		_ = conn.Close()
	}
	require.Error(s.t, err, "port %d of the load balancer is open", port)
}

// end terminates and deletes an instance.
func (s *sampled) end(id string) {
	s.t.Helper()
	s.do(id, "terminate", "terminate", s.read("terminate"))
	require.NoError(s.t, s.api.DeleteInstance(s.t.Context(), id))
}

// down terminates the cluster, of which nothing is left.
func (s *sampled) down(id string) {
	s.t.Helper()
	s.end(id)
	require.Equal(s.t, []string{"ansible"}, s.hostNames(), "hosts are left over")
	require.Empty(s.t, s.openstack("stack", "list", "-f", "value", "-c", "Stack Name"), "stacks are left over")
	s.host("ansible", "test", "!", "-e", s.inventoryDir())
	vims, err := s.api.Vims(s.t.Context())
	require.NoError(s.t, err)
	require.Len(s.t, vims, 1, "the VIM of the cluster is left over")
}

func (s *sampled) hostNames() []string {
	s.t.Helper()
	var out []string
	for line := range strings.Lines(s.run(hosts, "list")) {
		name, _, _ := strings.Cut(line, " ")
		out = append(out, name)
	}
	return out
}

// killed replaces a worker, and kills Gybe while the playbook for the new one runs: it runs to its end, and only once.
func (s *sampled) killed(id string) {
	s.t.Helper()
	c := s.vnfcs(id, workers)[0]
	op := s.begin(id, "heal", map[string]any{"vnfcInstanceId": []string{c.resource}})
	began := time.Now()
	for !strings.Contains(s.host("ansible", "ps", "-eo", "args"), "scale.yml") {
		require.Less(s.t, time.Since(began), patience, "no playbook runs")
		pause(s.t.Context(), 200*time.Millisecond)
	}
	s.node.Kill()
	require.Contains(s.t, s.host("ansible", "ps", "-eo", "args"), "scale.yml", "the playbook runs on without Gybe")
	require.NoError(s.t, s.node.Start(s.t.Context()))
	s.completed("heal a workerNode, with kill -9", op, nil)
	s.replaced(id, c)
	s.ready(id)
	p, err := s.api.Progress(s.t.Context(), op, "", 0)
	require.NoError(s.t, err)
	for _, step := range p.Steps {
		if step.Name == "run scale.yml" {
			require.Equal(s.t, 1, step.Attempts, "the playbook runs once")
		}
	}
}
