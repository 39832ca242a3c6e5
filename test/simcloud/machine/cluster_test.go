package machine_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// box is one node of a test cluster.
type box struct {
	id, name string
	ip       netip.Addr
	c        *ssh.Client
}

// boots makes masters and workers; the masters may hold the virtual address .100.
func boots(t *testing.T, f *machine.Fleet, at func(byte) netip.Addr, masters, workers int) (m, w []*box) {
	t.Helper()
	one := func(name string, host byte) *box {
		s := machine.Spec{
			ID: name, Name: name, Host: "compute1", FixedIPs: []netip.Addr{at(host)},
			FloatingIPs: []netip.Addr{at(host + 100)}, VCPUs: 2, MemoryMB: 4096,
		}
		if strings.HasPrefix(name, "m") {
			s.AllowedAddressPairs, s.VIPFloatingIPs = []netip.Addr{at(100)}, map[netip.Addr]netip.Addr{at(200): at(100)}
		}
		require.NoError(t, f.Boot(t.Context(), s))
		return &box{id: name, name: name, ip: at(host), c: dial(t, at(host), f.SSHPort())}
	}
	for i := range masters {
		m = append(m, one(fmt.Sprintf("master%d", 10+i), byte(10+i)))
	}
	for i := range workers {
		w = append(w, one(fmt.Sprintf("worker%d", 30+i), byte(30+i)))
	}
	return m, w
}

func put(t *testing.T, c *ssh.Client, name string, data []byte) {
	t.Helper()
	s, err := sftp.NewClient(c)
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	f, err := s.Create(name)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

const scripts = "../../../vnf-packages/kubernetes-cluster/Scripts"

// putScript uploads a script as /tmp/NAME, and the library of the sample package's script beside it.
func putScript(t *testing.T, c *ssh.Client, name, source string) {
	t.Helper()
	files, err := filepath.Glob(scripts + "/lib/*.sh")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	ok(t, c, "mkdir -p /tmp/lib")
	for _, file := range append(files, source) {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		to := "/tmp/lib/" + filepath.Base(file)
		if file == source {
			to = "/tmp/" + name
		}
		put(t, c, to, b)
	}
}

// values reads key=value lines.
func values(text string) map[string]string {
	out := map[string]string{}
	for l := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(l), "="); ok {
			out[k] = v
		}
	}
	return out
}

// build turns machines into a cluster with the package's script, as the management driver does.
func build(t *testing.T, at func(byte) netip.Addr, m, w []*box) {
	t.Helper()
	var ips, hosts []string
	for _, b := range m {
		ips = append(ips, b.ip.String())
	}
	for _, b := range append(append([]*box{}, m...), w...) {
		hosts = append(hosts, b.ip.String()+" "+b.name)
	}
	endpoint := m[0].ip.String()
	if len(m) > 1 {
		endpoint = at(100).String()
	}
	env := fmt.Sprintf("CLUSTER_HOSTS='%s' EXTRA_CERT_SANS=%s ha_flag=%s", strings.Join(hosts, ","), at(200),
		map[bool]string{true: "True", false: "False"}[len(m) > 1])
	role := func(b *box) string {
		if strings.HasPrefix(b.name, "m") {
			return "-m " + strings.Join(ips, ",")
		}
		return "-w " + b.ip.String()
	}
	phase := func(b *box, name, extra string) string {
		out, st := sh(t, b.c, fmt.Sprintf(
			"%s NODE_NAME=%s NODE_IP=%s GYBE_PHASE=%s %s bash /tmp/install.sh %s -i %s -p 10.200.0.0/16", env, b.name,
			b.ip, name, extra, role(b), endpoint,
		))
		require.Zero(t, st, "%s on %s:\n%s", name, b.name, out)
		return out
	}
	var wg sync.WaitGroup
	for _, b := range append(append([]*box{}, m...), w...) {
		ok(t, b.c, "mkdir -p /tmp/r")
		putScript(t, b.c, "install.sh", scripts+"/install_k8s_cluster.sh")
		wg.Go(func() { phase(b, "prepare", "") })
	}
	wg.Wait()
	phase(m[0], "init", "GYBE_RESULT_FILE=/tmp/r/result")
	res := values(ok(t, m[0].c, "cat /tmp/r/result"))
	secrets := fmt.Sprintf("JOIN_TOKEN=%s CA_CERT_HASH=%s CERTIFICATE_KEY=%s", res["token"], res["ssl_ca_cert_hash"],
		res["certificate_key"])
	for _, b := range m[1:] {
		phase(b, "join", secrets)
	}
	for _, b := range w {
		wg.Go(func() { phase(b, "join", secrets) })
	}
	wg.Wait()
}

