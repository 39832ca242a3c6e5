package contract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarkUnhealthy(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "mark unhealthy", slow)
	s := c.create("heal", one(), "CREATE_COMPLETE")
	a := s.resources()
	path := a["VDU-0/VDU"].stackPath + "/resources/"
	mark := func(name string, body obj) reply { return c.call(http.MethodPatch, "heat", path+name, body) }

	r := s.mark(a["VDU-0/VDU"], "VDU")
	c.fact("marking is answered 200 with null", r.status == http.StatusOK && r.text != "" && r.body == nil, r.status,
		r.text)
	x := s.resources()["VDU-0/VDU"]
	c.same("a marked resource has failed its check, for the reason given",
		[]string{"CHECK_FAILED", "marked by the contract"}, []string{x.status, x.reason})
	c.same("the stack is as it was", "CREATE_COMPLETE", s.status())
	c.answers("a mark is taken back", http.StatusOK, mark("VDU", obj{"mark_unhealthy": false}))
	c.same("the resource is well then", "CHECK_COMPLETE", s.resources()["VDU-0/VDU"].status)
	s.update(nil, "UPDATE_COMPLETE")
	c.same("and an update keeps it", a["VDU-0/VDU"].id, s.resources()["VDU-0/VDU"].id)
	c.refuses("an unknown resource is not found", http.StatusNotFound, "ResourceNotFound",
		`^The Resource \(none\) could not be found in Stack `+s.name+`-VDU-0-[a-z0-9]+\.$`,
		mark("none", obj{"mark_unhealthy": true}))
	c.refuses("a mark must say whether", http.StatusBadRequest, "HTTPBadRequest",
		`^Missing mandatory \(mark_unhealthy\) key from mark unhealthy request$`, mark("VDU", obj{}))
	c.refuses("in a word it knows", http.StatusBadRequest, "HTTPBadRequest",
		`^Unrecognized value "x" for "mark_unhealthy"`, mark("VDU", obj{"mark_unhealthy": "x"}))

	b := s.heal("VDU-0/VDU")
	c.fact("an update with nothing replaces a marked server of a nested stack", a["VDU-0/VDU"].id != b["VDU-0/VDU"].id)
	c.same("its port stays, with its address", c.port(b["VDU-0/CP"].id).str("port", "device_id")+a["VDU-0/CP"].id,
		b["VDU-0/VDU"].id+b["VDU-0/CP"].id)
	c.same("so does the nested stack", a["VDU-0"].id, b["VDU-0"].id)
	c.same("the new server is made, the nested stack updated", []string{"CREATE_COMPLETE", "UPDATE_COMPLETE"},
		[]string{b["VDU-0/VDU"].status, b["VDU-0"].status})
	c.answers("the old server is gone", http.StatusNotFound, c.server(a["VDU-0/VDU"].id))

	d := s.heal("VDU-0/CP")
	c.fact("a marked port is replaced", b["VDU-0/CP"].id != d["VDU-0/CP"].id)
	c.same(
		"its server is kept and gets the new one", b["VDU-0/VDU"].id, c.port(d["VDU-0/CP"].id).str("port", "device_id"),
	)

	e := s.heal("VDU-0")
	c.fact("a marked nested stack is replaced with everything in it",
		d["VDU-0"].id != e["VDU-0"].id && d["VDU-0/VDU"].id != e["VDU-0/VDU"].id &&
			d["VDU-0/CP"].id != e["VDU-0/CP"].id)

	require.Equal(t, http.StatusAccepted, s.patch(obj{"template": double}).status)
	c.eventually(
		"the second VNFC is being made", func() bool { return s.resources()["VDU-1"].status == "CREATE_IN_PROGRESS" },
	)
	c.refuses("a resource that is being worked on cannot be marked", http.StatusConflict, "ActionInProgress",
		`^Stack `+s.name+` already has an action \(UPDATE\) in progress\.$`, s.mark(e["VDU-0"], "VDU-1"))
	s.await("UPDATE_COMPLETE")
}

// unitWithVolume is unit with a server that boots from a volume.
var unitWithVolume = strings.NewReplacer(
	"      image: {get_param: image}",
	"      block_device_mapping_v2: [{volume_id: {get_resource: VOL}, boot_index: 0}]", "  CP:\n",
	"  VOL: {type: OS::Cinder::Volume, properties: {size: 1, image: {get_param: image}}}\n  CP:\n",
).Replace(unit)

