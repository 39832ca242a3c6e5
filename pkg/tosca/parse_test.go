package tosca_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

var update = flag.Bool("update", false, "rewrite golden files")

const cluster = "testdata/cluster"

func parseCluster(tb testing.TB) *tosca.Result {
	tb.Helper()
	result, err := tosca.Parse(os.DirFS(cluster), tosca.Options{Entry: "Definitions/example_top.vnfd.yaml"})
	require.NoError(tb, err)
	return result
}

func TestRealisticPackageGivesTheWholeModel(t *testing.T) {
	t.Parallel()
	result := parseCluster(t)
	got, err := json.MarshalIndent(result.VNFD, "", "  ")
	require.NoError(t, err)
	const golden = "testdata/cluster.golden.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)+"\n"))

	require.Equal(t, []string{
		"Definitions/example_top.vnfd.yaml", "Definitions/example_types.yaml",
		"Definitions/example_df_simple.yaml", "Definitions/example_df_complex.yaml",
	}, result.Files)
	require.Equal(t, []vnfd.Warning{{
		Code:     "bad_value",
		Location: "Definitions/example_df_complex.yaml#/topology_template/node_templates/masterNode",
		Text: "Definitions/example_df_complex.yaml:29: the instantiation level \"only\" has 5 of the VDU masterNode, " +
			"its vdu_profile allows 1 to 3",
	}}, result.Warnings)

	// What is stored is what was read.
	var again vnfd.VNFD
	require.NoError(t, json.Unmarshal(got, &again))
	require.Empty(t, cmp.Diff(result.VNFD, &again))
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		parseCluster(b)
	}
}
