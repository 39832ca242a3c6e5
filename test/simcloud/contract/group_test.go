package contract

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
)

const scaled = hot + `
parameters:
  n: {type: number, default: 3}
resources:
  G:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 4, desired_capacity: {get_param: n}, resource: {type: member.yaml}}
  OUT: {type: OS::Heat::ScalingPolicy, properties: {scaling_adjustment: 1, adjustment_type: change_in_capacity, auto_scaling_group_id: {get_resource: G}}}
  IN: {type: OS::Heat::ScalingPolicy, properties: {scaling_adjustment: -1, adjustment_type: change_in_capacity, auto_scaling_group_id: {get_resource: G}}}
`

const member = hot + `
resources:
  CP: {type: OS::Neutron::Port, properties: {network: net0}}
  X: {type: OS::Neutron::Port, properties: {network: net0}}
`

// members are the names of the members of the group, in order.
func (s *stack) members() []string {
	s.c.t.Helper()
	var out []string
	for name := range s.resources() {
		if m, ok := strings.CutPrefix(name, "G/"); ok {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == name })
}

func TestScalingGroup(t *testing.T) {
	t.Parallel()
	c := connect(t, "scaling group")
	s := c.create("group", obj{"template": scaled, "files": obj{"member.yaml": member}}, "CREATE_COMPLETE")
	a, first := s.resources(), s.members()
	require.Len(t, first, 3)
	c.like("members have names of chance", `^[a-z0-9]{12}$`, first[0])
	c.same("their type is the file's name", "member.yaml", a["G/"+first[0]].typ)
	c.like("their stacks are called by the group's stack, themselves and chance",
		`^/stacks/`+s.name+`-G-[a-z0-9]{12}-`+first[0]+`-[a-z0-9]{12}/`, a["G/"+first[0]].nestedPath)
	c.same("a member belongs to the group's stack", a["G"].nestedPath, a["G/"+first[0]].stackPath)

	b := s.heal(first[1] + "/X")
	c.fact("a marked resource of a member is replaced in its place", a[first[1]+"/X"].id != b[first[1]+"/X"].id)
	c.same("the member is the same", a["G/"+first[1]].id+a[first[1]+"/CP"].id, b["G/"+first[1]].id+b[first[1]+"/CP"].id)
	d := s.heal("G/" + first[1])
	c.fact("a marked member is replaced with everything in it, under its name",
		b["G/"+first[1]].id != d["G/"+first[1]].id && b[first[1]+"/CP"].id != d[first[1]+"/CP"].id)
	c.same("the others are untouched", b["G/"+first[0]].id+b["G/"+first[2]].id, d["G/"+first[0]].id+d["G/"+first[2]].id)

	s.update(obj{"parameters": obj{"n": 2}}, "UPDATE_COMPLETE")
	c.same("of members of one age the first by name goes; the recreated one is the youngest", without(first, first[0]),
		s.members())
	c.idle(time.Second) // ages count in seconds
	s.update(obj{"parameters": obj{"n": 4}}, "UPDATE_COMPLETE")
	four := s.members()
	require.Len(t, four, 4)
	var young string
	for _, m := range four {
		if !slices.Contains(first, m) {
			young = m
		}
	}
	have := s.resources()
	require.Equal(t, http.StatusOK, s.mark(have["G/"+young], young).status)
	s.update(obj{"parameters": obj{"n": 3}}, "UPDATE_COMPLETE")
	c.same("a marked member goes before older ones, and nothing else happens", without(four, young), s.members())
	for _, m := range without(four, young) {
		c.same("a member that stays is untouched", have["G/"+m].id+have[m+"/X"].id,
			s.resources()["G/"+m].id+s.resources()[m+"/X"].id)
	}
	for _, n := range []int{0, 5} {
		c.refuses("a size out of bounds is refused", http.StatusBadRequest, "StackValidationFailed",
			`DesiredCapacity must be between MinSize and MaxSize$`, s.patch(obj{"parameters": obj{"n": n}}))
	}
	c.same("a refused update leaves the stack", "UPDATE_COMPLETE", s.status())
}

