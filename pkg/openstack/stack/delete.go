package stack

import (
	"context"
	"net/url"
	"slices"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Delete deletes every stack of the instance that is not one of Others, as a durable step of the phase.
func (w *Worker) Delete(ctx context.Context) error {
	return w.Execution.Step(ctx, "delete stack", w.Name(), w.deleted)
}

func (w *Worker) deleted(ctx context.Context, s *lcm.Step) error {
	a, err := load(s)
	if err != nil {
		return err
	}
	stacks, err := w.deletedStacks(ctx, a)
	if err != nil {
		return err
	}

	now := w.now()
	sit := w.situation(remove)
	do := next(stacks, a, now, sit)
	again := viewOf(stacks, a, now, sit).forgotten()
	if a.Try != w.Execution.Op.Try {
		a = Attempt{Try: w.Execution.Op.Try}
	}
	switch do {
	case finish:
		if err := w.sameProject(a); err != nil {
			return err
		}
		s.Detail("no stack is left")
		return nil
	case failDelete:
		at := slices.IndexFunc(stacks, func(st cloud.Stack) bool { return st.Status == "DELETE_FAILED" })
		failure := w.Failure(ctx, "delete", &stacks[at])
		if err := s.Save(ctx, Attempt{Try: a.Try}); err != nil { // a retry tries as often again
			return err
		}
		return failure
	case waitPause:
		return lcm.Wait(viewOf(stacks, a, now, sit).deletePause(), "stack "+stacks[0].Status+", deleting it again")
	case deleteAll:
		return w.deleteAll(ctx, s, stacks, Attempt{Since: now, Deletions: a.Deletions + 1, Try: a.Try}, again)
	default:
		return lcm.Wait(cloud.Pace(now.Sub(a.Since)), "stack "+stacks[0].Status)
	}
}

// deletedStacks lists the stacks that are left. While a deletion is in progress, the name is enough until the stack is
// gone.
func (w *Worker) deletedStacks(ctx context.Context, a Attempt) ([]cloud.Stack, error) {
	v := viewOf(nil, a, w.now(), w.situation(remove))
	if a.Deletions > 0 && !v.forgotten() {
		st, err := w.Find(ctx)
		if err != nil {
			return nil, err
		}
		if st != nil && st.Deleting() {
			return []cloud.Stack{*st}, nil
		}
	}
	return w.owned(ctx)
}

// deleteAll asks Heat to delete the stacks; again says that those are asked for, too, that are being deleted.
func (w *Worker) deleteAll(ctx context.Context, s *lcm.Step, stacks []cloud.Stack, a Attempt, again bool) error {
	if err := s.Save(ctx, a); err != nil {
		return err
	}
	for _, st := range stacks {
		if st.Deleting() && !again {
			continue
		}
		if err := w.Cloud.DeleteStack(ctx, &st); err != nil {
			return err
		}
	}
	return lcm.Wait(cloud.Pace(0), "stack DELETE_IN_PROGRESS")
}

// sameProject refuses to take "not found" for "deleted" where the VIM connection leads to another project than the one
// in which the stack was created: there it would stay for ever, unnoticed.
func (w *Worker) sameProject(a Attempt) error {
	if a.Deletions > 0 || Recorded(w.Execution.Instance) == "" {
		return nil
	}
	was, _ := w.Execution.Instance.Instantiated.Metadata["tenant"].(string)
	is := w.Cloud.Project()
	if was == "" || was == is {
		return nil
	}
	return lcm.Errorf(
		lcm.CodeUpstream,
		"the stack %s was made in project %s, and the VIM connection %s leads to project %s of %s, where it is not",
		w.Name(), was, w.Vim, is, w.Cloud.URL()).WithHint(
		"correct the instance's VIM connection and retry the operation",
	)
}

// owned finds every stack of the instance that is not one of Others: by tag, and by the id of the last inventory. It
// asks for the name, too, because lists by tag may lag behind; a stack that has only the name belongs to another owner.
func (w *Worker) owned(ctx context.Context) ([]cloud.Stack, error) {
	queries := []url.Values{{"name": {w.Name()}}, {"tags": {w.Execution.Instance.ID}}}
	id := Recorded(w.Execution.Instance)
	if id != "" {
		queries = append(queries, url.Values{"id": {id}})
	}
	results := make([][]cloud.Stack, len(queries))
	err := lcm.Each(ctx, 0, []int{0, 1, 2}[:len(queries)], func(ctx context.Context, i int) error {
		var err error
		results[i], err = w.Cloud.ListStacks(ctx, "look for the instance's stacks", queries[i])
		return err
	})

	var out []cloud.Stack
	for _, st := range slices.Concat(results...) {
		mine := id != "" && st.ID == id || Owned(&st, w.Execution.Instance.ID)
		known := slices.ContainsFunc(out, func(o cloud.Stack) bool { return o.ID == st.ID })
		if mine && !known && !slices.Contains(w.Others, st.Name) && st.Status != "DELETE_COMPLETE" {
			out = append(out, st)
		}
	}
	return out, err
}
