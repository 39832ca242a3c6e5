package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// patching is a parsed PATCH body.
type patching struct {
	apply  bool
	object Object
	run    func(cur Object) (Object, error)
}

// patch reads the body as its content type says: JSON patch, merge patch, strategic merge patch, or server-side apply
// (taken as a merge).
func (c call) patch() (patching, error) {
	b, kind, err := c.body()
	if err != nil {
		return patching{}, err
	}
	back := func(cur Object, f func([]byte) ([]byte, error)) (Object, error) {
		old, err := json.Marshal(cur)
		if err != nil {
			return nil, err
		}
		out, err := f(old)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", c.res.GroupResource(), c.name, err.Error(), 0, true)
		}
		return decode(out)
	}
	switch kind {
	case "application/json-patch+json":
		p, err := jsonpatch.DecodePatch(b)
		if err != nil {
			return patching{}, apierrors.NewBadRequest(err.Error())
		}
		return patching{run: func(cur Object) (Object, error) { return back(cur, p.Apply) }}, nil
	case "application/apply-patch+yaml":
		j, err := yaml.ToJSON(b)
		if err != nil {
			return patching{}, apierrors.NewBadRequest(err.Error())
		}
		o, err := decode(j)
		if err != nil {
			return patching{}, err
		}
		return patching{apply: true, object: o, run: func(cur Object) (Object, error) {
			t, err := scheme.Scheme.New(c.res.GVK())
			if err != nil { // a custom resource
				return mergeJSON(cur, Copy(o)), nil //nolint:nilerr // no type, no merge keys
			}
			return back(cur, func(old []byte) ([]byte, error) { return strategicpatch.StrategicMergePatch(old, j, t) })
		}}, nil
	case "application/merge-patch+json":
		o, err := decode(b)
		if err != nil {
			return patching{}, err
		}
		return patching{run: func(cur Object) (Object, error) { return mergeJSON(cur, Copy(o)), nil }}, nil
	case "application/strategic-merge-patch+json":
		if _, err := decode(b); err != nil {
			return patching{}, err
		}
		t, err := scheme.Scheme.New(c.res.GVK())
		if err != nil {
			return patching{}, unsupportedPatch(c.res, kind)
		}
		return patching{run: func(cur Object) (Object, error) {
			return back(cur, func(old []byte) ([]byte, error) { return strategicpatch.StrategicMergePatch(old, b, t) })
		}}, nil
	}
	return patching{}, unsupportedPatch(c.res, kind)
}

func unsupportedPatch(r Resource, kind string) error {
	return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", r.GroupResource(), "",
		fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml (not %s)", kind), 0, true)
}
