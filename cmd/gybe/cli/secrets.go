package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/store"
)

func (a *app) secretsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "secrets", Short: "Rotate the keys that seal credentials in the database",
		Long: `Rotate the keys that seal credentials in the database, while nodes run. On the machine of a node:

  gybe secrets rotate       adds a new key, which opens and does not seal yet
  (copy the key file to nodes that have a file of their own; they read it again within 10 s)
  gybe secrets activate     the new key seals from now on
  (copy the key file again, and wait 10 s)
  gybe secrets reencrypt    seals everything with the new key
  gybe secrets remove ID    removes the old key, when nothing is sealed with it

Keep the old key file as long as there are backups of the database that need it.`,
	}
	cmd.AddCommand(
		a.secretsRotateCommand(), a.secretsActivateCommand(), a.secretsReencryptCommand(), a.secretsStatusCommand(),
		a.secretsRemoveCommand(),
	)
	return cmd
}

func (a *app) secretsRotateCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "rotate", Short: "Add a new key to the key file", Args: cobra.NoArgs}
	s := addSettings(cmd)
	activate := cmd.Flags().Bool("activate", false, "let it seal at once, if all nodes read this very file")
	cmd.RunE = func(*cobra.Command, []string) error {
		cfg, err := a.load(s)
		if err != nil {
			return err
		}
		path := cfg.SecretKeyFile()
		id, err := secret.AddKey(path)
		if err != nil {
			return err
		}
		result := map[string]string{"key": id, "file": path}
		if !*activate {
			return a.show(result, func(w io.Writer) {
				printf(w, "%s has the new key %s, which does not seal yet\n", path, id)
				printline(w, "next: copy the file to all nodes that have a file of their own, wait 10 s, and run: "+
					"gybe secrets activate")
			})
		}
		return a.activate(path, id)
	}
	return cmd
}

func (a *app) secretsActivateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "activate [KEY]", Short: "Let the last key of the key file, or the named one, seal",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
	}
	s := addSettings(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		cfg, err := a.load(s)
		if err != nil {
			return err
		}
		return a.activate(cfg.SecretKeyFile(), slices.Concat(args, []string{""})[0])
	}
	return cmd
}

func (a *app) activate(path, id string) error {
	now, before, err := secret.Activate(path, id)
	if err != nil {
		return err
	}
	return a.show(map[string]string{"key": now, "before": before, "file": path}, func(w io.Writer) {
		if now == before {
			printf(w, "the key %s of %s seals already\n", now, path)
			return
		}
		printf(w, "the key %s of %s seals from now on; %s still opens\n", now, path, before)
		printline(w, "next: copy the file to all nodes that have a file of their own, wait 10 s, and run: "+
			"gybe secrets reencrypt")
	})
}

func (a *app) secretsReencryptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "reencrypt", Args: cobra.NoArgs,
		Short: "Seal everything in the database with the first key of the key file",
		Long: `Seal everything in the database with the first key of the key file. Nodes go on working. If the
command is interrupted, run it again: it continues.`,
	}
	s := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.withStore(cmd.Context(), s, func(st *store.Store, ring *secret.Ring, _ config.Config) error {
			var shown time.Time
			n, err := st.Reencrypt(cmd.Context(), func(p store.Progress) {
				if time.Since(shown) >= time.Second {
					shown = time.Now()
					printf(a.env.Stderr, "%s.%s: %d\n", p.Table, p.Column, p.Values)
				}
			})
			if err != nil {
				return fmt.Errorf("after %d values: %w", n, err)
			}
			printf(a.env.Stderr, "sealed %d values with the key %s\n", n, ring.Primary())
			return a.keyStatus(cmd.Context(), st, ring)
		})
	}
	return cmd
}

func (a *app) secretsStatusCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Count the sealed values by key", Args: cobra.NoArgs}
	s := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.withStore(cmd.Context(), s, func(st *store.Store, ring *secret.Ring, _ config.Config) error {
			return a.keyStatus(cmd.Context(), st, ring)
		})
	}
	return cmd
}

