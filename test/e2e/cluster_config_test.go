package e2e_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// program finds a real program, or skips the test with a loud message.
func program(t *testing.T, name, hint string) string {
	t.Helper()
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin") {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	t.Skipf("!!!! SKIPPED: no %s on this machine, so the output for it is not checked; %s", name, hint)
	return ""
}

// checked runs a program that must be content.
func checked(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoError(t, err, "%s\n%s", strings.Join(append([]string{program}, args...), " "), out)
	return string(out)
}

// rewritten writes a file of a machine into the test's folder with some words replaced.
func rewritten(t *testing.T, m *machine.Machine, name string, replace ...string) string {
	t.Helper()
	raw, err := m.FS().ReadFile(name)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), filepath.Base(name))
	require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(replace...).Replace(string(raw))), 0o600))
	return file
}

// What the driver has the scripts write is read by HAProxy, keepalived, the NFS server and kubeadm: the real ones must
// take it, here and not only on users' machines. The machines are simulated, the files are those that the scripts have
// written there.
func TestRealProgramsTakeWhatTheScriptsWrite(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	vnfd := w.onboard(clusterSource)
	ha, storage := w.create(vnfd), w.create(vnfd)
	ops := []string{w.instantiate(ha, w.cluster("complex")), w.instantiate(storage, w.cluster("storage"))}
	for _, op := range ops {
		w.completed(op)
	}
	var masters []*machine.Machine
	for n := range 3 {
		server, _ := w.machineOf(ha, "masterNode", n)
		masters = append(masters, fleet.Machine(server))
	}

	t.Run("haproxy", func(t *testing.T) {
		haproxy := program(t, "haproxy", "apt-get install haproxy")
		for _, m := range masters {
			out := checked(t, haproxy, "-c", "-f", rewritten(t, m, "/etc/haproxy/haproxy.cfg"))
			require.NotContains(t, out, "[WARNING]")
		}
	})
	t.Run("keepalived", func(t *testing.T) {
		keepalived := program(t, "keepalived", "apt-get install keepalived")
		root(t)
		for _, m := range masters {
			const name, check = "/etc/keepalived/keepalived.conf", "/usr/local/libexec/gybe-check-haproxy"
			raw, err := m.FS().ReadFile(name)
			require.NoError(t, err)
			device := regexp.MustCompile(`(?m)^  interface (\S+)$`).FindSubmatch(raw)
			require.NotNil(t, device)
			script := rewritten(t, m, check)
			require.NoError(t, os.Chmod(script, 0o755))
			checked(t, keepalived, "-t", "-f", rewritten(
				t, m, name, "interface "+string(device[1])+"\n", "interface "+local(t)+"\n", check, script,
			))
			checked(t, "bash", "-n", script)
		}
	})
	t.Run("NFS server", func(t *testing.T) {
		program(t, "exportfs", "apt-get install nfs-kernel-server")
		root(t)
		server, _ := w.machineOf(storage, "storage_server", 0)
		dir := t.TempDir()
		exports := rewritten(t, fleet.Machine(server), "/etc/exports", "/volume/", dir+"/volume/")
		raw, err := os.ReadFile(exports)
		require.NoError(t, err)
		exported := regexp.MustCompile(`(?m)^(/\S+) (\S+)\(`).FindAllStringSubmatch(string(raw), -1)
		require.Len(t, exported, 2)
		for _, e := range exported {
			require.NoError(t, os.MkdirAll(e[1], 0o700))
		}
		// In a mount namespace of its own, with a state of its own: the machine's NFS server, if it has one, learns
		// nothing.
		out := checked(t, "unshare", "-m", "bash", "-euc", `mkdir "$1/state"; mount --bind "$1/state" /var/lib/nfs; mount --bind "$2" /etc/exports
			export PATH=$PATH:/usr/sbin; exportfs -ra; exportfs -v`, "bash", dir, exports)
		for _, e := range exported {
			require.Regexp(t, regexp.QuoteMeta(e[1])+`\s+`+regexp.QuoteMeta(e[2])+`\(\S*\brw\b\S*\ball_squash\b`, out)
		}
	})
	t.Run("kubeadm", func(t *testing.T) {
		kubeadm := realKubeadm(t)
		version := strings.TrimSpace(checked(t, kubeadm, "version", "-o", "short"))
		for _, id := range []string{ha, storage} {
			server, _ := w.machineOf(id, "masterNode", 0)
			raw, err := fleet.Machine(server).FS().ReadFile("/var/lib/gybe/init.yaml")
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "init.yaml")
			// simulated machines have loopback addresses, which kubeadm refuses
			raw = bytes.ReplaceAll(raw, []byte(`"127.`), []byte(`"10.`))
			raw = regexp.MustCompile(`kubernetesVersion: ".*"`).ReplaceAll(
				raw, []byte(`kubernetesVersion: "`+version+`"`),
			)
			require.NoError(t, os.WriteFile(file, raw, 0o600))
			checked(t, kubeadm, "config", "validate", "--config", file)
		}
		for _, role := range []string{"master", "worker"} {
			file := filepath.Join(t.TempDir(), "join.yaml")
			require.NoError(t, os.WriteFile(file, []byte(joinConfig(t, role)), 0o600))
			checked(t, kubeadm, "config", "validate", "--config", file)
		}
	})
	for _, id := range []string{ha, storage} {
		w.completed(w.terminate(id))
	}
	w.gone()
}

// root skips a test whose program does not even look at its configuration otherwise.
func root(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("!!!! SKIPPED: it needs root")
	}
}

// realKubeadm is the machine's, or the one of the lab with real Kubernetes.
func realKubeadm(t *testing.T) string {
	t.Helper()
	if file, err := exec.LookPath("kubeadm"); err == nil {
		return file
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	built, err := filepath.Glob(filepath.Join(cache, "gybe-lab", "kubebox-*"))
	require.NoError(t, err)
	if len(built) == 0 {
		t.Skip(
			"!!!! SKIPPED: no kubeadm on this machine, so the output for it is not checked; make test-lab-k8s builds " +
				"one",
		)
	}
	link := filepath.Join(t.TempDir(), "kubeadm") // it goes by the name that it is called by
	require.NoError(t, os.Symlink(built[len(built)-1], link))
	return link
}

// joinConfig is what the script writes for kubeadm join: no machine keeps that, so its functions are called here.
func joinConfig(t *testing.T, role string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(clusterSource, "Scripts", "lib", "kubeadm.sh"))
	require.NoError(t, err)
	functions := regexp.MustCompile(`(?ms)^(node_registration|join_config)\(\) \{$.*?^\}$`).FindAll(script, -1)
	require.Len(t, functions, 2)
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", string(bytes.Join(functions, []byte("\n")))+"\njoin_config")
	cmd.Env = append(
		os.Environ(), "ROLE="+role, "NODE_NAME="+role+"12", "NODE_IP=10.10.0.12", "ENDPOINT=10.10.0.100:16443",
		"JOIN_TOKEN=abcdef.0123456789abcdef", "CA_CERT_HASH=sha256:"+strings.Repeat("0a", 32),
		"CERTIFICATE_KEY="+strings.Repeat("0b", 32))
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// local is the name of a network interface of this machine.
func local(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			return i.Name
		}
	}
	return "lo"
}