func TestMarkUnhealthyWithAVolume(t *testing.T) {
	t.Parallel()
	c := connect(t, "mark unhealthy with a volume")
	s := c.create("volume", obj{"template": single, "files": obj{"VDU.yaml": unitWithVolume}}, "CREATE_COMPLETE")
	a := s.resources()
	s.mark(a["VDU-0/VDU"], "VDU")
	r := s.update(nil, "UPDATE_FAILED")
	c.like("a server alone cannot be replaced while its volume stays: the new one comes before the old one goes",
		`^Resource UPDATE failed: resources\.VDU-0: Resource CREATE failed: BadRequest: resources\.VDU: Invalid volume: Invalid input received: Invalid volume: Volume `+
			a["VDU-0/VOL"].id+` status must be available or downloading to reserve, but the current status is in-use\. \(HTTP 400\)`, r.str("stack", "stack_status_reason"))
	x := s.resources()
	c.same("the new server has failed and has no id", []string{"CREATE_FAILED", ""},
		[]string{x["VDU-0/VDU"].status, x["VDU-0/VDU"].id})
	c.same("the nested stack's resource has failed", "UPDATE_FAILED", x["VDU-0"].status)
	c.answers("the old server lives", http.StatusOK, c.server(a["VDU-0/VDU"].id))
	s.update(nil, "UPDATE_FAILED")
	c.same("trying again fails again", a["VDU-0/VOL"].id, s.resources()["VDU-0/VOL"].id)

	b := s.heal("VDU-0/VDU", "VDU-0/VOL")
	c.fact("server and volume marked are both replaced", a["VDU-0/VDU"].id != b["VDU-0/VDU"].id &&
		a["VDU-0/VOL"].id != b["VDU-0/VOL"].id)
	c.same("their port stays", a["VDU-0/CP"].id, b["VDU-0/CP"].id)
	c.answers("the old server is gone", http.StatusNotFound, c.server(a["VDU-0/VDU"].id))
	c.answers("the old volume is gone", http.StatusNotFound, c.volume(a["VDU-0/VOL"].id))

	d := s.heal("VDU-0/VOL")
	c.fact("a volume marked alone takes its server with it", b["VDU-0/VDU"].id != d["VDU-0/VDU"].id &&
		b["VDU-0/VOL"].id != d["VDU-0/VOL"].id)
	c.same("the new volume is in use by the new server", []any{"in-use", d["VDU-0/VDU"].id},
		[]any{c.volume(d["VDU-0/VOL"].id).get("volume", "status"), c.volume(d["VDU-0/VOL"].id).get(
			"volume", "attachments", 0, "server_id",
		)})
}

func TestServerGoneBehindHeat(t *testing.T) {
	t.Parallel()
	c := connect(t, "server gone behind Heat")
	s := c.create("gone-behind-the-back-of-heat", one(), "CREATE_COMPLETE")
	a := s.resources()
	c.like("a server's name that would be too long keeps its first two and its last fifty characters",
		`^ct-.{33}-VDU-[a-z0-9]{12}$`, c.server(a["VDU-0/VDU"].id).str("server", "name"))
	c.answers("a server of a stack can be deleted through Nova", http.StatusNoContent,
		c.call(http.MethodDelete, "nova", "/servers/"+a["VDU-0/VDU"].id, nil))
	c.eventually("the server is gone", func() bool { return c.server(a["VDU-0/VDU"].id).status == http.StatusNotFound })
	s.update(nil, "UPDATE_COMPLETE")
	c.same("an update with nothing does not notice", a["VDU-0/VDU"].id, s.resources()["VDU-0/VDU"].id)
	r := s.action("check")
	c.fact("a check is answered 200 with null", r.status == http.StatusOK && r.body == nil && r.text != "", r.status,
		r.text)
	r = s.await("CHECK_FAILED")
	c.like("a check notices", `^Resource CHECK failed: \[.*'NotFound: resources\.VDU-0\.resources\.VDU: Instance `+
		a["VDU-0/VDU"].id+` could not be found\. \(HTTP 404\) \(Request-ID: `, r.str("stack", "stack_status_reason"))
	c.same("the resource has failed its check", "CHECK_FAILED", s.resources()["VDU-0/VDU"].status)
	s.update(nil, "UPDATE_COMPLETE")
	b := s.resources()
	c.fact("and the next update replaces it", b["VDU-0/VDU"].id != a["VDU-0/VDU"].id &&
		c.server(b["VDU-0/VDU"].id).status == http.StatusOK)
}
