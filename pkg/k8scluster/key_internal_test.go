package k8scluster

import (
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// bare are parameters without any way to log in to the machines of some roles.
func bare(t *testing.T, roles ...string) sol.KeyValuePairs {
	t.Helper()
	a := aspectParams()
	install, _ := a[ParamKey].(map[string]any)
	for _, role := range roles {
		m, ok := install[role].(map[string]any)
		require.True(t, ok)
		delete(m, "password")
	}
	return a
}

// withTemplates adds the answers of the real infra driver.
func withTemplates(t *testing.T, r lcm.Request) lcm.Request {
	t.Helper()
	d := openstack.New(openstack.Config{}, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	r.Templates = d.Templates(r)
	return r
}

func template(parameters string) fs.FS {
	return fstest.MapFS{
		"BaseHOT/simple/a_top.yaml": {
			Data: []byte("heat_template_version: 2013-05-23\nparameters:\n  nfv: {type: json}\n" + parameters),
		},
		"BaseHOT/simple/nested/one.yaml": {
			Data: []byte("heat_template_version: 2013-05-23\nparameters:\n  ssh_public_key: {type: string}\n"),
		},
	}
}

// A request without a password is rejected, before machines are created, when the package cannot put a key into them.
func TestOnlyAPackageThatTakesTheKeyGetsOne(t *testing.T) {
	t.Parallel()
	request := func(pkg fs.FS, a sol.KeyValuePairs) lcm.Request {
		return withTemplates(t, lcm.Request{
			Type: sol.LcmOperationInstantiate, Instance: &lcm.Instance{ID: "11111111-1111-4111-8111-111111111111"},
			Flavour: aspectFlavour(), Package: pkg, AdditionalParams: a,
		})
	}
	takes := template("  ssh_public_key: {type: string, default: ''}\n")
	k, err := newKey(request(takes, aspectParams()))
	require.NoError(t, err)
	require.Nil(t, k, "all roles have a password")
	k, err = newKey(request(takes, bare(t, "worker_node")))
	require.NoError(t, err)
	signer, err := ssh.ParsePrivateKey([]byte(k.Private))
	require.NoError(t, err)
	public, comment, _, _, err := ssh.ParseAuthorizedKey([]byte(k.Public))
	require.NoError(t, err)
	require.Equal(t, ssh.KeyAlgoED25519, public.Type())
	require.Equal(t, signer.PublicKey().Marshal(), public.Marshal())
	require.Equal(t, "gybe@11111111-1111-4111-8111-111111111111", comment)
	require.NotContains(t, k.Public, "\n")
	require.Empty(t, strings.Trim(k.Public, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 +-./=@_"))

	for _, pkg := range []fs.FS{
		template(""), template("  SSH_public_key: {type: string}\n"), template("  ]"), fstest.MapFS{},
	} {
		_, err = newKey(request(pkg, bare(t, "master_node", "worker_node")))
		require.ErrorContains(t, err, "/additionalParams/"+ParamKey+
			"/master_node/password: The password in the additionalParams does not exist.")
		require.ErrorContains(t, err, "/worker_node/password")
	}
}

// A change to a package that does not take the key would create machines that accept no login.
func TestTheKeyIsNotLostWithAChangeOfThePackage(t *testing.T) {
	t.Parallel()
	r := lcm.Request{
		Type: sol.LcmOperationChangeVnfpkg, Instance: &lcm.Instance{SSHKey: &lcm.SSHKey{Private: "k"}},
		Flavour: aspectFlavour(), Package: template(""),
		AdditionalParams: bare(t, "master_node"),
	}
	require.Nil(t, loginKey(withTemplates(t, r)))
	r.Package = os.DirFS("../../vnf-packages/kubernetes-cluster")
	for _, id := range []string{"simple", "complex", "podaffinity", "storage"} {
		r.Flavour.ID = id
		require.Equal(t, r.Instance.SSHKey, loginKey(withTemplates(t, r)), id)
	}
	r.Instance.SSHKey = nil
	require.Nil(t, loginKey(withTemplates(t, r)), "only an instantiation makes one")
}

// Each role is logged in to as its parameters say, with what later requests bring.
func TestEveryRoleHasItsOwnWayIn(t *testing.T) {
	t.Parallel()
	own := &lcm.SSHKey{Private: "the instance's"}
	raw, err := os.ReadFile("key_test.go")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(raw), "`")
	given, _, _ := strings.Cut(text, "`")

	a := bare(t, "master_node", "worker_node")
	install, _ := a[ParamKey].(map[string]any)
	install["storage_server"] = map[string]any{
		"vdu_id": "storage_server", "ssh_cp_name": "storage_server_CP", "username": "ubuntu", "private_key": given,
		"cinder_volume_setup_params": []any{map[string]any{"volume_resource_id": "v", "mount_to": "/volume"}},
		"nfs_server_setup_params":    []any{map[string]any{"export_dir": "/volume", "export_to": "10.0.0.0/8"}},
	}
	a["worker_node_password"] = "later"
	p, bad := parse(a, aspectFlavour(), own)
	require.Empty(t, bad)
	require.Equal(t, [2]string{own.Private, ""}, [2]string{p.master.privateKey, p.master.password})
	require.Equal(t, [2]string{own.Private, "later"}, [2]string{p.worker.privateKey, p.worker.password})
	require.Equal(t, [2]string{given, ""}, [2]string{p.storage.privateKey, p.storage.password})
	require.Equal(t, [3]bool{true, true, false}, [3]bool{p.master.keyed, p.worker.keyed, p.storage.keyed})
}
