package userdata_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func anti(name string, vdus ...string) vnfd.PlacementRule {
	return vnfd.PlacementRule{Name: name, Anti: true, Scope: "nfvi_node", Targets: vdus}
}

func affine(name string, vdus ...string) vnfd.PlacementRule {
	return vnfd.PlacementRule{Name: name, Scope: "nfvi_node", Targets: vdus}
}

// ruled is the input of a new stack, two VNFCs of VDU1 and one of VDU2, with placement rules.
func ruled(t *testing.T, rules ...vnfd.PlacementRule) userdata.Input {
	t.Helper()
	in := input(t)
	in.HOT, in.Patches, in.Counts = load(t, "testdata", "placed"), nil, map[string]int{"VDU1": 2, "VDU2": 1}
	in.Flavour.VDUs[0].MaxInstances, in.Flavour.VDUs[1].MaxInstances = 3, 1
	in.Flavour.Placement = rules
	return in
}

func assembled(t *testing.T, in userdata.Input) *userdata.Stack {
	t.Helper()
	s, bad, err := userdata.Assemble(in)
	require.NoError(t, err)
	require.Empty(t, bad)
	return s
}

// next is the input of an operation on what in has made.
func next(t *testing.T, in userdata.Input) userdata.Input {
	t.Helper()
	raw, err := json.Marshal(assembled(t, in).NFV)
	require.NoError(t, err)
	in.Held, in.Had, in.Counts, in.Patches = userdata.Compact(
		object(t, string(raw)),
	), in.Counts, maps.Clone(in.Counts), nil
	f := *in.Flavour
	in.Flavour = &f
	return in
}

// memory is what nfv remembers of server groups, by key.
func memory(s *userdata.Stack) map[string]string {
	out := map[string]string{}
	vdus, _ := s.NFV["VDU"].(map[string]any)
	for key, e := range vdus {
		leaves, _ := e.(map[string]any)
		if g, ok := leaves[userdata.LeafServerGroup].(string); ok {
			out[key] = g
		}
	}
	return out
}

// groupsOf lists the server groups in a stack's template.
func groupsOf(t *testing.T, s *userdata.Stack) []string {
	t.Helper()
	tpl, err := hot.Parse("t", []byte(s.Template))
	require.NoError(t, err)
	require.Empty(t, tpl.Dangling())
	return slices.DeleteFunc(tpl.Resources(), func(n string) bool { return !strings.HasSuffix(n, "affinity") })
}

// TestServerGroups: rules of the VNFD are in what Heat is given, in both classes, and the package's own files are as
// they were.
func TestServerGroups(t *testing.T) {
	t.Parallel()
	for _, class := range []userdata.Class{userdata.Standard, userdata.Default} {
		in := ruled(t, affine("close", "VDU2", "VDU1"), anti("spread", "VDU1"))
		in.Flavour.VDUs[1].MaxInstances = 2
		name := "placed"
		if in.Class = class; class == userdata.Default {
			in.HOT, name = load(t, "testdata", "placed-groups"), "placed-groups"
		}
		files := maps.Clone(in.HOT.Files)
		s := assembled(t, in)
		golden(t, name+".top.yaml", s.Template)
		golden(t, name+".nfv.json", nfv(t, s))
		require.Equal(t, files, in.HOT.Files)
		for file, text := range s.Files {
			if was, ok := files[file]; ok {
				require.Equal(t, was, text)
			} else {
				golden(t, name+"."+strings.Split(file, ".")[0]+".yaml", text)
			}
		}
		require.Equal(t, s, assembled(t, in), "another node assembles the same")
	}
}

