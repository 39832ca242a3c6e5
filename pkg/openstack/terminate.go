package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Terminate implements lcm.Infra: stacks by name, by stored id and by tag, then images by tag, until none is left. It is
// the rollback of an instantiation too.
func (d *Driver) Terminate(ctx context.Context, w *lcm.Work) error {
	if err := d.grace(ctx, w); err != nil {
		return err
	}
	j, err := d.begin(ctx, w)
	if err != nil {
		return err
	}
	name := j.stackName()
	err = w.Step(ctx, "delete stack", name, func(ctx context.Context, s *lcm.Step) error { return j.stackDeleted(ctx, s, name) })
	if err == nil {
		err = w.Step(ctx, "delete images", w.Instance.ID, j.imagesDeleted)
	}
	if err != nil {
		return j.settle(err)
	}
	if w.Op.Type == sol.LcmOperationInstantiate {
		w.Op.ResourceChanges = nil // all that was added is gone again
	} else {
		was := recordOf(w.Op.Before)
		if was.info == nil {
			was = recordOf(w.Instance)
		}
		w.Op.ResourceChanges = differences(was, record{})
	}
	return nil
}

// grace gives a VNF that is terminated gracefully the time to finish its work.
func (d *Driver) grace(ctx context.Context, w *lcm.Work) error {
	if w.Op.Type != sol.LcmOperationTerminate {
		return nil
	}
	var req sol.TerminateVnfRequest
	if err := json.Unmarshal(w.Op.Params, &req); err != nil {
		return fmt.Errorf("decode the request: %w", err)
	}
	if req.TerminationType != sol.TerminationTypeGraceful {
		return nil
	}
	return d.waited(ctx, w, "graceful termination", req.GracefulTerminationTimeout)
}

// waited gives a VNF time to finish its work, as a step: so many seconds, or the default for 0.
func (d *Driver) waited(ctx context.Context, w *lcm.Work, name string, seconds int) error {
	timeout := d.cfg.GracefulTimeout
	if seconds > 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	return w.Step(ctx, name, "", func(_ context.Context, s *lcm.Step) error {
		if left := s.Started().Add(timeout).Sub(w.Clock.Now()); left > 0 {
			return lcm.Wait(left, fmt.Sprintf("%s: %s left for the VNF to finish its work", name, left.Round(time.Second)))
		}
		s.Detail("waited " + timeout.String())
		return nil
	})
}

// deletePause is the wait before a failed deletion is asked for again, times the number of tries.
const deletePause = 500 * time.Millisecond

// deletion is the checkpoint of the step that deletes the stack.
type deletion struct {
	Since time.Time `json:"since"`
	// Tries counts the deletions that were asked for.
	Tries int `json:"tries"`
	// Try is the operation's try that they belong to.
	Try int `json:"try,omitempty"`
}

// forgotten says whether Heat is to be asked again although it says that it deletes: an engine that died has left the stack as it is, and no other
// one goes on with it. Asked again, Heat begins anew. That is when the user has retried, or after longer than Heat takes for anything.
func (j *job) forgotten(cp deletion) bool {
	return cp.Tries > 0 && (cp.Try != j.w.Op.Tries || j.w.Clock.Now().Sub(cp.Since) > j.cfg.StackTimeout+overrun)
}

