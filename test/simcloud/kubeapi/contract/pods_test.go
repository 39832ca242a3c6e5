package contract

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// condition is the status of a condition of an object.
func condition(o obj, kind string) string {
	list, _ := kubeapi.At(o, "status", "conditions").([]any)
	for _, c := range list {
		if c, _ := c.(map[string]any); kubeapi.String(c, "type") == kind {
			return kubeapi.String(c, "status")
		}
	}
	return ""
}

// readyNode is a node that is Ready and open.
func (a *api) readyNode() obj {
	a.t.Helper()
	nodes := a.read("/api/v1/nodes").items()
	n := slices.IndexFunc(nodes, func(n obj) bool {
		return condition(n, "Ready") == "True" && kubeapi.At(n, "spec", "unschedulable") != true
	})
	require.GreaterOrEqual(a.t, n, 0, "the cluster has a Ready node")
	return nodes[n]
}

func TestNodes(t *testing.T) {
	t.Parallel()
	a := connect(t, "nodes")
	n := a.readyNode()
	a.fact("a node has the version of its kubelet",
		regexp.MustCompile(`^v1\.\d+\.\d+`).MatchString(kubeapi.String(n, "status", "nodeInfo", "kubeletVersion")), n)
	addresses, _ := kubeapi.At(n, "status", "addresses").([]any)
	a.fact("and an InternalIP", slices.ContainsFunc(addresses, func(x any) bool {
		x, _ = x.(map[string]any)
		return kubeapi.At(x.(obj), "type") == "InternalIP"
	}), addresses)
	masters := map[string]bool{}
	for _, n := range a.read("/api/v1/nodes?labelSelector=node-role.kubernetes.io/control-plane").items() {
		masters[kubeapi.Name(n)] = true
	}
	pods := a.read("/api/v1/namespaces/kube-system/pods?labelSelector=" + url.QueryEscape(
		"component=kube-apiserver",
	)).items()
	a.fact("every master has an API server's pod", len(masters) > 0 && len(pods) == len(masters), len(pods), masters)
	for _, p := range pods {
		containers, _ := kubeapi.At(p, "spec", "containers").([]any)
		require.NotEmpty(t, containers)
		first, _ := containers[0].(map[string]any)
		a.fact("with its version in the image", masters[kubeapi.String(p, "spec", "nodeName")] &&
			regexp.MustCompile(`:v1\.\d+\.\d+`).MatchString(kubeapi.String(first, "image")), p)
		a.fact("which the kubelet mirrors from a file",
			kubeapi.String(p, "metadata", "annotations", "kubernetes.io/config.mirror") != "", p)
	}
}

// pod starts a pod on a node and waits until it is Ready.
func (a *api) pod(name, node string) reply {
	a.t.Helper()
	a.create(a.in("pods"), "Pod", "v1", name, obj{
		"metadata": obj{"name": name, "labels": obj{"ct": "pod"}},
		"spec": obj{
			"nodeName": node, "terminationGracePeriodSeconds": 1,
			"containers": []obj{{"name": "c", "image": "registry.k8s.io/pause:3.10.1"}},
		},
	})
	var r reply
	a.eventually("the pod is Ready", func() bool {
		r = a.read(a.in("pods/" + name))
		return condition(r.body, "Ready") == "True"
	})
	return r
}

// evict asks for an eviction as pkg/kubernetes does.
func (a *api) evict(name, uid string) reply {
	a.t.Helper()
	return a.call(http.MethodPost, a.in("pods/"+name+"/eviction"), typeJSON, obj{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": obj{"name": name, "namespace": a.namespace},
		"deleteOptions": obj{"preconditions": obj{"uid": uid}},
	})
}

