package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// object is an object of a release in the cluster.
type object struct {
	*unstructured.Unstructured        // as it is there, or as the manifest has it if it is not
	absent                     bool   // it is not there
	release                    string // name of its release
	vdu                        string // whose pods it makes; "" for none
}

// seen is what a cluster has of an instance.
type seen struct {
	releases []object // the newest record of each
	objects  []object
	pods     []object // of the workloads, also those that are being deleted
}

// observe reads the releases of the instance, their objects, and the pods of its VDUs.
func (k *work) observe(ctx context.Context, s *session) (*seen, error) {
	out, err := k.releasesIn(ctx, s)
	if err != nil {
		return nil, err
	}
	k.assign(out.objects)
	return out, k.observePods(ctx, s, out)
}

// releasesIn reads the releases of the instance and their objects.
func (k *work) releasesIn(ctx context.Context, s *session) (*seen, error) {
	out := &seen{}
	for n := range k.settings.releases {
		name := k.settings.releases[n].name
		r := s.release(name, k.Instance.ID, k.Op.ID)
		rel, err := r.last()
		if err != nil {
			return nil, err
		}
		if rel == nil {
			continue
		}
		if err := r.owned(rel); err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: map[string]any{"kind": typeRelease}}
		u.SetName(name)
		u.SetNamespace(s.namespace)
		u.SetResourceVersion(strconv.Itoa(rel.Version))
		u.SetLabels(map[string]string{"status": string(rel.Info.Status), "operation": rel.Labels[labelOperation]})
		out.releases = append(out.releases, object{Unstructured: u, release: name})
		manifests, err := decode(strings.NewReader(rel.Manifest))
		if err != nil {
			return nil, r.failure("read the objects of", err)
		}
		for _, m := range manifests {
			o, err := s.live(ctx, m)
			if err != nil {
				return nil, err
			}
			o.release = name
			out.objects = append(out.objects, o)
		}
	}
	return out, nil
}

// live reads the object of a manifest.
func (s *session) live(ctx context.Context, m *unstructured.Unstructured) (object, error) {
	c, err := s.client(m.GroupVersionKind(), m.GetNamespace())
	if meta.IsNoMatchError(err) {
		return object{Unstructured: m, absent: true}, nil
	}
	if err != nil {
		return object{}, err
	}
	is, err := c.Get(ctx, m.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return object{Unstructured: m, absent: true}, nil
	}
	if err != nil {
		return object{}, s.failure("read "+m.GetKind()+" "+m.GetName(), err)
	}
	return object{Unstructured: is}, nil
}

// client is the client for a kind in a namespace; "" is the session's. The error of an unknown kind is one of
// meta.IsNoMatchError.
func (s *session) client(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	m, err := s.kinds.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil, err
	}
	if err != nil {
		return nil, s.failure("ask for the kinds", err)
	}
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return s.objects.Resource(m.Resource), nil
	}
	if namespace == "" {
		namespace = s.namespace
	}
	return s.objects.Resource(m.Resource).Namespace(namespace), nil
}

// failure is the error of a request, with the API server's own text.
func (s *session) failure(what string, err error) error {
	if e, ok := errors.AsType[*lcm.Error](err); ok {
		return e
	}
	e := lcm.Errorf(lcm.CodeUpstream, "%s: %w (cluster %s)", what, err, s.host)
	e.Title = "Kubernetes API failed"
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		e.Code, e.Class = lcm.CodeUnavailable, lcm.Transient
		return e
	}
	return classify(e, err)
}

// workloads are the kinds whose pods are VNFCs.
var workloads = []string{"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Pod"}

// assign finds the workload of each VDU: the one that vdu_mapping names, or whose name is the name of the VDU in the
// VNFD, alone or after the name of the release. A single workload belongs to a single VDU.
func (k *work) assign(objects []object) {
	var all []*object
	for n := range objects {
		if slices.Contains(workloads, objects[n].GetKind()) {
			all = append(all, &objects[n])
		}
	}
	for n := range k.Flavour.VDUs {
		v := &k.Flavour.VDUs[n]
		for _, o := range all {
			m, mapped := k.settings.workloads[v.Name]
			switch name := o.GetName(); {
			case mapped && (m.name != name || m.kind != o.GetKind() || m.release != "" && m.release != o.release):
			case mapped, name == v.DisplayName, name == v.Name, name == o.release+"-"+v.DisplayName,
				name == o.release+"-"+strings.ToLower(v.Name), len(all) == 1 && len(k.Flavour.VDUs) == 1:
				o.vdu = v.Name
			}
		}
	}
}

// observePods reads the pods of the workloads of VDUs.
func (k *work) observePods(ctx context.Context, s *session, out *seen) error {
	for n := range out.objects {
		o := &out.objects[n]
		if o.vdu == "" || o.absent {
			continue
		}
		pods, err := s.podsOf(ctx, o.Unstructured)
		if err != nil {
			return err
		}
		for _, p := range pods {
			out.pods = append(out.pods, object{Unstructured: p, release: o.release, vdu: o.vdu})
		}
	}
	return nil
}

