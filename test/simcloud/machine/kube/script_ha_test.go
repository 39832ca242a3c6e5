package kube_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is a fleet with the addresses of one block.
type lab struct {
	testing.TB
	*machine.Fleet
	block *simcloud.Block
	mu    sync.Mutex
	ssh   map[string]*ssh.Client
}

func newLab(t *testing.T, o machine.Options) *lab {
	t.Helper()
	b, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	f := machine.NewFleet(t.Context(), o)
	l := &lab{TB: t, Fleet: f, block: b, ssh: map[string]*ssh.Client{}}
	t.Cleanup(func() {
		f.Close()
		_ = b.Close()
	})
	return l
}

func (l *lab) ip(host byte) netip.Addr { return l.block.Addr(10, host) }

// boot starts a machine that may hold the virtual address .100.
func (l *lab) boot(id string, host byte) {
	l.Helper()
	l.bootFrom(id, host, nil)
}

// bootFrom is boot with a copy of a disk.
func (l *lab) bootFrom(id string, host byte, disk fleet.Content) {
	l.Helper()
	require.NoError(l, l.Boot(l.Context(), machine.Spec{
		ID: id, Name: "vm-" + id, VCPUs: 2, MemoryMB: 4096, DiskGB: 20, FixedIPs: []netip.Addr{l.ip(host)},
		AllowedAddressPairs: []netip.Addr{l.ip(100)},
		VIPFloatingIPs:      map[netip.Addr]netip.Addr{l.block.Addr(20, 100): l.ip(100)}, Content: disk,
	}))
	c, err := ssh.Dial("tcp", netip.AddrPortFrom(l.ip(host), l.SSHPort()).String(), &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
		Timeout: time.Minute,
	})
	require.NoError(l, err)
	l.Cleanup(func() { _ = c.Close() })
	l.mu.Lock()
	l.ssh[id] = c
	l.mu.Unlock()
}

// sh runs a command as ubuntu and returns what it prints and its status.
func (l *lab) sh(id, cmd string, stdin io.Reader) (string, int) {
	l.Helper()
	l.mu.Lock()
	c := l.ssh[id]
	l.mu.Unlock()
	s, err := c.NewSession()
	require.NoError(l, err)
	defer func() { _ = s.Close() }()
	var out bytes.Buffer
	s.Stdin, s.Stdout = stdin, &out
	err = s.Run("exec 2>&1\n" + cmd)
	var exit *ssh.ExitError
	if err != nil {
		require.ErrorAs(l, err, &exit, "output: %s", out.String())
		return out.String(), exit.ExitStatus()
	}
	return out.String(), 0
}

func (l *lab) ok(id, cmd string) string {
	l.Helper()
	out, st := l.sh(id, cmd, nil)
	require.Zero(l, st, "%s on %s\n%s", cmd, id, out)
	return out
}

// reads repeats a command that changes nothing until it succeeds: a balancer whose health check is late can cut a
// connection.
func (l *lab) reads(id, cmd string) (out string) {
	l.Helper()
	require.Eventually(l, func() bool {
		var st int
		out, st = l.sh(id, cmd, nil)
		return st == 0
	}, time.Minute, 50*time.Millisecond, "%s on %s", cmd, id)
	return out
}

// install uploads the script of the sample package with its library.
func (l *lab) install(id string) {
	l.Helper()
	const scripts = "../../../../vnf-packages/kubernetes-cluster/Scripts"
	l.ok(id, "mkdir -p /tmp/lib")
	files, err := filepath.Glob(scripts + "/lib/*.sh")
	require.NoError(l, err)
	for _, file := range append(files, scripts+"/install_k8s_cluster.sh") {
		b, err := os.ReadFile(file)
		require.NoError(l, err)
		to, err := filepath.Rel(scripts, file)
		require.NoError(l, err)
		out, st := l.sh(id, "cat >/tmp/"+to, bytes.NewReader(b))
		require.Zero(l, st, out)
	}
}

// secrets are what init hands to those who join.
func (l *lab) secrets(id, file string) map[string]string {
	l.Helper()
	out := map[string]string{}
	for line := range strings.Lines(l.ok(id, "sudo cat "+file)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		out[k] = v
	}
	require.NotEmpty(l, out["token"])
	return out
}

