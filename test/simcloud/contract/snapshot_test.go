package contract

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// action asks Nova to do something with a server.
func (c *cloud) serverAction(id string, body obj, version string) reply {
	c.t.Helper()
	return c.callWith(http.MethodPost, "nova", "/servers/"+id+"/action", body,
		obj{"X-OpenStack-Nova-API-Version": version})
}

func (c *cloud) image(id string) reply {
	c.t.Helper()
	return c.call(http.MethodGet, "glance", "/images/"+id, nil)
}

// imageSnapshot makes an image of a server and waits for it. The hypervisor of the real cloud of the tests sends no
// content, so that its images stay queued.
func (c *cloud) imageSnapshot(server, name string, metadata obj) string {
	c.t.Helper()
	r := c.serverAction(server, obj{"createImage": obj{"name": name, "metadata": metadata}}, "2.90")
	c.answers("the action createImage is answered 202", http.StatusAccepted, r)
	id := r.str("image_id")
	c.t.Cleanup(func() { c.call(http.MethodDelete, "glance", "/images/"+id, nil) })
	c.eventually("the server has no task any more", func() bool {
		return c.server(server).get("server", "OS-EXT-STS:task_state") == nil
	})
	if c.sim != nil {
		c.eventually("the image is active", func() bool { return c.image(id).str("status") == "active" })
	}
	return id
}

func TestImageOfAServer(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "image of a server", slow)
	s := c.create("image-of-a-server", one(), "CREATE_COMPLETE")
	server := s.resources()["VDU-0/VDU"].id
	name, mark := fresh("snapshot"), fresh("mark")
	r := c.serverAction(server, obj{"createImage": obj{"name": name, "metadata": obj{"gybe_mark": mark}}}, "2.90")
	c.answers("the action createImage is answered 202", http.StatusAccepted, r)
	id := r.str("image_id")
	c.fact("from 2.45 on with the image in the body", id != "", r.text)
	t.Cleanup(func() { c.call(http.MethodDelete, "glance", "/images/"+id, nil) })
	if c.sim != nil { // a hypervisor without disks is too fast
		r = c.serverAction(server, obj{"createImage": obj{"name": name}}, "2.90")
		c.fact("a second one has to wait", r.status == http.StatusConflict && strings.HasPrefix(
			r.str("conflictingRequest", "message"),
			"Cannot 'createImage' instance "+server+" while it is in task_state image_",
		), r.status, r.text)
	}
	c.eventually("the server has no task any more", func() bool {
		return c.server(server).get("server", "OS-EXT-STS:task_state") == nil
	})
	c.same("the server runs", "ACTIVE", c.server(server).str("server", "status"))
	r = c.image(id)
	c.same("the image is private, and has the name and the metadata of the request, and the id of the server",
		[]any{"private", name, mark, "snapshot", server}, []any{
			r.get("visibility"), r.get("name"), r.get("gybe_mark"), r.get("image_type"), r.get("instance_uuid"),
		})
	c.same("a property finds it", []string{id}, names(
		c.call(http.MethodGet, "glance", "/images?gybe_mark="+mark, nil).list("images"), "id",
	))
	c.same("property and name together", []string{}, names(
		c.call(http.MethodGet, "glance", "/images?gybe_mark="+mark+"&name=other", nil).list("images"), "id",
	))
	r = c.serverAction(server, obj{"createImage": obj{"name": fresh("snapshot")}}, "2.40")
	c.answers("before 2.45 it is answered 202", http.StatusAccepted, r)
	location := r.header.Get("Location")
	c.like("with the image in a header", `/images/[0-9a-f-]{36}$`, location)
	old := location[strings.LastIndexByte(location, '/')+1:]
	t.Cleanup(func() { c.call(http.MethodDelete, "glance", "/images/"+old, nil) })
	r = c.serverAction(server, obj{"createImage": obj{}}, "2.90")
	c.answers("an image needs a name", http.StatusBadRequest, r)
	r = c.serverAction(unknownID, obj{"createImage": obj{"name": "x"}}, "2.90")
	c.answers("a server that does not exist has no image", http.StatusNotFound, r)
}

