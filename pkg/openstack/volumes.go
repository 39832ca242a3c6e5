package openstack

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// volume is what Cinder says about a volume.
type volume struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Status      string       `json:"status"`
	Size        int          `json:"size"` // GiB
	Created     string       `json:"created_at"`
	Attachments []attachment `json:"attachments"`
	Image       struct {
		ID string `json:"image_id"`
	} `json:"volume_image_metadata"`
	Metadata map[string]string `json:"metadata"`
}

// attachment is where a volume is attached.
type attachment struct {
	Server string `json:"server_id"`
	Device string `json:"device"`
}

// on returns the attachment to a server.
func (v volume) on(server string) (attachment, bool) {
	at := slices.IndexFunc(v.Attachments, func(a attachment) bool { return a.Server == server })
	if at < 0 {
		return attachment{}, false
	}
	return v.Attachments[at], true
}

// readVolumes reads volumes by id. Cinder has no filter for several ids, so those that are younger than the stack are listed. A VIM without
// Cinder tells nothing about volumes.
func (j *job) readVolumes(ctx context.Context, ids []string, began time.Time) (map[string]volume, error) {
	if len(ids) == 0 || j.services[cinder] == "" {
		return nil, nil
	}
	found := map[string]volume{}
	if len(ids) > 1 {
		q := url.Values{}
		if !began.IsZero() && !less(j.microversion(ctx, cinder), microversion{3, 60}) {
			q.Set("created_at", "gte:"+since(began))
		}
		err := eachPage(ctx, j.session, cinder, "volumes", "/volumes/detail", q, maxPages, func(v volume) (string, bool) {
			if slices.Contains(ids, v.ID) {
				found[v.ID] = v
			}
			return v.ID, len(found) < len(ids)
		})
		if err != nil {
			return nil, err
		}
	}
	err := readMissing(ctx, ids, found, func(ctx context.Context, id string) (volume, error) {
		var out struct {
			Volume volume `json:"volume"`
		}
		err := j.do(ctx, call{what: "read volume " + id, service: cinder, method: http.MethodGet, path: "/volumes/" + segment(id), out: &out})
		return out.Volume, err
	})
	return found, err
}
