package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Pod is a pod on a node that has to be drained.
type Pod struct {
	Namespace, Name string
	// Leaving means that it has been evicted and has not ended yet.
	Leaving bool
	// Bare means that it has no controller, so it is not started again after an eviction.
	Bare bool
	// Tolerant means that it tolerates the taint of a cordoned node, so its controller can start it there again.
	Tolerant bool
	// UID tells it from a later pod of the same name.
	UID types.UID
}

// String returns its name in the form of kubectl.
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// Cordon prevents new pods on a node. It succeeds if the node does not exist.
func (c *Client) Cordon(ctx context.Context, node string) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"unschedulable": true}})
	if err != nil {
		return err
	}
	err = c.rest.Patch(types.MergePatchType).AbsPath("/api/v1/nodes", node).Body(patch).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.requestError("cordon node "+node, err)
}

// Occupants lists the pods that have to leave a node before it is removed: without pods of daemon sets, static pods,
// and pods that have ended.
func (c *Client) Occupants(ctx context.Context, node string) ([]Pod, error) {
	var list corev1.PodList
	err := c.rest.Get().AbsPath("/api/v1/pods").Param("fieldSelector", "spec.nodeName="+node).Do(ctx).Into(&list)
	if err != nil {
		return nil, c.requestError("list the pods of node "+node, err)
	}
	var out []Pod
	for i := range list.Items {
		p := &list.Items[i]
		owner := metav1.GetControllerOf(p)
		_, static := p.Annotations[corev1.MirrorPodAnnotationKey]
		if static || owner != nil && owner.Kind == "DaemonSet" || p.Status.Phase == corev1.PodSucceeded ||
			p.Status.Phase == corev1.PodFailed {
			continue
		}
		out = append(out, Pod{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID,
			Leaving: p.DeletionTimestamp != nil, Bare: owner == nil, Tolerant: toleratesCordon(p),
		})
	}
	return out, nil
}

func toleratesCordon(p *corev1.Pod) bool {
	taint := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Background(), &taint, false)
	})
}

// Evict evicts a pod (policy/v1 Eviction). refused has the API server's text if a disruption budget does not allow the
// eviction now. It succeeds if the pod does not exist.
func (c *Client) Evict(ctx context.Context, p Pod) (refused string, err error) {
	e := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}},
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
		return fullErrorText(err), nil
	}
	return "", c.requestError("evict pod "+p.String(), err)
}

// fullErrorText returns the text of an API server's error with its causes: for an eviction the disruption budget and
// its pods.
func fullErrorText(err error) string {
	words := []string{err.Error()}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			words = append(words, cause.Message)
		}
	}
	return strings.Join(words, " ")
}

// DeleteNode removes a node from the cluster. It succeeds if the node does not exist.
func (c *Client) DeleteNode(ctx context.Context, node string) error {
	err := c.rest.Delete().AbsPath("/api/v1/nodes", node).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.requestError("delete node "+node, err)
}
