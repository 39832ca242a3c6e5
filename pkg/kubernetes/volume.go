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

// ErrNoVolume says that there is no such PersistentVolume.
var ErrNoVolume = errors.New("no such PersistentVolume")

// ApplyVolume makes a PersistentVolume, or brings it to what is wanted (server-side apply), and returns it as it is now. Where an NFS
// volume lies cannot be changed: the API server refuses that with 422.
func (c *Client) ApplyVolume(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var got corev1.PersistentVolume
	err = c.rest.Patch(types.ApplyPatchType).AbsPath(volumesPath, v.Name).Param("fieldManager", "gybe").Param("force", "true").Body(body).Do(ctx).Into(&got)
	return &got, c.failed("register PersistentVolume "+v.Name, err)
}

// Volume returns a PersistentVolume, or ErrNoVolume.
func (c *Client) Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	var got corev1.PersistentVolume
	err := c.rest.Get().AbsPath(volumesPath, name).Do(ctx).Into(&got)
	if apierrors.IsNotFound(err) {
		return nil, ErrNoVolume
	}
	return &got, c.failed("look at PersistentVolume "+name, err)
}

// DeleteVolume asks for the end of a PersistentVolume. One that is not there needs none.
func (c *Client) DeleteVolume(ctx context.Context, name string) error {
	err := c.rest.Delete().AbsPath(volumesPath, name).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.failed("delete PersistentVolume "+name, err)
}