func TestScalingPolicy(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "scaling policy", slow)
	s := c.create("policy", obj{"template": scaled, "files": obj{"member.yaml": member}, "parameters": obj{"n": 1}},
		"CREATE_COMPLETE")
	signal := func(name string) reply {
		return c.call(http.MethodPost, "heat", s.path()+"/resources/"+name+"/signal", nil)
	}
	group := func() string {
		return c.call(http.MethodGet, "heat", s.resources()["G"].nestedPath, nil).str("stack", "stack_status")
	}
	grows := func(n int) {
		c.eventually("the group has changed", func() bool {
			return len(s.members()) == n && !strings.HasSuffix(group(), "IN_PROGRESS")
		})
		if c.sim == nil {
			c.idle(1500 * time.Millisecond) // Heat holds its note that the group is being scaled a moment longer
		}
	}
	old := s.members()
	c.idle(time.Second) // ages count in seconds
	r := signal("OUT")
	c.fact("a signal is answered 200 with null", r.status == http.StatusOK && r.body == nil && r.text != "", r.status,
		r.text)
	grows(2)
	c.same("the group has one more, and its stack was updated", "UPDATE_COMPLETE", group())
	c.same("the top stack is as it was", "CREATE_COMPLETE", s.status())
	signal("IN")
	grows(1)
	c.fact("the oldest has gone", !slices.Contains(s.members(), old[0]), s.members(), old)
	c.answers("a signal beyond the bound is answered 200", http.StatusOK, signal("IN"))
	c.idle(c.moment())
	c.same("and nothing happens", 1, len(s.members()))
	signal("OUT")
	grows(2)
	s.update(nil, "UPDATE_COMPLETE")
	c.same("an update with nothing takes the group back to the size in the template", 1, len(s.members()))
	s.patch(obj{"parameters": obj{"n": 2}})
	c.idle(c.moment() / 3)
	c.answers("a signal while the group is being updated is answered 200", http.StatusOK, signal("OUT"))
	s.await("UPDATE_COMPLETE")
	c.idle(c.moment())
	c.same("and is lost", 2, len(s.members()))
	r = c.call(http.MethodGet, "heat", s.path()+"/resources/OUT", nil)
	c.like("a policy shows where to signal it", `/stacks/`+s.name+`/`+s.id+`/resources/OUT/signal$`,
		r.str("resource", "attributes", "signal_url"))

	// The group's own stack shows the result of a signal, and an update that says the same size finds nothing to do.
	two := s.members()
	signal("OUT")
	grows(3)
	three, members := s.resources(), s.members()
	s.update(obj{"parameters": obj{"n": 3}}, "UPDATE_COMPLETE")
	c.same("an update to the size that a signal has made touches no member", idsOf(three, members),
		idsOf(s.resources(), s.members()))
	require.Equal(t, http.StatusOK, s.mark(three["G/"+members[1]], members[1]).status)
	signal("OUT")
	c.eventually("the group has changed", func() bool {
		return s.resources()["G/"+members[1]].id != three["G/"+members[1]].id && group() == "UPDATE_COMPLETE"
	})
	c.same("a signal does not count a failed member: one more is none more, and it is recreated", members, s.members())
	young := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return slices.Contains(two, m) })
	require.Len(t, young, 1)
	if c.sim == nil {
		c.idle(1500 * time.Millisecond)
	}
	require.Equal(t, http.StatusOK, s.mark(three["G/"+young[0]], young[0]).status)
	signal("IN")
	grows(1)
	c.fact("one fewer are two fewer, the failed one among them", !slices.Contains(s.members(), young[0]), s.members(),
		young)
}

const signalled = hot + `
parameters:
  n: {type: number, default: 0}
  fail: {type: boolean, default: true}
  wait: {type: number, default: 0}
resources:
  G:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 0
      max_size: 4
      desired_capacity: {get_param: n}
      resource: {type: member.yaml, properties: {fail: {get_param: fail}, wait: {get_param: wait}}}
  OUT: {type: OS::Heat::ScalingPolicy, properties: {scaling_adjustment: 1, adjustment_type: change_in_capacity, auto_scaling_group_id: {get_resource: G}}}
  RARE: {type: OS::Heat::ScalingPolicy, properties: {scaling_adjustment: 1, adjustment_type: change_in_capacity, auto_scaling_group_id: {get_resource: G}, cooldown: 60}}
`