// TestWhichServerGroup: what the rules of a VNFD come to for new VNFCs.
func TestWhichServerGroup(t *testing.T) {
	t.Parallel()
	no := map[string]string{}
	for name, tt := range map[string]struct {
		rules  []vnfd.PlacementRule
		change func(in *userdata.Input)
		want   map[string]string
	}{
		"the first anti-affinity rule": {
			[]vnfd.PlacementRule{affine("a", "VDU1"), anti("b", "VDU1"), anti("c", "VDU1")},
			nil,
			map[string]string{"VDU1-0": "b_soft-anti-affinity", "VDU1-1": "b_soft-anti-affinity"},
		},
		"one for several VDUs": {
			[]vnfd.PlacementRule{affine("a", "VDU2", "internalVL1", "VDU1")},
			nil,
			map[string]string{"VDU1-0": "a_soft-affinity", "VDU1-1": "a_soft-affinity", "VDU2-0": "a_soft-affinity"},
		},
		"a rule about one VNFC": {[]vnfd.PlacementRule{anti("a", "VDU2"), affine("b", "VDU2")}, nil, no},
		"a rule that is left with one VNFC": {
			[]vnfd.PlacementRule{affine("a", "VDU1", "VDU2"), anti("b", "VDU1")},
			nil,
			map[string]string{"VDU1-0": "b_soft-anti-affinity", "VDU1-1": "b_soft-anti-affinity"},
		},
		"a rule about links": {[]vnfd.PlacementRule{anti("a", "internalVL1", "VDU9")}, nil, no},
		"a rule of another scope": {
			[]vnfd.PlacementRule{{Name: "a", Anti: true, Scope: "zone", Targets: []string{"VDU1"}}}, nil, no,
		},
		"a VNFD that bounds no VDU": {[]vnfd.PlacementRule{anti("a", "VDU2")}, func(in *userdata.Input) {
			in.Flavour.VDUs[1].MaxInstances = 0
		}, map[string]string{"VDU2-0": "a_soft-anti-affinity"}},
		"a level beyond the VDU's bound": {
			[]vnfd.PlacementRule{anti("a", "VDU2")},
			func(in *userdata.Input) {
				in.Flavour.Levels = []vnfd.InstantiationLevel{{VDUs: map[string]int{"VDU2": 2}}}
			},
			map[string]string{"VDU2-0": "a_soft-anti-affinity"},
		},
		"a name that Heat does not take": {
			[]vnfd.PlacementRule{anti("a/b c", "VDU2", "VDU9"), anti("a_b c", "VDU1")},
			func(in *userdata.Input) { in.Flavour.VDUs[1].MaxInstances = 2 },
			map[string]string{
				"VDU1-0": "_a_b_c_soft-anti-affinity", "VDU1-1": "_a_b_c_soft-anti-affinity",
				"VDU2-0": "a_b_c_soft-anti-affinity",
			},
		},
		"a VNFC that the request wants in none": {
			[]vnfd.PlacementRule{anti("a", "VDU1")},
			func(in *userdata.Input) {
				in.Patches = []sol.KeyValuePairs{{"nfv": map[string]any{
					"VDU": map[string]any{"VDU1-1": map[string]any{userdata.LeafServerGroup: nil}},
				}}}
			},
			map[string]string{"VDU1-0": "a_soft-anti-affinity"},
		},
		"no other than that of the rule": {
			[]vnfd.PlacementRule{anti("a", "VDU1")},
			func(in *userdata.Input) {
				in.Patches = []sol.KeyValuePairs{{"nfv": map[string]any{"VDU": map[string]any{
					"VDU1-0": map[string]any{userdata.LeafServerGroup: "b_soft-affinity"},
					"VDU2-0": map[string]any{userdata.LeafServerGroup: "c_soft-affinity"},
				}}}}
			},
			map[string]string{"VDU1-0": "a_soft-anti-affinity", "VDU1-1": "a_soft-anti-affinity"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := ruled(t, tt.rules...)
			if tt.change != nil {
				tt.change(&in)
			}
			s := assembled(t, in)
			require.Equal(t, tt.want, memory(s))
			groups := slices.Compact(slices.Sorted(maps.Values(tt.want)))
			require.ElementsMatch(t, groups, groupsOf(t, s))
		})
	}
}

