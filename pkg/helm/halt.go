package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/release/common"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Halt implements lcm.Infra. GRACEFUL: an action of Helm that is under way ends, and the pods start. FORCEFUL: the
// action is broken off, and the cluster starts no more pods: workloads keep those that are ready. The record of the
// release is then that of a failure, so that a retry applies the chart again and a rollback leads back.
func (d *Driver) Halt(ctx context.Context, w *lcm.Execution, mode sol.CancelModeType) error {
	begun, err := w.Begun(ctx)
	switch {
	case err != nil:
		return err
	case !begun:
		return lcm.ErrUnchanged
	}
	k, err := d.begin(w)
	if err != nil {
		return err
	}
	for n := range k.settings.releases {
		key := k.runKey(k.settings.releases[n].name)
		if err := d.runs.stop(ctx, key, mode == sol.CancelModeForceful); err != nil {
			return err
		}
	}
	target := fmt.Sprintf("%s, try %d", strings.ToLower(string(mode)), w.Op.Try)
	return w.Step(ctx, "halt", target, func(ctx context.Context, step *lcm.Step) error {
		s, err := k.session(ctx)
		if err != nil {
			return err
		}
		defer s.close()
		if mode == sol.CancelModeForceful {
			if err := k.giveUp(s); err != nil {
				return err
			}
		}
		is, err := k.observe(ctx, s)
		if err != nil {
			return err
		}
		waits := ""
		for _, p := range is.pods {
			if why, _ := podProblem(p.Unstructured); why != "" || p.GetDeletionTimestamp() != nil {
				waits = fmt.Sprintf("pod %s: %s", p.GetName(), why)
			}
		}
		switch {
		case waits == "", k.Clock.Now().Sub(step.Started()) > k.cfg.ReadyTimeout:
			return nil
		case mode == sol.CancelModeForceful:
			if err := s.keepReady(ctx, is); err != nil {
				return err
			}
		}
		return lcm.Wait(pause, waits)
	})
}

// giveUp makes the operation's record of every release that of a failure.
func (k *work) giveUp(s *session) error {
	for n := range k.settings.releases {
		r := k.release(s, &k.settings.releases[n])
		rel, err := r.last()
		if err != nil {
			return err
		}
		if rel == nil || rel.Labels[labelOperation] != k.Op.ID || rel.Info.Status == common.StatusFailed {
			continue
		}
		rel.SetStatus(common.StatusFailed, "the operation was cancelled")
		if err := r.helm.Releases.Update(rel); err != nil {
			return r.failure("mark the cancelled record of", err)
		}
	}
	return nil
}

// keepReady reduces the workloads to their pods that are ready.
func (s *session) keepReady(ctx context.Context, is *seen) error {
	for _, o := range is.objects {
		want, scaled, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if o.absent || o.vdu == "" || !scaled {
			continue
		}
		ready := int64(0)
		for _, p := range is.pods {
			if why, _ := podProblem(p.Unstructured); p.vdu == o.vdu && why == "" && p.GetDeletionTimestamp() == nil {
				ready++
			}
		}
		if ready >= want {
			continue
		}
		c, err := s.client(o.GroupVersionKind(), o.GetNamespace())
		if err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": ready}})
		if err != nil {
			return err
		}
		_, err = c.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "gybe"})
		if err != nil && !apierrors.IsNotFound(err) {
			return s.failure(fmt.Sprintf("scale %s %s", o.GetKind(), o.GetName()), err)
		}
	}
	return nil
}
