package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

func (a *app) vnfProtect() *cobra.Command {
	cmd := &cobra.Command{
		Use: "protect INSTANCE", Short: "Reject requests that delete machines of a VNF instance",
		Args: cobra.ExactArgs(1),
		Long: `Reject requests that delete machines of a VNF instance, until "gybe vnf unprotect": terminate, heal,
scale in, a change of flavour or package that deletes or replaces machines, the retry or rollback of such an
operation, the removal of leftovers, and the deletion of the instance. A running operation continues.`,
	}
	reason := cmd.Flags().String("reason", "", "reason, which users see when their request is rejected")
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		p, err := c.Protect(ctx, id, *reason)
		if err != nil {
			return err
		}
		return a.show(p, func(w io.Writer) { fields(w, a.paint, "protection", protectionText(p)) })
	})
}

func (a *app) vnfUnprotect() *cobra.Command {
	cmd := &cobra.Command{
		Use: "unprotect INSTANCE", Short: "Remove the protection of a VNF instance", Args: cobra.ExactArgs(1),
	}
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		return c.Unprotect(ctx, id)
	})
}

// protectionText says since when an instance is protected, by whom and why; "" for none.
func protectionText(p *gybeapi.Protection) string {
	if p == nil || !p.Protected {
		return ""
	}
	text := "protected since " + clock(p.Since)
	if p.By != "" {
		text += " by " + p.By
	}
	if p.Reason != "" {
		text += ": " + oneLine(p.Reason)
	}
	return text
}
