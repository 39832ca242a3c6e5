package heat

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Request is what a stack create or update asks for. In an update, what is not Set stays.
type Request struct {
	Name            string
	Template        *hot.Template
	Files           map[string]string
	Environment     environment
	Parameters      map[string]any
	TimeoutMins     *int
	DisableRollback *bool
	Tags            *[]string
	// Existing keeps template, files, environment and parameters of the stack where the request has none (PATCH).
	Existing bool
}

var nameForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.-]{0,254}$`)

// Create makes a stack. The lock must be held.
func (s *Service) Create(c rest.Caller, req Request) (*Stack, error) {
	st, err := s.prepare(c, req)
	if err != nil {
		return nil, err
	}
	if s.live(c.ProjectID, req.Name) != nil {
		return nil, rest.Errorf(http.StatusConflict, "StackExists", "The Stack (%s) already exists.", req.Name)
	}
	if err := s.populate(st); err != nil {
		return nil, asAnswer(err)
	}
	s.Stacks.Add(st.ID, st)
	s.start(st, "CREATE", func(ctx context.Context) error { return s.runCreate(ctx, st) }, func(err error) {
		s.finish(st, "CREATE", err)
		if err != nil && !st.disableRollback {
			s.rollbackCreate(st)
		}
	})
	return st, nil
}

// Preview checks a create and returns the stack that it would make, without resources.
func (s *Service) Preview(c rest.Caller, req Request) (*Stack, error) {
	st, err := s.prepare(c, req)
	if err != nil {
		return nil, err
	}
	return st, asAnswer(s.populate(st))
}

// prepare checks a create request and returns the stack it describes, not stored yet.
func (s *Service) prepare(c rest.Caller, req Request) (*Stack, error) {
	if !nameForm.MatchString(req.Name) {
		const format = "Invalid stack name %s must contain only alphanumeric or \"_-.\" characters, " +
			"must start with alpha and must be 255 characters or less."
		return nil, rest.Errorf(http.StatusBadRequest, "StackValidationFailed", format, req.Name)
	}
	if req.Template == nil {
		return nil, badRequest("No template specified")
	}
	st := &Stack{
		ID: sim.NewID(), Name: req.Name, Caller: c, Created: s.world.Now(), tmpl: req.Template, files: req.Files,
		env: req.Environment, userParams: req.Parameters, disableRollback: true, TimeoutMins: 60,
		Description: req.Template.Description,
	}
	s.applyOptions(st, req)
	if st.TimeoutMins < 0 {
		return nil, badRequest("Only integer >= 0 allowed for timeout_mins: %d", st.TimeoutMins)
	}
	var err error
	if st.params, err = s.parameters(st, true); err == nil {
		err = s.validate(st, 0, true)
	}
	return st, asAnswer(err)
}

func (s *Service) applyOptions(st *Stack, req Request) {
	if req.TimeoutMins != nil {
		st.TimeoutMins = *req.TimeoutMins
	}
	if req.DisableRollback != nil {
		st.disableRollback = *req.DisableRollback
	}
	if req.Tags != nil {
		st.Tags = *req.Tags
	}
}

// parameters gives the template's parameters their values.
func (s *Service) parameters(st *Stack, strict bool) (map[string]any, error) {
	constraint := func(name string, v any) error {
		if err := s.constraint(st.Caller, name, v); err != nil {
			return fmt.Errorf("Error validating value '%s': %w", hot.Text(v), err)
		}
		return nil
	}
	return st.tmpl.Values(overlay(st.env.parameters, st.userParams), st.env.defaults, strict, constraint)
}

// populate makes the resource records of a new stack.
func (s *Service) populate(st *Stack) error {
	st.resources = map[string]*Resource{}
	defs, err := s.wanted(st)
	if err != nil {
		return err
	}
	for name, def := range defs {
		if st.resources[name], err = s.newResource(st, def); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) rollbackCreate(st *Stack) {
	s.start(st, "ROLLBACK", func(ctx context.Context) error { return s.runDelete(ctx, s.all(st)) }, func(err error) {
		s.finish(st, "ROLLBACK", err)
	})
}

// all returns every resource record of a stack, replaced ones included.
func (s *Service) all(st *Stack) []*Resource {
	s.world.Lock()
	defer s.world.Unlock()
	out := slices.Clone(st.replaced)
	for _, name := range sortedKeys(st.resources) {
		out = append(out, st.resources[name])
	}
	return out
}

// Delete starts the deletion of a stack. The lock must be held.
func (s *Service) Delete(st *Stack) {
	if st.Action == "DELETE" && st.Status == statusProgress {
		return
	}
	s.start(st, "DELETE", func(ctx context.Context) error { return s.runDelete(ctx, s.all(st)) }, func(err error) {
		s.finish(st, "DELETE", err)
		if err == nil {
			s.forget(st)
		}
	})
}

// forget moves a deleted stack to where it can be looked up by id only. Nested stacks went before it.
func (s *Service) forget(st *Stack) {
	const many = 2000
	st.DeletedAt = s.world.Now()
	s.Stacks.Delete(st.ID)
	s.Deleted.Add(st.ID, st)
	if s.Deleted.Len() > many {
		s.Deleted.Delete(s.Deleted.All()[0].ID)
	}
}

// Update starts an update. The lock must be held.
func (s *Service) Update(st *Stack, req Request) error {
	if st.Action == "DELETE" {
		const text = "Updating a stack when it is deleting is not supported."
		return rest.Errorf(http.StatusBadRequest, "NotSupported", text)
	}
	next := &Stack{
		ID: st.ID, Name: st.Name, Caller: st.Caller, parent: st.parent, tmpl: req.Template, files: req.Files,
		env: req.Environment, userParams: req.Parameters,
	}
	if req.Existing {
		if next.tmpl == nil {
			next.tmpl = st.tmpl
		}
		next.files = overlay(st.files, req.Files)
		next.env = st.env.merge(req.Environment)
		kept := rest.Map(st.userParams)
		for name := range kept {
			if next.tmpl.Parameters[name] == nil { // the new template has dropped it
				delete(kept, name)
			}
		}
		next.userParams = overlay(kept, req.Parameters)
	}
	if next.tmpl == nil {
		return badRequest("No template specified")
	}
	var err error
	if next.params, err = s.parameters(next, true); err == nil {
		err = s.validate(next, 0, true)
	}
	if err != nil {
		return asAnswer(err)
	}
	s.applyOptions(st, req)
	old := snapshot(st)
	st.before = old
	s.startUpdate(st, next, func(err error) {
		s.finish(st, "UPDATE", err)
		if err != nil && !st.disableRollback {
			s.rollbackUpdate(st, old)
		}
	})
	return nil
}

// snapshot keeps what an update replaces.
func snapshot(st *Stack) *Stack {
	return &Stack{
		ID: st.ID, Name: st.Name, Caller: st.Caller, tmpl: st.tmpl, files: st.files, env: st.env,
		userParams: st.userParams, params: st.params,
	}
}

func (s *Service) startUpdate(st, next *Stack, end func(error)) {
	s.start(st, "UPDATE", func(ctx context.Context) error { return s.runUpdate(ctx, st, next) }, end)
}

func (s *Service) rollbackUpdate(st, old *Stack) {
	s.start(st, "ROLLBACK", func(ctx context.Context) error { return s.runUpdate(ctx, st, old) }, func(err error) {
		s.finish(st, "ROLLBACK", err)
	})
}
