package openstack

import (
	"context"
	"regexp"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Nova gives no server a flavour with a smaller disk, and Heat makes no volume smaller. A rollback to a package with less room fails there, and
// says so; the next attempt, which the user decides on knowing that, makes these servers and volumes anew.

// smaller is what they say to that.
var smaller = regexp.MustCompile(`(?i)flavor'?s disk is smaller than|shrinking volume`)

// toShrink says whether that is why an update failed.
func toShrink(ctx context.Context, err error) bool {
	if _, _, waiting := lcm.Waiting(ctx, err); waiting {
		return false
	}
	e := lcm.AsError(err)
	return e != nil && smaller.MatchString(e.Detail)
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
