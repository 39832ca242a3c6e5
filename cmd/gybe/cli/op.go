package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) opCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "op", Short: "Lifecycle operations",
		Long: "Lifecycle operations. An operation can be named by id or by the beginning of its id.",
	}
	cmd.AddCommand(a.opList(), a.opShow(), a.opWatch(), a.opCancel(),
		a.opSteer("retry", "Retry an operation that failed temporarily", (*client.Client).Retry),
		a.opSteer("rollback", "Roll back an operation that failed temporarily", (*client.Client).Rollback),
		a.opFail())
	return cmd
}

// onOperation makes the body of a command whose argument names an operation.
func (a *app) onOperation(
	cmd *cobra.Command, run func(ctx context.Context, c *client.Client, id string) error,
) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = a.complete(operationThings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		id, err := pick(cmd.Context(), "operation", args[0], operationThings(c))
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, id)
	}
	return cmd
}

func (a *app) opList() *cobra.Command {
	var filter, instance string
	cmd := &cobra.Command{Use: "list", Short: "List operations, oldest first"}
	cmd.Flags().StringVar(&filter, "filter", "", "attribute filter, e.g. (eq,operationState,FAILED_TEMP)")
	cmd.Flags().StringVar(&instance, "instance", "", "only operations of this VNF instance")
	_ = cmd.RegisterFlagCompletionFunc("instance", a.complete(instanceThings)) // the flag exists
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		if instance != "" {
			id, err := pick(cmd.Context(), "VNF instance", instance, instanceThings(c))
			if err != nil {
				return err
			}
			if filter != "" {
				filter += ";"
			}
			filter += "(eq,vnfInstanceId," + id + ")"
		}
		ops, err := c.Operations(cmd.Context(), filter, a.output != "table")
		if err != nil {
			return err
		}
		var starters map[string]string
		if a.output == "table" {
			if starters, err = startersOf(cmd.Context(), c, ops); err != nil {
				return err
			}
		}
		return a.show(ops, func(w io.Writer) {
			t := table{head: []string{"ID", "OPERATION", "STATE", "INSTANCE", "STARTED", "STARTED BY", "STATE SINCE"}}
			for _, o := range ops {
				t.add(o.ID, string(o.Operation), string(o.OperationState), o.VnfInstanceID, clock(o.StartTime),
					cmp.Or(starters[o.ID], "-"), clock(o.StateEnteredTime))
			}
			t.write(w, a.paint)
		})
	}
	return cmd
}

// startersOf returns the users that started operations, by id. A node of an earlier release does not know them.
func startersOf(ctx context.Context, c *client.Client, ops []sol.VnfLcmOpOcc) (map[string]string, error) {
	const most = 100 // in a request
	out := map[string]string{}
	for part := range slices.Chunk(ops, most) {
		ids := make([]string, len(part))
		for n, o := range part {
			ids[n] = o.ID
		}
		found, err := c.OperationActions(ctx, ids...)
		if e, ok := errors.AsType[*client.Error](err); ok && e.Status() == http.StatusNotFound {
			return nil, nil //nolint:nilnil // no one is known
		}
		if err != nil {
			return nil, err
		}
		for id, actions := range found {
			if len(actions) > 0 {
				out[id] = actions[0].Subject
			}
		}
	}
	return out, nil
}

