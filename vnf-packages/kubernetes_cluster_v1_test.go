package vnfpackages_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/tosca"
)

const kubernetesClusterV1 = "kubernetes-cluster-v1"

var flavoursV1 = []string{"simple", "complex", "podaffinity", "storage"}

func readV1(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(kubernetesClusterV1, name))
	require.NoError(t, err)
	return b
}

func checkV1(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(kubernetesClusterV1, name), want, 0o644))
		return
	}
	require.True(t, bytes.Equal(want, readV1(t, name)), "%s/%s is out of date; run this test with -update", kubernetesClusterV1, name)
}

// The two packages differ in their layout, not in what they install: a mended script is mended in both.
func TestKubernetesClusterV1HasTheSameScript(t *testing.T) {
	for _, name := range []string{"Scripts/install_k8s_cluster.sh", imageFile} {
		checkV1(t, name, readFile(t, name))
	}
}

// An image that is not what the VNFD says is refused at upload.
func TestKubernetesClusterV1ImageChecksum(t *testing.T) {
	sum := sha512.Sum512(readV1(t, imageFile))
	checksum := regexp.MustCompile(`(algorithm: sha-512\n\s+hash: )[0-9a-f]+`)
	for _, flavour := range flavoursV1 {
		name := "Definitions/sample_kubernetes_df_" + flavour + ".yaml"
		checkV1(t, name, checksum.ReplaceAll(readV1(t, name), []byte("${1}"+hex.EncodeToString(sum[:]))))
	}
}

// A file that TOSCA.meta does not list has no checksum in the package.
func TestKubernetesClusterV1MetaListsEveryFile(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-by: Gybe\nEntry-Definitions: Definitions/sample_kubernetes_top.vnfd.yaml\n")
	err := fs.WalkDir(os.DirFS(kubernetesClusterV1), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == metaFile {
			return err
		}
		fmt.Fprintf(&b, "\nName: %s\nContent-Type: %s\n", name, contentType(t, name))
		return nil
	})
	require.NoError(t, err)
	checkV1(t, metaFile, b.Bytes())
}

// The parameter files are what users send unchanged but for the names of their environment.
func TestKubernetesClusterV1ParameterFiles(t *testing.T) {
	t.Parallel()
	for _, flavour := range flavoursV1 {
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
			require.NoError(t, json.Unmarshal(readV1(t, "params/"+flavour+"_kubernetes_param_file.json"), &p))
			require.Equal(t, flavour, p.FlavourID)
			require.Equal(t, "KubernetesClusterUserData", p.AdditionalParams.Class)
			files := []string{p.AdditionalParams.File, p.AdditionalParams.Install.Script}
			for _, m := range p.AdditionalParams.Install.Manifests {
				files = append(files, m.File)
			}
			for _, name := range files {
				require.FileExists(t, filepath.Join(kubernetesClusterV1, filepath.FromSlash(strings.TrimPrefix(name, "./"))))
			}
		})
	}
}

// What the product makes of the package: it builds, passes every check of an upload, and says what its users rely on.
func TestKubernetesClusterV1IsAGoodPackage(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(kubernetesClusterV1)
	require.NoError(t, err)
	defer root.Close()
	var archive bytes.Buffer
	_, err = csar.Build(t.Context(), root, &archive, csar.DefaultLimits())
	require.NoError(t, err)
	_, err = csar.Open(bytes.NewReader(archive.Bytes()), int64(archive.Len()), csar.DefaultLimits())
	require.NoError(t, err)

	res, err := tosca.Parse(os.DirFS(kubernetesClusterV1), tosca.Options{Entry: "Definitions/sample_kubernetes_top.vnfd.yaml"})
	require.NoError(t, err)
	v := res.VNFD
	require.Equal(t, "b1db0ce7-ebca-1fb7-95ed-4840d70a1163", v.ID)
	for flavour, masters := range map[string]int{"simple": 1, "complex": 3, "podaffinity": 3, "storage": 1} {
		f := v.Flavour(flavour)
		require.NotNil(t, f)
		for level, workers := range map[string]int{"": 2, "instantiation_level_1": 2, "instantiation_level_2": 4} {
			counts, ok := f.Counts(level)
			require.True(t, ok)
			require.Equal(t, []int{masters, workers}, []int{counts["masterNode"], counts["workerNode"]}, "%s %s", flavour, level)
		}
		require.Equal(t, []int{0, 2}, []int{f.Aspect("master_instance").MaxScaleLevel, f.Aspect("worker_instance").MaxScaleLevel})
		for _, hook := range []string{"instantiate_end", "scale_start", "scale_end", "heal_start", "heal_end", "terminate_end"} {
			require.Equal(t, "mgmt-drivers-kubernetes", f.LCM[hook].Name, hook)
		}
	}
}
