package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// The bounds of the objects of a release.
const (
	maxManifests = 8 << 20 // bytes of all manifests
	maxObjects   = 1000
)

// marker is the post-renderer of all releases: it gives every object the label of its VNF instance, and bounds their
// number and size.
type marker struct{ instance string }

func (r *releaseWork) marker() marker { return marker{r.instance} }

// Run implements postrenderer.PostRenderer.
func (m marker) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) {
	if manifests.Len() > maxManifests {
		return nil, fmt.Errorf("the manifests of the chart are larger than %d MiB", maxManifests>>20)
	}
	list, err := decode(manifests)
	if err != nil {
		return nil, err
	}
	out := &bytes.Buffer{}
	for _, o := range list {
		all := o.GetLabels()
		if all == nil {
			all = map[string]string{}
		}
		all[labelInstance] = m.instance
		o.SetLabels(all)
		raw, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(raw)
	}
	return out, nil
}

// decode reads a stream of YAML documents.
func decode(r io.Reader) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	d := utilyaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		o := &unstructured.Unstructured{}
		err := d.Decode(&o.Object)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("a manifest of the chart is not YAML: %w", err)
		case len(o.Object) == 0:
			continue
		}
		list := []*unstructured.Unstructured{o}
		if o.IsList() { // Helm applies its items
			items, err := o.ToList()
			if err != nil {
				return nil, fmt.Errorf("a list of the chart cannot be read: %w", err)
			}
			list = nil
			for n := range items.Items {
				list = append(list, &items.Items[n])
			}
		}
		if out = append(out, list...); len(out) > maxObjects {
			return nil, fmt.Errorf("the chart has more than %d objects", maxObjects)
		}
	}
}
