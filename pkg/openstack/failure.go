package openstack

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

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
		if strings.Contains(detail, bare(reason)) { // the stack repeats what its resource says, with a longer path
			reason = ""
		}
		if f := j.serverFault(ctx, r); f != "" && !strings.Contains(reason, f) && !strings.Contains(detail, f) {
			reason = strings.TrimPrefix(reason+"; Nova: "+f, "; ")
		}
		detail += fmt.Sprintf("; %s (%s%s)%s", pathOf(r, all), r.Type, prefixed(" ", r.PhysicalID), prefixed(": ", reason))
	}
	e := &lcm.Error{Code: lcm.CodeUpstream, Title: "Stack " + action + " failed", Detail: detail, Hint: hint(detail)}
	if quotaText.MatchString(detail) {
		e.Class = lcm.Quota
	}
	if e.Hint == "" {
		e.Hint = "remove the cause in the VIM; " + lcm.WaysOut(j.w.Op)
	}
	return e
}

// reasonPath is how Heat begins a reason: with what it did and the way to the resource.
var reasonPath = regexp.MustCompile(`^(Resource \w+ failed: )?(\w+: )?resources\.[^ :]+: `)

// bare is a reason without where it arose.
func bare(reason string) string { return reasonPath.ReplaceAllString(reason, "") }

// doubts remembers failures that were seen once. A failure is believed at the second look: one that Heat is about to take back, or that another
// node's update has already overtaken, is none. It is safe for concurrent use.
type doubts struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// Times of a doubt: how long after the first look the second one counts, and when a first look is forgotten.
const (
	doubtPause = 300 * time.Millisecond
	doubtAge   = 10 * time.Minute
)

// confirmed returns nil when the failure of a stack has been seen before, and a wait when this is the first time.
func (j *job) confirmed(st *stack) error {
	d := &j.doubts
	now := j.w.Clock.Now()
	key := strings.Join(append([]string{st.ID, st.Status, j.w.Op.ID}, st.Tags...), " ")
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.seen, func(_ string, at time.Time) bool { return now.Sub(at) > doubtAge })
	if at, ok := d.seen[key]; ok && now.Sub(at) >= doubtPause {
		delete(d.seen, key)
		return nil
	} else if !ok {
		if d.seen == nil {
			d.seen = map[string]time.Time{}
		}
		d.seen[key] = now
	}
	return lcm.Wait(doubtPause, "stack "+st.Status+", looking again")
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
	if r.Type != typeServer || r.PhysicalID == "" {
		return ""
	}
	sv, err := j.readServer(ctx, r.PhysicalID)
	if err != nil {
		j.w.Log.WarnContext(ctx, "fault of a server is not known", "server", r.PhysicalID, "error", err)
		return ""
	}
	return tidy(sv.Fault.Message)
}
