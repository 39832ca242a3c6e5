package helm

import (
	"bytes"
	"io"

	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// undefined are the kinds that the folder crds of a chart defines and that the cluster does not serve yet. Helm
// installs the definitions before the chart, but not in a dry run.
func (s *session) undefined(c *helmchart.Chart) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for _, file := range c.CRDObjects() {
		definitions, err := decode(bytes.NewReader(file.File.Data))
		if err != nil {
			continue // Helm reports it
		}
		for _, d := range definitions {
			kind := schema.GroupKind{}
			kind.Group, _, _ = unstructured.NestedString(d.Object, "spec", "group")
			kind.Kind, _, _ = unstructured.NestedString(d.Object, "spec", "names", "kind")
			if _, err := s.kinds.mapper.RESTMapping(kind); meta.IsNoMatchError(err) {
				out[kind] = true
			}
		}
	}
	return out
}

// without leaves out objects of kinds that the cluster does not serve yet, for a dry run.
type without struct {
	unvalidated
	kinds map[schema.GroupKind]bool
}

// Build implements kube.Interface.
func (c without) Build(r io.Reader, _ bool) (kube.ResourceList, error) {
	list, err := decode(r)
	if err != nil {
		return nil, err
	}
	known := &bytes.Buffer{}
	for _, o := range list {
		if c.kinds[o.GroupVersionKind().GroupKind()] {
			continue
		}
		raw, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		known.WriteString("---\n")
		known.Write(raw)
	}
	return c.unvalidated.Build(known, false)
}
