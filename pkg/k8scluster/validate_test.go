package k8scluster_test

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

const param = "/additionalParams/k8s_cluster_installation_param"

// validate sends a parameter file through the driver after change has spoiled it.
func validate(t *testing.T, flavour string, pkg fs.FS, change func(install map[string]any)) error {
	t.Helper()
	var req map[string]any
	require.NoError(t, json.Unmarshal(paramFile(t, flavour), &req))
	additional, ok := req["additionalParams"].(map[string]any)
	require.True(t, ok)
	install, ok := additional[k8scluster.ParamKey].(map[string]any)
	require.True(t, ok)
	change(install)
	if install["_"] == "remove" {
		delete(additional, k8scluster.ParamKey)
	}
	raw, err := json.Marshal(req)
	require.NoError(t, err)
	m := model()
	return k8scluster.New(k8scluster.Options{}).Validate(t.Context(), withTemplates(t, lcm.Request{
		Type: sol.LcmOperationInstantiate, Instance: &lcm.Instance{}, VNFD: m, Flavour: m.Flavour(flavour),
		Package: pkg, Params: raw, AdditionalParams: additional,
	}))
}

// withTemplates adds the answers of the real infra driver.
func withTemplates(t *testing.T, r lcm.Request) lcm.Request {
	t.Helper()
	d := openstack.New(openstack.Config{}, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	r.Templates = d.Templates(r)
	return r
}

func in(m map[string]any, name string) map[string]any {
	sub, _ := m[name].(map[string]any)
	return sub
}

func TestUsersParameterFilesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"simple", "complex"} {
		require.NoError(t, validate(t, flavour, packageFS, func(map[string]any) {}))
		require.NoError(t, validate(t, flavour, packageFS, func(p map[string]any) {
			delete(in(p, "master_node"), "pod_cidr")
			in(p, "worker_node")["private_key"] = testKey
			delete(in(p, "worker_node"), "password")
			p["script_path"] = "./Scripts/install_k8s_cluster.sh"
			p["kubernetes_version"], p["cilium_version"] = "1.34.2", "1.18.4"
			p["proxy"] = map[string]any{
				"http_proxy": "http://192.0.2.1:3128", "https_proxy": "http://192.0.2.1:3128",
				"no_proxy": "example.com", "k8s_node_cidr": "10.10.0.0/24",
			}
		}))
	}
}

