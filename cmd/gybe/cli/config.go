package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gybe-nfv/gybe/migrations"
	node "github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/telemetry"
)

// settings are the flags of commands that read a configuration.
type settings struct {
	file  string
	set   []string
	flags *pflag.FlagSet
}

// shortcuts are settings with a flag of their own; --set reaches all of them.
var shortcuts = []struct{ flag, key, help string }{
	{"database-url", "database_url", "connection string of PostgreSQL"},
	{"listen", "listen", "host:port of the API"},
	{"public-url", "public_url", "how clients reach the API"},
	{"debug-listen", "debug_listen", "loopback host:port of /metrics and pprof"},
	{"data-dir", "data_dir", "directory of package content"},
	{"node-id", "node_id", "name of this node"},
	{"log-level", "log.level", "debug, info, warn or error"},
	{"log-format", "log.format", "text or json"},
}

func addSettings(cmd *cobra.Command) *settings {
	s := &settings{flags: cmd.Flags()}
	s.flags.StringVarP(&s.file, "config", "c", "", "configuration file (GYBE_CONFIG)")
	s.flags.StringArrayVar(&s.set, "set", nil, "any setting as key=value, e.g. ssh.port=2222; can be repeated")
	for _, sc := range shortcuts {
		s.flags.String(sc.flag, "", sc.help)
	}
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("set",
		func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			for _, k := range config.Keys() {
				out = append(out, k+"=")
			}
			return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		})
	return s
}

// load reads the configuration; warnings go to standard error.
func (a *app) load(s *settings) (config.Config, error) {
	src := config.Source{File: s.file, Env: a.env.Environ}
	if src.File == "" {
		src.File = a.env.get(config.FileVariable)
	}
	for _, sc := range shortcuts {
		if f := s.flags.Lookup(sc.flag); f.Changed {
			src.Set = append(src.Set, sc.key+"="+f.Value.String())
		}
	}
	src.Set = append(src.Set, s.set...)
	cfg, warnings, err := config.Load(src)
	for _, w := range warnings {
		printline(a.env.Stderr, "gybe: warning: "+w)
	}
	if err != nil {
		return cfg, invalidConfig(err)
	}
	return cfg, nil
}

func invalidConfig(err error) error {
	lines := strings.Split(err.Error(), "\n")
	return &codeError{ExitUsage, fmt.Errorf("the configuration is invalid:\n  %s", strings.Join(lines, "\n  "))}
}

// logger makes the logger that a configuration asks for, on standard error.
func (a *app) logger(cfg config.Config) *slog.Logger {
	level, _ := cfg.Log.SlogLevel() // validated
	return telemetry.NewLogger(a.env.Stderr, level, cfg.Log.Format)
}

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check and show the configuration of a node",
		Long: `Settings come from a YAML file (--config, GYBE_CONFIG), then from GYBE_… environment
variables, then from flags. Each takes precedence over the earlier ones. The variable of a key is
its upper-case name with _ for dots: ssh.port is GYBE_SSH_PORT.`,
	}
	check := &cobra.Command{
		Use: "check [FILE]", Short: "Check the configuration without starting anything", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	s := addSettings(check)
	check.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			if s.file != "" {
				return usagef("two configuration files: %s and that of --config", args[0])
			}
			s.file = args[0]
		}
		cfg, err := a.load(s)
		if err != nil {
			return err
		}
		if err := node.CheckAuth(cfg); err != nil {
			return invalidConfig(err)
		}
		printline(a.env.Stdout, "the configuration is valid")
		return nil
	}
	show := &cobra.Command{Use: "print", Short: "Show the effective settings, without secrets, as a configuration file"}
	p := addSettings(show)
	show.RunE = func(*cobra.Command, []string) error {
		cfg, err := a.load(p)
		if err != nil {
			return err
		}
		masked := cfg.Masked()
		raw, err := masked.YAML()
		if err != nil {
			return err
		}
		_, err = a.env.Stdout.Write(raw)
		return err
	}
	cmd.AddCommand(check, show)
	return cmd
}

func (a *app) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Migrate the database to the schema of this version",
		Long: `Migrate the database to the schema of this version. "gybe serve" does this, too,
when it starts. Several nodes can do it at the same time.`,
	}
	s := addSettings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := a.load(s)
		if err != nil {
			return err
		}
		return a.migrate(cmd.Context(), cfg)
	}
	return cmd
}

// openDatabase connects to the database of a configuration.
func openDatabase(ctx context.Context, cfg config.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.New(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, usagef("database_url: %s", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, failWith(ExitUnreachable, "the database cannot be reached: %w", err)
	}
	return pool, nil
}

func (a *app) migrate(ctx context.Context, cfg config.Config) error {
	pool, err := openDatabase(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	before, _, err := migrations.Version(ctx, pool)
	if err != nil {
		return err
	}
	if err := migrations.Up(ctx, pool); err != nil {
		return err
	}
	after, _, err := migrations.Version(ctx, pool)
	if err != nil {
		return err
	}
	return a.show(map[string]int64{"before": before, "after": after}, func(w io.Writer) {
		if before == after {
			printf(w, "the database is at version %d already\n", after)
			return
		}
		printf(w, "the database was migrated from version %d to %d\n", before, after)
	})
}
