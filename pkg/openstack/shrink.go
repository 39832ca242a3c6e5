package openstack

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// Nova gives no server a flavour with a smaller disk, and Heat makes no volume smaller. A server that gets another image loses what is on its disk in
// any case, so that a rollback makes it anew. For others, and for volumes, the rollback fails there and says so; the next attempt, which the user decides
// on knowing that, makes them anew too.

// smaller is what they say to that.
var smaller = regexp.MustCompile(`(?i)flavor'?s disk is smaller than|(shrinking volume)`)

// shrinking says what could not be made smaller when that is why an update failed: "disk" or "volume".
func shrinking(ctx context.Context, err error) string {
	if _, _, waiting := lcm.Waiting(ctx, err); waiting || err == nil {
		return ""
	}
	m := smaller.FindAllStringSubmatch(lcm.AsError(err).Detail, -1)
	switch {
	case len(m) == 0:
		return ""
	case slices.ContainsFunc(m, func(m []string) bool { return m[1] != "" }):
		return "volume"
	}
	return "disk"
}

// anew is the way in which a unit is taken back whose update has failed because something would become smaller; "" when the user has to decide.
func (r *rollout) anew(u unit, way, what string) string {
	switch {
	case what == "":
		return ""
	case way == wayTold:
		return wayAnew
	case way == wayBack && what == "disk" && imageIn(r.old.NFV, u.name) != imageIn(r.next.NFV, u.name):
		return wayDisk
	}
	return ""
}

// imageIn is the image that nfv has for the servers of a unit.
func imageIn(nfv map[string]any, name string) string {
	vdus, _ := nfv["VDU"].(map[string]any)
	leaves, _ := vdus[name].(map[string]any)
	image, _ := userdata.ValueOf(leaves, userdata.LeafImage)
	return image
}

// madeAnew finds what could not be made smaller, and deletes the servers among it: their ports and volumes have to be free for those that take
// their place.
func (j *job) madeAnew(ctx context.Context) ([]patient, error) {
	st, err := j.presentStack(ctx)
	if err != nil {
		return nil, err
	}
	all, err := j.listResources(ctx, st)
	if err != nil {
		return nil, err
	}
	t := newTree(st, all)
	var out []patient
	for _, r := range all {
		// What a predecessor has marked for the next update has the operation in its reason.
		stuck := strings.HasSuffix(r.Status, "_FAILED") && (smaller.MatchString(r.Reason) || strings.Contains(r.Reason, j.w.Op.ID))
		if !stuck || r.Type != typeServer && r.Type != typeVolume {
			continue
		}
		p := patient{vnfc: r.Name + " " + r.PhysicalID, server: r.PhysicalID}
		if r.Type == typeVolume {
			p.server, p.volumes = "", []string{r.PhysicalID}
			for _, o := range t.in[r.owner().ID] {
				if o.Type == typeServer {
					p.server = o.PhysicalID
				}
			}
		}
		if p.server != "" {
			if err := j.serverDeleted(ctx, p); err != nil {
				return nil, err
			}
		}
		out = append(out, p)
	}
	return out, nil
}