// booting is a server with a port that boots from an image or from a volume.
const booting = hot + `
parameters: {image: {type: string}}
resources:
  S:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{port: {get_resource: P}}]
      image: {get_param: image}
      block_device_mapping_v2: [{volume_id: {get_resource: V}, boot_index: -1}]
  P: {type: OS::Neutron::Port, properties: {network: net0}}
  V: {type: OS::Cinder::Volume, properties: {size: 1}}
`

// copying is booting with a volume that is a copy.
func copying(source string) string {
	return strings.Replace(booting, "{size: 1}", "{size: 1, source_volid: "+source+"}", 1)
}

// volumeOf makes a volume and waits until it is available.
func (c *cloud) volumeOf(body obj) string {
	c.t.Helper()
	r := c.call(http.MethodPost, "cinder", "/volumes", obj{"volume": body})
	c.answers("a volume create is answered 202", http.StatusAccepted, r)
	id := r.str("volume", "id")
	c.t.Cleanup(func() { c.call(http.MethodDelete, "cinder", "/volumes/"+id, nil) })
	c.eventually("it is available", func() bool { return c.volume(id).str("volume", "status") == "available" })
	return id
}

func TestCopiesOfVolumes(t *testing.T) {
	t.Parallel()
	c := connect(t, "copies of volumes")
	s := c.create("copies", obj{
		"template": booting, "parameters": obj{"image": "cirros-0.5.2-x86_64-disk"},
	}, "CREATE_COMPLETE")
	a := s.resources()
	name, mark := fresh("copy"), fresh("mark")
	r := c.call(http.MethodPost, "cinder", "/volumes", obj{"volume": obj{"name": name, "source_volid": unknownID}})
	c.answers("a volume that does not exist cannot be copied", http.StatusNotFound, r)
	id := c.volumeOf(obj{"name": name, "source_volid": a["V"].id, "metadata": obj{"gybe_mark": mark}})
	r = c.volume(id)
	c.same("a volume in use can be copied; the copy has its size and type",
		[]any{1.0, c.volume(a["V"].id).get("volume", "volume_type"), obj{"gybe_mark": mark}},
		[]any{r.get("volume", "size"), r.get("volume", "volume_type"), r.get("volume", "metadata")})
	c.same("metadata finds it", []string{id}, names(c.call(http.MethodGet, "cinder", "/volumes/detail?metadata="+
		url.QueryEscape(`{"gybe_mark": "`+mark+`"}`), nil).list("volumes"), "id"))
	c.same("the volume is still in use", "in-use", c.volume(a["V"].id).str("volume", "status"))
	c.same("the copy is not attached", 0, len(c.volume(id).list("volume", "attachments")))

	s.update(obj{
		"template": copying(id), "parameters": obj{"image": "cirros-0.5.2-x86_64-disk"},
	}, "UPDATE_COMPLETE")
	b := s.resources()
	c.fact("another source replaces a volume, and the server that has it", a["V"].id != b["V"].id &&
		a["S"].id != b["S"].id, a, b)
	c.same("the port stays", a["P"].id, b["P"].id)
	c.same("the new volume is a copy and in use", []any{id, "in-use"}, []any{
		c.volume(b["V"].id).get("volume", "source_volid"), c.volume(b["V"].id).get("volume", "status"),
	})
	c.answers("the old volume is gone", http.StatusNotFound, c.volume(a["V"].id))
	c.same("the source is free", "available", c.volume(id).str("volume", "status"))
	s.remove()
	c.answers("the volume goes with the stack", http.StatusNotFound, c.volume(b["V"].id))
	c.answers("its source does not", http.StatusOK, c.volume(id))
}

