package cli

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/cmd/gybe/contexts"
	"github.com/gybe-nfv/gybe/pkg/client"
)

func (a *app) contextCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "context", Short: "Servers that this command knows",
		Long: `Servers that this command knows, each with its endpoint, certificates and login. They are kept in
$XDG_CONFIG_HOME/gybe/config.yaml, which only its owner can read. Flags take precedence over variables
(GYBE_ENDPOINT, GYBE_TOKEN, …), and these over the context. The login of a context is used only for its
own endpoint.`,
	}
	cmd.AddCommand(a.contextList(), a.contextUse(), a.contextShow(), a.contextSet(), a.contextDelete())
	return cmd
}

// completeContext offers the names of contexts to the shell.
func (a *app) completeContext(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	f, err := contexts.Load(contexts.Path(a.env.get))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
		out = append(out, cobra.CompletionWithDesc(name, f.Contexts[name].Endpoint))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) contextList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the contexts", RunE: func(*cobra.Command, []string) error {
		f, err := contexts.Load(contexts.Path(a.env.get))
		if err != nil {
			return usagef("%s", err)
		}
		return a.show(f, func(w io.Writer) {
			t := table{head: []string{"CURRENT", "NAME", "ENDPOINT", "LOGIN"}}
			for _, name := range slices.Sorted(maps.Keys(f.Contexts)) {
				c, current := f.Contexts[name], ""
				if name == f.Current {
					current = "*"
				}
				t.add(current, name, c.Endpoint, loginText(c))
			}
			t.write(w, a.paint)
		})
	}}
}

// loginText names the way in which a context logs in.
func loginText(c *contexts.Context) string {
	if c.Auth == "" && c.Cert != "" {
		return "certificate"
	}
	return cmp.Or(c.Auth, "none")
}

func (a *app) contextUse() *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Use a context from now on", Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.completeContext,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.updateContexts(cmd.Context(), func(f *contexts.File) error {
				if f.Contexts[args[0]] == nil {
					return noContext(args[0])
				}
				f.Current = args[0]
				return nil
			})
		},
	}
}

func noContext(name string) error {
	return failWith(ExitNotFound, "there is no context %q; gybe context list shows those that there are", name)
}

func (a *app) updateContexts(ctx context.Context, change func(*contexts.File) error) error {
	return contexts.Update(ctx, contexts.Path(a.env.get), change)
}

func (a *app) contextShow() *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show a context, without its secrets; without a name, the current one",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeContext,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := contexts.Load(contexts.Path(a.env.get))
			if err != nil {
				return usagef("%s", err)
			}
			name := cmp.Or(slices.Concat(args, []string{a.flags.context, a.env.get("GYBE_CONTEXT"), f.Current})...)
			c := f.Contexts[name]
			if c == nil {
				return noContext(name)
			}
			return a.show(c, func(w io.Writer) {
				pairs := []string{
					"name", name, "endpoint", c.Endpoint, "login", loginText(c), "cacert", c.CACert,
					"certificate", c.Cert,
				}
				if c.Insecure {
					pairs = append(pairs, "insecure", "yes: the server's certificate is not checked")
				}
				if k := c.Keystone; k != nil {
					pairs = append(pairs, "keystone", k.AuthURL, "cloud", k.Cloud, "user", cmp.Or(k.Username, k.UserID),
						"project", cmp.Or(k.Project, k.ProjectID))
				}
				if o := c.OIDC; o != nil {
					pairs = append(pairs, "issuer", o.Issuer, "client", o.ClientID)
				}
				fields(w, a.paint, pairs...)
			})
		},
	}
}

func (a *app) contextSet() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME", Short: "Create or change a context", Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.completeContext,
		Long: `Create or change a context: --endpoint, --cacert, --cert, --key and --insecure are stored in it. The
first context becomes the current one. "gybe login" adds the login.`,
		Example: "  gybe context set prod --endpoint https://gybe.example.com:9890 --cacert /etc/gybe/ca.pem",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.updateContexts(cmd.Context(), func(f *contexts.File) error {
				c := f.Contexts[args[0]]
				if c == nil {
					if a.flags.endpoint == "" {
						return usagef("the new context %s needs --endpoint", args[0])
					}
					c = &contexts.Context{}
					f.Contexts[args[0]] = c
					f.Current = cmp.Or(f.Current, args[0])
				}
				return a.setContext(cmd, c)
			})
		},
	}
}

// setContext stores the flags of the connection in a context. Another server gets no token of the one before.
func (a *app) setContext(cmd *cobra.Command, c *contexts.Context) error {
	if e := a.flags.endpoint; e != "" {
		if _, err := client.New(e, nil); err != nil {
			return usagef("%s", err)
		}
		if c.Endpoint != "" && !sameServer(e, c.Endpoint) && c.Auth == contexts.AuthToken {
			c.Auth, c.Token = "", ""
		}
		c.Endpoint = e
	}
	for flag, to := range map[string]struct{ from, to *string }{
		"cacert": {&a.flags.cacert, &c.CACert}, "cert": {&a.flags.cert, &c.Cert}, "key": {&a.flags.key, &c.Key},
	} {
		if !cmd.Flags().Changed(flag) {
			continue
		}
		path, err := absolute(*to.from)
		if err != nil {
			return usagef("--%s: %s", flag, err)
		}
		*to.to = path
	}
	if cmd.Flags().Changed("insecure") {
		c.Insecure = a.flags.insecure
	}
	return nil
}

func (a *app) contextDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a context and its login", Args: cobra.ExactArgs(1),
		ValidArgsFunction: a.completeContext,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.updateContexts(cmd.Context(), func(f *contexts.File) error {
				c := f.Contexts[args[0]]
				if c == nil {
					return noContext(args[0])
				}
				if err := a.forget(args[0], c); err != nil {
					return err
				}
				delete(f.Contexts, args[0])
				if f.Current == args[0] {
					f.Current = ""
				}
				return nil
			})
		},
	}
}
