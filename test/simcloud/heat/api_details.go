package heat

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
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
		return http.StatusOK, overlayText(st.files, nil), nil
	})
	stack("GET /environment", true, func(_ *rest.Call, st *Stack) (int, any, error) {
		e := st.env
		e.parameters = overlay(e.parameters, st.userParams)
		return http.StatusOK, e.view(), nil
	})
	stack("GET /outputs", false, func(_ *rest.Call, st *Stack) (int, any, error) {
		out := []rest.Obj{}
		for _, o := range s.outputs(st) {
			out = append(out, rest.Obj{"output_key": o["output_key"], "description": o["description"]})
		}
		return http.StatusOK, rest.Obj{"outputs": out}, nil
	})
	stack("GET /outputs/{key}", false, func(c *rest.Call, st *Stack) (int, any, error) {
		for _, o := range s.outputs(st) {
			if o["output_key"] == c.Path("key") {
				return http.StatusOK, rest.Obj{"output": o}, nil
			}
		}
		return 0, nil, rest.Errorf(http.StatusNotFound, "NotFound", "Specified output key %s not found.", c.Path("key"))
	})
	stack("GET /events", true, func(c *rest.Call, st *Stack) (int, any, error) {
		depth, _ := strconv.Atoi(c.Query.Get("nested_depth"))
		return s.eventPage(c, s.events(st, "", depth))
	})
	stack("GET /resources/{resource}/events", false, func(c *rest.Call, st *Stack) (int, any, error) {
		return s.eventPage(c, s.events(st, c.Path("resource"), 0))
	})
	stack("GET /resources/{resource}/events/{event}", false, func(c *rest.Call, st *Stack) (int, any, error) {
		for _, e := range s.events(st, c.Path("resource"), 0) {
			if e["id"] == c.Path("event") {
				return http.StatusOK, rest.Obj{"event": e}, nil
			}
		}
		return 0, nil, rest.Errorf(
			http.StatusNotFound, "EntityNotFound", "The Event (%s) could not be found.", c.Path("event"),
		)
	})
	stack("POST /actions", false, s.action)
}

func (s *Service) events(st *Stack, resource string, depth int) []rest.Obj {
	out := []rest.Obj{}
	for _, e := range st.events {
		if resource == "" || e.resource == resource {
			out = append(out, s.eventView(st, e))
		}
	}
	if depth > 0 {
		for _, name := range sortedKeys(st.resources) {
			if n := st.resources[name].nested; n != nil {
				out = append(out, s.events(n, resource, depth-1)...)
			}
		}
	}
	return out
}

func (s *Service) eventPage(c *rest.Call, events []rest.Obj) (int, any, error) {
	page, _, err := rest.Page(events, c.Query, func(e rest.Obj) string { id, _ := e["id"].(string); return id })
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, rest.Obj{"events": page}, nil
}

// action is POST /actions: check, cancel_update, suspend and resume.
func (s *Service) action(c *rest.Call, st *Stack) (int, any, error) {
	var req map[string]json.RawMessage
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	if len(req) != 1 {
		return 0, nil, rest.Errorf(http.StatusBadRequest, "HTTPBadRequest", "No action specified")
	}
	busy := st.Status == statusProgress
	for name := range req {
		switch {
		case name == "cancel_update" || name == "cancel_without_rollback":
			if !busy || st.Action != "UPDATE" && (st.Action != "CREATE" || name == "cancel_update") {
				return 0, nil, rest.Errorf(http.StatusBadRequest, "NotSupported",
					"Cancelling update when stack is %s is not supported.", st.state())
			}
			if name == "cancel_update" {
				s.rollbackUpdate(st, st.before)
			} else {
				s.cancelUpdate(st)
			}
		case busy:
			return 0, nil, rest.Errorf(http.StatusConflict, "ActionInProgress",
				"Stack %s already has an action (%s) in progress.", st.Name, st.Action)
		case name == "check":
			s.start(st, "CHECK", func(context.Context) error {
				return s.check(st)
			}, func(err error) { s.finish(st, "CHECK", err) })
		case name == "suspend" || name == "resume":
			act := map[string]string{"suspend": "SUSPEND", "resume": "RESUME"}[name]
			s.start(st, act, func(context.Context) error { return nil }, func(err error) { s.finish(st, act, err) })
		default:
			return 0, nil, rest.Errorf(http.StatusBadRequest, "HTTPBadRequest", "Invalid action %s", name)
		}
	}
	return http.StatusOK, json.RawMessage("null"), nil
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
				err = failf(
					"NotFound", "Instance %s could not be found. (HTTP 404) (Request-ID: req-%s)", r.ID, sim.NewID(),
				)
			} else if srv.Status != "ACTIVE" {
				err = failf("Error", "'CHECK': expected '['ACTIVE']', got '%s'", srv.Status)
			}
		case "OS::Cinder::Volume":
			if s.cinder.Volumes.Get(r.ID) == nil {
				err = failf(
					"NotFound", "Volume %s could not be found. (HTTP 404) (Request-ID: req-%s)", r.ID, sim.NewID(),
				)
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
