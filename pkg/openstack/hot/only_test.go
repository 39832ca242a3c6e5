package hot_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

const nestedServers = `heat_template_version: 2018-08-31
resources:
  master: {type: 'OS::Nova::Server', properties: {flavor: m1.tiny}}
  port: {type: 'OS::Neutron::Port', properties: {network: net0}}
`

// divided divides a template with a VDU master and a VDU worker.
func divided(t *testing.T, resources string, s hot.Selection) (*hot.Bundle, error) {
	t.Helper()
	var c hot.Cache
	b, err := c.Load(fstest.MapFS{
		"BaseHOT/f/top.yaml":           {Data: []byte("heat_template_version: 2018-08-31\n" + resources)},
		"BaseHOT/f/nested/master.yaml": {Data: []byte(nestedServers)},
		"BaseHOT/f/nested/both.yaml": {Data: []byte(nestedServers +
			"  worker: {type: 'OS::Nova::Server', properties: {flavor: m1.tiny}}\n")},
	}, "f")
	require.NoError(t, err)
	before := encode(t, b.Template)
	out, err := b.Only(s)
	require.Equal(t, before, encode(t, b.Template), "the bundle is shared")
	return out, err
}

// TestOnly: each stack gets the resources of its VDUs, with what these need and what is about them, and the stack of
// the primary connection what belongs to no VDU.
func TestOnly(t *testing.T) {
	t.Parallel()
	const resources = `resources:
  masters: {type: master.yaml, depends_on: [rules]}
  worker:
    type: 'OS::Heat::AutoScalingGroup'
    depends_on: [masters]
    properties: {resource: {type: 'OS::Nova::Server', properties: {security_groups: [{get_resource: rules}], port: {get_resource: port}}}}
  port: {type: 'OS::Neutron::Port', properties: {network: {get_resource: inner}}}
  inner: {type: 'OS::Neutron::Net'}
  inner_subnet: {type: 'OS::Neutron::Subnet', properties: {network: {get_resource: inner}}}
  way: {type: 'OS::Neutron::Router'}
  way_in: {type: 'OS::Neutron::RouterInterface', properties: {router: {get_resource: way}, subnet: {get_resource: inner_subnet}}}
  way_out: {type: 'OS::Neutron::RouterGateway', properties: {router_id: {get_resource: way}, network_id: public}}
  out: {type: 'OS::Heat::ScalingPolicy', properties: {auto_scaling_group_id: {get_resource: worker}}}
  alarm: {type: 'OS::Aodh::Alarm', properties: {alarm_actions: [{get_attr: [out, signal_url]}]}}
  rules: {type: 'OS::Neutron::SecurityGroup'}
  rule: {type: 'OS::Neutron::SecurityGroupRule', properties: {security_group: {get_resource: rules}}}
  alone: {type: 'OS::Swift::Container'}
outputs:
  url: {value: {get_attr: [out, signal_url]}}
  container: {value: {get_resource: alone}}
`
	primary, err := divided(
		t, resources, hot.Selection{Own: []string{"master"}, Away: []string{"worker"}, Primary: true},
	)
	require.NoError(t, err)
	require.Equal(t, []string{"masters", "rules", "rule", "alone"}, primary.Template.Resources())
	require.Empty(t, primary.Template.Dangling())
	require.Contains(t, encode(t, primary.Template), "container:")
	require.NotContains(t, encode(t, primary.Template), "url:")

	second, err := divided(t, resources, hot.Selection{Own: []string{"worker"}, Away: []string{"master"}})
	require.NoError(t, err)
	require.Equal(t, []string{
		"worker", "port", "inner", "inner_subnet", "way", "way_in", "way_out", "out", "alarm", "rules", "rule",
	}, second.Template.Resources())
	require.Empty(t, second.Template.Dangling())
	require.NotContains(t, encode(t, second.Template), "masters", "the order of the stacks keeps this dependency")
	require.NotContains(t, encode(t, second.Template), "container:")
}

// TestOnlyRejects: a template that several stacks cannot have is rejected with the resource that is the reason.
func TestOnlyRejects(t *testing.T) {
	t.Parallel()
	const servers = `resources:
  master: {type: 'OS::Nova::Server', properties: {networks: [{network: {get_resource: net}}]}}
  worker: {type: 'OS::Nova::Server', properties: {networks: [{network: {get_resource: net}}]}}
  net: {type: 'OS::Neutron::Net'}
  subnet: {type: 'OS::Neutron::Subnet', properties: {network: {get_resource: net}}}
`
	for name, tt := range map[string]struct {
		resources string
		given     []string
		problem   string
	}{
		"a template with servers of both": {
			"resources: {both: {type: both.yaml}}", nil, `"both" has the VNFCs of master and of worker`,
		},
		"a network of both":        {servers, nil, `the network "net", which is in one cloud`},
		"a network of both, given": {servers, []string{"net"}, ""},
		"a reference": {`resources:
  master: {type: 'OS::Nova::Server', properties: {metadata: {ip: {get_attr: [worker, first_address]}}}}
  worker: {type: 'OS::Nova::Server'}
`, nil, `"master" refers to "worker"`},
		"a reference by way of another resource": {`resources:
  master: {type: 'OS::Nova::Server', properties: {user_data: {get_resource: boot}}}
  boot: {type: 'OS::Heat::SoftwareConfig', properties: {config: {get_attr: [worker, first_address]}}}
  worker: {type: 'OS::Nova::Server'}
`, nil, `"boot" refers to "worker"`},
		"an order that the stacks cannot keep": {`resources:
  master: {type: 'OS::Nova::Server', depends_on: worker}
  worker: {type: 'OS::Nova::Server'}
`, nil, `"master" refers to "worker"`},
		"a resource about both": {`resources:
  master: {type: 'OS::Nova::Server'}
  worker: {type: 'OS::Nova::Server'}
  both: {type: 'OS::Heat::SoftwareDeploymentGroup', properties: {servers: {a: {get_resource: master}, b: {get_resource: worker}}}}
`, nil, `"both" refers to VNFCs of VDUs that use different connections`},
		"a volume of both": {`resources:
  master: {type: 'OS::Nova::Server', properties: {block_device_mapping: [{volume_id: {get_resource: disk}}]}}
  worker: {type: 'OS::Nova::Server', properties: {block_device_mapping: [{volume_id: {get_resource: disk}}]}}
  disk: {type: 'OS::Cinder::Volume', properties: {size: 1}}
`, nil, `the resource "disk" (OS::Cinder::Volume)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := divided(t, tt.resources, hot.Selection{
				Own: []string{"master"}, Away: []string{"worker"}, Primary: true, Given: tt.given,
			})
			if tt.problem == "" {
				require.NoError(t, err)
				return
			}
			var split *hot.SplitError
			require.ErrorAs(t, err, &split)
			require.ErrorContains(t, err, tt.problem)
		})
	}
}
