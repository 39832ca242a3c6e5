package tosca_test

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
)

// small is a valid VNFD in one file; tests break it in one place.
const small = `tosca_definitions_version: tosca_simple_yaml_1_2
imports:
  - https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml
node_types:
  my.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  inputs: {}
  substitution_mappings:
    node_type: my.VNF
    properties: {flavour_id: f}
    requirements: {ext: [cp, virtual_link]}
  node_templates:
    VNF:
      type: my.VNF
      properties:
        descriptor_id: d1
        provider: p
        product_name: n
        software_version: s
        descriptor_version: v
      interfaces:
        Vnflcm: {instantiate_end: {implementation: driver}}
      artifacts:
        driver: {type: tosca.artifacts.Implementation.Python, file: run.py}
    vdu:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 9}
        sw_image_data: {name: image, min_disk: 0 GB, size: 1 GB}
      artifacts:
        sw_image: {type: tosca.artifacts.nfv.SwImage, file: image.img}
      requirements:
        - virtual_storage: disk
    disk:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties: {virtual_block_storage_data: {size_of_storage: 1 GB}}
    cp:
      type: tosca.nodes.nfv.VduCp
      requirements:
        - virtual_binding: vdu
        - virtual_link: vl
    vl: {type: tosca.nodes.nfv.VnfVirtualLink}
  groups:
    group: {type: tosca.groups.nfv.PlacementGroup, members: [vdu]}
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties: {aspects: {aspect: {max_scale_level: 2, step_deltas: [delta]}}}
    - initial:
        type: tosca.policies.nfv.VduInitialDelta
        properties: {initial_delta: {number_of_instances: 1}}
        targets: [vdu]
    - deltas:
        type: tosca.policies.nfv.VduScalingAspectDeltas
        properties: {aspect: aspect, deltas: {delta: {number_of_instances: 1}}}
        targets: [vdu]
    - levels:
        type: tosca.policies.nfv.InstantiationLevels
        properties: {levels: {one: {scale_info: {aspect: {scale_level: 0}}}, two: {scale_info: {aspect: {scale_level: 2}}}}, default_level: one}
    - vdulevels:
        type: tosca.policies.nfv.VduInstantiationLevels
        properties: {levels: {one: {number_of_instances: 1}, two: {number_of_instances: 3}}}
        targets: [vdu]
    - anti:
        type: tosca.policies.nfv.AntiAffinityRule
        properties: {scope: nfvi_node}
        targets: [group]
`

// files makes a package of the VNFD and more files, given as name, content, name, content…
func files(vnfd string, more ...string) fstest.MapFS {
	fsys := fstest.MapFS{"vnfd.yaml": {Data: []byte(vnfd)}, "run.py": {}, "image.img": {}}
	for i := 0; i < len(more); i += 2 {
		fsys[more[i]] = &fstest.MapFile{Data: []byte(more[i+1])}
	}
	return fsys
}

func parse(fsys fs.FS) (*tosca.Result, error) {
	names := []string{}
	_ = fs.WalkDir(fsys, ".", func(p string, _ fs.DirEntry, _ error) error { names = append(names, p); return nil })
	return tosca.Parse(fsys, tosca.Options{Entry: "vnfd.yaml", Names: names})
}

func TestTheSmallVNFDIsValid(t *testing.T) {
	t.Parallel()
	result, err := parse(files(small))
	require.NoError(t, err)
	require.Empty(t, result.Warnings)
	require.Equal(t, "d1", result.VNFD.ID)
	require.Equal(t, "image.img", result.VNFD.Flavour("f").VDU("vdu").Image.File)
}

// broken replaces text that must be in the small VNFD.
func broken(tb testing.TB, old, replacement string) string {
	tb.Helper()
	require.Equal(tb, 1, strings.Count(small, old), "%q", old)
	return strings.Replace(small, old, replacement, 1)
}

