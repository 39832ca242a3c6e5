package grant_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/grant"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	w := &lcm.Work{Flavour: &vnfd.Flavour{VDUs: []vnfd.VDU{{Name: "masterNode"}, {Name: "workerNode"}}}}
	for _, tt := range []struct {
		name  string
		zones []string
		want  map[string]string
	}{
		{"the VIM chooses", nil, nil},
		{"the first zone for all", []string{"az1", "az2"}, map[string]string{"masterNode": "az1", "workerNode": "az1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := grant.Local{Zones: tt.zones}.Grant(t.Context(), w)
			require.NoError(t, err)
			require.NoError(t, uuid.Validate(g.ID))
			require.Equal(t, tt.want, g.Zones)
		})
	}
}

func TestLocalWithoutFlavour(t *testing.T) {
	t.Parallel()
	g, err := grant.Local{Zones: []string{"az1"}}.Grant(t.Context(), &lcm.Work{})
	require.NoError(t, err)
	require.Empty(t, g.Zones)
}
