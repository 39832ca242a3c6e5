package cnf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/cnf/podvnfc"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Instantiate implements lcm.Infra.
func (d *Driver) Instantiate(ctx context.Context, w *lcm.Execution) error {
	return d.with(ctx, w, func(ctx context.Context, t *tick) error {
		want, err := t.desired()
		if err != nil {
			return err
		}
		if !w.Instance.HoldsResources {
			if err := t.requireOwn(ctx, want); err != nil {
				return err
			}
			if err := w.Hold(ctx); err != nil {
				return err
			}
		}
		if err := t.apply(ctx, want); err != nil {
			return err
		}
		return t.settle(ctx, want)
	})
}

// Change implements lcm.Infra.
func (d *Driver) Change(ctx context.Context, w *lcm.Execution) error {
	if err := w.WaitGracefully(ctx, d.cfg.GracefulTimeout); err != nil {
		return err
	}
	return d.with(ctx, w, func(ctx context.Context, t *tick) error {
		want, err := t.desired()
		if err != nil {
			return err
		}
		switch w.Op.Type { //nolint:exhaustive // Validate refuses the others
		case sol.LcmOperationScale, sol.LcmOperationScaleToLevel, sol.LcmOperationOperate:
			return t.resize(ctx, want)
		case sol.LcmOperationHeal:
			return t.heal(ctx, want)
		case sol.LcmOperationChangeVnfpkg, sol.LcmOperationChangeFlavour:
			return t.converge(ctx, want, t.previous())
		}
		return lcm.Errorf(lcm.CodeUnprocessable, "%s is not possible for a CNF", w.Op.Type)
	})
}

// Restore implements lcm.Infra: the objects become again what the manifests from before say, with the numbers of pods
// from before. Pods that the operation has added go first.
func (d *Driver) Restore(ctx context.Context, w *lcm.Execution) error {
	return d.with(ctx, w, func(ctx context.Context, t *tick) error {
		want, err := t.desired()
		if err != nil {
			return err
		}
		if w.Op.Before != nil && w.Op.Type != sol.LcmOperationOperate {
			if err := t.preferAdded(ctx, want); err != nil {
				return err
			}
		}
		return t.converge(ctx, want, t.previous())
	})
}

// converge applies the objects, deletes those that the instance has and that are not desired any more, and waits.
func (t *tick) converge(ctx context.Context, want, previous *desired) error {
	if err := t.requireOwn(ctx, want); err != nil {
		return err
	}
	if err := t.apply(ctx, want); err != nil {
		return err
	}
	if err := t.replaceOutdated(ctx, want); err != nil {
		return err
	}
	if err := t.settle(ctx, want); err != nil {
		return err
	}
	return t.delete(ctx, "delete objects", func(ctx context.Context) ([]*unstructured.Unstructured, error) {
		present, err := t.own(ctx, want, previous)
		return slices.DeleteFunc(present, func(o *unstructured.Unstructured) bool {
			return want.has(refOf(o)) || claimed(o, want)
		}), err
	})
}

// claimed says that an object is a claim of a StatefulSet that is desired.
func claimed(o *unstructured.Unstructured, want *desired) bool {
	if o.GetKind() != "PersistentVolumeClaim" {
		return false
	}
	return slices.ContainsFunc(want.objects, func(s *unstructured.Unstructured) bool {
		return s.GetKind() == "StatefulSet" && s.GetNamespace() == o.GetNamespace() &&
			strings.Contains(o.GetName(), "-"+s.GetName()+"-")
	})
}

// resize sets the numbers of pods. Of a Deployment, the pods whose VNFCs go are marked first.
func (t *tick) resize(ctx context.Context, want *desired) error {
	for n := range want.workloads {
		w := &want.workloads[n]
		if !scalable(w.obj.GetKind()) || w.autoscaler != "" && t.w.Op.Type != sol.LcmOperationOperate {
			continue
		}
		if err := t.preferRemoved(ctx, w); err != nil {
			return err
		}
		err := t.w.Step(ctx, "scale", t.target(w.ref()), func(ctx context.Context, s *lcm.Step) error {
			s.Detail(fmt.Sprintf("to %d pods", w.want))
			return t.scale(ctx, w, w.want)
		})
		if err != nil {
			return err
		}
	}
	return t.settle(ctx, want)
}

