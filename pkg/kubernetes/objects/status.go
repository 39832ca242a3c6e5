package objects

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// status reads the status of an object.
type status struct{ *unstructured.Unstructured }

func (s status) text(path ...string) string {
	t, _, _ := unstructured.NestedString(s.Object, path...)
	return t
}

func (s status) number(path ...string) (int64, bool) {
	n, has, err := unstructured.NestedInt64(s.Object, path...)
	return n, has && err == nil
}

// count returns a number of the status; 0 if it is absent.
func (s status) count(name string) int64 {
	n, _ := s.number("status", name)
	return n
}

// replicas returns spec.replicas, which is 1 by default.
func (s status) replicas() int64 {
	if n, has := s.number("spec", "replicas"); has {
		return n
	}
	return 1
}

// condition is one of the conditions of a status; its status is "True", "False", "Unknown", or empty if it is absent.
type condition struct{ status, reason, message string }

// why returns the message, or the reason.
func (c condition) why() string { return cmp.Or(c.message, c.reason) }

func (s status) condition(kind string) condition {
	list, _, _ := unstructured.NestedSlice(s.Object, "status", "conditions")
	for _, e := range list {
		m, _ := e.(map[string]any)
		if t, _ := m["type"].(string); t != kind {
			continue
		}
		var c condition
		c.status, _ = m["status"].(string)
		c.reason, _ = m["reason"].(string)
		c.message, _ = m["message"].(string)
		return c
	}
	return condition{}
}

func (s status) deployment() Readiness {
	if c := s.condition("Progressing"); c.status == "False" && c.reason == "ProgressDeadlineExceeded" {
		return Readiness{Failed: true} // the cause is that of its pods
	}
	want, updated := s.replicas(), s.count("updatedReplicas")
	switch {
	case s.condition("ReplicaFailure").status == "True":
		return waiting("%s", s.condition("ReplicaFailure").why())
	case s.generationUnseen():
		return waiting("its controller has not seen it yet")
	case updated < want:
		return waiting("%d of %d replicas are of the present version", updated, want)
	case s.count("replicas") > updated:
		return waiting("%d replicas of the earlier version have not ended yet", s.count("replicas")-updated)
	case s.count("availableReplicas") < updated:
		return waiting("%d of %d replicas are available", s.count("availableReplicas"), updated)
	}
	return ready
}

// generationUnseen says that the controller has not written a status yet.
func (s status) generationUnseen() bool {
	_, has := s.number("status", "observedGeneration")
	return !has && s.GetGeneration() > 0
}

func (s status) statefulSet() Readiness {
	want := s.replicas()
	partition, _ := s.number("spec", "updateStrategy", "rollingUpdate", "partition")
	onDelete := s.text("spec", "updateStrategy", "type") == "OnDelete"
	switch {
	case s.generationUnseen():
		return waiting("its controller has not seen it yet")
	case s.count("replicas") > want:
		return waiting("%d replicas have not ended yet", s.count("replicas")-want)
	case s.count("readyReplicas") < want:
		return waiting("%d of %d replicas are ready", s.count("readyReplicas"), want)
	case !onDelete && s.count("updatedReplicas") < want-partition:
		return waiting("%d of %d replicas are of the present version", s.count("updatedReplicas"), want-partition)
	}
	return ready
}

func (s status) daemonSet() Readiness {
	want := s.count("desiredNumberScheduled")
	onDelete := s.text("spec", "updateStrategy", "type") == "OnDelete"
	switch {
	case s.generationUnseen():
		return waiting("its controller has not seen it yet")
	case !onDelete && s.count("updatedNumberScheduled") < want:
		return waiting("%d of %d pods are of the present version", s.count("updatedNumberScheduled"), want)
	case s.count("numberAvailable") < want:
		return waiting("%d of %d pods are available", s.count("numberAvailable"), want)
	}
	return ready
}

func (s status) replicaSet() Readiness {
	want := s.replicas()
	switch {
	case s.condition("ReplicaFailure").status == "True":
		return waiting("%s", s.condition("ReplicaFailure").why())
	case s.generationUnseen():
		return waiting("its controller has not seen it yet")
	case s.count("replicas") > want:
		return waiting("%d replicas have not ended yet", s.count("replicas")-want)
	case s.count("availableReplicas") < want:
		return waiting("%d of %d replicas are available", s.count("availableReplicas"), want)
	}
	return ready
}

func (s status) pod() Readiness {
	switch phase := s.text("status", "phase"); {
	case phase == "Succeeded", s.condition("Ready").status == "True":
		return ready
	case phase == "Failed":
		return Readiness{Failed: true, Why: cmp.Or(s.text("status", "message"), s.text("status", "reason"))}
	}
	return waiting("the pod is not ready")
}

func (s status) job() Readiness {
	suspended, _, _ := unstructured.NestedBool(s.Object, "spec", "suspend")
	switch {
	case s.condition("Complete").status == "True":
		return ready
	case s.condition("Failed").status == "True":
		return failed(s.condition("Failed").why())
	case suspended:
		return Readiness{Ready: true, Why: "the job is suspended"}
	}
	return waiting("the job has not ended yet")
}

func (s status) service() Readiness {
	if s.text("spec", "type") != "LoadBalancer" {
		return ready
	}
	ingress, _, _ := unstructured.NestedSlice(s.Object, "status", "loadBalancer", "ingress")
	external, _, _ := unstructured.NestedSlice(s.Object, "spec", "externalIPs")
	if len(ingress)+len(external) == 0 {
		return waiting("the load balancer has no address yet")
	}
	return ready
}

func (s status) definition() Readiness {
	if c := s.condition("NamesAccepted"); c.status == "False" {
		return failed(c.why())
	}
	if s.condition("Established").status != "True" {
		return waiting("the definition is not served yet")
	}
	return ready
}

// autoscaler is ready without metrics: the replicas stay as they are.
func (s status) autoscaler() Readiness {
	if c := s.condition("AbleToScale"); c.status == "False" {
		return waiting("%s", c.why())
	}
	if c := s.condition("ScalingActive"); c.status == "False" {
		return Readiness{Ready: true, Why: c.why()}
	}
	return ready
}

func (s status) other() Readiness {
	for _, kind := range []string{"Ready", "Available"} {
		switch c := s.condition(kind); c.status {
		case "True":
			return ready
		case "False", "Unknown":
			return waiting("%s", cmp.Or(c.why(), "its condition "+kind+" is "+c.status))
		}
	}
	return ready
}
