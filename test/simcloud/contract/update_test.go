package contract

import (
	"net/http"
	"strings"
	"testing"
)

func TestUpdate(t *testing.T) {
	t.Parallel()
	c := connect(t, "update")
	second := c.network("second")
	s := c.create("update", one(), "CREATE_COMPLETE")
	before := s.resources()

	r := s.update(obj{"template": double}, "UPDATE_COMPLETE")
	c.same("an update says so in words", "Stack UPDATE completed successfully", r.str("stack", "stack_status_reason"))
	c.fact("an updated stack has an updated_time", r.get("stack", "updated_time") != nil)
	two := s.resources()
	c.same("a second VNFC has come", 6, len(two))
	c.same("the first one is untouched", before["VDU-0/VDU"].id+before["VDU-0/CP"].id,
		two["VDU-0/VDU"].id+two["VDU-0/CP"].id)
	c.same("files that the update does not name are kept", "CREATE_COMPLETE", two["VDU-1/VDU"].status)

	s.update(obj{"template": strings.ReplaceAll(single, "VDU.yaml", "VDU.2.yaml"), "files": obj{"VDU.2.yaml": unit}},
		"UPDATE_COMPLETE")
	renamed := s.resources()
	c.same("the second VNFC has gone", 3, len(renamed))
	c.answers("its server too", http.StatusNotFound, c.server(two["VDU-1/VDU"].id))
	c.same("a nested template may change its name and nothing is replaced", two["VDU-0"].id+two["VDU-0/VDU"].id,
		renamed["VDU-0"].id+renamed["VDU-0/VDU"].id)
	c.same("the type shows the new name", "VDU.2.yaml", renamed["VDU-0"].typ)

	s.update(obj{"parameters": obj{"net": second}}, "UPDATE_COMPLETE")
	moved := s.resources()
	c.same("another network of a port keeps the server", renamed["VDU-0/VDU"].id, moved["VDU-0/VDU"].id)
	c.fact("and replaces the port", renamed["VDU-0/CP"].id != moved["VDU-0/CP"].id)
	p := c.port(moved["VDU-0/CP"].id)
	c.same("which is plugged into the server", moved["VDU-0/VDU"].id, p.str("port", "device_id"))
	c.answers("the old port is gone", http.StatusNotFound, c.port(renamed["VDU-0/CP"].id))
	c.same("a parameter keeps its value in the next update", second,
		s.update(nil, "UPDATE_COMPLETE").str("stack", "parameters", "net"))

	ip := p.str("port", "fixed_ips", 0, "ip_address")
	ip = ip[:strings.LastIndex(ip, ".")] + ".99"
	fixed := strings.Replace(unit, "properties: {network: {get_param: net}}",
		"properties: {network: {get_param: net}, fixed_ips: [{ip_address: "+ip+"}]}", 1)
	s.update(obj{"files": obj{"VDU.2.yaml": fixed}}, "UPDATE_COMPLETE")
	readdressed := s.resources()
	c.same("another address of a port changes it in place", moved["VDU-0/CP"].id, readdressed["VDU-0/CP"].id)
	c.same("the port has it", ip, c.port(moved["VDU-0/CP"].id).str("port", "fixed_ips", 0, "ip_address"))

	recreated := s.heal("VDU-0/CP")
	c.same("a port that is replaced hands its fixed address on", ip,
		c.port(recreated["VDU-0/CP"].id).str("port", "fixed_ips", 0, "ip_address"))
	c.fact("it is another port", recreated["VDU-0/CP"].id != readdressed["VDU-0/CP"].id)
	readdressed = recreated

	s.update(obj{"files": obj{
		"VDU.2.yaml": strings.Replace(fixed, "      networks:", "      metadata: {a: b}\n      networks:", 1),
	}}, "UPDATE_COMPLETE")
	c.same("metadata of a server change in place", []any{readdressed["VDU-0/VDU"].id, "b"},
		[]any{s.resources()["VDU-0/VDU"].id, c.server(readdressed["VDU-0/VDU"].id).str("server", "metadata", "a")})
	s.update(obj{"files": obj{
		"VDU.2.yaml": strings.Replace(fixed, "      networks:", "      user_data: hello\n      networks:", 1),
	}}, "UPDATE_COMPLETE")
	rewritten := s.resources()
	c.fact("other user data replace the server", rewritten["VDU-0/VDU"].id != readdressed["VDU-0/VDU"].id)
	c.same("and keep its port", readdressed["VDU-0/CP"].id, rewritten["VDU-0/CP"].id)
	c.same("which is plugged into the new server", rewritten["VDU-0/VDU"].id,
		c.port(rewritten["VDU-0/CP"].id).str("port", "device_id"))
	c.answers("the old server is gone", http.StatusNotFound, c.server(readdressed["VDU-0/VDU"].id))

	s.remove()
	c.answers("the server goes with the stack", http.StatusNotFound, c.server(rewritten["VDU-0/VDU"].id))
}

