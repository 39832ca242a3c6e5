package heat

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// createNested makes the stack behind a resource and waits for it.
func (s *Service) createNested(ctx context.Context, r *Resource, tmpl *hot.Template, params map[string]any) error {
	s.world.Lock()
	if runOf(ctx).cancelled.Load() {
		s.world.Unlock()
		return errCancelled
	}
	now, parent := s.world.Now(), r.stack
	child := &Stack{
		ID: sim.NewID(), Name: parent.Name + "-" + r.Name + "-" + sim.ShortID(), Caller: parent.Caller, Created: now,
		TimeoutMins: parent.TimeoutMins, Description: tmpl.Description, disableRollback: true, parent: r, tmpl: tmpl,
		files: parent.files, env: environment{defaults: parent.env.defaults, registry: parent.env.registry},
		userParams: params,
	}
	err := s.ready(child)
	if err == nil {
		err = s.populate(child)
	}
	if err == nil {
		s.Stacks.Add(child.ID, child)
		r.nested, r.ID = child, child.ID
		s.setStack(child, "CREATE", statusProgress, "Stack CREATE started")
	}
	s.world.Unlock()
	if err != nil {
		return err
	}
	err = s.runCreate(ctx, child)
	s.finishNested(ctx, child, "CREATE", err)
	return err
}

// finishNested sets the end state of a nested stack, unless the action that it is part of has no say any more.
func (s *Service) finishNested(ctx context.Context, child *Stack, action string, err error) {
	s.engine.gate()
	s.world.Lock()
	defer s.world.Unlock()
	if runOf(ctx).cancelled.Load() || errors.Is(err, errKilled) || errors.Is(err, errPreempted) && ctx.Err() == nil {
		return
	}
	s.finish(child, action, err)
}

// ready gives a nested stack its parameters and checks its values.
func (s *Service) ready(child *Stack) (err error) {
	if child.params, err = s.parameters(child, true); err != nil {
		return err
	}
	return s.validate(child, depthOf(child), true)
}

func depthOf(st *Stack) int {
	n := 0
	for st.parent != nil {
		st = st.parent.stack
		n++
	}
	return n
}

// updateNested brings the stack behind a resource to a template and parameters.
func (s *Service) updateNested(ctx context.Context, r *Resource, tmpl *hot.Template, params map[string]any) error {
	s.world.Lock()
	child, parent := r.nested, r.stack
	if child == nil {
		s.world.Unlock()
		return s.createNested(ctx, r, tmpl, params)
	}
	if runOf(ctx).cancelled.Load() {
		s.world.Unlock()
		return errCancelled
	}
	next := &Stack{
		ID: child.ID, Name: child.Name, Caller: child.Caller, parent: child.parent, tmpl: tmpl, files: parent.files,
		env: environment{defaults: parent.env.defaults, registry: parent.env.registry}, userParams: params,
	}
	err := s.ready(next)
	own := child.running
	if err == nil {
		s.setStack(child, "UPDATE", statusProgress, "Stack UPDATE started")
	}
	s.world.Unlock()
	if err != nil {
		return err
	}
	if own != nil { // something was asked of the nested stack itself
		own.supersede(false)
		if err := own.wait(ctx); err != nil {
			return err
		}
	}
	err = s.runUpdate(ctx, child, next)
	s.finishNested(ctx, child, "UPDATE", err)
	return err
}

func (s *Service) removeNested(ctx context.Context, j job) error {
	s.world.Lock()
	child := j.r.nested
	if child == nil || s.Stacks.Get(child.ID) == nil {
		s.world.Unlock()
		return nil
	}
	if runOf(ctx).cancelled.Load() {
		s.world.Unlock()
		return errCancelled
	}
	own := child.running
	s.setStack(child, "DELETE", statusProgress, "Stack DELETE started")
	s.world.Unlock()
	if own != nil {
		own.supersede(true)
		<-own.done
	}
	err := s.runDelete(ctx, s.all(child))
	s.finishNested(ctx, child, "DELETE", err)
	if err == nil {
		s.locked(func() { s.forget(child) })
	}
	return err
}

// templateKind is a resource whose type is a template file.
func (s *Service) templateKind() *kind {
	return &kind{
		nested: true,
		create: func(ctx context.Context, j job) error { return s.applyFile(ctx, j, s.createNested) },
		update: func(ctx context.Context, j job, _ []string) error { return s.applyFile(ctx, j, s.updateNested) },
		remove: s.removeNested,
		ref: func(r *Resource) any {
			if r.nested == nil {
				return nil
			}
			return arn(r.nested)
		},
		attr: s.nestedAttr,
		show: func(r *Resource) map[string]any {
			if r.nested == nil {
				return map[string]any{}
			}
			return s.outputValues(r.nested)
		},
	}
}

// assigned makes parameters of properties: null is the empty value of a parameter's type, whatever its default is.
func assigned(tmpl *hot.Template, j job) map[string]any {
	out := maps.Clone(j.p)
	for name, par := range tmpl.Parameters {
		if _, given := j.r.def.Properties[name]; given && out[name] == nil {
			out[name] = empty(par.Type)
		}
	}
	return out
}

// applyFile creates or updates the stack behind a resource whose type is a template file.
func (s *Service) applyFile(
	ctx context.Context, j job,
	apply func(ctx context.Context, r *Resource, tmpl *hot.Template, params map[string]any) error,
) error {
	s.world.Lock()
	tmpl, err := s.nestedTemplate(j.r.stack, j.r.stack.env.typeOf(j.r.Name, j.r.Type))
	s.world.Unlock()
	if err != nil {
		return err
	}
	return apply(ctx, j.r, tmpl, assigned(tmpl, j))
}

// outputValues are the outputs of a stack by name.
func (s *Service) outputValues(st *Stack) map[string]any {
	out := map[string]any{}
	for name := range st.tmpl.Outputs {
		out[name] = s.output(st, name)
	}
	return out
}

func arn(st *Stack) string {
	return "arn:openstack:heat::" + st.Caller.ProjectID + ":stacks/" + st.Name + "/" + st.ID
}

// output resolves one output of a stack; nil when it cannot be.
func (s *Service) output(st *Stack, name string) any {
	o := st.tmpl.Outputs[name]
	if o == nil {
		return nil
	}
	v, err := hot.Resolve(o.Value, scope{s: s, st: st})
	if err != nil {
		return nil
	}
	return v
}

func (s *Service) nestedAttr(r *Resource, name string, path []any) (any, []any, bool) {
	if r.nested == nil {
		return nil, nil, true
	}
	if member, ok := strings.CutPrefix(name, "resource."); ok {
		return s.memberAttr(r.nested, member, path)
	}
	if name == "outputs" {
		return s.outputValues(r.nested), path, true
	}
	if _, ok := r.nested.tmpl.Outputs[name]; !ok {
		return nil, nil, false
	}
	return s.output(r.nested, name), path, true
}

// memberAttr is "resource.<name>" (its reference) or "resource.<name>.<attribute>".
func (s *Service) memberAttr(st *Stack, member string, path []any) (any, []any, bool) {
	name, attr, has := strings.Cut(member, ".")
	m := st.resources[name]
	if m == nil {
		return nil, nil, false
	}
	sc := scope{s: s, st: st}
	if !has {
		if len(path) == 0 {
			v, err := sc.Ref(name)
			return v, nil, err == nil
		}
		attr, path = hot.Text(path[0]), path[1:]
	}
	v, rest, err := sc.Attr(name, attr, path)
	return v, rest, err == nil
}
