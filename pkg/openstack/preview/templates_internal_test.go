package preview

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// The two tables of properties cannot disagree.
func TestNoPropertyIsAlterableAndUnalterable(t *testing.T) {
	t.Parallel()
	for _, name := range alterable {
		require.False(t, slices.Contains(unalterable[cloud.TypeServer], name), name)
	}
}
