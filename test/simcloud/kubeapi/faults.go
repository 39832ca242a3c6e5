package kubeapi

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is a rule by which requests fail. All of Method, Path and Body that are set must match.
type Fault struct {
	Method string // such as PATCH
	Path   string // a part of the URL's path, such as /deployments/
	// Status of the answer; 0 breaks the connection.
	Status     int
	Reason     metav1.StatusReason
	Message    string
	RetryAfter int // seconds, in the header and the Status
	// Times is how often it fires; 0 means always.
	Times int
}

// Faults of an API server that is not broken.
var (
	// Unavailable is the answer of one that ends.
	Unavailable = Fault{
		Status: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: "apiserver is shutting down",
	}
	// Conflict is the answer to a change of an object that has another version by now.
	Conflict = Fault{
		Status: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Message: "the object has been modified; please apply your changes to the latest version",
	}
	// Busy asks to come back after a second.
	Busy = Fault{
		Status: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: "too many requests, please try again later", RetryAfter: 1,
	}
)

// PodFault is what goes wrong with the containers of an image.
type PodFault string

// The faults of containers.
const (
	NoPodFault     PodFault = ""
	ImagePullFault PodFault = "image" // the image cannot be pulled
	CrashFault     PodFault = "crash" // the container ends with an error
	ProbeFault     PodFault = "probe" // the readiness probe fails
)

const pullMessage = "failed to pull and unpack image: not found"

// faults are what goes wrong. The cluster's lock is held.
type faults struct {
	requests []*Fault
	images   map[string]PodFault
	held     map[string]bool // namespaces
	webhook  string          // refuses pods and workloads with this text
}

// AddFault lets requests fail. The oldest rule that matches counts.
func (c *Cluster) AddFault(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.requests = append(c.faults.requests, &f)
}

// ClearFaults removes all rules of AddFault.
func (c *Cluster) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.requests = nil
}

// SetImageFault says what goes wrong with containers of an image, from their next start on; NoPodFault ends it, also
// for pods that exist.
func (c *Cluster) SetImageFault(image string, f PodFault) {
	c.mu.Lock()
	if c.faults.images == nil {
		c.faults.images = map[string]PodFault{}
	}
	c.faults.images[image] = f
	c.mu.Unlock()
	c.control()
}

// HoldNamespace keeps a namespace Terminating when it is deleted, until it is called with false.
func (c *Cluster) HoldNamespace(name string, hold bool) {
	c.mu.Lock()
	if c.faults.held == nil {
		c.faults.held = map[string]bool{}
	}
	c.faults.held[name] = hold
	c.mu.Unlock()
	c.control()
}

func (c *Cluster) holds(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults.held[namespace]
}

// SetWebhook lets an admission webhook refuse new objects of the apps group and pods with a text; empty ends it.
func (c *Cluster) SetWebhook(refusal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.webhook = refusal
}

// CutWatches ends all watches of now, in the middle of the stream.
func (c *Cluster) CutWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut != nil {
		close(c.cut)
		c.cut = nil
	}
}

func (c *Cluster) watches() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return c.done
	default:
	}
	if c.cut == nil {
		c.cut = make(chan struct{})
	}
	return c.cut
}

// fail answers a request for which there is a fault.
func (c *Cluster) fail(w http.ResponseWriter, req *http.Request) bool {
	c.mu.Lock()
	n := slices.IndexFunc(c.faults.requests, func(f *Fault) bool {
		return (f.Method == "" || f.Method == req.Method) && strings.Contains(req.URL.Path, f.Path)
	})
	if n < 0 {
		c.mu.Unlock()
		return false
	}
	f := *c.faults.requests[n]
	if c.faults.requests[n].Times--; f.Times == 1 {
		c.faults.requests = slices.Delete(c.faults.requests, n, n+1)
	}
	c.mu.Unlock()
	if f.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	st := metav1.Status{
		Status: metav1.StatusFailure, Code: int32(f.Status),
		Reason: f.Reason, Message: f.Message,
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		st.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(f.RetryAfter)}
	}
	writeError(w, &apierrors.StatusError{ErrStatus: st})
	return true
}

// admit completes or refuses a new object.
func (c *Cluster) admit(r Resource, o Object) error {
	c.mu.Lock()
	refusal := c.faults.webhook
	c.mu.Unlock()
	if refusal != "" && (r.Group == "apps" || r.Kind == "Pod") {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: fmt.Sprintf("admission webhook %q denied the request: %s", "policy.example.com", refusal),
		}}
	}
	if err := c.checkQuota(r, o); err != nil {
		return err
	}
	return c.fillToken(r, o)
}

// quotaName is the name by which a quota counts a resource.
func quotaName(r Resource) []string {
	names := []string{"count/" + r.GR()}
	if r.Group == "" {
		names = append(names, r.Plural)
	}
	return names
}

