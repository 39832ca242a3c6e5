package kubeapi

import (
	"cmp"
	"fmt"
	"time"
)

// Labels, taints and messages of nodes, in Kubernetes' words.
const (
	labelMaster      = "node-role.kubernetes.io/control-plane"
	taintMaster      = labelMaster
	taintNotReady    = "node.kubernetes.io/not-ready"
	taintUnreachable = "node.kubernetes.io/unreachable"
	taintCordoned    = "node.kubernetes.io/unschedulable"

	noNetwork = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
		"message:Network plugin returns error: cni plugin not initialized"
)

// NodeSpec describes a node that joins.
type NodeSpec struct {
	Name         string
	ControlPlane bool   // gets the label and the taint that kubeadm gives masters, and the static pods of a master
	IP           string // InternalIP
	Version      string // of the kubelet; default the cluster's
}

// kubelet is what is known of a node's kubelet.
type kubelet struct {
	up     bool
	reason string
	// silent is set when it has stopped and the cluster has not noticed; renewed is when it has reported last.
	silent  bool
	renewed time.Time
}

// AddNode registers a node, as its kubelet does. It is NotReady until the CNI is there and SetNodeReady said true
// (which AddNode implies). A node that exists is registered again, with its old uid.
func (c *Cluster) AddNode(n NodeSpec) {
	c.mu.Lock()
	c.kubelets[n.Name] = kubelet{up: true}
	c.subnets++
	subnet := c.subnets - 1
	c.mu.Unlock()

	labels := Object{
		"kubernetes.io/hostname": n.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	}
	spec := Object{}
	if n.ControlPlane {
		labels[labelMaster] = ""
		labels["node.kubernetes.io/exclude-from-external-load-balancers"] = ""
		spec["taints"] = []any{Object{"key": taintMaster, "effect": "NoSchedule"}}
	}
	status := c.nodeStatus(n)
	r := Kind("Node")
	node, err := c.store.Get(r, "", n.Name)
	if err == nil {
		c.change(node, func(o Object) {
			for k, v := range labels {
				Set(o, v, "metadata", "labels", k)
			}
			if n.ControlPlane {
				setTaint(o, taintMaster, true)
			}
		})
	} else {
		cidr := fmt.Sprintf("10.244.%d.0/24", subnet%256)
		spec["podCIDR"], spec["podCIDRs"] = cidr, []any{cidr}
		annotations := Object{
			"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
		}
		meta := Object{"name": n.Name, "labels": labels, "annotations": annotations}
		if node, err = c.store.Create(r, "", Object{"metadata": meta, "spec": spec, "status": status}); err != nil {
			return
		}
	}
	c.changeStatus(node, func(o Object) {
		for k, v := range status {
			Set(o, v, "status", k)
		}
	})
	c.reportNode(n.Name)
	if n.ControlPlane {
		c.staticPods(n)
	}
	c.control()
}

// nodeStatus is the part of a node's status that does not change while it lives.
func (c *Cluster) nodeStatus(n NodeSpec) Object {
	capacity := func(memory string) Object {
		return Object{
			"cpu": "2", "memory": memory, "pods": "110",
			"ephemeral-storage": "20134592Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0",
		}
	}
	return Object{
		"addresses": []any{
			Object{"type": "InternalIP", "address": n.IP},
			Object{"type": "Hostname", "address": n.Name},
		},
		"capacity": capacity("4194304Ki"), "allocatable": capacity("4091904Ki"),
		"daemonEndpoints": Object{"kubeletEndpoint": Object{"Port": int64(10250)}},
		"nodeInfo": Object{
			"architecture": "amd64", "operatingSystem": "linux", "machineID": "", "systemUUID": "", "bootID": "",
			"kubeletVersion": cmp.Or(n.Version, c.opts.Version), "kubeProxyVersion": "",
			"osImage": "Ubuntu 22.04.4 LTS", "kernelVersion": "5.15.0-107-generic",
			"containerRuntimeVersion": "containerd://1.7.12",
		},
	}
}

