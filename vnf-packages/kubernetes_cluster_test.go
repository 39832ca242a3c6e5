// Package vnfpackages_test checks the sample packages as source trees: what a user who builds one of them would trip
// over.
package vnfpackages_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const kubernetesCluster = "kubernetes-cluster"

var cluster = sample{dir: kubernetesCluster, prefix: "kubernetes_"}

func TestKubernetesClusterImageChecksum(t *testing.T) { cluster.imageChecksums(t) }

func TestKubernetesClusterMetaListsEveryFile(t *testing.T) { cluster.metaListsEveryFile(t) }

// The parameter files are what users send unchanged but for the names of their environment.
func TestKubernetesClusterParameterFiles(t *testing.T) {
	t.Parallel()
	for _, flavour := range []string{"simple", "complex", "podaffinity", "storage"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			var p struct {
				FlavourID        string `json:"flavourId"`
				AdditionalParams struct {
					Class   string         `json:"lcm-operation-user-data-class"`
					File    string         `json:"lcm-operation-user-data"`
					Install map[string]any `json:"k8s_cluster_installation_param"`
				} `json:"additionalParams"`
			}
			dec := json.NewDecoder(bytes.NewReader(cluster.read(t, "params/"+flavour+"_kubernetes_param_file_v2.json")))
			require.NoError(t, dec.Decode(&p))
			require.Equal(t, flavour, p.FlavourID)
			require.Equal(t, "StandardUserData", p.AdditionalParams.Class)
			for _, file := range []any{p.AdditionalParams.File, p.AdditionalParams.Install["script_path"]} {
				name, ok := file.(string)
				require.True(t, ok)
				require.FileExists(t, filepath.Join(kubernetesCluster, filepath.FromSlash(name)))
			}
		})
	}
}

// Glance and Nova refuse a broken image; the placeholder must be a real, if empty, one.
func TestKubernetesClusterImageIsQcow2(t *testing.T) {
	t.Parallel()
	img := cluster.read(t, imageFile)
	require.True(t, bytes.HasPrefix(img, []byte("QFI\xfb\x00\x00\x00\x02")))
}

const installScript = "kubernetes-cluster/Scripts/install_k8s_cluster.sh"

// The script runs as root on every node.
func TestInstallScriptIsSound(t *testing.T) {
	t.Parallel()
	parts := []string{installScript}
	parts = append(parts, libraryFiles(t)...)
	for _, tool := range [][]string{{"bash", "-n"}, {"shellcheck", "-x", "-a"}} {
		t.Run(tool[0], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tool[0]); err != nil {
				t.Skipf("SKIPPED: %s is not installed, so %s was not checked with it", tool[0], installScript)
			}
			for _, part := range parts {
				if tool[0] == "shellcheck" && part != installScript {
					continue // it follows the main script into its library
				}
				out, err := exec.CommandContext(t.Context(), tool[0], append(tool[1:], part)...).CombinedOutput()
				require.NoError(t, err, string(out))
			}
		})
	}
}

// libraryFiles are the parts of the script's library.
func libraryFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("kubernetes-cluster/Scripts/lib/*.sh")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// A part that the main script does not load would be copied to every node for nothing, and would not be checked.
func TestInstallScriptLoadsItsWholeLibrary(t *testing.T) {
	t.Parallel()
	script := string(cluster.read(t, "Scripts/install_k8s_cluster.sh"))
	for _, file := range libraryFiles(t) {
		require.Contains(t, script, `. "$HERE/lib/`+filepath.Base(file)+`"`)
	}
	require.Less(t, strings.Count(script, "\n"), 200, "the work belongs into the library")
}

// The manifest and the script name the same versions: one is for the VNFM, the other for a run by hand.
func TestInstallScriptHasTheVersionsOfItsManifest(t *testing.T) {
	t.Parallel()
	manifest := string(cluster.read(t, "Scripts/install_k8s_cluster.yaml"))
	script := string(cluster.read(t, "Scripts/install_k8s_cluster.sh"))
	for member, variable := range map[string]string{
		"kubernetes_version": "DEFAULT_K8S_VERSION", "cilium_version": "DEFAULT_CILIUM_VERSION",
	} {
		version := regexp.MustCompile(`(?m)^` + member + `: "(.+)"$`).FindStringSubmatch(manifest)
		require.NotNil(t, version, member)
		require.Contains(t, script, variable+"="+version[1])
	}
}

// The log of a node must not contain secrets.
func TestInstallScriptTracesNothing(t *testing.T) {
	t.Parallel()
	for _, file := range append(libraryFiles(t), installScript) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, line := range strings.Split(string(text), "\n") {
			require.NotRegexp(t, `^\s*set\s.*(-x|xtrace)`, line, "%s line %d", file, i+1)
		}
	}
}

// Valid arguments are accepted.
func TestInstallScriptAcceptsTheUsualArguments(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED: bash is not installed")
	}
	for _, args := range [][]string{
		{"-w", "198.51.100.2", "-i", "198.51.100.1", "-t", "abcdef.0123456789abcdef", "-s", "sha256:00"},
		{"-d", "-o", "-m", "198.51.100.2", "-i", "198.51.100.2", "-a", "10.96.0.0/12", "-p", "10.200.0.0/16"},
	} {
		cmd := exec.CommandContext(t.Context(), "bash", append([]string{installScript}, args...)...)
		cmd.Env = append(os.Environ(), "GYBE_PHASE=check", "NODE_IP=198.51.100.2")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}

