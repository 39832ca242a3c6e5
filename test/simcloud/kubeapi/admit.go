package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

func equal(a, b Object) bool { return reflect.DeepEqual(a, b) }

func equalAny(a, b any) bool { return reflect.DeepEqual(a, b) }

// check refuses objects that do not have the shape of their kind, and changes that the real server refuses.
func (s *Store) check(r Resource, cur, next Object) error {
	if err := typed(r, next); err != nil {
		return err
	}
	labels, _ := At(next, "metadata", "labels").(map[string]any)
	set := map[string]string{}
	for k, v := range labels {
		set[k], _ = v.(string)
	}
	if errs := metavalidation.ValidateLabels(set, field.NewPath("metadata", "labels")); len(errs) > 0 {
		return apierrors.NewInvalid(r.GVK().GroupKind(), Name(next), errs)
	}
	if cur == nil {
		return nil
	}
	if r.Kind == "PersistentVolume" && !equalAny(source(cur), source(next)) {
		return apierrors.NewInvalid(r.GVK().GroupKind(), Name(cur), field.ErrorList{
			field.Forbidden(field.NewPath("spec", "persistentvolumesource"),
				"spec.persistentvolumesource is immutable after creation"),
		})
	}
	if now := At(cur, "roleRef"); now != nil && !equalAny(now, At(next, "roleRef")) {
		return apierrors.NewInvalid(r.GVK().GroupKind(), Name(cur), field.ErrorList{
			field.Invalid(field.NewPath("roleRef"), At(next, "roleRef"), "cannot change roleRef"),
		})
	}
	if r.Kind == "Pod" && String(cur, "spec", "nodeName") != "" && String(next, "spec", "nodeName") != String(
		cur, "spec", "nodeName",
	) {
		return apierrors.NewInvalid(r.GVK().GroupKind(), Name(cur), field.ErrorList{field.Forbidden(
			field.NewPath("spec"), "pod updates may not change fields other than `spec.containers[*].image`",
		)})
	}
	if sel := At(cur, "spec", "selector"); r.Group == "apps" && sel != nil && !equalAny(
		sel, At(next, "spec", "selector"),
	) {
		return apierrors.NewInvalid(r.GVK().GroupKind(), Name(cur), field.ErrorList{
			field.Invalid(field.NewPath("spec", "selector"), At(next, "spec", "selector"), "field is immutable"),
		})
	}
	return nil
}

// source is where the contents of a PersistentVolume are: its spec without the members that every volume has.
func source(volume Object) map[string]any {
	spec, _ := At(volume, "spec").(map[string]any)
	out := maps.Clone(spec)
	for _, k := range []string{
		"accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
		"storageClassName", "volumeAttributesClassName", "volumeMode",
	} {
		delete(out, k)
	}
	return out
}

// typed checks an object of a built-in kind against its Go type.
func typed(r Resource, o Object) error {
	t, err := scheme.Scheme.New(r.GVK())
	if err != nil {
		return nil //nolint:nilerr // a custom resource has no type
	}
	b, err := json.Marshal(o)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := json.Unmarshal(b, t); err != nil {
		return apierrors.NewBadRequest(
			fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", r.Kind, r.Version, r.Kind, err),
		)
	}
	return nil
}

// prepare fills in what the server gives a new object.
func (s *Store) prepare(r Resource, o Object) error {
	if err := s.check(r, nil, o); err != nil {
		return err
	}
	def := func(v any, path ...string) {
		if At(o, path...) == nil {
			Set(o, v, path...)
		}
	}
	switch r.GR() {
	case "namespaces":
		Set(o, "Active", "status", "phase")
		Set(o, Name(o), "metadata", "labels", "kubernetes.io/metadata.name")
	case "pods":
		def("Pending", "status", "phase")
		def("Always", "spec", "restartPolicy")
		def("default", "spec", "serviceAccountName")
		def("default-scheduler", "spec", "schedulerName")
	case "persistentvolumes":
		def("Available", "status", "phase")
		def("Retain", "spec", "persistentVolumeReclaimPolicy")
		def("Filesystem", "spec", "volumeMode")
	case "persistentvolumeclaims":
		def("Pending", "status", "phase")
	case "services":
		def("ClusterIP", "spec", "type")
		if At(o, "spec", "clusterIP") == nil && String(o, "spec", "type") != "ExternalName" {
			h := fnv.New32a()
			_, _ = h.Write([]byte(Namespace(o) + "/" + Name(o)))
			n := h.Sum32()
			ip := fmt.Sprintf("10.96.%d.%d", n>>8&0xff, n&0xff|1)
			Set(o, ip, "spec", "clusterIP")
			Set(o, []any{ip}, "spec", "clusterIPs")
		}
		s.nodePorts(o)
	case "deployments.apps", "statefulsets.apps", "replicasets.apps", "replicationcontrollers":
		def(int64(1), "spec", "replicas")
		if At(o, "spec", "selector", "matchLabels") == nil && At(o, "spec", "selector", "matchExpressions") == nil &&
			r.Group == "apps" {
			return apierrors.NewInvalid(
				r.GVK().GroupKind(), Name(o), field.ErrorList{field.Required(field.NewPath("spec", "selector"), "")},
			)
		}
	case "secrets":
		def("Opaque", "type")
		return s.fillSecret(r, o)
	}
	return nil
}

