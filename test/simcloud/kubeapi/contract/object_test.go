package contract

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	a := connect(t, "discovery")
	r := a.read("/api")
	a.fact("the core group has the version v1", r.str("kind") == "APIVersions" &&
		slices.Equal(r.get("versions").([]any), []any{"v1"}), r.text)
	r = a.read("/apis")
	groups := map[string]string{}
	list, _ := r.body["groups"].([]any)
	for _, g := range list {
		g, _ := g.(map[string]any)
		groups[kubeapi.String(g, "name")] = kubeapi.String(g, "preferredVersion", "groupVersion")
	}
	for group, version := range map[string]string{
		"apps": "apps/v1", "policy": "policy/v1", "rbac.authorization.k8s.io": "rbac.authorization.k8s.io/v1",
	} {
		a.same("the preferred version of "+group+" is v1", version, groups[group])
	}
	r = a.read("/api/v1")
	resources := map[string]obj{}
	list, _ = r.body["resources"].([]any)
	for _, x := range list {
		x, _ := x.(map[string]any)
		resources[kubeapi.String(x, "name")] = x
	}
	a.fact("nodes do not belong to a namespace, pods do", r.str("groupVersion") == "v1" &&
		resources["nodes"]["namespaced"] == false && resources["pods"]["namespaced"] == true, r.text)
	a.same("pods are evicted with policy/v1", []any{"Eviction", "policy", "v1"},
		[]any{
			resources["pods/eviction"]["kind"], resources["pods/eviction"]["group"],
			resources["pods/eviction"]["version"],
		})
	for _, path := range []string{"/api/v1/nothings", "/apis/nothing.example/v1/things", "/nothing"} {
		a.answers(path+" is not found", http.StatusNotFound, a.read(path))
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	a := connect(t, "objects")
	name := a.fresh()
	maps := a.in("configmaps")
	made := a.create(maps, "ConfigMap", "v1", name, obj{"data": obj{"k": "v"}})
	a.fact("a new object has a uid, a version and a time", made.str("metadata", "uid") != "" && made.version() != "" &&
		made.str("metadata", "creationTimestamp") != "", made.text)
	r := a.call(http.MethodPost, maps, typeJSON, object("v1", "ConfigMap", name, nil))
	a.refuses("a name is used once", http.StatusConflict, "AlreadyExists", `^configmaps "`+name+`" already exists$`, r)
	a.same("the refusal names the object", []any{name, "configmaps"},
		[]any{r.get("details", "name"), r.get("details", "kind")})
	r = a.read(maps + "/" + name + "-x")
	a.refuses("another name is not found", http.StatusNotFound, "NotFound", `^configmaps "`+name+`-x" not found$`, r)
	a.same("and the refusal names it", []any{name + "-x", "configmaps"},
		[]any{r.get("details", "name"), r.get("details", "kind")})
	r = a.call(
		http.MethodPost, "/api/v1/namespaces/"+name+"/configmaps", typeJSON, object("v1", "ConfigMap", name, nil),
	)
	a.refuses("a namespace that does not exist is not found", http.StatusNotFound, "NotFound",
		`^namespaces "`+name+`" not found$`, r)
	r = a.call(http.MethodPost, maps, typeJSON, object("v1", "ConfigMap", "No!", nil))
	a.refuses("an invalid name is refused", http.StatusUnprocessableEntity, "Invalid",
		`^ConfigMap "No!" is invalid: metadata.name: Invalid value: "No!"`, r)
	r = a.call(http.MethodPost, maps, typeJSON, "{")
	a.refuses("and so is a body that is not JSON", http.StatusBadRequest, "BadRequest", "", r)

	next := obj{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": obj{"name": name, "resourceVersion": made.version()},
		"data": obj{"k": "w"},
	}
	r = a.call(http.MethodPut, maps+"/"+name, typeJSON, next)
	a.fact("an update with the present version succeeds", r.status == http.StatusOK && r.version() != made.version() &&
		r.str("data", "k") == "w", r.text)
	updated := r.version()
	next["data"] = obj{"k": "x"}
	r = a.call(http.MethodPut, maps+"/"+name, typeJSON, next)
	a.refuses("an update with an older one conflicts", http.StatusConflict, "Conflict",
		`^Operation cannot be fulfilled on configmaps "`+name+`": the object has been modified; please apply your changes to the latest version and try again$`, r)
	next["data"], next["metadata"] = obj{"k": "w"}, obj{"name": name}
	r = a.call(http.MethodPut, maps+"/"+name, typeJSON, next)
	a.fact("an update without a change leaves the version", r.status == http.StatusOK && r.version() == updated, r.text)

	wrong := obj{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": obj{
		"uid": "00000000-0000-0000-0000-000000000000",
	}}
	r = a.call(http.MethodDelete, maps+"/"+name, typeJSON, wrong)
	a.refuses("a deletion of another object of the same name conflicts", http.StatusConflict, "Conflict",
		`^Operation cannot be fulfilled on ConfigMap "`+name+
			`": the UID in the precondition \(0.*\) does not match the UID in record`,
		r)
	r = a.call(http.MethodDelete, maps+"/"+name, "", nil)
	a.fact("a deletion answers with a Status", r.status == http.StatusOK && r.str("kind") == "Status" &&
		r.str("status") == "Success" && r.str("details", "uid") == made.str("metadata", "uid"), r.text)
	a.answers("a deleted object is not found", http.StatusNotFound, a.call(http.MethodDelete, maps+"/"+name, "", nil))
}

