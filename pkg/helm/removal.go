package helm

import (
	"context"
	"fmt"

	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// released is an object of a release, as a step keeps it.
type released struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace,omitempty"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Release    string    `json:"release"`
}

// annotationRelease is Helm's mark of the release that an object belongs to.
const annotationRelease = "meta.helm.sh/release-name"

// object is the object without its content.
func (r released) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(r.APIVersion)
	o.SetKind(r.Kind)
	o.SetNamespace(r.Namespace)
	o.SetName(r.Name)
	o.SetUID(r.UID)
	return o
}

// remove uninstalls all releases and waits until their objects are gone, of whatever kind, and everything else with the
// label of the instance. The step keeps the objects with their uids: the record of a release that is uninstalled is
// gone. An object with finalizers would otherwise be taken for one of the release that is installed next.
func (k *work) remove(ctx context.Context) error {
	return k.Step(ctx, "remove the Helm releases", "", func(ctx context.Context, step *lcm.Step) error {
		s, err := k.session(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		objects, err := k.toRemove(ctx, s, step)
		if err != nil {
			return err
		}
		if err := k.uninstallAll(ctx); err != nil {
			return err
		}
		if err := k.requireGone(ctx, s, objects); err != nil {
			return err
		}
		return k.gone(ctx, s)
	})
}

// toRemove are the objects of the releases at the first look of a step. Those that Helm keeps are not among them.
func (k *work) toRemove(ctx context.Context, s *session, step *lcm.Step) ([]released, error) {
	var out []released
	if known, err := step.Load(&out); known || err != nil {
		return out, err
	}
	is, err := k.releasesIn(ctx, s)
	if err != nil {
		return nil, err
	}
	out = []released{}
	for _, o := range is.objects {
		if o.absent || o.GetAnnotations()[kube.ResourcePolicyAnno] == kube.KeepPolicy {
			continue
		}
		out = append(out, released{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(),
			UID: o.GetUID(), Release: o.release,
		})
	}
	return out, step.Save(ctx, out)
}

// uninstallAll lets Helm uninstall all releases, the last one first, each in a step of its own.
func (k *work) uninstallAll(ctx context.Context) error {
	for n := len(k.settings.releases) - 1; n >= 0; n-- {
		r := &k.settings.releases[n]
		err := k.Step(ctx, "uninstall the Helm release", r.name, func(ctx context.Context, _ *lcm.Step) error {
			instance, operation, name := k.Instance.ID, k.Op.ID, r.name
			return k.run(ctx, k.runKey(r.name), k.vim, k.settings.namespace, k.limit(),
				"Helm uninstalls the release "+r.name, func(ctx context.Context, s *session) error {
					return s.release(name, instance, operation).uninstall(ctx)
				})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// requireGone waits until none of the objects exists, and deletes those that are left. An object of the same name with
// another uid is another one's, and so is one that another release has taken over.
func (k *work) requireGone(ctx context.Context, s *session, objects []released) error {
	for _, r := range objects {
		live, err := s.live(ctx, r.object())
		if err != nil {
			return err
		}
		if live.absent || live.GetUID() != r.UID || live.GetLabels()[labelInstance] != k.Instance.ID ||
			live.GetAnnotations()[annotationRelease] != r.Release {
			continue
		}
		if live.GetDeletionTimestamp() == nil {
			if err := s.delete(ctx, live.Unstructured); err != nil {
				return err
			}
		}
		return lcm.Wait(pause, beingDeleted(live.Unstructured))
	}
	return nil
}

// beingDeleted says that an object is not gone yet, and what it waits for.
func beingDeleted(o *unstructured.Unstructured) string {
	why := fmt.Sprintf("%s %s is being deleted", o.GetKind(), o.GetName())
	if f := o.GetFinalizers(); len(f) > 0 {
		why += fmt.Sprintf("; its finalizers are %v", f)
	}
	return why
}

// gone deletes what is left with the label of the instance, and waits until nothing is.
func (k *work) gone(ctx context.Context, s *session) error {
	left, err := s.labelled(ctx, k.Instance.ID)
	if err != nil {
		return err
	}
	pods, err := k.remainingPods(ctx, s)
	if err != nil {
		return err
	}
	if len(left)+len(pods) == 0 {
		return nil
	}
	for _, o := range left {
		if o.GetDeletionTimestamp() == nil {
			if err := s.delete(ctx, o); err != nil {
				return err
			}
		}
	}
	return lcm.Wait(pause, beingDeleted(append(left, pods...)[0]))
}
