package openstack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// stackFailure explains why a stack failed: its own reason, then that of the resources where it began, then what Nova says
// about a server. What cannot be found out is left out.
func (j *job) stackFailure(ctx context.Context, action string, st *stack) *lcm.Error {
	detail := fmt.Sprintf("stack %s is %s: %s", st.ref(), st.Status, first(tidy(st.Reason), "no reason given"))
	all, err := j.listResources(ctx, st)
	if err != nil {
		j.w.Log.WarnContext(ctx, "resources of a failed stack are not known", "stack", st.ref(), "error", err)
	}
	for _, r := range culprits(all) {
		reason := tidy(r.Reason)
		if f := j.serverFault(ctx, r); f != "" && !strings.Contains(reason, f) && !strings.Contains(detail, f) {
			reason = strings.TrimPrefix(reason+"; Nova: "+f, "; ")
		}
		if reason == "" || strings.Contains(detail, reason) {
			continue
		}
		detail += fmt.Sprintf("; %s (%s%s): %s", pathOf(r, all), r.Type, prefixed(" ", r.PhysicalID), reason)
	}
	e := &lcm.Error{Code: lcm.CodeUpstream, Title: "Stack " + action + " failed", Detail: detail, Hint: hint(detail)}
	if quotaText.MatchString(detail) {
		e.Class = lcm.Quota
	}
	if e.Hint == "" {
		e.Hint = "remove the cause in the VIM and retry the operation, or roll it back"
	}
	return e
}

// culprits are the failed resources where a failure began, at most three: not the stacks around them, and not those that were
// only interrupted because of another.
func culprits(all []resource) []resource {
	var out, interrupted []resource
	for _, r := range all {
		switch {
		case !strings.HasSuffix(r.Status, "_FAILED") || hasFailedPart(r, all):
		case strings.Contains(r.Reason, "aborted"):
			interrupted = append(interrupted, r)
		default:
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		out = interrupted
	}
	slices.SortFunc(out, func(a, b resource) int { return strings.Compare(pathOf(a, all), pathOf(b, all)) })
	return out[:min(len(out), 3)]
}

func hasFailedPart(r resource, all []resource) bool {
	return r.PhysicalID != "" && slices.ContainsFunc(all, func(p resource) bool {
		return p.owner().ID == r.PhysicalID && strings.HasSuffix(p.Status, "_FAILED")
	})
}

// pathOf names a resource with the nested stacks it is in, "masterNode-1.masterNode_CP1".
func pathOf(r resource, all []resource) string {
	name := r.Name
	for range nestedDepth + 1 {
		owner := r.owner().ID
		at := slices.IndexFunc(all, func(p resource) bool { return p.PhysicalID != "" && p.PhysicalID == owner })
		if at < 0 {
			break
		}
		r = all[at]
		name = r.Name + "." + name
	}
	return name
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// serverFault asks Nova why a server failed.
func (j *job) serverFault(ctx context.Context, r resource) string {
	if r.Type != "OS::Nova::Server" || r.PhysicalID == "" {
		return ""
	}
	var out struct {
		Server struct {
			Fault struct {
				Message string `json:"message"`
			} `json:"fault"`
		} `json:"server"`
	}
	err := j.do(ctx, call{what: "read server " + r.PhysicalID, service: nova, method: http.MethodGet, path: "/servers/" + segment(r.PhysicalID), out: &out})
	if err != nil {
		j.w.Log.WarnContext(ctx, "fault of a server is not known", "server", r.PhysicalID, "error", err)
	}
	return tidy(out.Server.Fault.Message)
}
