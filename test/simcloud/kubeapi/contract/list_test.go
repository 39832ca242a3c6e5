package contract

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

func namesOf(items []obj) []string {
	out := []string{}
	for _, o := range items {
		out = append(out, kubeapi.Name(o))
	}
	return out
}

func TestLists(t *testing.T) {
	t.Parallel()
	a := connect(t, "lists")
	maps := a.in("configmaps")
	for name, label := range map[string]string{"ct-a": "one", "ct-b": "two", "ct-c": "two"} {
		r := a.call(http.MethodPost, maps, typeJSON, obj{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": obj{"name": name, "labels": obj{"ct": label}},
		})
		require.Equal(t, http.StatusCreated, r.status, r.text)
	}
	r := a.read(maps + "?labelSelector=ct")
	a.fact("a list has a kind and a version", r.str("kind") == "ConfigMapList" && r.str("apiVersion") == "v1" &&
		r.version() != "", r.text)
	a.same("and its objects by name", []string{"ct-a", "ct-b", "ct-c"}, namesOf(r.items()))
	for selector, want := range map[string][]string{
		"ct=two": {"ct-b", "ct-c"}, "ct!=two,ct": {"ct-a"}, "ct in (one,three)": {"ct-a"}, "!ct,ct": {},
	} {
		a.same("the label selector "+selector+" selects", want, namesOf(
			a.read(maps+"?labelSelector="+url.QueryEscape(selector)).items(),
		))
	}
	r = a.read(maps + "?labelSelector=" + url.QueryEscape("ct=="+"=x"))
	a.refuses("a selector that cannot be read is refused", http.StatusBadRequest, "BadRequest", "", r)
	a.same("a field selector selects by name", []string{"ct-b"},
		namesOf(a.read(maps+"?fieldSelector="+url.QueryEscape("metadata.name=ct-b")).items()))
	r = a.read(maps + "?fieldSelector=" + url.QueryEscape("data.x=y"))
	a.refuses("fields that are not indexed cannot be selected", http.StatusBadRequest, "BadRequest",
		`"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"`, r)
	r = a.read(a.in("pods?fieldSelector=" + url.QueryEscape("spec.x=y")))
	a.refuses("not even of pods", http.StatusBadRequest, "BadRequest", `field label not supported: spec.x`, r)

	r = a.read(maps + "?labelSelector=ct&limit=2")
	more := r.str("metadata", "continue")
	a.fact("a page that is not the last names the next", len(r.items()) == 2 && more != "", r.text)
	r = a.read(maps + "?labelSelector=ct&limit=2&continue=" + url.QueryEscape(more))
	a.fact("which has the rest", len(r.items()) == 1 && kubeapi.Name(r.items()[0]) == "ct-c" &&
		r.str("metadata", "continue") == "", r.text)

	r = a.call(http.MethodGet, "/api/v1/nodes", "", nil, "Accept",
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
	var columns []string
	list, _ := r.body["columnDefinitions"].([]any)
	for _, c := range list {
		c, _ := c.(map[string]any)
		columns = append(columns, kubeapi.String(c, "name"))
	}
	require.GreaterOrEqual(t, len(columns), 5, r.text)
	a.same("a table of nodes has the columns that kubectl prints",
		[]string{"Name", "Status", "Roles", "Age", "Version"}, columns[:5])
}

// event is one event of a watch.
type event struct {
	kind string
	obj  obj
}

// watch sends the events of a watch until the test ends.
func (a *api) watch(path string) <-chan event {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 5*time.Minute)
	resp := a.open(ctx, http.MethodGet, path, "", nil)
	require.Equal(a.t, http.StatusOK, resp.StatusCode)
	out, done := make(chan event, 100), make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		for in := json.NewDecoder(resp.Body); ; {
			var e struct {
				Type   string `json:"type"`
				Object obj    `json:"object"`
			}
			if in.Decode(&e) != nil {
				return
			}
			out <- event{e.Type, e.Object}
		}
	}()
	a.t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
		<-done
	})
	return out
}

// next is the next event.
func (a *api) next(events <-chan event) event {
	a.t.Helper()
	select {
	case e, ok := <-events:
		require.True(a.t, ok, "the watch ended")
		return e
	case <-time.After(time.Minute):
		require.FailNow(a.t, "no event came")
	}
	return event{}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	a := connect(t, "watch")
	maps := a.in("configmaps")
	made := a.create(maps, "ConfigMap", "v1", "ct-a", obj{"data": obj{"k": "1"}})
	from := a.read(maps).version()
	changed := a.patch(maps+"/ct-a", typeMerge, obj{"data": obj{"k": "2"}})
	other := a.create(maps, "ConfigMap", "v1", "ct-b", nil)
	a.call(http.MethodDelete, maps+"/ct-a", "", nil)

	events := a.watch(maps + "?watch=true&fieldSelector=metadata.name%21%3Dkube-root-ca.crt&resourceVersion=" + from)
	e := a.next(events)
	a.fact("a watch from the version of a list begins with the first change after it",
		e.kind == "MODIFIED" && kubeapi.String(e.obj, "data", "k") == "2", e)
	a.same("the object has the version of the change", changed.version(),
		kubeapi.String(e.obj, "metadata", "resourceVersion"))
	e = a.next(events)
	a.fact("changes come in their order", e.kind == "ADDED" && kubeapi.Name(e.obj) == "ct-b" &&
		kubeapi.String(e.obj, "metadata", "resourceVersion") == other.version(), e)
	e = a.next(events)
	a.fact("a deletion has the object and a version of its own", e.kind == "DELETED" && kubeapi.Name(e.obj) == "ct-a" &&
		kubeapi.String(e.obj, "metadata", "uid") == made.str("metadata", "uid") &&
		kubeapi.String(e.obj, "metadata", "resourceVersion") != changed.version(), e)
	a.patch(maps+"/ct-b", typeMerge, obj{"data": obj{"k": "3"}})
	e = a.next(events)
	a.fact("later changes follow", e.kind == "MODIFIED" && kubeapi.String(e.obj, "data", "k") == "3", e)

	e = a.next(a.watch(maps + "?watch=true&fieldSelector=metadata.name%3Dct-b"))
	a.fact("a watch without a version begins with the objects that exist",
		e.kind == "ADDED" && kubeapi.Name(e.obj) == "ct-b", e)
	labelled := a.watch(maps + "?watch=true&labelSelector=ct&resourceVersion=" + a.read(maps).version())
	a.patch(maps+"/ct-b", typeMerge, obj{"metadata": obj{"labels": obj{"ct": "1"}}})
	e = a.next(labelled)
	a.same("an object that begins to match is added", "ADDED", e.kind)
	a.patch(maps+"/ct-b", typeMerge, obj{"metadata": obj{"labels": obj{"ct": nil}}})
	e = a.next(labelled)
	a.same("and deleted when it does not match any more", "DELETED", e.kind)
}
