package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// addYes adds the flag that replaces the question.
func addYes(cmd *cobra.Command) *bool {
	return cmd.Flags().BoolP("yes", "y", false, "do not ask for confirmation")
}

// requireTerminal refuses what has to be confirmed if the user cannot be asked. deed says what would be done.
func (a *app) requireTerminal(deed string) error {
	if a.env.Interactive {
		return nil
	}
	return usagef("%s; confirmation required: use --yes in scripts. Nothing was changed", deed)
}

// confirm asks the user to type the name of what is at stake. Anything else is an error.
func (a *app) confirm(deed, name string) error {
	if err := a.requireTerminal(deed); err != nil {
		return err
	}
	printf(a.env.Stderr, "%s.\nType %s to continue: ", deed, name)
	answer, err := bufio.NewReader(a.env.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(answer) != name {
		printline(a.env.Stderr)
		return usagef("this is not %q. Nothing was changed", name)
	}
	return nil
}

// question is what a task has to ask before it is sent.
type question struct {
	// deed says what the operation does, before the name of the instance. For a CNF, "machines" becomes "pods".
	deed string
	// ifReplaced limits the question to a plan that deletes or replaces machines or volumes.
	ifReplaced bool
}

// confirmTask shows a summary of an operation's plan and asks for confirmation.
func (a *app) confirmTask(
	ctx context.Context, c *client.Client, op sol.LcmOperationType, id string, raw json.RawMessage, q question,
) error {
	i, err := c.Instance(ctx, id)
	if err != nil {
		return err
	}
	name := cmp.Or(i.VnfInstanceName, i.ID)
	deed := fmt.Sprintf("This %s %s", strings.ReplaceAll(q.deed, "machines", member(i)+"s"), name)
	if !q.ifReplaced {
		if err := a.requireTerminal(deed); err != nil {
			return err
		}
	}
	p, err := c.Plan(ctx, gybeapi.PlanRequest{VnfInstanceID: id, Operation: op, Params: raw})
	if planUnavailable(err) {
		printf(a.env.Stderr, "The plan of the operation is not available: %s\n", err)
		return a.confirm(deed, name)
	}
	if err != nil {
		return inParams(err)
	}
	s := summarize(p, i)
	if q.ifReplaced && !s.destroys() {
		return nil
	}
	s.write(a.env.Stderr)
	return a.confirm(deed, name)
}

// planUnavailable says whether the VIM, and not the request, is why there is no plan.
func planUnavailable(err error) bool {
	answer, ok := errors.AsType[*client.Error](err)
	return ok && answer.Status() >= http.StatusInternalServerError
}