// stackDeleted is one look at the instance's stacks, and what follows from it. It is done when there is none.
func (j *job) stackDeleted(ctx context.Context, s *lcm.Step, name string) error {
	var cp deletion
	if _, err := s.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	now, again := j.w.Clock.Now(), j.forgotten(cp)
	if cp.Try != j.w.Op.Tries {
		cp = deletion{Try: j.w.Op.Tries}
	}
	if cp.Tries > 0 && !again { // under way: the name is enough until it is gone
		st, err := j.findStack(ctx, name)
		if err != nil {
			return err
		}
		if st != nil && st.deleting() {
			return lcm.Wait(pace(now.Sub(cp.Since)), "stack "+st.Status)
		}
	}
	left, err := j.instanceStacks(ctx, name)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		if err := j.sameProject(cp); err != nil {
			return err
		}
		s.Detail("no stack is left")
		return nil
	}
	if !again && !slices.ContainsFunc(left, func(st stack) bool { return !st.deleting() }) {
		return lcm.Wait(pace(now.Sub(cp.Since)), "stack "+left[0].Status)
	}
	if cp.Tries >= maxDeletes {
		if i := slices.IndexFunc(left, func(st stack) bool { return st.Status == "DELETE_FAILED" }); i >= 0 {
			failure := j.stackFailure(ctx, "delete", &left[i])
			if err := s.Save(ctx, deletion{Try: cp.Try}); err != nil { // a retry tries as often again
				return err
			}
			return failure
		}
	}
	// What holds a resource may need a moment.
	if pause := cp.Since.Add(time.Duration(cp.Tries) * deletePause).Sub(now); pause > 0 {
		return lcm.Wait(pause, "stack "+left[0].Status+", deleting it again")
	}
	if err := s.Save(ctx, deletion{Since: now, Tries: cp.Tries + 1, Try: cp.Try}); err != nil {
		return err
	}
	for _, st := range left {
		if st.deleting() && !again {
			continue
		}
		if err := j.deleteStack(ctx, &st); err != nil {
			return err
		}
	}
	return lcm.Wait(pace(0), "stack DELETE_IN_PROGRESS")
}

// sameProject refuses to take "not found" for "deleted" where the VIM connection leads to another project than the one that the
// stack was made in: there it would go on for ever, and nobody would know.
func (j *job) sameProject(cp deletion) error {
	if cp.Tries > 0 || j.recordedStack() == "" {
		return nil
	}
	was, _ := j.w.Instance.Instantiated.Metadata["tenant"].(string)
	is := first(j.conn.project, j.project)
	if was == "" || was == is {
		return nil
	}
	return lcm.Errorf(lcm.CodeUpstream, "the stack %s was made in project %s, and the VIM connection %s leads to project %s of %s, where it is not",
		j.stackName(), was, j.vim, is, j.conn.base).WithHint("correct the instance's VIM connection and retry the operation")
}

// instanceStacks finds every stack of the instance: by tag, and by the id of the last inventory. The name is asked for, too, because
// lists by tag may lag behind; a stack that has nothing but the name is somebody else's.
func (j *job) instanceStacks(ctx context.Context, name string) ([]stack, error) {
	queries := []url.Values{{"name": {name}}, {"tags": {j.w.Instance.ID}}}
	id := j.recordedStack()
	if id != "" {
		queries = append(queries, url.Values{"id": {id}})
	}
	results := make([][]stack, len(queries))
	err := lcm.Each(ctx, 0, []int{0, 1, 2}[:len(queries)], func(ctx context.Context, i int) error {
		var err error
		results[i], err = j.listStacks(ctx, "look for the instance's stacks", queries[i])
		return err
	})
	var out []stack
	for _, st := range slices.Concat(results...) {
		mine := id != "" && st.ID == id || j.belongs(&st)
		known := slices.ContainsFunc(out, func(o stack) bool { return o.ID == st.ID })
		if mine && !known && st.Status != "DELETE_COMPLETE" {
			out = append(out, st)
		}
	}
	return out, err
}

// recordedStack is the id of the stack at the last inventory.
func (j *job) recordedStack() string {
	if j.w.Instance.Instantiated == nil {
		return ""
	}
	id, _ := j.w.Instance.Instantiated.Metadata["stack_id"].(string)
	return id
}

// imagesDeleted deletes the instance's images and looks whether that is so.
func (j *job) imagesDeleted(ctx context.Context, s *lcm.Step) error {
	left, err := j.taggedImages(ctx)
	if err != nil {
		return err
	}
	left = slices.DeleteFunc(left, func(i image) bool { return i.Status == "deleted" || i.Status == "pending_delete" })
	if len(left) == 0 {
		s.Detail("no image is left")
		return nil
	}
	var names []string
	for _, i := range left {
		names = append(names, i.Name)
		err := j.deleteImage(ctx, i.ID)
		if conflict(err) { // a volume or server that Heat has just deleted may still hold it
			e := *lcm.AsError(err)
			e.Class = lcm.Transient
			return &e
		}
		if err != nil {
			return err
		}
	}
	return lcm.Wait(pace(0), "deleting images "+strings.Join(names, ", "))
}
