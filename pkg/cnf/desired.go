package cnf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// desired is everything that an instance has in the cluster.
type desired struct {
	objects   []*unstructured.Unstructured // in the order in which they are applied
	workloads []workload                   // in the order of the flavour's VDUs
	namespace string
}

// workload is the object whose pods are the VNFCs of a VDU.
type workload struct {
	vdu  string
	obj  *unstructured.Unstructured
	want int // number of VNFCs
	// autoscaler is the name of the HorizontalPodAutoscaler that decides on the number of pods; "" for none.
	autoscaler string
}

func (w *workload) ref() objects.Ref { return refOf(w.obj) }

// scalable says that the workload has a number of pods that a client sets.
func scalable(kind string) bool {
	return kind == "Deployment" || kind == "StatefulSet" || kind == "ReplicaSet"
}

// isWorkload says that a VDU can be an object of the kind.
func isWorkload(apiVersion, kind string) bool {
	switch kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet":
		return apiVersion == "apps/v1"
	case "Pod":
		return apiVersion == "v1"
	}
	return false
}

// clusterScoped are the built-in kinds without a namespace.
var clusterScoped = []string{
	"Namespace", "Node", "PersistentVolume", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding",
	"StorageClass", "VolumeAttachment", "CSIDriver", "CSINode", "PriorityClass", "IngressClass", "RuntimeClass",
	"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "CertificateSigningRequest", "FlowSchema", "PriorityLevelConfiguration",
	"ClusterTrustBundle", "DeviceClass", "ResourceSlice",
}

// source is what the objects of an instance are made from.
type source struct {
	pkg      fs.FS
	flavour  *vnfd.Flavour
	params   parameters
	instance string
	counts   map[string]int // number of VNFCs by VDU
}

// load makes the desired objects. What is wrong with the manifests is reported at the list of files.
func (s source) load() (*desired, []lcm.InvalidParam, error) {
	d := &desired{namespace: s.params.namespace}
	var bad []lcm.InvalidParam
	where := map[objects.Ref]string{}
	for _, file := range s.params.files {
		list, err := s.read(file.path)
		if e, ok := errors.AsType[*lcm.Error](err); ok && e.Code == lcm.CodeUnprocessable {
			bad = append(bad, lcm.InvalidParam{Pointer: file.pointer, Detail: file.where() + e.Detail})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, o := range list {
			o.SetUID("")
			d.objects = append(d.objects, o)
		}
	}
	if len(d.objects) > maxObjects {
		bad = append(bad, lcm.InvalidParam{
			Pointer: "/additionalParams/" + paramFiles,
			Detail:  fmt.Sprintf("the manifests have %d objects; at most %d are applied", len(d.objects), maxObjects),
		})
		return nil, bad, nil
	}
	d.settleNamespaces()
	for _, o := range d.objects {
		ref := refOf(o)
		if other, ok := where[ref]; ok {
			bad = append(bad, lcm.InvalidParam{
				Pointer: "/additionalParams/" + paramFiles, Detail: other + " is there twice",
			})
		}
		where[ref] = ref.String()
		mark(o, s.instance)
	}
	bad = append(bad, d.assign(s, len(bad) == 0 && !s.params.partial)...)
	for _, o := range d.objects {
		markTemplate(o)
	}
	objects.Sort(d.objects)
	return d, bad, nil
}

// read parses one manifest of the package.
func (s source) read(file string) ([]*unstructured.Unstructured, error) {
	f, err := s.pkg.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the package has no file %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s of the package: %w", file, err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "%s is a folder of the package, not a manifest", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, objects.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s of the package: %w", file, err)
	}
	return objects.Parse(file, data)
}

// settleNamespaces gives every object of a kind with namespaces its namespace.
func (d *desired) settleNamespaces() {
	scoped := map[string]bool{} // kinds of the manifests' own definitions, and whether they have namespaces
	for _, o := range d.objects {
		if o.GetKind() == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			scoped[group+"/"+kind] = scope != "Cluster"
		}
	}
	for _, o := range d.objects {
		group, _, _ := strings.Cut(o.GetAPIVersion(), "/")
		namespaced, own := scoped[group+"/"+o.GetKind()]
		if !own {
			namespaced = !slices.Contains(clusterScoped, o.GetKind())
		}
		switch {
		case !namespaced:
			o.SetNamespace("")
		case o.GetNamespace() == "":
			o.SetNamespace(d.namespace)
		}
	}
}

