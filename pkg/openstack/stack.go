package openstack

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// stack is what Heat's list says about a stack; one call that needs no redirect and makes Heat resolve nothing.
type stack struct {
	ID     string   `json:"id"`
	Name   string   `json:"stack_name"`
	Status string   `json:"stack_status"`
	Reason string   `json:"stack_status_reason"`
	Tags   []string `json:"tags"`
}

// ref is how Heat writes a stack in one word, "name/id".
func (s stack) ref() string { return s.Name + "/" + s.ID }

// failed includes a rollback by Heat: nobody asked for what is there then.
func (s stack) failed() bool {
	return strings.HasSuffix(s.Status, "_FAILED") || s.Status == "ROLLBACK_COMPLETE"
}
func (s stack) complete() bool   { return strings.HasSuffix(s.Status, "_COMPLETE") && !s.failed() }
func (s stack) inProgress() bool { return strings.HasSuffix(s.Status, "_IN_PROGRESS") }
func (s stack) deleting() bool   { return s.Status == "DELETE_IN_PROGRESS" }

// findStack looks for a stack by name.
func (j *job) findStack(ctx context.Context, name string) (*stack, error) {
	found, err := j.listStacks(ctx, "look for stack "+name, url.Values{"name": {name}})
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		if s.Name == name && s.Status != "DELETE_COMPLETE" {
			return &s, nil
		}
	}
	return nil, nil //nolint:nilnil // no stack is a good answer
}

func (j *job) listStacks(ctx context.Context, what string, q url.Values) ([]stack, error) {
	var out struct {
		Stacks []stack `json:"stacks"`
	}
	err := j.do(ctx, call{what: what, service: heat, method: http.MethodGet, path: "/stacks?" + q.Encode(), out: &out})
	return out.Stacks, err
}

// readStack reads a stack that the list of stacks does not show, because it is nested in another. The error is CodeNotFound when it is not there.
func (j *job) readStack(ctx context.Context, s stack) (*stack, error) {
	var out struct {
		Stack stack `json:"stack"`
	}
	err := j.do(ctx, call{
		what: "read stack " + s.Name, service: heat, method: http.MethodGet,
		path: "/stacks/" + segment(s.Name) + "/" + segment(s.ID) + "?resolve_outputs=false", out: &out,
	})
	return &out.Stack, err
}

// body is what Heat is given to create or update a stack. The tags say whose it is: the instance's, changed last by which operation, with
// which of its updates.
func (j *job) body(st *userdata.Stack, token string) map[string]any {
	tags := j.w.Instance.ID + "," + j.w.Op.ID
	if token != "" {
		tags += "," + token
	}
	if st.Note != "" {
		tags += "," + st.Note
	}
	return map[string]any{
		"template": st.Template, "files": st.Files, "parameters": st.Parameters(),
		"timeout_mins": max(int(j.cfg.StackTimeout/time.Minute), 1), "disable_rollback": true, "tags": tags,
	}
}

// createStack starts a stack and returns its id.
func (j *job) createStack(ctx context.Context, name string, st *userdata.Stack) (string, error) {
	body := j.body(st, "")
	body["stack_name"] = name
	var out struct {
		Stack struct {
			ID string `json:"id"`
		} `json:"stack"`
	}
	err := j.do(ctx, call{what: "create stack " + name, service: heat, method: http.MethodPost, path: "/stacks", in: body, out: &out})
	return out.Stack.ID, err
}

// patchStack starts an update; the stack carries the token from the moment on in which Heat accepts it.
func (j *job) patchStack(ctx context.Context, s *stack, st *userdata.Stack, token string) error {
	return j.do(ctx, call{
		what: "update stack " + s.Name, service: heat, method: http.MethodPatch,
		path: "/stacks/" + segment(s.Name) + "/" + segment(s.ID), in: j.body(st, token),
	})
}

// deleteStack starts the deletion; a stack that is gone is as good.
func (j *job) deleteStack(ctx context.Context, s *stack) error {
	err := j.do(ctx, call{
		what: "delete stack " + s.Name, service: heat, method: http.MethodDelete,
		path: "/stacks/" + segment(s.Name) + "/" + segment(s.ID),
	})
	if notFound(err) {
		return nil
	}
	return err
}

// resource is a resource of a stack or of one nested in it.
type resource struct {
	Name       string `json:"resource_name"`
	Type       string `json:"resource_type"`
	PhysicalID string `json:"physical_resource_id"`
	Status     string `json:"resource_status"`
	Reason     string `json:"resource_status_reason"`
	Created    string `json:"creation_time"`
	Links      []link `json:"links"`
}

type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// nestedDepth is how deep resources are listed: a member of a group is at depth 1, what it consists of at depth 2, and it may have nested stacks of its own.
const nestedDepth = 5

func (j *job) listResources(ctx context.Context, s *stack) ([]resource, error) {
	var out struct {
		Resources []resource `json:"resources"`
	}
	err := j.do(ctx, call{
		what: "list the resources of stack " + s.Name, service: heat, method: http.MethodGet,
		path: "/stacks/" + segment(s.Name) + "/" + segment(s.ID) + "/resources?nested_depth=" + strconv.Itoa(nestedDepth),
		out:  &out,
	})
	return out.Resources, err
}

// owner is the stack that the resource is in.
func (r resource) owner() stack { return r.linked("stack") }

// nested is the stack that the resource stands for; its zero value when it stands for none.
func (r resource) nested() stack { return r.linked("nested") }

func (r resource) linked(rel string) stack {
	at := slices.IndexFunc(r.Links, func(l link) bool { return l.Rel == rel })
	if at < 0 {
		return stack{}
	}
	u, err := url.Parse(r.Links[at].Href)
	if err != nil {
		return stack{}
	}
	return stack{ID: path.Base(u.Path), Name: path.Base(path.Dir(u.Path))}
}

func (r resource) failed() bool { return strings.HasSuffix(r.Status, "_FAILED") }

// container says whether the resource is itself a stack: a nested template or a group.
func (r resource) container() bool {
	return strings.HasSuffix(r.Type, ".yaml") || strings.HasSuffix(r.Type, ".yml") ||
		r.Type == "OS::Heat::AutoScalingGroup" || r.Type == "OS::Heat::ResourceGroup" || r.Type == "OS::Heat::InstanceGroup"
}
