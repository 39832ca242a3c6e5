// Package heat is the simulated orchestration service (v1): stacks with nested stacks, created, updated and deleted in
// the background in the order of their dependencies, against the other simulated services.
package heat

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/cinder"
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
	// Retry is the unit of the pauses between attempts at what a conflict has failed.
	Retry time.Duration
	// RPCTimeout is how long the API waits for the engine.
	RPCTimeout time.Duration

	engine engine
}

// New returns an empty service.
func New(w *sim.World, n *nova.Service, net *neutron.Service, v *cinder.Service, i *glance.Service) *Service {
	s := &Service{
		world: w, nova: n, neutron: net, cinder: v, glance: i, templates: map[string]*hot.Template{},
		Minute: time.Minute, RPCTimeout: time.Minute,
	}
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
	// before is what the update in progress, or the last one, has replaced.
	before *Stack
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
	// retrying tells that a failed attempt has been deleted and another one will come.
	retrying bool
	// quiet is until when signals to a group are ignored.
	quiet time.Time
}

type event struct {
	id, resource, physical, action, status, reason, kind string
	at                                                   time.Time
}

var (
	errPreempted = errors.New("another action of the stack began")
	errTimedOut  = errors.New("Timed out") //nolint:staticcheck // the real service's text
	errKilled    = errors.New("the engine died")
	errCancelled = errors.New("the action was cancelled")
)

// failure is why a resource failed: the exception (none for a refused template), where, and its text.
type failure struct {
	kind, message string
	path          []string
	// action is what the resource was at.
	action string
	// again tells that the service tries again.
	again bool
}

// Error writes the failure as the service does in reasons.
func (f *failure) Error() string {
	parts := []string{strings.Join(f.path, "."), f.message}
	if f.kind != "" {
		parts = append([]string{f.kind}, parts...)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ": ")
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
	return &failure{kind: f.kind, message: f.message, path: append([]string{step}, f.path...), action: f.action}
}

// in says that the failure happened in an action of a resource. A nested stack that failed in another action than its
// own resource's is reported with all of its reason.
func (f *failure) in(r *Resource, action string) *failure {
	retry := f.again && !r.kind.nested
	if f.action != "" && f.action != action {
		f = &failure{message: "Resource " + f.action + " failed: " + f.Error()}
	}
	f = f.at(r.stack, r.Name)
	f.action, f.again = action, retry
	return f
}

// asFailure turns the error of another service, or of the template language, into a failure.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if h, ok := errors.AsType[*hot.Error](err); ok {
		if h.Kind == "StackValidationFailed" {
			return &failure{message: h.Message}
		}
		return &failure{kind: h.Kind, message: h.Message}
	}
	if e, ok := errors.AsType[*rest.Error](err); ok {
		switch e.Kind {
		case "badRequest", "forbidden", "itemNotFound", "conflictingRequest", "overLimit", "computeFault":
			kind := strings.ReplaceAll(http.StatusText(e.Status), " ", "")
			if e.Kind == "overLimit" {
				kind = "OverLimit"
			}
			f := failf(kind, "%s (HTTP %d) (Request-ID: req-%s)", e.Message, e.Status, sim.NewID())
			f.again = e.Status == http.StatusConflict
			return f
		case "EntityNotFound", "EntityMatchNotFound", "EntityUniqueMatchNotFound":
			return failf(e.Kind, "%s", e.Message)
		}
		f := failf(neutronException(e), "%s\nNeutron server returns request_ids: ['req-%s']", e.Message, sim.NewID())
		f.again = e.Status == http.StatusConflict && e.Kind != "OverQuota"
		return f
	}
	return failf("Error", "%v", err)
}

// neutronExceptions are those that the client of the network service knows by name.
var neutronExceptions = []string{
	"NetworkNotFound", "PortNotFound", "StateInvalid", "NetworkInUse", "PortInUse", "IpAddressInUse",
	"IpAddressAlreadyAllocated", "InvalidIpForNetwork", "InvalidIpForSubnet", "OverQuota", "IpAddressGenerationFailure",
	"MacAddressInUse", "ExternalIpAddressExhausted",
}

func neutronException(e *rest.Error) string {
	if slices.Contains(neutronExceptions, e.Kind) {
		return e.Kind + "Client"
	}
	return strings.ReplaceAll(http.StatusText(e.Status), " ", "")
}

// template parses a text once and shares the result.
func (s *Service) template(text string) (*hot.Template, error) {
	if t, ok := s.templates[text]; ok {
		return t, nil
	}
	t, err := hot.Parse(text)
	if err != nil {
		return nil, err
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

// live finds a top stack, or any stack, of a project by name.
func (s *Service) live(project, name string) *Stack {
	for _, st := range s.Stacks.All() {
		if st.Name == name && st.Caller.ProjectID == project {
			return st
		}
	}
	return nil
}
