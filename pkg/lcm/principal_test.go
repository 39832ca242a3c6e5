package lcm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestRolesIncludeTheWeakerOnes(t *testing.T) {
	t.Parallel()
	for i, has := range lcm.Roles {
		for j, needs := range lcm.Roles {
			require.Equal(t, i >= j, has.Includes(needs), "%s includes %s", has, needs)
		}
		require.False(t, lcm.Role("").Includes(has))
		require.False(t, has.Includes(""))
		require.False(t, has.Includes("owner"))
	}
}
