package inventory

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestInventoryWithoutKindsIsRead(t *testing.T) {
	t.Parallel()
	const stored = `[
		{"name": "VDU1", "type": "OS::Nova::Server", "id": "1"},
		{"name": "VDU1_CP1", "type": "OS::Neutron::Port", "id": "2"},
		{"name": "internalVL1", "type": "OS::Neutron::Net", "id": "3"},
		{"name": "VirtualStorage", "type": "OS::Cinder::Volume", "id": "4"},
		{"name": "VDU1_scale_group", "type": "OS::Heat::AutoScalingGroup", "id": "5"},
		{"name": "pod", "kind": "CONTAINER", "type": "Pod", "id": "6"}]`
	var resources []lcm.Resource
	require.NoError(t, json.Unmarshal([]byte(stored), &resources))

	var kinds []lcm.Kind
	for _, r := range resources {
		kinds = append(kinds, r.Kind)
	}
	require.Equal(
		t, []lcm.Kind{lcm.KindCompute, lcm.KindPort, lcm.KindNetwork, lcm.KindStorage, "", lcm.KindContainer}, kinds,
	)
	require.Equal(t, "VDU1", resources[0].Name)
}
