package stack

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
	"github.com/gybe-nfv/gybe/pkg/openstack/userdata"
)

// Config tunes the work on stacks.
type Config struct {
	// Timeout is how long Heat may work on a stack.
	Timeout time.Duration
	// DoubtPause is how long after its first observation the failure of a stack counts when it is seen again.
	DoubtPause time.Duration
	// ZoneRetries is how often an operation that finds no room in a zone chooses other zones; 0 = as often as there are
	// zones, negative = never.
	ZoneRetries int
	// NoRoom recognises in Heat's and Nova's words that a zone has no room.
	NoRoom *regexp.Regexp
}

// Worker works on a stack of one VNF instance, for one tick of an operation.
type Worker struct {
	Config
	Cloud     *cloud.Client
	Execution *lcm.Execution
	Vim       string   // key of the connection in vimConnectionInfo
	Stack     string   // the name of the stack
	Others    []string // the names of the instance's other stacks
	Doubts    *Doubts
}

// Desired makes the stack that a step leads to. It is called when a request is sent.
type Desired func(context.Context) (*userdata.Stack, error)

// in is the desired stack in the zones that were chosen.
func (d Desired) in(ctx context.Context, z Zones) (*userdata.Stack, error) {
	s, err := d(ctx)
	if err != nil {
		return nil, err
	}
	z.apply(s)
	return s, nil
}

// Name is the name of the stack of an instance that is created through the primary connection.
func Name(instance string) string { return "vnf-" + instance }

// NameOf is the name of the stack of an instance, which another VNFM may have given.
func NameOf(i *lcm.Instance) string { return cmp.Or(i.PrimaryResource, Name(i.ID)) }

// Name is the name of the stack.
func (w *Worker) Name() string { return w.Stack }

// Owned says whether a stack is the instance's: every stack that Gybe creates for it carries its id as a tag.
func Owned(st *cloud.Stack, instance string) bool { return slices.Contains(st.Tags, instance) }

// Before is the instance as the operation found it.
func (w *Worker) Before() *lcm.Instance { return cmp.Or(w.Execution.Op.Before, w.Execution.Instance) }

// Find finds the instance's stack; nil when it does not exist.
func (w *Worker) Find(ctx context.Context) (*cloud.Stack, error) {
	return w.Cloud.FindStack(ctx, w.Name())
}

// LostHint is the way out for an instance whose stack was deleted in the VIM.
const LostHint = "mark the operation failed and heal the whole VNF with additionalParams.all, or terminate it"

// Present finds the instance's stack; it is an error when it does not exist.
func (w *Worker) Present(ctx context.Context) (*cloud.Stack, error) {
	st, err := w.Find(ctx)
	if err != nil {
		return nil, err
	}
	if st == nil {
		return nil, &lcm.Error{
			Code: lcm.CodeUpstream, Title: "Stack not found",
			Detail: fmt.Sprintf("the stack %s is not in the VIM %s any more", w.Name(), w.Cloud.URL()),
			Hint:   LostHint,
		}
	}
	if !Owned(st, w.Execution.Instance.ID) && !w.known(st) {
		return nil, Foreign(w.Cloud, st)
	}
	return st, nil
}

// known says whether the stack is the one that the instance was last seen with, whatever tags it has.
func (w *Worker) known(st *cloud.Stack) bool {
	i := w.Before().Instantiated
	return i != nil && i.Metadata["stack_id"] == st.ID
}

// Foreign reports a stack of another owner that has the name of the instance's. It is not touched.
func Foreign(c *cloud.Client, st *cloud.Stack) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Stack of another owner",
		Detail: fmt.Sprintf(
			"the stack %s, %s in project %s, has the name of the instance's stack and is not the instance's: it does "+
				"not carry its tag",
			st.Ref(), st.Status, c.Project()),
		Hint: "find out whose stack it is and delete it, then retry the operation; a rollback leaves it alone",
	}
}

// Recorded is the id of the stack at the last inventory.
func Recorded(i *lcm.Instance) string {
	if i.Instantiated == nil {
		return ""
	}
	id, _ := i.Instantiated.Metadata["stack_id"].(string)
	return id
}

// Resources lists the resources of the instance's stack; nothing when there is no stack.
func (w *Worker) Resources(ctx context.Context) ([]cloud.Resource, error) {
	st, err := w.Find(ctx)
	if err != nil || st == nil {
		return nil, err
	}
	return w.Cloud.ListResources(ctx, st)
}

