package cloud

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
)

// The metadata by which resources of snapshots show whose they are. Glance has them as properties. Nova gives an image
// the properties of the image that its server was created from, so only the name tells whether they are its own.
const (
	MarkSnapshot = "gybe_snapshot"
	MarkInstance = "gybe_vnf_instance"
)

// ServerImage is an image that Nova makes of a server.
type ServerImage struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	Created  string `json:"created_at"`
	Snapshot string `json:"gybe_snapshot"`
	Instance string `json:"gybe_vnf_instance"`
}

// CreateServerImage asks Nova to make an image of a server that boots from an image.
func (c novaAPI) CreateServerImage(ctx context.Context, server, name string, marks map[string]string) error {
	opts := servers.CreateImageOpts{Name: name, Metadata: marks}
	return c.typed(ctx, "createImage of server "+server, Nova,
		func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			return servers.CreateImage(ctx, sc, segment(server), opts).Err
		})
}

// ListServerImages lists the images of servers whose mark has a value, the oldest first.
func (c glanceAPI) ListServerImages(ctx context.Context, mark, value string) ([]ServerImage, error) {
	var all []ServerImage
	list := List{
		What: "list images of servers", Service: Glance, Path: "/images", Member: "images",
		Query: url.Values{mark: {value}}, Pages: SurveyPages,
	}
	err := EachPage(ctx, c, list, func(i ServerImage) (string, bool) {
		if value == map[string]string{MarkSnapshot: i.Snapshot, MarkInstance: i.Instance}[mark] {
			all = append(all, i)
		}
		return i.ID, true
	})
	slices.SortFunc(all, func(a, b ServerImage) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// CopyVolume makes a volume with the content of another one, which may be in use.
func (c cinderAPI) CopyVolume(ctx context.Context, source, name string, marks map[string]string) error {
	opts := volumes.CreateOpts{Name: name, SourceVolID: source, Metadata: marks}
	return c.typed(ctx, "copy volume "+source, Cinder, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return volumes.Create(ctx, sc, opts, nil).Err
	})
}

// ListVolumes lists volumes that a query selects, the oldest first.
func (c cinderAPI) ListVolumes(ctx context.Context, q url.Values) (all []Volume, err error) {
	if c.services[Cinder] == "" {
		return nil, nil
	}
	list := List{Service: Cinder, Path: "/volumes/detail", Member: "volumes", Query: q, Pages: SurveyPages}
	err = EachPage(ctx, c, list, func(v Volume) (string, bool) {
		all = append(all, v)
		return v.ID, true
	})
	slices.SortFunc(all, func(a, b Volume) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// DeleteVolume starts the deletion of a volume. One that is gone is not an error.
func (c cinderAPI) DeleteVolume(ctx context.Context, id string) error {
	err := c.Do(ctx, Call{
		What: "delete volume " + id, Service: Cinder, Method: http.MethodDelete, Path: "/volumes/" + segment(id),
	})
	if NotFound(err) {
		return nil
	}
	return err
}
