package preview

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// levels are templates that each use the next one, with the properties that use makes of the parameter p.
func levels(n int, use, last string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf(
			"parameters: {p: {type: json}}\nresources:\n  r: {type: %d.yaml, properties: {p: %s}}\n", i+1, use,
		)
	}
	files[fmt.Sprintf("%d.yaml", n)] = last
	return files
}

// TestRenderingIsBounded: templates of a few kilobytes describe more than a node can hold. Everything that a rendering
// allocates is counted, so the test does not run beside others.
func TestRenderingIsBounded(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	many := func(text string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(text+", ", n), ", ") + "]"
	}
	server := "parameters: {p: {type: json}}\n" +
		"resources: {s: {type: 'OS::Nova::Server', properties: {p: {get_param: p}}}}"
	replace := map[string]string{}
	for i := range 9 {
		replace[string(rune('a'+i))] = strings.Repeat(string(rune('b'+i)), 1000)
	}
	params := strings.NewReplacer("map[", "{", "]", "}", ":", ": ", " ", ", ").Replace(fmt.Sprint(replace))
	group := "resources: {g: {type: 'OS::Heat::ResourceGroup', properties: {count: 20000, resource_def: {type: %s}}}}"
	for name, tt := range map[string]struct {
		files  map[string]string
		top    string
		reason string // "" is a text that stays unknown
	}{
		"a text that grows with each parameter": {
			top: "resources: {s: {type: 'OS::Nova::Server', properties: {p: {str_replace: {template: a, params: " +
				params + "}}}}}",
		},
		"a text that grows at each level": {
			files:  levels(7, "{list_join: ['', "+many("{get_param: p}", 1000)+"]}", server),
			top:    "resources: {r: {type: 0.yaml, properties: {p: '" + strings.Repeat("x", 1000) + "'}}}",
			reason: "properties of the stack",
		},
		"a list that grows at each level": {
			files: levels(7, many("{get_param: p}", 100), server), reason: "properties of the stack",
			top: "resources: {r: {type: 0.yaml, properties: {p: [x, y]}}}",
		},
		"a group that grows at each level": {
			files: levels(6, many("{get_param: p}", 10), fmt.Sprintf(group, "none.yaml")), reason: "more than",
			top: "resources: {r: {type: 0.yaml, properties: {p: [x, y]}}}",
		},
		"groups of groups without resources": {
			files: map[string]string{
				"a.yaml": fmt.Sprintf(group, "b.yaml"), "b.yaml": fmt.Sprintf(group, "c.yaml"),
				"c.yaml": "description: " + strings.Repeat("large ", 10_000),
			},
			top: fmt.Sprintf(group, "a.yaml"), reason: "properties of the stack",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderer{files: tt.files, flavour: &vnfd.Flavour{}, parsed: map[string]*document{}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := r.template(tt.top, map[string]any{}, "", nil)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(300<<20))
			if tt.reason == "" {
				require.NoError(t, err)
				require.IsType(t, map[string]any{}, r.out[0].props["p"], "it is not known")
				return
			}
			require.ErrorContains(t, err, tt.reason)
			require.Equal(t, lcm.CodeTooLarge, lcm.AsError(err).Code)
		})
	}
}

// TestLargeStackIsRendered: a thousand machines with the largest user data that Nova accepts are not too many.
func TestLargeStackIsRendered(t *testing.T) {
	t.Parallel()
	r := renderer{flavour: &vnfd.Flavour{}, parsed: map[string]*document{}, files: map[string]string{
		"vdu.yaml": "parameters: {p: {type: json}}\nresources:\n" +
			"  s: {type: 'OS::Nova::Server', properties: {user_data: " +
			"{str_replace: {template: $all, params: {$all: {get_param: p}}}}}}\n  v: {type: 'OS::Cinder::Volume'}\n",
	}}
	top := "resources: {g: {type: 'OS::Heat::ResourceGroup', properties: {count: 1000, resource_def: " +
		"{type: vdu.yaml, properties: {p: {get_param: p}}}}}}"
	err := r.template(top, map[string]any{"p": strings.Repeat("x", 16<<10)}, "", nil)
	require.NoError(t, err)
	require.Len(t, r.out, 2000)
}
