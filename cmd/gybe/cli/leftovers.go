package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

func (a *app) vnfLeftovers() *cobra.Command {
	cmd := &cobra.Command{
		Use: "leftovers INSTANCE", Short: "Show differences between a VNF instance and its VIM",
		Args: cobra.ExactArgs(1),
		Long: `Show differences between the inventory of a VNF instance and its VIM: resources in
the VIM with the instance's name or tag that are not in the inventory, and the reverse. --delete
removes the former from the VIM and changes nothing else.`,
	}
	remove := cmd.Flags().Bool("delete", false, "delete resources that are only in the VIM")
	yes := addYes(cmd)
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		if *yes && !*remove {
			return usagef("--yes needs --delete")
		}
		if *remove && *yes {
			return a.removeLeftovers(ctx, c, id)
		}
		l, err := c.Leftovers(ctx, id)
		if err != nil {
			return err
		}
		if !*remove {
			return a.show(l, func(w io.Writer) { a.leftoversTable(w, l) })
		}
		a.leftoversTable(a.env.Stderr, l)
		if len(l.Extra) == 0 {
			return nil
		}
		i, err := c.Instance(ctx, id)
		if err != nil {
			return err
		}
		name := cmp.Or(i.VnfInstanceName, i.ID)
		deed := fmt.Sprintf("This deletes %s of %s from the VIM", plural(len(l.Extra), "leftover"), name)
		if err := a.confirm(deed, name); err != nil {
			return err
		}
		return a.removeLeftovers(ctx, c, id)
	})
}

func (a *app) removeLeftovers(ctx context.Context, c *client.Client, id string) error {
	out, err := c.RemoveLeftovers(ctx, id)
	if err != nil {
		return err
	}
	if err := a.show(out, func(w io.Writer) {
		if len(out.Removed)+len(out.Left) == 0 {
			printline(w, "Nothing to delete.")
			return
		}
		t := leftovers()
		addLeftovers(&t, "removed", out.Removed)
		addLeftovers(&t, "still there", out.Left)
		t.write(w, a.paint)
	}); err != nil {
		return err
	}
	if len(out.Left) > 0 {
		return failWith(ExitOperation, "%d of %d are still there", len(out.Left), len(out.Left)+len(out.Removed))
	}
	return nil
}

func (a *app) leftoversTable(w io.Writer, l *gybeapi.Leftovers) {
	if len(l.Extra)+len(l.Missing) == 0 {
		printline(w, "No differences.")
		return
	}
	t := leftovers()
	addLeftovers(&t, "in the VIM only", l.Extra)
	addLeftovers(&t, "in the inventory only", l.Missing)
	t.write(w, a.paint)
}

func leftovers() table { return table{head: []string{"", "TYPE", "NAME", "ID", "STATUS", "WHY"}} }

func addLeftovers(t *table, where string, of []gybeapi.Leftover) {
	for _, l := range of {
		t.add(where, l.Type, l.Name, l.ID, l.Status, oneLine(l.Why))
	}
}
