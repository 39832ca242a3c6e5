package heat

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

func (s *Service) registerResources(stack registrar) {
	stack("GET /resources", true, func(c *rest.Call, st *Stack) (int, any, error) {
		depth := 0
		if d := c.Query.Get("nested_depth"); d != "" {
			n, err := strconv.Atoi(d)
			if err != nil || n < 0 {
				return 0, nil, badRequest("Only integer is allowed for nested_depth: %s", d)
			}
			depth = min(n, maxDepth)
		}
		out := []rest.Obj{}
		for _, r := range listed(st, depth) {
			if rest.OneOf(c.Query, "type", r.Type) && rest.OneOf(c.Query, "name", r.Name) &&
				rest.OneOf(c.Query, "status", r.Status) {
				out = append(out, s.resourceView(r))
			}
		}
		return http.StatusOK, rest.Obj{"resources": out}, nil
	})
	resource := func(pattern string, h func(c *rest.Call, r *Resource) (int, any, error)) {
		stack(pattern, false, func(c *rest.Call, st *Stack) (int, any, error) {
			r := st.resources[c.Path("resource")]
			if r == nil {
				for _, x := range st.resources {
					if x.ID != "" && x.ID == c.Path("resource") {
						r = x
					}
				}
			}
			if r == nil {
				const format = "The Resource (%s) could not be found in Stack %s."
				return 0, nil, rest.Errorf(http.StatusNotFound, "ResourceNotFound", format, c.Path("resource"), st.Name)
			}
			return h(c, r)
		})
	}
	resource("GET /resources/{resource}", func(_ *rest.Call, r *Resource) (int, any, error) {
		v := s.resourceView(r)
		v["description"], v["attributes"] = "", map[string]any{}
		if r.kind.show != nil {
			v["attributes"] = r.kind.show(r)
		}
		return http.StatusOK, rest.Obj{"resource": v}, nil
	})
	resource("PATCH /resources/{resource}", s.markUnhealthy)
	resource("POST /resources/{resource}/signal", func(_ *rest.Call, r *Resource) (int, any, error) {
		return http.StatusOK, json.RawMessage("null"), s.Signal(r)
	})
}

// markUnhealthy makes the next update replace a resource, or takes that back.
func (s *Service) markUnhealthy(c *rest.Call, r *Resource) (int, any, error) {
	var req struct {
		Mark   any    `json:"mark_unhealthy"`
		Reason string `json:"resource_status_reason"`
	}
	if err := c.Decode(&req); err != nil {
		return 0, nil, err
	}
	mark, ok := req.Mark.(bool)
	if text, isText := req.Mark.(string); isText {
		if text = strings.ToLower(text); text != "true" && text != "false" {
			const format = "Unrecognized value %q for %q, acceptable values are: true, false"
			return 0, nil, badRequest(format, req.Mark, "mark_unhealthy")
		}
		mark, ok = text == "true", true
	}
	if r.Status == statusProgress {
		return 0, nil, r.stack.inProgress()
	}
	if !ok {
		return 0, nil, badRequest("Missing mandatory (%s) key from mark unhealthy request", "mark_unhealthy")
	}
	if req.Reason == "" {
		req.Reason = "state changed by resource_mark_unhealthy api"
	}
	switch {
	case mark && r.Action == "DELETE":
	case mark:
		s.setResource(r, "CHECK", statusFailed, req.Reason)
	case r.Action == "CHECK" && r.Status == statusFailed:
		s.setResource(r, "CHECK", statusComplete, req.Reason)
	}
	return http.StatusOK, json.RawMessage("null"), nil
}

// RegisterSignals adds the unauthenticated URLs that scaling policies hand out.
func (s *Service) RegisterSignals(a *rest.API) {
	a.WriteError = writeError
	a.HandlePublic("POST /v1/signal/{stack}/{resource}", func(c *rest.Call) (int, any, error) {
		st := s.Stacks.Get(c.Path("stack"))
		if st == nil || st.resources[c.Path("resource")] == nil {
			return 0, nil, stackNotFound(c.Path("stack"))
		}
		return http.StatusOK, json.RawMessage("null"), s.Signal(st.resources[c.Path("resource")])
	})
}
