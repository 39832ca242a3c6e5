package stack

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Failure explains why a stack failed: its own reason, then that of the resources where it began, then what Nova says
// about a server. What cannot be found out is left out.
func (w *Worker) Failure(ctx context.Context, action string, st *cloud.Stack) *lcm.Error {
	detail := fmt.Sprintf("stack %s is %s: %s", st.Ref(), st.Status, cmp.Or(cloud.Tidy(st.Reason), "no reason given"))
	all, err := w.Cloud.ListResources(ctx, st)
	if err != nil {
		w.Execution.Log.WarnContext(ctx, "resources of a failed stack are not known", "stack", st.Ref(), "error", err)
	}
	for _, r := range causes(all) {
		reason := cloud.Tidy(r.Reason)
		// the stack repeats what its resource says, with a longer path
		if strings.Contains(detail, withoutPath(reason)) {
			reason = ""
		}
		if f := w.serverFault(ctx, r); f != "" && !strings.Contains(reason, f) && !strings.Contains(detail, f) {
			reason = strings.TrimPrefix(reason+"; Nova: "+f, "; ")
		}
		detail += fmt.Sprintf(
			"; %s (%s%s)%s", pathOf(r, all), r.Type, Prefixed(" ", r.PhysicalID), Prefixed(": ", reason),
		)
	}
	e := &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Stack " + action + " failed", Detail: detail,
		Hint: cmp.Or(imageHint(detail, w.Execution.Flavour), cloud.Hint(detail)),
	}
	if cloud.IsQuota(detail) {
		e.Class = lcm.Quota
	}
	if e.Hint == "" {
		e.Hint = "remove the cause in the VIM; " + lcm.WaysOut(w.Execution.Op)
	}
	return e
}

// reasonPath is how Heat begins a reason: with what it did and the way to the resource.
var reasonPath = regexp.MustCompile(`^(Resource \w+ failed: )?(\w+: )?resources\.[^ :]+: `)

// withoutPath is a reason without where it arose.
func withoutPath(reason string) string { return reasonPath.ReplaceAllString(reason, "") }

// causes are the failed resources where a failure began, at most three: not the stacks around them, and not those that
// were only interrupted because of another.
func causes(all []cloud.Resource) []cloud.Resource {
	var out, interrupted []cloud.Resource
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
	slices.SortFunc(out, func(a, b cloud.Resource) int { return strings.Compare(pathOf(a, all), pathOf(b, all)) })
	return out[:min(len(out), 3)]
}

func hasFailedPart(r cloud.Resource, all []cloud.Resource) bool {
	return r.PhysicalID != "" && slices.ContainsFunc(all, func(p cloud.Resource) bool {
		return p.Owner().ID == r.PhysicalID && strings.HasSuffix(p.Status, "_FAILED")
	})
}

// pathOf names a resource with the nested stacks it is in, "masterNode-1.masterNode_CP1".
func pathOf(r cloud.Resource, all []cloud.Resource) string {
	name := r.Name
	for range cloud.NestedDepth + 1 {
		owner := r.Owner().ID
		at := slices.IndexFunc(all, func(p cloud.Resource) bool { return p.PhysicalID != "" && p.PhysicalID == owner })
		if at < 0 {
			break
		}
		r = all[at]
		name = r.Name + "." + name
	}
	return name
}

// Prefixed is a text behind a prefix; "" when it does not exist.
func Prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// serverFault asks Nova why a server failed.
func (w *Worker) serverFault(ctx context.Context, r cloud.Resource) string {
	if r.Type != cloud.TypeServer || r.PhysicalID == "" {
		return ""
	}
	sv, err := w.Cloud.ReadServer(ctx, r.PhysicalID)
	if err != nil {
		w.Execution.Log.WarnContext(ctx, "fault of a server is not known", "server", r.PhysicalID, "error", err)
		return ""
	}
	return cloud.Tidy(sv.Fault.Message)
}