// Mark tells Heat that a resource is broken, or no longer is. A broken one is replaced by the next update, or removed
// before others. A resource that is gone is a reason to observe again.
func (w *Worker) Mark(ctx context.Context, r cloud.Resource, unhealthy bool, why string) error {
	err := w.Cloud.MarkResource(ctx, r, unhealthy, why)
	if cloud.Conflict(err) { // Heat still works in this nested stack, after an update that was cancelled
		return lcm.Wait(time.Second, "stack "+r.Owner().Name+" is busy")
	}
	if cloud.NotFound(err) { // it has been replaced since it was listed; the next list shows that
		again := *lcm.AsError(err)
		again.Class = lcm.Transient
		return &again
	}
	return err
}

// situation is what the table needs to know of the operation.
func (w *Worker) situation(p purpose) situation {
	return situation{
		purpose: p, try: w.Execution.Op.Try, instance: w.Execution.Instance.ID, operation: w.Execution.Op.ID,
		timeout: w.Timeout,
	}
}

func (w *Worker) now() time.Time { return w.Execution.Clock.Now() }

// load reads the checkpoint of a step.
func load(s *lcm.Step) (Attempt, error) {
	var a Attempt
	if _, err := s.Load(&a); err != nil {
		return a, fmt.Errorf("read the step's checkpoint: %w", err)
	}
	return a, nil
}

// newAttempt is one more update, by which the present try of the operation differs from earlier ones.
func (w *Worker) newAttempt(z Zones) Attempt {
	return Attempt{Token: strings.ToLower(rand.Text()[:12]), Try: w.Execution.Op.Try, Since: w.now(), Zones: z}
}

// again is the attempt that follows: in a new try of the operation, zones that were full may have room by now.
func (w *Worker) again(a Attempt) Attempt {
	if a.Try != w.Execution.Op.Try {
		a.Zones = a.Zones.again()
	}
	return w.newAttempt(a.Zones)
}

// content is what Heat makes the stack from. The tags say that the stack is the instance's, which operation has changed
// it last and with which of its updates.
func (w *Worker) content(st *userdata.Stack, token string) cloud.StackContent {
	tags := []string{w.Execution.Instance.ID, w.Execution.Op.ID}
	for _, tag := range []string{token, st.Note} {
		if tag != "" {
			tags = append(tags, tag)
		}
	}
	return cloud.StackContent{
		Template: st.Template, Files: st.Files, Parameters: st.Parameters(), Timeout: w.Timeout, Tags: tags,
	}
}

// finished describes the stack of a finished step.
func finished(s *lcm.Step, st *cloud.Stack, z Zones) error {
	s.Detail(strings.TrimSuffix("stack "+st.Ref()+", "+z.String(), ", "))
	return nil
}

// overdue is the failure of a stack that is stuck. A retry sends the update again, and Heat begins again.
func (w *Worker) overdue(st *cloud.Stack) error {
	return &lcm.Error{
		Code: lcm.CodeTimeout, Title: "Stack is stuck",
		Detail: fmt.Sprintf(
			"stack %s is %s for longer than the %s that Heat may take; it seems that Heat does not work on it any more",
			st.Ref(), st.Status, w.Timeout,
		),
		Hint: "check that Heat's engines run; " + lcm.WaysOut(w.Execution.Op),
	}
}

// From countFrom on the resources of a stack are counted, and again every countEvery: more often would be no small part
// of the calls.
const (
	countFrom  = 30 * time.Second
	countEvery = 15 * time.Second
)

// busy waits for Heat and says how far it is. ours says that Heat works on the step's own request.
func (w *Worker) busy(ctx context.Context, st *cloud.Stack, ours bool, since time.Time) error {
	elapsed := w.now().Sub(since)
	wait := cloud.Pace(elapsed)
	is := "stack " + st.Status
	waiting := w.Execution.Op.Waiting
	switch {
	case !ours:
		return lcm.Wait(max(wait, 500*time.Millisecond), "waiting for an earlier action: "+is)
	case elapsed < countFrom:
		return lcm.Wait(wait, is)
	case elapsed/countEvery == (elapsed-wait)/countEvery && strings.HasPrefix(waiting, is+", "):
		// the last count still says enough
		return lcm.Wait(wait, waiting)
	}

	all, err := w.Cloud.ListResources(ctx, st)
	if err != nil {
		return err
	}
	done, total := 0, 0
	for _, r := range all {
		if r.IsStack() {
			continue
		}
		total++
		if strings.HasSuffix(r.Status, "_COMPLETE") {
			done++
		}
	}
	return lcm.Wait(wait, fmt.Sprintf("%s, %d of %d resources complete", is, done, total))
}
