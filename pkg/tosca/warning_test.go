package tosca_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// A defect that only some operations meet does not make the package unusable for the others.
func TestDefectsOfSomeOperationsAreWarnings(t *testing.T) {
	t.Parallel()
	creating := []string{"INSTANTIATE", "SCALE", "SCALE_TO_LEVEL", "HEAL", "CHANGE_FLAVOUR", "CHANGE_VNFPKG"}
	for name, tc := range map[string]struct {
		old, new string
		want     vnfd.Warning
		check    func(t *testing.T, f *vnfd.Flavour)
	}{
		"an external link to nothing": {
			"[cp, virtual_link]", "[nope, virtual_link]",
			vnfd.Warning{
				Code: "unknown_node", Subject: "nope",
				Location: "vnfd.yaml#/topology_template/substitution_mappings/requirements/ext/0",
				Text: `vnfd.yaml:11: the requirement ext of substitution_mappings names "nope", which is not ` +
					`declared`,
				Operations: []string{"INSTANTIATE", "CHANGE_FLAVOUR", "CHANGE_EXT_CONN", "CHANGE_VNFPKG"},
			},
			nil,
		},
		"several levels and no default": {
			", default_level: one", "",
			vnfd.Warning{
				Code: "no_default_level", Subject: "f", Location: "vnfd.yaml#/topology_template/policies/3/levels",
				Text:       `vnfd.yaml:57: the flavour "f" has 2 instantiation levels, but no default_level`,
				Operations: []string{"INSTANTIATE", "CHANGE_FLAVOUR", "CHANGE_VNFPKG"},
			},
			func(t *testing.T, f *vnfd.Flavour) {
				t.Helper()
				_, ok := f.Counts("")
				require.False(t, ok)
				counts, ok := f.Counts("two")
				require.True(t, ok)
				require.Equal(t, map[string]int{"vdu": 3}, counts)
			},
		},
		"a step with an undefined delta": {
			"step_deltas: [delta]", "step_deltas: [delta, other]",
			vnfd.Warning{
				Code: "unknown_delta", Subject: "aspect",
				Location: "vnfd.yaml#/topology_template/policies/0/aspects/properties/aspects/aspect/step_deltas/1",
				Text: `vnfd.yaml:48: no policy VduScalingAspectDeltas defines the delta "other" of the scaling ` +
					`aspect "aspect"`,
				Operations: []string{"SCALE", "SCALE_TO_LEVEL"},
			},
			func(t *testing.T, f *vnfd.Flavour) {
				t.Helper()
				require.Equal(t, []map[string]int{{"vdu": 1}, {}}, f.Aspect("aspect").Steps)
				require.Equal(t, map[string]int{"vdu": 3}, f.Level("two").VDUs, "as VduInstantiationLevels say")
				require.Nil(t, f.Warning(vnfd.UnknownCounts, "two"))
			},
		},
		"an aspect without deltas": {
			"tosca.policies.nfv.VduScalingAspectDeltas", "tosca.policies.nfv.VnfIndicator",
			vnfd.Warning{}, // another policy has the aspect
			func(t *testing.T, f *vnfd.Flavour) { t.Helper(); require.Empty(t, f.Warnings) },
		},
		"an aspect that no policy knows": {
			"type: tosca.policies.nfv.VduScalingAspectDeltas\n        properties: {aspect: aspect, deltas: {delta: " +
				"{number_of_instances: 1}}}", "type: tosca.policies.nfv.VnfIndicator",
			vnfd.Warning{
				Code: "unknown_delta", Subject: "aspect",
				Location: "vnfd.yaml#/topology_template/policies/0/aspects/properties/aspects/aspect/step_deltas/0",
				Text: `vnfd.yaml:48: no policy VduScalingAspectDeltas defines the delta "delta" of the scaling ` +
					`aspect "aspect"`,
				Operations: []string{"SCALE", "SCALE_TO_LEVEL"},
			},
			nil,
		},
		"a level with one more aspect": {
			"one: {scale_info: {aspect: {scale_level: 0}}}", "one: {scale_info: {aspect: {scale_level: 0}, gone: " +
				"{scale_level: 1}}}",
			vnfd.Warning{
				Code:     "unknown_scaling_aspect",
				Location: "vnfd.yaml#/topology_template/policies/3/levels/properties/levels/one/scale_info/gone",
				Text: `vnfd.yaml:59: the instantiation level "one" has the scaling aspect "gone", which is not ` +
					`declared`,
			},
			func(t *testing.T, f *vnfd.Flavour) {
				t.Helper()
				require.Equal(t, map[string]int{"aspect": 0}, f.Level("one").ScaleLevels)
				require.Equal(t, map[string]int{"vdu": 1}, f.Level("one").VDUs)
			},
		},
		"numbers of one more level": {
			"{levels: {one: {number_of_instances: 1}", "{levels: {gone: {number_of_instances: 1}, one: " +
				"{number_of_instances: 1}",
			vnfd.Warning{
				Code:     "unknown_instantiation_level",
				Location: "vnfd.yaml#/topology_template/policies/4/vdulevels/properties/levels/gone",
				Text:     `vnfd.yaml:62: the policy vdulevels has the instantiation level "gone", which is not declared`,
			},
			func(t *testing.T, f *vnfd.Flavour) { t.Helper(); require.Nil(t, f.Level("gone")) },
		},
		"a script on the network": {
			"file: run.py", "file: 'http://ann:s3cret@10.0.0.1/run.py'",
			vnfd.Warning{
				Code: "missing_artifact", Subject: "driver",
				Location:   "vnfd.yaml#/topology_template/node_templates/VNF/artifacts/driver/file",
				Text:       `vnfd.yaml:24: the artifact driver is at "http://10.0.0.1/run.py", outside of the package`,
				Operations: []string{"INSTANTIATE"},
			},
			func(t *testing.T, f *vnfd.Flavour) {
				t.Helper()
				require.Empty(t, f.LCM["instantiate_end"].File)
				require.Contains(t, f.LCM["instantiate_end"].Defect, "outside of the package")
			},
		},
		"a script of two operations": {
			"{instantiate_end: {implementation: driver}}\n      artifacts:\n        driver: " +
				"{type: tosca.artifacts.Implementation.Python, file: run.py}",
			"{heal_end: driver, heal_start: driver, scale_end: driver}\n      artifacts: {driver: ../../run.py}",
			vnfd.Warning{
				Code: "missing_artifact", Subject: "driver",
				Location:   "vnfd.yaml#/topology_template/node_templates/VNF/artifacts/driver",
				Text:       `vnfd.yaml:23: the file "../../run.py" of the artifact driver leads out of the package`,
				Operations: []string{"HEAL", "SCALE"},
			},
			nil,
		},
		"a script of this machine": {
			"file: run.py", "file: /etc/passwd",
			vnfd.Warning{
				Code: "missing_artifact", Subject: "driver",
				Location:   "vnfd.yaml#/topology_template/node_templates/VNF/artifacts/driver/file",
				Text:       `vnfd.yaml:24: the file "/etc/passwd" of the artifact driver leads out of the package`,
				Operations: []string{"INSTANTIATE"},
			},
			func(t *testing.T, f *vnfd.Flavour) { t.Helper(); require.Empty(t, f.LCM["instantiate_end"].File) },
		},
		"a script that nothing runs": {
			"{instantiate_end: {implementation: driver}}\n      artifacts:\n        driver: " +
				"{type: tosca.artifacts.Implementation.Python, file: run.py}",
			"{}\n      artifacts: {driver: ../../run.py}",
			vnfd.Warning{
				Code:     "missing_artifact",
				Location: "vnfd.yaml#/topology_template/node_templates/VNF/artifacts/driver",
				Text:     `vnfd.yaml:23: the file "../../run.py" of the artifact driver leads out of the package`,
			},
			nil,
		},
		"an image on the network": {
			"file: image.img", "file: 'https://images.example.com/image.img'",
			vnfd.Warning{
				Code: "missing_artifact", Subject: "vdu",
				Location: "vnfd.yaml#/topology_template/node_templates/vdu/artifacts/sw_image/file",
				Text: `vnfd.yaml:31: the artifact sw_image is at "https://images.example.com/image.img", outside of ` +
					`the package`,
				Operations: creating,
			},
			func(t *testing.T, f *vnfd.Flavour) {
				t.Helper()
				require.Empty(t, f.VDU("vdu").Image.File, "the VIM must have it")
				require.Equal(t, "https://images.example.com/image.img", f.VDU("vdu").Image.URI)
				require.Contains(t, f.Warnings[0].Remedy, "create an image with the name image in the VIM")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, result := flavour(t, broken(t, tc.old, tc.new))
			if tc.check != nil {
				tc.check(t, f)
			}
			if tc.want.Code == "" {
				return
			}
			require.Len(t, result.Warnings, 1)
			got := result.Warnings[0]
			require.NotEmpty(t, got.Remedy)
			tc.want.Remedy = got.Remedy
			if tc.want.Subject != "" {
				tc.want.FlavourID = "f"
				require.Equal(t, []vnfd.Warning{tc.want}, f.Warnings)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// The addresses of artifacts on other servers are known, without credentials; those of images are the images'.
func TestAddressesOfArtifactsOnOtherServers(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]string{
		"http://ann:s3cret@10.0.0.1/run.py":     {"http://10.0.0.1/run.py"},
		"docker://registry.example.com/image":   {"docker://registry.example.com/image"},
		"http:///run.py":                        nil,
		"http://[::1/run.py":                    nil,
		"http://a/" + strings.Repeat("b", 2048): nil,
		"../../run.py":                          nil,
	} {
		_, result := flavour(t, broken(t, "file: run.py", "file: '"+file+"'"))
		require.Equal(t, want, result.External, file)
		require.Len(t, result.Warnings, 1, file)
	}
	_, result := flavour(t, broken(t, "file: image.img", "file: 'https://images.example.com/image.img'"))
	require.Empty(t, result.External)
}

// The numbers of a level that depends on a missing delta are not known, unless VduInstantiationLevels states them.
func TestLevelsThatNeedAMissingDeltaHaveNoNumbers(t *testing.T) {
	t.Parallel()
	text := broken(t, "step_deltas: [delta]", "step_deltas: [delta, other]")
	text = strings.Replace(text, "tosca.policies.nfv.VduInstantiationLevels", "tosca.policies.nfv.VnfIndicator", 1)
	f, _ := flavour(t, text)
	require.NotNil(t, f.Warning(vnfd.UnknownCounts, "two"))
	require.Contains(t, f.Warning(vnfd.UnknownCounts, "two").Text, `instantiation level "two" of the flavour "f"`)
	require.Nil(t, f.Warning(vnfd.UnknownCounts, "one"), "it needs no step")

	// So for a level that depends on an aspect which is not declared, with steps of it.
	text = broken(t, "one: {scale_info: {aspect: {scale_level: 0}}}",
		"one: {scale_info: {aspect: {scale_level: 0}, gone: {scale_level: 1}}}")
	text = strings.Replace(text, "tosca.policies.nfv.VduInstantiationLevels", "tosca.policies.nfv.VnfIndicator", 1)
	f, _ = flavour(t, text)
	require.Contains(t, f.Warning(vnfd.UnknownCounts, "one").Text, `the scaling aspect "gone" is not declared`)
	f, _ = flavour(t, strings.Replace(text, "gone: {scale_level: 1}", "gone: {scale_level: 0}", 1))
	require.Nil(t, f.Warning(vnfd.UnknownCounts, "one"))
}

// another is a flavour file of the small VNFD.
func another(id string) string {
	return strings.Replace(small, "{flavour_id: f}", "{flavour_id: "+id+"}", 1)
}

// types is the type that flavour files share.
const types = "node_types:\n  my.VNF: {derived_from: tosca.nodes.nfv.VNF}\n"

// withoutTypes is a flavour file that takes its type from the main file.
func withoutTypes(id string) string { return strings.Replace(another(id), types, "", 1) }

func TestFlavoursThatNothingImportsAreFound(t *testing.T) {
	t.Parallel()
	_, topology, _ := strings.Cut(withoutTypes("c"), "yaml\n") // without its imports
	fsys := fstest.MapFS{
		"Definitions/top.yaml":       {Data: []byte("imports: [df_a.yaml]\n" + types)},
		"Definitions/df_a.yaml":      {Data: []byte(withoutTypes("a"))},
		"Definitions/df_b.yml":       {Data: []byte(withoutTypes("b"))},
		"Definitions/df_c.yaml":      {Data: []byte("imports: [more.yaml]\n" + topology)},
		"Definitions/more.yaml":      {Data: []byte("data_types: {}\n")},
		"Definitions/notes.yaml":     {Data: []byte("text: nothing that a VNFD has\n")},
		"Definitions/other/df.yaml":  {Data: []byte(withoutTypes("deep"))},
		"BaseHOT/a/df.yaml":          {Data: []byte(withoutTypes("hot"))},
		"Definitions/df_d.yaml.orig": {Data: []byte(withoutTypes("d"))},
		"Definitions/run.py":         {}, "Definitions/image.img": {},
	}
	result, err := parseIn(fsys, "Definitions/top.yaml")
	require.NoError(t, err)
	require.Empty(t, result.Warnings)
	require.Equal(t, []string{"a", "b", "c"}, flavourIDs(result))
	require.Equal(t, []string{
		"Definitions/top.yaml", "Definitions/df_a.yaml", "Definitions/df_b.yml", "Definitions/df_c.yaml",
		"Definitions/more.yaml",
	}, result.Files)

	// Beside a main file in the root, too.
	fsys["top.yaml"] = &fstest.MapFile{Data: []byte(types)}
	delete(fsys, "Definitions/top.yaml")
	result, err = parseIn(fsys, "top.yaml")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, flavourIDs(result))
}

func parseIn(fsys fstest.MapFS, entry string) (*tosca.Result, error) {
	var names []string
	for name := range fsys {
		names = append(names, name)
	}
	return tosca.Parse(fsys, tosca.Options{Entry: entry, Names: names})
}

func flavourIDs(r *tosca.Result) []string {
	var ids []string
	for _, f := range r.VNFD.Flavours {
		ids = append(ids, f.ID)
	}
	return ids
}

// Files that nothing imports did not matter before. With defects they do not make the package unusable.
func TestDefectiveFlavoursThatNothingImportsAreIgnored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ file, subject, text string }{
		"not YAML":        {"substitution_mappings: [", "", "not YAML"},
		"a copy":          {withoutTypes("f"), "f", "several VNFDs for the flavour"},
		"another VNF":     {strings.Replace(withoutTypes("g"), "descriptor_id: d1", "descriptor_id: d2", 1), "g", `"d2" here`},
		"an unknown type": {strings.Replace(withoutTypes("g"), "tosca.nodes.nfv.VduCp", "your.Cp", 1), "g", "your.Cp"},
		"a missing file":  {strings.Replace(withoutTypes("g"), "run.py", "gone.py", 1), "g", "gone.py"},
		"a missing input": {
			strings.Replace(withoutTypes("g"), "provider: p", "product_info_name: {get_input: gone}", 1), "g", `"gone"`,
		},
		"a bad import":   {"imports: [gone.yaml]\n" + types + "substitution_mappings: {}\n", "", `"gone.yaml"`},
		"the same types": {types + "substitution_mappings: {}\n", "", "my.VNF is defined in vnfd.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := parse(files(small, "df_more.yaml", tc.file, "df_good.yaml", withoutTypes("good")))
			require.NoError(t, err)
			require.Equal(t, []string{"f", "good"}, flavourIDs(result))
			require.NotContains(t, result.Files, "df_more.yaml")
			require.Len(t, result.VNFD.Warnings, 1)
			w := result.VNFD.Warnings[0]
			require.Equal(t, w, result.Warnings[0])
			require.Equal(t, "unusable_flavour", w.Code)
			require.Equal(t, tc.subject, w.Subject)
			require.Contains(t, w.Location, "df_more.yaml")
			require.Contains(t, w.Text, "df_more.yaml declares a flavour, but nothing imports it, and it is ignored: ")
			require.Contains(t, w.Text, tc.text)
			require.Equal(t, []string{"INSTANTIATE", "CHANGE_FLAVOUR"}, w.Operations)
		})
	}
}

