package e2e_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/cmd/gybe/cli"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// gybe runs a command line against the world and returns what it wrote, with its exit code.
func (w *world) gybe(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	var out, failure bytes.Buffer
	code = cli.Run(context.WithoutCancel(w.t.Context()), args, cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &failure,
		Environ: []string{"GYBE_ENDPOINT=" + w.node.URL()}, Version: "e2e",
	})
	return out.String(), failure.String(), code
}

// told is what a command that must succeed writes.
func (w *world) told(args ...string) string {
	w.t.Helper()
	stdout, stderr, code := w.gybe(args...)
	require.Zero(w.t, code, "%v: %s", args, stderr)
	return stdout
}

// An operator finds the nodes of a cluster and sees what is wrong with one, also when the cluster does not answer at
// all.
func TestOperatorSeesTheNodesOfACluster(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	_, stderr, code := w.gybe("vnf", "nodes", id)
	require.Equal(t, cli.ExitConflict, code)
	require.Contains(t, stderr, "no machines")
	w.completed(w.instantiate(id, w.cluster("complex")))

	c, err := w.api.Cluster(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, c.Problem)
	require.Equal(t, []string{"master", "master", "master", "worker", "worker"}, roles(c))
	for _, n := range c.Nodes {
		require.Equal(t, gybeapi.NodeReady, n.State, n.Name)
		require.NotEmpty(t, n.Version)
		require.True(t, strings.HasPrefix(n.VnfcInstanceID, n.VduID+"-"), "%+v", n)
		require.True(t, strings.HasSuffix(n.Address, "."+strings.TrimPrefix(n.Name, n.Role)), "%+v", n)
	}
	table := w.told("vnf", "nodes", id)
	require.Regexp(t, `(?m)^NODE +ROLE +STATE +VERSION +ADDRESS +VNFC`, table)
	require.Regexp(t, `(?m)^master\d+ +master +READY +v1\.`, table)
	var shown gybeapi.Cluster
	require.NoError(t, json.Unmarshal([]byte(w.told("vnf", "nodes", id, "-o", "json")), &shown))
	require.Len(t, shown.Nodes, 5)

	// Workers and masters that are dead are there, and said to be.
	worker, vnfc := w.machineOf(id, "workerNode", 0)
	fleet.PowerOff(worker)
	require.Eventually(t, func() bool {
		c, err := w.api.Cluster(t.Context(), id)
		require.NoError(t, err)
		return slices.ContainsFunc(c.Nodes, func(n gybeapi.ClusterNode) bool {
			return n.VnfcInstanceID == vnfc && n.State == gybeapi.NodeNotReady && n.Reason != ""
		})
	}, patience, 50*time.Millisecond)
	for n := range 3 {
		master, _ := w.machineOf(id, "masterNode", n)
		fleet.PowerOff(master)
	}
	stdout, stderr, code := w.gybe("vnf", "nodes", id)
	require.Equal(t, cli.ExitUnreachable, code)
	require.Equal(t, 5, strings.Count(stdout, "UNKNOWN"), stdout)
	require.Contains(t, stderr, "the cluster did not tell about its nodes")
	w.completed(w.terminate(id))
	w.gone()
}

func roles(c *gybeapi.Cluster) []string {
	var out []string
	for _, n := range c.Nodes {
		out = append(out, n.Role)
	}
	return out
}

// The kubeconfig joins those that an operator has already, harms none of them, and follows the cluster when that is
// rebuilt.
func TestKubeconfigJoinsTheOnesThatAreThere(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	file := filepath.Join(t.TempDir(), "config")
	const other = `{"apiVersion":"v1","kind":"Config","current-context":"mine","clusters":[{"name":"mine","cluster":{"server":"https://mine"}}],` +
		`"users":[{"name":"me","user":{"token":"t"}}],"contexts":[{"name":"mine","context":{"cluster":"mine","user":"me"}}]}`
	require.NoError(t, os.WriteFile(file, []byte(other), 0o600))
	_, stderr, code := w.gybe("vnf", "kubeconfig", id, "--merge", "-f", file, "--name", "mine")
	require.Equal(t, cli.ExitRejected, code)
	require.Contains(t, stderr, `context "mine" of another user`)
	for range 2 { // the second time replaces the first
		w.told("vnf", "kubeconfig", id, "--merge", "-f", file)
	}
	cfg, err := clientcmd.LoadFromFile(file)
	require.NoError(t, err)
	require.Equal(t, "mine", cfg.CurrentContext)
	require.Len(t, cfg.Contexts, 2)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	before := cfg.AuthInfos["gybe@v2-kubernetes-sample"].Token
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}))
	w.told("vnf", "kubeconfig", id, "--merge", "-f", file)
	client, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: file},
		&clientcmd.ConfigOverrides{CurrentContext: "v2-kubernetes-sample"}).ClientConfig()
	require.NoError(t, err)
	require.NotEqual(t, before, client.BearerToken)
	list, err := nodes(t, client)
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Contains(t, w.log.String(), `"handed_out":"administrator's token of the cluster"`, "who had it can be seen")
}

