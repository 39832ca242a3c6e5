// Package fault makes the simulated cloud fail on purpose: rules match calls or resources, and say what goes wrong.
package fault

import (
	"fmt"
	"net/http"
	"path"
	"regexp"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/timing"
)

// Kind says what goes wrong.
type Kind string

// Faults of HTTP calls.
const (
	// Status answers with Status and Body instead of doing the work; without Body, with the service's own error form.
	Status Kind = "status"
	// Hang never answers: until the client gives up or the rule is removed.
	Hang Kind = "hang"
	// Delay waits Delay and then goes on.
	Delay Kind = "delay"
	// Reset breaks the connection with a TCP reset before the work.
	Reset Kind = "reset"
	// Truncate does the work and breaks off in the middle of the body.
	Truncate Kind = "truncate"
	// HTML answers as a proxy in front of the service does: Status (502) with an HTML page.
	HTML Kind = "html"
	// DropReply does the work and closes the connection without a byte.
	DropReply Kind = "drop_reply"
	// ExpireTokens makes every token invalid at this call, and goes on: the call itself is then refused with 401.
	ExpireTokens Kind = "expire_tokens"
)

// Faults of the orchestration engine, for the work of every client.
const (
	// FailResource fails the action of a resource with Reason.
	FailResource Kind = "fail_resource"
	// HangResource leaves a resource in progress until the rule is removed, then the rules after it apply, or until the
	// stack gets another action.
	HangResource Kind = "hang_resource"
	// DelayResource lets the action of a resource take Delay longer.
	DelayResource Kind = "delay_resource"
	// HangStack leaves a stack in progress although its resources are done.
	HangStack Kind = "hang_stack"
)

var (
	callKinds     = []Kind{Status, Hang, Delay, Reset, Truncate, HTML, DropReply, ExpireTokens}
	resourceKinds = []Kind{FailResource, HangResource, DelayResource, HangStack}
)

// Rule is one fault. Empty match members match everything.
type Rule struct {
	// ID is given by the simulator.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`

	// Service ("keystone", "heat", "nova", "neutron", "glance", "cinder"), Method and Path (a regular expression
	// searched in the URL path) select HTTP calls.
	Service string `json:"service,omitempty"`
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"`

	// ResourceType, ResourceName and Stack are globs (path.Match), Action is "create", "update" or "delete"; they
	// select work of the orchestration engine. HangStack looks at Stack and Action only.
	ResourceType string `json:"resource_type,omitempty"`
	ResourceName string `json:"resource_name,omitempty"`
	Stack        string `json:"stack,omitempty"`
	Action       string `json:"action,omitempty"`

	// Nth is the first match that fires, counted from 1 (0 = 1); Count is how often it fires (0 = no end);
	// Probability is the chance of each (0 = certain).
	Nth         int     `json:"nth,omitempty"`
	Count       int     `json:"count,omitempty"`
	Probability float64 `json:"probability,omitempty"`

	// Status (default 500, for HTML 502), Body, Header and Delay shape the answer; Reason is the text of an error in
	// the service's own form, or of a failed resource.
	Status int               `json:"status,omitempty"`
	Body   string            `json:"body,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Delay  timing.Duration   `json:"delay,omitempty"`
	Reason string            `json:"reason,omitempty"`

	// Matched and Fired count what happened so far.
	Matched int `json:"matched"`
	Fired   int `json:"fired"`

	path     *regexp.Regexp
	released chan struct{}
}

// Released is closed when the rule is removed; a hang ends then.
func (r *Rule) Released() <-chan struct{} { return r.released }

func (r *Rule) compile() error {
	if !slices.Contains(callKinds, r.Kind) && !slices.Contains(resourceKinds, r.Kind) {
		return fmt.Errorf("fault kind %q: want one of %v", r.Kind, slices.Concat(callKinds, resourceKinds))
	}
	if r.Probability < 0 || r.Probability > 1 {
		return fmt.Errorf("fault probability %v: want 0 to 1", r.Probability)
	}
	if r.Status != 0 && (r.Status < 200 || r.Status > 599) {
		return fmt.Errorf("fault status %d: want 200 to 599", r.Status)
	}
	for _, glob := range []string{r.ResourceType, r.ResourceName, r.Stack} {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("fault pattern %q: %w", glob, err)
		}
	}
	if r.Path != "" {
		re, err := regexp.Compile(r.Path)
		if err != nil {
			return fmt.Errorf("fault path: %w", err)
		}
		r.path = re
	}
	r.released = make(chan struct{})
	return nil
}

func (r *Rule) matchesCall(service string, req *http.Request) bool {
	return slices.Contains(callKinds, r.Kind) &&
		(r.Service == "" || r.Service == service) &&
		(r.Method == "" || r.Method == req.Method) &&
		(r.path == nil || r.path.MatchString(req.URL.Path))
}

// Work is one piece of work of the orchestration engine.
type Work struct {
	// Type and Name are the resource's; both are empty for the stack itself.
	Type, Name string
	// Stack is the name of the stack that holds the resource, Action "create", "update" or "delete".
	Stack, Action string
}

func (r *Rule) matchesWork(w Work) bool {
	if !slices.Contains(resourceKinds, r.Kind) || (r.Kind == HangStack) != (w.Type == "") {
		return false
	}
	return (r.Action == "" || r.Action == w.Action) && glob(r.Stack, w.Stack) &&
		(w.Type == "" || glob(r.ResourceType, w.Type) && glob(r.ResourceName, w.Name))
}

func glob(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	ok, _ := path.Match(pattern, name)
	return ok
}
