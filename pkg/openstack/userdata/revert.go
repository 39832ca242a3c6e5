package userdata

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/openstack/hot"
)

// LeafSnapshot is the leaf below nfv.VDU.<vdu>-<index> by which a stack remembers that a VNFC was reverted to a VNF
// snapshot: the id of the snapshot, the image and the copies of volumes that its disks are made from. No template asks
// for it; the properties of the server and of the volumes follow from it.
const LeafSnapshot = "snapshot"

// Disks are what the disks of a VNFC are made from. An empty image leaves that of the template.
type Disks struct {
	Image string
	// Volumes are the sources of volumes, by the names that these have in the template.
	Volumes map[string]string
}

// Revert copies nfv and notes in it what the disks of VNFCs come from. The keys are names below nfv.VDU.
func Revert(nfv map[string]any, snapshot string, disks map[string]Disks) map[string]any {
	out := copied(nfv)
	for key, d := range disks {
		leaf := map[string]any{"id": snapshot}
		if d.Image != "" {
			leaf["image"] = d.Image
		}
		if len(d.Volumes) > 0 {
			volumes := map[string]any{}
			for name, id := range d.Volumes {
				volumes[name] = id
			}
			leaf["volumes"] = volumes
		}
		put(out, []string{"VDU", key, LeafSnapshot}, leaf)
	}
	return out
}

// Unrevert copies nfv without what the disks of VNFCs were reverted to. The keys are names below nfv.VDU.
func Unrevert(nfv map[string]any, keys map[string]bool) map[string]any {
	out := copied(nfv)
	for _, e := range entries(out, "VDU") {
		if keys[e.name] {
			delete(e.leaves, LeafSnapshot)
		}
	}
	return out
}

// Reverted lists the names below nfv.VDU whose disks come from a snapshot.
func Reverted(nfv map[string]any, snapshot string) []string {
	var out []string
	for _, e := range entries(nfv, "VDU") {
		if leaf, ok := e.leaves[LeafSnapshot].(map[string]any); ok && leaf["id"] == snapshot {
			out = append(out, e.name)
		}
	}
	return out
}

// reverted gives the servers and volumes of VNFCs the sources that nfv remembers. It returns the nested templates.
func reverted(in Input, t *hot.Template, nfv map[string]any, files map[string]string) (map[string]string, error) {
	if in.Class != Standard {
		return files, nil
	}
	for _, e := range entries(nfv, "VDU") {
		leaf, ok := e.leaves[LeafSnapshot].(map[string]any)
		vdu, index := vnfc(in.Flavour, e.name)
		if !ok || index < 0 || index >= in.Counts[vdu] {
			continue
		}
		d := hot.Disks{Volumes: map[string]string{}}
		d.Image, _ = leaf["image"].(string)
		volumes, _ := leaf["volumes"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(volumes)) {
			d.Volumes[name], _ = volumes[name].(string)
		}
		var err error
		if files, err = t.Revert(files, e.name, vdu, d); err != nil {
			return nil, &hot.Error{
				File: in.HOT.Path, Problem: fmt.Sprintf("%s cannot get its disks back: %s", e.name, err),
			}
		}
	}
	return files, nil
}
