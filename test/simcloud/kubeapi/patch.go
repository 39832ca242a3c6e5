package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// patching is a parsed PATCH body.
type patching struct {
	manager string // of a server-side apply
	object  Object
	run     func(cur Object) (Object, error)
}

// patch reads the body as its content type says: JSON patch, merge patch, strategic merge patch, or server-side apply.
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
			return nil, apierrors.NewGenericServerResponse(
				http.StatusUnprocessableEntity, "", c.res.GroupResource(), c.name, err.Error(), 0, true,
			)
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
		manager := c.req.URL.Query().Get("fieldManager")
		if manager == "" {
			options := schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}
			return patching{}, apierrors.NewInvalid(options, "", field.ErrorList{
				field.Required(field.NewPath("fieldManager"), "is required for apply patch"),
			})
		}
		before := c.store.applied(c.res, c.namespace, c.name, manager, j)
		return patching{manager: manager, object: o, run: func(cur Object) (Object, error) {
			return back(cur, func(old []byte) ([]byte, error) { return mergeApplied(c.res, before, j, old) })
		}}, nil
	case "application/merge-patch+json":
		if _, err := decode(b); err != nil {
			return patching{}, err
		}
		return patching{run: func(cur Object) (Object, error) {
			return back(cur, func(old []byte) ([]byte, error) { return jsonpatch.MergePatch(old, b) })
		}}, nil
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

// mergeApplied lays an applied object over the current one, and removes what its manager has applied before and does
// not apply any more. The simulation does not know conflicts of managers: all product code applies with force.
func mergeApplied(r Resource, before, applied, current []byte) ([]byte, error) {
	t, err := scheme.Scheme.New(r.GVK())
	if err != nil { // a custom resource: lists are replaced
		p, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, applied, current)
		if err != nil {
			return nil, err
		}
		return jsonpatch.MergePatch(current, p)
	}
	lookup, err := strategicpatch.NewPatchMetaFromStruct(t)
	if err != nil {
		return nil, err
	}
	p, err := strategicpatch.CreateThreeWayMergePatch(before, applied, current, lookup, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(current, p, t)
}

func unsupportedPatch(r Resource, kind string) error {
	return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", r.GroupResource(), "", fmt.Sprintf(
		"the body of the request was in an unknown format - accepted media types include: "+
			"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml (not %s)", kind,
	), 0, true)
}
