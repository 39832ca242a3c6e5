package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

var (
	podKind        = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	replicaSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	jobKind        = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)

// Pods returns the pods of a workload by name: those that it controls, also through ReplicaSets or Jobs. Of a Pod it is
// the pod itself. Pods that are being deleted are among them. CodeNotFound if the owner does not exist.
func (c *Cluster) Pods(ctx context.Context, owner Ref) ([]corev1.Pod, error) {
	o, err := c.Get(ctx, owner)
	if err != nil {
		return nil, err
	}
	return c.podsOf(ctx, o)
}

func (c *Cluster) podsOf(ctx context.Context, owner *unstructured.Unstructured) ([]corev1.Pod, error) {
	if owner.GroupVersionKind() == podKind {
		p, err := podOf(owner)
		return []corev1.Pod{p}, err
	}
	controllers := map[types.UID]bool{owner.GetUID(): true}
	selector := selectorOf(owner)
	between := map[string]schema.GroupVersionKind{"Deployment": replicaSetKind, "CronJob": jobKind}
	if kind, ok := between[owner.GetKind()]; ok {
		sets, err := c.List(ctx, []schema.GroupVersionKind{kind}, owner.GetNamespace(), selector)
		if err != nil {
			return nil, err
		}
		for _, s := range sets {
			if by := metav1.GetControllerOf(s); by != nil && by.UID == owner.GetUID() {
				controllers[s.GetUID()] = true
			}
		}
	}
	list, err := c.List(ctx, []schema.GroupVersionKind{podKind}, owner.GetNamespace(), selector)
	if err != nil {
		return nil, err
	}
	var out []corev1.Pod
	for _, u := range list {
		if by := metav1.GetControllerOf(u); by == nil || !controllers[by.UID] {
			continue
		}
		p, err := podOf(u)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// selectorOf returns the label selector of a workload's pods; empty if it has none that can be read.
func selectorOf(o *unstructured.Unstructured) string {
	m, _, _ := unstructured.NestedMap(o.Object, "spec", "selector")
	if o.GetKind() == "ReplicationController" {
		m = map[string]any{"matchLabels": m}
	}
	var s metav1.LabelSelector
	if len(m) == 0 || runtime.DefaultUnstructuredConverter.FromUnstructured(m, &s) != nil {
		return ""
	}
	l, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return ""
	}
	return l.String()
}

func podOf(u *unstructured.Unstructured) (corev1.Pod, error) {
	var p corev1.Pod
	raw, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return p, lcm.Errorf(lcm.CodeUpstream, "the pod %s cannot be read: %w", RefOf(u), err)
	}
	return p, nil
}
