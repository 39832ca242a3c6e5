package cnf_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/infratest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

const image = "registry.test/web:1"

// patches fails requests that change Deployments, until the fault ends.
func patches(f kubeapi.Fault, texts ...string) infratest.Fault {
	f.Method, f.Path = http.MethodPatch, "/deployments/web"
	return requests(f, texts...)
}

// requests fails requests, until the fault ends.
func requests(f kubeapi.Fault, texts ...string) infratest.Fault {
	return fault(texts,
		func(c *cluster, _ string) { c.AddFault(f) },
		func(c *cluster, _ string) { c.ClearFaults() },
	)
}

// fault is one of the simulated cluster; begin and end get the namespace of the instance.
func fault(texts []string, begin, end func(c *cluster, namespace string)) infratest.Fault {
	on := func(do func(*cluster, string)) func(infratest.VIM, string) {
		return func(vim infratest.VIM, instance string) {
			c, _ := vim.(*cluster)
			do(c, "ns-"+instance[:8])
		}
	}
	return infratest.Fault{Texts: texts, Begin: on(begin), End: on(end)}
}

// remove deletes an object without the driver.
func (c *cluster) remove(kind, namespace, name string) {
	c.t.Helper()
	path := kubeapi.Kind(kind).Path(namespace, name)
	code, body := c.Do(c.t.Context(), kubeapi.Admin, http.MethodDelete, path, "", nil)
	require.Less(c.t, code, http.StatusBadRequest, "%s", body)
}

// twice is a fault of two requests, after which the operation continues by itself.
func twice(f kubeapi.Fault) infratest.Fault {
	f.Times = 2
	passing := patches(f)
	passing.Passes = true
	return passing
}

// ofImage is a fault of the containers, which an operation waits out.
func ofImage(f kubeapi.PodFault, texts ...string) infratest.Fault {
	out := fault(append(texts, "Deployment", "/web: pod web-"),
		func(c *cluster, _ string) { c.SetImageFault(image, f) },
		func(c *cluster, _ string) { c.SetImageFault(image, kubeapi.NoPodFault) })
	out.Waits = true
	return out
}

// TestFaultsOfOtherOperations: the operations after the instantiation tell a fault of the API server and continue, too.
func TestFaultsOfOtherOperations(t *testing.T) {
	t.Parallel()
	all := map[string]infratest.Fault{}
	for name, f := range map[string]kubeapi.Fault{
		"ConnectionBreaks": {}, "Unavailable": kubeapi.Unavailable, "TooManyRequests": kubeapi.Busy,
	} {
		for _, on := range []struct {
			name, method, path, text string
			on                       sol.LcmOperationType
			whole                    bool
		}{
			{"Scale", http.MethodPatch, "/deployments/web", "apply Deployment", sol.LcmOperationScale, false},
			{"Reads", http.MethodGet, "/deployments/web", "Deployment", sol.LcmOperationScale, false},
			{"Heal", http.MethodDelete, "/pods/web-", "delete Pod", sol.LcmOperationHeal, false},
			{"WholeHeal", http.MethodDelete, "/deployments/web", "delete Deployment", sol.LcmOperationHeal, true},
			{"Terminate", http.MethodDelete, "/deployments/web", "delete Deployment", sol.LcmOperationTerminate, false},
		} {
			f := f
			f.Method, f.Path = on.method, on.path
			lasts := requests(f, on.text, "web", f.Message)
			lasts.On, lasts.Whole = on.on, on.whole
			f.Times = 2
			passes := requests(f)
			passes.On, passes.Whole, passes.Passes = on.on, on.whole, true
			all[on.name+name], all[on.name+name+"Twice"] = lasts, passes
		}
	}
	for name, f := range map[string]infratest.Fault{
		"Scale": {On: sol.LcmOperationScale}, "Heal": {On: sol.LcmOperationHeal},
		"WholeHeal": {On: sol.LcmOperationHeal, Whole: true},
	} {
		for kind, why := range map[kubeapi.PodFault]string{
			kubeapi.ImagePullFault: "ImagePullBackOff", kubeapi.ProbeFault: "Readiness probe failed",
		} {
			of := ofImage(kind, why)
			of.On, of.Whole = f.On, f.Whole
			all[name+string(kind)] = of
		}
	}
	infratest.Faults(t, harness(deployment), all)
}

// TestFaultsOfTheCluster: an instantiation tells a fault in the words of the cluster, and completes after it.
func TestFaultsOfTheCluster(t *testing.T) {
	t.Parallel()
	unschedulable := fault([]string{"Deployment", "/web: pod web-", "Unschedulable: 0/1 nodes are available."},
		func(c *cluster, _ string) { c.SetNodeReady("worker1", false, "the kubelet does not answer") },
		func(c *cluster, _ string) { c.SetNodeReady("worker1", true, "") })
	unschedulable.Waits = true
	const apply, name = "apply Deployment", "/web: "
	unavailable, conflict, busy := kubeapi.Unavailable, kubeapi.Conflict, kubeapi.Busy
	infratest.Faults(t, harness(deployment), map[string]infratest.Fault{
		"ConnectionBreaks":      patches(kubeapi.Fault{}, apply, "/web", "stream error", "received from peer"),
		"ConnectionBreaksTwice": twice(kubeapi.Fault{}),
		"Unavailable":           patches(unavailable, apply, name, unavailable.Message),
		"UnavailableTwice":      twice(unavailable),
		"Conflict":              patches(conflict, apply, name, conflict.Message),
		"ConflictTwice":         twice(conflict),
		"TooManyRequests":       patches(busy, apply, name, busy.Message),
		"TooManyRequestsTwice":  twice(busy),
		"Webhook": fault(
			[]string{"apply Deployment", "/web: ", `admission webhook "policy.example.com" denied the request: no owner`},
			func(c *cluster, _ string) { c.SetWebhook("no owner") },
			func(c *cluster, _ string) { c.SetWebhook("") }),
		"Quota": fault([]string{"/web: ", "exceeded quota: few, requested: count/deployments.apps=1"},
			func(c *cluster, ns string) {
				c.create("ResourceQuota", ns, "few", kubeapi.Object{
					"spec": kubeapi.Object{"hard": kubeapi.Object{"count/deployments.apps": "0"}},
				})
			},
			func(c *cluster, ns string) { c.remove("ResourceQuota", ns, "few") }),
		"ImagePull":  ofImage(kubeapi.ImagePullFault, "ImagePullBackOff", image),
		"Probe":      ofImage(kubeapi.ProbeFault, "Readiness probe failed: HTTP probe failed with statuscode: 503"),
		"Scheduling": unschedulable,
		"NamespaceTerminating": fault([]string{"because it is being terminated"},
			func(c *cluster, ns string) {
				c.HoldNamespace(ns, true)
				c.remove("Namespace", "", ns)
			},
			func(c *cluster, ns string) {
				c.HoldNamespace(ns, false)
				c.create("Namespace", "", ns, kubeapi.Object{})
			}),
	})
}