// Mistakes on the command line end before anything is touched, with the promised last line.
func TestInstallScriptRefusesBadArguments(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED: bash is not installed")
	}
	tests := []struct {
		name, want string
		env        []string
		args       []string
	}{
		{"no role", "one of -m and -w is needed", nil, []string{"-i", "198.51.100.1"}},
		{"both roles", "-m and -w exclude each other", nil, []string{
			"-m", "198.51.100.1", "-w", "198.51.100.2", "-i", "198.51.100.1",
		}},
		{"no cluster address", "the address of the cluster, is needed", nil, []string{"-w", "198.51.100.2"}},
		{"not an address", "-w: there is not an IPv4 address", nil, []string{"-w", "there", "-i", "198.51.100.1"}},
		{"unknown option", "unknown option", nil, []string{"-z"}},
		{"unknown phase", "GYBE_PHASE is", []string{"GYBE_PHASE=later"}, []string{
			"-w", "198.51.100.2", "-i", "198.51.100.1",
		}},
		{
			"CLI without a checksum", "needs its checksum in CILIUM_CLI_SHA256",
			[]string{"CILIUM_CLI_VERSION=v0.19.0"},
			[]string{"-w", "198.51.100.2", "-i", "198.51.100.1"},
		},
		{"old version", "1.31 is the oldest", []string{"K8S_VERSION=1.26"}, []string{
			"-w", "198.51.100.2", "-i", "198.51.100.1",
		}},
		{"bad name", "is not a host name", []string{"NODE_NAME=a b"}, []string{
			"-w", "198.51.100.2", "-i", "198.51.100.1",
		}},
		{"machine is none of the masters", "is an address of this machine", nil, []string{
			"-m", "198.51.100.1,198.51.100.2", "-i", "198.51.100.9",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "bash", append([]string{installScript}, tt.args...)...)
			// Phase check, so that a test that fails does not turn this machine into a node.
			cmd.Env = append(append(os.Environ(), "GYBE_PHASE=check"), tt.env...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.Error(t, cmd.Run())
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			last := lines[len(lines)-1]
			require.True(t, strings.HasPrefix(last, "install_k8s_cluster: error: arguments: "), last)
			require.Contains(t, last, tt.want)
		})
	}
}

// What the product makes of the package: it builds, passes every check of an upload, and says what its users rely on.
func TestKubernetesClusterIsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := cluster.good(t)
	require.Equal(t, "d34ac189-5376-493f-828f-224dd5fe7393", v.ID)
	require.Equal(t, []string{"Company", "Sample VNF", "1.0", "1.0"},
		[]string{v.Provider, v.ProductName, v.SoftwareVersion, v.Version})
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3, "podaffinity": 3, "storage": 1} {
		f := v.Flavour(flavour)
		require.NotNil(t, f)
		for level, workers := range map[string]int{"": 2, "instantiation_level_1": 2, "instantiation_level_2": 4} {
			counts, ok := f.Counts(level)
			require.True(t, ok)
			want := map[string]int{"masterNode": masters, "workerNode": workers}
			if flavour == "storage" {
				want["storage_server"] = 1
			}
			require.Equal(t, want, counts)
		}
		require.Equal(t, 2, f.Aspect("workerNode_scale").MaxScaleLevel)
		require.Equal(t, "masterNode-image", f.VDU("masterNode").Image.Name)
		require.Equal(t, imageFile, f.VDU("workerNode").Image.File)
		require.Equal(t, "m1.medium", f.VDU("workerNode").ComputeFlavour)
		for _, hook := range []string{
			"instantiate_end", "scale_start", "scale_end", "heal_start", "heal_end", "terminate_end",
		} {
			require.Equal(t, "mgmt-drivers-kubernetes", f.LCM[hook].Name, hook)
		}
	}
}

// A password with "@" is written as %40 in a URL, and systemd reads "%4" in a unit as a specifier.
func TestInstallScriptDoublesPercentSignsForSystemd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED: bash is not installed")
	}
	// The functions of the script's base are replaced: put shows the files instead of writing them.
	const program = `set -eu
		put() { echo "== $2"; cat; }
		changed() { return 1; }
		. kubernetes-cluster/Scripts/lib/os.sh
		proxy_settings`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", program)
	cmd.Env = append(os.Environ(), "http_proxy=http://u:p%40x@proxy:3128", "https_proxy=http://u:%25@proxy:3129",
		"no_proxy=10.0.0.1,%h")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	apt, unit, found := strings.Cut(string(out), "== /etc/systemd/system/containerd.service.d/gybe-proxy.conf\n")
	require.True(t, found, string(out))
	require.Equal(t, `[Service]
Environment="HTTP_PROXY=http://u:p%%40x@proxy:3128"
Environment="HTTPS_PROXY=http://u:%%25@proxy:3129"
Environment="NO_PROXY=10.0.0.1,%%h"
`, unit)
	require.Contains(t, apt, `Acquire::http::Proxy "http://u:p%40x@proxy:3128";`, "apt reads the URL as it is")
}
