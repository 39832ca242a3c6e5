package snapshot

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/stack"
)

// resource is a resource of a snapshot that exists.
type resource struct {
	lcm.SnapshotResource
	status string
	// image says that it is an image, else it is a volume.
	image bool
	// used says that a server has the volume.
	used bool
}

// prefix is what the names of a snapshot's resources begin with. Those of an instance begin with the name of its stack,
// by which leftovers are recognised.
func prefix(instanceID, snapshotID string) string {
	return stack.Name(instanceID) + "-snapshot-" + snapshotID + "-"
}

func marks(instanceID, snapshotID string) map[string]string {
	return map[string]string{cloud.MarkSnapshot: snapshotID, cloud.MarkInstance: instanceID}
}

// find lists the resources that a snapshot has in the VIM: those that carry its id, and have a name of it.
func find(ctx context.Context, c *cloud.Client, instanceID, snapshotID string) ([]resource, error) {
	images, err := c.ListServerImages(ctx, cloud.MarkSnapshot, snapshotID)
	if err != nil {
		return nil, err
	}
	// Cinder reads this as an object of Python; JSON with texts only is one.
	filter, err := json.Marshal(map[string]string{cloud.MarkSnapshot: snapshotID})
	if err != nil {
		return nil, err
	}
	volumes, err := c.ListVolumes(ctx, url.Values{"metadata": {string(filter)}})
	if err != nil {
		return nil, err
	}
	var out []resource
	add := func(r resource, mark string) {
		if mark == snapshotID && strings.HasPrefix(r.Name, prefix(instanceID, snapshotID)) {
			out = append(out, r)
		}
	}
	for _, i := range images {
		if i.Status != "deleted" && i.Status != "pending_delete" {
			add(resource{
				SnapshotResource: lcm.SnapshotResource{Type: cloud.TypeImage, ID: i.ID, Name: i.Name},
				status:           i.Status, image: true,
			}, i.Snapshot)
		}
	}
	for _, v := range volumes {
		add(resource{
			SnapshotResource: lcm.SnapshotResource{Type: cloud.TypeVolume, ID: v.ID, Name: v.Name},
			status:           v.Status, used: len(v.Attachments) > 0,
		}, v.Metadata[cloud.MarkSnapshot])
	}
	return out, nil
}

// named returns the oldest resource with a name.
func named(all []resource, name string) (resource, bool) {
	at := slices.IndexFunc(all, func(r resource) bool { return r.Name == name })
	if at < 0 {
		return resource{}, false
	}
	return all[at], true
}