const signalledMember = hot + `
parameters: {fail: {type: boolean}, wait: {type: number}}
resources:
  R: {type: OS::Heat::TestResource, properties: {fail: {get_param: fail}, action_wait_secs: {create: {get_param: wait}}}}
  Q: {type: OS::Heat::TestResource, depends_on: R}
`

func TestSignalsThatFail(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "signals that fail", quick)
	s := c.create(
		"signals", obj{"template": signalled, "files": obj{"member.yaml": signalledMember}}, "CREATE_COMPLETE",
	)
	group := func(part string) string {
		return c.call(http.MethodGet, "heat", s.resources()["G"].nestedPath, nil).str("stack", part)
	}
	signal := func(name, want string) {
		t.Helper()
		c.answers("a signal is answered 200", http.StatusOK, c.call(
			http.MethodPost, "heat", s.path()+"/resources/"+name+"/signal", nil,
		))
		if want != "" {
			c.eventually("the group is "+want, func() bool { return group("stack_status") == want })
			if c.sim == nil {
				c.idle(1500 * time.Millisecond)
			}
		}
	}
	signal("OUT", "UPDATE_FAILED")
	c.same(
		"a member that cannot be made fails the group's stack, counts as a member, and leaves the top stack as it was",
		[]any{1, "CREATE_FAILED", "CREATE_COMPLETE"},
		[]any{len(s.members()), s.resources()["G/"+s.members()[0]].status, s.status()})
	c.like("the group's stack says why", `^Resource CREATE failed: ValueError: resources\.[a-z0-9]{12}\.resources\.R: Test Resource failed `, group("stack_status_reason"))
	s.update(obj{"parameters": obj{"n": 1}}, "UPDATE_FAILED")
	s.update(obj{"parameters": obj{"n": 1, "fail": false}}, "UPDATE_COMPLETE")
	c.same("an update to that size recreates it", []any{1, true},
		[]any{len(s.members()), strings.HasSuffix(s.resources()["G/"+s.members()[0]].status, "E_COMPLETE")})

	s.update(obj{"parameters": obj{"n": 1, "wait": 4}}, "UPDATE_COMPLETE")
	signal("OUT", "UPDATE_IN_PROGRESS")
	c.eventually("the member is being made", func() bool {
		return slices.ContainsFunc(
			s.members(), func(m string) bool { return s.resources()[m+"/R"].status == "CREATE_IN_PROGRESS" },
		)
	})
	c.answers("the group's stack can be stopped", http.StatusOK, c.call(
		http.MethodPost, "heat", s.resources()["G"].nestedPath+"/actions", obj{"cancel_without_rollback": nil},
	))
	c.eventually("it stops", func() bool { return group("stack_status") == "UPDATE_FAILED" })
	c.same("it says that it was cancelled, and the top stack is as it was",
		[]string{"Stack UPDATE cancelled", "UPDATE_COMPLETE"}, []string{group("stack_status_reason"), s.status()})
	c.eventually("nothing is under way", s.quiet)
	s.update(obj{"parameters": obj{"n": 2, "wait": 0}}, "UPDATE_COMPLETE")
	c.same("an update to the size makes what is missing", 2, len(s.members()))

	if c.sim == nil {
		c.idle(1500 * time.Millisecond)
	}
	signal("RARE", "UPDATE_COMPLETE")
	c.eventually("the signal is obeyed", func() bool { return len(s.members()) == 3 })
	signal("OUT", "")
	c.idle(c.moment())
	c.same("in the cooldown of a policy its group ignores signals, also those of other policies", 3, len(s.members()))
}

// idsOf are the physical ids of members and of what is in them.
func idsOf(all map[string]resource, members []string) []string {
	var out []string
	for _, m := range members {
		out = append(out, all["G/"+m].id, all[m+"/X"].id, all[m+"/CP"].id)
	}
	return out
}

// moment is how long the cloud needs for something that may, or should not, happen.
func (c *cloud) moment() time.Duration {
	if c.sim == nil {
		return 3 * time.Second
	}
	return 300 * time.Millisecond
}

