package render_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/gybe-nfv/gybe/pkg/helm/render"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestMain lets the test be the process that executes templates, too.
func TestMain(m *testing.M) {
	render.Serve()
	os.Exit(m.Run())
}

// of is a chart with one template.
func of(template string) *helmchart.Chart {
	return &helmchart.Chart{
		Metadata: &helmchart.Metadata{Name: "web", Version: "1.0.0", APIVersion: "v2"},
		Raw: []*common.File{
			{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
			{Name: "values.yaml", Data: []byte("own: 3\n")},
			{Name: "templates/a.yaml", Data: []byte(template)},
			{Name: "templates/NOTES.txt", Data: []byte("notes")},
		},
	}
}

// noLookup fails a test that asks for objects.
func noLookup(context.Context, string, string, string, string) (map[string]any, error) {
	return nil, os.ErrPermission
}

func TestTemplatesAreExecuted(t *testing.T) {
	t.Parallel()
	in := render.Input{
		Values:  map[string]any{"n": int64(12345678), "f": 0.5, "list": []any{int64(1)}},
		Release: common.ReleaseOptions{Name: "r", Namespace: "ns", Revision: 2, IsUpgrade: true},
	}
	c, err := render.Render(t.Context(), of(
		`{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Revision }} {{ .Release.IsUpgrade }} `+
			`{{ .Values.n }} {{ .Values.f }} {{ .Values.list }} {{ .Values.own }} {{ "{{" }} `+
			`{{ (lookup "v1" "Secret" "ns" "a").kind }} {{ .Capabilities.KubeVersion.Major }}`,
	), withVersion(in), func(_ context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
		return map[string]any{"kind": strings.Join([]string{apiVersion, kind, namespace, name}, "/")}, nil
	})
	require.NoError(t, err)
	require.Len(t, c.Templates, 1, "notes are not rendered")
	require.Equal(t, "templates/a.yaml", c.Templates[0].Name)
	// What a template writes is not executed again.
	require.Equal(t, "r ns 2 true 12345678 0.5 [1] 3 {{`{{`}} v1/Secret/ns/a 1", string(c.Templates[0].Data))
}

func withVersion(in render.Input) render.Input {
	in.Capabilities = &common.Capabilities{KubeVersion: common.KubeVersion{Version: "v1.34.0", Major: "1", Minor: "34"}}
	return in
}

// TestHostileTemplates: a template can neither hold the node nor fill its memory, and does not see its environment.
func TestHostileTemplates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, template, want string }{
		{"an endless loop", `{{ range 2000000000 }}{{ range 2000000000 }}{{ end }}{{ end }}`, "10 s of CPU"},
		{"memory", `{{ range until 1000000000 }}{{ . }}{{ end }}`, "MiB of memory"},
		{"output", `{{ range 100000000 }}0123456789{{ end }}`, "MiB of memory"},
		{"recursion", `{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, "nested reference"},
		{"failure", `{{ fail "no such size" }}`, "no such size"},
		{"environment", `{{ env "HOME" }}`, `function "env" not defined`},
		{"a forbidden lookup", `{{ lookup "v1" "Secret" "" "" }}`, "permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := render.Render(t.Context(), of(tt.template), withVersion(render.Input{}), noLookup)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
		})
	}
}

// TestCancelledRender: the end of the work ends the process.
func TestCancelledRender(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	endless := `{{ lookup "v1" "Pod" "" "" }}{{ range 2000000000 }}{{ range 2000000000 }}{{ end }}{{ end }}`
	_, err := render.Render(ctx, of(endless), withVersion(render.Input{}),
		func(context.Context, string, string, string, string) (map[string]any, error) {
			cancel()
			return map[string]any{}, nil
		})
	require.ErrorIs(t, err, context.Canceled)
}

// TestProcessesAreBounded: with many charts at once each process still gets its share of the processor and the memory.
func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	limit := 2 * runtime.GOMAXPROCS(0)
	var mu sync.Mutex
	running, most := 0, 0
	full := make(chan struct{})
	lookup := func(ctx context.Context, _, _, _, _ string) (map[string]any, error) {
		mu.Lock()
		running++
		most = max(most, running)
		if running == limit {
			close(full)
		}
		mu.Unlock()
		select { // the first ones wait until all slots are taken
		case <-full:
		case <-ctx.Done():
		}
		mu.Lock()
		running--
		mu.Unlock()
		return nil, nil
	}
	var wg sync.WaitGroup
	for range 2 * limit {
		wg.Go(func() {
			_, err := render.Render(t.Context(), of(`{{ lookup "v1" "Secret" "" "" }}`), withVersion(render.Input{}), lookup)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	require.Equal(t, limit, most)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := render.Render(ctx, of("a"), withVersion(render.Input{}), noLookup)
	require.ErrorIs(t, err, context.Canceled)
}
