package helm

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

const instance = "0f1c7a43-41b0-4b27-9a2f-5d2f3c1e9a10"

func flavour() *vnfd.Flavour {
	return &vnfd.Flavour{
		ID:   "helmchart",
		VDUs: []vnfd.VDU{{Name: "VDU1", DisplayName: "vdu1-localhelm"}, {Name: "VDU2", DisplayName: "vdu2-apache"}},
		Aspects: []vnfd.ScalingAspect{
			{ID: "vdu1_aspect", Steps: []map[string]int{{"VDU1": 1}}},
			{ID: "vdu2_aspect", Steps: []map[string]int{{"VDU2": 1}}},
		},
	}
}

func read(t *testing.T, params string) (settings, error) {
	t.Helper()
	var p sol.KeyValuePairs
	require.NoError(t, json.Unmarshal([]byte(params), &p))
	return parse(p, flavour(), instance)
}

// TestReleasesOfVersionOne: the form that Tacker's version 1 has names several releases.
func TestReleasesOfVersionOne(t *testing.T) {
	t.Parallel()
	s, err := read(t, `{"namespace": "cnf", "use_helm": "true", "using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "Files/kubernetes/localhelm-0.1.0.tgz", "helmreleasename": "vdu1",
		 "helmparameter": ["service.port=8081"]},
		{"exthelmchart": "true", "helmreleasename": "vdu2", "helmrepositoryname": "bitnami", "helmchartname": "apache",
		 "exthelmrepo_url": "https://charts.bitnami.com/bitnami"}],
		"helm_replica_values": {"vdu1_aspect": "replicaCount", "vdu2_aspect": "replicas"},
		"vdu_mapping": {"VDU2": {"kind": "Deployment", "name": "apache", "helmreleasename": "vdu2"}}}`)
	require.NoError(t, err)
	require.Equal(t, "cnf", s.namespace)
	require.Len(t, s.releases, 2)
	require.Equal(t, "vdu1", s.releases[0].name)
	require.Equal(t, map[string]string{"VDU1": "replicaCount"}, s.releases[0].replicas)
	require.Equal(t, "https://charts.bitnami.com/bitnami/apache", s.releases[1].source.String())
	require.Equal(t, map[string]string{"VDU2": "replicas"}, s.releases[1].replicas)
	values, err := s.releases[0].values(fstest.MapFS{}, map[string]int{"VDU1": 3, "VDU2": 1})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"service": map[string]any{"port": int64(8081)}, "replicaCount": int64(3),
	}, values)
}

// TestChartsOfTheVNFD: without a chart in the request each object package with a chart is a release.
func TestChartsOfTheVNFD(t *testing.T) {
	t.Parallel()
	f := flavour()
	f.VDUs[0].Workload = &vnfd.Workload{Kind: "Deployment", Name: "web"}
	f.Mciops = []vnfd.Mciop{
		{Name: "database", VDUs: []string{"VDU2"}, Chart: "Files/charts/database.tgz"},
		{Name: "objects", VDUs: []string{"VDU2"}, Manifests: []string{"Files/page.yaml"}},
		{Name: "web", VDUs: []string{"VDU1"}, Chart: "Files/charts/web"},
	}
	s, err := parse(sol.KeyValuePairs{"helm_value_names": map[string]any{
		"VDU1": map[string]any{"replica": "replicaCount"}, "VDU2": map[string]any{"replica": "nodes"},
	}}, f, instance)
	require.NoError(t, err)
	require.Len(t, s.releases, 2)
	require.Equal(t, ReleaseName(instance), s.releases[0].name)
	require.Equal(t, "Files/charts/database.tgz", s.releases[0].path)
	require.Equal(t, map[string]string{"VDU2": "nodes"}, s.releases[0].replicas)
	require.Equal(t, ReleaseName(instance)+"-2", s.releases[1].name)
	require.Equal(t, "Files/charts/web", s.releases[1].path)
	require.Equal(t, map[string]string{"VDU1": "replicaCount"}, s.releases[1].replicas)
	require.Equal(t, map[string]workload{"VDU1": {kind: "Deployment", name: "web"}}, s.workloads)

	s, err = parse(sol.KeyValuePairs{"helm_chart_path": "Files/other"}, f, instance)
	require.NoError(t, err)
	require.Len(t, s.releases, 1, "the request decides")
	require.Equal(t, "Files/other", s.releases[0].path)

	f.Mciops = make([]vnfd.Mciop, maxReleases+1)
	for n := range f.Mciops {
		f.Mciops[n].Chart = "Files/charts/web"
	}
	_, err = parse(sol.KeyValuePairs{}, f, instance)
	require.Equal(t, "/flavourId", lcm.AsError(err).Params[0].Pointer)
}

// TestReleaseIsNamedAfterTheInstance: with the name that Tacker gives.
func TestReleaseIsNamedAfterTheInstance(t *testing.T) {
	t.Parallel()
	s, err := read(t, `{"helm_chart_name": "oci://registry.example.com/charts/web", "helm_chart_version": "1.2.3"}`)
	require.NoError(t, err)
	require.Equal(t, "vnf0f1c7a4341b04b279a2f5d2f3c1e9a10", s.releases[0].name)
	require.Equal(t, "default", s.namespace)
	require.Equal(t, "oci://registry.example.com/charts/web 1.2.3", s.releases[0].source.String())
}