// If no flavour is left, the defects of the ignored files are the reason.
func TestDefectsOfTheOnlyFlavourAreReported(t *testing.T) {
	t.Parallel()
	_, err := parse(files(types, "df.yaml", strings.Replace(withoutTypes("g"), "run.py", "gone.py", 1)))
	var e *tosca.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, tosca.MissingArtifact, e.Reason)
	require.Equal(t, "df.yaml", e.File)

	_, err = parse(files(broken(t, "run.py", "gone.py"), "df.yaml", "substitution_mappings: ["))
	require.ErrorAs(t, err, &e)
	require.Equal(t, "vnfd.yaml", e.File, "not those of a file that is ignored: %s", err)
}

// A descriptor is read a few times at most, however many files have defects.
func TestManyDefectiveFlavoursAreIgnoredTogether(t *testing.T) {
	t.Parallel()
	var more []string
	for i := range 60 {
		id := fmt.Sprintf("g%02d", i)
		more = append(more, "df_"+id+".yaml", strings.Replace(withoutTypes(id), "run.py", "gone.py", 1))
	}
	result, err := parse(files(small, more...))
	require.NoError(t, err)
	require.Equal(t, []string{"f"}, flavourIDs(result))
	require.Len(t, result.VNFD.Warnings, 60)
	require.True(t, slices.ContainsFunc(result.VNFD.Warnings, func(w vnfd.Warning) bool {
		return w.Subject == "g59" && strings.Contains(w.Text, "too many such files have defects")
	}))
}