// checkQuota refuses an object that exceeds a quota of numbers.
func (c *Cluster) checkQuota(r Resource, o Object) error {
	if !r.Namespaced {
		return nil
	}
	namespace := Namespace(o)
	for _, q := range c.list("ResourceQuota", namespace) {
		hard, _ := At(q, "spec", "hard").(map[string]any)
		for _, name := range quotaName(r) {
			limit, err := strconv.Atoi(fmt.Sprint(hard[name]))
			if err != nil {
				continue
			}
			have, _ := c.store.List(r, namespace)
			if len(have) >= limit {
				return apierrors.NewForbidden(r.GroupResource(), Name(o), fmt.Errorf(
					"exceeded quota: %s, requested: %s=1, used: %s=%d, limited: %s=%d",
					Name(q), name, name, len(have), name, limit))
			}
		}
	}
	return nil
}

// controlQuotas keeps the numbers that quotas count.
func (c *Cluster) controlQuotas() {
	for _, q := range c.list("ResourceQuota", "") {
		hard, _ := At(q, "spec", "hard").(map[string]any)
		used := Object{}
		for _, r := range c.store.Resources() {
			for _, name := range quotaName(r) {
				if hard[name] != nil {
					have, _ := c.store.List(r, Namespace(q))
					used[name] = strconv.Itoa(len(have))
				}
			}
		}
		c.changeStatus(q, func(o Object) { o["status"] = Object{"hard": hard, "used": used} })
	}
}

// faultOf returns the first container of a pod whose image has a fault.
func (c *Cluster) faultOf(pod Object) (Object, PodFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ct := range objectsAt(pod, "spec", "containers") {
		if f := c.faults.images[String(ct, "image")]; f != NoPodFault {
			return ct, f
		}
	}
	return nil, NoPodFault
}

// stuck writes the status of a pod whose containers cannot be started, or that ends at once because it is a Job's.
func (c *Cluster) stuck(pod Object) bool {
	ct, f := c.faultOf(pod)
	ofJob := slices.ContainsFunc(objectsAt(pod, "metadata", "ownerReferences"), func(o Object) bool {
		return o["kind"] == "Job"
	})
	image := String(ct, "image")
	switch {
	case f == ImagePullFault:
		message := fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", image, pullMessage)
		c.notReady(pod, ct, Object{"waiting": Object{"reason": "ImagePullBackOff", "message": message}}, nil)
		c.warn(pod, "Failed", fmt.Sprintf("Failed to pull image %q: %s", image, pullMessage))
		return true
	case f == CrashFault && !ofJob:
		ended := Object{"terminated": Object{"exitCode": int64(1), "reason": "Error"}}
		message := "back-off 10s restarting failed container=" + String(ct, "name")
		c.notReady(pod, ct, Object{"waiting": Object{"reason": "CrashLoopBackOff", "message": message}}, ended)
		c.warn(pod, "BackOff", "Back-off restarting failed container "+String(ct, "name"))
		return true
	case ofJob:
		phase := "Succeeded"
		if f == CrashFault {
			phase = "Failed"
		}
		c.changeStatus(pod, func(o Object) { Set(o, phase, "status", "phase") })
		return true
	}
	return false
}

// notReady writes the status of a pod of which one container does not run.
func (c *Cluster) notReady(pod, container, state, last Object) {
	status := Object{
		"name": container["name"], "image": container["image"], "imageID": "", "ready": false, "started": false,
		"restartCount": int64(0), "state": state,
	}
	if last != nil {
		status["lastState"] = last
	}
	c.changeStatus(pod, func(o Object) {
		Set(o, []any{
			condition(o, c.now(), "PodScheduled", "True", "", ""),
			condition(o, c.now(), "Ready", "False", "ContainersNotReady",
				fmt.Sprintf("containers with unready status: [%s]", container["name"])),
		}, "status", "conditions")
		Set(o, []any{status}, "status", "containerStatuses")
	})
}

// unready says that a running pod does not pass its readiness probe.
func (c *Cluster) unready(pod Object) bool {
	_, f := c.faultOf(pod)
	if f == ProbeFault {
		c.warn(pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
	}
	return f == ProbeFault
}

// warn records a warning about an object; the same one is recorded once.
func (c *Cluster) warn(o Object, reason, message string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(reason + message))
	now := c.now().UTC().Format("2006-01-02T15:04:05Z07:00")
	_, _ = c.store.Create(Kind("Event"), Namespace(o), Object{
		"metadata": Object{"name": fmt.Sprintf("%s.%x", Name(o), h.Sum64())},
		"involvedObject": Object{
			"apiVersion": o["apiVersion"], "kind": o["kind"], "namespace": Namespace(o), "name": Name(o),
			"uid": String(o, "metadata", "uid"),
		},
		"type": "Warning", "reason": reason, "message": message, "count": int64(1), "firstTimestamp": now,
		"lastTimestamp": now, "source": Object{"component": "simulated"},
	})
}
