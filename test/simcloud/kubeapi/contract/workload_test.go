package contract

import (
	"net/http"
	"testing"
)

// The kinds of CNFs, as pkg/kubernetes/objects uses them.

// template is that of pods which run until they are stopped.
func template(app string) obj {
	return obj{"metadata": obj{"labels": obj{"app": app}}, "spec": obj{
		"terminationGracePeriodSeconds": 1,
		"containers":                    []obj{{"name": "c", "image": "registry.k8s.io/pause:3.10.1"}},
	}}
}

func TestWorkloads(t *testing.T) {
	t.Parallel()
	a := connect(t, "workloads")
	a.eventually("the namespace has an account", func() bool {
		return a.read(a.in("serviceaccounts/default")).status == http.StatusOK
	})
	sets := "/apis/apps/v1/namespaces/" + a.namespace + "/statefulsets"
	a.create(sets, "StatefulSet", "apps/v1", "ct-set", obj{"spec": obj{
		"replicas": 1, "serviceName": "ct-set", "selector": obj{"matchLabels": obj{"app": "ct-set"}},
		"template": template("ct-set"),
	}})
	ready := func(n float64) func() bool {
		return func() bool {
			r := a.read(sets + "/ct-set")
			seen, _ := r.get("status", "observedGeneration").(float64)
			generation, _ := r.get("metadata", "generation").(float64)
			have, _ := r.get("status", "readyReplicas").(float64)
			return have == n && seen == generation
		}
	}
	a.eventually("a stateful set has its pod", ready(1))
	a.answers("its pods are numbered", http.StatusOK, a.read(a.in("pods/ct-set-0")))
	r := a.read(sets + "/ct-set/scale")
	a.fact("a workload has a scale", r.str("kind") == "Scale" && r.get("spec", "replicas") == 1.0, r.text)
	r = a.patch(sets+"/ct-set/scale", typeMerge, obj{"spec": obj{"replicas": 2}})
	a.fact("the scale is changed with a merge patch", r.status == http.StatusOK &&
		r.get("spec", "replicas") == 2.0, r.text)
	a.eventually("the stateful set has two pods", ready(2))

	jobs := "/apis/batch/v1/namespaces/" + a.namespace + "/jobs"
	a.answers("a job is created", http.StatusCreated, a.call(http.MethodPost, jobs+"?dryRun=All", typeJSON,
		object("batch/v1", "Job", "ct-job", obj{"spec": obj{"template": obj{"spec": obj{
			"restartPolicy": "Never", "containers": []obj{{"name": "c", "image": "registry.k8s.io/pause:3.10.1"}},
		}}}})))
	a.answers("but not by a dry run", http.StatusNotFound, a.read(jobs+"/ct-job"))

	quotas := a.in("resourcequotas")
	a.create(quotas, "ResourceQuota", "v1", "ct-quota", obj{"spec": obj{"hard": obj{"services": "1"}}})
	a.eventually("a quota counts", func() bool {
		return a.read(quotas+"/ct-quota").str("status", "used", "services") == "0"
	})
	a.create(a.in("services"), "Service", "v1", "ct-one", obj{"spec": obj{
		"type": "NodePort", "ports": []obj{{"port": 80}},
	}})
	ports, _ := a.read(a.in("services/ct-one")).get("spec", "ports").([]any)
	port, _ := ports[0].(map[string]any)
	number, _ := port["nodePort"].(float64)
	a.fact("a node port is chosen from its range", number >= 30000 && number <= 32767, port)
	r = a.call(http.MethodPost, a.in("services"), typeJSON, object("v1", "Service", "ct-two", obj{"spec": obj{
		"ports": []obj{{"port": 80}},
	}}))
	a.refuses("a quota refuses what is too much", http.StatusForbidden, "Forbidden",
		`exceeded quota: ct-quota, requested: services=1, used: services=1, limited: services=1`, r)
}

func TestCustomResources(t *testing.T) {
	t.Parallel()
	a := connect(t, "custom resources")
	group := a.fresh() + ".example.com"
	widgets := "/apis/" + group + "/v1/namespaces/" + a.namespace + "/widgets"
	a.answers("a kind without a definition is not found", http.StatusNotFound, a.read(widgets))
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	a.create(definitions, "CustomResourceDefinition", "apiextensions.k8s.io/v1", "widgets."+group, obj{"spec": obj{
		"group": group, "scope": "Namespaced",
		"names": obj{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"versions": []obj{{"name": "v1", "served": true, "storage": true, "schema": obj{"openAPIV3Schema": obj{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true,
		}}}},
	}})
	a.eventually("a definition is established", func() bool {
		return condition(a.read(definitions+"/widgets."+group).body, "Established") == "True" &&
			a.read(widgets).status == http.StatusOK
	})
	path := widgets + "/ct-widget?fieldManager=ct"
	widget := obj{"apiVersion": group + "/v1", "kind": "Widget", "metadata": obj{"name": "ct-widget"}}
	widget["spec"] = obj{"size": 1, "old": true}
	a.answers("a custom resource is applied", http.StatusCreated, a.patch(path, typeApply, widget))
	widget["spec"] = obj{"size": 2}
	r := a.patch(path, typeApply, widget)
	a.fact("and changed, without what is not applied any more", r.status == http.StatusOK &&
		r.get("spec", "size") == 2.0 && r.get("spec", "old") == nil, r.text)
	a.answers("a definition is deleted", http.StatusOK,
		a.call(http.MethodDelete, definitions+"/widgets."+group, "", nil))
	a.eventually("with its resources", func() bool { return a.read(widgets).status == http.StatusNotFound })
}
