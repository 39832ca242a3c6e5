package tosca_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// flavour parses a changed small VNFD and returns its flavour.
func flavour(tb testing.TB, text string, more ...string) (*vnfd.Flavour, *tosca.Result) {
	tb.Helper()
	result, err := parse(files(text, more...))
	require.NoError(tb, err)
	f := result.VNFD.Flavour("f")
	require.NotNil(tb, f)
	return f, result
}

func TestTypeFilesOfETSIAreKnownByEveryNameInUse(t *testing.T) {
	t.Parallel()
	const standard = "https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml"
	for _, url := range []string{
		"http://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml",
		"https://forge.etsi.org/rep/nfv/SOL001/raw/v3.3.1/etsi_nfv_sol001_common_types.yaml",
		"https://forge.etsi.org/rep/nfv/SOL001/-/raw/v4.4.1/etsi_nfv_sol001_vnfd_types.yaml",
		"https://forge.etsi.org/gitlab/nfv/SOL001/raw/master/etsi_nfv_sol001_vnfd_types.yaml",
		"https://FORGE.etsi.org/rep/nfv/SOL001/raw/v2.5.1/etsi_nfv_sol001_vnfd_2_5_1_types.yaml",
	} {
		_, result := flavour(t, broken(t, standard, url))
		require.Equal(t, []string{"vnfd.yaml"}, result.Files, url)
	}
	// Copies in the package are part of the VNFD, but their content is not believed.
	for _, content := range []string{
		"",
		"node_types:\n  tosca.nodes.nfv.Vdu.Compute: {derived_from: tosca.nodes.Root}\n" +
			"imports: [etsi_nfv_sol001_common_types.yaml]\n",
		"{[not yaml",
	} {
		_, result := flavour(t, broken(t, standard, "etsi/etsi_nfv_sol001_vnfd_types.yaml"),
			"etsi/etsi_nfv_sol001_vnfd_types.yaml", content)
		require.Equal(t, []string{"vnfd.yaml", "etsi/etsi_nfv_sol001_vnfd_types.yaml"}, result.Files)
	}
}

func TestImportNotations(t *testing.T) {
	t.Parallel()
	for _, notation := range []string{
		"a.yaml", "./a.yaml", "{file: a.yaml}", "{mine: a.yaml}",
		"{mine: {file: a.yaml}}", "{file: a.yaml, namespace_prefix: x}",
	} {
		_, result := flavour(t, broken(t, "imports:\n", "imports:\n  - "+notation+"\n"), "a.yaml", "node_types: {}\n")
		require.Equal(t, []string{"vnfd.yaml", "a.yaml"}, result.Files, notation)
	}
}

func TestImportsMayBeSharedByFiles(t *testing.T) {
	t.Parallel()
	_, result := flavour(t, broken(t, "imports:\n", "imports:\n  - d/a.yaml\n  - d/b.yaml\n"),
		"d/a.yaml", "imports: [c.yaml]\n", "d/b.yaml", "imports: [d/c.yaml, ../vnfd2.yaml]\n", "d/c.yaml",
		"node_types: {}\n", "vnfd2.yaml", "node_types: {}\n")
	require.Equal(t, []string{"vnfd.yaml", "d/a.yaml", "d/c.yaml", "d/b.yaml", "vnfd2.yaml"}, result.Files)
}

func TestOtherDefinitionsBelongToTheVNFD(t *testing.T) {
	t.Parallel()
	fsys := files("topology_template: {}\n", "df.yaml", small)
	result, err := tosca.Parse(fsys, tosca.Options{Entry: "vnfd.yaml", Others: []string{"df.yaml"}})
	require.NoError(t, err)
	require.NotNil(t, result.VNFD.Flavour("f"))
}

func TestFlavourIDMayBeOnTheVNFNode(t *testing.T) {
	t.Parallel()
	text := broken(
		t,
		"  substitution_mappings:\n    node_type: my.VNF\n    properties: {flavour_id: f}\n"+
			"    requirements: {ext: [cp, virtual_link]}\n",
		"",
	)
	text = strings.Replace(text, "        provider: p\n",
		"        provider: p\n        flavour_id: f\n        flavour_description: from the node\n", 1)
	f, _ := flavour(t, text)
	require.Equal(t, "from the node", f.Description)
	require.False(t, f.CP("cp").External, "it has an internal link and nothing maps it")
}

func TestMainFileWithADefaultForTheSelectedFlavourIsNoFlavour(t *testing.T) {
	t.Parallel()
	const top = `imports: [df.yaml]
topology_template:
  inputs: {selected_flavour: {type: string, default: f}}
  node_templates:
    VNF:
      type: my.VNF
      properties: {flavour_id: {get_input: selected_flavour}}
`
	result, err := parse(files(top, "df.yaml", small))
	require.NoError(t, err)
	require.Len(t, result.VNFD.Flavours, 1)
}

func TestValuesKeepTheirText(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.10", "0123", "2024-01-01", "1e3", "0x10", "'1.0'", "yes", "1_000", `"null"`} {
		_, result := flavour(t, broken(t, "descriptor_version: v", "descriptor_version: "+version))
		require.Equal(t, strings.Trim(version, `'"`), result.VNFD.Version)
	}
}

