package kubeapi

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxRounds bounds how often controllers react to each other's changes; three rounds bring a Deployment to running
// pods.
const maxRounds = 8

// controlled is the kinds whose changes controllers react to.
var controlled = []string{
	"Node", "Pod", "Namespace", "Secret", "ServiceAccount", "Deployment", "ReplicaSet", "DaemonSet",
	"PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget", "StatefulSet", "Job", "HorizontalPodAutoscaler",
	"ResourceQuota", "ReplicationController", "CronJob",
}

// control does the work of the controller manager, the scheduler and the kubelets: it runs until nothing changes any
// more, so that who changes an object finds the consequences there when the call returns.
func (c *Cluster) control() {
	c.controllers.Lock()
	defer c.controllers.Unlock()
	for range maxRounds {
		before := c.store.Rev()
		c.endNamespaces()
		c.controlNamespaces()
		c.controlNodes()
		c.controlVolumes()
		c.controlWorkloads()
		c.controlAutoscalers()
		c.controlPods()
		c.controlJobs()
		c.controlQuotas()
		c.controlBudgets()
		if c.store.Rev() == before {
			return
		}
	}
}

// change changes an object. The controllers look again if that fails.
func (c *Cluster) change(o Object, change func(Object)) {
	_, _ = c.store.Update(kindOf(o), Namespace(o), Name(o), func(o Object) (Object, error) {
		change(o)
		return o, nil
	})
}

// changeStatus is change for the status of an object.
func (c *Cluster) changeStatus(o Object, change func(Object)) {
	_, _ = c.store.UpdateStatus(kindOf(o), Namespace(o), Name(o), func(o Object) (Object, error) {
		change(o)
		return o, nil
	})
}

func (c *Cluster) remove(o Object) { _, _ = c.store.Delete(kindOf(o), Namespace(o), Name(o), "") }

// controlNamespaces keeps the CA in every namespace, and removes tokens whose account has gone.
func (c *Cluster) controlNamespaces() {
	const name = "kube-root-ca.crt"
	cm := Kind("ConfigMap")
	for _, ns := range c.list("Namespace", "") {
		if Meta(ns)["deletionTimestamp"] != nil {
			continue
		}
		if _, err := c.store.Get(cm, Name(ns), name); err != nil {
			ca := Object{"metadata": Object{"name": name}, "data": Object{"ca.crt": string(c.pki.caPEM)}}
			_, _ = c.store.Create(cm, Name(ns), ca)
		}
	}
	for _, s := range c.list("Secret", "") {
		if s["type"] != "kubernetes.io/service-account-token" {
			continue
		}
		account := String(s, "metadata", "annotations", "kubernetes.io/service-account.name")
		uid := String(s, "metadata", "annotations", "kubernetes.io/service-account.uid")
		sa, err := c.store.Get(Kind("ServiceAccount"), Namespace(s), account)
		if err != nil || String(sa, "metadata", "uid") != uid {
			c.remove(s)
		}
	}
}

// controlNodes keeps the taint of cordoned nodes, which the scheduler obeys.
func (c *Cluster) controlNodes() {
	for _, n := range c.list("Node", "") {
		cordoned := At(n, "spec", "unschedulable") == true
		if len(withTaint(n, taintCordoned, "NoSchedule", cordoned)) != len(taintsOf(n)) {
			c.change(n, func(o Object) { setTaint(o, taintCordoned, At(o, "spec", "unschedulable") == true) })
		}
	}
}

// controlVolumes binds claims to volumes of the same storage class, and releases volumes whose claim has gone.
func (c *Cluster) controlVolumes() {
	for _, claim := range c.list("PersistentVolumeClaim", "") {
		if String(claim, "status", "phase") == "Bound" {
			continue
		}
		volumes := c.list("PersistentVolume", "")
		if n := slices.IndexFunc(volumes, func(v Object) bool { return canBind(claim, v) }); n >= 0 {
			c.bind(claim, volumes[n])
		}
	}
	for _, v := range c.list("PersistentVolume", "") {
		ref := func(name string) string { return String(v, "spec", "claimRef", name) }
		_, err := c.store.Get(Kind("PersistentVolumeClaim"), ref("namespace"), ref("name"))
		if err != nil && String(v, "status", "phase") == "Bound" {
			c.changeStatus(v, func(o Object) { Set(o, "Released", "status", "phase") })
		}
	}
}

