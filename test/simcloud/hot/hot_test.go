package hot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixed is a scope of constants.
type fixed struct {
	params, refs map[string]any
	attrs        map[string]map[string]any
	files        map[string]string
	conditions   map[string]bool
}

func (f fixed) Param(name string) (any, bool)       { v, ok := f.params[name]; return v, ok }
func (f fixed) Ref(name string) (any, error)        { return f.refs[name], nil }
func (f fixed) File(name string) (string, bool)     { v, ok := f.files[name]; return v, ok }
func (f fixed) Condition(name string) (bool, error) { return f.conditions[name], nil }

func (f fixed) Attr(r, attr string, path []any) (any, []any, error) {
	v, ok := f.attrs[r][attr]
	if !ok {
		return nil, nil, errf("InvalidTemplateAttribute", "no %s", attr)
	}
	return v, path, nil
}

var world = fixed{
	params: map[string]any{
		"nfv": map[string]any{
			"VDU":  map[string]any{"w-0": map[string]any{"flavor": "m1.tiny", "n": 3}},
			"list": []any{"a", map[string]any{"b": true}},
		},
		"name": "x", "idx": 1, "yes": true, "zones": []any{"z1", "z2"},
	},
	refs:       map[string]any{"port": "id-1"},
	attrs:      map[string]map[string]any{"port": {"fixed_ips": []any{map[string]any{"ip_address": "10.0.0.4"}}}},
	files:      map[string]string{"run.sh": "#!/bin/sh"},
	conditions: map[string]bool{"on": true},
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		`{get_param: name}`:                             "x",
		`{get_param: [nfv, VDU, w-0, flavor]}`:          "m1.tiny",
		`{get_param: [nfv, VDU, w-0, n]}`:               3,
		`{get_param: [nfv, list, {get_param: idx}, b]}`: true,
		`{get_param: [nfv, VDU, w-9, flavor]}`:          "",
		`{get_param: [zones, -1]}`:                      "z2",
		`{get_resource: port}`:                          "id-1",
		`{get_attr: [port, fixed_ips, 0, ip_address]}`:  "10.0.0.4",
		`{get_attr: [port, fixed_ips, 7, ip_address]}`:  nil,
		`{get_file: run.sh}`:                            "#!/bin/sh",
		`{str_replace: {template: "$a-$ab $c", params: {$a: 1, $ab: {get_param: name}, $c: {x: [1]}}}}`: `1-x {"x":[1]}`,
		`{list_join: [",", [a, 1, true], {get_param: zones}]}`:                                          "a,1,True,z1,z2",
		`{str_split: [",", "a,b"]}`:                               []any{"a", "b"},
		`{str_split: [",", "a,b", 1]}`:                            "b",
		`{map_merge: [{a: 1, b: 1}, {b: 2}]}`:                     map[string]any{"a": 1, "b": 2},
		`{map_replace: [{k: v}, {keys: {k: K}, values: {v: V}}]}`: map[string]any{"K": "V"},
		`{list_concat: [[1], [1, 2]]}`:                            []any{1, 1, 2},
		`{list_concat_unique: [[1], [1, 2]]}`:                     []any{1, 2},
		`{repeat: {for_each: {<%z%>: {get_param: zones}}, template: {zone: <%z%>, n: "n-<%z%>"}}}`: []any{
			map[string]any{"zone": "z1", "n": "n-z1"}, map[string]any{"zone": "z2", "n": "n-z2"},
		},
		`{repeat: {for_each: {A: [1, 2], B: [x, y]}, template: "A-B", permutations: false}}`: []any{"1-x", "2-y"},
		`{repeat: {for_each: {A: [1, 2], B: [x, y]}, template: "A-B"}}`: []any{
			"1-x", "1-y", "2-x", "2-y",
		},
		`{digest: [md5, a]}`:        "0cc175b9c0f1b6a831c399e269772661",
		`{if: [on, 1, 2]}`:          1,
		`{if: [{not: on}, 1, 2]}`:   2,
		`{a: {if: [off, 1]}, b: 2}`: map[string]any{"b": 2},
		`{if: [{and: [on, {equals: [{get_param: name}, x]}]}, yes, no]}`:  "yes",
		`{if: [{or: [off, {contains: [z2, {get_param: zones}]}]}, 1, 2]}`: 1,
		`{a: {get_param: name}, b: [{get_resource: port}]}`:               map[string]any{"a": "x", "b": []any{"id-1"}},
		`{get_param: name, other: 1}`: map[string]any{
			"get_param": "name", "other": 1,
		},
		`2013-05-23`: "2013-05-23",
		`0x10`:       16,
	} {
		v, err := ParseYAML(text)
		require.NoError(t, err, text)
		got, err := Resolve(v, world)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestFunctionsRefuse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{get_param: nope}`:                                   "The Parameter (nope) was not provided.",
		`{get_file: nope}`:                                    "No content found",
		`{get_attr: [port]}`:                                  "must be of the form",
		`{str_replace: {template: x}}`:                        "str_replace",
		`{str_replace_strict: {template: x, params: {y: 1}}}`: "were not found in the template: y",
		`{list_join: [","]}`:                                  "list_join",
		`{list_join: [",", {a: 1}]}`:                          "should be a list of strings",
		`{str_split: [",", a, 5]}`:                            "Incorrect index",
		`{repeat: {template: x}}`:                             "repeat",
		`{repeat: {for_each: {A: [1], B: [1, 2]}, template: x, permutations: false}}`: "same length",
		`{if: [on]}`:         "must be of the form",
		`{digest: [crc, a]}`: "Algorithm must be one of",
		`{equals: [1, 1]}`:   "conditions only",
	} {
		v, err := ParseYAML(text)
		require.NoError(t, err, text)
		_, err = Resolve(v, world)
		require.ErrorContains(t, err, want, text)
	}
}

func TestResolveLeavesTheTemplateAlone(t *testing.T) {
	t.Parallel()
	v, err := ParseYAML(`{get_param: nfv}`)
	require.NoError(t, err)
	got, err := Resolve(v, world)
	require.NoError(t, err)
	got.(map[string]any)["VDU"] = "gone"
	require.IsType(t, map[string]any{}, world.params["nfv"].(map[string]any)["VDU"])
}

func TestParameterTypes(t *testing.T) {
	t.Parallel()
	tmpl, err := Parse(`
heat_template_version: 2016-10-14
parameters:
  s: {type: string, default: d}
  n: {type: number, default: 1}
  j: {type: json, default: {}}
  b: {type: boolean, default: false}
  l: {type: comma_delimited_list, default: ""}
`)
	require.NoError(t, err)
	got, err := tmpl.Values(map[string]any{"s": 5, "n": "2.5", "j": `{"a": [1]}`, "b": "yes", "l": "a, b"},
		map[string]any{"s": "ignored"}, true, nil)
	require.NoError(t, err)
	require.Equal(
		t, map[string]any{"s": "5", "n": 2.5, "j": map[string]any{"a": []any{1}}, "b": true, "l": []any{"a", "b"}}, got,
	)
	require.JSONEq(t, `{"a":[1]}`, tmpl.Parameters["j"].Show(got["j"]))
	require.Equal(t, "a,b", tmpl.Parameters["l"].Show(got["l"]))
	require.Equal(t, "True", tmpl.Parameters["b"].Show(true))
	got, err = tmpl.Values(nil, map[string]any{"s": "e"}, true, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"s": "e", "n": 1, "j": map[string]any{}, "b": false, "l": []any{}}, got)
	for name, bad := range map[string]any{"s": []any{}, "n": "x", "j": "{", "b": "maybe", "l": 3} {
		_, err := tmpl.Values(map[string]any{name: bad}, nil, true, nil)
		require.ErrorContains(t, err, "Parameter '"+name+"' is invalid: ")
	}
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	for constraint, want := range map[string]string{
		`{allowed_values: [a, b]}`:                  `"abc" is not an allowed value ["a","b"]`,
		`{allowed_pattern: "[0-9]+"}`:               `"abc" does not match pattern "[0-9]+"`,
		`{length: {max: 2}}`:                        `"abc" length (3) is out of range (min: None, max: 2)`,
		`{length: {max: 2}, description: too much}`: "too much",
		`{custom_constraint: nova.flavor}`:          "no such flavor",
		`{range: {min: 1}}`:                         "",
		`{allowed_pattern: "[a-c]+"}`:               "",
	} {
		tmpl, err := Parse(
			"heat_template_version: rocky\nparameters: {p: {type: string, constraints: [" + constraint + "]}}",
		)
		require.NoError(t, err)
		_, err = tmpl.Values(
			map[string]any{"p": "abc"}, nil, true, func(string, any) error { return errf("X", "no such flavor") },
		)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "Parameter 'p' is invalid: "+want)
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	tmpl, err := Parse(`
heat_template_version: rocky
resources:
  a: {type: T, properties: {x: {get_attr: [c, y]}}}
  b: {type: T, depends_on: [a]}
  c: {type: T, properties: {l: [{str_replace: {template: x, params: {x: {get_resource: d}}}}]}}
  d: {type: T}
`)
	require.NoError(t, err)
	order, err := Order(tmpl.Resources)
	require.NoError(t, err)
	require.Equal(t, []string{"d", "c", "a", "b"}, order)
	require.Equal(t, []string{"c"}, tmpl.Resources["a"].Requires())
}

func TestAliasesCannotBlowUp(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("heat_template_version: rocky\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(
			"*a"+string(rune('0'+i-1))+", ", 10,
		) + "]\n")
	}
	_, err := Parse(b.String())
	require.Error(t, err)
}

func FuzzParse(f *testing.F) {
	f.Add(
		"heat_template_version: 2013-05-23\nresources: {a: {type: T, properties: {x: {get_attr: [b, c]}}}, b: {type: " +
			"T}}",
	)
	f.Add(
		"heat_template_version: rocky\nparameters: {p: {type: json}}\noutputs: {o: {value: {if: [c, 1, 2]}}}\n" +
			"conditions: {c: {equals: [1, {get_param: p}]}}",
	)
	f.Add("{a: &x [*x]}")
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := Parse(text)
		if err != nil {
			return
		}
		params, err := tmpl.Values(nil, nil, true, nil)
		if err != nil {
			return
		}
		sc := world
		sc.params = params
		for _, r := range tmpl.Resources {
			_, _ = Resolve(r.Properties, sc)
		}
		for _, o := range tmpl.Outputs {
			_, _ = Resolve(o.Value, sc)
		}
	})
}