func TestDescriptorIDsAreAnyText(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"Sample VNF", "a/b", "50% of é?#&'(x,y)", strings.Repeat("é", 255), " x "} {
		quoted, err := json.Marshal(id)
		require.NoError(t, err)
		_, result := flavour(t, broken(t, "descriptor_id: d1", "descriptor_id: "+string(quoted)))
		require.Equal(t, id, result.VNFD.ID)
	}
}

func TestFunctionsWithAValueAreResolved(t *testing.T) {
	t.Parallel()
	const inputs = "inputs: {id: {default: d9}, nested: {default: {list: [a, b7]}}, chained: {default: {get_input: " +
		"id}}, open: {type: string}}"
	for expression, want := range map[string]string{
		"{get_input: id}":                            "d9",
		"{get_input: chained}":                       "d9",
		"{get_input: [nested, list, 1]}":             "b7",
		"{concat: [x-, {get_input: id}, -y]}":        "x-d9-y",
		"{get_property: [vdu, sw_image_data, name]}": "image",
		"&anchor d8":                                 "d8",
	} {
		_, result := flavour(
			t, strings.Replace(broken(t, "descriptor_id: d1", "descriptor_id: "+expression), "inputs: {}", inputs, 1),
		)
		require.Equal(t, want, result.VNFD.ID, expression)
	}
	// What has no value yet leaves the type's default.
	text := strings.Replace(broken(t, "descriptor_id: d1", "descriptor_id: {get_input: open}"), "inputs: {}", inputs, 1)
	text = strings.Replace(text, "{derived_from: tosca.nodes.nfv.VNF}",
		"{derived_from: tosca.nodes.nfv.VNF, properties: {descriptor_id: {type: string, default: from-type}}}", 1)
	_, result := flavour(t, text)
	require.Equal(t, "from-type", result.VNFD.ID)
}

func TestFunctionsThatReferToEachOtherEnd(t *testing.T) {
	t.Parallel()
	text := strings.Replace(broken(t, "descriptor_id: d1", "descriptor_id: {get_input: a}"), "inputs: {}",
		"inputs: {a: {default: {get_input: b}}, b: {default: {get_input: a}}}", 1)
	_, err := parse(files(text))
	var e *tosca.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, tosca.BadValue, e.Reason)
}

func TestDerivedTypesResolve(t *testing.T) {
	t.Parallel()
	text := broken(t, "  my.VNF: {derived_from: tosca.nodes.nfv.VNF}\n", `  my.VNF: {derived_from: my.BaseVNF}
  my.BaseVNF: {derived_from: tosca.nodes.nfv.VNF}
  my.Vdu: {derived_from: my.BaseVdu}
  my.BaseVdu:
    derived_from: tosca.nodes.nfv.Vdu.Compute
    properties:
      name: {default: given by the type}
    artifacts:
      sw_image: {type: my.Image, file: image.img}
  my.Port: {derived_from: tosca.nodes.nfv.VduCp}
  my.Disk: {derived_from: tosca.nodes.nfv.Vdu.VirtualObjectStorage}
  my.Link: {derived_from: tosca.nodes.nfv.VnfVirtualLink}
artifact_types:
  my.Image: {derived_from: tosca.artifacts.nfv.SwImage}
policy_types:
  my.Anti: {derived_from: tosca.policies.nfv.AntiAffinityRule}
group_types:
  my.Group: {derived_from: tosca.groups.nfv.PlacementGroup}
`)
	for old, replacement := range map[string]string{
		"      type: tosca.nodes.nfv.Vdu.Compute\n": "      type: my.Vdu\n",
		"      artifacts:\n        sw_image: {type: tosca.artifacts.nfv.SwImage, " +
			"file: image.img}\n": "",
		"      type: tosca.nodes.nfv.VduCp\n":                   "      type: my.Port\n",
		"      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage\n": "      type: my.Disk\n",
		"{virtual_block_storage_data: {size_of_storage: 1 " +
			"GB}}": "{virtual_object_storage_data: {max_size_of_storage: 3 GB}}",
		"    vl: {type: tosca.nodes.nfv.VnfVirtualLink}":      "    vl: {type: my.Link}",
		"        type: tosca.policies.nfv.AntiAffinityRule\n": "        type: my.Anti\n",
		"{type: tosca.groups.nfv.PlacementGroup, members":     "{type: my.Group, members",
	} {
		require.Equal(t, 1, strings.Count(text, old), old)
		text = strings.Replace(text, old, replacement, 1)
	}
	f, _ := flavour(t, text)
	require.Equal(t, "given by the type", f.VDU("vdu").DisplayName)
	require.Equal(t, "image.img", f.VDU("vdu").Image.File)
	require.Equal(t, []vnfd.Storage{{Name: "disk", Type: "OBJECT", SizeBytes: 3e9}}, f.Storages)
	require.Equal(t, "vl", f.CP("cp").VL)
	require.Equal(t, []vnfd.PlacementRule{
		{Name: "anti", Anti: true, Scope: "nfvi_node", Targets: []string{"vdu"}, Groups: []string{"group"}},
	}, f.Placement)
}

