// Package heat is the simulated orchestration service (v1): stacks with nested stacks, created, updated and deleted in
// the background in the order of their dependencies, against the other simulated services.
package heat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/cinder"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/simcloud/glance"
	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/neutron"
	"github.com/gybe-nfv/gybe/test/simcloud/nova"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// Service is the orchestration service of one cloud.
type Service struct {
	world   *sim.World
	nova    *nova.Service
	neutron *neutron.Service
	cinder  *cinder.Service
	glance  *glance.Service
	kinds   map[string]*kind

	// Stacks are all stacks that exist, nested ones included. Deleted are those that can still be looked up by id.
	Stacks  sim.Table[Stack]
	Deleted sim.Table[Stack]

	// parsed templates by their text
	templates map[string]*hot.Template

	// Minute is how long a minute of timeout_mins lasts.
	Minute time.Duration
}

// New returns an empty service.
func New(w *sim.World, n *nova.Service, net *neutron.Service, v *cinder.Service, i *glance.Service) *Service {
	s := &Service{world: w, nova: n, neutron: net, cinder: v, glance: i, templates: map[string]*hot.Template{}, Minute: time.Minute}
	s.kinds = s.allKinds()
	return s
}

// Reset forgets all stacks.
func (s *Service) Reset() {
	s.Stacks.Clear()
	s.Deleted.Clear()
}

// Stack is one stack.
type Stack struct {
	ID, Name    string
	Caller      rest.Caller
	Action      string // CREATE, UPDATE, DELETE, ROLLBACK
	Status      string // IN_PROGRESS, COMPLETE, FAILED
	Reason      string
	Created     time.Time
	Updated     time.Time
	DeletedAt   time.Time
	TimeoutMins int
	Tags        []string
	Description string

	disableRollback bool
	parent          *Resource // the resource that is this stack, nil for a top stack
	tmpl            *hot.Template
	files           map[string]string
	env             environment
	params          map[string]any
	userParams      map[string]any
	resources       map[string]*Resource
	replaced        []*Resource
	events          []event
	conditions      map[string]bool
	running         *running
}

// Resource is one resource of a stack.
type Resource struct {
	Name, Type     string
	ID             string // physical_resource_id
	Action, Status string
	Reason         string
	Created        time.Time
	Updated        time.Time
	def            *hot.Resource
	kind           *kind
	stack          *Stack
	props          props
	nested         *Stack
	data           map[string]any
	requires       []string
}

type event struct {
	id, resource, physical, action, status, reason, kind string
	at                                                   time.Time
}

// running is the background action of a stack.
type running struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

var (
	errPreempted = errors.New("another action of the stack began")
	errTimedOut  = errors.New("timed out")
	errSibling   = errors.New("another resource failed")
	errCancelled = errors.New("Stack UPDATE cancelled")
)

// failure is why a resource failed: the exception, where, and its text.
type failure struct {
	kind, message string
	path          []string
}

// Error writes the failure as the service does in reasons.
func (f *failure) Error() string {
	if len(f.path) == 0 {
		return f.kind + ": " + f.message
	}
	return f.kind + ": " + strings.Join(f.path, ".") + ": " + f.message
}

func failf(kind, format string, args ...any) *failure {
	return &failure{kind: kind, message: fmt.Sprintf(format, args...)}
}

// at adds where the failure happened, from the inside out.
func (f *failure) at(st *Stack, name string) *failure {
	step := "resources." + name
	if st.parent != nil && st.parent.kind.indexed {
		step = "resources[" + name + "]"
	}
	return &failure{kind: f.kind, message: f.message, path: append([]string{step}, f.path...)}
}

// asFailure turns the error of another service, or of the template language, into a failure.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if h, ok := errors.AsType[*hot.Error](err); ok {
		return &failure{kind: h.Kind, message: h.Message}
	}
	if e, ok := errors.AsType[*rest.Error](err); ok {
		switch e.Kind {
		case "badRequest", "forbidden", "itemNotFound", "conflictingRequest", "overLimit", "computeFault":
			kind := strings.ReplaceAll(http.StatusText(e.Status), " ", "")
			if e.Kind == "overLimit" {
				kind = "OverLimit"
			}
			return failf(kind, "%s (HTTP %d) (Request-ID: req-%s)", e.Message, e.Status, sim.NewID())
		case "EntityNotFound", "EntityMatchNotFound", "EntityUniqueMatchNotFound":
			return failf(e.Kind, "%s", e.Message)
		}
		return failf(e.Kind+"Client", "%s\nNeutron server returns request_ids: ['req-%s']", e.Message, sim.NewID())
	}
	return failf("Error", "%v", err)
}

// template parses a text once and shares the result.
func (s *Service) template(text string) (*hot.Template, error) {
	if t, ok := s.templates[text]; ok {
		return t, nil
	}
	t, err := hot.Parse(text)
	if err != nil {
		return nil, err //nolint:wrapcheck // mapped by kind
	}
	const many = 512
	if len(s.templates) >= many {
		clear(s.templates)
	}
	s.templates[text] = t
	return t, nil
}

func (s *Service) note(st *Stack, r *Resource, action, status, reason string) {
	e := event{id: sim.NewID(), action: action, status: status, reason: reason, at: s.world.Now()}
	if r != nil {
		e.resource, e.physical, e.kind = r.Name, r.ID, r.Type
	} else {
		e.resource, e.physical, e.kind = st.Name, st.ID, "OS::Heat::Stack"
	}
	const many = 1000
	if len(st.events) >= many {
		st.events = slices.Delete(st.events, 0, many/10)
	}
	st.events = append(st.events, e)
}

func (s *Service) setStack(st *Stack, action, status, reason string) {
	st.Action, st.Status, st.Reason = action, status, reason
	if action != "CREATE" {
		st.Updated = s.world.Now()
	}
	s.note(st, nil, action, status, reason)
}

func (s *Service) setResource(r *Resource, action, status, reason string) {
	r.Action, r.Status, r.Reason, r.Updated = action, status, reason, s.world.Now()
	s.note(r.stack, r, action, status, reason)
}

// work applies the fault rules for a piece of engine work: delays and hangs, and the reason of a failure.
func (s *Service) work(ctx context.Context, w fault.Work) (reason string, err error) {
	for _, r := range s.world.Faults.Work(w) {
		switch r.Kind {
		case fault.DelayResource:
			if err := sim.Sleep(ctx, time.Duration(r.Delay)); err != nil {
				return "", err //nolint:wrapcheck // the context's cause
			}
		case fault.HangResource, fault.HangStack:
			select {
			case <-r.Released():
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		case fault.FailResource:
			if r.Reason == "" {
				return "Injected failure", nil
			}
			return r.Reason, nil
		default: // the others are faults of calls
		}
	}
	return "", nil
}

// live finds a top stack, or any stack, of a project by name.
func (s *Service) live(project, name string) *Stack {
	for _, st := range s.Stacks.All() {
		if st.Name == name && st.Caller.ProjectID == project {
			return st
		}
	}
	return nil
}
