package e2e_test

import (
	"encoding/base64"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// installHelm is a script for Helm as packages have it: run as the user who logs in, with sudo where it is needed. Its
// Helm keeps the repositories in a file.
const installHelm = `#!/bin/bash
set -o xtrace
sudo mkdir -p /var/tacker/helm
cat <<'EOF' | sudo tee /usr/local/bin/helm >/dev/null
#!/bin/bash
case "$1 $2" in
"repo list") [ -e "$HOME/repos" ] && cat "$HOME/repos" || { echo "Error: no repositories to show" >&2; exit 1; } ;;
"repo add") echo "[{\"name\":\"$5\",\"url\":\"$6\"}]" >"$HOME/repos" ;;
esac
EOF
sudo chmod 0755 /usr/local/bin/helm
exit 0
`

// registryAt starts a registry on an address that machines reach. It wants a login when it has a password.
func registryAt(t *testing.T, password *atomic.Pointer[string], secure bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		user, pw, _ := r.BasicAuth()
		if want := password.Load(); want != nil && (user != "puller" || pw != *want) {
			rw.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/v2/" {
			rw.WriteHeader(http.StatusNotFound)
		}
	}))
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.2:0") // machines have a 127.0.0.1 of their own
	require.NoError(t, err)
	_ = s.Listener.Close()
	s.Listener = l
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// Nodes pull from the registries that were asked for, and masters have Helm, whether they were there from the start or
// came later.
func TestNodesHaveRegistriesAndHelm(t *testing.T) {
	t.Parallel()
	const secret = "registry-pass-8417"
	var none, password atomic.Pointer[string]
	wrong, right := "another", secret
	password.Store(&wrong)
	plain, secure := registryAt(t, &none, false), registryAt(t, &password, true)
	plainAddr := plain.Listener.Addr().String()
	_, port, err := net.SplitHostPort(secure.Listener.Addr().String())
	require.NoError(t, err)
	named := "example.com:" + port // a name that the certificate has

	dir := copyV1(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "Scripts"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Scripts", "install_helm.sh"), []byte(installHelm), 0o600))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Files", "registry-ca.crt"), ca, 0o600))

	w, fleet := withMachines(t, nil)
	id := w.create(w.onboard(dir))
	params := w.clusterV1("complex")
	install := at(t, params, "additionalParams", "k8s_cluster_installation_param")
	delete(install, "proxy")
	install["helm_installation_script_path"] = "Scripts/install_helm.sh"
	install["private_registry_connection_info"] = []any{
		map[string]any{"connection_type": "0", "server": plainAddr},
		map[string]any{
			"connection_type": "1", "server": named, "username": "puller", "password": secret,
			"certificate_path": "Files/registry-ca.crt", "hosts_string": "127.0.0.2 example.com",
		},
	}
	op := w.instantiate(id, params)
	require.Contains(t, w.failed(op).Error.Detail, "the registry "+named+" refuses the login")
	password.Store(&right)
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	w.members(id, 3, 2)

	read := func(server, name string) string {
		b, err := fleet.Machine(server).FS().ReadFile(name)
		require.NoError(t, err, "%s %s", server, name)
		return string(b)
	}
	login := base64.StdEncoding.EncodeToString([]byte("puller:" + secret))
	equipped := func() {
		i, err := w.api.Instance(t.Context(), id)
		require.NoError(t, err)
		for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
			server := r.ComputeResource.ResourceID
			require.Contains(t, read(server, "/etc/containerd/config.toml"), `config_path = "/etc/containerd/certs.d"`)
			require.Contains(
				t, read(server, "/etc/containerd/certs.d/"+plainAddr+"/hosts.toml"), `[host."http://`+plainAddr+`"]`,
			)
			require.Contains(t, read(server, "/etc/containerd/certs.d/"+named+"/hosts.toml"),
				`ca = "/etc/containerd/certs.d/`+named+`/ca.crt"`)
			require.Equal(t, string(ca), read(server, "/etc/containerd/certs.d/"+named+"/ca.crt"))
			require.Contains(t, read(server, "/etc/hosts"), "127.0.0.2 example.com")
			require.JSONEq(
				t, `{"auths": {"`+named+`": {"auth": "`+login+`"}}}`, read(server, "/var/lib/kubelet/config.json"),
			)
			info, err := fleet.Machine(server).FS().Stat("/var/lib/kubelet/config.json")
			require.NoError(t, err)
			require.EqualValues(t, 0o600, info.Mode().Perm(), "only the user reads the login")
			_, err = fleet.Machine(server).FS().Stat("/usr/local/bin/helm")
			require.Equal(t, r.VduID == "masterNode", err == nil, r.VduID)
		}
	}
	equipped()
	vims, err := w.api.Vims(t.Context())
	require.NoError(t, err)
	helm, _ := vims[0].Extra["helm_info"].(map[string]any)
	require.Len(t, helm["masternode_ip"], 3)
	require.Equal(t, "ubuntu", helm["masternode_username"])

	// What users have put on the masters is on those that come later.
	for n := range 3 {
		server, _ := w.machineOf(id, "masterNode", n)
		fs := fleet.Machine(server).FS()
		require.NoError(t, fs.WriteFile("/var/tacker/helm/chart.tgz", []byte("chart"), 0o644))
		require.NoError(t, fs.WriteFile(
			"/home/ubuntu/repos", []byte(`[{"name":"stable","url":"https://user:pw-5531@charts.example.com"}]`), 0o644,
		))
	}
	before, _ := helm["masternode_ip"].([]any)
	dead, master := w.machineAt(id, before[0])
	fleet.PowerOff(dead)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{master}}))
	w.completed(w.task(id, sol.LcmOperationScale, v1Params(t, "scale_out")))
	w.members(id, 3, 3)
	equipped()
	healed := 0
	for n := range 3 {
		server, _ := w.machineOf(id, "masterNode", n)
		require.Equal(t, "chart", read(server, "/var/tacker/helm/chart.tgz"))
		if server != dead {
			healed++
		}
		require.Contains(t, read(server, "/home/ubuntu/repos"), `"name":"stable"`)
	}
	require.Equal(t, 3, healed)
	vims, err = w.api.Vims(t.Context())
	require.NoError(t, err)
	helm, _ = vims[0].Extra["helm_info"].(map[string]any)
	require.Equal(
		t, []any{before[1], before[2], before[0]}, helm["masternode_ip"], "the healed master is the youngest now",
	)

	for _, text := range []string{w.log.String(), w.seen.String()} {
		for _, s := range []string{secret, login, "pw-5531"} {
			require.NotContains(t, text, s)
		}
	}
	w.completed(w.terminate(id))
	w.gone()
}

// machineAt is the server of the VNFC that Gybe reaches at an address, with its vnfcInfo id.
func (w *world) machineAt(id string, address any) (server, vnfc string) {
	w.t.Helper()
	hosts, err := w.api.SSHHosts(w.t.Context(), id)
	require.NoError(w.t, err)
	i := w.instance(id).InstantiatedVnfInfo
	for _, h := range hosts {
		if h.Address != address {
			continue
		}
		for _, c := range i.VnfcInfo {
			for _, r := range i.VnfcResourceInfo {
				if c.ID == h.VnfcInstanceID && r.ID == c.VnfcResourceInfoID {
					return r.ComputeResource.ResourceID, c.ID
				}
			}
		}
	}
	w.t.Fatalf("nothing is at %v", address)
	return "", ""
}
