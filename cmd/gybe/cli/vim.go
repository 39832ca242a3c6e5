package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
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
	cmd.AddCommand(a.vimList(), a.vimShow(), a.vimRegister(), a.vimUpdate(), a.vimSetDefault(), a.vimDelete())
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
		"credentials", compact(v.AuthCred), "project", compact(v.VimProject), "placement", compact(v.PlacementAttr),
		"default", strconv.FormatBool(v.IsDefault), "extra", compact(v.Extra), "status", v.Status, "reason",
		v.StatusReason)
}

func (a *app) vimRegister() *cobra.Command {
	cmd := &cobra.Command{
		Use: "register [FILE]", Short: "Register a VIM", Args: cobra.MaximumNArgs(1),
		Long: `Register a VIM. The server logs in to it first. The file has the body of the request, {"vim": {…}}, only
the inner object, or the parameters of openstack vim register --config-file; it is JSON with comments, or
YAML; the name - reads standard input. Flags take precedence over the file. With --cloud no file
is needed: the login comes from the node's own clouds.yaml (openstack.clouds_file). With --kubeconfig
the VIM is a Kubernetes cluster; address, authority and credentials come from the current context of
that file, which must have them in itself (kubectl config view --raw --flatten --minify prints such a file).`,
		Example: `  gybe vim register vim.json --ca-cert ca.pem --default
  gybe vim register --cloud prod --region east --name prod-east
  gybe vim register --kubeconfig admin.conf --name edge`,
	}
	var name, cloud, region, ca, kubeconfig string
	var isDefault bool
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "name of the VIM")
	flags.StringVar(&cloud, "cloud", "", "cloud of the node's clouds.yaml to log in to")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file of a Kubernetes cluster to register")
	cmd.MarkFlagsMutuallyExclusive("cloud", "kubeconfig")
	flags.StringVar(&region, "region", "", "region of the services; register one VIM for each")
	flags.StringVar(&ca, "ca-cert", "", "PEM file with the CA of the VIM's certificates")
	flags.BoolVar(&isDefault, "default", false, "use it for VNFs whose request does not name a VIM")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		v, err := a.vimOf(args)
		if err != nil {
			return err
		}
		v.Name, v.IsDefault = cmp.Or(name, v.Name), v.IsDefault || isDefault
		if kubeconfig != "" {
			file, err := a.readFile(kubeconfig)
			if err != nil {
				return err
			}
			v.Type, v.AuthCred["kubeconfig"] = cmp.Or(v.Type, "kubernetes"), string(file)
		}
		v.Type = cmp.Or(v.Type, "openstack") // as the openstack command does
		if cloud != "" {
			v.AuthCred["cloud"] = cloud
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
		if len(args) == 0 && cloud == "" && kubeconfig == "" {
			return failWith(ExitUsage, "name a file that describes the VIM, --cloud or --kubeconfig")
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
		if err := a.readVim(args[0], &body.Vim); err != nil {
			return gybeapi.Vim{}, err
		}
	}
	for _, m := range []*sol.KeyValuePairs{&body.Vim.AuthCred, &body.Vim.VimProject} {
		if *m == nil {
			*m = sol.KeyValuePairs{}
		}
	}
	return body.Vim, nil
}

// readVim reads a file with a VIM, or a part of one, into out: a request, its inner object, or the parameters that the
// openstack command has in one flat object.
func (a *app) readVim(file string, out any) error {
	raw, err := a.readDocument(file)
	if err != nil {
		return err
	}
	b, err := parseBody(raw)
	if err != nil {
		return failWith(ExitRejected, "%s is not a VIM: %w", documentName(file), err)
	}
	if inner, ok := b["vim"].(map[string]any); ok {
		b = inner
	}
	if raw, err = json.Marshal(nested(b)); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return failWith(ExitRejected, "%s is not a VIM: %s", documentName(file), wrongType(err))
	}
	return nil
}

// flatMembers are the parameters of openstack vim register --config-file that belong to vim_project. The others that a
// VIM does not have itself belong to auth_cred.
var flatMembers = map[string]string{"project_name": "name", "project_domain_name": "project_domain_name"}

// nested puts the members of a flat object where a request has them.
func nested(b body) body {
	own := []string{
		"name", "description", "type", "auth_url", "auth_cred", "vim_project", "is_default", "placement_attr", "extra",
		"tenant_id",
	}
	for name, value := range maps.Clone(b) {
		if slices.Contains(own, name) {
			continue
		}
		delete(b, name)
		if inner, ok := flatMembers[name]; ok {
			b.below("vim_project")[inner] = value
		} else {
			b.below("auth_cred")[name] = value
		}
	}
	return b
}

func (a *app) vimUpdate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "update VIM [-f FILE]", Short: "Change a VIM",
		Long: `Change a VIM. The file is as for register, and has only what changes; the server logs in with the new
credentials before it stores them. VNF instances with the previous credentials of the VIM use the new ones from then
on; another URL, project or region does not reach them.`,
		Example: `  gybe vim update prod --name prod-east
  gybe vim update prod -f password.yaml`,
	}
	var file, name, description string
	var isDefault bool
	flags := cmd.Flags()
	flags.StringVarP(&file, "file", "f", "", "file with the changes")
	flags.StringVar(&name, "name", "", "new name")
	flags.StringVar(&description, "description", "", "new description")
	flags.BoolVar(&isDefault, "default", false, "use it for VNFs whose request does not name a VIM; =false ends that")
	return a.onVim(cmd, func(ctx context.Context, c *client.Client, id string) error {
		var change gybeapi.VimChange
		if file != "" {
			if err := a.readVim(file, &change); err != nil {
				return err
			}
		}
		set := flags.Changed
		if set("name") {
			change.Name = &name
		}
		if set("description") {
			change.Description = &description
		}
		if set("default") {
			change.IsDefault = &isDefault
		}
		if file == "" && !set("name") && !set("description") && !set("default") {
			return usagef("nothing to change: give a file, --name, --description or --default")
		}
		return a.changeVim(ctx, c, id, change)
	})
}

func (a *app) vimSetDefault() *cobra.Command {
	return a.onVim(&cobra.Command{
		Use: "set-default VIM", Short: "Use a VIM for VNFs whose request does not name one",
		Long: "Use a VIM for VNFs whose request does not name one. It takes the place of the present default VIM.",
	}, func(ctx context.Context, c *client.Client, id string) error {
		yes := true
		return a.changeVim(ctx, c, id, gybeapi.VimChange{IsDefault: &yes})
	})
}

func (a *app) changeVim(ctx context.Context, c *client.Client, id string, change gybeapi.VimChange) error {
	v, err := c.ChangeVim(ctx, id, change)
	if err != nil {
		return err
	}
	return a.show(v, func(w io.Writer) { a.vimTable(w, v) })
}

func (a *app) vimDelete() *cobra.Command {
	return a.onVim(&cobra.Command{Use: "delete VIM", Short: "Unregister a VIM"},
		func(ctx context.Context, c *client.Client, id string) error {
			return c.DeleteVim(ctx, id)
		})
}