// client makes a client from the admin.conf of a master, which names the cluster's address.
func (l *lab) client(id string) *rest.RESTClient {
	l.Helper()
	cfg, err := clientcmd.RESTConfigFromKubeConfig([]byte(l.ok(id, "sudo cat /etc/kubernetes/admin.conf")))
	require.NoError(l, err)
	return l.rest(cfg)
}

func (l *lab) rest(cfg *rest.Config) *rest.RESTClient {
	l.Helper()
	scheme := runtime.NewScheme()
	require.NoError(l, corev1.AddToScheme(scheme))
	cfg.APIPath, cfg.GroupVersion, cfg.Timeout = "/api", &corev1.SchemeGroupVersion, 15*time.Second
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	require.NoError(l, err)
	l.Cleanup(c.Client.CloseIdleConnections)
	return c
}

// nodes asks which nodes there are and whether each is Ready.
func nodes(ctx context.Context, c *rest.RESTClient) (map[string]bool, error) {
	var list corev1.NodeList
	if err := c.Get().Resource("nodes").Do(ctx).Into(&list); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, n := range list.Items {
		for _, cond := range n.Status.Conditions {
			if cond.Type == corev1.NodeReady {
				out[n.Name] = cond.Status == corev1.ConditionTrue
			}
		}
	}
	return out, nil
}

// cluster builds masters and workers with the package's script as the driver does and returns the ids.
func (l *lab) cluster(masters, workers int) (ms, ws []string) {
	l.Helper()
	var all []string
	hosts := map[string]byte{}
	for i := range masters {
		ms = append(ms, fmt.Sprintf("m%d", i+1))
		hosts[ms[i]] = byte(11 + i)
	}
	for i := range workers {
		ws = append(ws, fmt.Sprintf("w%d", i+1))
		hosts[ws[i]] = byte(21 + i)
	}
	all = append(append(all, ms...), ws...)
	var ips []string
	for _, m := range ms {
		ips = append(ips, l.ip(hosts[m]).String())
	}
	vip := ips[0]
	if masters > 1 {
		vip = l.ip(100).String()
	}
	for _, id := range all {
		l.boot(id, hosts[id])
		l.install(id)
	}
	role := func(id string) string {
		if id[0] == 'm' {
			return "-m " + strings.Join(ips, ",")
		}
		return "-w " + l.ip(hosts[id]).String()
	}
	run := func(id, phase, more string) {
		out, st := l.sh(id, fmt.Sprintf(
			"ha_flag=%s NODE_IP=%s GYBE_PHASE=%s GYBE_RESULT_FILE=/home/ubuntu/result EXTRA_CERT_SANS=%s bash "+
				"/tmp/install_k8s_cluster.sh %s -i %s %s",
			map[bool]string{true: "True", false: "False"}[masters > 1], l.ip(hosts[id]), phase, l.block.Addr(20, 100),
			role(id), vip, more), nil)
		if !l.Failed() && st != 0 {
			l.Errorf("%s on %s: status %d\n%s", phase, id, st, out)
		}
	}
	each := func(ids []string, phase, more string) {
		var wg sync.WaitGroup
		for _, id := range ids {
			wg.Go(func() { run(id, phase, more) })
		}
		wg.Wait()
		if l.Failed() {
			l.FailNow()
		}
	}
	each(all, "prepare", "")
	each(ms[:1], "init", "")
	s := l.secrets(ms[0], "/home/ubuntu/result")
	for _, m := range ms[1:] {
		each([]string{m}, "join", fmt.Sprintf(
			"-t %s -s %s -k %s", s["token"], s["ssl_ca_cert_hash"], s["certificate_key"],
		))
	}
	each(ws, "join", fmt.Sprintf("-t %s -s %s", s["token"], s["ssl_ca_cert_hash"]))
	return ms, ws
}

