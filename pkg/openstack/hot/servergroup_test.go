package hot_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

const groupless = `heat_template_version: 2018-08-31
resources:
  VDU1-0: {type: VDU1.yaml, properties: {net: net0}}
  VDU1-1: {type: VDU1.yaml}
  VDU2-0:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny}
  VDU2-x: {type: 'OS::Nova::Server', properties: {flavor: m1.tiny}}
  VDU3_group:
    type: OS::Heat::AutoScalingGroup
    properties: {resource: {type: box.yaml, properties: {net: net1}}}
  VDU4:
    type: OS::Heat::ResourceGroup
    properties: {count: 2, resource_def: {type: 'OS::Nova::Server', properties: {flavor: m1.tiny}}}
  own: {type: own.yaml}
  ring: {type: ring.yaml}
`

// joinable is a bundle with every form that a server can have, and one whose template has hints of its own.
func joinable(t *testing.T) *hot.Bundle {
	t.Helper()
	file := func(text string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("heat_template_version: 2018-08-31\n" + text)}
	}
	var c hot.Cache
	b, err := c.Load(fstest.MapFS{
		"BaseHOT/f/top.yaml": {Data: []byte(groupless)},
		"BaseHOT/f/nested/VDU1.yaml": file(`parameters: {net: {type: string, default: net0}, VDU1_server_group: {type: string, default: mine}}
resources:
  VDU1: {type: 'OS::Nova::Server', properties: {networks: [{network: {get_param: net}}]}}
  other: {type: 'OS::Nova::Server', properties: {networks: [{network: {get_param: net}}]}}
`),
		"BaseHOT/f/nested/box.yaml": file(
			"parameters: {net: {type: string}}\nresources: {VDU3: {type: VDU3.yaml, properties: {net: {get_param: " +
				"net}}}}\n",
		),
		"BaseHOT/f/nested/VDU3.yaml": file(
			"resources: {VDU3: {type: 'OS::Nova::Server', properties: {flavor: m1.tiny}}}\n",
		),
		"BaseHOT/f/nested/own.yaml": file(
			"resources: {VDU1: {type: 'OS::Nova::Server', properties: {scheduler_hints: {different_host: [x]}}}}\n",
		),
		"BaseHOT/f/nested/ring.yaml": file("resources: {more: {type: ring.yaml}}\n"),
	}, "f")
	require.NoError(t, err)
	return b
}

// TestJoin: every form of a server gets into the group, and what is shared by others stays as it is.
func TestJoin(t *testing.T) {
	t.Parallel()
	b := joinable(t)
	files, before := maps.Clone(b.Files), encode(t, b.Template)
	tpl := b.Template.Clone()
	j := b.Joiner(tpl)
	for _, tt := range []struct {
		resource, vdu string
		took          bool
	}{
		{"VDU1-1", "VDU1", true},
		{"VDU2-0", "VDU2", true},
		{"VDU2-x", "VDU2", false}, // it has another name
		{"VDU2-0", "VDU2", false}, // it is in one
		{"VDU3_group", "VDU3", true},
		{"VDU4", "VDU4", true},
		{"own", "VDU1", false},
		{"ring", "VDU1", false},
		{"none", "VDU1", false},
	} {
		took, err := j.Join(tt.resource, tt.vdu, "rule_soft-anti-affinity")
		require.NoError(t, err)
		require.Equal(t, tt.took, took, tt.resource)
	}
	tpl.AddServerGroup("rule_soft-anti-affinity", "soft-anti-affinity")
	require.Empty(t, tpl.Dangling())
	golden(t, "joined.yaml", encode(t, tpl))
	added := slices.DeleteFunc(
		slices.Sorted(maps.Keys(j.Files)), func(n string) bool { _, was := files[n]; return was },
	)
	require.Len(t, added, 3, "VDU1, VDU3 and the box around it")
	for _, n := range added {
		golden(t, "joined."+strings.Split(n, ".")[0]+".yaml", j.Files[n])
	}
	require.Equal(t, files, b.Files)
	require.Equal(t, before, encode(t, b.Template))

	again := b.Joiner(b.Template.Clone())
	_, err := again.Join("VDU1-0", "VDU1", "another")
	require.NoError(t, err)
	require.Contains(t, added, slices.DeleteFunc(slices.Collect(maps.Keys(again.Files)),
		func(n string) bool { _, was := files[n]; return was })[0],
		"a copy does not depend on who is in which group")
}
