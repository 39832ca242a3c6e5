package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

// A flag of a command with the name of a flag of all commands takes its value: with a --context of its own, a command
// would use the current context, and so another server or another user than the one that was named.
func TestNoCommandHidesAFlagOfAllCommands(t *testing.T) {
	t.Parallel()
	known := map[string]bool{
		"gybe login --token":          true, // it replaces the token, so it reads the new one; from standard input
		"gybe package build --output": true, // a file is its result, as with compilers; it talks to no server
		"gybe package sign --key":     true, // as above; they are the names that other tools for signatures use
		"gybe package sign --cert":    true,
	}
	root := (&app{env: &Env{}}).root()
	of := root.PersistentFlags()
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			sub.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				hides := of.Lookup(f.Name) != nil || f.Shorthand != "" && of.ShorthandLookup(f.Shorthand) != nil
				if name := sub.CommandPath() + " --" + f.Name; !known[name] {
					assert.False(t, hides, name)
				}
			})
			check(sub)
		}
	}
	check(root)
}
