package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

const (
	nodePassword  = "N0dePassw0rdOfThisTest"
	wrongPassword = "Wr0ngPassw0rdOfThisTest"
	vimPassword   = "Reg1steredPassw0rdOfThisTest"
)

// locked are machines with a password of their own.
type locked struct{ *machine.Fleet }

// Boot implements simcloud.Machines.
func (l locked) Boot(ctx context.Context, m simcloud.Machine) error {
	m.AdminPassword = nodePassword
	return l.Fleet.Boot(ctx, m)
}

// Nothing secret that Gybe is given or makes can be read again: not in an answer, a log, an event, a notification, or a
// row of the database, however things went.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	fleet := machine.NewFleet(context.WithoutCancel(t.Context()), machine.Options{SSHPort: sshPort})
	t.Cleanup(fleet.Close)
	cloud := simcloud.StartTest(t, simcloud.Options{Machines: locked{fleet}})
	var data string
	w := start(t, cloud, func(c *config.Config) { data = c.DataDir })
	vnfd := w.onboard(clusterSource)

	// A VIM that a user registers, and one whose password is wrong.
	_, err := w.api.CreateVim(t.Context(), gybeapi.Vim{
		Name: "wrong", Type: "openstack", AuthURL: cloud.AuthURL(),
		VimProject: sol.KeyValuePairs{"name": simcloud.Project, "project_domain_name": simcloud.Domain},
		AuthCred: sol.KeyValuePairs{
			"username": simcloud.Username, "password": vimPassword, "user_domain_name": simcloud.Domain,
			"cert_verify": "True",
		},
	})
	require.Error(t, err)
	id := w.create(vnfd)
	params := w.locked("complex")
	at(t, params, "vimConnectionInfo", "vim1", "accessInfo")["password"] = wrongPassword
	op := w.instantiate(id, params)
	w.failed(op)
	require.NoError(t, w.api.Fail(t.Context(), op))

	// One that fails on a node, is retried, and becomes a cluster.
	fleet.Fail("", machine.Failure{Command: "kubeadm join", Stderr: "error execution phase preflight: no"})
	op = w.instantiate(id, w.locked("complex"))
	w.failed(op)
	fleet.ClearFailures("")
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	secrets := map[string]string{
		"password of the VIM": simcloud.Password, "password of the nodes": nodePassword,
		"wrong password":      wrongPassword,
		"registered password": vimPassword,
	}
	maps.Copy(secrets, w.clusterSecrets(id))
	w.askEverything(id)
	for _, o := range []string{op, w.terminate(id)} {
		w.completed(o)
		w.events(o)
		w.progress(o)
	}
	w.askEverything(id)
	w.stop() // whatever it had still to say, it has said

	places := map[string]string{"answers of the API": w.seen.String(), "log": w.log.String()}
	for table, rows := range w.tables() {
		places["table "+table] = rows
	}
	maps.Copy(places, files(t, data))
	require.Contains(t, places["table event"], "prepare node", "the test has to look into something")
	require.Contains(t, places["table vnf_lcm_op_occ"], op)
	require.Contains(t, places["log"], op)
	require.Contains(t, places["answers of the API"], "k8s_cluster_installation_param")
	for place, text := range places {
		for what, secret := range secrets {
			for _, form := range []string{
				secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
			} {
				if n := strings.Index(text, form); n >= 0 {
					t.Errorf("%s: the %s: …%s…", place, what, text[max(0, n-120):min(len(text), n+len(form)+20)])
				}
			}
		}
		for what, form := range map[string]*regexp.Regexp{
			"bootstrap token": regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`),
			"certificate key": regexp.MustCompile(`(?i)certificate[-_ ]?key["':= ]+[0-9a-f]{64}`),
			"private key":     regexp.MustCompile(`PRIVATE KEY-----`),
		} {
			for _, n := range form.FindAllStringIndex(text, 1) {
				t.Errorf("%s: a %s: …%s…", place, what, text[max(0, n[0]-120):min(len(text), n[1]+20)])
			}
		}
	}
}

// locked is the parameter file with the password that the nodes have.
func (w *world) locked(flavour string) map[string]any {
	w.t.Helper()
	p := w.cluster(flavour)
	for _, role := range []string{"master_node", "worker_node"} {
		at(w.t, p, "additionalParams", "k8s_cluster_installation_param", role)["password"] = nodePassword
	}
	return p
}

// clusterSecrets reads what only the cluster and its administrators know.
func (w *world) clusterSecrets(id string) map[string]string {
	w.t.Helper()
	t := w.t
	blind, err := client.New(w.node.URL(), nil) // the kubeconfig is the one answer that has a secret in it
	require.NoError(t, err)
	raw, err := blind.Kubeconfig(t.Context(), id)
	require.NoError(t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(t, err)
	require.NotEmpty(t, cfg.BearerToken)
	out := map[string]string{"bearer token": cfg.BearerToken}
	c, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	list, err := c.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, s := range list.Items {
		if v := s.Data["token-secret"]; len(v) > 0 {
			out["secret of the "+s.Name] = string(v)
		}
	}
	require.Greater(t, len(out), 1, "nodes have joined with tokens")
	return out
}

// askEverything reads everything that the API shows.
func (w *world) askEverything(id string) {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.api.Instances(ctx, "", true)
	require.NoError(w.t, err)
	_, err = w.api.Instance(ctx, id)
	require.NoError(w.t, err)
	ops, err := w.api.Operations(ctx, "", true)
	require.NoError(w.t, err)
	for _, o := range ops {
		w.progress(o.ID)
	}
	_, err = w.api.Packages(ctx, "", true)
	require.NoError(w.t, err)
	vims, err := w.api.Vims(ctx)
	require.NoError(w.t, err)
	for _, v := range vims {
		_, err := w.api.Vim(ctx, v.ID)
		require.NoError(w.t, err)
	}
	_, err = w.api.Nodes(ctx)
	require.NoError(w.t, err)
	feed, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for range w.api.Events(feed, client.EventQuery{After: client.FromStart}) {
		continue
	}
}

// tables reads every row of the database as text.
func (w *world) tables() map[string]string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(),
		"SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
	require.NoError(w.t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(w.t, err)
	require.Contains(w.t, names, "outbox")
	out := map[string]string{}
	for _, name := range names {
		rows, err := w.pool.Query(
			w.t.Context(), fmt.Sprintf("SELECT r::text FROM %s r", pgx.Identifier{name}.Sanitize()),
		)
		require.NoError(w.t, err)
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(w.t, err)
		out[name] = strings.Join(list, "\n")
	}
	return out
}

// files reads everything that a node keeps on its disk but the keys themselves and the packages.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "secret.key" || strings.HasPrefix(
			name, filepath.Join(dir, "content"),
		) {
			return err
		}
		raw, err := os.ReadFile(name)
		out[name] = string(bytes.ToValidUTF8(raw, nil))
		return err
	}))
	return out
}