// A machine that shows another host key than at the first login is not believed, and nothing secret is sent to it,
// until its operator says that it was rebuilt on purpose.
func TestChangedHostKeyIsRefusedUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.cluster("simple")))
	hosts, err := w.api.SSHHosts(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, hosts, 3)
	for _, h := range hosts {
		require.NotNil(t, h.HostKey, h.Name)
		raw, err := base64.StdEncoding.DecodeString(h.HostKey.Key)
		require.NoError(t, err)
		m := fleet.Machine(h.VnfcInstanceID[len(h.VduID)+1:])
		require.True(t, slices.ContainsFunc(m.HostKeys(), func(k ssh.PublicKey) bool {
			return bytes.Equal(k.Marshal(), raw) && ssh.FingerprintSHA256(k) == h.HostKey.Fingerprint
		}), "it is the key that the machine has")
		require.Equal(t, sshPort, h.Port)
		require.Equal(t, "ubuntu", h.User)
	}
	config := w.told("vnf", "ssh-hosts", id)
	require.Equal(t, 3, strings.Count(config, "\nHost "), config)
	require.Contains(t, config, "Host "+hosts[0].Name+".v2-kubernetes-sample\n")
	require.Contains(t, w.told("vnf", "ssh-hosts", id, "--known-hosts"),
		fmt.Sprintf("]:%d ", sshPort)+hosts[0].HostKey.Type+" "+hosts[0].HostKey.Key+"\n")

	require.Contains(t, w.ssh(config, hosts[0].Name+".v2-kubernetes-sample"), "Permission denied",
		"it is believed, and refuses a login without a password")

	// Something else answers at the address of the worker that the next operation has to refresh.
	server, vnfc := w.machineOf(id, "workerNode", 0)
	was := slices.IndexFunc(hosts, func(h gybeapi.SSHHost) bool { return h.VnfcInstanceID == vnfc })
	fleet.ChangeHostKeys(server)
	fleet.Reboot(server) // connections that were open are not
	op := w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale"})
	o := w.failed(op)
	require.Contains(t, w.ssh(config, hosts[was].Name+".v2-kubernetes-sample"), "Host key verification failed")
	seen := fleet.Machine(server).HostKeys()
	require.Contains(t, o.Error.Detail, "the host key of "+vnfc+" has changed: pinned "+hosts[was].HostKey.Fingerprint)
	require.True(t, slices.ContainsFunc(seen, func(k ssh.PublicKey) bool {
		return strings.Contains(o.Error.Detail, ssh.FingerprintSHA256(k))
	}), o.Error.Detail)
	require.Contains(t, o.Error.Hint, "--forget")

	_, _, code := w.gybe("vnf", "ssh-hosts", id, "--forget", "nobody")
	require.Equal(t, cli.ExitNotFound, code)
	w.told("vnf", "ssh-hosts", id, "--forget", vnfc)
	require.Contains(t, w.told("vnf", "ssh-hosts", id), "no host key is pinned")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	hosts, err = w.api.SSHHosts(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, hosts, 4)
	for _, h := range hosts {
		require.NotNil(t, h.HostKey)
	}
}

// ssh tries to log in with OpenSSH and nothing but a configuration, and returns what it says.
func (w *world) ssh(config, host string) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "config")
	require.NoError(w.t, os.WriteFile(file, []byte(config), 0o600))
	out, err := exec.CommandContext(w.t.Context(), "ssh", "-F", file, "-o", "BatchMode=yes", host,
		"true").CombinedOutput()
	require.Error(w.t, err)
	return string(out)
}

// withoutLogins is the parameter file without any way to log in to the machines.
func (w *world) withoutLogins(flavour string) map[string]any {
	w.t.Helper()
	p := w.cluster(flavour)
	for _, role := range []string{"master_node", "worker_node", "storage_server"} {
		if m, ok := at(w.t, p, "additionalParams", "k8s_cluster_installation_param")[role].(map[string]any); ok {
			delete(m, "password")
		}
	}
	return p
}

// keyOf reads the key pair that Gybe has made for an instance from the database, with the key file in a node's data
// directory.
func (w *world) keyOf(id, data string) *lcm.SSHKey {
	w.t.Helper()
	ring, err := secret.LoadOrCreate(filepath.Join(data, "secret.key"))
	require.NoError(w.t, err)
	s, err := store.New(w.t.Context(), w.pool, ring, nil, slog.New(slog.DiscardHandler))
	require.NoError(w.t, err)
	i, err := s.In(lcm.Principal{}).Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	return i.SSHKey
}

// servers lists the servers of an instance.
func (w *world) servers(id string) []string {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	var out []string
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		out = append(out, r.ComputeResource.ResourceID)
	}
	return out
}

