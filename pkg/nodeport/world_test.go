package nodeport_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loadBalancer is the id of the simulated machine.
const loadBalancer = "external-lb"

// world is a cluster with two workers, and a load balancer as the driver of clusters makes it.
type world struct {
	t       *testing.T
	block   *simcloud.Block
	fleet   *simmachine.Fleet
	cluster *kubeapi.Cluster
	vim     sol.VimConnectionInfo
	keys    *mgmttest.HostKeys
	// id is that of the machine of the load balancer, and host the last part of its address.
	id   string
	host byte
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, keys: &mgmttest.HostKeys{}, id: loadBalancer, host: 5}
	var err error
	w.block, err = simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.block.Close() })
	w.fleet = simmachine.NewFleet(t.Context(), simmachine.Options{Speed: 20})
	t.Cleanup(w.fleet.Close)
	var url string
	w.cluster, url = kubeapi.StartTest(t)
	w.vim = w.access(url).Vim()
	w.addNode("worker21", 21)
	w.addNode("worker22", 22)
	w.boot()
	return w
}

// elsewhere is the same world at another load balancer.
func (w *world) elsewhere() *world {
	w.t.Helper()
	other := *w
	other.id, other.host, other.keys = "other-lb", 6, &mgmttest.HostKeys{}
	other.boot()
	return &other
}

