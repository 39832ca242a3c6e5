package contract

import (
	"net/http"
	"testing"
)

// Server-side apply as pkg/kubernetes uses it for persistent volumes.
func TestApply(t *testing.T) {
	t.Parallel()
	a := connect(t, "apply")
	name := a.fresh()
	path := "/api/v1/persistentvolumes/" + name
	volume := func(server string, labels obj) obj {
		return obj{
			"apiVersion": "v1", "kind": "PersistentVolume", "metadata": obj{"name": name, "labels": labels},
			"spec": obj{
				"capacity": obj{"storage": "1Gi"}, "accessModes": []string{"ReadWriteMany"},
				"persistentVolumeReclaimPolicy": "Retain",
				"nfs":                           obj{"server": server, "path": "/volume"},
			},
		}
	}
	t.Cleanup(func() { a.call(http.MethodDelete, path, "", nil) })
	r := a.patch(path, typeApply, volume("10.0.0.9", nil))
	a.refuses("the manager of the fields has to be named", http.StatusUnprocessableEntity, "Invalid",
		`fieldManager: Required value: is required for apply patch`, r)
	apply := path + "?fieldManager=ct&force=true"
	r = a.patch(apply, typeApply, volume("10.0.0.9", obj{"ct": "1", "ct2": "2"}))
	a.fact("an object that does not exist is created", r.status == http.StatusCreated &&
		r.str("spec", "nfs", "server") == "10.0.0.9", r.text)
	a.same("with defaults", "Filesystem", r.str("spec", "volumeMode"))
	a.eventually("a volume is available", func() bool { return a.read(path).str("status", "phase") == "Available" })
	before := a.read(path)
	r = a.patch(apply, typeApply, volume("10.0.0.9", obj{"ct": "1", "ct2": "2"}))
	a.fact("the same again changes nothing", r.status == http.StatusOK && r.version() == before.version(), r.text,
		before.version())

	a.patch(path, typeMerge, obj{"metadata": obj{"labels": obj{"other": "theirs"}}})
	r = a.patch(apply, typeApply, volume("10.0.0.9", obj{"ct": "changed"}))
	labels, _ := r.get("metadata", "labels").(map[string]any)
	a.same("a field that is not applied any more is removed, and those of others stay",
		map[string]any{"ct": "changed", "other": "theirs"}, labels)
	r = a.patch(apply, typeApply, volume("10.0.0.8", obj{"ct": "changed"}))
	a.refuses("the source of a volume cannot change", http.StatusUnprocessableEntity, "Invalid",
		`spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation`, r)

	a.answers("a volume is deleted", http.StatusOK, a.call(http.MethodDelete, path, "", nil))
	a.eventually("a deleted volume does not exist", func() bool { return a.read(path).status == http.StatusNotFound })
}