// A request that cannot work is refused before anything is created, and the user learns everything that is wrong with
// it.
func TestBadParametersAreRefusedWithPointers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(p map[string]any)
		want   map[string]string // pointer below the parameter, and a part of the detail
	}{
		{"nothing at all", func(p map[string]any) {
			p["_"] = "remove"
		}, map[string]string{"": "k8s_cluster_installation_param is not defined in additionalParams."}},
		{"no script", func(p map[string]any) {
			delete(p, "script_path")
		}, map[string]string{"/script_path": "The script_path in the additionalParams is invalid."}},
		{"script is not in the package", func(p map[string]any) { p["script_path"] = "Scripts/other.sh" }, map[string]string{"/script_path": `The script_path in the additionalParams is invalid: the package has no file "Scripts/other.sh"`}},
		{"script is a folder", func(p map[string]any) {
			p["script_path"] = "Scripts"
		}, map[string]string{"/script_path": "no file"}},
		{"script outside the package", func(p map[string]any) {
			p["script_path"] = "../../etc/passwd"
		}, map[string]string{"/script_path": "not a path in the package"}},
		{"script is no string", func(p map[string]any) {
			p["script_path"] = 7
		}, map[string]string{"/script_path": "script_path in the additionalParams is invalid."}},
		{"no masters", func(p map[string]any) {
			delete(p, "master_node")
		}, map[string]string{"/master_node": "master_node is not defined in additionalParams."}},
		{"masters are a list", func(p map[string]any) {
			p["master_node"] = []any{}
		}, map[string]string{"/master_node": "is not an object"}},
		{
			"empty masters and workers",
			func(p map[string]any) { p["master_node"], p["worker_node"] = map[string]any{}, map[string]any{} },
			map[string]string{
				"/master_node/vdu_id":          "master_node vdu_id is not defined in additionalParams.",
				"/master_node/ssh_cp_name":     "master_node ssh_cp_name is not defined in additionalParams.",
				"/master_node/nic_cp_name":     "master_node nic_cp_name is not defined in additionalParams.",
				"/master_node/username":        "master_node username is not defined in additionalParams.",
				"/master_node/cluster_cp_name": "master_node cluster_cp_name is not defined in additionalParams.",
				"/worker_node/vdu_id":          "worker_node vdu_id is not defined in additionalParams.",
				"/worker_node/ssh_cp_name":     "worker_node ssh_cp_name is not defined in additionalParams.",
				"/worker_node/nic_cp_name":     "worker_node nic_cp_name is not defined in additionalParams.",
				"/worker_node/username":        "worker_node username is not defined in additionalParams.",
			},
		},
		{"pod network with host bits", func(p map[string]any) {
			in(p, "master_node")["pod_cidr"] = "10.200.0.1/16"
		}, map[string]string{"/master_node/pod_cidr": "is not an IPv4 network"}},
		{"service network is a word", func(p map[string]any) {
			in(p, "master_node")["cluster_cidr"] = "many"
		}, map[string]string{"/master_node/cluster_cidr": "is not an IPv4 network"}},
		{"unknown VDU", func(p map[string]any) {
			in(p, "worker_node")["vdu_id"] = "workerNodes"
		}, map[string]string{"/worker_node/vdu_id": `has no VDU "workerNodes"`}},
		{"one VDU for both", func(p map[string]any) {
			in(p, "worker_node")["vdu_id"] = "masterNode"
		}, map[string]string{"/worker_node/vdu_id": "different VDUs"}},
		{"misspelled resource", func(p map[string]any) {
			in(p, "worker_node")["ssh_cp_name"] = "workerNode_CP1_floatingip"
		}, map[string]string{
			"/worker_node/ssh_cp_name": `no template of the flavour complex has a resource "workerNode_CP1_floatingip"`,
		}},
		{"misspelled cluster address", func(p map[string]any) {
			in(p, "master_node")["cluster_fip_name"] = "vip"
		}, map[string]string{"/master_node/cluster_fip_name": `"vip"`}},
		{"masters' own port as the common address", func(p map[string]any) {
			in(p, "master_node")["cluster_cp_name"] = "masterNode_CP1"
		}, map[string]string{"/master_node/cluster_cp_name": "with 3 masters"}},
		{"user name that is a command", func(p map[string]any) {
			in(p, "master_node")["username"] = "a;b"
		}, map[string]string{"/master_node/username": "is not a user name"}},
		{"every address for pods", func(p map[string]any) {
			in(p, "master_node")["pod_cidr"] = "0.0.0.0/0"
		}, map[string]string{"/master_node/pod_cidr": "too large"}},
		{"pods in the network of services", func(p map[string]any) {
			in(p, "master_node")["pod_cidr"] = "10.96.0.0/12"
		}, map[string]string{"/master_node/cluster_cidr": "overlaps"}},
		{"password of two lines", func(p map[string]any) {
			in(p, "worker_node")["password"] = "a\nb"
		}, map[string]string{"/worker_node/password": "line break"}},
		{"broken private key", func(p map[string]any) {
			in(p, "master_node")["private_key"] = "-----BEGIN"
		}, map[string]string{"/master_node/private_key": "is not a private key"}},
		{"proxy without a scheme", func(p map[string]any) {
			p["proxy"] = map[string]any{"http_proxy": "192.0.2.1:3128"}
		}, map[string]string{"/proxy/http_proxy": "is not a URL"}},
		{"proxy with a quote", func(p map[string]any) {
			p["proxy"] = map[string]any{"https_proxy": `http://a"b:1`}
		}, map[string]string{"/proxy/https_proxy": "is not a URL"}},
		{"odd version", func(p map[string]any) {
			p["kubernetes_version"] = "latest"
		}, map[string]string{"/kubernetes_version": "1.34 or 1.34.2"}},
		{"misspelled members", func(p map[string]any) {
			m := in(p, "master_node")
			m["pod_cird"], m["clusterCidr"] = m["pod_cidr"], "10.96.0.0/16"
			delete(m, "pod_cidr")
			p["kubernets_version"] = "1.34"
			p["proxi"] = map[string]any{"http_proxy": "http://192.0.2.1:3128"}
			p["pv_registration_params"] = []any{}
			p["private_registry_connection_info"] = []any{
				map[string]any{"connection_type": "0", "server": "192.0.2.1", "host_string": "192.0.2.1 r"},
			}
		}, map[string]string{
			"/master_node/pod_cird":    `master_node has no member "pod_cird"; did you mean pod_cidr?`,
			"/master_node/clusterCidr": "did you mean cluster_cidr?",
			"/kubernets_version":       `k8s_cluster_installation_param has no member "kubernets_version"; did you mean kubernetes_version?`,
			"/proxi":                   "did you mean proxy?",
			"/private_registry_connection_info/0/host_string": "did you mean hosts_string?",
		}},
		{"Helm's script is not in the package", func(p map[string]any) {
			p["helm_installation_script_path"] = "Scripts/helm.sh"
		}, map[string]string{
			"/helm_installation_script_path": `The helm_installation_script_path in the additionalParams is invalid: the package has no file "Scripts/helm.sh".`,
		}},
		{"registries that cannot be", func(p map[string]any) {
			p["private_registry_connection_info"] = []any{
				map[string]any{},
				map[string]any{
					"connection_type": "2", "server": "http://192.0.2.1", "username": "user",
					"hosts_string": "registry.example.com",
				},
				map[string]any{
					"connection_type": 1.0, "server": "192.0.2.1:5000", "certificate_path": "Files/ca.crt",
					"password": "pw",
				},
				map[string]any{
					"connection_type": "1", "server": "192.0.2.1:5000",
					"certificate_path": "Scripts/install_k8s_cluster.sh",
				},
			}
		}, map[string]string{
			"/private_registry_connection_info/" +
				"0/server": "private_registry_connection_info server is not defined in additionalParams.",
			"/private_registry_connection_info/0/connection_type": "private_registry_connection_info connection_type " +
				"is not defined in additionalParams.",
			"/private_registry_connection_info/1/connection_type":  `it is "0" for HTTP or "1" for HTTPS.`,
			"/private_registry_connection_info/1/server":           `"http://192.0.2.1" is not a name`,
			"/private_registry_connection_info/1/password":         "is not defined",
			"/private_registry_connection_info/1/hosts_string":     "is not a line for /etc/hosts",
			"/private_registry_connection_info/2/username":         "is not defined",
			"/private_registry_connection_info/2/certificate_path": `The certificate_path(path:Files/ca.crt) in the additionalParams is invalid: the package has no file "Files/ca.crt".`,
			"/private_registry_connection_info/3/server":           "twice",
			"/private_registry_connection_info/3/certificate_path": "it is not a certificate in PEM",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := validate(t, "complex", packageFS, tt.change)
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			got := map[string]string{}
			for _, p := range e.Params {
				got[strings.TrimPrefix(p.Pointer, param)] = p.Detail
			}
			require.Len(t, got, len(tt.want), "%v", got)
			for pointer, detail := range tt.want {
				require.Contains(t, got[pointer], detail, pointer)
			}
			require.NotContains(t, err.Error(), "-----BEGIN")
		})
	}
}

