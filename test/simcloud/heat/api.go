package heat

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gybe-nfv/gybe/test/simcloud/hot"
	"github.com/gybe-nfv/gybe/test/simcloud/rest"
)

// Register adds the service's routes.
func (s *Service) Register(a *rest.API) {
	a.WriteError, a.Before = writeError, s.answerable
	a.HandlePublic("GET /{$}", func(*rest.Call) (int, any, error) {
		return http.StatusMultipleChoices, rest.Obj{"versions": []rest.Obj{{
			"id": "v1.0", "status": "CURRENT", "links": []rest.Obj{link("self", s.world.BaseURL+a.Prefix+"/v1/")},
		}}}, nil
	})
	handle := func(pattern string, h rest.Handler) {
		method, path, _ := strings.Cut(pattern, " ")
		a.Handle(method+" /v1/{project}"+path, func(c *rest.Call) (int, any, error) {
			if c.Path("project") != c.ProjectID && !c.Admin {
				const text = "You are not authorized to use global_index."
				return 0, nil, rest.Errorf(http.StatusForbidden, "Forbidden", text)
			}
			return h(c)
		})
	}
	handle("GET /stacks", s.list)
	handle("POST /stacks", s.create)
	handle("POST /stacks/preview", s.preview)
	handle("POST /validate", s.validateTemplate)
	for _, m := range []string{"GET", "PUT", "PATCH", "POST", "DELETE"} {
		handle(m+" /stacks/{name}", s.lookup(""))
	}
	for _, sub := range []string{"resources", "events", "template", "actions"} {
		handle("GET /stacks/{name}/"+sub, s.lookup(sub))
	}
	stack := func(pattern string, deleted bool, h func(c *rest.Call, st *Stack) (int, any, error)) {
		method, path, _ := strings.Cut(pattern, " ")
		find := func(c *rest.Call) (*Stack, error) { return s.find(c, deleted) }
		handle(method+" /stacks/{name}/{id}"+path, rest.On(find, h))
	}
	stack("GET ", true, func(c *rest.Call, st *Stack) (int, any, error) {
		resolve := !c.Query.Has("resolve_outputs") || rest.Bool(c.Query.Get("resolve_outputs"))
		return http.StatusOK, rest.Obj{"stack": s.view(st, resolve)}, nil
	})
	stack("PUT ", false, func(c *rest.Call, st *Stack) (int, any, error) { return s.update(c, st, false) })
	stack("PATCH ", false, func(c *rest.Call, st *Stack) (int, any, error) { return s.update(c, st, true) })
	stack("DELETE ", false, func(_ *rest.Call, st *Stack) (int, any, error) {
		s.Delete(st)
		return http.StatusNoContent, nil, nil
	})
	s.registerDetails(stack)
	s.registerResources(stack)
	a.HandleNotFound("The resource could not be found.")
}

// find resolves /stacks/{name}/{id}: both must be right. Deleted stacks have a page, and nothing else.
func (s *Service) find(c *rest.Call, deleted bool) (*Stack, error) {
	st := s.Stacks.Get(c.Path("id"))
	if st == nil && deleted {
		st = s.Deleted.Get(c.Path("id"))
	}
	if st == nil || st.Name != c.Path("name") || st.Caller.ProjectID != c.ProjectID {
		return nil, stackNotFound(c.Path("name"))
	}
	return st, nil
}

func stackNotFound(name string) *rest.Error {
	return rest.Errorf(http.StatusNotFound, "EntityNotFound", "The Stack (%s) could not be found.", name)
}

func badRequest(format string, args ...any) *rest.Error {
	return rest.Errorf(http.StatusBadRequest, "HTTPBadRequest", format, args...)
}

// lookup redirects from a name or an id to the page that has both.
func (s *Service) lookup(sub string) rest.Handler {
	return func(c *rest.Call) (int, any, error) {
		name := c.Path("name")
		st := s.live(c.ProjectID, name)
		if st == nil {
			if st = s.Stacks.Get(name); st == nil {
				st = s.Deleted.Get(name)
			}
		}
		if st == nil || st.Caller.ProjectID != c.ProjectID {
			return 0, nil, stackNotFound(name)
		}
		to := s.stackURL(st)
		if sub != "" {
			to += "/" + sub
		}
		if c.R.URL.RawQuery != "" {
			to += "?" + c.R.URL.RawQuery
		}
		c.W.Header().Set("Location", to)
		return http.StatusFound, rest.Obj{"message": "The resource was found at " + to +
			";\nyou should be redirected automatically.", "code": "302 Found", "title": "Found"}, nil
	}
}

