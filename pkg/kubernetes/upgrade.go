package kubernetes

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Mark sets annotations of a node; an empty value removes one. In the same change the node is cordoned (closed true),
// uncordoned (false) or not changed (nil). CodeNotFound if the cluster does not have the node.
func (c *Client) Mark(ctx context.Context, node string, annotations map[string]string, closed *bool) error {
	values := map[string]any{}
	for k, v := range annotations {
		if values[k] = v; v == "" {
			values[k] = nil
		}
	}
	patch := map[string]any{"metadata": map[string]any{"annotations": values}}
	if closed != nil {
		patch["spec"] = map[string]any{"unschedulable": *closed}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	err = c.rest.Patch(types.MergePatchType).AbsPath("/api/v1/nodes", node).Body(body).Do(ctx).Error()
	return c.requestError("mark node "+node, err)
}

// ControlPlane returns the version of the API server on each node ("v1.34.2"), by the images of kubeadm's static pods.
func (c *Client) ControlPlane(ctx context.Context) (map[string]string, error) {
	var list corev1.PodList
	err := c.rest.Get().AbsPath("/api/v1/namespaces/kube-system/pods").Param("labelSelector",
		"component=kube-apiserver").Do(ctx).Into(&list)
	if err != nil {
		return nil, c.requestError("list the API servers", err)
	}
	out := map[string]string{}
	for i := range list.Items {
		p := &list.Items[i]
		for _, ctr := range p.Spec.Containers {
			if at := strings.LastIndexByte(ctr.Image, ':'); at >= 0 {
				out[p.Spec.NodeName] = ctr.Image[at+1:]
			}
		}
	}
	return out, nil
}
