package kubernetes

import (
	"context"
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const volumesPath = "/api/v1/persistentvolumes"

// ErrNoVolume reports that a PersistentVolume does not exist.
var ErrNoVolume = errors.New("the PersistentVolume does not exist")

// ApplyVolume creates or changes a PersistentVolume (server-side apply) and returns it. The server and path of an NFS
// volume cannot be changed: the API server rejects that with 422.
func (c *Client) ApplyVolume(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var got corev1.PersistentVolume
	err = c.rest.Patch(types.ApplyPatchType).AbsPath(volumesPath, v.Name).Param("fieldManager", "gybe").Param("force",
		"true").Body(body).Do(ctx).Into(&got)
	return &got, c.requestError("register PersistentVolume "+v.Name, err)
}

// Volume returns a PersistentVolume, or ErrNoVolume.
func (c *Client) Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	var got corev1.PersistentVolume
	err := c.rest.Get().AbsPath(volumesPath, name).Do(ctx).Into(&got)
	if apierrors.IsNotFound(err) {
		return nil, ErrNoVolume
	}
	return &got, c.requestError("read PersistentVolume "+name, err)
}

// DeleteVolume deletes a PersistentVolume. It succeeds if the volume does not exist.
func (c *Client) DeleteVolume(ctx context.Context, name string) error {
	err := c.rest.Delete().AbsPath(volumesPath, name).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.requestError("delete PersistentVolume "+name, err)
}
