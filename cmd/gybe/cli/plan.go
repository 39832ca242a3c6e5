package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// showPlan shows what an operation would do. When the VIM cannot do it, that is an error.
func (a *app) showPlan(ctx context.Context, c *client.Client, req gybeapi.PlanRequest) error {
	p, err := c.Plan(ctx, req)
	if err != nil {
		return inParams(err)
	}
	if err := a.show(p, func(w io.Writer) { a.planTable(w, p) }); err != nil {
		return err
	}
	if p.Possible {
		return nil
	}
	return &codeError{ExitImpossible, &reportedError{fmt.Errorf("%s is not possible", p.Operation)}}
}

// inParams makes the pointers of a plan's error lead into params, which the user has written.
func inParams(err error) error {
	if answer, ok := errors.AsType[*client.Error](err); ok {
		for n, bad := range answer.Problem.InvalidParams {
			if rest, ok := strings.CutPrefix(bad.Pointer, "/params"); ok {
				answer.Problem.InvalidParams[n].Pointer = rest
			}
		}
	}
	return err
}

// planTable shows a plan to a person: the resources by what would happen to them, then the checks.
func (a *app) planTable(w io.Writer, p *gybeapi.Preview) {
	printf(w, "%s: %d to add, %d to remove, %d to replace, %d to change\n", p.Operation, len(p.Add), len(p.Remove),
		len(p.Replace), len(p.Change))
	t := table{head: []string{"ACTION", "TYPE", "NAME", "VNFC", "RESOURCE", "DETAIL"}}
	for _, part := range []struct {
		action    string
		resources []gybeapi.PlannedResource
	}{{"add", p.Add}, {"remove", p.Remove}, {"replace", p.Replace}, {"change", p.Change}} {
		for _, r := range part.resources {
			of := stepName("", r.VNFC)
			if of == "" {
				of = r.VDU
			}
			t.add(part.action, r.Type, r.Name, of, r.ID, oneLine(r.Detail))
		}
	}
	if len(t.rows) > 0 {
		printline(w)
		t.write(w, a.paint)
	}
	if len(p.Work) > 0 {
		t := table{head: []string{"HOOK", "WORK"}}
		for _, l := range p.Work {
			t.add(l.Hook, oneLine(l.Detail))
		}
		printline(w)
		t.write(w, a.paint)
	}
	if len(p.Checks) > 0 {
		t := table{head: []string{"CHECK", "SUBJECT", "DETAIL"}}
		for _, c := range p.Checks {
			t.add(c.State, c.Subject, oneLine(c.Detail))
			if c.Hint != "" {
				t.add("", "", "hint: "+oneLine(c.Hint))
			}
		}
		printline(w)
		t.write(w, a.paint)
	}
	verdict := "The VIM can do this. Nothing was changed."
	if !p.Possible {
		verdict = "This is not possible now. Nothing was changed."
	}
	printline(w)
	printline(w, verdict)
}
