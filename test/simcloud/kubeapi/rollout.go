package kubeapi

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/rand"
)

// templateHash tells the versions of a workload's template apart.
func templateHash(o Object) string {
	b, err := json.Marshal(At(o, "spec", "template"))
	if err != nil {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write(b)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// controlDeployment keeps a ReplicaSet for the present template. Those of earlier templates lose their pods as the
// strategy says: at once, or as far as the new pods are ready; then they are removed.
func (c *Cluster) controlDeployment(d Object) {
	hash := templateHash(d)
	name, want := Name(d)+"-"+hash, Int(d, "spec", "replicas")
	var old []Object
	for _, rs := range c.list("ReplicaSet", Namespace(d)) {
		if ownerUID(rs) == String(d, "metadata", "uid") && Name(rs) != name {
			old = append(old, rs)
		}
	}
	recreate := String(d, "spec", "strategy", "type") == "Recreate"
	if recreate {
		for _, rs := range old {
			c.remove(rs)
		}
	}
	rs, err := c.replicaSet(d, name, hash, want)
	if err != nil {
		return
	}
	ready, have := Int(rs, "status", "readyReplicas"), Int(rs, "status", "replicas")
	available, total := ready, have
	for _, o := range old {
		// At least three quarters of the replicas stay available.
		keep := max(0, want-want/4-ready)
		if keep == 0 || recreate {
			c.remove(o)
			continue
		}
		if Int(o, "spec", "replicas") > keep {
			c.change(o, func(o Object) { Set(o, keep, "spec", "replicas") })
		}
		available += Int(o, "status", "readyReplicas")
		total += Int(o, "status", "replicas")
	}
	c.deploymentStatus(d, rs, deploymentCount{want, total, have, available})
}

// replicaSet returns the ReplicaSet of a Deployment's template, with as many replicas.
func (c *Cluster) replicaSet(d Object, name, hash string, replicas int64) (Object, error) {
	r := Kind("ReplicaSet")
	rs, err := c.store.Get(r, Namespace(d), name)
	if err == nil {
		if Int(rs, "spec", "replicas") != replicas {
			c.change(rs, func(o Object) { Set(o, replicas, "spec", "replicas") })
		}
		return rs, nil
	}
	spec := Copy(Object{
		"selector": At(d, "spec", "selector"), "template": At(d, "spec", "template"), "replicas": replicas,
	})
	Set(spec, hash, "selector", "matchLabels", "pod-template-hash")
	Set(spec, hash, "template", "metadata", "labels", "pod-template-hash")
	meta := Object{
		"name": name, "labels": At(spec, "template", "metadata", "labels"), "ownerReferences": []any{owner(d)},
	}
	return c.store.Create(r, Namespace(d), Object{"metadata": meta, "spec": spec})
}

type deploymentCount struct{ want, total, updated, available int64 }

func (c *Cluster) deploymentStatus(d, rs Object, n deploymentCount) {
	status, reason, message := "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
	if n.available < n.want-n.want/4 {
		status, reason = "False", "MinimumReplicasUnavailable"
		message = "Deployment does not have minimum availability."
	}
	progress := fmt.Sprintf("ReplicaSet %q has successfully progressed.", Name(rs))
	c.changeStatus(d, func(o Object) {
		conditions := []any{
			condition(o, c.now(), "Available", status, reason, message),
			condition(o, c.now(), "Progressing", "True", "NewReplicaSetAvailable", progress),
		}
		if f := conditionOf(rs, "ReplicaFailure"); f != nil {
			conditions = append(conditions, f)
		}
		o["status"] = Object{
			"observedGeneration": Int(d, "metadata", "generation"), "replicas": n.total, "updatedReplicas": n.updated,
			"readyReplicas": n.available, "availableReplicas": n.available,
			"unavailableReplicas": max(0, n.want-n.available), "conditions": conditions,
		}
	})
}

// controlStatefulSet keeps the numbered pods and claims of a StatefulSet, one after the other.
func (c *Cluster) controlStatefulSet(o Object, pods []Object) {
	want, hash := Int(o, "spec", "replicas"), Name(o)+"-"+templateHash(o)
	parallel := String(o, "spec", "podManagementPolicy") == "Parallel"
	byName := map[string]Object{}
	for _, p := range pods {
		byName[Name(p)] = p
	}
	var have, ready, updated int64
	waits := false
	for n := range want {
		name := fmt.Sprintf("%s-%d", Name(o), n)
		p := byName[name]
		delete(byName, name)
		if p == nil {
			if !waits {
				c.makeClaims(o, name)
				template := Copy(o)
				Set(template, hash, "spec", "template", "metadata", "labels", "controller-revision-hash")
				Set(template, name, "spec", "template", "metadata", "labels", "statefulset.kubernetes.io/pod-name")
				_ = c.makePod(template, name, "") // an event says why
			}
			waits = !parallel
			continue
		}
		have++
		if String(p, "metadata", "labels", "controller-revision-hash") == hash {
			updated++
		}
		if isReady(p) {
			ready++
		} else {
			waits = waits || !parallel
		}
	}
	for _, p := range byName {
		_, _ = c.deletePod(Namespace(p), Name(p), "", 30)
	}
	if !waits && updated < want && String(o, "spec", "updateStrategy", "type") != "OnDelete" {
		c.replaceLast(o, pods, hash)
	}
	c.changeStatus(o, func(cur Object) {
		cur["status"] = Object{
			"observedGeneration": Int(o, "metadata", "generation"), "replicas": have + int64(len(byName)),
			"readyReplicas": ready, "availableReplicas": ready, "currentReplicas": updated, "updatedReplicas": updated,
			"currentRevision": hash, "updateRevision": hash, "collisionCount": int64(0),
		}
	})
}

// replaceLast deletes the last pod of an earlier template that the partition allows.
func (c *Cluster) replaceLast(o Object, pods []Object, hash string) {
	first := Int(o, "spec", "updateStrategy", "rollingUpdate", "partition")
	for n := Int(o, "spec", "replicas") - 1; n >= first; n-- {
		name := fmt.Sprintf("%s-%d", Name(o), n)
		i := slices.IndexFunc(pods, func(p Object) bool { return Name(p) == name })
		if i >= 0 && String(pods[i], "metadata", "labels", "controller-revision-hash") != hash {
			_, _ = c.deletePod(Namespace(o), name, "", 30)
			return
		}
	}
}

// makeClaims makes the volume claims of a StatefulSet's pod.
func (c *Cluster) makeClaims(o Object, pod string) {
	for _, t := range objectsAt(o, "spec", "volumeClaimTemplates") {
		claim := Object{"metadata": Object{"name": Name(t) + "-" + pod}, "spec": t["spec"]}
		_, _ = c.store.Create(Kind("PersistentVolumeClaim"), Namespace(o), claim)
	}
}

// controlJobs runs the pods of Jobs to their end.
func (c *Cluster) controlJobs() {
	for _, j := range c.list("Job", "") {
		if conditionOf(j, "Complete") != nil || conditionOf(j, "Failed") != nil || At(j, "spec", "suspend") == true {
			continue
		}
		var active, succeeded, failed int64
		for _, p := range c.list("Pod", Namespace(j)) {
			switch phase := String(p, "status", "phase"); {
			case ownerUID(p) != String(j, "metadata", "uid"):
			case phase == "Succeeded":
				succeeded++
			case phase == "Failed":
				failed++
			default:
				active++
			}
		}
		status := Object{"active": active, "succeeded": succeeded, "failed": failed, "ready": int64(0)}
		switch want := Int(j, "spec", "completions"); {
		case succeeded >= want:
			status["conditions"] = []any{
				condition(j, c.now(), "Complete", "True", "CompletionsReached", "Reached expected number of pods"),
			}
			status["completionTime"] = c.now().UTC().Format("2006-01-02T15:04:05Z07:00")
		case failed > Int(j, "spec", "backoffLimit"):
			status["conditions"] = []any{condition(j, c.now(), "Failed", "True", "BackoffLimitExceeded",
				"Job has reached the specified backoff limit")}
		default:
			for range min(want-succeeded, Int(j, "spec", "parallelism")) - active {
				_ = c.makePod(j, Name(j)+"-"+random(5), "") // an event says why
			}
		}
		c.changeStatus(j, func(o Object) { o["status"] = status })
	}
}

// controlAutoscalers keeps the replicas within the bounds of autoscalers. There are no metrics.
func (c *Cluster) controlAutoscalers() {
	for _, h := range c.list("HorizontalPodAutoscaler", "") {
		kind := String(h, "spec", "scaleTargetRef", "kind")
		if !isScalable(Resource{Kind: kind}) {
			continue
		}
		target, err := c.store.Get(Kind(kind), Namespace(h), String(h, "spec", "scaleTargetRef", "name"))
		status, reason := "True", "SucceededGetScale"
		message := "the HPA controller was able to get the target's current scale"
		desired := int64(0)
		if err != nil {
			status, reason = "False", "FailedGetScale"
			message = "the HPA controller was unable to get the target's current scale: " + err.Error()
		} else {
			least, most := max(1, Int(h, "spec", "minReplicas")), Int(h, "spec", "maxReplicas")
			desired = min(max(Int(target, "spec", "replicas"), least), most)
			if desired != Int(target, "spec", "replicas") {
				c.change(target, func(o Object) { Set(o, desired, "spec", "replicas") })
			}
		}
		c.changeStatus(h, func(o Object) {
			o["status"] = Object{
				"observedGeneration": Int(h, "metadata", "generation"), "currentReplicas": desired,
				"desiredReplicas": desired,
				"conditions":      []any{condition(o, c.now(), "AbleToScale", status, reason, message)},
			}
		})
	}
}