func TestRebuildFromTheImageOfAServer(t *testing.T) {
	t.Parallel()
	c := connect(t, "rebuild from the image of a server")
	if c.sim == nil {
		t.Skip("the hypervisor of the real cloud has no disks of which Nova could send an image")
	}
	const template = hot + `
parameters: {image: {type: string}}
resources:
  S: {type: OS::Nova::Server, properties: {flavor: m1.tiny, networks: [{network: net0}], image: {get_param: image}}}
`
	s := c.create("rebuild", obj{
		"template": template, "parameters": obj{"image": "cirros-0.5.2-x86_64-disk"},
	}, "CREATE_COMPLETE")
	server := s.resources()["S"].id
	image := c.imageSnapshot(server, fresh("snapshot"), obj{})
	s.update(obj{"parameters": obj{"image": image}}, "UPDATE_COMPLETE")
	c.same("the server is rebuilt in place", server, s.resources()["S"].id)
	c.same("from the image", image, c.server(server).str("server", "image", "id"))
	c.answers("an image with which a server was made can be deleted", http.StatusNoContent,
		c.call(http.MethodDelete, "glance", "/images/"+image, nil))
	c.eventually("it is gone", func() bool { return c.image(image).status == http.StatusNotFound })
	r := s.patch(obj{"parameters": obj{"image": image}})
	c.fact("then the stack cannot be updated any more", r.status == http.StatusBadRequest, r.status, r.text)
}

// TestSnapshotsOfVolumes: why a copy is taken of a volume, and no snapshot.
func TestSnapshotsOfVolumes(t *testing.T) {
	t.Parallel()
	c := connect(t, "snapshots of volumes")
	s := c.create("snapshots", obj{
		"template": booting, "parameters": obj{"image": "cirros-0.5.2-x86_64-disk"},
	}, "CREATE_COMPLETE")
	volume := s.resources()["V"].id
	r := c.call(http.MethodPost, "cinder", "/snapshots", obj{"snapshot": obj{"volume_id": volume, "name": "x"}})
	c.fact("a snapshot of a volume in use needs force", r.status == http.StatusBadRequest && strings.Contains(
		r.str("badRequest", "message"), "status must be available, but current status is: in-use",
	), r.status, r.text)
	r = c.call(http.MethodPost, "cinder", "/snapshots", obj{
		"snapshot": obj{"volume_id": volume, "name": fresh("snapshot"), "force": true},
	})
	c.answers("with it the answer is 202", http.StatusAccepted, r)
	id := r.str("snapshot", "id")
	path := "/snapshots/" + id
	t.Cleanup(func() { c.call(http.MethodDelete, "cinder", path, nil) })
	c.eventually("the snapshot is available", func() bool {
		return c.call(http.MethodGet, "cinder", path, nil).str("snapshot", "status") == "available"
	})
	from := c.volumeOf(obj{"name": fresh("from-snapshot"), "snapshot_id": id})
	c.same("a volume can be made from it", []any{id, 1.0}, []any{
		c.volume(from).get("volume", "snapshot_id"), c.volume(from).get("volume", "size"),
	})

	c.answers("a stack delete is answered 204", http.StatusNoContent,
		c.call(http.MethodDelete, "heat", "/stacks/"+s.name+"/"+s.id, nil))
	r = s.await("DELETE_FAILED")
	c.like("a stack whose volume has a snapshot cannot be deleted", `Invalid volume: Volume status must be .*snapshots`,
		r.str("stack", "stack_status_reason"))
	c.answers("a snapshot delete is answered 202", http.StatusAccepted, c.call(http.MethodDelete, "cinder", path, nil))
	c.eventually("the snapshot is gone", func() bool {
		return c.call(http.MethodGet, "cinder", path, nil).status == http.StatusNotFound
	})
	s.remove()
	c.answers("then the volume goes with the stack", http.StatusNotFound, c.volume(volume))
}