func TestResourceGroupAndAntiAffinity(t *testing.T) {
	t.Parallel()
	c := connect(t, "anti-affinity")
	s := c.create("affinity", obj{"template": hot + `
resources:
  grp: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity]}}
  G:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: OS::Nova::Server
        properties:
          name: contract-%index%
          flavor: m1.tiny
          image: cirros-0.5.2-x86_64-disk
          networks: [{network: net0}]
          scheduler_hints: {group: {get_resource: grp}}
`}, "CREATE_COMPLETE")
	have := s.resources()
	c.same("members of a resource group are numbered", []string{"0", "1"}, s.members())
	one, two := c.server(have["G/0"].id), c.server(have["G/1"].id)
	c.same("%index% is the number", []string{"contract-0", "contract-1"},
		[]string{one.str("server", "name"), two.str("server", "name")})
	c.fact("members of the server group are on different hosts",
		one.str("server", "OS-EXT-SRV-ATTR:host") != two.str("server", "OS-EXT-SRV-ATTR:host"))
	c.same("a server shows its group", []any{have["grp"].id}, one.get("server", "server_groups"))
	r := c.call(http.MethodGet, "nova", "/os-server-groups/"+have["grp"].id, nil)
	in := []string{}
	for _, m := range r.list("server_group", "members") {
		in = append(in, m.(string))
	}
	slices.Sort(in)
	want := []string{have["G/0"].id, have["G/1"].id}
	slices.Sort(want)
	c.same("the server group lists its members", want, in)
	c.fact("it shows its policy and no rules", r.str("server_group", "policy") == "anti-affinity" &&
		len(r.get("server_group", "rules").(obj)) == 0, r.text)
}

const softGroups = hot + `
resources:
  apart: {type: OS::Nova::ServerGroup, properties: {policies: [soft-anti-affinity]}}
  near: {type: OS::Nova::ServerGroup, properties: {policies: [soft-affinity]}}
  X:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, image: cirros-0.5.2-x86_64-disk, networks: [{network: net0}], HINTS}
  G:
    type: OS::Heat::ResourceGroup
    properties:
      count: 4
      resource_def:
        type: OS::Nova::Server
        properties:
          flavor: m1.tiny
          image: cirros-0.5.2-x86_64-disk
          availability_zone: nova
          networks: [{network: net0}]
          scheduler_hints: {group: {get_resource: apart}}
`

func TestSoftServerGroups(t *testing.T) {
	t.Parallel()
	c := connectWith(t, "soft server groups", simcloud.Options{Hosts: []simcloud.Host{
		{Name: "cmp1", Zone: "nova"}, {Name: "cmp2", Zone: "nova"}, {Name: "cmp3", Zone: "nova"},
	}})
	group := func(id string) (policy string, members []string) {
		r := c.call(http.MethodGet, "nova", "/os-server-groups/"+id, nil)
		for _, m := range r.list("server_group", "members") {
			members = append(members, m.(string))
		}
		slices.Sort(members)
		return r.str("server_group", "policy"), members
	}
	template := func(hints string) obj { return obj{"template": strings.Replace(softGroups, "HINTS", hints, 1)} }
	s := c.create("soft", template("scheduler_hints: {group: {get_resource: near}}"), "CREATE_COMPLETE")
	have := s.resources()
	c.same(
		"a soft-anti-affinity group with more servers than hosts places all", []string{"0", "1", "2", "3"}, s.members(),
	)
	want := []string{have["G/0"].id, have["G/1"].id, have["G/2"].id, have["G/3"].id}
	slices.Sort(want)
	policy, members := group(have["apart"].id)
	c.same("it lists them as its members", want, members)
	c.same("it shows its policy", "soft-anti-affinity", policy)
	policy, members = group(have["near"].id)
	c.same("a soft-affinity group shows its policy and its one member", []string{"soft-affinity", have["X"].id},
		append([]string{policy}, members...))

	s.update(template("metadata: {a: b}"), "UPDATE_COMPLETE")
	after := s.resources()
	c.fact("a server whose scheduler hints are taken away is recreated", have["X"].id != after["X"].id)
	c.same("the groups and their other members stay", []string{have["apart"].id, have["near"].id, have["G/0"].id},
		[]string{after["apart"].id, after["near"].id, after["G/0"].id})
	_, members = group(have["near"].id)
	c.same("a server that is gone is no member any more", 0, len(members))
}
