package kubeapi

import (
	"cmp"
	"slices"
	"strconv"
)

// controlWorkloads keeps the pods of workloads.
func (c *Cluster) controlWorkloads() {
	for _, d := range c.list("Deployment", "") {
		c.controlDeployment(d)
	}
	pods := map[string][]Object{} // by the uid of their owner
	for _, p := range c.list("Pod", "") {
		if Meta(p)["deletionTimestamp"] == nil {
			u := ownerUID(p)
			pods[u] = append(pods[u], p)
		}
	}
	for _, o := range c.list("StatefulSet", "") {
		c.controlStatefulSet(o, pods[String(o, "metadata", "uid")])
	}
	for _, o := range slices.Concat(c.list("ReplicaSet", ""), c.list("ReplicationController", "")) {
		c.controlReplicas(o, pods[String(o, "metadata", "uid")])
	}
	nodes := c.list("Node", "")
	for _, o := range c.list("DaemonSet", "") {
		c.controlDaemons(o, nodes, pods[String(o, "metadata", "uid")])
	}
}

func ownerUID(o Object) string {
	for _, m := range objectsAt(o, "metadata", "ownerReferences") {
		if m["controller"] == true {
			return String(m, "uid")
		}
	}
	return ""
}

// controlReplicas keeps as many pods as a ReplicaSet wants.
func (c *Cluster) controlReplicas(o Object, pods []Object) {
	want := int(Int(o, "spec", "replicas"))
	var refused error
	have := len(pods)
	for range want - len(pods) {
		if refused = c.makePod(o, Name(o)+"-"+random(5), ""); refused != nil {
			break
		}
		have++
	}
	have = min(have, want)
	// Pods that do not run go first, then those that cost least.
	slices.SortFunc(pods, func(a, b Object) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(deletionCost(a), deletionCost(b)))
	})
	ready := int64(0)
	for i, p := range pods {
		switch {
		case i < len(pods)-want:
			_, _ = c.deletePod(Namespace(p), Name(p), "", 30)
		case isReady(p):
			ready++
		}
	}
	c.changeStatus(o, func(cur Object) {
		cur["status"] = Object{
			"observedGeneration": Int(o, "metadata", "generation"), "replicas": int64(have), "readyReplicas": ready,
			"availableReplicas": ready, "fullyLabeledReplicas": int64(have),
		}
		if refused != nil {
			failure := condition(o, c.now(), "ReplicaFailure", "True", "FailedCreate", refused.Error())
			Set(cur, []any{failure}, "status", "conditions")
		}
	})
}

func rank(pod Object) int {
	if isReady(pod) {
		return 1
	}
	return 0
}

// deletionCost is the annotation by which a client chooses the pods that go.
func deletionCost(pod Object) int {
	n, _ := strconv.Atoi(String(pod, "metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"))
	return n
}

// controlDaemons keeps one pod on every node that fits.
func (c *Cluster) controlDaemons(o Object, nodes, pods []Object) {
	on := map[string]Object{}
	for _, p := range pods {
		on[String(p, "spec", "nodeName")] = p
	}
	var want, have, ready int64
	spec := Object{"spec": At(o, "spec", "template", "spec")}
	for _, n := range nodes {
		p, ok := on[Name(n)]
		if !fits(spec, n, true) {
			if ok {
				_, _ = c.deletePod(Namespace(p), Name(p), "", 30)
			}
			continue
		}
		want++
		if !ok {
			_ = c.makePod(o, Name(o)+"-"+random(5), Name(n)) // an event says why
			continue
		}
		have++
		if isReady(p) {
			ready++
		}
	}
	c.changeStatus(o, func(cur Object) {
		cur["status"] = Object{
			"observedGeneration": Int(o, "metadata", "generation"), "desiredNumberScheduled": want,
			"currentNumberScheduled": have, "updatedNumberScheduled": have, "numberReady": ready,
			"numberAvailable": ready, "numberUnavailable": want - ready, "numberMisscheduled": int64(0),
		}
	})
}

// makePod makes a pod from a workload's template; node is empty when the scheduler shall choose.
func (c *Cluster) makePod(o Object, name, node string) error {
	pod := Object{"metadata": Object{"name": name, "ownerReferences": []any{owner(o)}}, "spec": Object{}}
	if spec, ok := At(o, "spec", "template", "spec").(map[string]any); ok {
		pod["spec"] = Copy(spec)
	}
	for _, k := range []string{"labels", "annotations"} {
		if m, ok := At(o, "spec", "template", "metadata", k).(map[string]any); ok {
			Set(pod, Copy(m), "metadata", k)
		}
	}
	if node != "" {
		Set(pod, node, "spec", "nodeName")
	}
	_, err := c.store.Create(Kind("Pod"), Namespace(o), pod)
	if err != nil {
		c.warn(o, "FailedCreate", "Error creating: "+err.Error())
	}
	return err
}
