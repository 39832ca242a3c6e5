// Package cli is the gybe command: the server, and a client for everything it serves.
//
// Commands write their result to standard output and everything else to standard error. Run's exit codes
// are documented by `gybe help exit-codes`.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Env is what a command sees of the world.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	// Terminal says that Stdout is one: tables are coloured then, unless NO_COLOR is set.
	Terminal bool
	// Interactive says that Stdin is a terminal: the user can be asked.
	Interactive bool
	// ReadSecret reads a line from the terminal without showing it; nil reads Stdin.
	ReadSecret func() (string, error)
	// OpenBrowser opens an address; nil does nothing.
	OpenBrowser func(url string)
	// Version of the program.
	Version string
}

// get returns an environment variable; "" for one that is not set.
func (e *Env) get(name string) string {
	value, _ := e.lookup(name)
	return value
}

// lookup returns an environment variable, and whether it is set.
func (e *Env) lookup(name string) (value string, ok bool) {
	for _, kv := range slices.Backward(e.Environ) {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			return v, true
		}
	}
	return "", false
}

// app holds what all commands share.
type app struct {
	env    *Env
	flags  connection
	output string
}

// Run runs one command line, without the program's name, and returns the exit code.
func Run(ctx context.Context, args []string, env Env) int {
	a := &app{env: &env}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	if _, told := errors.AsType[*reportedError](err); !told {
		printline(env.Stderr, "gybe: "+err.Error())
		if text := advice(err); text != "" {
			printline(env.Stderr, "  hint: "+text)
		}
	}
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "gybe",
		Short: "A VNF manager: from a VNF package and a parameter file to a running network function",
		Long: `gybe is a VNF manager that implements ETSI NFV-SOL 003, and its command line.

"gybe serve" runs a node of it. Most other commands talk to one, at --endpoint, GYBE_ENDPOINT or the
endpoint of a context; see "gybe context" and "gybe login".`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       a.env.Version,
		Args:          cobra.NoArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(formats, a.output) {
				return usagef("--output is %q; use one of %s", a.output, strings.Join(formats, ", "))
			}
			if err := cmd.ValidateFlagGroups(); err != nil {
				return usagef("%s", err)
			}
			return nil
		},
	}
	root.SetVersionTemplate("gybe {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s\nsee '%s --help'", err, cmd.CommandPath())
	})
	output := a.env.get("GYBE_OUTPUT")
	if output == "" {
		output = "table"
	}
	a.connectionFlags(root)
	root.PersistentFlags().StringVarP(
		&a.output, "output", "o", output, "format of the result: table, json or yaml (GYBE_OUTPUT)",
	)
	// the flag exists
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(
		a.serveCommand(), a.migrateCommand(), a.configCommand(), a.secretsCommand(),
		a.packageCommand(), a.vnfCommand(), a.opCommand(), a.vimCommand(), a.subscriptionCommand(), a.nodeCommand(),
		a.tokenCommand(), a.auditCommand(), a.quotaCommand(), a.projectCommand(), a.adoptCommand(),
		a.contextCommand(), a.loginCommand(), a.logoutCommand(), a.versionCommand(), exitCodesTopic(),
	)
	for _, c := range descendants(root) {
		if c.Args == nil && !c.HasSubCommands() {
			c.Args = cobra.NoArgs
		}
		if c.Args != nil {
			check := c.Args
			c.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return usagef("%s\nusage: %s", err, cmd.UseLine())
				}
				return nil
			}
		}
		if c.HasSubCommands() && c.RunE == nil {
			c.RunE = needsSubcommand
			c.Args = cobra.ArbitraryArgs // so that an unknown command is ours to explain
			c.SuggestionsMinimumDistance = 2
		}
	}
	return root
}

// needsSubcommand is what a group of commands does on its own.
func needsSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
		if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
			text += "; did you mean " + strings.Join(s, " or ") + "?"
		}
		return usagef("%s", text)
	}
	return cmd.Help()
}

// descendants lists a command and all below it.
func descendants(c *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		out = append(out, descendants(sub)...)
	}
	return out
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of this program",
		RunE: func(*cobra.Command, []string) error {
			return a.show(
				map[string]string{"version": a.env.Version}, func(w io.Writer) { printline(w, "gybe "+a.env.Version) },
			)
		},
	}
}