func TestEviction(t *testing.T) {
	t.Parallel()
	a := connect(t, "eviction")
	node := kubeapi.Name(a.readyNode())
	// A pod needs the account of its namespace.
	a.eventually("the namespace has an account", func() bool {
		return a.read(a.in("serviceaccounts/default")).status == http.StatusOK
	})
	pod := a.pod("ct-pod", node)
	uid := pod.str("metadata", "uid")
	a.same("a pod runs", "Running", pod.str("status", "phase"))
	r := a.read("/api/v1/pods?fieldSelector=" + url.QueryEscape("spec.nodeName="+node))
	a.fact("a field selector selects the pods of a node", slices.Contains(namesOf(r.items()), "ct-pod"),
		namesOf(r.items()))
	r = a.read("/api/v1/pods?fieldSelector=" + url.QueryEscape("spec.nodeName=ct-no-such-node"))
	a.fact("a node that does not exist has none", r.status == http.StatusOK && len(r.items()) == 0, r.text)

	a.refuses("a pod that does not exist is not found", http.StatusNotFound, "NotFound", `^pods "ct-none" not found$`,
		a.evict("ct-none", uid))
	r = a.evict("ct-pod", "00000000-0000-0000-0000-000000000000")
	a.refuses("the eviction of another pod of the same name conflicts", http.StatusConflict, "Conflict",
		"UID in (the )?precondition", r)

	budgets := "/apis/policy/v1/namespaces/" + a.namespace + "/poddisruptionbudgets"
	a.create(budgets, "PodDisruptionBudget", "policy/v1", "ct-budget",
		obj{"spec": obj{"minAvailable": 1, "selector": obj{"matchLabels": obj{"ct": "pod"}}}})
	a.eventually("the budget counts the pod", func() bool {
		n, _ := a.read(budgets+"/ct-budget").get("status", "currentHealthy").(float64)
		return n == 1
	})
	r = a.evict("ct-pod", uid)
	a.refuses("a budget forbids an eviction", http.StatusTooManyRequests, "TooManyRequests",
		`^Cannot evict pod as it would violate the pod's disruption budget\.`, r)
	causes, _ := r.get("details", "causes").([]any)
	require.NotEmpty(t, causes, r.text)
	cause, _ := causes[0].(map[string]any)
	a.fact("and the refusal names the budget", kubeapi.String(cause, "reason") == "DisruptionBudget" &&
		regexp.MustCompile(`The disruption budget ct-budget needs 1 healthy pods and has 1 currently`).MatchString(
			kubeapi.String(cause, "message"),
		), cause)

	a.answers("a budget is deleted", http.StatusOK, a.call(http.MethodDelete, budgets+"/ct-budget", "", nil))
	a.eventually(
		"the budget does not exist", func() bool { return a.read(budgets+"/ct-budget").status == http.StatusNotFound },
	)
	r = a.evict("ct-pod", uid)
	a.fact("without it the pod is evicted", r.status == http.StatusCreated && r.str("kind") == "Status" &&
		r.str("status") == "Success", r.status, r.text)
	a.eventually(
		"an evicted pod ends", func() bool { return a.read(a.in("pods/ct-pod")).status == http.StatusNotFound },
	)
}

func TestCordon(t *testing.T) {
	t.Parallel()
	a := connect(t, "cordon")
	a.eventually("the namespace has an account", func() bool {
		return a.read(a.in("serviceaccounts/default")).status == http.StatusOK
	})
	node := a.readyNode()
	path := "/api/v1/nodes/" + kubeapi.Name(node)
	a.answers("a node is cordoned", http.StatusOK, a.patch(path, typeMerge, obj{"spec": obj{"unschedulable": true}}))
	t.Cleanup(func() { a.patch(path, typeMerge, obj{"spec": obj{"unschedulable": false}}) })
	a.eventually("the node has the taint", func() bool {
		taints, _ := a.read(path).get("spec", "taints").([]any)
		return slices.ContainsFunc(taints, func(x any) bool {
			x, _ = x.(map[string]any)
			return kubeapi.At(x.(obj), "key") == "node.kubernetes.io/unschedulable"
		})
	})
	here := obj{"kubernetes.io/hostname": kubeapi.String(node, "metadata", "labels", "kubernetes.io/hostname")}
	pods := map[string]any{
		"ct-closed": []obj{{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}},
		"ct-open":   []obj{{"operator": "Exists"}},
	}
	for name, tolerations := range pods {
		a.create(a.in("pods"), "Pod", "v1", name, obj{"spec": obj{
			"nodeSelector": here, "tolerations": tolerations, "terminationGracePeriodSeconds": 1,
			"containers": []obj{{"name": "c", "image": "registry.k8s.io/pause:3.10.1"}},
		}})
	}
	a.eventually("a pod that tolerates everything is started on the cordoned node", func() bool {
		return a.read(a.in("pods/ct-open")).str("spec", "nodeName") == kubeapi.Name(node)
	})
	a.eventually("a pod that does not tolerate the taint is not scheduled", func() bool {
		return condition(a.read(a.in("pods/ct-closed")).body, "PodScheduled") == "False"
	})
}
