package contract

import (
	"net/http"
	"testing"
)

// TestRebuildOfAStoppedServer: Heat rebuilds a server that is off, and Nova leaves it off.
func TestRebuildOfAStoppedServer(t *testing.T) {
	t.Parallel()
	c := connect(t, "rebuild of a stopped server")
	const template = hot + `
parameters: {image: {type: string}}
resources:
  S: {type: OS::Nova::Server, properties: {flavor: m1.tiny, networks: [{network: net0}], image: {get_param: image}}}
`
	image := c.upload(fresh("other"))
	s := c.create("rebuild-off", obj{
		"template": template, "parameters": obj{"image": "cirros-0.5.2-x86_64-disk"},
	}, "CREATE_COMPLETE")
	server := s.resources()["S"].id
	state := func(want string) func() bool {
		return func() bool {
			r := c.server(server)
			return r.str("server", "status") == want && r.get("server", "OS-EXT-STS:task_state") == nil
		}
	}
	act := func(action string) {
		c.answers(action+" is answered 202", http.StatusAccepted, c.call(
			http.MethodPost, "nova", "/servers/"+server+"/action", obj{action: nil}))
	}
	act("os-stop")
	c.eventually("the server is off", state("SHUTOFF"))
	s.update(obj{"parameters": obj{"image": image}}, "UPDATE_COMPLETE")
	c.same("the server is rebuilt in place", server, s.resources()["S"].id)
	c.same("from the image", image, c.server(server).str("server", "image", "id"))
	c.eventually("the server is off again", state("SHUTOFF"))
	act("os-start")
	c.eventually("the server is on", state("ACTIVE"))
	s.remove()
}
