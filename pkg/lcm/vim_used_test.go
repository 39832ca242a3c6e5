package lcm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestClusterIsAVimOfOthers: a cluster that an instance has made can hold other instances, but not itself.
func TestClusterIsAVimOfOthers(t *testing.T) {
	t.Parallel()
	v := lcm.Vim{Owner: "i1", Connection: sol.VimConnectionInfo{
		VimID: "r1", Extra: sol.KeyValuePairs{lcm.ExtraOwner: "i1", "note": "kept"},
	}}
	for instance, primary := range map[string]bool{"i1": false, "i2": true} {
		used := v.Used(instance)
		_, _, ok := lcm.PrimaryVim(map[string]sol.VimConnectionInfo{"vim1": used})
		require.Equal(t, primary, ok, instance)
		require.Equal(t, "kept", used.Extra["note"])
	}
	require.Equal(t, "i1", v.Connection.Extra[lcm.ExtraOwner], "the registered VIM keeps its mark")
}