func TestDefectiveVNFDsAreRejectedWithPlaceAndReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		old, new string
		more     []string // further files
		reason   tosca.Reason
		file     string
		line     int
		what     string
	}{
		{"no main file", "", "", []string{"vnfd.yaml", ""}, tosca.Syntax, "vnfd.yaml", 0, "empty"},
		{"not YAML", "node_types:\n", "node_types: [\n", nil, tosca.Syntax, "vnfd.yaml", 6, "not YAML"},
		{"not a mapping", small, "- a\n- b\n", nil, tosca.Syntax, "vnfd.yaml", 0, "not a YAML mapping"},
		{"not TOSCA", "tosca_simple_yaml_1_2", "heat_2013", nil, tosca.Syntax, "vnfd.yaml", 1, `"heat_2013"`},
		{
			"two documents", "node_types:\n", "---\nnode_types:\n", nil, tosca.Syntax, "vnfd.yaml", 0,
			"more than one YAML document",
		},
		{
			"a key twice", "        provider: p\n", "        provider: p\n        provider: q\n", nil,
			tosca.DuplicateKey, "vnfd.yaml", 18, `"provider" already exists in line 17`,
		},
		{
			"deep nesting", "inputs: {}", "inputs: {a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}", nil,
			tosca.TooDeep, "vnfd.yaml", 7, "64 levels deep",
		},
		{
			"an alias to itself", "inputs: {}", "inputs: &a {a: *a}", nil, tosca.AliasBomb, "vnfd.yaml", 7,
			"alias to itself",
		},
		{
			"a merge key of text", "inputs: {}", "inputs: {<<: text}", nil, tosca.Syntax, "vnfd.yaml", 7,
			"needs a mapping",
		},

		{
			"an import from the network",
			"https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml",
			"https://example.com/types.yaml", nil, tosca.ImportURL, "vnfd.yaml", 3, `"https://example.com/types.yaml"`,
		},
		{
			"an import from another host that looks like ETSI's", "https://forge.etsi.org/rep",
			"https://forge.etsi.org.example.com/rep", nil, tosca.ImportURL, "vnfd.yaml", 3, "not in the package",
		},
		{
			"an import of a local file by URL", "https://forge.etsi.org/rep", "file:///etc", nil, tosca.ImportURL,
			"vnfd.yaml", 3, "not in the package",
		},
		{
			"an import that is missing", "https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/", "", nil,
			tosca.MissingFile, "vnfd.yaml", 3, `"etsi_nfv_sol001_vnfd_types.yaml" is not in the package`,
		},
		{
			"an import out of the package", "https://forge.etsi.org/rep", "../../other", nil, tosca.ImportOutside,
			"vnfd.yaml", 3, "leads out",
		},
		{
			"an absolute import", "https://forge.etsi.org/rep", "/etc", nil, tosca.ImportOutside, "vnfd.yaml", 3,
			"leads out",
		},
		{
			"an import that is a list", "imports:\n", "imports:\n  - [a]\n", nil, tosca.Syntax, "vnfd.yaml", 3,
			"an import is a list",
		},
		{
			"files that import each other", "imports:\n", "imports:\n  - a.yaml\n",
			[]string{"a.yaml", "imports: [b.yaml]\n", "b.yaml", "a: b\nimports: [a.yaml]\n"},
			tosca.ImportCycle,
			"b.yaml", 2, "a.yaml → b.yaml → a.yaml",
		},
		{
			"a file that imports itself", "imports:\n", "imports:\n  - vnfd.yaml\n", nil, tosca.ImportCycle,
			"vnfd.yaml", 3, "vnfd.yaml → vnfd.yaml",
		},
		{
			"a defect in an imported file", "imports:\n", "imports:\n  - a.yaml\n",
			[]string{"a.yaml", "a: b\na: c\n"},
			tosca.DuplicateKey, "a.yaml", 2, `"a"`,
		},

		{
			"no VNFD", "  substitution_mappings:\n    node_type: my.VNF\n    properties: {flavour_id: f}\n", "  x:\n",
			nil, tosca.NoVNFD, "vnfd.yaml", 0, "declare a deployment flavour",
		},
		{"a flavour without id", "{flavour_id: f}", "{}", nil, tosca.MissingValue, "vnfd.yaml", 9, "no flavour_id"},
		{
			"several VNFDs for a flavour", "imports:\n", "imports:\n  - a.yaml\n",
			[]string{
				"a.yaml",
				"topology_template:\n  substitution_mappings:\n    node_type: my.VNF\n" +
					"    properties: {flavour_id: f}\n",
			},
			tosca.DuplicateFlavour, "a.yaml", 4, `several VNFDs for the flavour "f": vnfd.yaml declares it, too`,
		},
		{
			"two VNFDs in one package", "imports:\n", "imports:\n  - a.yaml\n",
			[]string{
				"a.yaml",
				"topology_template:\n  node_templates:\n    VNF:\n      type: my.VNF\n      properties:\n" +
					"        descriptor_id: d2\n",
			},
			tosca.Conflict, "a.yaml", 6, `"d2" here and "d1"`,
		},
		{
			"no descriptor_id", "        descriptor_id: d1\n", "", nil, tosca.MissingValue, "vnfd.yaml", 13,
			"no descriptor_id",
		},
		{
			"a descriptor_id that is an input without value", "descriptor_id: d1", "descriptor_id: {get_input: id}",
			[]string{},
			tosca.UnknownInput, "vnfd.yaml", 16, `"id"`,
		},
		{
			"a descriptor_id with a control character", "descriptor_id: d1", `descriptor_id: "a\tb"`, nil,
			tosca.BadValue, "vnfd.yaml", 16, "cannot be printed",
		},
		{
			"a blank descriptor_id", "descriptor_id: d1", `descriptor_id: "  "`, nil, tosca.BadValue, "vnfd.yaml", 16,
			"is blank",
		},
		{
			"a long descriptor_id", "descriptor_id: d1", "descriptor_id: " + strings.Repeat("é", 256), nil,
			tosca.BadValue, "vnfd.yaml", 16, "longer than 255 characters",
		},
		{"no provider", "        provider: p\n", "", nil, tosca.MissingValue, "vnfd.yaml", 13, "no provider"},
		{
			"two VNF nodes", "    vdu:\n      type: tosca.nodes.nfv.Vdu.Compute\n",
			"    other: {type: my.VNF}\n    vdu:\n      type: tosca.nodes.nfv.Vdu.Compute\n", nil, tosca.Conflict,
			"vnfd.yaml", 25, "two VNF nodes: VNF and other",
		},

		{
			"an unknown node type", "type: tosca.nodes.nfv.VduCp", "type: my.Port", nil, tosca.UnknownType, "vnfd.yaml",
			38, "my.Port of the node cp",
		},
		{
			"a type derived from nothing known", "{derived_from: tosca.nodes.nfv.VNF}", "{derived_from: your.VNF}", nil,
			tosca.UnknownType, "vnfd.yaml", 5, "your.VNF, which is not defined",
		},
		{
			"a type derived from itself", "{derived_from: tosca.nodes.nfv.VNF}", "{derived_from: my.VNF}", nil,
			tosca.UnknownType, "vnfd.yaml", 5, "derived from itself",
		},
		{
			"an unknown policy type", "tosca.policies.nfv.AntiAffinityRule", "my.Rule", nil, tosca.UnknownType,
			"vnfd.yaml", 65, "my.Rule of the policy anti",
		},
		{
			"a node without type", "    vl: {type: tosca.nodes.nfv.VnfVirtualLink}", "    vl: {}", nil,
			tosca.MissingValue, "vnfd.yaml", 42, "vl has no type",
		},

		{
			"a binding to nothing", "virtual_binding: vdu", "virtual_binding: nope", nil, tosca.UnknownNode,
			"vnfd.yaml", 40, `"nope"`,
		},
		{
			"a binding to a storage", "virtual_binding: vdu", "virtual_binding: disk", nil, tosca.BadValue, "vnfd.yaml",
			40, "VirtualBlockStorage",
		},
		{
			"a port without VDU", "        - virtual_binding: vdu\n", "", nil, tosca.MissingValue, "vnfd.yaml", 37,
			"belongs to no VDU",
		},
		{
			"a link that is not there", "virtual_link: vl", "virtual_link: nope", nil, tosca.UnknownNode, "vnfd.yaml",
			41,
			`"nope"`,
		},
		{
			"a storage that is not there", "virtual_storage: disk", "virtual_storage: nope", nil, tosca.UnknownNode,
			"vnfd.yaml", 33, `"nope"`,
		},

		{
			"an artifact that is missing", "file: run.py", "file: gone.py", nil, tosca.MissingArtifact, "vnfd.yaml", 24,
			`"gone.py" of the artifact driver is not in the package`,
		},
		{
			"an implementation that is a list", "implementation: driver", "implementation: [a, b]", nil, tosca.BadValue,
			"vnfd.yaml", 22, "a list",
		},
		{"two images", "        sw_image: {", "        other: {type: tosca.artifacts.nfv.SwImage, file: image.img}\n" +
			"        sw_image: {", nil, tosca.DuplicateImage, "vnfd.yaml", 32, "other and sw_image"},
		{
			"an image without data", "        sw_image_data: {name: image, min_disk: 0 GB, size: 1 GB}\n", "", nil,
			tosca.MissingValue, "vnfd.yaml", 25, "no sw_image_data",
		},
		{
			"an image without name", "{name: image, min_disk", "{min_disk", nil, tosca.MissingValue, "vnfd.yaml", 29,
			"no name",
		},

		{
			"a size that is none", "size: 1 GB}\n      artifacts", "size: 1 PB}\n      artifacts", nil, tosca.BadValue,
			"vnfd.yaml", 29, `"1 PB" is not a size`,
		},
		{
			"a number that is none", "max_number_of_instances: 9", "max_number_of_instances: nine", nil, tosca.BadValue,
			"vnfd.yaml", 28, `"nine", not a whole number`,
		},
		{
			"a negative number", "min_number_of_instances: 1", "min_number_of_instances: -1", nil, tosca.BadValue,
			"vnfd.yaml", 28, "-1, allowed is 0",
		},
		{
			"a minimum above the maximum", "min_number_of_instances: 1", "min_number_of_instances: 10", nil,
			tosca.BadValue, "vnfd.yaml", 28, "min_number_of_instances 10",
		},

		{
			"an unknown scaling aspect in a policy", "{aspect: aspect,", "{aspect: nope,", nil, tosca.UnknownAspect,
			"vnfd.yaml", 55, `the policy deltas is for the scaling aspect "nope"`,
		},
		{
			"a policy without aspect", "{aspect: aspect, deltas", "{deltas", nil, tosca.MissingValue, "vnfd.yaml", 53,
			"has no aspect",
		},
		{
			"an unknown scaling aspect in a level", "one: {scale_info: {aspect:", "one: {scale_info: {nope:", nil,
			tosca.UnknownAspect, "vnfd.yaml", 59, `the instantiation level "one" has the scaling aspect "nope"`,
		},
		{
			"an unknown VDU in a policy", "number_of_instances: 1}}}\n        targets: [vdu]",
			"number_of_instances: 1}}}\n        targets: [nope]", nil, tosca.UnknownNode, "vnfd.yaml", 56,
			`the policy deltas targets the VDU "nope"`,
		},
		{
			"an unknown delta", "deltas: {delta:", "deltas: {other: {number_of_instances: 1}, delta:", nil,
			tosca.UnknownDelta, "vnfd.yaml", 55, `the delta "other"`,
		},
		{"deltas without an order", ", step_deltas: [delta]", "", []string{}, "", "", 0, ""}, // one delta needs none
		{
			"more deltas than steps", "step_deltas: [delta]", "step_deltas: [delta, delta, delta]", nil, tosca.BadValue,
			"vnfd.yaml", 48, "3 step_deltas for 2 steps",
		},
		{
			"an aspect without steps", "max_scale_level: 2, ", "", nil, tosca.MissingValue, "vnfd.yaml", 48,
			"no max_scale_level",
		},
		{
			"an aspect with endless steps", "max_scale_level: 2", "max_scale_level: 2000000000", nil, tosca.BadValue,
			"vnfd.yaml", 48, "allowed is 0 to 1000",
		},
		{
			"an unknown level in a policy", "{levels: {one: {number_of_instances: 1}",
			"{levels: {nope: {number_of_instances: 1}", nil, tosca.UnknownLevel, "vnfd.yaml", 62,
			`the policy vdulevels has the instantiation level "nope"`,
		},
		{
			"levels of VDUs without levels", "tosca.policies.nfv.InstantiationLevels",
			"tosca.policies.nfv.VnfIndicator", nil, tosca.UnknownLevel, "vnfd.yaml", 62, `"one", which is not declared`,
		},
		{
			"an unknown default level", "default_level: one", "default_level: nope", nil, tosca.UnknownLevel,
			"vnfd.yaml", 59, `the default_level "nope"`,
		},
		{
			"a scale level beyond the aspect's", "{scale_level: 2}", "{scale_level: 3}", nil, tosca.BadValue,
			"vnfd.yaml", 59, "scale_level is 3, allowed is 0 to 2",
		},
		{
			"an unknown placement target", "targets: [group]", "targets: [nope]", nil, tosca.UnknownNode, "vnfd.yaml",
			67,
			`"nope"`,
		},
		{
			"an unknown group member", "members: [vdu]", "members: [nope]", nil, tosca.UnknownNode, "vnfd.yaml", 44,
			`"nope"`,
		},
		{"an unknown scope", "scope: nfvi_node", "scope: planet", nil, tosca.BadValue, "vnfd.yaml", 66, `"planet"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := small
			if tc.old != "" {
				text = broken(t, tc.old, tc.new)
			}
			_, err := parse(files(text, tc.more...))
			if tc.reason == "" {
				require.NoError(t, err)
				return
			}
			var e *tosca.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.reason, e.Reason, err.Error())
			require.Equal(t, tc.file, e.File, err.Error())
			require.Equal(t, tc.line, e.Line, err.Error())
			require.Contains(t, e.What, tc.what)
		})
	}
}

func TestAllDefectsAreReportedAtOnceInTheirOrder(t *testing.T) {
	t.Parallel()
	text := broken(t, "virtual_binding: vdu", "virtual_binding: nope")
	text = strings.Replace(text, "file: run.py", "file: gone.py", 1)
	text = strings.Replace(text, "default_level: one", "default_level: nope", 1)
	_, err := parse(files(text))
	var all tosca.Errors
	require.ErrorAs(t, err, &all)
	require.Len(t, all, 3)
	require.Equal(t, []int{24, 40, 59}, []int{all[0].Line, all[1].Line, all[2].Line})
}

func TestMachineFaultsAreNotBlamedOnTheVNFD(t *testing.T) {
	t.Parallel()
	_, err := parse(faulty{files(small)})
	var e *tosca.Error
	require.ErrorIs(t, err, errDisk)
	require.NotErrorAs(t, err, &e)
}

var errDisk = errors.New("disk fell off")

// faulty cannot open the artifact.
type faulty struct{ fs.FS }

func (f faulty) Open(name string) (fs.File, error) {
	if name == "run.py" {
		return nil, errDisk
	}
	return f.FS.Open(name)
}

// processorTime is what the process has used; unlike the time of day it does not depend on other processes. Tests that
// compare it must not be parallel.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestHostileYAMLIsRefusedCheaply(t *testing.T) {
	bomb := func(levels, width int) string {
		var b strings.Builder
		b.WriteString("a0: &a0 [x]\n")
		for i := 1; i <= levels; i++ {
			fmt.Fprintf(
				&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), width), ","),
			)
		}
		return b.String()
	}
	merges := func(levels int) string {
		var b strings.Builder
		b.WriteString("a0: &a0 {x0: y}\n")
		for i := 1; i <= levels; i++ {
			fmt.Fprintf(&b, "a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
		}
		return b.String()
	}
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("a0: &a0 [x]\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(&b, "a%d: &a%d [*a%d]\n", i, i, i-1)
		}
		return b.String()
	}
	for name, tc := range map[string]struct {
		text   string
		reason tosca.Reason
	}{
		"alias bomb":         {bomb(40, 10), tosca.AliasBomb},
		"merge bomb":         {merges(60), tosca.AliasBomb},
		"aliases that nest":  {chain(10_000), tosca.TooDeep},
		"long flow sequence": {"a: [" + strings.Repeat("a,", 2<<20) + "]", tosca.TooLarge},
		"many short lines":   {strings.Repeat("- a\n", 1<<20), tosca.TooLarge},
		"many nested items": {
			strings.Repeat("- - - - - - - - - - - - - - - - - - - - a\n", 90_000), tosca.TooLarge,
		},
		"many anchors":             {"[" + strings.Repeat("&a a,", 800_000) + "a]", tosca.TooLarge},
		"many quotes":              {strings.Repeat("\"", 4<<20), tosca.TooLarge},
		"brackets without end":     {strings.Repeat("[", 100_000), tosca.TooDeep},
		"over the size limit":      {strings.Repeat("x", 4<<20+1), tosca.TooLarge},
		"types derived in a chain": {"node_types:\n" + derived(40_000), tosca.UnknownType},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := processorTime(t)
			_, err := parse(files(tc.text))
			took := processorTime(t) - start
			runtime.ReadMemStats(&after)
			var e *tosca.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.reason, e.Reason, e.Error())
			require.Less(t, took, 5*time.Second)
			require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(400), "MB allocated")
		})
	}
}

// Files that are small enough one by one are refused when they are too large together.
func TestManyLargeFilesAreRefused(t *testing.T) {
	t.Parallel()
	var imports strings.Builder
	imports.WriteString("imports:\n")
	var extra []string
	for i := range 5 {
		name := fmt.Sprintf("large%d.yaml", i)
		imports.WriteString("  - " + name + "\n")
		extra = append(extra, name, "metadata: {text: "+strings.Repeat("x", 3<<20+800<<10)+"}\n")
	}
	_, err := parse(files(broken(t, "imports:\n", imports.String()), extra...))
	var e *tosca.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, tosca.TooLarge, e.Reason, e.Error())
	require.Equal(t, "large4.yaml", e.File)
	require.Contains(t, e.What, "larger than 16777216 bytes together")
}

func TestFewLinesCannotMakeAnEnormousModel(t *testing.T) {
	t.Parallel()
	var vdus, aspects, names strings.Builder
	for i := range 150 {
		fmt.Fprintf(&vdus, "    v%d: {type: tosca.nodes.nfv.Vdu.Compute}\n", i)
		fmt.Fprintf(&names, "v%d, ", i)
	}
	var deltas strings.Builder
	for i := range 50 {
		fmt.Fprintf(&aspects, "a%d: {max_scale_level: 1000, step_deltas: [delta]}, ", i)
		fmt.Fprintf(
			&deltas,
			"    - d%d: {type: tosca.policies.nfv.VduScalingAspectDeltas, properties: {aspect: a%d, deltas: {delta: "+
				"{number_of_instances: 1}}}, targets: [%s]}\n",
			i, i, names.String(),
		)
	}
	text := broken(t, "    disk:\n", vdus.String()+"    disk:\n")
	text = strings.Replace(text, "{aspects: {", "{aspects: {"+aspects.String(), 1) + deltas.String()
	_, err := parse(files(text))
	var e *tosca.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, tosca.TooLarge, e.Reason, e.Error())
	require.Contains(t, e.What, "too many steps")
}

func derived(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  t%d: {derived_from: t%d}\n", i, i+1)
	}
	return b.String()
}
