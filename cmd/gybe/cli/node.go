package cli

import (
	"io"
	"strconv"

	"github.com/spf13/cobra"
)

func (a *app) nodeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "Nodes of gybe that share the database"}
	list := &cobra.Command{Use: "list", Short: "List live and recently stopped nodes"}
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		nodes, err := c.Nodes(cmd.Context())
		if err != nil {
			return err
		}
		return a.show(nodes, func(w io.Writer) {
			t := table{head: []string{
				"NAME", "STATE", "ADDRESS", "VERSION", "OPERATIONS", "VIMS DOWN", "STARTED", "SEEN",
			}}
			for _, n := range nodes {
				state := "alive"
				if !n.Ended.IsZero() {
					state = "gone"
				}
				t.add(n.Name, state, n.Address, n.Version, strconv.Itoa(n.Running),
					strconv.Itoa(n.UnavailableVims), clock(n.Started), clock(n.Seen))
			}
			t.write(w, a.paint)
		})
	}
	cmd.AddCommand(list)
	return cmd
}
