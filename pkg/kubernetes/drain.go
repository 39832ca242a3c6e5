package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is a pod that keeps a node from being empty.
type Pod struct {
	Namespace, Name string
	// Leaving says that it has been evicted and has not ended yet.
	Leaving bool
	// Bare says that it has no controller: once evicted, nobody starts it again.
	Bare bool
	uid  types.UID
}

// String is how kubectl names it.
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Cordon keeps new pods off a node. A node that is not there needs no cordon.
func (c *Client) Cordon(ctx context.Context, node string) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"unschedulable": true}})
	if err != nil {
		return err
	}
	err = c.rest.Patch(types.MergePatchType).AbsPath("/api/v1/nodes", node).Body(patch).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.failed("cordon node "+node, err)
}

// Occupants lists the pods that have to leave a node before it goes: not those of daemon sets, nor static ones, which belong to the node,
// nor those that have ended.
func (c *Client) Occupants(ctx context.Context, node string) ([]Pod, error) {
	var list corev1.PodList
	err := c.rest.Get().AbsPath("/api/v1/pods").Param("fieldSelector", "spec.nodeName="+node).Do(ctx).Into(&list)
	if err != nil {
		return nil, c.failed("list the pods of node "+node, err)
	}
	var out []Pod
	for i := range list.Items {
		p := &list.Items[i]
		owner := metav1.GetControllerOf(p)
		_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
		if static || owner != nil && owner.Kind == "DaemonSet" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		out = append(out, Pod{Namespace: p.Namespace, Name: p.Name, Leaving: p.DeletionTimestamp != nil, Bare: owner == nil, uid: p.UID})
	}
	return out, nil
}

// Evict asks a pod to leave its node (policy/v1 Eviction). refused holds the API server's words when a disruption budget forbids it for now;
// a pod that is gone is as good.
func (c *Client) Evict(ctx context.Context, p Pod) (refused string, err error) {
	e := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.uid}},
	}
	body, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	err = c.rest.Post().AbsPath("/api/v1/namespaces", p.Namespace, "pods", p.Name, "eviction").
		SetHeader("Content-Type", "application/json").Body(body).
		MaxRetries(0). // the caller has other pods to ask, and a time limit
		Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // gone, or another pod of the same name
		return "", nil
	case apierrors.IsTooManyRequests(err):
		return whole(err), nil
	}
	return "", c.failed("evict pod "+p.String(), err)
}

// whole is what an API server says with its causes: for an eviction these name the disruption budget and count its pods.
func whole(err error) string {
	words := []string{err.Error()}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			words = append(words, cause.Message)
		}
	}
	return strings.Join(words, " ")
}

// DeleteNode removes a node from the cluster; one that is not there is as good.
func (c *Client) DeleteNode(ctx context.Context, node string) error {
	err := c.rest.Delete().AbsPath("/api/v1/nodes", node).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.failed("delete node "+node, err)
}