func TestNotationsOfImplementations(t *testing.T) {
	t.Parallel()
	script := vnfd.Implementation{Name: "driver", ArtifactType: "tosca.artifacts.Implementation.Python", File: "run.py"}
	for notation, want := range map[string]*vnfd.Implementation{
		"{instantiate_end: driver}":                                                 &script,
		"{instantiate_end: {implementation: driver}}":                               &script,
		"{instantiate_end: {implementation: {primary: driver, dependencies: [x]}}}": &script,
		"{operations: {instantiate_end: driver}}":                                   &script,
		"{type: tosca.interfaces.nfv.Vnflcm, instantiate_end: driver}":              &script,
		"{instantiate_end: built-in}":                                               {Name: "built-in"},
		"{instantiate_end: {implementation: ./run.py}}": {
			Name: "./run.py", File: "run.py",
		},
		"{instantiate_end: {implementation: {primary: {file: run.py, type: my.Type}}}}": {
			Name: "run.py", ArtifactType: "my.Type", File: "run.py",
		},
		"{instantiate_end: []}":                                              nil,
		"{instantiate_end: {implementation: []}}":                            nil,
		"{instantiate_end: }":                                                nil,
		"{instantiate_end: {description: nothing}}":                          nil,
		"{type: tosca.interfaces.nfv.VnfIndicator, instantiate_end: driver}": nil,
	} {
		f, _ := flavour(t, broken(t, "{instantiate_end: {implementation: driver}}", notation))
		if want == nil {
			require.Empty(t, f.LCM, notation)
		} else {
			require.Equal(t, map[string]vnfd.Implementation{"instantiate_end": *want}, f.LCM, notation)
		}
	}
}

func TestArtifactPathsFromTheFileAndFromTheRoot(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../Scripts/x.py", "Scripts/x.py", "./Scripts/x.py"} {
		text := strings.Replace(small, "file: run.py", "file: "+file, 1)
		text = strings.Replace(text, "file: image.img", "file: ../image.img", 1)
		result, err := tosca.Parse(
			files("", "Definitions/v.yaml", text, "Scripts/x.py", ""), tosca.Options{Entry: "Definitions/v.yaml"},
		)
		require.NoError(t, err, file)
		require.Equal(t, "Scripts/x.py", result.VNFD.Flavours[0].LCM["instantiate_end"].File)
		require.Equal(t, "image.img", result.VNFD.Flavours[0].VDUs[0].Image.File)
	}
}

func TestOddButHarmlessThingsAreAccepted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"policies as a mapping": {
			"    - vdulevels:\n        type: tosca.policies.nfv.VduInstantiationLevels\n" +
				"        properties: {levels: {one: {number_of_instances: 1}, two: {number_of_instances: 3}}}\n" +
				"        targets: [vdu]\n",
			"",
		},
		"a requirement without target": {"        - virtual_link: vl\n", "        - virtual_link:\n"},
		"a requirement as a mapping": {
			"        - virtual_binding: vdu\n",
			"        - virtual_binding: {node: vdu, relationship: tosca.relationships.nfv.VirtualBindsTo}\n",
		},
		"quoted numbers": {"max_number_of_instances: 9", "max_number_of_instances: '9'"},
		"a target that is no list": {
			"        properties: {scope: nfvi_node}\n        targets: [group]",
			"        properties: {scope: nfvi_node}\n        targets: group",
		},
		"an unknown standard policy": {"tosca.policies.nfv.AntiAffinityRule", "tosca.policies.nfv.SomethingNew"},
		"one level and no default level": {
			", two: {scale_info: {aspect: {scale_level: 2}}}}, default_level: one}", "}}",
		},
	} {
		text := broken(t, change[0], change[1])
		if name == "one level and no default level" {
			text = strings.Replace(text, ", two: {number_of_instances: 3}", "", 1)
		}
		f, result := flavour(t, text)
		switch name {
		case "an unknown standard policy":
			require.Len(t, result.Warnings, 1)
			require.Contains(t, result.Warnings[0].Text, "SomethingNew is not known")
		case "a requirement without target":
			require.True(t, f.CP("cp").External)
		case "policies as a mapping": // no VduInstantiationLevels: scale_info says how many
			require.Equal(t, map[string]int{"vdu": 3}, f.Level("two").VDUs)
		case "one level and no default level":
			require.Equal(t, "one", f.DefaultLevel)
		}
	}
}

func TestMergeKeysAndAnchorsAreFollowed(t *testing.T) {
	t.Parallel()
	text := broken(
		t, "inputs: {}", "inputs: {base: {default: &base {min_number_of_instances: 2, max_number_of_instances: 5}}}",
	)
	text = strings.Replace(text, "vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 9}",
		"vdu_profile: {<<: *base, max_number_of_instances: 7}", 1)
	f, _ := flavour(t, text)
	require.Equal(t, 2, f.VDU("vdu").MinInstances)
	require.Equal(t, 7, f.VDU("vdu").MaxInstances)
}
