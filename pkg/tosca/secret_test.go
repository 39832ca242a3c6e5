package tosca_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
)

func TestParseListsPropertiesThatAreMarkedAsSecrets(t *testing.T) {
	t.Parallel()
	require.Nil(t, parseCluster(t).VNFD.Secrets)

	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(cluster)))
	const types = "Definitions/example_types.yaml"
	old, err := os.ReadFile(filepath.Join(dir, types))
	require.NoError(t, err)
	require.NotContains(t, string(old), "data_types:")
	require.NoError(t, os.WriteFile(filepath.Join(dir, types), append(old, []byte(`
data_types:
  example.InstantiateParameters:
    derived_from: tosca.datatypes.nfv.VnfOperationAdditionalParameters
    properties:
      operator_pin:
        type: string
        metadata: {gybe.secret: "true"}
      licence:
        type: string
        metadata: {gybe.secret: true, note: other orchestrators ignore this}
      size:
        type: integer
        metadata: {gybe.secret: "false"}
      name:
        type: string
`)...), 0o600))
	result, err := tosca.Parse(os.DirFS(dir), tosca.Options{Entry: "Definitions/example_top.vnfd.yaml"})
	require.NoError(t, err)
	require.Equal(t, []string{"licence", "operator_pin"}, result.VNFD.Secrets)
}