func TestWrongParametersHavePointers(t *testing.T) {
	t.Parallel()
	const at = "/additionalParams"
	for _, tt := range []struct {
		name, params string
		want         []string
	}{
		{"none", `{}`, []string{at}},
		{"a namespace", `{"helm_chart_path": "c", "namespace": "A_b"}`, []string{at + "/namespace"}},
		{"two charts", `{"helm_chart_path": "c", "helm_chart_name": "d"}`, []string{at + "/helm_chart_path"}},
		{"a path that is no text", `{"helm_chart_path": 1}`, []string{at, at + "/helm_chart_path"}},
		{"no chart of a repository", `{"helm_repository_url": "https://x/y"}`, []string{at + "/helm_chart_name"}},
		{
			"a repository that is a file", `{"helm_repository_url": "file:///etc", "helm_chart_name": "c"}`,
			[]string{at + "/helm_repository_url"},
		},
		{
			"names of values", `{"helm_chart_path": "c", "helm_value_names": {"VDU1": {}, "VDU/9": {"replica": "n"}}}`,
			[]string{at + "/helm_value_names/VDU1/replica", at + "/helm_value_names/VDU~19"},
		},
		{"values files", `{"helm_chart_path": "c", "helm_value_files": ["a", 2]}`, []string{at + "/helm_value_files/1"}},
		{
			"version 1 without use_helm", `{"using_helm_install_param": [{"helmreleasename": "a",
				"helmchartfile_path": "c"}]}`, []string{at + "/use_helm"},
		},
		{
			"releases of version 1", `{"use_helm": true, "using_helm_install_param": [
				{"helmreleasename": "A", "helmchartfile_path": "c"}, {"helmreleasename": "b"}, 3]}`,
			[]string{
				at + "/using_helm_install_param/0/helmreleasename", at + "/using_helm_install_param/1",
				at + "/using_helm_install_param/2",
			},
		},
		{
			"an aspect", `{"use_helm": true, "helm_replica_values": {"other": "n"}, "using_helm_install_param": [
				{"helmreleasename": "a", "helmchartfile_path": "c"}]}`, []string{at + "/helm_replica_values/other"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, tt.params)
			require.Error(t, err)
			require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
			var got []string
			for _, p := range lcm.AsError(err).Params {
				got = append(got, p.Pointer)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// TestValues: values files come first, then parameters as of helm --set, then the numbers of VNFCs.
func TestValues(t *testing.T) {
	t.Parallel()
	s, err := read(t, `{"helm_chart_path": "c", "helm_value_files": ["a.yaml", "b.yaml"],
		"helm_parameters": {"text": "a, b", "list": "{x,y}", "n": 2, "big": 10000000, "yes": "true", "none": null,
			"inner.object": {"k": [1]}, "escaped": "a\\,b"},
		"helm_value_names": {"VDU1": {"replica": "inner.count"}}}`)
	require.NoError(t, err)
	got, err := s.releases[0].values(fstest.MapFS{
		"a.yaml": {Data: []byte("text: old\nkept: 1\ninner: {count: 9, kept: 2}\n")},
		"b.yaml": {Data: []byte("kept: 3\n")},
	}, map[string]int{"VDU1": 4})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"text": "a, b", "list": []any{"x", "y"}, "n": int64(2), "big": int64(10000000), "yes": true, "none": nil,
		"escaped": "a,b", "kept": float64(3),
		"inner": map[string]any{
			"object": map[string]any{"k": []any{float64(1)}}, "count": int64(4), "kept": float64(2),
		},
	}, got)

	for name, file := range map[string]string{"absent.yaml": "", "list.yaml": "- 1"} {
		r := spec{files: []string{name}}
		all := fstest.MapFS{}
		if file != "" {
			all[name] = &fstest.MapFile{Data: []byte(file)}
		}
		_, err := r.values(all, nil)
		require.ErrorContains(t, err, name)
		require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
	}
}

// FuzzParameters: no request makes the reader panic, also when the values of its releases are made, and each defect has
// a pointer.
func FuzzParameters(f *testing.F) {
	f.Add(`{"namespace": "cnf", "use_helm": "true", "using_helm_install_param": [
		{"exthelmchart": "false", "helmchartfile_path": "a-0.1.0.tgz", "helmreleasename": "vdu1",
		 "helmparameter": ["service.port=8081", "a[0].b={1,2}"]}],
		"helm_replica_values": {"vdu1_aspect": "replicaCount"}}`)
	f.Add(`{"helm_chart_path": "Files/charts/web", "helm_parameters": {"a": {"b": 1}}, "helm_value_names": {"VDU1":
		{"replica": "values.replicas"}}, "vdu_mapping": {"VDU1": {"kind": "Deployment", "name": "x"}}}`)
	f.Fuzz(func(t *testing.T, request string) {
		var params sol.KeyValuePairs
		if json.Unmarshal([]byte(request), &params) != nil {
			return
		}
		s, err := parse(params, flavour(), instance)
		if err != nil {
			if len(lcm.AsError(err).Params) == 0 {
				t.Errorf("an error without a pointer: %v", err)
			}
			return
		}
		for _, r := range s.releases {
			if r.name == "" {
				t.Error("a release without a name")
			}
			_, _ = r.values(fstest.MapFS{}, map[string]int{"VDU1": 3, "VDU2": 1})
		}
	})
}
