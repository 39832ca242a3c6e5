package kubeapi

import (
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Resource is one kind of object that the API serves.
type Resource struct {
	Group, Version, Kind string
	Plural, Singular     string
	Short                []string
	Namespaced           bool
	Status               bool // has this subresource
	Custom               bool // defined by a CustomResourceDefinition
}

// GR is the name of the resource with its group, "deployments.apps", "nodes".
func (r Resource) GR() string {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}.String()
}

// GroupResource is the same for the error constructors of apimachinery.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}
}

// GVK is group, version and kind.
func (r Resource) GVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

// invalid refuses an object.
func (r Resource) invalid(name string, errs ...*field.Error) error {
	return apierrors.NewInvalid(r.GVK().GroupKind(), name, errs)
}

// APIVersion is what objects carry: "apps/v1".
func (r Resource) APIVersion() string { return r.GVK().GroupVersion().String() }

// Prefix is the URL path of the group and version.
func (r Resource) Prefix() string {
	if r.Group == "" {
		return "/api/" + r.Version
	}
	return "/apis/" + r.Group + "/" + r.Version
}

// Path returns the API path of a collection (name empty) or an object. namespace is ignored when the resource has none;
// an empty one means all namespaces.
func (r Resource) Path(namespace, name string) string {
	p := r.Prefix()
	if r.Namespaced && namespace != "" {
		p += "/namespaces/" + url.PathEscape(namespace)
	}
	p += "/" + r.Plural
	if name != "" {
		p += "/" + url.PathEscape(name)
	}
	return p
}

// table is the built-in resources: group/version, kind, flags (n namespaced, s status), short names.
const table = `
v1 Node -s no
v1 Pod ns po
v1 Namespace -s ns
v1 ServiceAccount n- sa
v1 Secret n-
v1 ConfigMap n- cm
v1 PersistentVolume -s pv
v1 PersistentVolumeClaim ns pvc
v1 Service ns svc
v1 Event n- ev
v1 ReplicationController ns rc
v1 Endpoints n ep
v1 ResourceQuota ns quota
v1 LimitRange n limits
v1 PodTemplate n
apps/v1 Deployment ns deploy
apps/v1 DaemonSet ns ds
apps/v1 ReplicaSet ns rs
apps/v1 StatefulSet ns sts
apps/v1 ControllerRevision n
batch/v1 Job ns
batch/v1 CronJob ns cj
autoscaling/v2 HorizontalPodAutoscaler ns hpa
autoscaling/v1 HorizontalPodAutoscaler ns hpa
networking.k8s.io/v1 NetworkPolicy n netpol
networking.k8s.io/v1 Ingress ns ing
networking.k8s.io/v1 IngressClass -
discovery.k8s.io/v1 EndpointSlice n
scheduling.k8s.io/v1 PriorityClass - pc
node.k8s.io/v1 RuntimeClass -
apiextensions.k8s.io/v1 CustomResourceDefinition -s crd
apiregistration.k8s.io/v1 APIService -s
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration -
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration -
rbac.authorization.k8s.io/v1 ClusterRole -
rbac.authorization.k8s.io/v1 ClusterRoleBinding -
rbac.authorization.k8s.io/v1 Role n
rbac.authorization.k8s.io/v1 RoleBinding n
coordination.k8s.io/v1 Lease n
policy/v1 PodDisruptionBudget ns pdb
storage.k8s.io/v1 StorageClass - sc
`

// builtin is the resources of every cluster.
var builtin = func() (out []Resource) {
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		gv, err := schema.ParseGroupVersion(f[0])
		if err != nil {
			panic(err)
		}
		out = append(out, Resource{
			Group: gv.Group, Version: gv.Version, Kind: f[1], Plural: plural(f[1]), Singular: strings.ToLower(f[1]),
			Short: f[3:], Namespaced: strings.Contains(f[2], "n"), Status: strings.Contains(f[2], "s"),
		})
	}
	return out
}()

// Kind returns a built-in resource by its kind. Event is that of the core group.
func Kind(kind string) Resource {
	return builtin[slices.IndexFunc(builtin, func(r Resource) bool { return r.Kind == kind })]
}

// kindOf returns the resource of a stored object.
func kindOf(o Object) Resource { return Kind(String(o, "kind")) }

func plural(kind string) string {
	k := strings.ToLower(kind)
	if k == "endpoints" {
		return k
	}
	if stem, ok := strings.CutSuffix(k, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(k, "s") {
		return k + "es"
	}
	return k + "s"
}

// Find looks a built-in resource up by what kubectl accepts: plural, singular, kind, short name, each with or without
// ".group".
func Find(name string) (Resource, bool) {
	want, group, hasGroup := strings.Cut(strings.ToLower(name), ".")
	for _, r := range builtin {
		if hasGroup && r.Group != group {
			continue
		}
		if r.Plural == want || r.Singular == want || slices.Contains(r.Short, want) {
			return r, true
		}
	}
	return Resource{}, false
}
