package helm

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ownedKinds are the kinds that are searched for objects with the label of an instance. Releases delete objects of all
// kinds; these are for what no release knows of.
var ownedKinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	podKind,
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
}

// recordType is the type of the Secrets that hold the records of releases.
const recordType = "helm.sh/release.v1"

// labelled lists the objects with the label of an instance, without the records of releases.
func (s *session) labelled(ctx context.Context, instance string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, gvk := range ownedKinds {
		c, err := s.client(gvk, "")
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list, err := c.List(ctx, metav1.ListOptions{LabelSelector: labelInstance + "=" + instance})
		if err != nil {
			return nil, s.failure("list the objects of the kind "+gvk.Kind, err)
		}
		for n := range list.Items {
			o := &list.Items[n]
			if o.Object["type"] == recordType {
				continue
			}
			o.SetGroupVersionKind(gvk)
			out = append(out, o)
		}
	}
	return out, nil
}

// delete deletes an object with this uid. It returns nil when there is none.
func (s *session) delete(ctx context.Context, o *unstructured.Unstructured) error {
	c, err := s.client(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		return err
	}
	uid, background := o.GetUID(), metav1.DeletePropagationBackground
	err = c.Delete(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
	})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // another object has the name now
		return nil
	}
	return s.failure(fmt.Sprintf("delete %s %s", o.GetKind(), o.GetName()), err)
}

// remainingPods lists the pods of the inventory that are still there.
func (k *work) remainingPods(ctx context.Context, s *session) ([]*unstructured.Unstructured, error) {
	wanted := map[types.UID]bool{}
	for _, r := range k.Instance.Inventory {
		if r.Type == podKind.Kind {
			wanted[types.UID(r.ID)] = true
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	c, err := s.client(podKind, "")
	if err != nil {
		return nil, s.failure("find the kind "+podKind.Kind, err)
	}
	list, err := c.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, s.failure("list the objects of the kind "+podKind.Kind, err)
	}
	var out []*unstructured.Unstructured
	for n := range list.Items {
		if wanted[list.Items[n].GetUID()] {
			out = append(out, &list.Items[n])
		}
	}
	return out, nil
}
