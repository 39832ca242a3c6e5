package kubeapi

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxRounds bounds how often controllers react to each other's changes; three rounds bring a Deployment to running
// pods.
const maxRounds = 8

// controlled is the kinds whose changes controllers react to.
var controlled = []string{
	"Node", "Pod", "Namespace", "Secret", "ServiceAccount", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet",
	"PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget",
}

// control does the work of the controller manager, the scheduler and the kubelets: it runs until nothing changes any
// more, so that who changes an object finds the consequences there when the call returns.
func (c *Cluster) control() {
	c.controllers.Lock()
	defer c.controllers.Unlock()
	for range maxRounds {
		before := c.store.Rev()
		c.controlNamespaces()
		c.controlNodes()
		c.controlVolumes()
		c.controlWorkloads()
		c.controlPods()
		c.controlBudgets()
		if c.store.Rev() == before {
			return
		}
	}
}

// controlNamespaces keeps the CA in every namespace, and removes tokens whose account has gone.
func (c *Cluster) controlNamespaces() {
	const name = "kube-root-ca.crt"
	cm := Kind("ConfigMap")
	for _, ns := range c.list("Namespace", "") {
		if _, err := c.store.Get(cm, Name(ns), name); err != nil {
			_, _ = c.store.Create(cm, Name(ns),
				Object{"metadata": Object{"name": name}, "data": Object{"ca.crt": string(c.pki.caPEM)}}, false)
		}
	}
	for _, s := range c.list("Secret", "") {
		if s["type"] != "kubernetes.io/service-account-token" {
			continue
		}
		account := String(s, "metadata", "annotations", "kubernetes.io/service-account.name")
		if sa, err := c.store.Get(Kind("ServiceAccount"), Namespace(s), account); err != nil || String(sa, "metadata",
			"uid") != String(s, "metadata", "annotations", "kubernetes.io/service-account.uid") {
			_, _ = c.store.Delete(Kind("Secret"), Namespace(s), Name(s), "")
		}
	}
}

// controlNodes keeps the taint of cordoned nodes, which the scheduler obeys.
func (c *Cluster) controlNodes() {
	for _, n := range c.list("Node", "") {
		cordoned := At(n, "spec", "unschedulable") == true
		if len(withTaint(n, taintCordoned, "NoSchedule", cordoned)) == len(taintsOf(n)) {
			continue
		}
		_, _ = c.store.Update(Kind("Node"), "", Name(n), false, false, func(o Object) (Object, error) {
			setTaint(o, taintCordoned, At(o, "spec", "unschedulable") == true)
			return o, nil
		})
	}
}

// controlVolumes binds claims to volumes of the same storage class, and releases volumes whose claim has gone.
func (c *Cluster) controlVolumes() {
	pvs, pvcs := Kind("PersistentVolume"), Kind("PersistentVolumeClaim")
	phase := func(r Resource, o Object, p string) {
		_, _ = c.store.Update(r, Namespace(o), Name(o), true, false, func(o Object) (Object, error) {
			Set(o, p, "status", "phase")
			return o, nil
		})
	}
	for _, claim := range c.list("PersistentVolumeClaim", "") {
		if String(claim, "status", "phase") == "Bound" {
			continue
		}
		want := String(claim, "spec", "volumeName")
		for _, v := range c.list("PersistentVolume", "") {
			if String(v, "status", "phase") != "Available" || String(v, "spec", "storageClassName") != String(claim,
				"spec", "storageClassName") || want != "" && want != Name(v) {
				continue
			}
			_, _ = c.store.Update(pvs, "", Name(v), false, false, func(o Object) (Object, error) {
				Set(o, Object{
					"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": Namespace(claim),
					"name": Name(claim), "uid": String(claim, "metadata", "uid"),
				}, "spec", "claimRef")
				return o, nil
			})
			phase(pvs, v, "Bound")
			_, _ = c.store.Update(pvcs, Namespace(claim), Name(claim), false, false, func(o Object) (Object, error) {
				Set(o, Name(v), "spec", "volumeName")
				return o, nil
			})
			phase(pvcs, claim, "Bound")
			break
		}
	}
	for _, v := range c.list("PersistentVolume", "") {
		if String(v, "status", "phase") != "Bound" {
			continue
		}
		if _, err := c.store.Get(
			pvcs, String(v, "spec", "claimRef", "namespace"), String(v, "spec", "claimRef", "name"),
		); err != nil {
			phase(pvs, v, "Released")
		}
	}
}

// controlBudgets keeps the status of disruption budgets.
func (c *Cluster) controlBudgets() {
	for _, b := range c.list("PodDisruptionBudget", "") {
		st := c.budget(b)
		_, _ = c.store.Update(Kind("PodDisruptionBudget"), Namespace(b), Name(b), true, false,
			func(o Object) (Object, error) {
				Set(o, max(0, st.left()), "status", "disruptionsAllowed")
				Set(o, st.healthy, "status", "currentHealthy")
				Set(o, st.needed, "status", "desiredHealthy")
				Set(o, st.total, "status", "expectedPods")
				Set(o, Int(o, "metadata", "generation"), "status", "observedGeneration")
				return o, nil
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
	if node := String(pod, "spec", "nodeName"); grace == 0 || node == "" || c.kubeletUp(node) {
		return c.store.Delete(r, namespace, name, uid)
	}
	return c.store.terminate(r, namespace, name, uid, grace)
}

// kubeletUp says whether there is a kubelet that runs pods. Of a node that was made by hand its condition is believed.
func (c *Cluster) kubeletUp(node string) bool {
	c.mu.Lock()
	k, ok := c.kubelets[node]
	c.mu.Unlock()
	return ok && k.up || !ok && c.NodeReady(node)
}

// terminate marks an object as being deleted.
func (s *Store) terminate(r Resource, namespace, name, uid string, grace int64) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objs[r.GR()][key(namespace, name)]
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(r.GroupResource(), name)
	case uid != "" && Meta(o)["uid"] != uid:
		return nil, anotherObject(r, name, uid, Meta(o)["uid"])
	case Meta(o)["deletionTimestamp"] != nil:
		return o, nil
	}
	next := Copy(o)
	Meta(next)["deletionTimestamp"] = s.now().Add(time.Duration(grace) * time.Second).UTC().Format(time.RFC3339)
	Meta(next)["deletionGracePeriodSeconds"] = grace
	s.put(r, "MODIFIED", next, o)
	return next, nil
}

func isControlled(r Resource) bool { return slices.Contains(controlled, r.Kind) }
