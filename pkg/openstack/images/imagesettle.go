package images

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// FindGranted puts those of the package's images into the grant that the instance has already: with them nothing is
// uploaded, and its servers do not change because of it.
func (m *Store) FindGranted(ctx context.Context, nodes []Node) error {
	if len(nodes) == 0 {
		return nil
	}
	all, err := m.list(ctx)
	if err != nil {
		return err
	}
	granted := map[string]string{}
	for _, n := range nodes {
		if at := slices.IndexFunc(all, func(i cloud.Image) bool {
			return i.Status == cloud.ImageActive && i.HasTag(m.tagOf(n.Image))
		}); at >= 0 {
			granted[n.Name] = all[at].ID
		}
	}
	if m.Execution.Op.Grant == nil {
		m.Execution.Op.Grant = &lcm.Grant{}
	}
	maps.Copy(granted, m.Execution.Op.Grant.Images)
	m.Execution.Op.Grant.Images = granted
	return nil
}

// Prune deletes the images of the instance that neither its stacks nor a flavour (nil for none) have a use for. An
// image that cannot be deleted does not fail the operation: it is deleted with the instance.
func (m *Store) Prune(
	ctx context.Context, holds func(context.Context) ([]*userdata.Stack, error), f *vnfd.Flavour,
) error {
	return m.Execution.Step(ctx, "delete images", m.target("that are not used any more"),
		func(ctx context.Context, s *lcm.Step) error {
			stacks, err := holds(ctx)
			if err != nil {
				return err
			}
			var used []any
			for _, st := range stacks {
				asked, err := st.Asked()
				if err != nil {
					return err
				}
				used = append(used, asked)
			}
			all, err := m.list(ctx)
			if err != nil {
				return err
			}
			var gone, kept []string
			for _, i := range all {
				if mentions(used, i.ID) || m.ofFlavour(i, f) {
					continue
				}
				err := m.Delete(ctx, i.ID)
				switch {
				case cloud.Conflict(err):
					kept = append(kept, i.Name+" ("+i.ID+")")
				case err != nil:
					return err
				default:
					gone = append(gone, i.Name+" ("+i.ID+")")
				}
			}
			detail := "none"
			if len(gone) > 0 {
				detail = strings.Join(gone, ", ")
			}
			if len(kept) > 0 {
				detail += "; still in use, and deleted with the instance: " + strings.Join(kept, ", ")
			}
			s.Detail(detail)
			return nil
		})
}

// ofFlavour says whether an image is one that a flavour brings in its package.
func (m *Store) ofFlavour(i cloud.Image, f *vnfd.Flavour) bool {
	return f != nil && slices.ContainsFunc(Packaged(f), func(n Node) bool { return i.HasTag(m.tagOf(n.Image)) })
}

// mentions says whether a value has this text in it.
func mentions(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case map[string]any:
		for _, e := range v {
			if mentions(e, text) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, text) })
	}
	return false
}

// DeleteAll deletes the instance's images, as a durable step of the phase.
func (m *Store) DeleteAll(ctx context.Context) error {
	return m.Execution.Step(ctx, "delete images", m.target(m.Execution.Instance.ID), m.deleteAll)
}

// deleteAll deletes the instance's images and looks whether that is so.
func (m *Store) deleteAll(ctx context.Context, s *lcm.Step) error {
	left, err := m.list(ctx)
	if err != nil {
		return err
	}
	left = slices.DeleteFunc(
		left, func(i cloud.Image) bool { return i.Status == "deleted" || i.Status == "pending_delete" },
	)
	if len(left) == 0 {
		s.Detail("no image is left")
		return nil
	}
	var names []string
	for _, i := range left {
		names = append(names, i.Name)
		err := m.Delete(ctx, i.ID)
		if cloud.Conflict(err) { // a volume or server that Heat has just deleted may still hold it
			e := *lcm.AsError(err)
			e.Class = lcm.Transient
			return &e
		}
		if err != nil {
			return err
		}
	}
	return lcm.Wait(cloud.Pace(0), "deleting images "+strings.Join(names, ", "))
}

// Halt ends the uploads of the instance's images by this node, or waits for them. Those of other nodes end by
// themselves: they follow no operation.
func (m *Store) Halt(ctx context.Context, mode sol.CancelModeType) error {
	if !m.Uploads.any() {
		return nil
	}
	all, err := m.list(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		u := m.Uploads.get(i.ID)
		if u == nil {
			continue
		}
		if mode == sol.CancelModeForceful {
			m.Uploads.cancel(i.ID)
		} else if over, _ := u.result(); !over {
			return lcm.Wait(time.Second, fmt.Sprintf("image %s is still being uploaded, %s", i.Name, u.progress()))
		}
	}
	return nil
}