// reportNode writes the conditions and taints that a node has now.
func (c *Cluster) reportNode(name string) {
	c.mu.Lock()
	k, ok := c.kubelets[name]
	cni := c.cni
	c.mu.Unlock()
	if !ok {
		return
	}
	status, reason, message := "True", "KubeletReady", "kubelet is posting ready status"
	switch {
	case !k.up && k.reason == "":
		status, reason, message = "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
	case !k.up:
		status, reason, message = "False", "KubeletNotReady", k.reason
	case !cni:
		status, reason, message = "False", "KubeletNotReady", noNetwork
	}
	node, err := c.store.Get(Kind("Node"), "", name)
	if err != nil {
		return
	}
	now := c.now()
	c.changeStatus(node, func(o Object) {
		var out []any
		for _, t := range [][3]string{
			{"MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
			{"DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
			{"PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		} {
			if status == "Unknown" {
				out = append(out, condition(o, now, t[0], status, reason, message))
			} else {
				out = append(out, condition(o, now, t[0], "False", t[1], t[2]))
			}
		}
		Set(o, append(out, condition(o, now, "Ready", status, reason, message)), "status", "conditions")
	})
	c.change(node, func(o Object) {
		setTaint(o, taintNotReady, status == "False")
		setTaint(o, taintUnreachable, status == "Unknown")
	})
}

func taintsOf(node Object) []any {
	l, _ := At(node, "spec", "taints").([]any)
	return l
}

// setTaint sets or removes a taint with the effect NoSchedule.
func setTaint(node Object, key string, on bool) {
	Set(node, withTaint(node, key, "NoSchedule", on), "spec", "taints")
	if len(taintsOf(node)) == 0 {
		delete(node["spec"].(map[string]any), "taints") //nolint:forcetypeassert // Set has just made it
	}
}

// withTaint returns the taints of a node with or without one.
func withTaint(node Object, key, effect string, on bool) []any {
	var out []any
	found := false
	for _, x := range taintsOf(node) {
		t, _ := x.(map[string]any)
		if t["key"] == key && t["effect"] == effect {
			if !on {
				continue
			}
			found = true
		}
		out = append(out, x)
	}
	if on && !found {
		out = append(out, Object{"key": key, "effect": effect})
	}
	return out
}

// condition makes a condition; its time is that of the last change of status.
func condition(o Object, now time.Time, kind, status, reason, message string) any {
	at := now.UTC().Format(time.RFC3339)
	out := Object{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}
	if old := conditionOf(o, kind); old != nil && old["status"] == status {
		out["lastTransitionTime"] = old["lastTransitionTime"]
	}
	if o["kind"] == "Node" {
		out["lastHeartbeatTime"] = out["lastTransitionTime"]
	}
	return out
}

func conditionOf(o Object, kind string) Object {
	for _, m := range objectsAt(o, "status", "conditions") {
		if m["type"] == kind {
			return m
		}
	}
	return nil
}

func isReady(o Object) bool { return conditionOf(o, "Ready")["status"] == "True" }

// SetNodeReady says whether the kubelet of a node answers. When it does not, the Ready condition becomes Unknown with
// reason NodeStatusUnknown, "Kubelet stopped posting node status." when reason is empty; otherwise False with reason as
// message. False when there is no such node.
func (c *Cluster) SetNodeReady(name string, ready bool, reason string) bool {
	if _, err := c.store.Get(Kind("Node"), "", name); err != nil {
		return false
	}
	c.mu.Lock()
	c.kubelets[name] = kubelet{up: ready, reason: reason, renewed: c.kubelets[name].lease(c.now())}
	c.mu.Unlock()
	c.reportNode(name)
	c.control()
	return true
}

// RemoveNode deletes a node with its pods. False when there is no such node.
func (c *Cluster) RemoveNode(name string) bool {
	_, err := c.store.Delete(Kind("Node"), "", name, "")
	c.control()
	return err == nil
}

// Nodes lists the names of the nodes.
func (c *Cluster) Nodes() []string {
	var out []string
	for _, n := range c.list("Node", "") {
		out = append(out, Name(n))
	}
	return out
}

// NodeReady says whether a node is there and Ready.
func (c *Cluster) NodeReady(name string) bool {
	o, err := c.store.Get(Kind("Node"), "", name)
	return err == nil && isReady(o)
}

// CNIInstalled says whether there is a pod network. Without one no node is Ready ("container runtime network not
// ready").
func (c *Cluster) CNIInstalled(yes bool) {
	c.mu.Lock()
	changed := c.cni != yes
	c.cni = yes
	c.mu.Unlock()
	if !changed {
		return
	}
	for _, n := range c.Nodes() {
		c.reportNode(n)
	}
	c.control()
}

// staticPods makes the mirror pods of a master.
func (c *Cluster) staticPods(n NodeSpec) {
	node, err := c.store.Get(Kind("Node"), "", n.Name)
	if err != nil {
		return
	}
	version := cmp.Or(n.Version, c.opts.Version)
	for name, image := range map[string]string{
		"etcd": "registry.k8s.io/etcd:3.6.6-0", "kube-apiserver": "registry.k8s.io/kube-apiserver:" + version,
		"kube-controller-manager": "registry.k8s.io/kube-controller-manager:" + version,
		"kube-scheduler":          "registry.k8s.io/kube-scheduler:" + version,
	} {
		pod := Object{
			"metadata": Object{
				"name": name + "-" + n.Name, "labels": Object{"component": name, "tier": "control-plane"},
				"annotations": Object{
					"kubernetes.io/config.mirror": "simulated", "kubernetes.io/config.source": "file",
				},
				"ownerReferences": []any{owner(node)},
			},
			"spec": Object{
				"nodeName": n.Name, "hostNetwork": true, "containers": []any{Object{"name": name, "image": image}},
				"priorityClassName": "system-node-critical",
				"tolerations":       []any{Object{"operator": "Exists", "effect": "NoExecute"}},
			},
		}
		_, _ = c.store.Create(Kind("Pod"), "kube-system", pod)
	}
}

// SetStaticPods gives the control plane on a master the images of another version, as kubeadm upgrade does.
func (c *Cluster) SetStaticPods(node, version string) {
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pod, err := c.store.Get(Kind("Pod"), "kube-system", name+"-"+node)
		if err != nil {
			continue
		}
		container := Object{"name": name, "image": "registry.k8s.io/" + name + ":" + version}
		c.change(pod, func(o Object) { Set(o, []any{container}, "spec", "containers") })
	}
}

// owner makes the reference to a controlling owner.
func owner(o Object) any {
	return Object{
		"apiVersion": o["apiVersion"], "kind": o["kind"], "name": Name(o), "uid": String(o, "metadata", "uid"),
		"controller": true,
	}
}
