package objects

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The bounds of lists.
const (
	pageSize  = 250
	maxListed = 10_000 // objects of one List
)

// Options of Apply.
type Options struct {
	// DryRun lets the API server do everything but store the object.
	DryRun bool
	// Manager is the field manager; empty means FieldManager.
	Manager string
	// Force takes fields that another manager has; without it they are a CodeConflict error that names them.
	Force bool
}

// Apply creates an object or changes it with server-side apply, and returns it as the API server has it now. Fields
// that the manager has applied before and that obj does not have are removed. An object of a kind with namespaces that
// names none goes to the namespace default. The object is not changed. The error has the API server's text; its cause
// is ErrUnknownKind if the cluster does not serve the kind.
func (c *Cluster) Apply(
	ctx context.Context, obj *unstructured.Unstructured, opts Options,
) (live *unstructured.Unstructured, err error) {
	ref := RefOf(obj)
	path, err := c.path(ctx, ref.GVK(), ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	out := obj.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "metadata", "managedFields") // the API server refuses them
	body, err := json.Marshal(out.Object)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "%s cannot be written as JSON: %w", ref, err)
	}
	manager := opts.Manager
	if manager == "" {
		manager = FieldManager
	}
	r := c.client.REST().Patch(types.ApplyPatchType).AbsPath(path).Param("fieldManager", manager).Body(body)
	if opts.Force {
		r.Param("force", "true")
	}
	if opts.DryRun {
		r.Param("dryRun", metav1.DryRunAll)
	}
	return c.one(ctx, "apply "+ref.String(), r)
}

// Get reads an object. CodeNotFound if it does not exist, or if ref has the UID of another one.
func (c *Cluster) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	path, err := c.path(ctx, ref.GVK(), ref.Namespace, ref.Name)
	if errors.Is(err, ErrUnknownKind) {
		return nil, gone(ref)
	} else if err != nil {
		return nil, err
	}
	o, err := c.one(ctx, "read "+ref.String(), c.client.REST().Get().AbsPath(path))
	if apierrors.IsNotFound(err) && lcm.AsError(err).Code != lcm.CodeNotFound { // no object, but no path
		c.forget(ref.GVK().GroupVersion())
		return nil, gone(ref)
	}
	if err == nil && ref.UID != "" && string(o.GetUID()) != ref.UID {
		return nil, gone(ref)
	}
	return o, err
}

func gone(ref Ref) error {
	return lcm.Errorf(lcm.CodeNotFound, "%s with the uid %q does not exist", ref, ref.UID)
}

// one makes a request whose answer is an object.
func (c *Cluster) one(ctx context.Context, what string, r *rest.Request) (*unstructured.Unstructured, error) {
	raw, err := c.send(ctx, what, r)
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "%s: the answer is not an object: %w", what, err)
	}
	return o, nil
}

// List returns the objects of some kinds that a label selector selects (empty for all), of a namespace or of all
// namespaces (empty), ordered by kind as given, and by namespace and name. A kind that the cluster does not serve has
// none. CodeTooLarge for more than 10000 objects.
func (c *Cluster) List(
	ctx context.Context, kinds []schema.GroupVersionKind, namespace, selector string,
) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, gvk := range kinds {
		path, err := c.path(ctx, gvk, namespace, "")
		if errors.Is(err, ErrUnknownKind) {
			continue
		} else if err != nil {
			return nil, err
		}
		next := ""
		for {
			r := c.client.REST().Get().AbsPath(path).Param("limit", strconv.Itoa(pageSize))
			if selector != "" {
				r.Param("labelSelector", selector)
			}
			if next != "" {
				r.Param("continue", next)
			}
			raw, err := c.send(ctx, "list objects of the kind "+gvk.Kind, r)
			if apierrors.IsNotFound(err) { // the definition of the kind was deleted
				c.forget(gvk.GroupVersion())
				break
			}
			if err != nil {
				return nil, err
			}
			var page struct {
				Metadata metav1.ListMeta   `json:"metadata"`
				Items    []json.RawMessage `json:"items"`
			}
			if err := json.Unmarshal(raw, &page); err != nil {
				return nil, lcm.Errorf(lcm.CodeUpstream, "the list of the kind %s cannot be read: %w", gvk.Kind, err)
			}
			for _, item := range page.Items {
				o, err := listed(gvk, item)
				if err != nil {
					return nil, err
				}
				out = append(out, o)
			}
			if len(out) > maxListed {
				return nil, lcm.Errorf(lcm.CodeTooLarge,
					"the cluster has more than %d objects of the kind %s", maxListed, gvk.Kind)
			}
			if next = page.Metadata.Continue; next == "" {
				break
			}
		}
	}
	return out, nil
}

// listed reads an item of a list, which does not name its kind.
func listed(gvk schema.GroupVersionKind, item []byte) (*unstructured.Unstructured, error) {
	content := map[string]any{}
	if err := utiljson.Unmarshal(item, &content); err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "an item of the list of the kind %s cannot be read: %w", gvk.Kind, err)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(gvk)
	return o, nil
}

// DeleteOptions of Delete.
type DeleteOptions struct {
	// UID of the object that is meant; empty means that of the Ref, or any.
	UID string
	// Propagation says how dependents are deleted; empty means the default of the kind.
	Propagation metav1.DeletionPropagation
}

// Delete starts the deletion of an object. It succeeds if the object does not exist, is being deleted, or is another
// one of the same name. An object exists until its finalizers are done: Get says when it is gone.
func (c *Cluster) Delete(ctx context.Context, ref Ref, opts DeleteOptions) error {
	if opts.UID != "" {
		ref.UID = opts.UID
	}
	path, err := c.path(ctx, ref.GVK(), ref.Namespace, ref.Name)
	if errors.Is(err, ErrUnknownKind) {
		return nil // with its kind the object has gone
	} else if err != nil {
		return err
	}
	body := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	if ref.UID != "" {
		body.Preconditions = metav1.NewUIDPreconditions(ref.UID)
	}
	if opts.Propagation != "" {
		body.PropagationPolicy = &opts.Propagation
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = c.send(ctx, "delete "+ref.String(),
		c.client.REST().Delete().AbsPath(path).SetHeader("Content-Type", "application/json").Body(raw))
	if err == nil {
		return nil
	}
	switch lcm.AsError(err).Code { //nolint:exhaustive // the others are failures
	case lcm.CodeNotFound:
		return nil
	case lcm.CodeConflict: // another object of the name, or a namespace that is being deleted already
		now, e := c.Get(ctx, ref)
		if e != nil && lcm.AsError(e).Code == lcm.CodeNotFound || e == nil && now.GetDeletionTimestamp() != nil {
			return nil
		}
	}
	return err
}

// Scale sets the number of replicas of a Deployment, StatefulSet, ReplicaSet or another kind with the subresource
// scale.
func (c *Cluster) Scale(ctx context.Context, ref Ref, replicas int) error {
	path, err := c.path(ctx, ref.GVK(), ref.Namespace, ref.Name)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": replicas}})
	if err != nil {
		return err
	}
	r := c.client.REST().Patch(types.MergePatchType).AbsPath(path + "/scale")
	_, err = c.send(ctx, "set the replicas of "+ref.String()+" to "+strconv.Itoa(replicas),
		r.Param("fieldManager", FieldManager).Body(body))
	return err
}
