package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The bounds of a cause.
const (
	maxWhy    = 1000 // bytes
	maxEvents = 100  // of one object
)

// workloads are the kinds whose readiness is that of their pods.
var workloads = []string{
	"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "Pod",
}

// cause says why an object is not ready: that of its first pod that has one, else the last warning about the object
// itself. Empty if the cluster gives no cause.
func (c *Cluster) cause(ctx context.Context, o *unstructured.Unstructured) (string, error) {
	if slices.Contains(workloads, o.GetKind()) {
		pods, err := c.podsOf(ctx, o)
		if err != nil {
			return "", err
		}
		for n := range pods {
			why, err := c.podCause(ctx, &pods[n])
			if err != nil || why != "" {
				return shorten(why), err
			}
		}
	}
	why, err := c.warning(ctx, o.GetNamespace(), string(o.GetUID()))
	return shorten(why), err
}

// podCause says why a pod is not ready; empty if it is, or if the cluster gives no cause.
func (c *Cluster) podCause(ctx context.Context, p *corev1.Pod) (string, error) {
	if p.Status.Phase == corev1.PodSucceeded || p.DeletionTimestamp != nil {
		return "", nil
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue {
			return "", nil
		}
	}
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s: %s: %s", p.Name, cond.Reason, cond.Message), nil
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if why := containerCause(s); why != "" {
			return fmt.Sprintf("pod %s, container %s: %s", p.Name, s.Name, why), nil
		}
	}
	if why := cmp.Or(p.Status.Message, p.Status.Reason); why != "" {
		return fmt.Sprintf("pod %s: %s", p.Name, why), nil
	}
	why, err := c.warning(ctx, p.Namespace, string(p.UID)) // probes, volumes, networks
	if why == "" || err != nil {
		return "", err
	}
	return fmt.Sprintf("pod %s: %s", p.Name, why), nil
}

// containerCause says why a container does not run; empty if it runs or is being started.
func containerCause(s corev1.ContainerStatus) string {
	switch w, t := s.State.Waiting, s.State.Terminated; {
	case w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing":
		why := strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
		if last := s.LastTerminationState.Terminated; last != nil {
			why += "; " + exited(last)
		}
		return why
	case t != nil && t.ExitCode != 0:
		return exited(t)
	}
	return ""
}

// exited says how a container ended.
func exited(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("it ended with exit code %d", t.ExitCode)
	if t.Reason != "" {
		text += " (" + t.Reason + ")"
	}
	if t.Message != "" {
		text += ": " + strings.TrimSpace(t.Message)
	}
	return text
}

// warning returns the last event of type Warning about an object; empty if there is none, or if the user may not read
// events.
func (c *Cluster) warning(ctx context.Context, namespace, uid string) (string, error) {
	path := "/api/v1/events"
	if namespace != "" {
		path = "/api/v1/namespaces/" + namespace + "/events"
	}
	raw, err := c.send(ctx, "list events", c.client.REST().Get().AbsPath(path).
		Param("fieldSelector", "involvedObject.uid="+uid+",type="+corev1.EventTypeWarning).
		Param("limit", strconv.Itoa(maxEvents)))
	if err != nil {
		if lcm.AsError(err).Class == lcm.Auth {
			return "", nil
		}
		return "", err
	}
	var list corev1.EventList
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", lcm.Errorf(lcm.CodeUpstream, "the list of events cannot be read: %w", err)
	}
	var last *corev1.Event
	for n := range list.Items {
		if e := &list.Items[n]; last == nil || timeOf(e).After(timeOf(last)) {
			last = e
		}
	}
	if last == nil {
		return "", nil
	}
	return last.Reason + ": " + last.Message, nil
}

func timeOf(e *corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}

func shorten(s string) string {
	if len(s) > maxWhy {
		return strings.ToValidUTF8(s[:maxWhy], "") + " …"
	}
	return s
}
