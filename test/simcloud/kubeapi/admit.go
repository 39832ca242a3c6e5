package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	if errs := metavalidation.ValidateLabels(labelsOf(next), field.NewPath("metadata", "labels")); len(errs) > 0 {
		return r.invalid(Name(next), errs...)
	}
	if cur == nil {
		return nil
	}
	fixed := func(path ...string) bool {
		now := At(cur, path...)
		return now != nil && !equalAny(now, At(next, path...))
	}
	switch {
	case r.Kind == "PersistentVolume" && !equalAny(source(cur), source(next)):
		return r.invalid(Name(cur), field.Forbidden(field.NewPath("spec", "persistentvolumesource"),
			"spec.persistentvolumesource is immutable after creation"))
	case fixed("roleRef"):
		return r.invalid(Name(cur), field.Invalid(
			field.NewPath("roleRef"), At(next, "roleRef"), "cannot change roleRef"))
	case r.Kind == "Pod" && fixed("spec", "nodeName"):
		return r.invalid(Name(cur), field.Forbidden(
			field.NewPath("spec"), "pod updates may not change fields other than `spec.containers[*].image`"))
	case r.Group == "apps" && fixed("spec", "selector"):
		return r.invalid(Name(cur), field.Invalid(
			field.NewPath("spec", "selector"), At(next, "spec", "selector"), "field is immutable"))
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

// typed checks an object against the Go type of its kind.
func typed(r Resource, o Object) error {
	if !scheme.Scheme.Recognizes(r.GVK()) { // no type of client-go, such as a custom resource
		return nil
	}
	t, err := scheme.Scheme.New(r.GVK())
	if err != nil {
		return apierrors.NewInternalError(err)
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
		return s.requireReferences(r, o)
	case "persistentvolumes":
		def("Available", "status", "phase")
		def("Retain", "spec", "persistentVolumeReclaimPolicy")
		def("Filesystem", "spec", "volumeMode")
	case "persistentvolumeclaims":
		def("Pending", "status", "phase")
	case "services":
		return s.fillService(r, o)
	case "customresourcedefinitions.apiextensions.k8s.io":
		return s.fillDefinition(r, o)
	case "jobs.batch":
		def(int64(1), "spec", "completions")
		def(int64(1), "spec", "parallelism")
		def(int64(6), "spec", "backoffLimit")
		Set(o, Name(o), "spec", "template", "metadata", "labels", "batch.kubernetes.io/job-name")
		def(Object{"matchLabels": Object{"batch.kubernetes.io/job-name": Name(o)}}, "spec", "selector")
	case "deployments.apps", "replicasets.apps", "statefulsets.apps":
		def(int64(1), "spec", "replicas")
		if At(o, "spec", "selector") == nil {
			return r.invalid(Name(o), field.Required(field.NewPath("spec", "selector"), ""))
		}
	case "secrets":
		def("Opaque", "type")
		return s.fillSecret(r, o)
	}
	return nil
}

// requireReferences refuses a pod with a class or an account that is not there, as the plugins of the real server do.
func (s *Store) requireReferences(r Resource, o Object) error {
	refuse := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: r.Plural}, Name(o), errors.New(text))
	}
	class := String(o, "spec", "priorityClassName")
	if class != "" && !strings.HasPrefix(class, "system-") {
		if _, err := s.Get(Kind("PriorityClass"), "", class); err != nil {
			return refuse("no PriorityClass with name " + class + " was found")
		}
	}
	account := String(o, "spec", "serviceAccountName")
	if account == "default" {
		return nil // every namespace has it
	}
	if _, err := s.Get(Kind("ServiceAccount"), Namespace(o), account); err != nil {
		return refuse(fmt.Sprintf("error looking up service account %s/%s: serviceaccount %q not found",
			Namespace(o), account, account))
	}
	return nil
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
		path := field.NewPath("metadata", "annotations").Key("kubernetes.io/service-account.name")
		return r.invalid(Name(o), field.Required(path, ""))
	}
	return nil
}

// created does what controllers do at once for a new object.
func (s *Store) created(r Resource, o Object) {
	if r.Kind == "Namespace" {
		_, _ = s.Create(Kind("ServiceAccount"), Name(o), Object{"metadata": Object{"name": "default"}})
	}
}

// deleted does what the garbage collector does, and removes the resources of a definition.
func (s *Store) deleted(r Resource, o Object) {
	uid := String(o, "metadata", "uid")
	type dependent struct {
		res Resource
		o   Object
	}
	var gone []dependent
	s.mu.RLock()
	for _, other := range s.resources() {
		for _, x := range s.objs[other.GR()] {
			if owned(x, uid) {
				gone = append(gone, dependent{other, x})
			}
		}
	}
	if r.Kind == definitionKind {
		d, _ := customResource(o)
		for _, x := range s.objs[d.GR()] {
			gone = append(gone, dependent{d, x})
		}
	}
	s.mu.RUnlock()
	for _, x := range gone {
		_, _ = s.Delete(x.res, Namespace(x.o), Name(x.o), "")
	}
}

func owned(o Object, uid string) bool {
	refs := objectsAt(o, "metadata", "ownerReferences")
	return slices.ContainsFunc(refs, func(ref Object) bool { return ref["uid"] == uid })
}
