package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// gather reads what decisions on a task need besides the instance, so that nothing has to be waited for while the
// instance is locked.
func (s *Service) gather(ctx context.Context, i *lcm.Instance, t lcm.Task) (lcm.Admission, error) {
	a := lcm.Admission{Task: t, Infras: s.Infras}
	var err error
	if a.Present, err = s.revision(ctx, i.VnfPkgID); err != nil {
		return a, err
	}
	if t.VnfdID != "" || t.VnfPkgID != "" {
		if a.Next, a.NextPkgID, err = s.newRevision(ctx, t); err != nil {
			return a, err
		}
	}
	if t.SnapshotID != "" {
		if a.Snapshot, err = s.Store.Snapshot(ctx, t.SnapshotID); err != nil {
			if e := lcm.AsError(err); e.Code == lcm.CodeNotFound {
				err = lcm.Unprocessable(lcm.InvalidParam{Pointer: "/vnfSnapshotInfoId", Detail: e.Detail})
			}
			return a, err
		}
	}
	if t.NeedsUnused {
		if err := s.requireUnused(ctx, i); err != nil {
			return a, err
		}
	}
	if len(t.Connections) > 0 || t.Kind.Instantiates() {
		a.Connections, err = s.connections(ctx, i.ID, t.Connections)
	}
	return a, err
}

func (s *Service) revision(ctx context.Context, pkgID string) (lcm.Revision, error) {
	model, err := s.Packages.ModelOf(ctx, pkgID)
	if err != nil {
		return lcm.Revision{}, err
	}
	files, err := s.Packages.Files(ctx, pkgID)
	return lcm.Revision{VNFD: model, Package: files}, err
}

// newRevision finds the package that a task names; it has to be enabled.
func (s *Service) newRevision(ctx context.Context, t lcm.Task) (*lcm.Revision, string, error) {
	vnfdID, at := t.VnfdID, "/vnfdId"
	if vnfdID == "" {
		at = "/vnfPkgId"
		var err error
		if vnfdID, err = s.Packages.VnfdID(ctx, s.principal, t.VnfPkgID); err != nil {
			return nil, "", lcm.PointAt(err, at)
		}
	}
	_, pkgID, err := s.model(ctx, vnfdID)
	if err != nil {
		return nil, "", lcm.PointAt(err, at)
	}
	if t.VnfPkgID != "" && t.VnfPkgID != pkgID {
		return nil, "", lcm.Unprocessable(
			lcm.InvalidParam{Pointer: "/vnfPkgId", Detail: fmt.Sprintf("is not the package of the vnfdId %q", vnfdID)},
		)
	}
	o, err := s.revision(ctx, pkgID)
	return &o, pkgID, err
}

// connections completes the VIM connections of a request for an instance from the registry: an entry that only names a
// registered vimId, or as vimId the instance that has made a cluster, and the default VIM when none is given.
func (s *Service) connections(
	ctx context.Context, instance string, given map[string]sol.VimConnectionInfo,
) (map[string]sol.VimConnectionInfo, error) {
	if len(given) == 0 {
		return s.defaultConnection(ctx, instance)
	}
	out := maps.Clone(given)
	for k, c := range given {
		if c.VimID == "" || len(c.AccessInfo) > 0 && len(c.InterfaceInfo) > 0 {
			continue
		}
		v, err := s.vim(ctx, c.VimID)
		if err != nil {
			return nil, lcm.PointAt(err, "/vimConnectionInfo/"+lcm.Escape(k)+"/vimId")
		}
		out[k] = lcm.Typed(v.Used(instance), c.VimType)
	}
	return out, nil
}

// vim finds a registered VIM by its id, or by the id of the instance that has made it.
func (s *Service) vim(ctx context.Context, id string) (*lcm.Vim, error) {
	v, err := s.Store.Vim(ctx, id)
	if err == nil || lcm.AsError(err).Code != lcm.CodeNotFound {
		return v, err
	}
	owner, missing := s.Store.Instance(ctx, id)
	switch {
	case missing != nil && lcm.AsError(missing).Code == lcm.CodeNotFound:
		e := *lcm.AsError(err)
		return nil, e.WithHint(
			"give the id of a registered VIM (gybe vim list), or that of the VNF instance that has made the cluster")
	case missing != nil:
		return nil, missing
	}
	vims, err := s.Store.Vims(ctx)
	if err != nil {
		return nil, err
	}
	for n := range vims {
		if vims[n].Owner == owner.ID {
			return &vims[n], nil
		}
	}
	return nil, lcm.Errorf(lcm.CodeUnprocessable, "VNF instance %s has no cluster that is registered as a VIM", id).
		WithHint("instantiate it first, and wait until the cluster is registered; gybe vim list shows it")
}

// defaultConnection is the connection to the default VIM; nil when there is none.
func (s *Service) defaultConnection(
	ctx context.Context, instance string,
) (map[string]sol.VimConnectionInfo, error) {
	vims, err := s.Store.Vims(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range vims {
		if v.Default {
			return map[string]sol.VimConnectionInfo{"default": v.Used(instance)}, nil
		}
	}
	return nil, nil
}

// mergeConnections puts a request's VIM connections over those of the instance (RFC 7396). A connection of the registry
// replaces the whole one of the same key.
func mergeConnections(have, given map[string]sol.VimConnectionInfo) (map[string]sol.VimConnectionInfo, error) {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]sol.VimConnectionInfo{}
	}
	for key, c := range given {
		old, ok := have[key]
		c.VimType = cmp.Or(c.VimType, old.VimType) // a merge patch names only what changes
		if c.VimType == "" {
			return nil, lcm.Unprocessable(lcm.InvalidParam{
				Pointer: "/vimConnectionInfo/" + lcm.Escape(key) + "/vimType", Detail: "is needed for a new connection",
			})
		}
		if !ok || c.VimID != "" {
			out[key] = c
			continue
		}
		merged, err := mergeTyped(old, c)
		if err != nil {
			return nil, err
		}
		if len(c.InterfaceInfo)+len(c.AccessInfo) > 0 { // not those of the registry any more
			delete(merged.Extra, lcm.ExtraCluster)
		}
		out[key] = merged
	}
	return out, nil
}

// mergeTyped applies a merge patch to a value of any type that is an object in JSON.
func mergeTyped[T any](target, patch T) (out T, err error) {
	var objects [2]any
	for n, v := range []T{target, patch} {
		raw, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(raw, &objects[n])
		}
		if err != nil {
			return out, fmt.Errorf("merge %T: %w", v, err)
		}
	}
	raw, err := json.Marshal(lcm.MergePatch(objects[0], objects[1]))
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}
