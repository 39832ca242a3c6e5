package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"github.com/spf13/cobra"

	node "github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/process"
)

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run a node",
		Long: `Run a node until it gets SIGINT or SIGTERM. Any number of nodes may share one
database, one content store and one key file; they share the work and take over the work of failed
nodes. The database is migrated first. The log goes to standard error.`,
	}
	s := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := a.load(s)
		if err != nil {
			return err
		}
		// Before anything secret is in memory, and before any program is started.
		if err := errors.Join(process.CloseOnExec(), process.HideMemory()); err != nil {
			return err
		}
		n, err := node.New(cmd.Context(), cfg, node.Options{Log: a.logger(cfg), Version: a.env.Version})
		if err != nil {
			return startError(err)
		}
		return n.Run(cmd.Context())
	}
	return cmd
}

// startError says what to do about the failures that every operator meets once.
func startError(err error) error {
	var listen *net.OpError
	switch {
	case errors.As(err, &listen) && listen.Op == "listen":
		return fmt.Errorf("%w\n  hint: another process uses the address; set listen or debug_listen", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w\n  hint: set data_dir to a directory that this user may write", err)
	}
	return err
}
