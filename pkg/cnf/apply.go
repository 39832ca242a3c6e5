package cnf

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/cnf/podvnfc"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// pollEvery is the time between two looks at a cluster that works.
const pollEvery = 2 * time.Second

// target names a step's object. A retry does the step again: a cancelled try may have taken pods away.
func (t *tick) target(r objects.Ref) string {
	if t.w.Op.Try > 1 {
		return fmt.Sprintf("%s, try %d", r.String(), t.w.Op.Try)
	}
	return r.String()
}

// notFound says that the cluster does not have an object.
func notFound(err error) bool {
	return err != nil && lcm.AsError(err).Code == lcm.CodeNotFound
}

// find is Get for an object that may be absent: nil then.
func (t *tick) find(ctx context.Context, r objects.Ref) (*unstructured.Unstructured, error) {
	o, err := t.Get(ctx, r)
	if notFound(err) {
		return nil, nil //nolint:nilnil // the contract: the object is absent
	}
	return o, err
}

// requireOwn refuses objects that exist and do not belong to the instance: two CNFs would change and delete each
// other's. A namespace is shared, and stays what it is.
func (t *tick) requireOwn(ctx context.Context, d *desired) error {
	return lcm.Each(ctx, 8, d.objects, func(ctx context.Context, o *unstructured.Unstructured) error {
		live, err := t.find(ctx, refOf(o))
		if err != nil || live == nil || t.owns(live) || o.GetKind() == "Namespace" {
			return err
		}
		whose := "does not belong to a VNF instance"
		if other := live.GetLabels()[objects.LabelInstance]; other != "" {
			whose = "belongs to the VNF instance " + other
		}
		e := lcm.Errorf(lcm.CodeConflict, "%s exists in the cluster and %s", refOf(o).String(), whose)
		e.Title = "Object exists"
		return e.WithHint("give another namespace, or delete the object")
	})
}

// owns says that an object of the cluster belongs to the instance.
func (t *tick) owns(live *unstructured.Unstructured) bool {
	return live.GetLabels()[objects.LabelInstance] == t.w.Instance.ID
}

// apply applies all objects. Those that others need (namespaces, definitions of kinds) are ready before the next ones.
func (t *tick) apply(ctx context.Context, d *desired) error {
	for _, o := range d.objects {
		ref := refOf(o)
		err := t.w.Step(ctx, "apply", t.target(ref), func(ctx context.Context, s *lcm.Step) error {
			if o.GetKind() == "Namespace" {
				live, err := t.find(ctx, ref)
				if err != nil || live != nil && !t.owns(live) {
					return err
				}
			}
			if _, err := t.Apply(ctx, o, objects.Options{Force: true}); err != nil {
				return failed("apply", ref, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if o.GetKind() == "Namespace" || o.GetKind() == "CustomResourceDefinition" {
			if err := t.ready(ctx, ref); err != nil {
				return err
			}
		}
		if o.GetKind() == "Namespace" && d.hasPodIn(o.GetName()) {
			account := objects.Ref{APIVersion: "v1", Kind: "ServiceAccount", Namespace: o.GetName(), Name: "default"}
			if err := t.exists(ctx, account); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasPodIn says that the manifests have a Pod in a namespace, which needs the service account of the namespace.
func (d *desired) hasPodIn(namespace string) bool {
	return slices.ContainsFunc(d.objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == podvnfc.Type && o.GetNamespace() == namespace
	})
}

// exists waits for an object that the cluster makes by itself.
func (t *tick) exists(ctx context.Context, ref objects.Ref) error {
	return t.w.Step(ctx, "wait until it exists", t.target(ref), func(ctx context.Context, _ *lcm.Step) error {
		live, err := t.find(ctx, ref)
		switch {
		case err != nil:
			return failed("read", ref, err)
		case live == nil:
			return lcm.Wait(pollEvery, "the cluster has not made "+ref.String()+" yet")
		}
		return nil
	})
}

// failed completes the error of a call with the object that it was about.
func failed(verb string, r objects.Ref, err error) error {
	e := *lcm.AsError(err)
	if !strings.Contains(e.Detail, r.Name) {
		e.Detail = verb + " " + r.String() + ": " + e.Detail
	}
	if e.Code == lcm.CodeNotFound {
		e.Code = lcm.CodeUpstream
	}
	return &e
}

// settle waits until all objects are ready and every workload has its pods.
func (t *tick) settle(ctx context.Context, d *desired) error {
	for _, o := range d.objects {
		if err := t.ready(ctx, refOf(o)); err != nil {
			return err
		}
	}
	for n := range d.workloads {
		if err := t.populated(ctx, &d.workloads[n]); err != nil {
			return err
		}
	}
	return nil
}

// ready waits for an object.
func (t *tick) ready(ctx context.Context, ref objects.Ref) error {
	return t.w.Step(ctx, "wait until ready", t.target(ref), func(ctx context.Context, _ *lcm.Step) error {
		return t.requireReady(ctx, ref)
	})
}

// requireReady returns nil if an object is ready, and a wait if it can become ready.
func (t *tick) requireReady(ctx context.Context, ref objects.Ref) error {
	live, err := t.Get(ctx, ref)
	if err != nil {
		return failed("read", ref, err)
	}
	r, err := t.Check(ctx, live)
	switch {
	case err != nil:
		return failed("read", ref, err)
	case r.Failed:
		e := lcm.Errorf(lcm.CodeUpstream, "%s does not become ready: %s", ref.String(), r.Why)
		e.Title = "Object failed"
		return e
	case !r.Ready:
		return lcm.Wait(pollEvery, ref.String()+": "+r.Why)
	}
	return nil
}

// populated waits until a workload has as many pods as VNFCs: those that go may still be there.
func (t *tick) populated(ctx context.Context, w *workload) error {
	if w.autoscaler != "" || !scalable(w.obj.GetKind()) {
		return nil
	}
	pods, err := t.pods(ctx, w.ref())
	if err != nil {
		return err
	}
	if len(pods) != w.want {
		return lcm.Wait(pollEvery, fmt.Sprintf("%s has %d of %d pods", w.ref().String(), len(pods), w.want))
	}
	return nil
}

// pods lists the pods of a workload that are not being deleted; none when the workload is absent.
func (t *tick) pods(ctx context.Context, ref objects.Ref) ([]corev1.Pod, error) {
	live, err := t.find(ctx, ref)
	if err != nil || live == nil {
		return nil, err
	}
	ref.UID = string(live.GetUID())
	all, err := t.Pods(ctx, ref)
	if notFound(err) {
		return nil, nil
	}
	var out []corev1.Pod
	for _, p := range all {
		if p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			out = append(out, p)
		}
	}
	return out, err
}
