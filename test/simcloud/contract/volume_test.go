package contract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVolumes(t *testing.T) {
	t.Parallel()
	c := connect(t, "volumes")
	name := fresh("volume")
	r := c.call(http.MethodPost, "cinder", "/volumes", obj{
		"volume": obj{"name": name, "size": 1, "volume_type": "standard", "metadata": obj{"a": "b"}},
	})
	c.answers("a volume create is answered 202", http.StatusAccepted, r)
	id := r.str("volume", "id")
	t.Cleanup(func() { c.call(http.MethodDelete, "cinder", "/volumes/"+id, nil) })
	c.same("the volume is creating", "creating", r.str("volume", "status"))
	c.eventually("it is available", func() bool { return c.volume(id).str("volume", "status") == "available" })
	r = c.volume(id)
	c.same("bootable is a text", "false", r.get("volume", "bootable"))
	c.same("a volume shows its type, metadata, zone and project", []any{"standard", obj{"a": "b"}, "nova", c.project},
		[]any{
			r.get("volume", "volume_type"), r.get("volume", "metadata"), r.get("volume", "availability_zone"),
			r.get("volume", "os-vol-tenant-attr:tenant_id"),
		})
	c.same("a name finds it", []string{id}, names(
		c.call(http.MethodGet, "cinder", "/volumes/detail?name="+name, nil).list("volumes"), "id",
	))
	c.same("name and status together", []string{}, names(
		c.call(http.MethodGet, "cinder", "/volumes/detail?status=in-use&name="+name, nil).list("volumes"), "id",
	))
	r = c.call(http.MethodGet, "cinder", "/volumes/detail?colour=red", nil)
	c.fact(
		"an unknown filter finds nothing", r.status == http.StatusOK && len(r.list("volumes")) == 0, r.status, r.text,
	)
	r = c.volume(unknownID)
	c.fact("an unknown volume is not found", r.status == http.StatusNotFound &&
		r.str("itemNotFound", "message") == "Volume "+unknownID+" could not be found.", r.status, r.text)
	c.answers("a delete is answered 202", http.StatusAccepted, c.call(http.MethodDelete, "cinder", "/volumes/"+id, nil))
	c.eventually("the volume is gone", func() bool { return c.volume(id).status == http.StatusNotFound })
	root, _, _ := strings.Cut(c.url("cinder"), "/v3")
	r = c.request(http.MethodGet, root+"/", "", nil, nil)
	c.fact("the versions are public", r.status == http.StatusMultipleChoices && r.str("versions", 0, "id") == "v3.0" &&
		r.str("versions", 0, "min_version") == "3.0", r.status, r.text)
	r = c.callWith(http.MethodGet, "cinder", "/volumes", nil, obj{"OpenStack-API-Version": "volume 3.999"})
	c.fact("a microversion that it does not know is refused", r.status == http.StatusNotAcceptable && strings.HasPrefix(
		r.str("computeFault", "message"), "Version 3.999 is not supported by the API. Minimum is 3.0 and maximum is 3.",
	), r.status, r.text)
	c.fact("types are listed", strings.Contains(c.call(http.MethodGet, "cinder", "/types", nil).text, `"standard"`))
}

func TestVolumesOfAServer(t *testing.T) {
	t.Parallel()
	c := connect(t, "volumes of a server")
	s := c.create("volumes", obj{"template": hot + `
parameters: {size: {type: number, default: 1}}
resources:
  S:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{network: net0}]
      block_device_mapping_v2:
        - {image: cirros-0.5.2-x86_64-disk, boot_index: 0, volume_size: 1, delete_on_termination: true}
        - {volume_id: {get_resource: V}, boot_index: -1}
  V: {type: OS::Cinder::Volume, properties: {size: {get_param: size}, volume_type: standard}}
`}, "CREATE_COMPLETE")
	have := s.resources()
	server, volume := have["S"].id, have["V"].id
	r := c.volume(volume)
	c.like("a volume without a name is called by its stack, its resource and chance", `^`+s.name+`-V-[a-z0-9]{12}$`,
		r.str("volume", "name"))
	c.same("it is in use", "in-use", r.str("volume", "status"))
	a := r.get("volume", "attachments", 0)
	c.fact("it shows where it is attached", at(a, "id") == volume && at(a, "volume_id") == volume &&
		at(a, "server_id") == server && at(a, "device") != "" && at(a, "attachment_id") != "", a)
	r = c.call(http.MethodGet, "nova", "/servers/"+server+"/os-volume_attachments", nil)
	list := r.list("volumeAttachments")
	require.Len(t, list, 2)
	c.fact("the server lists its volumes, the root disk first", at(list, 1, "volumeId") == volume &&
		at(list, 1, "serverId") == server && at(list, 0, "volumeId") != volume, r.text)
	c.same("and which of them go with it", []any{true, false}, []any{
		at(list, 0, "delete_on_termination"), at(list, 1, "delete_on_termination"),
	})
	c.fact("from 2.89 on with the id of the attachment, without its own",
		at(list, 0, "attachment_id") != nil && at(list, 0, "id") == nil, r.text)
	r = c.callWith(http.MethodGet, "nova", "/servers/"+server+"/os-volume_attachments", nil,
		obj{"X-OpenStack-Nova-API-Version": "2.60"})
	c.fact("before, its id is the volume's", r.str("volumeAttachments", 1, "id") == volume, r.text)
	r = c.server(server)
	c.same("the server's page has them too", []any{2, ""}, []any{
		len(r.list("server", "os-extended-volumes:volumes_attached")), r.get("server", "image"),
	})
	boot := at(list, 0, "volumeId").(string)
	r = c.volume(boot)
	c.same("a volume that Nova makes has no name, is bootable and knows its image",
		[]any{"", "true", "cirros-0.5.2-x86_64-disk"},
		[]any{r.get("volume", "name"), r.get("volume", "bootable"), r.get(
			"volume", "volume_image_metadata", "image_name",
		)})
	r = c.call(http.MethodDelete, "cinder", "/volumes/"+volume, nil)
	c.fact("a volume in use cannot be deleted", r.status == http.StatusBadRequest && strings.HasPrefix(
		r.str("badRequest", "message"), "Invalid volume: Volume status must be available or error or",
	), r.status, r.text)

	s.update(obj{"parameters": obj{"size": 2}}, "UPDATE_COMPLETE")
	r = c.volume(volume)
	c.same("a volume in use grows in place", []any{2.0, "in-use", server},
		[]any{r.get("volume", "size"), r.get("volume", "status"), r.get("volume", "attachments", 0, "server_id")})
	r = s.update(obj{"parameters": obj{"size": 1}}, "UPDATE_FAILED")
	c.same(
		"it does not shrink", "Resource UPDATE failed: NotSupported: resources.V: Shrinking volume is not supported.",
		r.str("stack", "stack_status_reason"))
	s.update(obj{"parameters": obj{"size": 2}}, "UPDATE_COMPLETE")
	c.same("and is kept by the next update", volume, s.resources()["V"].id)
	s.remove()
	c.answers("the volume goes with the stack", http.StatusNotFound, c.volume(volume))
	c.answers("the root disk goes with the server", http.StatusNotFound, c.volume(boot))
}