func (s *Service) list(c *rest.Call) (int, any, error) {
	q := c.Query
	if err := checkList(q); err != nil {
		return 0, nil, err
	}
	nested, deleted := rest.Bool(q.Get("show_nested")), rest.Bool(q.Get("show_deleted"))
	all := s.Stacks.All()
	if deleted {
		all = append(s.Deleted.All(), all...)
	}
	var found []*Stack
	for _, st := range all {
		if st.Caller.ProjectID == c.ProjectID && (nested || st.parent == nil) && statusMatches(q, st) &&
			rest.OneOf(q, "name", st.Name) && rest.OneOf(q, "id", st.ID) && rest.OneOf(q, "action", st.Action) &&
			rest.TagsMatch(st.Tags, q.Get("tags"), q.Get("tags_any"), q.Get("not_tags"), q.Get("not_tags_any")) {
			found = append(found, st)
		}
	}
	slices.Reverse(found) // newest first
	sortStacks(found, q.Get("sort_keys"), q.Get("sort_dir"))
	if m := q.Get("marker"); !slices.ContainsFunc(found, func(st *Stack) bool { return st.ID == m }) {
		q.Del("marker") // an unknown one is ignored
	}
	views, next, err := rest.Views(c, found, func(st *Stack) string { return st.ID }, s.summary)
	if err != nil {
		return 0, nil, err
	}
	out := rest.Obj{"stacks": views}
	if next != "" {
		out["links"] = []rest.Obj{link("next", next)}
	}
	return http.StatusOK, out, nil
}

// statusMatches takes both COMPLETE and CREATE_COMPLETE.
func statusMatches(q url.Values, st *Stack) bool {
	want, ok := q["status"]
	return !ok || slices.Contains(want, st.Status) || slices.Contains(want, st.state())
}

// sortStacks sorts by name, the only key that clients use.
func sortStacks(list []*Stack, key, dir string) {
	if key != "name" && key != "stack_name" {
		return
	}
	slices.SortStableFunc(list, func(a, b *Stack) int { return strings.Compare(a.Name, b.Name) })
	if dir == "desc" {
		slices.Reverse(list)
	}
}

// request reads the body of a create, update or validate.
func (s *Service) request(c *rest.Call) (Request, error) {
	var body struct {
		Name            string            `json:"stack_name"`
		Template        *string           `json:"template"`
		Files           map[string]string `json:"files"`
		Environment     any               `json:"environment"`
		Parameters      map[string]any    `json:"parameters"`
		TimeoutMins     any               `json:"timeout_mins"`
		DisableRollback any               `json:"disable_rollback"`
		Tags            any               `json:"tags"`
	}
	var req Request
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return req, badRequest("JSON parse error: %v", err)
	}
	req = Request{Name: body.Name, Files: body.Files}
	var err error
	if body.Template != nil {
		if req.Template, err = s.template(*body.Template); err != nil {
			return req, asAnswer(err)
		}
	}
	if req.Environment, err = parseEnvironment(hot.FromJSON(body.Environment)); err != nil {
		return req, asAnswer(err)
	}
	req.Parameters, _ = hot.FromJSON(body.Parameters).(map[string]any)
	if body.TimeoutMins != nil {
		n, err := hot.Number(hot.FromJSON(body.TimeoutMins))
		mins, whole := n.(int)
		if err != nil || !whole {
			return req, badRequest("Only integer is acceptable by 'timeout_mins'.")
		}
		req.TimeoutMins = &mins
	}
	if body.DisableRollback != nil {
		b, err := hot.Boolean(body.DisableRollback)
		if err != nil {
			return req, badRequest("Unrecognized value %q for %q", hot.Text(body.DisableRollback), "disable_rollback")
		}
		v := b == true
		req.DisableRollback = &v
	}
	req.Tags, err = requestTags(body.Tags)
	return req, err
}

