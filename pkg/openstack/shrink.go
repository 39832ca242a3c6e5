package openstack

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/inventory"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// Nova gives no server a flavour with a smaller disk, and Heat makes no volume smaller. A server that gets another
// image loses what is on its disk in any case, so that a rollback recreates it. For others, and for volumes, the
// rollback fails there and says so; the next attempt, which the user decides on knowing that, recreates them too.

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

// recreateMode is the mode in which a unit is taken back whose update has failed because something would become
// smaller; "" when the user has to decide.
func (r *rollout) recreateMode(u unit, way, what string) string {
	switch {
	case what == "":
		return ""
	case way == modeAnnounced:
		return modeRecreate
	case way == modeRollback && what == "disk" && imageIn(r.old.NFV, u.Name) != imageIn(r.next.NFV, u.Name):
		return modeRecreateDisk
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

// recreated finds the resources that could not shrink, and deletes the servers among them: their ports and volumes have
// to be free for those that take their place.
func (t *tick) recreated(ctx context.Context) ([]replacement, error) {
	st, err := t.stack.Present(ctx)
	if err != nil {
		return nil, err
	}
	all, err := t.cloud.ListResources(ctx, st)
	if err != nil {
		return nil, err
	}
	tree := inventory.NewTree(st, all)
	var out []replacement
	for _, r := range all {
		// What a predecessor has marked for the next update has the operation in its reason.
		stuck := strings.HasSuffix(r.Status, "_FAILED") && (smaller.MatchString(r.Reason) || strings.Contains(
			r.Reason, t.w.Op.ID,
		))
		if !stuck || r.Type != cloud.TypeServer && r.Type != cloud.TypeVolume {
			continue
		}
		p := replacement{vnfc: r.Name + " " + r.PhysicalID, server: r.PhysicalID}
		if r.Type == cloud.TypeVolume {
			p.server, p.volumes = "", []string{r.PhysicalID}
			for _, o := range tree.In[r.Owner().ID] {
				if o.Type == cloud.TypeServer {
					p.server = o.PhysicalID
				}
			}
		}
		if p.server != "" {
			if err := t.servers.Delete(ctx, p.vnfc, p.server); err != nil {
				return nil, err
			}
		}
		out = append(out, p)
	}
	return out, nil
}
