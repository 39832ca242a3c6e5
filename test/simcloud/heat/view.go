package heat

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

const timeForm = "2006-01-02T15:04:05Z"

func (s *Service) stackURL(st *Stack) string {
	return s.world.BaseURL + "/orchestration/v1/" + st.Caller.ProjectID + "/stacks/" + st.Name + "/" + st.ID
}

func link(rel, href string) rest.Obj { return rest.Obj{"rel": rel, "href": href} }

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Format(timeForm)
}

func (st *Stack) state() string { return st.Action + "_" + st.Status }

// summary is a stack in a list.
func (s *Service) summary(st *Stack) rest.Obj {
	v := rest.Obj{
		"id": st.ID, "stack_name": st.Name, "description": st.Description, "stack_status": st.state(),
		"stack_status_reason": st.Reason, "creation_time": st.Created.Format(timeForm),
		"updated_time": timeOrNil(st.Updated), "deletion_time": timeOrNil(st.DeletedAt),
		"links": []rest.Obj{link("self", s.stackURL(st))}, "stack_owner": st.Caller.UserName,
		"stack_user_project_id": st.Caller.ProjectID, "parent": nil, "tags": nil,
	}
	if st.parent != nil {
		v["parent"] = st.parent.stack.ID
	}
	if st.Tags != nil {
		v["tags"] = rest.Strings(st.Tags)
	}
	return v
}

// view is a stack on its own page. Outputs cost time and can be left out.
func (s *Service) view(st *Stack, outputs bool) rest.Obj {
	v := s.summary(st)
	params := map[string]string{"OS::stack_id": st.ID, "OS::stack_name": st.Name, "OS::project_id": st.Caller.ProjectID}
	for name, value := range st.params {
		if p := st.tmpl.Parameters[name]; p != nil {
			params[name] = p.Show(value)
		}
	}
	v["tags"] = rest.Strings(st.Tags)
	v["parameters"], v["capabilities"], v["notification_topics"] = params, []string{}, []string{}
	v["disable_rollback"], v["timeout_mins"] = st.disableRollback, st.TimeoutMins
	v["template_description"] = st.Description
	if outputs {
		v["outputs"] = s.outputs(st)
	}
	return v
}

func (s *Service) outputs(st *Stack) []rest.Obj {
	out := []rest.Obj{}
	for _, name := range sortedKeys(st.tmpl.Outputs) {
		o := st.tmpl.Outputs[name]
		if ok, err := hot.EvaluateCondition(o.Condition, scope{s: s, st: st}); err == nil && !ok {
			continue
		}
		text := cmp.Or(o.Description, "No description given")
		e := rest.Obj{"output_key": name, "description": text, "output_value": nil}
		v, err := hot.Resolve(o.Value, scope{s: s, st: st})
		if err != nil {
			e["output_error"] = err.Error()
		} else {
			e["output_value"] = v
		}
		out = append(out, e)
	}
	return out
}

func (s *Service) resourceView(r *Resource) rest.Obj {
	stack := s.stackURL(r.stack)
	links := []rest.Obj{link("self", stack+"/resources/"+r.Name), link("stack", stack)}
	if r.nested != nil {
		links = append(links, link("nested", s.stackURL(r.nested)))
	}
	by := []string{}
	for _, name := range sortedKeys(r.stack.resources) {
		if slices.Contains(r.stack.resources[name].requires, r.Name) {
			by = append(by, name)
		}
	}
	v := rest.Obj{
		"resource_name": r.Name, "logical_resource_id": r.Name, "physical_resource_id": r.ID, "resource_type": r.Type,
		"resource_status": r.Action + "_" + r.Status, "resource_status_reason": r.Reason, "required_by": by,
		"links": links, "creation_time": r.Created.Format(timeForm), "updated_time": r.Updated.Format(timeForm),
	}
	if r.stack.parent != nil {
		v["parent_resource"] = r.stack.parent.Name
	}
	return v
}

// listed returns the resources of a stack and of its nested stacks down to depth.
func listed(st *Stack, depth int) []*Resource {
	var out []*Resource
	for _, name := range sortedKeys(st.resources) {
		if r := st.resources[name]; r.Action != "DELETE" || r.Status != statusComplete || r.retrying {
			out = append(out, r)
		}
	}
	if depth > 0 {
		for _, r := range slices.Clone(out) {
			if r.nested != nil {
				out = append(out, listed(r.nested, depth-1)...)
			}
		}
	}
	return out
}

func (s *Service) eventView(st *Stack, e event) rest.Obj {
	stack := s.stackURL(st)
	return rest.Obj{
		"id": e.id, "event_time": e.at.Format(timeForm), "resource_name": e.resource, "logical_resource_id": e.resource,
		"physical_resource_id": e.physical, "resource_status": e.action + "_" + e.status,
		"resource_status_reason": e.reason,
		"links": []rest.Obj{
			link("self", stack+"/resources/"+e.resource+"/events/"+e.id),
			link("resource", stack+"/resources/"+e.resource), link("stack", stack),
		},
	}
}

// writeError writes an error in the service's form.
func writeError(w http.ResponseWriter, _ *http.Request, e *rest.Error) {
	explanation := map[int]string{
		http.StatusBadRequest: "The server could not comply with the request since it is either malformed or " +
			"otherwise incorrect.",
		http.StatusForbidden: "Access was denied to this resource.",
		http.StatusNotFound:  "The resource could not be found.",
		http.StatusConflict:  "There was a conflict when trying to complete your request.",
		http.StatusInternalServerError: "The server has either erred or is incapable of performing the requested " +
			"operation.",
		http.StatusServiceUnavailable: "The server is currently unavailable. Please try again at a later time.",
	}[e.Status]
	details := rest.Obj{"traceback": nil, "type": e.Kind}
	if e.Message != "" {
		details["message"] = e.Message
	}
	title := http.StatusText(e.Status)
	rest.WriteJSON(w, e.Status, rest.Obj{
		"explanation": cmp.Or(explanation, title), "code": e.Status, "title": title, "error": details,
	})
}
