package cloud

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
)

// cinderAPI are the requests to Cinder.
type cinderAPI struct{ *session }

// Volume is a volume of Cinder.
type Volume struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Status      string       `json:"status"`
	Size        int          `json:"size"` // GiB
	Created     string       `json:"created_at"`
	Attachments []Attachment `json:"attachments"`
	Image       struct {
		ID string `json:"image_id"`
	} `json:"volume_image_metadata"`
	Metadata map[string]string `json:"metadata"`
}

// Attachment is where a volume is attached.
type Attachment struct {
	Server string `json:"server_id"`
	Device string `json:"device"`
}

// On returns the attachment to a server.
func (v Volume) On(server string) (Attachment, bool) {
	at := slices.IndexFunc(v.Attachments, func(a Attachment) bool { return a.Server == server })
	if at < 0 {
		return Attachment{}, false
	}
	return v.Attachments[at], true
}

// ReadVolumes reads volumes by id. Cinder has no filter for several ids, so those that are younger than the stack are
// listed. The result is nil for a VIM without Cinder.
func (c cinderAPI) ReadVolumes(ctx context.Context, ids []string, began time.Time) (map[string]Volume, error) {
	if len(ids) == 0 || c.services[Cinder] == "" {
		return nil, nil
	}

	found := map[string]Volume{}
	if len(ids) > 1 {
		q := url.Values{}
		if !began.IsZero() && !less(c.microversion(ctx, Cinder), microversion{3, 60}) {
			q.Set("created_at", "gte:"+changedSince(began))
		}
		list := List{Service: Cinder, Path: "/volumes/detail", Member: "volumes", Query: q, Pages: maxPages}
		err := EachPage(ctx, c, list, func(v Volume) (string, bool) {
			if slices.Contains(ids, v.ID) {
				found[v.ID] = v
			}
			return v.ID, len(found) < len(ids)
		})
		if err != nil {
			return nil, err
		}
	}

	err := readMissing(ctx, ids, found, func(ctx context.Context, id string) (v Volume, err error) {
		err = c.typed(ctx, "read volume "+id, Cinder, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			return volumes.Get(ctx, sc, segment(id)).ExtractInto(&v)
		})
		return v, err
	})
	return found, err
}

// ListVolumeTypes lists the types that volumes can have.
func (c cinderAPI) ListVolumeTypes(ctx context.Context) ([]Named, error) {
	var out struct {
		Types []Named `json:"volume_types"`
	}
	err := c.Do(
		ctx, Call{What: "list volume types", Service: Cinder, Method: http.MethodGet, Path: "/types", Out: &out},
	)
	return out.Types, err
}

// VolumeLimits returns the project's limits of volumes and of their space in GiB.
func (c cinderAPI) VolumeLimits(ctx context.Context) (number, gigabytes Quota, err error) {
	var out struct { // Extract of gophercloud returns nil for an answer without limits
		Limits limits.Limits `json:"limits"`
	}
	err = c.typed(ctx, "read the limits of volumes", Cinder,
		func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			return limits.Get(ctx, sc).ExtractInto(&out)
		})
	l := out.Limits.Absolute
	return Quota{l.MaxTotalVolumes, l.TotalVolumesUsed}, Quota{l.MaxTotalVolumeGigabytes, l.TotalGigabytesUsed}, err
}
