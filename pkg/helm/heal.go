package helm

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// heal makes objects that are not there again, then deletes the pods of the VNFCs; their controllers make others. A
// heal of the whole VNF makes all releases again.
func (k *work) heal(ctx context.Context) error {
	if k.Op.Scope.Whole {
		return k.renew(ctx, k.pods(k.Op.Scope.Counts))
	}
	incomplete, err := k.incomplete(ctx)
	if err != nil {
		return err
	}
	if incomplete {
		if err := k.applyAll(ctx, k.pods(k.Op.Scope.Counts)); err != nil {
			return err
		}
	}
	pods := map[string]lcm.Resource{}
	for _, r := range k.Op.Before.Inventory {
		if r.VNFC != "" {
			pods[r.VNFC] = r
		}
	}
	for _, id := range k.Op.Scope.VNFCs {
		r, ok := pods[id]
		if !ok {
			continue
		}
		err := k.Step(ctx, "delete the pod", id, func(ctx context.Context, step *lcm.Step) error {
			s, err := k.session(ctx)
			if err != nil {
				return err
			}
			defer s.close()
			step.Detail(r.Name)
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(podKind)
			o.SetName(r.Name)
			o.SetUID(types.UID(r.ID))
			return s.delete(ctx, o)
		})
		if err != nil {
			return err
		}
	}
	return k.ready(ctx, k.pods(k.Op.Scope.Counts))
}

// incomplete says that objects of the releases are not there, or that this operation has begun to make them.
func (k *work) incomplete(ctx context.Context) (bool, error) {
	s, err := k.session(ctx)
	if err != nil {
		return false, err
	}
	defer s.close()
	is, err := k.observe(ctx, s)
	if err != nil {
		return false, err
	}
	return len(is.releases) < len(k.settings.releases) ||
		slices.ContainsFunc(is.objects, func(o object) bool { return o.absent }) ||
		slices.ContainsFunc(is.releases, func(o object) bool { return o.GetLabels()["operation"] == k.Op.ID }), nil
}

// renew removes all releases, once in an operation; then it installs them with these numbers of pods. Helm's history
// starts again.
func (k *work) renew(ctx context.Context, counts map[string]int) error {
	if err := k.remove(ctx); err != nil {
		return err
	}
	if err := k.applyAll(ctx, counts); err != nil {
		return err
	}
	return k.ready(ctx, counts)
}