// mark makes an object one of an instance.
func mark(o *unstructured.Unstructured, instance string) {
	setLabel(o, objects.LabelInstance, instance)
	claims, _, _ := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
	if o.GetKind() != "StatefulSet" || len(claims) == 0 {
		return
	}
	for _, c := range claims {
		if m, ok := c.(map[string]any); ok {
			setLabel(&unstructured.Unstructured{Object: m}, objects.LabelInstance, instance)
		}
	}
	// spec is an object, because it has claims, so this does not fail.
	_ = unstructured.SetNestedSlice(o.Object, claims, "spec", "volumeClaimTemplates")
}

func setLabel(o *unstructured.Unstructured, key, value string) {
	all := o.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	o.SetLabels(all)
}

// assign finds the workload of every VDU and sets its number of pods. A missing workload is reported only if all
// manifests were read.
func (d *desired) assign(s source, complete bool) []lcm.InvalidParam {
	var bad []lcm.InvalidParam
	at := "/additionalParams/" + paramFiles
	for _, vdu := range s.flavour.VDUs {
		kind, name := realisedBy(vdu)
		var found []*unstructured.Unstructured
		for _, o := range d.objects {
			if o.GetName() == name && isWorkload(o.GetAPIVersion(), o.GetKind()) &&
				(kind == "" || kind == o.GetKind()) {
				found = append(found, o)
			}
		}
		switch len(found) {
		case 0:
			if complete {
				bad = append(bad, lcm.InvalidParam{Pointer: at, Detail: d.missing(vdu.Name, kind, name)})
			}
			continue
		case 1:
		default:
			bad = append(bad, lcm.InvalidParam{Pointer: at, Detail: fmt.Sprintf(
				"the manifests have a %s and a %s with the name %s of the VDU %s",
				found[0].GetKind(), found[1].GetKind(), name, vdu.Name)})
			continue
		}
		w := workload{vdu: vdu.Name, obj: found[0], want: s.counts[vdu.Name]}
		w.autoscaler = d.autoscaler(w.obj)
		annotations := w.obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[objects.AnnotationVDU] = vdu.Name
		w.obj.SetAnnotations(annotations)
		switch {
		case !scalable(w.obj.GetKind()):
		case w.autoscaler != "": // the autoscaler owns the number
			unstructured.RemoveNestedField(w.obj.Object, "spec", "replicas")
		default:
			if err := unstructured.SetNestedField(w.obj.Object, int64(w.want), "spec", "replicas"); err != nil {
				bad = append(bad, lcm.InvalidParam{Pointer: at, Detail: fmt.Sprintf("%s has no spec that is an object",
					w.ref())})
			}
		}
		d.workloads = append(d.workloads, w)
	}
	return bad
}

// missing says why a VDU has no workload.
func (d *desired) missing(vdu, kind, name string) string {
	const possible = "Deployment, StatefulSet, ReplicaSet, DaemonSet or Pod"
	for _, o := range d.objects {
		if k := o.GetKind(); o.GetName() == name && (k == "Job" || k == "CronJob") {
			return fmt.Sprintf("the VDU %s is the %s %s, whose pods end; a VDU is a %s", vdu, k, name, possible)
		}
	}
	return fmt.Sprintf("the manifests have no %s %s for the VDU %s", cmp.Or(kind, possible), name, vdu)
}

// realisedBy is the kind and the name of the workload of a VDU: those of its mcio_identification_data, else any kind
// and the name of the VDU.
func realisedBy(vdu vnfd.VDU) (kind, name string) {
	if w := vdu.Workload; w != nil {
		return w.Kind, w.Name
	}
	return "", cmp.Or(vdu.DisplayName, vdu.Name)
}

// autoscaler returns the name of the HorizontalPodAutoscaler of a workload.
func (d *desired) autoscaler(of *unstructured.Unstructured) string {
	for _, o := range d.objects {
		if o.GetKind() != "HorizontalPodAutoscaler" || o.GetNamespace() != of.GetNamespace() {
			continue
		}
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "kind")
		name, _, _ := unstructured.NestedString(o.Object, "spec", "scaleTargetRef", "name")
		if kind == of.GetKind() && name == of.GetName() {
			return o.GetName()
		}
	}
	return ""
}

// workload returns the one of a VDU; nil when there is none.
func (d *desired) workload(vdu string) *workload {
	for n := range d.workloads {
		if d.workloads[n].vdu == vdu {
			return &d.workloads[n]
		}
	}
	return nil
}

// has says that an object is desired.
func (d *desired) has(r objects.Ref) bool {
	r.UID = ""
	return slices.ContainsFunc(d.objects, func(o *unstructured.Unstructured) bool { return refOf(o) == r })
}

// refOf names an object, whichever uid it has.
func refOf(o *unstructured.Unstructured) objects.Ref {
	r := objects.RefOf(o)
	r.UID = ""
	return r
}
