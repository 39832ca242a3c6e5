package objects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names an object. Namespace is empty for kinds without namespaces. UID tells it from a later object of the same
// name; empty if that does not matter.
type Ref struct{ APIVersion, Kind, Namespace, Name, UID string }

// RefOf returns the Ref of an object.
func RefOf(o *unstructured.Unstructured) Ref {
	return Ref{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: string(o.GetUID()),
	}
}

// String returns kind, namespace and name, such as Deployment default/web.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// GVK returns group, version and kind.
func (r Ref) GVK() schema.GroupVersionKind { return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind) }
