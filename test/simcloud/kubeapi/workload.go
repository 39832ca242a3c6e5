package kubeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/rand"
)

// controlWorkloads keeps the pods of Deployments, ReplicaSets and DaemonSets.
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
	for _, o := range c.list("ReplicaSet", "") {
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

// controlDeployment keeps one ReplicaSet for the present template, and removes those of earlier ones.
func (c *Cluster) controlDeployment(d Object) {
	b, err := json.Marshal(At(d, "spec", "template"))
	if err != nil {
		return
	}
	h := fnv.New32a()
	_, _ = h.Write(b)
	hash := rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
	name, r := Name(d)+"-"+hash, Kind("ReplicaSet")
	for _, rs := range c.list("ReplicaSet", Namespace(d)) {
		if ownerUID(rs) == String(d, "metadata", "uid") && Name(rs) != name {
			c.remove(rs)
		}
	}
	replicas := Int(d, "spec", "replicas")
	rs, err := c.store.Get(r, Namespace(d), name)
	if err != nil {
		spec := Copy(Object{
			"selector": At(d, "spec", "selector"), "template": At(d, "spec", "template"), "replicas": replicas,
		})
		Set(spec, hash, "selector", "matchLabels", "pod-template-hash")
		Set(spec, hash, "template", "metadata", "labels", "pod-template-hash")
		meta := Object{
			"name": name, "labels": At(spec, "template", "metadata", "labels"), "ownerReferences": []any{owner(d)},
		}
		rs, err = c.store.Create(r, Namespace(d), Object{"metadata": meta, "spec": spec})
	} else if Int(rs, "spec", "replicas") != replicas {
		c.change(rs, func(o Object) { Set(o, replicas, "spec", "replicas") })
	}
	if err != nil {
		return
	}
	have, ready := Int(rs, "status", "replicas"), Int(rs, "status", "readyReplicas")
	status, reason, message := "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
	if ready < replicas {
		status, reason = "False", "MinimumReplicasUnavailable"
		message = "Deployment does not have minimum availability."
	}
	c.changeStatus(d, func(o Object) {
		o["status"] = Object{
			"observedGeneration": Int(d, "metadata", "generation"), "replicas": have, "updatedReplicas": have,
			"readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": max(0, replicas-ready),
			"conditions": []any{
				condition(o, c.now(), "Available", status, reason, message),
				condition(o, c.now(), "Progressing", "True", "NewReplicaSetAvailable",
					fmt.Sprintf("ReplicaSet %q has successfully progressed.", name)),
			},
		}
	})
}

// controlReplicas keeps as many pods as a ReplicaSet wants.
func (c *Cluster) controlReplicas(o Object, pods []Object) {
	want := int(Int(o, "spec", "replicas"))
	for range want - len(pods) {
		c.makePod(o, Name(o)+"-"+random(5), "")
	}
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
			"observedGeneration": Int(o, "metadata", "generation"), "replicas": int64(want), "readyReplicas": ready,
			"availableReplicas": ready, "fullyLabeledReplicas": int64(want),
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
			c.makePod(o, Name(o)+"-"+random(5), Name(n))
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
func (c *Cluster) makePod(o Object, name, node string) {
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
	_, _ = c.store.Create(Kind("Pod"), Namespace(o), pod)
}
