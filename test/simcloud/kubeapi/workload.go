package kubeapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
)

// controlWorkloads keeps the pods of Deployments, ReplicaSets, StatefulSets and DaemonSets.
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
	for _, kind := range []string{"ReplicaSet", "StatefulSet"} {
		for _, o := range c.list(kind, "") {
			c.controlReplicas(o, pods[String(o, "metadata", "uid")])
		}
	}
	nodes := c.list("Node", "")
	for _, o := range c.list("DaemonSet", "") {
		c.controlDaemons(o, nodes, pods[String(o, "metadata", "uid")])
	}
}

func ownerUID(o Object) string {
	refs, _ := At(o, "metadata", "ownerReferences").([]any)
	for _, x := range refs {
		if m, ok := x.(map[string]any); ok && m["controller"] == true {
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
			_, _ = c.store.Delete(r, Namespace(rs), Name(rs), "")
		}
	}
	replicas := Int(d, "spec", "replicas")
	rs, err := c.store.Get(r, Namespace(d), name)
	if err != nil {
		spec := Copy(
			Object{"selector": At(d, "spec", "selector"), "template": At(d, "spec", "template"), "replicas": replicas},
		)
		Set(spec, hash, "selector", "matchLabels", "pod-template-hash")
		Set(spec, hash, "template", "metadata", "labels", "pod-template-hash")
		rs, err = c.store.Create(r, Namespace(d), Object{
			"metadata": Object{"name": name, "labels": Copy(Object{"l": At(spec, "template", "metadata",
				"labels")})["l"], "ownerReferences": []any{owner(d)}},
			"spec": spec,
		}, false)
	} else if Int(rs, "spec", "replicas") != replicas {
		rs, err = c.store.Update(r, Namespace(d), name, false, false, func(o Object) (Object, error) {
			Set(o, replicas, "spec", "replicas")
			return o, nil
		})
	}
	if err != nil {
		return
	}
	have, ready := Int(rs, "status", "replicas"), Int(rs, "status", "readyReplicas")
	status, reason, message := "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
	if ready < replicas {
		status, reason, message = "False", "MinimumReplicasUnavailable", "Deployment does "+
			"not have minimum availability."
	}
	_, _ = c.store.Update(Kind("Deployment"), Namespace(d), Name(d), true, false, func(o Object) (Object, error) {
		o["status"] = Object{
			"observedGeneration": Int(d, "metadata", "generation"), "replicas": have, "updatedReplicas": have,
			"readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": max(0, replicas-ready),
			"conditions": []any{
				condition(o, c.now(), "Available", status, reason, message),
				condition(o, c.now(), "Progressing", "True", "NewReplicaSetAvailable",
					fmt.Sprintf("ReplicaSet %q has successfully progressed.", name)),
			},
		}
		return o, nil
	})
}

// controlReplicas keeps as many pods as a ReplicaSet or StatefulSet wants.
func (c *Cluster) controlReplicas(o Object, pods []Object) {
	want := int(Int(o, "spec", "replicas"))
	stateful := o["kind"] == "StatefulSet"
	if stateful {
		for i := range want {
			name := fmt.Sprintf("%s-%d", Name(o), i)
			if !slices.ContainsFunc(pods, func(p Object) bool { return Name(p) == name }) {
				c.makePod(o, name, "")
			}
		}
	} else {
		for range want - len(pods) {
			c.makePod(o, Name(o)+"-"+random(5), "")
		}
		// Pods that do not run go first.
		slices.SortFunc(pods, func(a, b Object) int { return cmp.Compare(rank(a), rank(b)) })
	}
	ready := int64(0)
	for i, p := range pods {
		excess := !stateful && i < len(pods)-want
		if n, ok := strings.CutPrefix(Name(p), Name(o)+"-"); stateful && ok {
			var ordinal int
			_, err := fmt.Sscan(n, &ordinal)
			excess = err == nil && ordinal >= want
		}
		switch {
		case excess:
			_, _ = c.deletePod(Namespace(p), Name(p), "", 30)
		case isReady(p):
			ready++
		}
	}
	have := int64(min(want, max(len(pods), want)))
	_, _ = c.store.Update(Kind(String(o, "kind")), Namespace(o), Name(o), true, false,
		func(cur Object) (Object, error) {
			cur["status"] = Object{
				"observedGeneration": Int(o, "metadata", "generation"), "replicas": have, "readyReplicas": ready,
				"availableReplicas": ready,
			}
			if stateful {
				Set(cur, have, "status", "currentReplicas")
				Set(cur, have, "status", "updatedReplicas")
			} else {
				Set(cur, have, "status", "fullyLabeledReplicas")
			}
			return cur, nil
		})
}

func rank(pod Object) int {
	if isReady(pod) {
		return 1
	}
	return 0
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
	_, _ = c.store.Update(Kind("DaemonSet"), Namespace(o), Name(o), true, false, func(cur Object) (Object, error) {
		cur["status"] = Object{
			"observedGeneration": Int(o, "metadata", "generation"), "desiredNumberScheduled": want,
			"currentNumberScheduled": have, "updatedNumberScheduled": have, "numberReady": ready,
			"numberAvailable": ready, "numberUnavailable": want - ready, "numberMisscheduled": int64(0),
		}
		return cur, nil
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
	_, _ = c.store.Create(Kind("Pod"), Namespace(o), pod, false)
}
