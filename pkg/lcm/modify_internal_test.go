package lcm

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// TestAnotherVNFD: images that were granted for the VNFD before are forgotten, the VNFCs keep the VNFD that they were
// made from, and the instance of before stays as it is.
func TestAnotherVNFD(t *testing.T) {
	t.Parallel()
	before := Instance{
		VnfdID: "one", Assets: &VimAssets{Flavours: map[string]string{"A": "f"}, Images: map[string]string{"A": "i"}},
		Instantiated: &sol.InstantiatedVnfInfo{VnfcResourceInfo: []sol.VnfcResourceInfo{{ID: "a"}}},
	}
	was, err := json.Marshal(before)
	require.NoError(t, err)
	i := before
	for _, id := range []string{"one", "two", "three", "three"} {
		bad, err := patch(&i, json.RawMessage(`{}`), &vnfd.VNFD{ID: id}, "package of "+id)
		require.NoError(t, err)
		require.Empty(t, bad)
		require.Equal(t, []string{id, "package of " + id}, []string{i.VnfdID, i.VnfPkgID})
		if id == "one" {
			require.Equal(t, before.Assets, i.Assets)
			require.Empty(t, i.Instantiated.VnfcResourceInfo[0].Metadata)
			continue
		}
		require.Equal(t, &VimAssets{Flavours: map[string]string{"A": "f"}}, i.Assets)
		require.Equal(t, sol.KeyValuePairs{MadeFromVnfd: "one"}, i.Instantiated.VnfcResourceInfo[0].Metadata)
	}
	is, err := json.Marshal(before)
	require.NoError(t, err)
	require.JSONEq(t, string(was), string(is))
}