// Who gives no way to log in gets machines with a key of their own: those of the beginning, those that come later, and
// those that replace others. No user sees the private part, and it is gone with the cluster.
func TestClusterWithoutPasswordsHasAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	fleet := machine.NewFleet(context.WithoutCancel(t.Context()), machine.Options{SSHPort: sshPort})
	t.Cleanup(fleet.Close)
	cloud := simcloud.StartTest(t, simcloud.Options{Machines: locked{fleet}})
	var data string
	w := start(t, cloud, func(c *config.Config) { data = c.DataDir })
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, w.withoutLogins("complex")))
	w.members(id, 3, 2)
	key := w.keyOf(id, data)
	require.NotNil(t, key)
	servers := w.servers(id)

	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "workerNode_scale"}))
	w.members(id, 3, 3)
	require.Subset(t, w.servers(id), servers, "an update leaves the others as they are")
	for _, vdu := range []string{"workerNode", "masterNode"} {
		dead, vnfc := w.machineOf(id, vdu, 0)
		fleet.PowerOff(dead)
		w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{vnfc}}))
		w.members(id, 3, 3)
	}
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}))
	w.members(id, 3, 3)
	require.Equal(t, key, w.keyOf(id, data))
	w.told("vnf", "nodes", id)
	w.askEverything(id)
	op := w.terminate(id)
	w.completed(op)
	w.gone()
	require.Nil(t, w.keyOf(id, data))

	w.completed(w.instantiate(id, w.withoutLogins("storage")))
	second := w.keyOf(id, data)
	require.NotEqual(t, key.Public, second.Public, "another life has another key")
	w.stop()
	places := map[string]string{"answers": w.seen.String(), "log": w.log.String()}
	for table, rows := range w.tables() {
		places["table "+table] = rows
	}
	require.Contains(t, places["log"], op)
	for place, text := range places {
		require.NotContains(t, text, "PRIVATE KEY", place)
		for _, k := range []*lcm.SSHKey{key, second} {
			lines := strings.Split(strings.TrimSpace(k.Private), "\n")
			for _, line := range lines[2 : len(lines)-1] { // all keys begin alike
				require.NotContains(t, text, line, place)
			}
		}
	}
}

// A cluster that could not be made keeps its key: what is left of it can be entered by the next attempt. Looking at
// what would be done makes none.
func TestTheKeyOutlivesAFailure(t *testing.T) {
	t.Parallel()
	fleet := machine.NewFleet(context.WithoutCancel(t.Context()), machine.Options{SSHPort: sshPort})
	t.Cleanup(fleet.Close)
	cloud := simcloud.StartTest(t, simcloud.Options{Machines: locked{fleet}})
	var data string
	w := start(t, cloud, func(c *config.Config) { data = c.DataDir })
	id := w.create(w.onboard(clusterSource))
	_, err := w.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, w.withoutLogins("simple")),
	})
	require.NoError(t, err)
	require.Nil(t, w.keyOf(id, data))
	fleet.Fail("", machine.Failure{Command: "kubeadm init", Stderr: "error execution phase preflight: no"})
	op := w.instantiate(id, w.withoutLogins("simple"))
	w.failed(op)
	key := w.keyOf(id, data)
	require.NotNil(t, key)
	require.NoError(t, w.api.Fail(t.Context(), op))
	fleet.ClearFailures("")
	op = w.instantiate(id, w.withoutLogins("simple"))
	w.completed(op)
	require.Equal(t, key, w.keyOf(id, data))
	w.completed(w.terminate(id))
	w.gone()
}

// entered are machines that let one key in and no password.
type entered struct {
	*machine.Fleet
	public string
}

// Boot implements simcloud.Machines.
func (e entered) Boot(ctx context.Context, m simcloud.Machine) error {
	m.AdminPassword, m.PublicKey = nodePassword, e.public
	return e.Fleet.Boot(ctx, m)
}

// Who gives a private key needs no password, for any role and in any operation; a password that a later request brings
// does no harm.
func TestClusterIsEnteredWithAPrivateKey(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	line, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	fleet := machine.NewFleet(context.WithoutCancel(t.Context()), machine.Options{SSHPort: sshPort})
	t.Cleanup(fleet.Close)
	cloud := simcloud.StartTest(t, simcloud.Options{Machines: entered{fleet, string(ssh.MarshalAuthorizedKey(line))}})
	var data string
	w := start(t, cloud, func(c *config.Config) { data = c.DataDir })
	params := w.withoutLogins("storage")
	for _, role := range []string{"master_node", "worker_node", "storage_server"} {
		at(t, params, "additionalParams", "k8s_cluster_installation_param", role)["private_key"] = string(
			pem.EncodeToMemory(block),
		)
	}
	id := w.create(w.onboard(clusterSource))
	w.completed(w.instantiate(id, params))
	require.Nil(t, w.keyOf(id, data), "no other key is made")
	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{
		"type": "SCALE_OUT", "aspectId": "workerNode_scale",
		"additionalParams": map[string]any{"worker_node_password": wrongPassword},
	}))
	c, err := w.api.Cluster(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []string{"master", "worker", "worker", "worker", "storage"}, roles(c))
	for _, n := range c.Nodes {
		require.Equal(
			t, map[bool]string{true: gybeapi.NodeNone, false: gybeapi.NodeReady}[n.Role == "storage"], n.State,
		)
	}
	w.completed(w.terminate(id))
	w.gone()
}
