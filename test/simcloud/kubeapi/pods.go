package kubeapi

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// controlPods schedules pods, lets kubelets run and stop them, and removes those of nodes that have gone.
func (c *Cluster) controlPods() {
	nodes := map[string]Object{}
	for _, n := range c.list("Node", "") {
		nodes[Name(n)] = n
	}
	c.mu.Lock()
	for name := range c.kubelets {
		if nodes[name] == nil {
			delete(c.kubelets, name)
		}
	}
	c.mu.Unlock()
	pods := c.list("Pod", "")
	load, same := map[string]int{}, map[string]int{}
	for _, p := range pods {
		n := String(p, "spec", "nodeName")
		load[n]++
		same[ownerUID(p)+" "+n]++
	}
	for _, p := range pods {
		node := String(p, "spec", "nodeName")
		switch {
		case node == "":
			fit := schedulable(p, nodes)
			if len(fit) == 0 {
				c.podPending(p, "PodScheduled", "Unschedulable", fmt.Sprintf("0/%d nodes are available.", len(nodes)))
				continue
			}
			own := ownerUID(p)
			node = slices.MinFunc(fit, func(a, b string) int {
				return cmp.Or(
					cmp.Compare(same[own+" "+a], same[own+" "+b]), cmp.Compare(load[a], load[b]), cmp.Compare(a, b),
				)
			})
			load[node]++
			same[own+" "+node]++
			c.change(p, func(o Object) { Set(o, node, "spec", "nodeName") })
			c.runPod(p, nodes[node])
		case nodes[node] == nil:
			c.remove(p)
		case Meta(p)["deletionTimestamp"] != nil:
			if c.kubeletUp(node) {
				c.remove(p)
			}
		default:
			c.runPod(p, nodes[node])
		}
	}
}

// schedulable names the nodes where a pod may run.
func schedulable(pod Object, nodes map[string]Object) []string {
	var out []string
	for name, n := range nodes {
		if isReady(n) && fits(pod, n, false) {
			out = append(out, name)
		}
	}
	return out
}

// fits checks the node selector and the taints. Daemons tolerate what says that a node is not well.
func fits(pod, node Object, daemon bool) bool {
	sel, _ := At(pod, "spec", "nodeSelector").(map[string]any)
	have, _ := At(node, "metadata", "labels").(map[string]any)
	for k, v := range sel {
		if have[k] != v {
			return false
		}
	}
	for _, t := range objectsAt(node, "spec", "taints") {
		k := String(t, "key")
		if t["effect"] == "PreferNoSchedule" || daemon && strings.HasPrefix(k, "node.kubernetes.io/") {
			continue
		}
		if !tolerates(pod, t) {
			return false
		}
	}
	return true
}

func tolerates(pod, taint Object) bool {
	return slices.ContainsFunc(objectsAt(pod, "spec", "tolerations"), func(t Object) bool {
		key, effect := String(t, "key"), String(t, "effect")
		if effect != "" && effect != String(taint, "effect") {
			return false
		}
		if t["operator"] == "Exists" {
			return key == "" || key == String(taint, "key")
		}
		return key == String(taint, "key") && String(t, "value") == String(taint, "value")
	})
}

// podPending notes why a pod does not run yet.
func (c *Cluster) podPending(pod Object, kind, reason, message string) {
	if conditionOf(pod, kind)["reason"] == reason {
		return
	}
	c.changeStatus(pod, func(o Object) {
		Set(o, []any{condition(o, c.now(), kind, "False", reason, message)}, "status", "conditions")
	})
}

// runPod does the kubelet's part: it starts containers once there is a network. A pod of a node that is not Ready is
// not ready.
func (c *Cluster) runPod(pod, node Object) {
	phase := String(pod, "status", "phase")
	if phase == "Succeeded" || phase == "Failed" {
		return
	}
	c.mu.Lock()
	network := c.cni || At(pod, "spec", "hostNetwork") == true
	c.mu.Unlock()
	up := c.kubeletUp(Name(node))
	running := phase == "Running" || up && network
	if running && phase != "Running" && c.stuck(pod) {
		return
	}
	ready := running && up && !c.unready(pod)
	if !running {
		if up {
			c.podPending(pod, "Ready", "ContainersNotReady", noNetwork)
		}
		return
	}
	if phase == "Running" && ready == isReady(pod) {
		return
	}
	c.changeStatus(pod, func(o Object) {
		c.podRuns(o, node, ready)
	})
}

// podRuns writes the status of a pod whose containers were started.
func (c *Cluster) podRuns(o, node Object, ready bool) {
	now := c.now()
	state, reason := "True", ""
	if !ready {
		state, reason = "False", "NodeNotReady"
	}
	conditions := []any{
		condition(o, now, "PodScheduled", "True", "", ""), condition(o, now, "Initialized", "True", "", ""),
		condition(o, now, "ContainersReady", state, reason, ""), condition(o, now, "Ready", state, reason, ""),
	}
	ip := nodeAddress(node)
	if At(o, "spec", "hostNetwork") != true {
		h := fnv.New32a()
		_, _ = h.Write([]byte(String(o, "metadata", "uid")))
		ip = fmt.Sprintf("%s%d", strings.TrimSuffix(String(node, "spec", "podCIDR"), "0/24"), 2+h.Sum32()%250)
	}
	status := Object{
		"phase": "Running", "conditions": conditions, "hostIP": nodeAddress(node), "podIP": ip,
		"podIPs": []any{Object{"ip": ip}}, "qosClass": "BestEffort", "startTime": now.UTC().Format(time.RFC3339),
	}
	if t := String(o, "status", "startTime"); t != "" {
		status["startTime"] = t
	}
	var list []any
	for _, ct := range objectsAt(o, "spec", "containers") {
		list = append(list, Object{
			"name": ct["name"], "image": ct["image"], "imageID": ct["image"], "ready": ready, "started": true,
			"restartCount": int64(0),
			"containerID":  "containerd://" + String(o, "metadata", "uid"),
			"state":        Object{"running": Object{"startedAt": status["startTime"]}},
		})
	}
	status["containerStatuses"] = list
	o["status"] = status
}