// TestTemplateHasServerGroups: a template that places its servers itself, or has a leaf of its own by this name, is
// left alone.
func TestTemplateHasServerGroups(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]string{
		"hints": `{scheduler_hints: {group: {get_resource: mine}}}`,
		"none":  `{scheduler_hints: {}}`,
		"leaf":  `{metadata: {group: {get_param: [nfv, VDU, VDU1, serverGroup]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := ruled(t, anti("a", "VDU1"))
			tpl, err := hot.Parse(
				"t",
				[]byte("heat_template_version: zed\nresources:\n  mine: {type: 'OS::Nova::ServerGroup'}\n"+
					"  VDU2: {type: 'OS::Nova::Server'}\n"+
					"  VDU1: {type: 'OS::Nova::Server', properties: "+server+"}\n"))
			require.NoError(t, err)
			in.HOT = &hot.Bundle{Template: tpl}
			s := assembled(t, in)
			require.Empty(t, groupsOf(t, s))
			in.Flavour.Placement = nil
			require.Equal(t, assembled(t, in), s)
			in.Patches = []sol.KeyValuePairs{
				{"nfv": map[string]any{"VDU": map[string]any{"VDU1": map[string]any{"serverGroup": "of_the_user"}}}},
			}
			require.Equal(t, map[string]string{"VDU1": "of_the_user"}, memory(assembled(t, in)))
		})
	}
}

// TestServerGroupThatHolds: a server cannot go into a group or out of it, so that whatever becomes of the rules,
// nothing changes for those that are there.
func TestServerGroupThatHolds(t *testing.T) {
	t.Parallel()
	spread := map[string]string{"VDU1-0": "a_soft-anti-affinity", "VDU1-1": "a_soft-anti-affinity"}
	for name, tt := range map[string]struct {
		before []vnfd.PlacementRule
		change func(in *userdata.Input)
		want   map[string]string
	}{
		"the rule is gone": {
			[]vnfd.PlacementRule{anti("a", "VDU1")}, func(in *userdata.Input) { in.Flavour.Placement = nil }, spread,
		},
		"another rule": {[]vnfd.PlacementRule{anti("a", "VDU1")}, func(in *userdata.Input) {
			in.Flavour.Placement[0].Anti = false
		}, spread},
		"a rule that is new": {nil, func(in *userdata.Input) {
			in.Flavour.Placement = []vnfd.PlacementRule{anti("a", "VDU1")}
		}, map[string]string{}},
		"one that was remade": {[]vnfd.PlacementRule{anti("a", "VDU1")}, func(in *userdata.Input) {
			in.Flavour.Placement[0].Name = "b"
		}, spread},
		"the request says otherwise": {[]vnfd.PlacementRule{anti("a", "VDU1")}, func(in *userdata.Input) {
			in.Patches = []sol.KeyValuePairs{
				{"nfv": map[string]any{"VDU": map[string]any{"VDU1-0": map[string]any{userdata.LeafServerGroup: nil}}}},
			}
		}, spread},
		"one before it was lost": {nil, func(in *userdata.Input) {
			in.Flavour.Placement, in.Had = []vnfd.PlacementRule{anti("a", "VDU1")}, map[string]int{"VDU1": 1, "VDU2": 1}
		}, map[string]string{}},
		"everything is recreated": {nil, func(in *userdata.Input) {
			in.Flavour.Placement = []vnfd.PlacementRule{anti("a", "VDU1")}
			in.Fresh = func(kind, _, leaf string) bool { return kind == "VDU" && leaf == userdata.LeafServerGroup }
		}, spread},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := next(t, ruled(t, tt.before...))
			in.Flavour.Placement = slices.Clone(in.Flavour.Placement)
			held := copiedNFV(t, in.Held)
			tt.change(&in)
			s := assembled(t, in)
			require.Equal(t, tt.want, memory(s))
			require.Equal(t, held, in.Held)
			if in.Fresh == nil {
				was := in
				was.Flavour, was.Patches = ruled(t, tt.before...).Flavour, nil
				require.Equal(t, assembled(t, was).Template, s.Template)
			}
		})
	}
}

func copiedNFV(t *testing.T, nfv map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(nfv)
	require.NoError(t, err)
	return object(t, string(raw))
}

// TestServerGroupOfNewVNFCs: one that comes is kept apart from those that are there, whatever their group is called;
// one that comes to VNFCs without a group has one nevertheless. A group without VNFCs goes.
func TestServerGroupOfNewVNFCs(t *testing.T) {
	t.Parallel()
	in := next(t, ruled(t, anti("a", "VDU1")))
	in.Counts["VDU1"] = 3
	in.Flavour.Placement = []vnfd.PlacementRule{anti("b", "VDU1")}
	s := assembled(t, in)
	require.Equal(t, map[string]string{
		"VDU1-0": "a_soft-anti-affinity", "VDU1-1": "a_soft-anti-affinity", "VDU1-2": "a_soft-anti-affinity",
	}, memory(s))
	require.Equal(t, []string{"a_soft-anti-affinity"}, groupsOf(t, s))

	in.Flavour.Placement = []vnfd.PlacementRule{affine("b", "VDU1")}
	s = assembled(t, in)
	require.Equal(t, "b_soft-affinity", memory(s)["VDU1-2"])
	require.Equal(t, []string{"a_soft-anti-affinity", "b_soft-affinity"}, groupsOf(t, s))

	in.Counts["VDU1"] = 0
	s = assembled(t, in)
	require.Empty(t, memory(s))
	require.Empty(t, groupsOf(t, s))

	old := next(t, ruled(t))
	old.Counts["VDU1"] = 3
	old.Flavour.Placement = []vnfd.PlacementRule{anti("a", "VDU1")}
	s = assembled(t, old)
	require.Equal(t, map[string]string{"VDU1-2": "a_soft-anti-affinity"}, memory(s))
	tpl, err := hot.Parse("t", []byte(s.Template))
	require.NoError(t, err)
	require.Equal(
		t, []string{"VDU1.yaml"}, tpl.Uses("VDU1-1"), "a server that was made before there were groups is not touched",
	)
	require.NotEqual(t, []string{"VDU1.yaml"}, tpl.Uses("VDU1-2"))
}

// TestServerGroupOfAGroup: members of a group share their definition: as long as there are some, none changes.
func TestServerGroupOfAGroup(t *testing.T) {
	t.Parallel()
	in := ruled(t)
	in.Class, in.HOT = userdata.Default, load(t, "testdata", "placed-groups")
	in = next(t, in)
	in.Flavour.Placement = []vnfd.PlacementRule{anti("a", "VDU1")}
	in.Counts["VDU1"] = 3
	s := assembled(t, in)
	require.Empty(t, memory(s))
	require.Empty(t, groupsOf(t, s))
	in.Had = map[string]int{"VDU1": 0, "VDU2": 1}
	require.Equal(t, map[string]string{"VDU1": "a_soft-anti-affinity"}, memory(assembled(t, in)))
}

// TestServerGroupWithATakenName: a later package whose template has something by the name of a group that servers are
// in is refused, not mistaken.
func TestServerGroupWithATakenName(t *testing.T) {
	t.Parallel()
	in := next(t, ruled(t, anti("a", "VDU1")))
	text, err := in.HOT.Template.Encode()
	require.NoError(t, err)
	b := *in.HOT
	b.Template, err = hot.Parse("t", []byte(text+"  a_soft-anti-affinity: {type: 'OS::Neutron::Net'}\n"))
	require.NoError(t, err)
	in.HOT = &b
	_, _, err = userdata.Assemble(in)
	var fault *hot.Error
	require.ErrorAs(t, err, &fault)
	require.ErrorContains(t, err, `"a_soft-anti-affinity", which is the name of the server group that VDU1-0 is in`)

	in.Held, in.Had = nil, nil
	require.Equal(t, "_a_soft-anti-affinity", memory(assembled(t, in))["VDU1-0"], "a new one gets another name")
}

// TestServerGroupInAMix: while the VNFCs get a new package one by one, all stay in their group, and one that comes with
// it brings its own.
func TestServerGroupInAMix(t *testing.T) {
	t.Parallel()
	in := next(t, ruled(t, anti("a", "VDU1")))
	old := assembled(t, in)
	in.Flavour.Placement = []vnfd.PlacementRule{affine("b", "VDU1", "VDU2")}
	in.Had = map[string]int{"VDU1": 2}
	delete(in.Held["VDU"].(map[string]any), "VDU2-0")
	to := assembled(t, in)
	require.Equal(t, map[string]string{
		"VDU1-0": "a_soft-anti-affinity", "VDU1-1": "a_soft-anti-affinity", "VDU2-0": "b_soft-affinity",
	}, memory(to))
	m, err := userdata.NewMix(old, to)
	require.NoError(t, err)
	s, err := m.Stack([]string{"VDU1-1"})
	require.NoError(t, err)
	require.Equal(t, []string{"a_soft-anti-affinity"}, groupsOf(t, s))
	require.Equal(t, memory(old), memory(s))
	s, err = m.Stack([]string{"VDU1-1", "VDU1-0", "VDU2-0"})
	require.NoError(t, err)
	require.Equal(t, []string{"a_soft-anti-affinity", "b_soft-affinity"}, groupsOf(t, s))
	require.Equal(t, memory(to), memory(s))
}

// TestServerGroupLostInAMix: a VNFC whose new template places it itself is in no group of ours from then on, and the
// others still are.
func TestServerGroupLostInAMix(t *testing.T) {
	t.Parallel()
	in := next(t, ruled(t, anti("a", "VDU1")))
	old := assembled(t, in)
	text, err := in.HOT.Template.Encode()
	require.NoError(t, err)
	tpl, err := hot.Parse("t", []byte(strings.Replace(text, "type: VDU1.yaml",
		"type: OS::Nova::Server\n    properties: {scheduler_hints: {}}\n  lost:\n    type: VDU1.yaml", 1)))
	require.NoError(t, err)
	b := *in.HOT
	b.Template, in.HOT = tpl, &b
	m, err := userdata.NewMix(old, assembled(t, in))
	require.NoError(t, err)
	s, err := m.Stack([]string{"VDU1-1"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"VDU1-0": "a_soft-anti-affinity"}, memory(s))
	require.Equal(t, map[string]string{"VDU1-0": "a_soft-anti-affinity", "VDU1-1": "a_soft-anti-affinity"}, memory(old))
}
