package cloud

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// heatAPI are the requests to Heat.
type heatAPI struct{ *session }

// Stack is a stack as Heat's list shows it: one call that needs no redirect and makes Heat resolve nothing.
type Stack struct {
	ID     string   `json:"id"`
	Name   string   `json:"stack_name"`
	Status string   `json:"stack_status"`
	Reason string   `json:"stack_status_reason"`
	Tags   []string `json:"tags"`
}

// Ref is how Heat writes a stack in one word, "name/id".
func (s Stack) Ref() string { return s.Name + "/" + s.ID }

// Failed includes a rollback by Heat: it leaves a stack that no user asked for.
func (s Stack) Failed() bool {
	return strings.HasSuffix(s.Status, "_FAILED") || s.Status == "ROLLBACK_COMPLETE"
}

// Complete says that Heat has done what it was asked for.
func (s Stack) Complete() bool { return strings.HasSuffix(s.Status, "_COMPLETE") && !s.Failed() }

// InProgress says that Heat works on the stack.
func (s Stack) InProgress() bool { return strings.HasSuffix(s.Status, "_IN_PROGRESS") }

// Deleting says that Heat deletes the stack.
func (s Stack) Deleting() bool { return s.Status == "DELETE_IN_PROGRESS" }

// FindStack looks for a stack by name; nil when it does not exist.
func (c heatAPI) FindStack(ctx context.Context, name string) (*Stack, error) {
	found, err := c.ListStacks(ctx, "look for stack "+name, url.Values{"name": {name}})
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

// FindStackByID finds a stack, nested or not; nil when it does not exist.
func (c heatAPI) FindStackByID(ctx context.Context, id string) (*Stack, error) {
	found, err := c.ListStacks(ctx, "look for stack "+id, url.Values{"id": {id}, "show_nested": {"true"}})
	for _, s := range found {
		if s.ID == id && s.Status != "DELETE_COMPLETE" {
			return &s, nil
		}
	}
	return nil, err //nolint:nilnil // no stack is a good answer
}

// ListStacks lists the stacks of the project that a query selects; what is for errors.
func (c heatAPI) ListStacks(ctx context.Context, what string, q url.Values) (found []Stack, err error) {
	list := List{What: what, Service: Heat, Path: "/stacks", Member: "stacks", Query: q, Pages: maxPages}
	err = EachPage(ctx, c, list, func(s Stack) (string, bool) {
		found = append(found, s)
		return s.ID, true
	})
	return found, err
}

// ReadStack reads a stack that the list of stacks does not show, because it is nested in another. A stack that is not
// there is an error.
func (c heatAPI) ReadStack(ctx context.Context, s Stack) (*Stack, error) {
	var out struct {
		Stack Stack `json:"stack"`
	}
	err := c.readStack(ctx, s, &out)
	return &out.Stack, err
}

// StackParameters returns the parameters of a stack as Heat shows them, and when the stack was created.
func (c heatAPI) StackParameters(ctx context.Context, s *Stack) (map[string]any, time.Time, error) {
	var out struct {
		Stack struct {
			Created    string         `json:"creation_time"`
			Parameters map[string]any `json:"parameters"`
		} `json:"stack"`
	}
	err := c.readStack(ctx, *s, &out)
	created, _ := time.Parse(time.RFC3339, out.Stack.Created)
	return out.Stack.Parameters, created, err
}

// StackTemplate returns the template of a stack.
func (c heatAPI) StackTemplate(ctx context.Context, s *Stack) (map[string]any, error) {
	var out map[string]any
	err := c.Do(ctx, Call{
		What: "read the template of stack " + s.Name, Service: Heat, Method: http.MethodGet,
		Path: s.path() + "/template", Out: &out,
	})
	return out, err
}

// StackFiles returns the nested templates and other files of a stack, by the names that its templates have for them.
func (c heatAPI) StackFiles(ctx context.Context, s *Stack) (map[string]string, error) {
	var out map[string]string
	err := c.Do(ctx, Call{
		What: "read the files of stack " + s.Name, Service: Heat, Method: http.MethodGet, Path: s.path() + "/files",
		Out: &out,
	})
	return out, err
}

// readStack reads a stack without its outputs, which Heat would resolve for every call.
func (c heatAPI) readStack(ctx context.Context, s Stack, out any) error {
	return c.Do(ctx, Call{
		What: "read stack " + s.Name, Service: Heat, Method: http.MethodGet, Path: s.path() + "?resolve_outputs=False",
		Out: out,
	})
}

func (s Stack) path() string { return "/stacks/" + segment(s.Name) + "/" + segment(s.ID) }

// StackContent is what Heat makes a stack from.
type StackContent struct {
	Template   string
	Files      map[string]string
	Parameters map[string]any
	Timeout    time.Duration
	Tags       []string
}

func (b StackContent) body() map[string]any {
	return map[string]any{
		"template": b.Template, "files": b.Files, "parameters": b.Parameters,
		"timeout_mins": max(int(b.Timeout/time.Minute), 1), "disable_rollback": true, "tags": strings.Join(b.Tags, ","),
	}
}

// CreateStack starts a stack and returns its id.
func (c heatAPI) CreateStack(ctx context.Context, name string, content StackContent) (string, error) {
	body := content.body()
	body["stack_name"] = name
	var out struct {
		Stack struct {
			ID string `json:"id"`
		} `json:"stack"`
	}
	err := c.Do(ctx, Call{
		What: "create stack " + name, Service: Heat, Method: http.MethodPost, Path: "/stacks", In: body, Out: &out,
	})
	return out.Stack.ID, err
}

// UpdateStack starts an update. The stack carries the new tags from the moment on in which Heat accepts it.
func (c heatAPI) UpdateStack(ctx context.Context, s *Stack, content StackContent) error {
	return c.Do(ctx, Call{
		What: "update stack " + s.Name, Service: Heat, Method: http.MethodPatch, Path: s.path(), In: content.body(),
	})
}

// DeleteStack starts the deletion. A stack that is gone is not an error.
func (c heatAPI) DeleteStack(ctx context.Context, s *Stack) error {
	err := c.typed(ctx, "delete stack "+s.Name, Heat, func(ctx context.Context, sc *gophercloud.ServiceClient) error {
		return stacks.Delete(ctx, sc, segment(s.Name), segment(s.ID)).ExtractErr()
	})
	if NotFound(err) {
		return nil
	}
	return err
}

// StopStack asks Heat to leave a stack that it creates or updates as it is now.
func (c heatAPI) StopStack(ctx context.Context, s *Stack) error {
	const action = "cancel_without_rollback"
	return c.Do(ctx, Call{
		What: action + " of stack " + s.Name, Service: Heat, Method: http.MethodPost, Path: s.path() + "/actions",
		In: map[string]any{action: nil},
	})
}

// Resource is a resource of a stack or of one nested in it.
type Resource struct {
	Name         string `json:"resource_name"`
	Type         string `json:"resource_type"`
	PhysicalID   string `json:"physical_resource_id"`
	Status       string `json:"resource_status"`
	Reason       string `json:"resource_status_reason"`
	CreationTime string `json:"creation_time"`
	Links        []Link `json:"links"`
}

// Link is a link of an answer.
type Link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// NestedDepth is how deep resources are listed: a member of a group is at depth 1, its parts at depth 2, and these may
// have nested stacks of their own.
const NestedDepth = 5

// ListResources lists the resources of a stack and of those nested in it.
func (c heatAPI) ListResources(ctx context.Context, s *Stack) ([]Resource, error) {
	var out struct {
		Resources []Resource `json:"resources"`
	}
	err := c.Do(ctx, Call{
		What: "list the resources of stack " + s.Name, Service: Heat, Method: http.MethodGet,
		Path: s.path() + "/resources?nested_depth=" + strconv.Itoa(NestedDepth), Out: &out,
	})
	if err == nil && len(out.Resources) > maxResources {
		err = lcm.Errorf(lcm.CodeUpstream, "stack %s has %d resources; at most %d are supported", s.Ref(),
			len(out.Resources), maxResources)
	}
	return out.Resources, err
}

// maxResources bounds the resources of a stack with the nested ones. Heat allows 1,000 by default. Finding the places
// of resources takes time that grows with the square of their number.
const maxResources = 10_000

// MarkResource tells Heat that a resource is broken, or no longer is. A broken one is replaced by the next update, or
// removed before others.
func (c heatAPI) MarkResource(ctx context.Context, r Resource, unhealthy bool, why string) error {
	in := r.Owner()
	return c.typed(ctx, "mark "+r.Name+" of stack "+in.Name, Heat,
		func(ctx context.Context, sc *gophercloud.ServiceClient) error {
			opts := stackresources.MarkUnhealthyOpts{MarkUnhealthy: unhealthy, ResourceStatusReason: why}
			return stackresources.MarkUnhealthy(ctx, sc, segment(in.Name), segment(in.ID), segment(r.Name),
				opts).ExtractErr()
		})
}

// SignalResource sends a signal to a resource of a stack.
func (c heatAPI) SignalResource(ctx context.Context, s *Stack, name string) error {
	return c.Do(ctx, Call{
		What: "signal " + name + " of stack " + s.Name, Service: Heat, Method: http.MethodPost,
		Path: s.path() + "/resources/" + segment(name) + "/signal",
	})
}

// Created is the age of the resource; one whose age cannot be read is the oldest.
func (r Resource) Created() time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, r.CreationTime); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// RemovedFirst compares members of a scaling group that have not failed, in the order in which Heat removes them: the
// oldest first.
func RemovedFirst(a, b Resource) int {
	return cmp.Or(a.Created().Compare(b.Created()), strings.Compare(a.Name, b.Name))
}

// Owner is the stack that the resource is in.
func (r Resource) Owner() Stack { return r.linked("stack") }

// Nested is the stack that the resource stands for; its zero value when it stands for none.
func (r Resource) Nested() Stack { return r.linked("nested") }

func (r Resource) linked(rel string) Stack {
	at := slices.IndexFunc(r.Links, func(l Link) bool { return l.Rel == rel })
	if at < 0 {
		return Stack{}
	}
	u, err := url.Parse(r.Links[at].Href)
	if err != nil {
		return Stack{}
	}
	return Stack{ID: path.Base(u.Path), Name: path.Base(path.Dir(u.Path))}
}

// Failed says that Heat could not do what it was asked for, or that the resource is marked.
func (r Resource) Failed() bool { return strings.HasSuffix(r.Status, "_FAILED") }

// IsStack says whether the resource is itself a stack: a nested template or a group.
func (r Resource) IsStack() bool {
	return strings.HasSuffix(r.Type, ".yaml") || strings.HasSuffix(r.Type, ".yml") ||
		r.Type == TypeScalingGroup || r.Type == TypeResourceGroup || r.Type == "OS::Heat::InstanceGroup"
}
