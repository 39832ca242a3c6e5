package userdata_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// TestMachines: the servers of a stack are counted in the top template, in nested ones and in groups.
func TestMachines(t *testing.T) {
	t.Parallel()
	const nested = "heat_template_version: 2013-05-23\nresources:\n  VDU1: {type: 'OS::Nova::Server'}\n" +
		"  port: {type: 'OS::Neutron::Port'}\n"
	group := func(size string) string {
		return "  g:\n    type: OS::Heat::AutoScalingGroup\n    properties:\n      desired_capacity: " + size +
			"\n      resource: {type: VDU1.yaml}\n"
	}
	for name, tt := range map[string]struct {
		resources string
		counts    map[string]int
		unknown   []string
	}{
		"none": {"  p: {type: 'OS::Neutron::Port'}\n", map[string]int{}, nil},
		"servers": {
			"  VDU1: {type: 'OS::Nova::Server'}\n  VDU2-4: {type: 'OS::Nova::Server'}\n",
			map[string]int{"VDU1": 1, "VDU2": 1},
			nil,
		},
		"nested":   {"  a: {type: VDU1.yaml}\n  b: {type: VDU1.yaml}\n", map[string]int{"VDU1": 2}, nil},
		"others":   {"  jump-1: {type: 'OS::Nova::Server'}\n", map[string]int{}, nil},
		"a number": {group("3"), map[string]int{"VDU1": 3}, nil},
		"a value":  {group("{get_param: [nfv, VDU, VDU1, desired_capacity]}"), map[string]int{"VDU1": 2}, nil},
		"another parameter": {
			group("{get_param: size}"), map[string]int{"VDU1": 5}, nil,
		},
		"a group with a count": {
			"  g:\n    type: OS::Heat::ResourceGroup\n    properties: {count: 2, resource_def: {type: VDU1.yaml}}\n",
			map[string]int{"VDU1": 2},
			nil,
		},
		"computed": {group("{str_replace: {template: x}}"), map[string]int{}, []string{"VDU1"}},
		"missing":  {group("{get_param: [nfv, none]}"), map[string]int{}, []string{"VDU1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := userdata.Stack{
				Template: "heat_template_version: 2013-05-23\nparameters: {nfv: {type: json}}\nresources:\n" +
					tt.resources,
				Files: map[string]string{"VDU1.yaml": nested},
				NFV:   map[string]any{"VDU": map[string]any{"VDU1": map[string]any{"desired_capacity": 2.0}}},
				Other: map[string]any{"size": 5},
			}
			counts, unknown, err := s.Machines([]string{"VDU1", "VDU2"})
			require.NoError(t, err)
			require.Equal(t, tt.counts, counts)
			require.Equal(t, tt.unknown, unknown)
		})
	}
}
