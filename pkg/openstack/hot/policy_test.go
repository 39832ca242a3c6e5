package hot_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

const policed = `heat_template_version: 2018-08-31
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 9, desired_capacity: SIZE, resource: {type: box.yaml}}
  other:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 9, desired_capacity: 1, resource: {type: 'OS::Heat::None'}}
  foreign: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: other}, adjustment_type: change_in_capacity, scaling_adjustment: 1}}
  percent: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: percent_change_in_capacity, scaling_adjustment: 50}}
  nothing: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: 0}}
  three: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: 3, cooldown: 60}}
  one: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: 1, cooldown: 0}}
  less: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: -2}}
`

// TestThePolicyThatScales: a group is signalled by a policy of its own that does what is wanted, in as few signals as
// can be, or not at all.
func TestThePolicyThatScales(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size string
		by   int
		want *hot.Policy
	}{
		"out by one":      {"2", 1, &hot.Policy{Name: "one", Group: "group", Adjustment: 1}},
		"out by six":      {"2", 6, &hot.Policy{Name: "three", Group: "group", Adjustment: 3, Cooldown: true}},
		"out by four":     {"2", 4, &hot.Policy{Name: "one", Group: "group", Adjustment: 1}},
		"in":              {"2", -1, &hot.Policy{Name: "less", Group: "group", Adjustment: -2}},
		"neither":         {"2", 0, nil},
		"by a parameter":  {"{get_param: [nfv, VDU, VDU1, desired_capacity]}", 1, nil},
		"by another's":    {"{get_param: size}", 1, nil},
		"without a size":  {"", 1, &hot.Policy{Name: "one", Group: "group", Adjustment: 1}},
		"VDU of no group": {"2", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := strings.Replace(policed, "SIZE", tt.size, 1)
			if tt.size == "" {
				top = strings.Replace(policed, "desired_capacity: SIZE, ", "", 1)
			}
			var c hot.Cache
			b, err := c.Load(fstest.MapFS{
				"BaseHOT/f/top.yaml": {Data: []byte(top)},
				"BaseHOT/f/nested/box.yaml": {
					Data: []byte("heat_template_version: 2018-08-31\nresources:\n  VDU1: {type: OS::Nova::Server}\n"),
				},
			}, "f")
			require.NoError(t, err)
			vdu := "VDU1"
			if name == "VDU of no group" {
				vdu = "VDU2"
			}
			require.Equal(t, tt.want, b.Policy(vdu, tt.by))
		})
	}
}
