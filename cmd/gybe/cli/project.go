package cli

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/store"
)

func (a *app) projectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "project", Short: "List projects, and move resources between them",
		Long: `List projects, and move resources between them, on the machine of a node. No role of the API gives
this right, because a user acts in one project. Resources from before authentication was turned on are in
the project "default".`,
	}
	cmd.AddCommand(a.projectListCommand(), a.projectMoveCommand())
	return cmd
}

func (a *app) projectListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the projects that have resources", Args: cobra.NoArgs}
	s := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.withStore(cmd.Context(), s, func(st *store.Store, _ *secret.Ring, _ config.Config) error {
			projects, err := st.Projects(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(append([]store.ProjectUse{}, projects...), func(w io.Writer) {
				t := table{head: []string{"PROJECT", "INSTANCES", "OPERATIONS", "RUNNING", "PACKAGES", "VIMS"}}
				for _, p := range projects {
					t.add(p.Project, decimal(p.Instances), decimal(p.Operations), decimal(p.Running),
						decimal(p.Packages), decimal(p.Vims))
				}
				t.write(w, a.paint)
			})
		})
	}
	return cmd
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func (a *app) projectMoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "move FROM TO", Args: cobra.ExactArgs(2), ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Give all resources of a project to another one",
		Long: `Give all resources of a project to another one: instances, operations with their history, packages,
VIMs and subscriptions. Nodes go on working; requests that change something wait for a moment. Nothing
is moved while nodes work on resources of the project, or if a name is used in both projects. If the
command is interrupted, run it again: it continues.

The audit trail stays: it says in which project a user acted. The move is an entry of both trails.
Quotas are settings: limits.quota.projects names projects.`,
		Example: `  gybe project move default $(openstack project show nfv -f value -c id)`,
	}
	s := addSettings(cmd)
	yes := addYes(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		move := store.Move{From: args[0], To: args[1], By: account(), Node: host()}
		for _, project := range args {
			if err := auth.CheckProject(project); err != nil {
				return usagef("%s", err)
			}
		}
		if move.From == move.To {
			return usagef("%s and %s are the same project", move.From, move.To)
		}
		return a.withStore(cmd.Context(), s, func(st *store.Store, _ *secret.Ring, _ config.Config) error {
			if !*yes {
				if err := a.confirm("This moves all resources of the project "+move.From+" to the project "+move.To+
					"; users of "+move.From+" do not see them any more", move.To); err != nil {
					return err
				}
			}
			moved, err := st.MoveProject(cmd.Context(), move)
			if err != nil {
				if e := lcm.AsError(err); e.Code == lcm.CodeConflict {
					return failWith(ExitConflict, "%w (%s)", err, e.Hint)
				}
				return err
			}
			return a.showMoved(move, moved)
		})
	}
	return cmd
}

// showMoved shows the result of a move, and what the operator has to look at.
func (a *app) showMoved(move store.Move, moved store.Moved) error {
	if moved.SecondDefault != "" {
		printf(a.env.Stderr, "warning: the VIM %s is not the default any more: %s has a default VIM\n",
			moved.SecondDefault, move.To)
	}
	if moved.Left {
		printf(a.env.Stderr, "warning: requests have created more resources in %s: run the command again\n", move.From)
	}
	return a.show(moved, func(w io.Writer) {
		printf(w, "moved from %s to %s: instances %d, operations %d, packages %d, VIMs %d\n", move.From, move.To,
			moved.Instances, moved.Operations, moved.Packages, moved.Vims)
	})
}

// account names the user of this machine who runs the command, for the audit trail.
func account() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprint("uid ", os.Getuid())
}

// host names this machine.
func host() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
