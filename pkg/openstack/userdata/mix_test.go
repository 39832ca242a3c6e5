package userdata_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

const nested = "heat_template_version: zed\nparameters: {flavor: {type: string}}\nresources:\n"

// ends are a stack before and after an upgrade: two VNFCs of VDU1, whose nested template changes although only one
// below it does, and a group.
func ends() (old, next *userdata.Stack) {
	const top = `heat_template_version: zed
parameters: {nfv: {type: json}}
resources:
  VDU1-0: {type: VDU1.yaml, properties: {flavor: {get_param: [nfv, VDU, VDU1-0, computeFlavourId]}, key: {get_param: [nfv, key]}}}
  VDU1-1: {type: VDU1.yaml, properties: {flavor: {get_param: [nfv, VDU, VDU1-1, computeFlavourId]}, key: {get_param: [nfv, key]}}}
  VDU2_group: {type: 'OS::Heat::AutoScalingGroup', properties: {resource: {type: VDU2.yaml, properties: {image: {get_param: [nfv, VDU, VDU2, vcImageId]}}}}}
`
	files := func(leaf string) map[string]string {
		return map[string]string{
			"VDU1.yaml":     nested + "  VDU1: {type: 'OS::Nova::Server'}\n  part: {type: leaf.yaml}\n",
			"leaf.yaml":     nested + "  port: {type: 'OS::Neutron::Port', properties: {name: " + leaf + "}}\n",
			"VDU2.yaml":     nested + "  box: {type: VDU2-box.yaml}\n",
			"VDU2-box.yaml": nested + "  VDU2: {type: 'OS::Nova::Server'}\n",
		}
	}
	nfv := func(flavour, image, key string) map[string]any {
		return map[string]any{"key": key, "VDU": map[string]any{
			"VDU1-0": map[string]any{"computeFlavourId": flavour},
			"VDU1-1": map[string]any{"computeFlavourId": flavour, "name": "kept"},
			"VDU2":   map[string]any{"vcImageId": image},
		}}
	}
	old = &userdata.Stack{Template: top, Files: files("one"), NFV: nfv("small", "i1", "k1")}
	next = &userdata.Stack{Template: top, Files: files("two"), NFV: nfv("large", "i2", "k2")}
	delete(next.NFV["VDU"].(map[string]any)["VDU1-1"].(map[string]any), "name")
	return old, next
}

// TestMix: while one VNFC is made from the new package, the others are what they were: their templates, values, all.
func TestMix(t *testing.T) {
	t.Parallel()
	old, next := ends()
	m, err := userdata.NewMix(old, next)
	require.NoError(t, err)
	same, err := m.Stack(nil)
	require.NoError(t, err)
	require.Equal(t, old, same)

	s, err := m.Stack([]string{"VDU1-1"})
	require.NoError(t, err)
	tpl, err := hot.Parse("t", []byte(s.Template))
	require.NoError(t, err)
	require.Equal(t, []string{"VDU1.yaml"}, tpl.Uses("VDU1-0"))
	renamed := tpl.Uses("VDU1-1")[0]
	require.Regexp(t, `^VDU1\.[0-9a-f]{12}\.yaml$`, renamed)
	for name, text := range old.Files {
		require.Equal(t, text, s.Files[name], name)
	}
	inner, err := hot.Parse(renamed, []byte(s.Files[renamed]))
	require.NoError(t, err)
	require.Equal(t, next.Files["leaf.yaml"], s.Files[inner.Nested()[0]])
	require.Len(t, s.Files, len(old.Files)+2, "VDU2's templates are the same and have one name")
	require.Equal(t, map[string]any{"computeFlavourId": "small"}, s.NFV["VDU"].(map[string]any)["VDU1-0"])
	require.Equal(
		t, map[string]any{"computeFlavourId": "large", "name": "kept"}, s.NFV["VDU"].(map[string]any)["VDU1-1"],
	)
	require.Equal(t, "k1", s.NFV["key"], "a value that old VNFCs share stays")
	require.Equal(t, "small", old.NFV["VDU"].(map[string]any)["VDU1-1"].(map[string]any)["computeFlavourId"],
		"the ends do not change")

	s, err = m.Stack([]string{"VDU1-1", "VDU1-0"})
	require.NoError(t, err)
	require.Equal(t, "k2", s.NFV["key"], "with the last of them it is new")
	require.Equal(t, "i1", s.NFV["VDU"].(map[string]any)["VDU2"].(map[string]any)["vcImageId"])

	require.Equal(t, []string{"VDU2_group"}, m.Holding("VDU2"))
	require.True(t, slices.Equal([]string{"VDU1-0", "VDU1-1"}, m.Holding("VDU1")))
	require.True(t, m.Has("VDU1-0"))
	require.False(t, m.Has("VDU1"))
	require.True(t, m.Remade([]string{"VDU1-0"}), "its nested template differs")
	require.True(t, m.Remade([]string{"VDU2_group"}), "its image differs")
}

// TestUntouched: what is the same to Heat in both packages needs no update; the smallest difference does.
func TestUntouched(t *testing.T) {
	t.Parallel()
	old, next := ends()
	m, err := userdata.NewMix(old, next)
	require.NoError(t, err)
	require.False(t, m.Untouched([]string{"VDU1-0"}), "a nested template below its own differs")
	require.False(t, m.Untouched([]string{"VDU2_group"}), "a value differs")
	require.False(t, m.Untouched([]string{"VDU3"}), "it is in neither")

	next.Files, next.NFV = old.Files, old.NFV
	m, err = userdata.NewMix(old, next)
	require.NoError(t, err)
	require.True(t, m.Untouched([]string{"VDU1-0", "VDU1-1"}))
	require.True(t, m.Untouched([]string{"VDU2_group"}))
}

// TestAsked: values that no template asks for any more keep nothing alive.
func TestAsked(t *testing.T) {
	t.Parallel()
	_, next := ends()
	next.NFV["VDU"].(map[string]any)["VDU9"] = map[string]any{"vcImageId": "forgotten"}
	asked, err := next.Asked()
	require.NoError(t, err)
	require.NotContains(t, asked["VDU"], "VDU9")
	require.Contains(t, asked["VDU"], "VDU2")
	require.Equal(t, "k2", asked["key"])
}
