package helm

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Change implements lcm.Infra.
func (d *Driver) Change(ctx context.Context, w *lcm.Execution) error {
	k, err := d.begin(w)
	if err != nil {
		return err
	}
	switch w.Op.Type {
	case sol.LcmOperationScale, sol.LcmOperationScaleToLevel, sol.LcmOperationChangeFlavour:
		if err := k.chooseVictims(ctx, w.Op.Scope.Remove); err != nil {
			return err
		}
		return k.reach(ctx)
	case sol.LcmOperationChangeVnfpkg:
		return k.reach(ctx)
	case sol.LcmOperationOperate:
		if err := k.WaitGracefully(ctx, k.cfg.GracefulTimeout); err != nil {
			return err
		}
		return k.reach(ctx)
	case sol.LcmOperationHeal:
		return k.heal(ctx)
	default:
		return lcm.Errorf(lcm.CodeUnprocessable, "%s is not supported for Helm charts", w.Op.Type)
	}
}

// deletionCost is the annotation by which the controller of a Deployment chooses the pods that it deletes first.
const deletionCost = "controller.kubernetes.io/pod-deletion-cost"

// chooseVictims marks the pods of the VNFCs that go, so that their controllers delete them and no others. A StatefulSet
// deletes the pod with the highest number, which the record lists first.
func (k *work) chooseVictims(ctx context.Context, vnfcs []string) error {
	if len(vnfcs) == 0 {
		return nil
	}
	return k.Step(ctx, "mark the pods that go", "", func(ctx context.Context, _ *lcm.Step) error {
		s, err := k.session(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		for _, r := range k.Op.Before.Inventory {
			if r.VNFC != "" && slices.Contains(vnfcs, r.VNFC) {
				if err := s.mark(ctx, r); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// mark makes a pod the first that its controller deletes.
func (s *session) mark(ctx context.Context, r lcm.Resource) error {
	c, err := s.client(podKind, "")
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": r.ID, "annotations": map[string]any{deletionCost: "-1000"},
	}})
	if err != nil {
		return err
	}
	_, err = c.Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "gybe"})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the pod is another one now
		return nil
	}
	return s.failure("mark the pod "+r.Name, err)
}

// podKind is the kind of pods.
var podKind = (&unstructured.Unstructured{
	Object: map[string]any{"apiVersion": "v1", "kind": "Pod"},
}).GroupVersionKind()

// Restore implements lcm.Infra: Helm rolls the releases back to their revisions from before the operation. Pods that
// were not there before go first.
func (d *Driver) Restore(ctx context.Context, w *lcm.Execution) error {
	k, err := d.begin(w)
	if err != nil {
		return err
	}
	if err := k.chooseNew(ctx); err != nil {
		return err
	}
	for n := range k.settings.releases {
		name := k.settings.releases[n].name
		err := k.Step(ctx, "roll the Helm release back", name, func(ctx context.Context, _ *lcm.Step) error {
			instance, operation := k.Instance.ID, k.Op.ID
			return k.run(ctx, k.runKey(name), k.vim, k.settings.namespace, k.limit(),
				"Helm rolls the release "+name+" back", func(ctx context.Context, s *session) error {
					return s.release(name, instance, operation).restore(ctx)
				})
		})
		if err != nil {
			return err
		}
	}
	return k.ready(ctx, k.pods(k.before()))
}

// before are the numbers of VNFCs from before the operation.
func (k *work) before() map[string]int {
	counts := map[string]int{}
	for _, c := range k.Op.Before.Instantiated.VnfcInfo {
		counts[c.VduID]++
	}
	return counts
}

// chooseNew marks the pods that were not there before the operation.
func (k *work) chooseNew(ctx context.Context) error {
	return k.Step(ctx, "mark the pods that go", "", func(ctx context.Context, _ *lcm.Step) error {
		s, err := k.session(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		is, err := k.observe(ctx, s)
		if err != nil {
			return err
		}
		for _, p := range is.pods {
			same := func(r lcm.Resource) bool { return r.ID == string(p.GetUID()) }
			if slices.ContainsFunc(k.Op.Before.Inventory, same) {
				continue
			}
			if err := s.mark(ctx, resource(p.Unstructured)); err != nil {
				return err
			}
		}
		return nil
	})
}