// scale sets the number of pods of a workload. The workload is applied as a whole, so that its number has one owner
// among the field managers, whichever operation has set it.
func (t *tick) scale(ctx context.Context, w *workload, to int) error {
	o := w.obj.DeepCopy()
	if w.autoscaler == "" || to == 0 { // an autoscaler sets the number of all workloads that are not stopped
		if err := unstructured.SetNestedField(o.Object, int64(to), "spec", "replicas"); err != nil {
			return err
		}
	}
	if _, err := t.Apply(ctx, o, objects.Options{Force: true}); err != nil {
		return failed("scale", w.ref(), err)
	}
	return nil
}

// deletionCost is the annotation by which a Deployment and a ReplicaSet choose the pods that go: the lowest first.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// preferRemoved marks the pods of the VNFCs that go.
func (t *tick) preferRemoved(ctx context.Context, w *workload) error {
	if t.w.Op.Scope == nil || w.obj.GetKind() == "StatefulSet" {
		return nil
	}
	var names []string
	for _, id := range t.w.Op.Scope.Remove {
		if c, res, ok := t.w.Op.Before.VNFC(id); ok && c.VduID == w.vdu {
			names = append(names, res.ComputeResource.ResourceID)
		}
	}
	return t.markPods(ctx, w, func(p corev1.Pod) bool { return slices.Contains(names, p.Name) })
}

// preferAdded marks the pods that were not there before the operation.
func (t *tick) preferAdded(ctx context.Context, want *desired) error {
	had := map[string]bool{}
	for _, r := range t.w.Op.Before.Inventory {
		if isPod(r) {
			had[r.ID] = true
		}
	}
	for n := range want.workloads {
		w := &want.workloads[n]
		if w.obj.GetKind() != "Deployment" && w.obj.GetKind() != "ReplicaSet" {
			continue
		}
		pods, err := t.pods(ctx, w.ref())
		if err != nil {
			return err
		}
		if len(pods) <= w.want {
			continue
		}
		if err := t.markPods(ctx, w, func(p corev1.Pod) bool { return !had[p.Name] }); err != nil {
			return err
		}
	}
	return nil
}

// markPods gives the chosen pods of a workload a low deletion cost.
func (t *tick) markPods(ctx context.Context, w *workload, chosen func(corev1.Pod) bool) error {
	pods, err := t.pods(ctx, w.ref())
	if err != nil {
		return err
	}
	for _, p := range pods {
		if !chosen(p) || p.Annotations[deletionCost] != "" {
			continue
		}
		mark := &unstructured.Unstructured{}
		mark.SetAPIVersion("v1")
		mark.SetKind("Pod")
		mark.SetNamespace(p.Namespace)
		mark.SetName(p.Name)
		mark.SetUID(p.UID) // a pod that is gone is not created again
		mark.SetAnnotations(map[string]string{deletionCost: "-1000"})
		if _, err := t.Apply(ctx, mark, objects.Options{Force: true}); err != nil && !notFound(err) {
			if e := lcm.AsError(err); e.Code != lcm.CodeConflict && e.Class != lcm.Transient {
				return failed("mark", refOf(mark), err)
			}
		}
	}
	return nil
}

// heal deletes pods, or all objects, which are created again.
func (t *tick) heal(ctx context.Context, want *desired) error {
	if t.w.Op.Scope.Whole {
		if err := t.deleteAll(ctx, want); err != nil {
			return err
		}
		if err := t.apply(ctx, want); err != nil {
			return err
		}
		return t.settle(ctx, want)
	}
	for _, id := range t.w.Op.Scope.VNFCs {
		if err := t.replace(ctx, want, id); err != nil {
			return err
		}
	}
	if err := t.apply(ctx, want); err != nil { // a workload that is gone, and pods without a workload
		return err
	}
	return t.settle(ctx, want)
}