// clientFor makes a client-go client of the admin.conf on a master, reached through addr.
func clientFor(t *testing.T, b *box, addr string) *kubernetes.Clientset {
	t.Helper()
	cfg, err := clientcmd.RESTConfigFromKubeConfig([]byte(ok(t, b.c, "sudo cat /etc/kubernetes/admin.conf")))
	require.NoError(t, err)
	if addr != "" {
		cfg.Host = "https://" + addr
	}
	cfg.Timeout = 15 * time.Second
	cs, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		if h, ok := cs.RESTClient().(interface{ CloseIdleConnections() }); ok {
			h.CloseIdleConnections()
		}
	})
	return cs
}

func readyNodes(t *testing.T, cs *kubernetes.Clientset) map[string]bool {
	t.Helper()
	l, err := cs.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, n := range l.Items {
		out[n.Name] = false
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				out[n.Name] = true
			}
		}
	}
	return out
}

// TestClusterFromScript builds 3 masters and 2 workers with nothing but SSH and the package's script, with simulated
// times: 30 s to prepare a node, 20 s to initialise, 10 s to join. It takes at least the critical path: 70 s and the
// workers' 10 s. On an idle machine it takes little more, because preparing and the workers' joins overlap.
func TestClusterFromScript(t *testing.T) {
	t.Parallel()
	const speed = 20
	at, f := subnet(t), newFleet(t, machine.Options{Speed: speed, Delays: map[string]time.Duration{
		"prepare": 30 * time.Second, "init": 20 * time.Second, "join": 10 * time.Second,
	}})
	m, w := boots(t, f, at, 3, 2)
	start := time.Now()
	build(t, at, m, w)
	took := time.Duration(float64(time.Since(start)) * speed)
	t.Logf("cluster built in %s of the machines' time", took)
	require.GreaterOrEqual(t, took, 80*time.Second)

	cs := clientFor(t, m[0], net.JoinHostPort(at(100).String(), "16443"))
	require.Eventually(t, func() bool {
		n := readyNodes(t, cs)
		return len(n) == 5 && n["master10"] && n["master11"] && n["master12"] && n["worker30"] && n["worker31"]
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, clientVersion(clientFor(t, m[0], net.JoinHostPort(at(200).String(), "16443"))),
		"the floating address of the VIP is in the certificate")
	columns := strings.Fields(ok(t, m[1].c, "kubectl get nodes -l '!node-role.kubernetes.io/control-plane' | head -2"))
	require.Equal(t, []string{"NAME", "STATUS", "ROLES", "AGE", "VERSION", "worker30", "Ready", "<none>"}, columns[:8])
	require.Regexp(
		t, `^NAME +READY +STATUS +RESTARTS +AGE\n.* 1/1 +Running +0 `, ok(t, m[1].c, "kubectl get pods -n kube-system"),
	)
	for _, b := range append(m, w...) {
		n := 0
		for _, e := range f.Journal(b.id) {
			if e.Kind == "exec" && strings.Contains(e.Line, " install kubelet=") {
				n++
			}
		}
		require.Equal(t, 1, n, "%s was prepared once", b.name)
	}
	require.Equal(t, 1, f.Count("master10", "kubeadm init --config"))
	require.Equal(t, 1, f.Count("worker30", "kubeadm join"))
	require.NotEmpty(t, f.Holder(at(100)))
}

func clientVersion(cs *kubernetes.Clientset) error {
	_, err := cs.Discovery().ServerVersion()
	return err
}
