package snapshot

import (
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Source is a resource of a VNFC of which a snapshot is taken.
type Source struct {
	// VNFC is its vnfcInfo id, and ID that of the resource in the VIM.
	VNFC, ID string
	// Name is that of the image or copy.
	Name string
	// Image says that the resource is a server of which an image is made; else it is a volume of which a copy is made.
	Image bool
	// Storage is the name of the volume in the template, and Size its size in GiB.
	Storage string
	Size    int
}

// Sources lists the resources of VNFCs of which a snapshot is taken: servers that boot from an image, and all volumes.
func Sources(i *lcm.Instance, snapshotID string, vnfcs []string) []Source {
	var out []Source
	for _, id := range vnfcs {
		index, _ := i.ComputeIndex(id)
		for _, r := range i.Inventory {
			if r.VNFC != id {
				continue
			}
			name := prefix(i.ID, snapshotID) + lcm.VNFCSnapshotID(r.VDU, index)
			switch {
			case r.Type == cloud.TypeServer && r.Image != "":
				out = append(out, Source{VNFC: id, ID: r.ID, Name: name, Image: true})
			case r.Type == cloud.TypeVolume:
				out = append(out, Source{VNFC: id, ID: r.ID, Name: name + "-" + r.Name, Storage: r.Name, Size: r.Size})
			}
		}
	}
	return out
}
