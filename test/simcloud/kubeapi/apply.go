package kubeapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Apply applies manifests in JSON or YAML on the server: it creates objects or merges the manifests into them.
// namespace is used for objects that name none.
func (c *Cluster) Apply(ctx context.Context, u User, namespace string, manifests []byte) error {
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		var o Object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a manifest: %w", err)
		}
		version, kind := String(o, "apiVersion"), String(o, "kind")
		all := c.store.Resources()
		n := slices.IndexFunc(all, func(r Resource) bool { return r.Kind == kind && r.APIVersion() == version })
		if n < 0 {
			return fmt.Errorf("no matches for kind %q in version %q", kind, version)
		}
		r := all[n]
		body, err := json.Marshal(o)
		if err != nil {
			return fmt.Errorf("encode %s %s: %w", r.Kind, Name(o), err)
		}
		path := r.Path(cmp.Or(Namespace(o), namespace, "default"), Name(o)) + "?fieldManager=kubectl&force=true"
		code, answer := c.Do(ctx, u, http.MethodPatch, path, "application/apply-patch+yaml", body)
		if code >= http.StatusBadRequest {
			return statusError(answer)
		}
	}
}

// statusError makes an error of an answer that refuses.
func statusError(answer []byte) error {
	var st metav1.Status
	if err := json.Unmarshal(answer, &st); err != nil {
		return fmt.Errorf("read the answer %q: %w", answer, err)
	}
	return &apierrors.StatusError{ErrStatus: st}
}