// Requests that were written for another VNFM may have more members, and two members may have similar names.
func TestUnknownMembersAreIgnored(t *testing.T) {
	t.Parallel()
	require.NoError(t, validate(t, "complex", packageFS, func(p map[string]any) {
		p["comment"], p["site"], p["helm"] = "ours", map[string]any{"pod_cird": 1}, true
		in(p, "master_node")["pod_cidr2"] = "10.0.0.0/24" // pod_cidr is there
		in(p, "worker_node")["pod_cidr"] = "10.0.0.0/24"
		in(p, "worker_node")["usr"] = "x" // username is there
		in(p, "worker_node")["pasword"] = nil
	}))
}

// Packages without a base HOT of the flavour are the infra driver's to refuse, with one clear error and not five odd
// ones.
func TestNamesAreNotCheckedWithoutTemplates(t *testing.T) {
	t.Parallel()
	script, err := fs.ReadFile(packageFS, "Scripts/install_k8s_cluster.sh")
	require.NoError(t, err)
	require.NoError(t, validate(
		t, "complex", fstest.MapFS{"Scripts/install_k8s_cluster.sh": {Data: script}}, func(map[string]any) {},
	))
}

func TestTerminateNeedsNoParameters(t *testing.T) {
	t.Parallel()
	require.NoError(
		t, k8scluster.New(k8scluster.Options{}).Validate(t.Context(), lcm.Request{Type: sol.LcmOperationTerminate}),
	)
}
