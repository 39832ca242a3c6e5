package cli

import (
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/client/wire"
)

func (a *app) vimCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "vim", Short: "Registered VIMs",
		Long: "Registered VIMs: those that an operator named, and clusters that VNF instances made. One can be named by id or name.",
	}
	cmd.AddCommand(a.vimList(), a.vimShow(), a.vimRegister(), a.vimDelete())
	return cmd
}

func (a *app) onVim(cmd *cobra.Command, run func(ctx context.Context, c *client.Client, id string) error) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = a.complete(vimThings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		id, err := pick(cmd.Context(), "VIM", args[0], vimThings(c))
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, id)
	}
	return cmd
}

func (a *app) vimList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List VIMs", RunE: func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		vims, err := c.Vims(cmd.Context())
		if err != nil {
			return err
		}
		return a.show(vims, func(w io.Writer) {
			t := table{head: []string{"ID", "NAME", "TYPE", "ENDPOINT", "DEFAULT"}}
			for _, v := range vims {
				t.add(v.ID, v.Name, v.Type, v.AuthURL, strconv.FormatBool(v.IsDefault))
			}
			t.write(w, a.paint)
		})
	}}
}

func (a *app) vimShow() *cobra.Command {
	return a.onVim(&cobra.Command{Use: "show VIM", Short: "Show a VIM"}, func(ctx context.Context, c *client.Client, id string) error {
		v, err := c.Vim(ctx, id)
		if err != nil {
			return err
		}
		return a.show(v, func(w io.Writer) { a.vimTable(w, v) })
	})
}

func (a *app) vimTable(w io.Writer, v *wire.Vim) {
	fields(w, a.paint, "id", v.ID, "name", v.Name, "description", v.Description, "type", v.Type, "endpoint", v.AuthURL,
		"credentials", compact(v.AuthCred), "project", compact(v.VimProject), "default", strconv.FormatBool(v.IsDefault), "extra", compact(v.Extra))
}

func (a *app) vimRegister() *cobra.Command {
	cmd := &cobra.Command{
		Use: "register VIM.json", Short: "Register a VIM", Args: cobra.ExactArgs(1),
		Long: `Register a VIM. The file is the body of the request, {"vim": {…}}, or what is in it; - reads standard input.`,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		raw, err := a.readFile(args[0])
		if err != nil {
			return err
		}
		var body wire.VimBody
		err = json.Unmarshal(raw, &body)
		if err == nil && body.Vim.Type == "" {
			err = json.Unmarshal(raw, &body.Vim)
		}
		if err != nil {
			return failWith(ExitRejected, "%s is not a VIM in JSON: %w", args[0], err)
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		v, err := c.CreateVim(cmd.Context(), body.Vim)
		if err != nil {
			return err
		}
		return a.show(v, func(w io.Writer) { a.vimTable(w, v) })
	}
	return cmd
}

func (a *app) vimDelete() *cobra.Command {
	return a.onVim(&cobra.Command{Use: "delete VIM", Short: "Forget a VIM"}, func(ctx context.Context, c *client.Client, id string) error {
		return c.DeleteVim(ctx, id)
	})
}
