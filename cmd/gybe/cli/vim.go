package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) vimCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "vim", Short: "Registered VIMs",
		Long: "Registered VIMs: those of an operator, and clusters of VNF instances. A VIM can be named by id or name.",
	}
	cmd.AddCommand(a.vimList(), a.vimShow(), a.vimRegister(), a.vimDelete())
	return cmd
}

func (a *app) onVim(
	cmd *cobra.Command, run func(ctx context.Context, c *client.Client, id string) error,
) *cobra.Command {
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
			t := table{head: []string{"ID", "NAME", "TYPE", "ENDPOINT", "DEFAULT", "STATUS"}}
			for _, v := range vims {
				t.add(v.ID, v.Name, v.Type, v.AuthURL, strconv.FormatBool(v.IsDefault), v.Status)
			}
			t.write(w, a.paint)
		})
	}}
}

func (a *app) vimShow() *cobra.Command {
	return a.onVim(&cobra.Command{Use: "show VIM", Short: "Show a VIM"},
		func(ctx context.Context, c *client.Client, id string) error {
			v, err := c.Vim(ctx, id)
			if err != nil {
				return err
			}
			return a.show(v, func(w io.Writer) { a.vimTable(w, v) })
		})
}

func (a *app) vimTable(w io.Writer, v *gybeapi.Vim) {
	fields(w, a.paint, "id", v.ID, "name", v.Name, "description", v.Description, "type", v.Type, "endpoint", v.AuthURL,
		"credentials", compact(v.AuthCred), "project", compact(v.VimProject), "default",
		strconv.FormatBool(v.IsDefault), "extra", compact(v.Extra), "status", v.Status, "reason", v.StatusReason)
}

func (a *app) vimRegister() *cobra.Command {
	cmd := &cobra.Command{
		Use: "register [VIM.json]", Short: "Register a VIM", Args: cobra.MaximumNArgs(1),
		Long: `Register a VIM. The file has the body of the request, {"vim": {…}}, or only the inner
object; the name - reads standard input. Flags take precedence over the file. With --cloud no file
is needed: the login comes from the node's own clouds.yaml (openstack.clouds_file).`,
		Example: `  gybe vim register vim.json --ca-cert ca.pem --default
  gybe vim register --cloud prod --region east --name prod-east`,
	}
	var name, cloud, region, ca string
	var isDefault bool
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "name of the VIM")
	flags.StringVar(&cloud, "cloud", "", "cloud of the node's clouds.yaml to log in to")
	flags.StringVar(&region, "region", "", "region of the services; register one VIM for each")
	flags.StringVar(&ca, "ca-cert", "", "PEM file with the CA of the VIM's certificates")
	flags.BoolVar(&isDefault, "default", false, "use it for VNFs whose request does not name a VIM")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v, err := a.vimOf(args)
		if err != nil {
			return err
		}
		v.Name, v.IsDefault = cmp.Or(name, v.Name), v.IsDefault || isDefault
		if cloud != "" {
			v.Type, v.AuthCred["cloud"] = "openstack", cloud
		}
		if region != "" {
			v.PlacementAttr = sol.KeyValuePairs{"regions": []string{region}}
		}
		if ca != "" {
			pem, err := a.readFile(ca)
			if err != nil {
				return err
			}
			v.AuthCred["ssl_ca_cert"] = string(pem)
		}
		if len(args) == 0 && cloud == "" {
			return failWith(ExitUsage, "name a file that describes the VIM, or --cloud")
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		made, err := c.CreateVim(cmd.Context(), v)
		if err != nil {
			return err
		}
		return a.show(made, func(w io.Writer) { a.vimTable(w, made) })
	}
	return cmd
}

// vimOf reads a VIM from the file that the arguments name; without one it is empty.
func (a *app) vimOf(args []string) (gybeapi.Vim, error) {
	var body gybeapi.VimBody
	if len(args) > 0 {
		raw, err := a.readFile(args[0])
		if err != nil {
			return gybeapi.Vim{}, err
		}
		err = json.Unmarshal(raw, &body)
		if err == nil && body.Vim.Type == "" {
			err = json.Unmarshal(raw, &body.Vim)
		}
		if err != nil {
			return gybeapi.Vim{}, failWith(ExitRejected, "%s is not a VIM in JSON: %w", args[0], err)
		}
	}
	for _, m := range []*sol.KeyValuePairs{&body.Vim.AuthCred, &body.Vim.VimProject} {
		if *m == nil {
			*m = sol.KeyValuePairs{}
		}
	}
	return body.Vim, nil
}

func (a *app) vimDelete() *cobra.Command {
	return a.onVim(&cobra.Command{Use: "delete VIM", Short: "Unregister a VIM"},
		func(ctx context.Context, c *client.Client, id string) error {
			return c.DeleteVim(ctx, id)
		})
}
