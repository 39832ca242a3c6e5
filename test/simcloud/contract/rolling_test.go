package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rolled is a group whose members have a port on a network, with the size of its batches and a word of metadata.
const rolled = hot + `
parameters: {net: {type: string, default: net0}}
resources:
  G:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 0
      max_size: 4
      desired_capacity: 3
      rolling_updates: {min_in_service: 0, max_batch_size: %d}
      resource: {type: member.yaml, properties: {net: {get_param: net}}, metadata: {word: %s}}
`

const rolledMember = hot + `
parameters: {net: {type: string}}
resources:
  CP: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}
`

// rolledPart is a stack that has the group in a nested template.
const rolledPart = hot + `
parameters: {net: {type: string, default: net0}}
resources:
  N: {type: part.yaml, properties: {net: {get_param: net}}}
`

func TestNestedGroupAfterAFailedUpdate(t *testing.T) {
	t.Parallel()
	c := connect(t, "nested group after a failed update")
	template := func(batch int, word, net string) obj {
		return obj{"template": rolledPart, "parameters": obj{"net": net}, "files": obj{
			"part.yaml": fmt.Sprintf(rolled, batch, word), "member.yaml": rolledMember,
		}}
	}
	s := c.create("part", template(2, "one", "net0"), "CREATE_COMPLETE")
	require.Len(t, s.members(), 3)
	before := idsOf(s.resources(), s.members())

	const missing = `Property error: .*resources\.CP\.properties\.network: `
	r := s.update(template(2, "one", "none"), "UPDATE_FAILED")
	c.like("a property that members of a nested group cannot have fails the update", missing,
		r.str("stack", "stack_status_reason"))
	r = s.update(template(2, "one", "net0"), "UPDATE_FAILED")
	c.like("an update with the definition of before fails with the same property", missing,
		r.str("stack", "stack_status_reason"))
	s.update(template(3, "two", "net0"), "UPDATE_COMPLETE")
	c.same("other metadata in the nested template, and a batch of all members, repair the group, and the members are "+
		"the same", before, idsOf(s.resources(), s.members()))
}

func TestGroupAfterAFailedUpdate(t *testing.T) {
	t.Parallel()
	c := connect(t, "group after a failed update")
	template := func(batch int, word string) obj {
		return obj{"template": fmt.Sprintf(rolled, batch, word), "files": obj{"member.yaml": rolledMember}}
	}
	with := func(b obj, net string) obj { b["parameters"] = obj{"net": net}; return b }
	s := c.create("rolled", template(1, "one"), "CREATE_COMPLETE")
	require.Len(t, s.members(), 3)
	before := idsOf(s.resources(), s.members())
	failed := func() (n int) {
		have := s.resources()
		for _, m := range s.members() {
			if strings.HasSuffix(have["G/"+m].status, "_FAILED") {
				n++
			}
		}
		return n
	}
	// The path before it differs: Heat puts the group after its member.
	const missing = `^Resource UPDATE failed: resources\..*Property error: resources\.CP\.properties\.network: `

	r := s.update(with(template(1, "one"), "none"), "UPDATE_FAILED")
	c.like("a property that members cannot have fails the update", missing, r.str("stack", "stack_status_reason"))
	c.same("one batch of members has failed", 1, failed())
	r = s.update(with(template(1, "one"), "net0"), "UPDATE_FAILED")
	c.like("an update with the definition of before fails with the same property: the member keeps its definition",
		missing, r.str("stack", "stack_status_reason"))
	s.update(with(template(1, "two"), "net0"), "UPDATE_COMPLETE")
	c.same("one with other metadata of the definition gives it to all members, and they are the same", before,
		idsOf(s.resources(), s.members()))

	s.update(with(template(2, "two"), "none"), "UPDATE_FAILED")
	r = s.update(with(template(1, "three"), "net0"), "UPDATE_FAILED")
	c.like("an update in smaller batches fails at the member that keeps its definition", missing,
		r.str("stack", "stack_status_reason"))
	s.update(with(template(3, "four"), "net0"), "UPDATE_COMPLETE")
	c.same("one in a batch of all members repairs the group, and the members are the same", before,
		idsOf(s.resources(), s.members()))
}
