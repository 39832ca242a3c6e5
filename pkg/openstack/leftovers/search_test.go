package leftovers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// TestWhoseItIs: names decide what may be deleted, so a resource with one letter more or less is not ours.
func TestWhoseItIs(t *testing.T) {
	t.Parallel()
	const id = "8105059f-7bea-4aca-b397-4549246c3a4c"
	named := func(typ, name string, tags ...string) object {
		return object{Leftover: lcm.Leftover{Type: typ, ID: name, Name: name}, tags: tags}
	}
	nested := named(cloud.TypeStack, "vnf-"+id+"-masterNode-1-r5eggooyg3w5")
	nested.nested = true
	a := &findings{instance: &lcm.Instance{ID: id}, objects: []object{
		nested, named(cloud.TypePort, "vnf-"+id+"-workerNode-0-qyza2tzunl4x-workerNode_CP1-75ukqtix2726"),
		named(cloud.TypePort, "x-tgxygidykb6a-y"),
	}}
	for name, tt := range map[string]struct {
		object object
		ours   bool
	}{
		"prefix":            {named(cloud.TypePort, "vnf-"+id+"-port"), true},
		"the very name":     {named(cloud.TypePort, "vnf-"+id), true},
		"one letter more":   {named(cloud.TypePort, "vnf-"+id+"0-port"), false},
		"in the middle":     {named(cloud.TypePort, "of vnf-"+id+"-port"), false},
		"no name":           {named(cloud.TypePort, ""), false},
		"tag":               {named(cloud.TypeImage, "any", "other", id), true},
		"part of a tag":     {named(cloud.TypeImage, "any", id+"-2"), false},
		"stack without tag": {named(cloud.TypeStack, "vnf-"+id), false},
		"stack with tag":    {named(cloud.TypeStack, "vnf-"+id, id, "op"), true},
		"orphan of a stack": {nested, true},
		"shortened, stack is known": {
			named(cloud.TypeServer, "vn-c-masterNode-1-r5eggooyg3w5-masterNode-uxyymyarleho"), true,
		},
		"shortened, port is known": {
			named(cloud.TypeServer, "vn-c-workerNode-0-qyza2tzunl4x-workerNode-uxyymyarleho"), true,
		},
		"shortened, another stack": {
			named(cloud.TypeServer, "vn-c-workerNode-0-aaaaaaaaaaaa-workerNode-uxyymyarleho"), false,
		},
		"shortened, of somebody's port": {
			named(cloud.TypeServer, "vn-c-workerNode-0-tgxygidykb6a-workerNode-uxyymyarleho"), false,
		},
		"shortened, its own random part": {named(cloud.TypeServer, "vn-c-workerNode-0-workerNode-r5eggooyg3w5"), false},
		"only servers are shortened": {
			named(cloud.TypePort, "vn-c-masterNode-1-r5eggooyg3w5-masterNode-uxyymyarleho"), false,
		},
	} {
		require.Equal(t, tt.ours, a.recognise(tt.object) != "", name)
	}
}