// nodePorts gives a NodePort service its ports.
func (s *Store) nodePorts(o Object) {
	t := String(o, "spec", "type")
	ports, _ := At(o, "spec", "ports").([]any)
	for i, p := range ports {
		m, ok := p.(map[string]any)
		if !ok {
			continue
		}
		if m["protocol"] == nil {
			m["protocol"] = "TCP"
		}
		if m["targetPort"] == nil {
			m["targetPort"] = m["port"]
		}
		if (t == "NodePort" || t == "LoadBalancer") && m["nodePort"] == nil {
			h := fnv.New32a()
			_, _ = fmt.Fprintf(h, "%s/%s/%d", Namespace(o), Name(o), i)
			m["nodePort"] = int64(30000 + h.Sum32()%2768)
		}
	}
}

// fillSecret moves stringData, and fills a service account's token as the token controller does.
func (s *Store) fillSecret(r Resource, o Object) error {
	if sd, ok := o["stringData"].(map[string]any); ok {
		for k, v := range sd {
			t, _ := v.(string)
			Set(o, base64.StdEncoding.EncodeToString([]byte(t)), "data", k)
		}
		delete(o, "stringData")
	}
	if o["type"] != "kubernetes.io/service-account-token" {
		return nil
	}
	name, _ := At(o, "metadata", "annotations", "kubernetes.io/service-account.name").(string)
	if name == "" {
		return apierrors.NewInvalid(r.GVK().GroupKind(), Name(o), field.ErrorList{
			field.Required(field.NewPath("metadata", "annotations").Key("kubernetes.io/service-account.name"), ""),
		})
	}
	return nil
}

// created does what controllers do at once for a new object.
func (s *Store) created(r Resource, o Object) {
	switch r.GR() {
	case "namespaces":
		_, _ = s.Create(Kind("ServiceAccount"), Name(o), Object{"metadata": Object{"name": "default"}}, false)
	case "customresourcedefinitions.apiextensions.k8s.io":
		s.define(o)
	}
}

// deleted does what the garbage collector and the namespace controller do.
func (s *Store) deleted(r Resource, o Object) {
	uid := String(o, "metadata", "uid")
	type victim struct {
		r               Resource
		namespace, name string
	}
	var gone []victim
	s.mu.RLock()
	for _, other := range s.resources {
		for _, x := range s.objs[other.GR()] {
			if r.Kind == "Namespace" && other.Namespaced && Namespace(x) == Name(o) || owned(x, uid) {
				gone = append(gone, victim{other, Namespace(x), Name(x)})
			}
		}
	}
	s.mu.RUnlock()
	for _, v := range gone {
		_, _ = s.Delete(v.r, v.namespace, v.name, "")
	}
}

func owned(o Object, uid string) bool {
	refs, _ := At(o, "metadata", "ownerReferences").([]any)
	for _, ref := range refs {
		if m, ok := ref.(map[string]any); ok && m["uid"] == uid {
			return true
		}
	}
	return false
}

var dnsLabel = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// define starts to serve a custom resource.
func (s *Store) define(o Object) {
	versions, _ := At(o, "spec", "versions").([]any)
	short, _ := At(o, "spec", "names", "shortNames").([]any)
	for _, v := range versions {
		m, ok := v.(map[string]any)
		if !ok || m["served"] == false {
			continue
		}
		version, _ := m["name"].(string)
		r := Resource{
			Group: String(o, "spec", "group"), Version: version, Kind: String(o, "spec", "names", "kind"),
			Plural: String(o, "spec", "names", "plural"), Singular: String(o, "spec", "names", "singular"),
			Namespaced: String(o, "spec", "scope") == "Namespaced", Status: true,
		}
		for _, n := range short {
			if t, ok := n.(string); ok {
				r.Short = append(r.Short, t)
			}
		}
		if dnsLabel.MatchString(r.Plural) {
			s.mu.Lock()
			s.resources = append(s.resources, r)
			s.mu.Unlock()
		}
	}
}