// podsOf lists the pods of a workload. The API server selects those that match the workload: a namespace can have
// thousands of others.
func (s *session) podsOf(ctx context.Context, o *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if o.GetKind() == podKind.Kind {
		return []*unstructured.Unstructured{o}, nil
	}
	selector, err := selectorOf(o)
	if err != nil {
		return nil, s.failure(fmt.Sprintf("read the selector of %s %s", o.GetKind(), o.GetName()), err)
	}
	options := metav1.ListOptions{LabelSelector: selector.String()}
	owners := map[string]bool{string(o.GetUID()): true}
	kinds := []schema.GroupVersionKind{podKind}
	if o.GetKind() == "Deployment" { // its pods are those of its ReplicaSets
		kinds = []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, podKind}
	}
	var out []*unstructured.Unstructured
	for _, gvk := range kinds {
		c, err := s.client(gvk, o.GetNamespace())
		if err != nil {
			return nil, s.failure("find the kind "+gvk.Kind, err)
		}
		list, err := c.List(ctx, options)
		if err != nil {
			return nil, s.failure("list the objects of the kind "+gvk.Kind, err)
		}
		for n := range list.Items {
			it := &list.Items[n]
			switch {
			case !owners[controllerOf(it)]:
			case gvk == podKind:
				out = append(out, it)
			default:
				owners[string(it.GetUID())] = true
			}
		}
	}
	return out, nil
}

// selectorOf selects the pods of a workload.
func selectorOf(o *unstructured.Unstructured) (labels.Selector, error) {
	raw, _, _ := unstructured.NestedMap(o.Object, "spec", "selector")
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &s); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&s)
}

// controllerOf is the uid of the controller of an object.
func controllerOf(o *unstructured.Unstructured) string {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return string(ref.UID)
	}
	return ""
}

// unready says why the objects are not as they should be; "" when they are. failed means that waiting does not help.
func (k *work) unready(is *seen, counts map[string]int) (why string, failed bool) {
	for _, p := range is.pods {
		if cause, final := podProblem(p.Unstructured); cause != "" {
			return fmt.Sprintf("VDU %s: pod %s: %s", p.vdu, p.GetName(), cause), final
		}
	}
	for _, o := range is.objects {
		if o.absent {
			return fmt.Sprintf("%s %s is not there", o.GetKind(), o.GetName()), false
		}
		st, err := status.Compute(o.Unstructured)
		if text := refusal(o.Unstructured); err == nil && st.Status != status.CurrentStatus && text != "" {
			st.Message += ": " + text
		}
		switch {
		case err != nil || st.Status == status.CurrentStatus:
		case st.Status == status.FailedStatus:
			return fmt.Sprintf("%s %s: %s", o.GetKind(), o.GetName(), st.Message), true
		default:
			return fmt.Sprintf("%s %s: %s", o.GetKind(), o.GetName(), st.Message), false
		}
	}
	have := map[string]int{}
	for _, p := range is.pods {
		if p.GetDeletionTimestamp() != nil {
			return fmt.Sprintf("pod %s is being deleted", p.GetName()), false
		}
		have[p.vdu]++
	}
	for n := range k.Flavour.VDUs {
		if vdu := k.Flavour.VDUs[n].Name; have[vdu] != counts[vdu] {
			return fmt.Sprintf("the chart makes %d pods of the VDU %s instead of %d; check %s and the names of its "+
				"workloads", have[vdu], vdu, counts[vdu], paramValueNames), false
		}
	}
	return "", false
}

// refusal is why the cluster makes no pods of a workload, in the API's own words; "" if it does.
func refusal(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, _ := c.(map[string]any); m["type"] == "ReplicaFailure" && m["status"] == "True" {
			text, _ := m["message"].(string)
			return text
		}
	}
	return ""
}

// podProblem is why a pod is not ready, in the API's own words; "" for a pod that is ready or is being deleted.
func podProblem(p *unstructured.Unstructured) (why string, failed bool) {
	if p.GetDeletionTimestamp() != nil {
		return "", false
	}
	containers, _, _ := unstructured.NestedSlice(p.Object, "status", "containerStatuses")
	inits, _, _ := unstructured.NestedSlice(p.Object, "status", "initContainerStatuses")
	for _, c := range append(inits, containers...) {
		m, _ := c.(map[string]any)
		reason, _, _ := unstructured.NestedString(m, "state", "waiting", "reason")
		text, _, _ := unstructured.NestedString(m, "state", "waiting", "message")
		if reason != "" && reason != "ContainerCreating" && reason != "PodInitializing" {
			return strings.TrimSuffix(fmt.Sprintf("container %v: %s: %s", m["name"], reason, text), ": "),
				reason == "InvalidImageName" || reason == "CreateContainerConfigError"
		}
	}
	if phase, _, _ := unstructured.NestedString(p.Object, "status", "phase"); phase == "Failed" {
		text, _, _ := unstructured.NestedString(p.Object, "status", "message")
		return "it has failed: " + text, false
	}
	conditions, _, _ := unstructured.NestedSlice(p.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if (m["type"] == "PodScheduled" || m["type"] == "Ready") && m["status"] == "False" {
			text, _ := m["message"].(string)
			return fmt.Sprintf("%v: %s", m["reason"], text), false
		}
	}
	return "", false
}
