package openstack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// TestWhoseItIs: names decide what may be deleted, so a letter more or less is somebody else's.
func TestWhoseItIs(t *testing.T) {
	t.Parallel()
	const id = "8105059f-7bea-4aca-b397-4549246c3a4c"
	named := func(typ, name string, tags ...string) object {
		return object{Leftover: lcm.Leftover{Type: typ, ID: name, Name: name}, tags: tags}
	}
	nested := named(typeStack, "vnf-"+id+"-masterNode-1-r5eggooyg3w5")
	nested.nested = true
	a := &audit{instance: &lcm.Instance{ID: id}, objects: []object{
		nested, named(typePort, "vnf-"+id+"-workerNode-0-qyza2tzunl4x-workerNode_CP1-75ukqtix2726"), named(typePort, "x-tgxygidykb6a-y"),
	}}
	for name, tt := range map[string]struct {
		object object
		ours   bool
	}{
		"prefix":                         {named(typePort, "vnf-"+id+"-port"), true},
		"the very name":                  {named(typePort, "vnf-"+id), true},
		"one letter more":                {named(typePort, "vnf-"+id+"0-port"), false},
		"in the middle":                  {named(typePort, "of vnf-"+id+"-port"), false},
		"no name":                        {named(typePort, ""), false},
		"tag":                            {named(typeImage, "any", "other", id), true},
		"part of a tag":                  {named(typeImage, "any", id+"-2"), false},
		"stack without tag":              {named(typeStack, "vnf-"+id), false},
		"stack with tag":                 {named(typeStack, "vnf-"+id, id, "op"), true},
		"orphan of a stack":              {nested, true},
		"shortened, stack is known":      {named(typeServer, "vn-c-masterNode-1-r5eggooyg3w5-masterNode-uxyymyarleho"), true},
		"shortened, port is known":       {named(typeServer, "vn-c-workerNode-0-qyza2tzunl4x-workerNode-uxyymyarleho"), true},
		"shortened, another stack":       {named(typeServer, "vn-c-workerNode-0-aaaaaaaaaaaa-workerNode-uxyymyarleho"), false},
		"shortened, of somebody's port":  {named(typeServer, "vn-c-workerNode-0-tgxygidykb6a-workerNode-uxyymyarleho"), false},
		"shortened, its own random part": {named(typeServer, "vn-c-workerNode-0-workerNode-r5eggooyg3w5"), false},
		"only servers are shortened":     {named(typePort, "vn-c-masterNode-1-r5eggooyg3w5-masterNode-uxyymyarleho"), false},
	} {
		require.Equal(t, tt.ours, a.recognise(tt.object) != "", name)
	}
}

// manualClock is a clock that a test sets.
type manualClock struct{ now time.Time }

func (c *manualClock) Now() time.Time { return c.now }

// TestAFailureIsSeenTwice: one that Heat takes back at once does not fail an operation; each is doubted on its own.
func TestAFailureIsSeenTwice(t *testing.T) {
	t.Parallel()
	clock := &manualClock{time.Now()}
	j := &job{session: &session{}, w: &lcm.Work{Op: &lcm.Operation{ID: "op"}, Clock: clock}}
	first := &stack{ID: "s", Status: "UPDATE_FAILED", Tags: []string{"i", "op", "token-1"}}
	require.Error(t, j.confirmed(first))
	clock.now = clock.now.Add(doubtPause / 2)
	require.Error(t, j.confirmed(first), "too early")
	again := &stack{ID: "s", Status: "UPDATE_FAILED", Tags: []string{"i", "op", "token-2"}}
	clock.now = clock.now.Add(doubtPause)
	require.Error(t, j.confirmed(again), "the failure of another update")
	require.NoError(t, j.confirmed(first))
	require.Error(t, j.confirmed(first), "the next operation doubts anew")
	clock.now = clock.now.Add(2 * doubtAge)
	require.Error(t, j.confirmed(again))
	require.Len(t, j.doubts.seen, 1, "what nobody asked about again is forgotten")
}
