package cnf

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gybe-nfv/gybe/pkg/cnf/podvnfc"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// usual are the kinds of the manifests of most CNFs. Objects of an instance are looked for among these, and among the
// kinds that its manifests and its inventory have.
var usual = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "Pod"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
}

// kinds lists the kinds among which objects of an instance are looked for.
func kinds(i *lcm.Instance, of ...*desired) []schema.GroupVersionKind {
	out := slices.Clone(usual)
	add := func(k schema.GroupVersionKind) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	for _, d := range of {
		if d == nil {
			continue
		}
		for _, o := range d.objects {
			add(o.GroupVersionKind())
		}
	}
	for _, r := range i.Inventory {
		if ref, ok := refIn(r); ok {
			add(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
		}
	}
	return out
}

// namespaces lists those in which objects of an instance are looked for.
func namespaces(i *lcm.Instance, of ...*desired) []string {
	var out []string
	add := func(ns string) {
		if ns != "" && !slices.Contains(out, ns) {
			out = append(out, ns)
		}
	}
	for _, d := range of {
		if d == nil {
			continue
		}
		add(d.namespace)
		for _, o := range d.objects {
			add(o.GetNamespace())
		}
	}
	for _, r := range i.Inventory {
		if ref, ok := refIn(r); ok {
			add(ref.Namespace)
		}
	}
	return out
}

// own lists the objects of the cluster that carry the instance's label, without those that a controller has made.
func (t *tick) own(ctx context.Context, of ...*desired) ([]*unstructured.Unstructured, error) {
	return t.labelled(ctx, kinds(t.w.Instance, of...), namespaces(t.w.Instance, of...))
}

// everywhere is own for an instance whose namespaces may be forgotten: all are searched, if the user of the connection
// may do that.
func (t *tick) everywhere(ctx context.Context, of ...*desired) ([]*unstructured.Unstructured, error) {
	out, err := t.labelled(ctx, kinds(t.w.Instance, of...), []string{""})
	if err != nil && lcm.AsError(err).Class == lcm.Auth {
		return t.own(ctx, of...)
	}
	return out, err
}

func (t *tick) labelled(
	ctx context.Context, kinds []schema.GroupVersionKind, namespaces []string,
) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	seen := map[objects.Ref]bool{}
	for _, ns := range namespaces {
		list, err := t.List(ctx, kinds, ns, objects.LabelInstance+"="+t.w.Instance.ID)
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			made := slices.ContainsFunc(o.GetOwnerReferences(), controls)
			if ref := refOf(o); !seen[ref] && (!made || o.GetKind() == "PersistentVolumeClaim") {
				seen[ref] = true
				out = append(out, o)
			}
		}
	}
	objects.Sort(out)
	return out, nil
}

// delete deletes the objects that list finds, in reverse order of their dependencies, and waits until they are gone.
// The step keeps them with their uids: a node that dies does not leave the step of an object open that the next one
// does not find any more, and a successor of the same name stays.
func (t *tick) delete(
	ctx context.Context, name string, list func(context.Context) ([]*unstructured.Unstructured, error),
) error {
	all := objects.Ref{Kind: "VNF", Name: t.w.Instance.ID}
	return t.w.Step(ctx, name, t.target(all), func(ctx context.Context, s *lcm.Step) error {
		refs, err := toDelete(ctx, s, list)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			err := t.w.Step(ctx, "delete", t.target(ref), func(ctx context.Context, _ *lcm.Step) error {
				err := t.Delete(ctx, ref, objects.DeleteOptions{
					UID: ref.UID, Propagation: metav1.DeletePropagationForeground,
				})
				if err != nil {
					return failed("delete", ref, err)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		s.Detail(fmt.Sprintf("%d objects", len(refs)))
		return t.requireGone(ctx, refs)
	})
}

// toDelete are the objects of a step that deletes: those of earlier looks, and before them those that list finds in
// addition. The order is that of the deletion.
func toDelete(
	ctx context.Context, s *lcm.Step, list func(context.Context) ([]*unstructured.Unstructured, error),
) ([]objects.Ref, error) {
	var known []objects.Ref
	if _, err := s.Load(&known); err != nil {
		return nil, err
	}
	found, err := list(ctx)
	if err != nil {
		return nil, err
	}
	var refs []objects.Ref
	for _, o := range slices.Backward(found) {
		ref := objects.RefOf(o)
		same := func(k objects.Ref) bool {
			return k.APIVersion == ref.APIVersion && k.Kind == ref.Kind && k.Namespace == ref.Namespace &&
				k.Name == ref.Name
		}
		if !slices.ContainsFunc(known, same) {
			refs = append(refs, ref)
		}
	}
	if len(refs) == 0 {
		return known, nil
	}
	refs = append(refs, known...)
	return refs, s.Save(ctx, refs)
}

// requireGone waits until none of the objects exists.
func (t *tick) requireGone(ctx context.Context, refs []objects.Ref) error {
	for _, ref := range refs {
		live, err := t.find(ctx, ref)
		if err != nil {
			return err
		}
		if live == nil || string(live.GetUID()) != ref.UID {
			continue
		}
		why := ref.String() + " is being deleted"
		if f := live.GetFinalizers(); len(f) > 0 {
			why += fmt.Sprintf("; its finalizers are %v", f)
		}
		return lcm.Wait(pollEvery, why)
	}
	return nil
}

// resource is the entry of an object in an inventory.
func resource(o *unstructured.Unstructured) lcm.Resource {
	r := lcm.Resource{
		Name: o.GetName(), Kind: lcm.KindOther, Type: typeOf(o.GetAPIVersion(), o.GetKind()), ID: idOf(refOf(o)),
		Created: o.GetCreationTimestamp().UTC(),
	}
	if k := o.GetKind(); k == "PersistentVolumeClaim" || k == "PersistentVolume" {
		r.Kind = lcm.KindStorage
		r.Status, _, _ = unstructured.NestedString(o.Object, "status", "phase")
	}
	return r
}

// isPod says that an entry of an inventory is a VNFC's pod.
func isPod(r lcm.Resource) bool { return r.Type == podvnfc.Type }
