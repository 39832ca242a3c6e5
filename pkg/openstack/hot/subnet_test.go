package hot_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// TestAwaitSubnets: a resource that is a stack of its own depends on the subnets of its networks, and nothing else
// changes.
func TestAwaitSubnets(t *testing.T) {
	t.Parallel()
	tpl := parse(t, `heat_template_version: 2018-08-31
resources:
  net: {type: 'OS::Neutron::Net'}
  other: {type: 'OS::Neutron::Net'}
  sub: {type: 'OS::Neutron::Subnet', properties: {network: {get_resource: net}}}
  sub6: {type: 'OS::Neutron::Subnet', properties: {network_id: {get_resource: net}}}
  late: {type: 'OS::Neutron::Subnet', properties: {network: {get_resource: other}, cidr: {get_attr: [source, cidr]}}}
  box: {type: box.yaml, properties: {net: {get_resource: net}}}
  listed: {type: box.yaml, depends_on: [box], properties: {nets: [{id: {get_resource: net}}]}}
  named: {type: box.yaml, depends_on: sub, properties: {net: {get_resource: net}}}
  group: {type: 'OS::Heat::ResourceGroup', properties: {resource_def: {type: box.yaml, properties: {net: {get_resource: net}}}}}
  plain: {type: 'OS::Heat::AutoScalingGroup', depends_on: null, properties: {resource: {type: 'OS::Neutron::Port', properties: {network: {get_attr: [net, show, id]}}}}}
  port: {type: 'OS::Neutron::Port', properties: {network: {get_resource: net}}}
  source: {type: box.yaml, properties: {net: {get_resource: other}}}
  alone: {type: box.yaml, properties: {net: net0}}
`)
	tpl.AwaitSubnets()
	var doc struct {
		Resources map[string]struct {
			DependsOn any `yaml:"depends_on"`
		} `yaml:"resources"`
	}
	text := encode(t, tpl)
	require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
	got := map[string]any{}
	for name, r := range doc.Resources {
		if r.DependsOn != nil {
			got[name] = r.DependsOn
		}
	}
	both := []any{"sub", "sub6"}
	require.Equal(t, map[string]any{
		"box": both, "listed": []any{"box", "sub", "sub6"}, "named": both, "group": both, "plain": both,
	}, got, "source is needed by the subnet itself")
	tpl.AwaitSubnets()
	require.Equal(t, text, encode(t, tpl), "once is enough")
}
