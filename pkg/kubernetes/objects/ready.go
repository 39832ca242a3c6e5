package objects

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Readiness says whether an object does its work.
type Readiness struct {
	Ready bool
	// Failed means that it cannot become ready by itself.
	Failed bool
	// Why is the cause in the words of the API server, with the name of the pod and container if it is theirs. A ready
	// object may have one as well, such as an autoscaler without metrics.
	Why string
}

var ready = Readiness{Ready: true}

func waiting(format string, args ...any) Readiness {
	return Readiness{Why: fmt.Sprintf(format, args...)}
}

func failed(why string) Readiness { return Readiness{Failed: true, Why: why} }

// Check says whether an object is ready, from its status; if it is not, the cause is read from its pods and events. A
// kind that is not known is ready when its conditions Ready or Available do not say otherwise.
func (c *Cluster) Check(ctx context.Context, live *unstructured.Unstructured) (Readiness, error) {
	if live.GetDeletionTimestamp() != nil {
		return waiting("it is being deleted"), nil
	}
	s := status{live}
	if n, has := s.number("status", "observedGeneration"); has && n < live.GetGeneration() {
		return waiting("its controller has not seen the present version yet"), nil
	}
	r, err := c.check(ctx, s)
	if err != nil || r.Ready || r.Failed && r.Why != "" {
		return r, err
	}
	cause, err := c.cause(ctx, live)
	if cause == "" {
		return r, err
	}
	r.Why = cause
	return r, err
}

func (c *Cluster) check(ctx context.Context, s status) (Readiness, error) {
	switch s.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return s.deployment(), nil
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return s.statefulSet(), nil
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		return s.daemonSet(), nil
	case schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Kind: "ReplicationController"}:
		return s.replicaSet(), nil
	case schema.GroupKind{Kind: "Pod"}:
		return s.pod(), nil
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return s.job(), nil
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return c.claim(ctx, s)
	case schema.GroupKind{Kind: "PersistentVolume"}:
		switch phase := s.text("status", "phase"); phase {
		case "Available", "Bound", "Released":
			return ready, nil
		case "Failed":
			return failed("the volume has failed: " + s.text("status", "message")), nil
		}
		return waiting("the volume is not available yet"), nil
	case schema.GroupKind{Kind: "Service"}:
		return s.service(), nil
	case schema.GroupKind{Kind: "Namespace"}:
		if phase := s.text("status", "phase"); phase != "Active" {
			return waiting("the namespace is %q", phase), nil
		}
		return ready, nil
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return s.definition(), nil
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return s.autoscaler(), nil
	}
	return s.other(), nil
}

// claim says whether a volume claim has its volume. A claim of a class that waits for the first consumer is bound only
// after its pod is scheduled.
func (c *Cluster) claim(ctx context.Context, s status) (Readiness, error) {
	switch s.text("status", "phase") {
	case "Bound":
		return ready, nil
	case "Lost":
		return failed("the volume of the claim does not exist any more"), nil
	}
	name := s.text("spec", "storageClassName")
	if name == "" {
		return waiting("the claim has no volume yet"), nil
	}
	class, err := c.Get(ctx, Ref{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass", Name: name})
	switch {
	case err != nil && lcm.AsError(err).Code == lcm.CodeNotFound: // a volume may have this class's name without a class
		return waiting("the claim has no volume yet, and there is no storage class %q", name), nil
	case err != nil:
		return Readiness{}, err
	}
	if mode, _, _ := unstructured.NestedString(class.Object, "volumeBindingMode"); mode == "WaitForFirstConsumer" {
		return Readiness{Ready: true, Why: "the claim gets its volume when a pod uses it"}, nil
	}
	return waiting("the claim has no volume yet"), nil
}