// actionsText shows who did what with an operation, one a line.
func actionsText(actions []gybeapi.Action) string {
	var lines []string
	for _, act := range actions {
		line := clock(act.Time) + "  " + act.Action
		if act.Detail != "" {
			line += " " + strings.ToLower(act.Detail)
		}
		if act.Subject != "" {
			line += " by " + act.Subject
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (a *app) opShow() *cobra.Command {
	return a.onOperation(&cobra.Command{Use: "show OPERATION", Short: "Show an operation with its phases and steps"},
		func(ctx context.Context, c *client.Client, id string) error {
			op, err := c.Operation(ctx, id)
			if err != nil {
				return err
			}
			if a.output != "table" {
				return a.show(op, nil)
			}
			p, err := c.Progress(ctx, id, "", 0)
			if err != nil {
				return err
			}
			a.operationTable(a.env.Stdout, op, p)
			return nil
		})
}

// operationTable shows an operation to a person.
func (a *app) operationTable(w io.Writer, op *sol.VnfLcmOpOcc, p *gybeapi.Progress) {
	failure, hint := "", ""
	if op.Error != nil {
		failure, hint = problemText(op.Error), op.Error.Hint
	}
	deadline := ""
	if !p.Deadline.IsZero() && running(op.OperationState) {
		deadline = clock(p.Deadline)
	}
	cancel := ""
	if op.IsCancelPending {
		cancel = "pending, " + string(op.CancelMode)
	}
	fields(w, a.paint,
		"id", op.ID, "operation", string(op.Operation), "state", string(op.OperationState), "instance",
		op.VnfInstanceID, "started", clock(op.StartTime), "state since", clock(op.StateEnteredTime), "requests",
		actionsText(p.Actions), "deadline",
		deadline, "node", p.Node, "waiting for", p.Waiting, "cancel", cancel, "error", failure, "hint", hint,
		"possible", choices(op.Links), "parameters", compact(op.OperationParams))
	a.changesTable(w, op)
	if len(p.Phases) == 0 {
		return
	}
	unsaid := func(d string) string {
		if d == oneLine(failure) {
			return "" // it is said above
		}
		return d
	}
	t := table{head: []string{"", "PHASE", "STEP", "STATE", "TOOK", "DETAIL"}}
	for _, ph := range p.Phases {
		t.add(since(op.StartTime, ph.Started), ph.Name, "", ph.State, took(ph.Started, ph.Finished),
			unsaid(detail(ph.Detail, ph.Error)))
		for _, s := range p.Steps {
			if s.Phase == ph.Name {
				t.add(since(op.StartTime, s.Started), "", stepName(s.Name, s.Target), stepState(s.State),
					took(s.Started, s.Finished), unsaid(detail(s.Detail, s.Error)))
			}
		}
	}
	_, _ = io.WriteString(w, "\n")
	t.write(w, a.paint)
}

// problemText is title and detail, whichever of them there are.
func problemText(p *sol.ProblemDetails) string {
	if p.Detail == "" || p.Detail == p.Title {
		return p.Title
	}
	return strings.TrimPrefix(p.Title+": "+p.Detail, ": ")
}

func (a *app) opWatch() *cobra.Command {
	var logs bool
	cmd := &cobra.Command{
		Use: "watch OPERATION", Short: "Follow an operation until it ends",
		Long: "Follow an operation until it ends: phases and steps with their times, as they happen. Exits with 3 " +
			"when it fails.",
	}
	cmd.Flags().BoolVar(&logs, "logs", false, "show the output of steps, too")
	return a.onOperation(cmd, func(ctx context.Context, c *client.Client, id string) error {
		return a.follow(ctx, c, &watch{watch: true, logs: logs}, id)
	})
}

func (a *app) opSteer(verb, short string, do func(*client.Client, context.Context, string) error) *cobra.Command {
	cmd := &cobra.Command{Use: verb + " OPERATION", Short: short}
	w := a.addWatch(cmd)
	if verb == "rollback" {
		w.goals = []sol.LcmOperationStateType{sol.LcmOperationStateRolledBack}
	}
	return a.onOperation(cmd, func(ctx context.Context, c *client.Client, id string) error {
		if err := do(c, ctx, id); err != nil {
			return err
		}
		return a.started(ctx, c, w, id)
	})
}

func (a *app) opCancel() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel OPERATION", Short: "Cancel a running operation",
		Long: `Cancel a running operation. gybe waits until the VIM has finished its current work;
with --force it stops the VIM, too. A cancelled operation ends as ROLLED_BACK if nothing was created
yet, else as FAILED_TEMP: retry it, roll it back or fail it.`,
	}
	force := cmd.Flags().Bool("force", false, "stop the VIM instead of waiting for it")
	w := a.addWatch(cmd)
	w.goals = []sol.LcmOperationStateType{sol.LcmOperationStateFailedTemp, sol.LcmOperationStateRolledBack}
	return a.onOperation(cmd, func(ctx context.Context, c *client.Client, id string) error {
		mode := sol.CancelModeGraceful
		if *force {
			mode = sol.CancelModeForceful
		}
		if err := c.Cancel(ctx, id, mode); err != nil {
			return err
		}
		return a.started(ctx, c, w, id)
	})
}

// running says whether an operation in this state goes on by itself.
func running(s sol.LcmOperationStateType) bool {
	switch s {
	case sol.LcmOperationStateStarting, sol.LcmOperationStateProcessing, sol.LcmOperationStateRollingBack:
		return true
	case sol.LcmOperationStateCompleted, sol.LcmOperationStateFailedTemp, sol.LcmOperationStateFailed,
		sol.LcmOperationStateRolledBack:
	}
	return false
}

// clock shows a moment in local time.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