func (a *app) secretsRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove KEY", Args: cobra.ExactArgs(1),
		Short:             "Remove a key that nothing is sealed with from the key file",
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	s := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withStore(cmd.Context(), s, func(st *store.Store, _ *secret.Ring, cfg config.Config) error {
			if err := st.ForgetKey(cmd.Context(), args[0]); err != nil {
				if e := lcm.AsError(err); e.Code == lcm.CodeConflict {
					return failWith(ExitConflict, "%w (%s)", err, e.Hint)
				}
				return err
			}
			if err := secret.RemoveKey(cfg.SecretKeyFile(), args[0]); err != nil {
				return err
			}
			return a.show(map[string]string{"removed": args[0]}, func(w io.Writer) {
				printf(w, "the key %s was removed from %s\n", args[0], cfg.SecretKeyFile())
			})
		})
	}
	return cmd
}

// withStore opens the database of a configuration, which has to have the schema of this version.
func (a *app) withStore(
	ctx context.Context, s *settings, do func(*store.Store, *secret.Ring, config.Config) error,
) error {
	cfg, err := a.load(s)
	if err != nil {
		return err
	}
	ring, err := secret.Load(cfg.SecretKeyFile())
	if err != nil {
		return err
	}
	pool, err := openDatabase(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	st, err := store.New(ctx, pool, ring, nil, a.logger(cfg))
	if err != nil {
		return err
	}
	return do(st, ring, cfg)
}

// keyCount is a line of the status.
type keyCount struct {
	Key    string           `json:"key"` // "" is not sealed
	Role   string           `json:"role"`
	Values int64            `json:"values"`
	In     map[string]int64 `json:"in,omitempty"` // by table and column
	// Exposed says that all users of a machine could read the key.
	Exposed *exposure `json:"exposed,omitempty"`
}

// exposure says when the key file was found to be readable by all users, and with which mode.
type exposure struct {
	Found time.Time `json:"found"`
	Mode  string    `json:"mode"`
}

// keyStatus shows how many values are sealed with each key.
func (a *app) keyStatus(ctx context.Context, st *store.Store, ring *secret.Ring) error {
	uses, err := st.KeyUses(ctx)
	if err != nil {
		return err
	}
	var counts []keyCount
	for n, id := range ring.IDs() {
		role := "opens"
		if n == 0 {
			role = "seals"
		}
		counts = append(counts, keyCount{Key: id, Role: role, In: map[string]int64{}})
	}
	for _, u := range uses {
		at := slices.IndexFunc(counts, func(c keyCount) bool { return c.Key == u.Key })
		if at < 0 {
			at = len(counts)
			role := "missing in the key file"
			if u.Key == "" {
				role = "not sealed yet"
			}
			counts = append(counts, keyCount{Key: u.Key, Role: role, In: map[string]int64{}})
		}
		counts[at].Values += u.Values
		counts[at].In[u.Table+"."+u.Column] += u.Values
	}
	warnOfExposures(a.env.Stderr, ring, counts)
	return a.show(counts, func(w io.Writer) {
		for _, c := range counts {
			printf(w, "%-10s %-24s %d values\n", c.Key, c.Role, c.Values)
		}
		for _, c := range counts[1:] {
			switch {
			case c.Values > 0:
				printline(w, "next: gybe secrets reencrypt")
				return
			case c.Role == "opens":
				printf(w, "next: gybe secrets remove %s, unless it is new: then gybe secrets activate\n", c.Key)
			}
		}
	})
}

// warnOfExposures adds to each key whether all users of a machine could read it, and says what to do.
func warnOfExposures(w io.Writer, ring *secret.Ring, counts []keyCount) {
	for _, e := range ring.Exposures() {
		at := slices.IndexFunc(counts, func(c keyCount) bool { return c.Key == e.Key })
		counts[at].Exposed = &exposure{e.Found, e.Mode}
		first := "gybe secrets rotate, gybe secrets activate, "
		if counts[at].Role != "seals" {
			first = ""
		}
		printf(w, "WARNING: until %s all users of a machine could read the key %s (mode of the key file: %s); replace "+
			"it: %sgybe secrets reencrypt, gybe secrets remove %s. Change the passwords that it sealed, too.\n",
			e.Found.Format(time.RFC3339), e.Key, e.Mode, first, e.Key)
	}
}
