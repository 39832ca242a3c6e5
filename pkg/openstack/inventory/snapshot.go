package inventory

import (
	"slices"

	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Snapshot is everything that was read from the VIM for one inventory.
type Snapshot struct {
	Stack       *cloud.Stack // nil when it does not exist
	Project     string
	NFV         map[string]any
	Tree        Tree
	Servers     map[string]cloud.Server
	Ports       map[string]cloud.Port
	FloatingIPs map[string]cloud.FloatingIP
	Volumes     map[string]cloud.Volume
}

// VolumeIDs lists the volumes of the stack, and those that Nova has attached or made on its own.
func (s *Snapshot) VolumeIDs() []string {
	ids := s.Tree.IDs(cloud.TypeVolume)
	for _, srv := range s.Servers {
		for _, v := range srv.Volumes {
			ids = append(ids, v.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
