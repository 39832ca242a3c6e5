package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) opFail() *cobra.Command {
	cmd := &cobra.Command{
		Use: "fail OPERATION", Short: "Mark an operation as failed; keeps its resources",
		Long: "Mark an operation as failed. Its resources stay as they are, and it can be neither retried nor rolled " +
			"back any more. Asks for the name of the VNF instance; --yes does not ask.",
	}
	yes := addYes(cmd)
	return a.onOperation(cmd, func(ctx context.Context, c *client.Client, id string) error {
		if !*yes {
			if err := a.confirmFail(ctx, c, id); err != nil {
				return err
			}
		}
		if err := c.Fail(ctx, id); err != nil {
			return err
		}
		return a.started(ctx, c, &watch{}, id)
	})
}

// confirmFail shows what is given up with an operation, and asks for confirmation.
func (a *app) confirmFail(ctx context.Context, c *client.Client, id string) error {
	op, err := c.Operation(ctx, id)
	if err != nil {
		return err
	}
	if op.OperationState != sol.LcmOperationStateFailedTemp {
		return failWith(ExitConflict, "operation %s is %s; only one that is FAILED_TEMP can be marked as failed", id,
			op.OperationState)
	}
	i, err := c.Instance(ctx, op.VnfInstanceID)
	if err != nil {
		return err
	}
	name := cmp.Or(i.VnfInstanceName, i.ID)
	deed := fmt.Sprintf("This marks the operation %s of %s as failed for good", op.Operation, name)
	if err := a.requireTerminal(deed); err != nil {
		return err
	}
	failure := ""
	if op.Error != nil {
		failure = oneLine(problemText(op.Error))
	}
	var others []string
	for verb := range strings.SplitSeq(choices(op.Links), ", ") {
		if verb != "fail" && verb != "" {
			others = append(others, "gybe op "+verb)
		}
	}
	fields(a.env.Stderr, a.paint, "operation", op.ID, "failed with", failure,
		"kept", "all resources that it has created so far; nothing is deleted",
		"then impossible", strings.Join(others, ", "))
	return a.confirm(deed, name)
}