// replace deletes the pod of a VNFC, once.
func (t *tick) replace(ctx context.Context, want *desired, vnfc string) error {
	c, res, ok := t.w.Op.Before.VNFC(vnfc)
	if !ok {
		return nil
	}
	w := want.workload(c.VduID)
	if w == nil {
		return nil
	}
	ref := objects.Ref{
		APIVersion: "v1", Kind: podvnfc.Type, Namespace: w.obj.GetNamespace(), Name: res.ComputeResource.ResourceID,
		UID: res.ID,
	}
	return t.w.Step(ctx, "replace pod", t.target(ref)+" of "+vnfc, func(ctx context.Context, _ *lcm.Step) error {
		if err := t.Delete(ctx, ref, objects.DeleteOptions{UID: ref.UID}); err != nil {
			return failed("delete", ref, err)
		}
		live, err := t.find(ctx, ref)
		if err != nil || live == nil {
			return err
		}
		return lcm.Wait(pollEvery, ref.String()+" is being deleted")
	})
}

// deleteAll deletes everything that the instance has before it is created again.
func (t *tick) deleteAll(ctx context.Context, want *desired) error {
	return t.delete(ctx, "delete all objects", func(ctx context.Context) ([]*unstructured.Unstructured, error) {
		present, err := t.own(ctx, want)
		return slices.DeleteFunc(present, func(o *unstructured.Unstructured) bool {
			return o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace"
		}), err
	})
}

// Terminate implements lcm.Infra.
func (d *Driver) Terminate(ctx context.Context, w *lcm.Execution) error {
	if err := w.WaitGracefully(ctx, d.cfg.GracefulTimeout); err != nil {
		return err
	}
	return d.with(ctx, w, func(ctx context.Context, t *tick) error {
		want, err := t.desired() // manifests that cannot be read any more do not keep objects from being deleted
		if err != nil {
			want = &desired{namespace: t.fallbackNamespace()}
		}
		return t.delete(ctx, "delete all objects", func(ctx context.Context) ([]*unstructured.Unstructured, error) {
			return t.own(ctx, want)
		})
	})
}

// fallbackNamespace is the namespace of an instance whose manifests cannot be read.
func (t *tick) fallbackNamespace() string {
	params, err := t.w.Params()
	if err != nil {
		params = nil
	}
	read, _ := readParameters(params, t.conn, t.w.Flavour)
	return read.namespace
}

// Halt implements lcm.Infra. A cluster works towards the objects that it has: it is waited for (GRACEFUL), or the pods
// that do not run yet are taken away (FORCEFUL).
func (d *Driver) Halt(ctx context.Context, w *lcm.Execution, mode sol.CancelModeType) error {
	begun, err := w.Begun(ctx)
	if err != nil {
		return err
	}
	if !begun {
		return lcm.ErrUnchanged
	}
	return d.with(ctx, w, func(ctx context.Context, t *tick) error {
		want, err := t.desired()
		if e, ok := errors.AsType[*lcm.Error](err); ok && e.Code == lcm.CodeUnprocessable {
			return nil // manifests that are invalid were never applied
		}
		if err != nil {
			return err
		}
		for n := range want.workloads {
			if err := t.halt(ctx, &want.workloads[n], mode); err != nil {
				return err
			}
		}
		return nil
	})
}

// halt ends the work on one workload.
func (t *tick) halt(ctx context.Context, w *workload, mode sol.CancelModeType) error {
	live, err := t.find(ctx, w.ref())
	if err != nil || live == nil || live.GetDeletionTimestamp() != nil {
		return err
	}
	if mode == sol.CancelModeGraceful {
		r, err := t.Check(ctx, live)
		if err != nil || r.Ready || r.Failed {
			return err
		}
		return lcm.Wait(pollEvery, w.ref().String()+": "+r.Why)
	}
	if !scalable(w.obj.GetKind()) {
		return nil
	}
	pods, err := t.pods(ctx, w.ref())
	if err != nil {
		return err
	}
	running := 0
	for _, p := range pods {
		if ready(p) {
			running++
		}
	}
	if has, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas"); int(has) > running {
		if err := t.scale(ctx, w, running); err != nil {
			return err
		}
	}
	if len(pods) > running {
		return lcm.Wait(pollEvery, fmt.Sprintf("%s: %d pending pods are being deleted", w.ref(), len(pods)-running))
	}
	return nil
}

// ready says that a pod is ready.
func ready(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