// requestTags splits the text that tags come as.
func requestTags(v any) (*[]string, error) {
	text, ok := v.(string)
	switch {
	case v == nil:
		return nil, nil
	case !ok:
		return nil, rest.Errorf(http.StatusBadRequest, "AttributeError", "")
	}
	tags := strings.Split(text, ",")
	for _, t := range tags {
		const longest = 80
		if utf8.RuneCountInString(t) > longest {
			return nil, badRequest("Invalid tag, %q is longer than %d characters", t, longest)
		}
	}
	return &tags, nil
}

// checkList refuses the questions that a list of stacks cannot answer.
func checkList(q url.Values) error {
	for _, name := range []string{"show_nested", "show_deleted", "show_hidden", "global_tenant", "with_count"} {
		if v := strings.ToLower(q.Get(name)); q.Has(name) && v != "true" && v != "false" {
			return badRequest("Unrecognized value %q for %q, acceptable values are: true, false", q.Get(name), name)
		}
	}
	if l := q.Get("limit"); l != "" {
		if _, err := strconv.Atoi(l); err != nil {
			return badRequest("Only integer is acceptable by 'limit'.")
		}
	}
	if q.Has("tags") || q.Has("tags_any") || q.Has("not_tags") || q.Has("not_tags_any") {
		if slices.ContainsFunc([]string{"name", "status", "action", "id"}, q.Has) {
			// an error of the real service in the release that the contract was checked with
			return rest.Errorf(http.StatusInternalServerError, "RemoteError", "")
		}
	}
	return nil
}

func (s *Service) create(c *rest.Call) (int, any, error) {
	req, err := s.request(c)
	if err != nil {
		return 0, nil, err
	}
	st, err := s.Create(c.Caller, req)
	if err != nil {
		return 0, nil, err
	}
	c.W.Header().Set("Location", s.stackURL(st))
	links := []rest.Obj{link("self", s.stackURL(st))}
	return http.StatusCreated, rest.Obj{"stack": rest.Obj{"id": st.ID, "links": links}}, nil
}

func (s *Service) update(c *rest.Call, st *Stack, existing bool) (int, any, error) {
	req, err := s.request(c)
	if err != nil {
		return 0, nil, err
	}
	req.Existing = existing
	if err := s.Update(st, req); err != nil {
		return 0, nil, err
	}
	return http.StatusAccepted, rest.Obj{
		"message": "The request is accepted for processing.<br /><br />\n\n\n",
		"code":    "202 Accepted", "title": "Accepted",
	}, nil
}

func (s *Service) preview(c *rest.Call) (int, any, error) {
	req, err := s.request(c)
	if err != nil {
		return 0, nil, err
	}
	st, err := s.Preview(c.Caller, req)
	if err != nil {
		return 0, nil, err
	}
	v := s.view(st, false)
	resources := []rest.Obj{}
	for _, r := range listed(st, 0) {
		resources = append(resources, s.resourceView(r))
	}
	v["resources"] = resources
	return http.StatusOK, rest.Obj{"stack": v}, nil
}

func (s *Service) validateTemplate(c *rest.Call) (int, any, error) {
	req, err := s.request(c)
	if err != nil {
		return 0, nil, err
	}
	if req.Template == nil {
		return 0, nil, badRequest("No template specified")
	}
	params, given := rest.Obj{}, map[string]any{}
	for name, p := range req.Template.Parameters {
		typ := map[string]string{
			hot.TypeString: "String", hot.TypeNumber: "Number", hot.TypeJSON: "Json",
			hot.TypeList: "CommaDelimitedList", hot.TypeBoolean: "Boolean",
		}[p.Type]
		v := rest.Obj{
			"Type": typ, "NoEcho": map[bool]string{true: "true", false: "false"}[p.Hidden],
			"Description": p.Description, "Label": cmp.Or(p.Label, name),
		}
		given[name] = empty(p.Type)
		if p.HasDefault {
			v["Default"], given[name] = p.Default, p.Default
		}
		params[name] = v
	}
	st := &Stack{
		Name: "validate", Caller: c.Caller, tmpl: req.Template, files: req.Files, env: req.Environment, params: given,
	}
	if err := s.validate(st, 0, false); err != nil {
		return 0, nil, asAnswer(err)
	}
	return http.StatusOK, rest.Obj{
		"Description": req.Template.Description, "Parameters": params, "Environment": req.Environment.view(),
	}, nil
}