func TestMergePatch(t *testing.T) {
	t.Parallel()
	a := connect(t, "merge patch")
	name := a.fresh()
	a.create("/api/v1/nodes", "Node", "v1", name, nil)
	node := "/api/v1/nodes/" + name
	r := a.patch(
		node, typeMerge, obj{"metadata": obj{"labels": obj{"ct/a": "1", "ct/b": "2"}, "annotations": obj{"ct/n": "x"}}},
	)
	a.fact("a patch sets labels", r.status == http.StatusOK && r.str("metadata", "labels", "ct/a") == "1", r.text)
	r = a.patch(node, typeMerge, obj{"metadata": obj{"labels": obj{"ct/a": nil}, "annotations": obj{"ct/n": nil}}})
	labels, _ := r.get("metadata", "labels").(map[string]any)
	annotations, _ := r.get("metadata", "annotations").(map[string]any)
	_, a1 := labels["ct/a"]
	_, n1 := annotations["ct/n"]
	a.fact("null removes a label or an annotation, and others stay", !a1 && !n1 && labels["ct/b"] == "2", r.text)
	r = a.patch(node, typeMerge, obj{"spec": obj{"unschedulable": true}})
	a.same("a node is closed", true, r.get("spec", "unschedulable"))
	r = a.patch(node, typeMerge, obj{"spec": obj{"unschedulable": false}})
	a.fact("and opened", r.status == http.StatusOK && r.get("spec", "unschedulable") != true, r.text)
	r = a.patch(node, typeMerge, obj{"metadata": obj{"resourceVersion": "1"}, "spec": obj{"unschedulable": true}})
	a.refuses(
		"a patch with an older version conflicts", http.StatusConflict, "Conflict", "the object has been modified", r,
	)
	r = a.patch(node, typeMerge, obj{"metadata": obj{"labels": obj{"ct/c": "not valid!"}}})
	a.refuses("an invalid label is refused", http.StatusUnprocessableEntity, "Invalid",
		`metadata.labels: Invalid value: "not valid!"`, r)
	r = a.patch(node, typeMerge, obj{"status": obj{"phase": "Terminated"}})
	a.fact(
		"a patch of the object leaves its status", r.status == http.StatusOK && r.get("status", "phase") == nil, r.text,
	)
	r = a.patch(node+"-x", typeMerge, obj{"metadata": obj{"labels": obj{"ct/a": "1"}}})
	a.refuses(
		"a node that does not exist is not found", http.StatusNotFound, "NotFound", `^nodes "`+name+`-x" not found$`, r,
	)
	r = a.patch(node, "application/x-unknown-patch", obj{})
	a.refuses("an unknown kind of patch is refused", http.StatusUnsupportedMediaType, "UnsupportedMediaType", "", r)
	a.answers("a node is deleted", http.StatusOK, a.call(http.MethodDelete, node, "", nil))
	a.refuses("and not found after that", http.StatusNotFound, "NotFound", "", a.call(http.MethodDelete, node, "", nil))
}
