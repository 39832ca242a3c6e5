package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

func (a *app) vnfCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "vnf", Short: "VNF instances and their lifecycle",
		Long: "VNF instances and their lifecycle. An instance can be named by id, by the beginning of its id, or by " +
			"name.",
	}
	cmd.AddCommand(a.vnfCreate(), a.vnfList(), a.vnfShow(), a.vnfDelete(), a.vnfNodes(), a.vnfKubeconfig(),
		a.vnfSSHHosts(), a.vnfLeftovers(), a.vnfSnapshot(), a.vnfProtect(), a.vnfUnprotect(),
		a.vnfInstantiate(), a.vnfScale(), a.vnfScaleToLevel(), a.vnfChangeFlavour(), a.vnfHeal(), a.vnfOperate(),
		a.vnfChangeExtConn(), a.vnfChangePackage(), a.vnfModify(), a.vnfTerminate())
	return cmd
}

// onInstance makes the body of a command whose first argument names an instance.
func (a *app) onInstance(
	cmd *cobra.Command, run func(ctx context.Context, c *client.Client, id string, rest []string) error,
) *cobra.Command {
	cmd.ValidArgsFunction = a.complete(instanceThings)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		id, err := pick(cmd.Context(), "VNF instance", args[0], instanceThings(c))
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, id, args[1:])
	}
	return cmd
}

func (a *app) vnfCreate() *cobra.Command {
	var req sol.CreateVnfRequest
	var metadata []string
	cmd := &cobra.Command{
		Use: "create VNFD_ID", Short: "Create a VNF instance from an onboarded package", Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&req.VnfInstanceName, "name", "", "name of the instance")
	cmd.Flags().StringVar(&req.VnfInstanceDescription, "description", "", "description of the instance")
	cmd.Flags().StringArrayVar(&metadata, "metadata", nil, "metadata as key=value; can be repeated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		req.VnfdID = args[0]
		if req.Metadata, err = keyValues("--metadata", metadata); err != nil {
			return err
		}
		i, err := c.CreateInstance(cmd.Context(), req)
		if err != nil {
			return err
		}
		return a.show(i, func(w io.Writer) { a.instanceTable(w, i, nil) })
	}
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, typed string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeVNFD(cmd, args, typed)
	}
	return cmd
}

// completeVNFD offers the VNFDs of onboarded packages to the shell.
func (a *app) completeVNFD(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ps, _ := c.Packages(cmd.Context(), "(eq,onboardingState,ONBOARDED)", false) // nothing to offer then
	var out []cobra.Completion
	for _, p := range ps {
		out = append(out, cobra.CompletionWithDesc(p.VnfdID, p.VnfProductName))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) vnfList() *cobra.Command {
	var filter string
	cmd := &cobra.Command{Use: "list", Short: "List VNF instances"}
	cmd.Flags().StringVar(&filter, "filter", "", "attribute filter, e.g. (eq,instantiationState,INSTANTIATED)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := a.client()
		if err != nil {
			return err
		}
		is, err := c.Instances(cmd.Context(), filter, a.output != "table")
		if err != nil {
			return err
		}
		return a.show(is, func(w io.Writer) {
			t := table{head: []string{"ID", "NAME", "STATE", "PROTECTED", "PRODUCT", "VERSION", "VNFD"}}
			for _, i := range is {
				protected := ""
				if i.Links != nil && i.Links.Protection != nil {
					protected = "yes"
				}
				t.add(i.ID, i.VnfInstanceName, string(i.InstantiationState), protected, i.VnfProductName, i.VnfdVersion,
					i.VnfdID)
			}
			t.write(w, a.paint)
		})
	}
	return cmd
}

func (a *app) vnfShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show INSTANCE", Short: "Show a VNF instance", Args: cobra.ExactArgs(1)}
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		i, err := c.Instance(ctx, id)
		if err != nil {
			return err
		}
		var p *gybeapi.Protection
		if a.output == "table" && i.Links != nil && i.Links.Protection != nil {
			if p, err = c.Protection(ctx, id); err != nil {
				return err
			}
		}
		return a.show(i, func(w io.Writer) { a.instanceTable(w, i, p) })
	})
}

// readFile reads a file, or standard input for "-".
func (a *app) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.env.Stdin)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("%s", err)
	}
	return raw, nil
}

func (a *app) vnfDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete INSTANCE", Short: "Delete a VNF instance that has no resources", Args: cobra.ExactArgs(1),
	}
	return a.onInstance(cmd, func(ctx context.Context, c *client.Client, id string, _ []string) error {
		return c.DeleteInstance(ctx, id)
	})
}

// keyValues reads key=value arguments.
func keyValues(flag string, in []string) (sol.KeyValuePairs, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := sol.KeyValuePairs{}
	for _, kv := range in {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, usagef("%s %q is not key=value", flag, kv)
		}
		out[k] = v
	}
	return out, nil
}
