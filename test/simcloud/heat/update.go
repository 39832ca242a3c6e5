package heat

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
)

// runUpdate brings a stack to a new template: new resources are made, changed ones changed or replaced, in the order of
// the new dependencies; then what is no longer wanted is deleted.
func (s *Service) runUpdate(ctx context.Context, st, next *Stack) error {
	s.world.Lock()
	st.tmpl, st.files, st.env, st.params, st.userParams = next.tmpl, next.files, next.env, next.params, next.userParams
	st.conditions, st.Description = nil, next.tmpl.Description
	defs, err := s.wanted(st)
	needs := make(map[string][]string, len(defs))
	for name, def := range defs {
		needs[name] = def.Requires()
		if err == nil && st.resources[name] == nil {
			st.resources[name], err = s.newResource(st, def)
		}
	}
	s.world.Unlock()
	if err != nil {
		return err
	}
	converge := func(ctx context.Context, name string) error { return s.converge(ctx, st, defs[name]) }
	if err := graph(ctx, needs, converge); err != nil {
		return err
	}
	s.world.Lock()
	victims := slices.Clone(st.replaced)
	for _, name := range sortedKeys(st.resources) {
		if defs[name] == nil {
			victims = append(victims, st.resources[name])
		}
	}
	s.world.Unlock()
	if err := s.runDelete(ctx, victims); err != nil {
		return err
	}
	s.world.Lock()
	defer s.world.Unlock()
	for _, r := range victims {
		if st.resources[r.Name] == r {
			delete(st.resources, r.Name)
		}
	}
	st.replaced = nil
	return nil
}

// converge brings one resource to its definition.
func (s *Service) converge(ctx context.Context, st *Stack, def *hot.Resource) error {
	s.world.Lock()
	r := st.resources[def.Name]
	k, typ, err := s.kindOf(st, def.Name, def.Type)
	if err != nil {
		s.world.Unlock()
		return err
	}
	if !isTemplate(typ) {
		typ = def.Type
	}
	fresh := r.Action == "INIT"
	if !fresh && isTemplate(r.Type) && isTemplate(typ) {
		r.Type = typ // Heat takes every nested template for the same type of resource
	}
	replace := !fresh && (r.Type != typ || k != r.kind && !k.nested || s.unhealthy(r))
	var p props
	var diff []string
	if !fresh && !replace {
		if p, err = s.resolve(st, def, false); err == nil && k.props != nil {
			err = s.checkValues(st.Caller, r, p)
		}
		diff = changed(r.props, p)
		immutable := func(name string) bool { return !k.props[name].mutable }
		replace = err == nil && !k.nested && slices.ContainsFunc(diff, immutable)
	}
	s.world.Unlock()
	switch {
	case err != nil:
		s.world.Lock()
		defer s.world.Unlock()
		return s.ended(ctx, r, "UPDATE", err)
	case fresh:
		s.locked(func() { r.def, r.requires = def, def.Requires() })
		return s.createResource(ctx, r)
	case replace:
		return s.replace(ctx, r, def)
	case len(diff) == 0 && !k.nested && r.Status == statusComplete:
		s.locked(func() { r.def, r.requires = def, def.Requires() })
		return nil
	case len(diff) == 0 && !k.nested:
		s.world.Lock()
		defer s.world.Unlock()
		r.def, r.requires = def, def.Requires()
		const reason = "Update status to COMPLETE for FAILED resource neither update nor replace."
		s.setResource(r, "UPDATE", statusComplete, reason)
		return nil
	}
	return s.act(ctx, r, "UPDATE", func(ctx context.Context) error {
		if err := s.takeTime(ctx, r, "update"); err != nil {
			return err
		}
		if k.update != nil {
			if err := k.update(ctx, job{s, st.Caller, r, p}, diff); err != nil {
				return err
			}
		}
		s.locked(func() { r.def, r.props, r.requires = def, p, def.Requires() })
		return nil
	})
}

// unhealthy resources are replaced: those marked so, and those that have failed and are not well in their service.
func (s *Service) unhealthy(r *Resource) bool {
	switch {
	case r.Action == "DELETE":
		return true
	case r.Status == statusComplete:
		return false
	case r.Action == "CHECK":
		return true
	case r.kind.nested:
		return r.nested == nil
	case r.ID == "" || r.kind.well == nil:
		return true
	}
	return !r.kind.well(r)
}

// replace makes a new resource of the same name; the old one is deleted at the end of the update.
func (s *Service) replace(ctx context.Context, old *Resource, def *hot.Resource) error {
	st := old.stack
	if old.kind.beforeReplace != nil {
		old.kind.beforeReplace(ctx, job{s, st.Caller, old, old.props})
	}
	s.world.Lock()
	r, err := s.newResource(st, def)
	if err == nil {
		st.resources[def.Name] = r
		st.replaced = append(st.replaced, old)
	}
	s.world.Unlock()
	if err != nil {
		return asFailure(err).at(st, def.Name)
	}
	return s.createResource(ctx, r)
}