// access is that of the cluster's administrator.
func (w *world) access(url string) kubernetes.Access {
	w.t.Helper()
	conf, err := w.cluster.AdminKubeconfig(url)
	require.NoError(w.t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(conf)
	require.NoError(w.t, err)
	return kubernetes.Access{Endpoint: url, CA: cfg.CAData, Certificate: cfg.CertData, Key: cfg.KeyData}
}

func (w *world) addNode(name string, host byte) {
	w.cluster.AddNode(kubeapi.NodeSpec{Name: name, IP: w.block.Addr(10, host).String()})
}

// address is that of the load balancer.
func (w *world) address() netip.Addr { return w.block.Addr(10, w.host) }

// boot starts the load balancer. HAProxy leads to the API server and, for NodePorts, to the nodes.
func (w *world) boot() {
	w.t.Helper()
	require.NoError(w.t, w.fleet.Boot(w.t.Context(), simmachine.Spec{
		ID: w.id, Name: w.id, FixedIPs: []netip.Addr{w.address()},
	}))
	w.run("sudo apt-get update -q && sudo apt-get install -q -y haproxy")
	w.write("", w.backends())
}

// backends is the configuration of a load balancer made for a cluster by Kubespray.
func (w *world) backends() string {
	return fmt.Sprintf(`frontend kubernetes-apiserver
    mode                 tcp
    bind                 *:8383
    option               tcplog
    default_backend      kubernetes-apiserver
backend kubernetes-apiserver
    mode        tcp
    balance     roundrobin
    server  master11 %s:6443 check
backend kubernetes-nodeport
    mode        tcp
    balance     roundrobin
    server  worker21 %s
    server  worker22 %s
`, w.block.Addr(10, 11), w.block.Addr(10, 21), w.block.Addr(10, 22))
}

// write makes the configuration of HAProxy from its defaults, text and more.
func (w *world) write(text, more string) {
	w.t.Helper()
	w.input("global\n    log /dev/log local0\ndefaults\n    mode tcp\n    timeout connect 5s\n"+text+more,
		"sudo tee /etc/haproxy/haproxy.cfg >/dev/null && sudo systemctl restart haproxy")
}

// run runs a command on the load balancer.
func (w *world) run(command string) string {
	w.t.Helper()
	return w.input("", command)
}

func (w *world) input(stdin, command string) string {
	w.t.Helper()
	c, err := remote.Dial(w.t.Context(), remote.Target{
		Instance: "test", VNFC: "test", Host: w.address().String(), Port: int(w.fleet.SSHPort()), User: "ubuntu",
		Password: "ubuntu",
	}, remote.Options{HostKeys: w.keys})
	require.NoError(w.t, err)
	defer func() { _ = c.Close() }()
	out, err := c.Output(w.t.Context(), command, strings.NewReader(stdin), 1<<20)
	require.NoError(w.t, err, command)
	return string(out)
}

func (w *world) config() string { return w.run("cat /etc/haproxy/haproxy.cfg") }

// driver is a driver of a new node.
func (w *world) driver(o nodeport.Options) *nodeport.Driver {
	if o.Connect == nil {
		pool := remote.NewPool(remote.Options{HostKeys: w.keys}, 0)
		w.t.Cleanup(pool.Close)
		o.Connect, o.SSHPort = nodeport.Pooled(pool), int(w.fleet.SSHPort())
	}
	return nodeport.New(o)
}

// instance is an instantiated CNF.
func (w *world) instance() *lcm.Instance {
	w.t.Helper()
	i := &lcm.Instance{
		ID: uuid.NewString(), VnfPkgID: "pkg", State: sol.InstantiationStateInstantiated,
		VimConnections: map[string]sol.VimConnectionInfo{"vim1": w.vim},
		Instantiated:   &sol.InstantiatedVnfInfo{FlavourID: "simple"},
	}
	raw, err := json.Marshal(w.params())
	require.NoError(w.t, err)
	i.Params = sol.RawPairs(raw)
	return i
}

// params are the parameters of the sample package.
func (w *world) params() map[string]any {
	return map[string]any{
		"lcm-kubernetes-def-files": []any{
			"Files/kubernetes/deployment.yaml", "Files/kubernetes/service_with_nodeport.yaml",
			"Files/kubernetes/service_without_nodeport.yaml",
		},
		nodeport.ParamKey: map[string]any{
			"script_path": "Scripts/configure_lb.sh",
			"external_lb_param": map[string]any{
				"ssh_ip": w.address().String(), "ssh_username": "ubuntu", "ssh_password": "ubuntu",
			},
		},
	}
}

// expose makes a Service of a CNF in the cluster, or changes it.
func (w *world) expose(i *lcm.Instance, namespace, name string, ports ...int) {
	w.t.Helper()
	var list strings.Builder
	for _, p := range ports {
		fmt.Fprintf(&list, "  - {name: p%d, port: %d, protocol: TCP, nodePort: %d}\n", p, p, p)
	}
	require.NoError(w.t, w.cluster.Apply(w.t.Context(), kubeapi.Admin, namespace, fmt.Appendf(nil, `apiVersion: v1
kind: Namespace
metadata: {name: %[2]s}
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s, labels: {gybe.io/vnf-instance: %[3]s}}
spec:
  type: NodePort
  ports:
%[4]s`, name, namespace, i.ID, &list)))
}

// hide deletes a Service.
func (w *world) hide(namespace, name string) {
	w.t.Helper()
	_, err := w.cluster.Store().Delete(kubeapi.Kind("Service"), namespace, name, "")
	require.NoError(w.t, err)
}

// serve answers connections to a NodePort of a node with the node's name.
func (w *world) serve(host byte, port int) {
	w.t.Helper()
	w.answer(&net.ListenConfig{}, host, port)
}

// answer is serve with the settings of the socket.
func (w *world) answer(conf *net.ListenConfig, host byte, port int) {
	w.t.Helper()
	l, err := conf.Listen(w.t.Context(), "tcp",
		netip.AddrPortFrom(w.block.Addr(10, host), uint16(port)).String())
	require.NoError(w.t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "worker%d\n", host)
			_ = c.Close()
		}
	})
	w.t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
}

// ask connects to a port of the load balancer and returns the name of the node that answers.
func (w *world) ask(port int) (string, error) {
	d := net.Dialer{Timeout: time.Minute}
	c, err := d.DialContext(w.t.Context(), "tcp", netip.AddrPortFrom(w.address(), uint16(port)).String())
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	line, err := bufio.NewReader(c).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// reached checks that a port of the load balancer leads to all of these workers and to no other machine.
func (w *world) reached(port int, workers ...string) {
	w.t.Helper()
	seen := map[string]bool{}
	for range 4 * len(workers) {
		name, err := w.ask(port)
		require.NoError(w.t, err)
		require.Contains(w.t, workers, name)
		seen[name] = true
	}
	require.Len(w.t, seen, len(workers), "port %d does not reach all of %v", port, workers)
}

// closed checks that a port of the load balancer leads nowhere.
func (w *world) closed(port int) {
	w.t.Helper()
	_, err := w.ask(port)
	require.ErrorContains(w.t, err, "refused")
}
