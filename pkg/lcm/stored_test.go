package lcm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestStoredInstancesAreRead: an operation that was admitted by an older version keeps its previous instance with these
// members. Without them, leftovers of the last instantiation cannot be found.
func TestStoredInstancesAreRead(t *testing.T) {
	t.Parallel()
	var i lcm.Instance
	require.NoError(t, json.Unmarshal([]byte(`{"ID":"i","FormerVims":{"vim1":{"vimType":"T"}}}`), &i))
	want := lcm.Instance{ID: "i", PreviousVims: map[string]sol.VimConnectionInfo{"vim1": {VimType: "T"}}}
	require.Equal(t, want, i)
}

// TestStoredGrantsAreRead: operations of older versions have grants with these members.
func TestStoredGrantsAreRead(t *testing.T) {
	t.Parallel()
	var g lcm.Grant
	require.NoError(t, json.Unmarshal([]byte(`{"id":"g","zones":{"VDU1-0":"az1"},"otherZones":["az2"],
		"images":{"VDU1":"i"},"flavours":{"VDU1":"f"},"additionalParams":{"x":1}}`), &g))
	require.Equal(t, lcm.Grant{
		ID: "g", Zones: map[string]string{"VDU1-0": "az1"}, OtherZones: []string{"az2"},
		Images: map[string]string{"VDU1": "i"}, Flavours: map[string]string{"VDU1": "f"},
	}, g)
}