// TestScriptBuildsAClusterThatSurvivesItsVIPHolder holds the whole machinery to the package's own script: three masters
// behind a virtual address and two workers, used by client-go through that address, also after the machine that held it
// is dead.
func TestScriptBuildsAClusterThatSurvivesItsVIPHolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	ms, _ := l.cluster(3, 2)
	c := l.client(ms[0])
	want := []string{"master11", "master12", "master13", "worker21", "worker22"}
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && len(got) == len(want) && allReady(got, want...)
	}, time.Minute, 50*time.Millisecond)

	// Again: the script finds everything done.
	out := l.ok(ms[0], fmt.Sprintf(
		"NODE_IP=%[1]s GYBE_PHASE=init bash /tmp/install_k8s_cluster.sh -m %[1]s,%[2]s,%[3]s -i %[4]s", l.ip(11),
		l.ip(12), l.ip(13), l.ip(100),
	))
	require.Contains(t, out, "the cluster is initialised already")

	holder := l.Holder(l.ip(100))
	require.Contains(t, ms, holder)
	began := time.Now()
	l.PowerOff(holder)
	require.Eventually(t, func() bool {
		_, err := nodes(t.Context(), c)
		return err == nil
	}, time.Minute, 20*time.Millisecond, "the API does not come back behind the virtual address")
	t.Logf("API back through the virtual address after %s", time.Since(began))
	require.NotEqual(t, holder, l.Holder(l.ip(100)))
	require.NotEmpty(t, l.Holder(l.ip(100)))

	dead := fmt.Sprintf("master1%c", holder[1])
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && len(got) == len(want) && !got[dead]
	}, time.Minute, 50*time.Millisecond, "a dead node stays Ready")

	l.PowerOn(holder)
	require.Eventually(t, func() bool {
		got, err := nodes(t.Context(), c)
		return err == nil && allReady(got, want...)
	}, time.Minute, 50*time.Millisecond, "a rebooted master does not come back")

	// Two dead masters of three: no majority, no API.
	l.PowerOff(ms[1])
	l.PowerOff(ms[2])
	require.Eventually(t, func() bool {
		_, err := nodes(t.Context(), c)
		return err != nil
	}, time.Minute, 50*time.Millisecond, "the API answers without a majority of etcd")
	l.PowerOn(ms[1])
	require.Eventually(t, func() bool {
		_, err := nodes(t.Context(), c)
		return err == nil
	}, time.Minute, 50*time.Millisecond, "the API does not come back with the majority")
}

func allReady(got map[string]bool, names ...string) bool {
	for _, n := range names {
		if !got[n] {
			return false
		}
	}
	return true
}

// TestFloatingAddressOfTheVIP reaches the API as a user outside does.
func TestFloatingAddressOfTheVIP(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	ms, _ := l.cluster(2, 0)
	cfg, err := clientcmd.RESTConfigFromKubeConfig([]byte(l.ok(ms[1], "sudo cat /etc/kubernetes/admin.conf")))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cfg.CAData))
	seen := map[string]bool{}
	for range 6 { // the balancer takes turns: every master shows its certificate
		d := tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
		c, err := d.DialContext(t.Context(), "tcp4", netip.AddrPortFrom(l.block.Addr(20, 100), 16443).String())
		require.NoError(t, err)
		conn, ok := c.(*tls.Conn)
		require.True(t, ok)
		seen[conn.ConnectionState().PeerCertificates[0].SerialNumber.String()] = true
		require.NoError(t, c.Close())
	}
	require.Len(t, seen, 2)
}

// TestSingleMasterByOneCommand is the script as a person runs it on one machine, and a worker with the secrets it
// prints.
func TestSingleMasterByOneCommand(t *testing.T) {
	t.Parallel()
	l := newLab(t, machine.Options{Speed: 20})
	l.boot("m", 11)
	l.boot("w", 21)
	l.install("m")
	l.install("w")
	out := l.ok("m", fmt.Sprintf("bash /tmp/install_k8s_cluster.sh -m %[1]s -i %[1]s -o", l.ip(11)))
	found := map[string]string{}
	for line := range strings.Lines(out) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[k] = v
		}
	}
	require.Contains(t, out, "BEGIN CERTIFICATE")
	l.ok("w", fmt.Sprintf("bash /tmp/install_k8s_cluster.sh -w %s -i %s -t %s -s %s", l.ip(21), l.ip(11),
		found["token"], found["ssl_ca_cert_hash"]))
	require.Contains(t, l.ok("m", "kubectl get nodes -o name"), "node/worker21")
	require.NotContains(t, l.ok("m", "sudo cat /var/log/install_k8s_cluster.log"), found["token"])
}