func TestUpdateOfAServer(t *testing.T) {
	t.Parallel()
	c := connect(t, "update of a server")
	s := c.create("server", one(), "CREATE_COMPLETE")
	vdu := s.resources()["VDU-0/VDU"].id
	s.update(obj{"parameters": obj{"flavor": "m1.small"}}, "UPDATE_COMPLETE")
	srv := c.server(vdu)
	c.same(
		"another flavor resizes the server, which keeps its id",
		[]any{"m1.small", "ACTIVE", s.resources()["VDU-0/VDU"].id},
		[]any{srv.str("server", "flavor", "original_name"), srv.str("server", "status"), vdu})
	id := c.upload(fresh("image"))
	s.update(obj{"files": obj{"VDU.yaml": strings.Replace(unit, "image: {get_param: image}", "image: "+id, 1)}},
		"UPDATE_COMPLETE")
	srv = c.server(vdu)
	c.same("another image rebuilds the server, which keeps its id", []any{id, "ACTIVE", s.resources()["VDU-0/VDU"].id},
		[]any{srv.str("server", "image", "id"), srv.str("server", "status"), vdu})
	c.like("a server shows its zone", `^\w+$`, srv.str("server", "OS-EXT-AZ:availability_zone"))
}

// overtake waits for an update that has overtaken another action. The real Heat now and then takes what it cancels in a
// nested stack for a failure; then the same update, once more, has to succeed.
func (s *stack) overtake(again obj) reply {
	s.c.t.Helper()
	r := s.settle()
	if r.str("stack", "stack_status") == "UPDATE_COMPLETE" {
		return r
	}
	s.c.like("an update that has overtaken another fails for that reason only", "(UPDATE|CREATE) cancelled$",
		r.str("stack", "stack_status_reason"))
	return s.update(again, "UPDATE_COMPLETE")
}

func TestUpdateSupersedes(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "update in progress", slow)
	s := c.begin("supersede", one())
	r := s.patch(obj{"tags": "second"})
	c.answers("an update of a stack that is being created is accepted", http.StatusAccepted, r)
	c.same("the stack is being updated at once", "UPDATE_IN_PROGRESS", s.status())
	s.overtake(obj{"tags": "second"})
	have := s.resources()
	c.same("everything is there once", 3, len(have))
	c.same("the server is active", "ACTIVE", c.server(have["VDU-0/VDU"].id).str("server", "status"))
	c.answers(
		"an update of one that is being updated is accepted", http.StatusAccepted, s.patch(obj{"template": double}),
	)
	r = s.patch(obj{"template": single, "tags": "third"})
	c.answers("and again", http.StatusAccepted, r)
	r = s.overtake(obj{"template": single, "tags": "third"})
	c.same("the last one counts", []any{3, []any{"third"}}, []any{len(s.resources()), r.get("stack", "tags")})
	c.same("and what it keeps is what was there", have["VDU-0/VDU"].id, s.resources()["VDU-0/VDU"].id)
}