func canBind(claim, volume Object) bool {
	want := String(claim, "spec", "volumeName")
	return String(volume, "status", "phase") == "Available" && (want == "" || want == Name(volume)) &&
		String(volume, "spec", "storageClassName") == String(claim, "spec", "storageClassName")
}

func (c *Cluster) bind(claim, volume Object) {
	ref := Object{
		"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": Namespace(claim), "name": Name(claim),
		"uid": String(claim, "metadata", "uid"),
	}
	c.change(volume, func(o Object) { Set(o, ref, "spec", "claimRef") })
	c.change(claim, func(o Object) { Set(o, Name(volume), "spec", "volumeName") })
	for _, o := range []Object{volume, claim} {
		c.changeStatus(o, func(o Object) { Set(o, "Bound", "status", "phase") })
	}
}

// controlBudgets keeps the status of disruption budgets.
func (c *Cluster) controlBudgets() {
	for _, b := range c.list("PodDisruptionBudget", "") {
		st := c.budget(b)
		c.changeStatus(b, func(o Object) {
			Set(o, max(0, st.left()), "status", "disruptionsAllowed")
			Set(o, st.healthy, "status", "currentHealthy")
			Set(o, st.needed, "status", "desiredHealthy")
			Set(o, st.total, "status", "expectedPods")
			Set(o, Int(o, "metadata", "generation"), "status", "observedGeneration")
		})
	}
}

// budgetState is what a disruption budget counts.
type budgetState struct{ total, healthy, needed int64 }

func (b budgetState) left() int64 { return b.healthy - b.needed }

func (c *Cluster) budget(b Object) budgetState {
	var st budgetState
	for _, p := range c.list("Pod", Namespace(b)) {
		if !selects(At(b, "spec", "selector"), p) {
			continue
		}
		st.total++
		if isReady(p) && Meta(p)["deletionTimestamp"] == nil {
			st.healthy++
		}
	}
	if v := At(b, "spec", "minAvailable"); v != nil {
		st.needed = amount(v, st.total)
	} else {
		st.needed = st.total - amount(At(b, "spec", "maxUnavailable"), st.total)
	}
	return st
}

// selects says whether a LabelSelector in JSON form picks an object. One that is missing or malformed picks none.
func selects(sel any, o Object) bool {
	m, ok := sel.(map[string]any)
	if !ok {
		return false
	}
	var ls metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(m, &ls) != nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(&ls)
	return err == nil && s.Matches(labelsOf(o))
}

func labelsOf(o Object) labels.Set {
	m, _ := At(o, "metadata", "labels").(map[string]any)
	out := make(labels.Set, len(m))
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}

// deletePod deletes a pod as a client asks for it: the kubelet of its node must confirm it, unless grace is 0.
func (c *Cluster) deletePod(namespace, name, uid string, grace int64) (Object, error) {
	r := Kind("Pod")
	pod, err := c.store.Get(r, namespace, name)
	if err != nil {
		return nil, err
	}
	if node := String(pod, "spec", "nodeName"); node == "" || c.kubeletUp(node) {
		grace = 0
	}
	return c.store.delete(r, namespace, name, uid, grace)
}

// kubeletUp says whether there is a kubelet that runs pods. Of a node that was made by hand its condition is believed.
func (c *Cluster) kubeletUp(node string) bool {
	c.mu.Lock()
	k, ok := c.kubelets[node]
	c.mu.Unlock()
	return ok && k.up || !ok && c.NodeReady(node)
}

func isControlled(r Resource) bool { return slices.Contains(controlled, r.Kind) }
