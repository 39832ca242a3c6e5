package vnfpackages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var clusterV1 = sample{dir: "kubernetes-cluster-v1", prefix: "sample_kubernetes_"}

// The two packages differ in their layout, not in the machines that they make.
func TestKubernetesClusterV1HasTheSameImage(t *testing.T) {
	clusterV1.check(t, imageFile, cluster.read(t, imageFile))
}

func TestKubernetesClusterV1ImageChecksum(t *testing.T) { clusterV1.imageChecksums(t) }

func TestKubernetesClusterV1MetaListsEveryFile(t *testing.T) { clusterV1.metaListsEveryFile(t) }

// The parameter files are what users send unchanged but for the names of their environment.
func TestKubernetesClusterV1ParameterFiles(t *testing.T) {
	t.Parallel()
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			var p struct {
				FlavourID        string `json:"flavourId"`
				AdditionalParams struct {
					Class   string `json:"lcm-operation-user-data-class"`
					File    string `json:"lcm-operation-user-data"`
					Install struct {
						Script    string `json:"script_path"`
						Manifests []struct {
							File string `json:"pv_manifest_file_path"`
						} `json:"pv_registration_params"`
					} `json:"k8s_cluster_installation_param"`
				} `json:"additionalParams"`
			}
			require.NoError(t, json.Unmarshal(clusterV1.read(t, "params/"+flavour+"_kubernetes_param_file.json"), &p))
			require.Equal(t, flavour, p.FlavourID)
			require.Equal(t, "KubernetesClusterUserData", p.AdditionalParams.Class)
			files := []string{p.AdditionalParams.File, p.AdditionalParams.Install.Script}
			for _, m := range p.AdditionalParams.Install.Manifests {
				files = append(files, m.File)
			}
			for _, name := range files {
				require.Contains(t, clusterV1.files(t), strings.TrimPrefix(name, "./"))
			}
		})
	}
}

// What the product makes of the package: it builds, passes every check of an upload, and says what its users rely on.
func TestKubernetesClusterV1IsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := clusterV1.good(t)
	require.Equal(t, "b1db0ce7-ebca-1fb7-95ed-4840d70a1163", v.ID)
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3, "podaffinity": 3, "storage": 1} {
		f := v.Flavour(flavour)
		require.NotNil(t, f)
		for level, workers := range map[string]int{"": 2, "instantiation_level_1": 2, "instantiation_level_2": 4} {
			counts, ok := f.Counts(level)
			require.True(t, ok)
			require.Equal(
				t, []int{masters, workers}, []int{counts["masterNode"], counts["workerNode"]}, "%s %s", flavour, level,
			)
		}
		require.Equal(
			t, []int{0, 2}, []int{f.Aspect("master_instance").MaxScaleLevel, f.Aspect("worker_instance").MaxScaleLevel},
		)
		for _, hook := range []string{
			"instantiate_end", "scale_start", "scale_end", "heal_start", "heal_end", "terminate_end",
		} {
			require.Equal(t, "mgmt-drivers-kubernetes", f.LCM[hook].Name, hook)
		}
	}
}
