package kubeapi

import (
	"encoding/json"
	"net/http"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func isScalable(r Resource) bool {
	return slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}, r.Kind)
}

// scaleOf is the subresource scale of a workload.
func scaleOf(o Object) Object {
	selector := ""
	if m, ok := At(o, "spec", "selector").(map[string]any); ok {
		var s metav1.LabelSelector
		if runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s) == nil {
			selector = metav1.FormatLabelSelector(&s)
		}
	}
	meta := Object{}
	for _, k := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		meta[k] = Meta(o)[k]
	}
	return Object{
		"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta,
		"spec":   Object{"replicas": Int(o, "spec", "replicas")},
		"status": Object{"replicas": Int(o, "status", "replicas"), "selector": selector},
	}
}

func (c call) answerScale(o Object) error {
	if !isScalable(c.res) {
		return notFoundPath()
	}
	writeJSON(c.w, http.StatusOK, scaleOf(o))
	return nil
}

// changeScale sets the replicas of a workload.
func (c call) changeScale(patch bool) error {
	if !isScalable(c.res) {
		return notFoundPath()
	}
	b, kind, err := c.body()
	if err != nil {
		return err
	}
	if patch && kind != "application/merge-patch+json" {
		return unsupportedPatch(c.res, kind)
	}
	out, err := c.store.Update(c.res, c.namespace, c.name, func(o Object) (Object, error) {
		next := b
		if patch {
			cur, err := json.Marshal(scaleOf(o))
			if err != nil {
				return nil, err
			}
			if next, err = jsonpatch.MergePatch(cur, b); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
		}
		scale, err := decode(next)
		if err != nil {
			return nil, err
		}
		Set(o, Int(scale, "spec", "replicas"), "spec", "replicas")
		return o, nil
	})
	if err != nil {
		return err
	}
	return c.answerScale(out)
}
