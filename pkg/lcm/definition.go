package lcm

import (
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// DefinitionID is the id that the grant request of an operation gives the machine of a new VNFC. Other new resources of
// the VNFC have it as a prefix (DefinitionOf), links of the VNF have their names in the VNFD, and resources that exist
// their ids in the VIM. So the ids are the same at every attempt.
func DefinitionID(vdu string, index int) string { return fmt.Sprintf("%s-%d", vdu, index) }

// DefinitionOf is the id of a new storage or port of a VNFC, by the definition id of its machine.
func DefinitionOf(machine, template string) string { return machine + "/" + template }

// nameDefinitions adds to the resources that an operation has added or removed the ids of their definitions in the
// grant request. Without an NFVO there is none.
func (w *Execution) nameDefinitions() {
	c := w.Op.ResourceChanges
	if c == nil || w.Op.GrantHref == "" {
		return
	}
	machines := map[string]string{} // by the ids of the resources of their VNFCs
	for _, r := range w.Instance.Inventory {
		if r.VNFC != "" {
			machines[r.ID] = DefinitionID(r.VDU, r.Index)
		}
	}
	id := func(change sol.ChangeType, resource, added string) string {
		if change == sol.ChangeTypeAdded {
			return added
		}
		return resource
	}
	for n := range c.AffectedVnfcs {
		v := &c.AffectedVnfcs[n]
		v.ResourceDefinitionID = id(v.ChangeType, v.ComputeResource.ResourceID, machines[v.ComputeResource.ResourceID])
	}
	for n := range c.AffectedVirtualStorages {
		s := &c.AffectedVirtualStorages[n]
		added := ""
		if machine := machines[s.StorageResource.ResourceID]; machine != "" {
			added = DefinitionOf(machine, s.VirtualStorageDescID)
		}
		s.ResourceDefinitionID = id(s.ChangeType, s.StorageResource.ResourceID, added)
	}
	for n := range c.AffectedVirtualLinks {
		l := &c.AffectedVirtualLinks[n]
		if l.ChangeType == sol.ChangeTypeAdded || l.ChangeType == sol.ChangeTypeRemoved {
			l.ResourceDefinitionID = id(l.ChangeType, l.NetworkResource.ResourceID, l.VnfVirtualLinkDescID)
		}
	}
}
