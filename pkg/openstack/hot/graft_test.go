package hot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

const graftOld = `heat_template_version: 2018-08-31
parameters:
  nfv: {type: json}
resources:
  VDU1-0: {type: VDU1.yaml, properties: {flavor: {get_param: [nfv, VDU, VDU1-0, computeFlavourId]}}}
  VDU1-1: {type: VDU1.yaml, properties: {flavor: {get_param: [nfv, VDU, VDU1-1, computeFlavourId]}}}
  group: {type: 'OS::Nova::ServerGroup', properties: {policies: [affinity]}}
outputs:
  all: {value: {get_param: [nfv, VDU, VDU1-0, computeFlavourId]}}
`

const graftNew = `heat_template_version: wallaby
parameters:
  nfv: {type: json}
  extra: {type: string, default: x}
conditions:
  big: {equals: [{get_param: extra}, y]}
resources:
  VDU1-0:
    type: VDU1.yaml
    depends_on: [wire]
    condition: big
    properties:
      flavor: {get_param: [nfv, VDU, VDU1-0, computeFlavourId]}
      net: {get_resource: net}
      group: {get_attr: [group, show]}
  VDU1-1: {type: VDU1.yaml, properties: {flavor: {get_param: [nfv, VDU, VDU1-1, computeFlavourId]}}}
  group: {type: 'OS::Nova::ServerGroup', properties: {policies: [anti-affinity]}}
  net: {type: 'OS::Neutron::Net', properties: {name: {get_param: [nfv, VL, net, name]}}}
  wire: {type: 'OS::Neutron::Subnet', properties: {network: {get_resource: net}}}
  single: {type: 'OS::Neutron::Net'}
`

func parsed(t *testing.T, text string) *hot.Template {
	t.Helper()
	tpl, err := hot.Parse("t.yaml", []byte(text))
	require.NoError(t, err)
	return tpl
}

// TestGraft: a resource brings what it needs, and nothing else changes; or Heat would refuse the template in the middle
// of an upgrade.
func TestGraft(t *testing.T) {
	t.Parallel()
	mix, next := parsed(t, graftOld), parsed(t, graftNew)
	require.ElementsMatch(t, []string{"VDU1-0", "net", "wire"}, mix.Graft(next, "VDU1-0"))
	require.Empty(t, mix.Graft(next, "nothing"))
	require.Equal(t, []string{"VDU1-0", "VDU1-1", "group", "net", "wire"}, mix.Resources())
	require.Empty(t, mix.Dangling())
	require.True(t, mix.Same(next, "VDU1-0"))
	require.True(t, mix.Same(parsed(t, graftOld), "VDU1-1"))
	require.True(t, mix.Same(parsed(t, graftOld), "group"), "what the old template has stays as it is")
	require.False(t, mix.Same(next, "group"))
	require.False(t, mix.Same(next, "single"))
	text, err := mix.Encode()
	require.NoError(t, err)
	require.Contains(t, text, "heat_template_version: wallaby")
	require.Contains(t, text, "extra: {type: string, default: x}")
	require.Contains(t, text, "big: {equals:")

	inside, outside := mix.Split([]string{"VDU1-0", "net", "wire"})
	require.ElementsMatch(t, [][]any{{"VDU", "VDU1-0", "computeFlavourId"}, {"VL", "net", "name"}}, inside)
	require.ElementsMatch(
		t, [][]any{{"VDU", "VDU1-1", "computeFlavourId"}, {"VDU", "VDU1-0", "computeFlavourId"}}, outside,
	)
}

// TestGraftIntoNothing: sections that the template lacks or leaves empty are made.
func TestGraftIntoNothing(t *testing.T) {
	t.Parallel()
	mix := parsed(t, "heat_template_version: zed\nparameters:\n")
	mix.Graft(parsed(t, graftNew), "VDU1-0")
	text, err := mix.Encode()
	require.NoError(t, err)
	again := parsed(t, text)
	require.ElementsMatch(t, []string{"VDU1-0", "net", "wire", "group"}, again.Resources())
	require.Contains(t, text, "heat_template_version: zed", "a version that knows more stays")
	require.Contains(t, text, "nfv:")
}

// TestRenameNested: types of members of groups change too, other values do not.
func TestRenameNested(t *testing.T) {
	t.Parallel()
	tpl := parsed(t, `heat_template_version: zed
resources:
  a: {type: A.yaml, properties: {name: A.yaml}}
  g: {type: 'OS::Heat::AutoScalingGroup', properties: {resource: {type: A.yaml}}}
  b: {type: B.yaml}
`)
	tpl.RenameNested(map[string]string{"A.yaml": "A.1.yaml"})
	require.Equal(t, []string{"A.1.yaml", "B.yaml"}, tpl.Nested())
	require.Equal(t, []string{"A.1.yaml"}, tpl.Uses("g"))
	require.Empty(t, tpl.Uses("none"))
	text, err := tpl.Encode()
	require.NoError(t, err)
	require.Contains(t, text, "name: A.yaml")
}
