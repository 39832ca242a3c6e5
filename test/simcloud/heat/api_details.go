package heat

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

// registrar registers a route below a stack's page; deleted tells whether it also serves deleted stacks.
type registrar func(pattern string, deleted bool, h func(c *rest.Call, st *Stack) (int, any, error))

func (s *Service) registerDetails(stack registrar) {
	stack("GET /template", true, func(_ *rest.Call, st *Stack) (int, any, error) {
		return http.StatusOK, st.tmpl.Raw, nil
	})
	stack("GET /files", true, func(_ *rest.Call, st *Stack) (int, any, error) {
		return http.StatusOK, rest.Map(st.files), nil
	})
	stack("GET /environment", true, func(_ *rest.Call, st *Stack) (int, any, error) {
		e := st.env
		e.parameters = overlay(e.parameters, st.userParams)
		return http.StatusOK, e.view(), nil
	})
	stack("GET /events", true, func(c *rest.Call, st *Stack) (int, any, error) {
		view := func(e event) rest.Obj { return s.eventView(st, e) }
		return rest.List(c, "events", st.events, func(e event) string { return e.id }, view)
	})
	stack("POST /actions", false, s.action)
}

// inProgress is the answer to a request that an action of the stack does not allow.
func (st *Stack) inProgress() *rest.Error {
	const format = "Stack %s already has an action (%s) in progress."
	return rest.Errorf(http.StatusConflict, "ActionInProgress", format, st.Name, st.Action)
}

// action is POST /actions: check, cancel_update and cancel_without_rollback.
func (s *Service) action(c *rest.Call, st *Stack) (int, any, error) {
	var req map[string]json.RawMessage
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if len(req) != 1 {
		return 0, nil, badRequest("No action specified")
	}
	busy := st.Status == statusProgress
	for name := range req {
		switch {
		case name == "cancel_update" || name == "cancel_without_rollback":
			if !busy || st.Action != "UPDATE" && (st.Action != "CREATE" || name == "cancel_update") {
				const format = "Cancelling update when stack is %s is not supported."
				return 0, nil, rest.Errorf(http.StatusBadRequest, "NotSupported", format, st.state())
			}
			if name == "cancel_update" {
				s.rollbackUpdate(st, st.before)
			} else {
				s.cancelUpdate(st)
			}
		case busy:
			return 0, nil, st.inProgress()
		case name == "check":
			check := func(context.Context) error { return s.check(st) }
			s.start(st, "CHECK", check, func(err error) { s.finish(st, "CHECK", err) })
		default:
			return 0, nil, badRequest("Invalid action %s", name)
		}
	}
	return http.StatusOK, json.RawMessage("null"), nil
}

func objectNotFound(kind, id string) *failure {
	return failf("NotFound", "%s %s could not be found. (HTTP 404) (Request-ID: req-%s)", kind, id, sim.NewID())
}

// check looks whether the servers and volumes of a stack and its nested stacks are still there and well.
func (s *Service) check(st *Stack) error {
	s.world.Lock()
	defer s.world.Unlock()
	var bad []string
	for _, r := range listed(st, maxDepth) {
		var err *failure
		switch r.Type {
		case "OS::Nova::Server":
			srv := s.nova.Servers.Get(r.ID)
			if srv == nil {
				err = objectNotFound("Instance", r.ID)
			} else if srv.Status != "ACTIVE" {
				err = failf("Error", "'CHECK': expected '['ACTIVE']', got '%s'", srv.Status)
			}
		case "OS::Cinder::Volume":
			if s.cinder.Volumes.Get(r.ID) == nil {
				err = objectNotFound("Volume", r.ID)
			}
		default:
			continue
		}
		if err != nil {
			err = err.at(r.stack, r.Name)
			s.setResource(r, "CHECK", statusFailed, err.Error())
			for up := r.stack.parent; up != nil; up = up.stack.parent {
				err = err.at(up.stack, up.Name)
				s.setResource(up, "CHECK", statusFailed, err.Error())
			}
			bad = append(bad, "'"+err.Error()+"'")
			continue
		}
		s.setResource(r, "CHECK", statusComplete, "state changed")
	}
	if bad != nil {
		return failf("", "[%s]", strings.Join(bad, ", "))
	}
	return nil
}
