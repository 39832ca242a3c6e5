package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/auth"
	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Create, list and revoke static tokens",
		Long: `Create, list and revoke static tokens, on the machine of a node. The commands edit the
file that auth.tokens.file names, or --file; nodes read it again within a second. The file has only
hashes of the tokens. Clients send a token as "Authorization: Bearer TOKEN" or "X-Auth-Token: TOKEN".`,
	}
	cmd.AddCommand(a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	return cmd
}

// tokenFile adds the flags that find the file of the tokens. It reads only auth.tokens.file of the configuration, so
// that the commands work for users who may not read the other settings.
func (a *app) tokenFile(cmd *cobra.Command) func() (string, error) {
	file := cmd.Flags().String("file", "", "file of the tokens (default: auth.tokens.file of the configuration)")
	conf := cmd.Flags().StringP("config", "c", "", "configuration file (GYBE_CONFIG)")
	return func() (string, error) {
		if *file != "" {
			return *file, nil
		}
		cfg, _, err := config.Load(config.Source{
			File: cmp.Or(*conf, a.env.get(config.FileVariable)), Env: a.env.Environ,
		})
		if path := cfg.Auth.Tokens.File; path != "" {
			return path, nil // other errors of the configuration do not matter here
		}
		if err != nil && *conf != "" {
			return "", invalidConfig(err)
		}
		return "", usagef("no file of tokens; use --file, or set auth.tokens.file in the configuration")
	}
}

// createdToken is the result of gybe token create.
type createdToken struct {
	auth.Token
	Secret string `json:"token"`
}

func (a *app) tokenCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create --subject NAME", Short: "Create a token and show it once",
		Example: `  gybe token create --file /etc/gybe/tokens --subject backup-job --role reader --expires 30d
  export GYBE_TOKEN=$(gybe token create --subject ci --role operator)`,
	}
	file := a.tokenFile(cmd)
	subject := cmd.Flags().String("subject", "", "user or program that the token is for")
	project := cmd.Flags().String("project", lcm.DefaultProject, "project of the resources that it sees and creates")
	role := cmd.Flags().String("role", string(lcm.RoleReader), "reader, operator or admin")
	expires := cmd.Flags().String("expires", "365d", "time until it expires, such as 12h or 30d, a date, or never")
	_ = cmd.MarkFlagRequired("subject") // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("role",
		cobra.FixedCompletions([]string{"reader", "operator", "admin"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(*cobra.Command, []string) error {
		path, err := file()
		if err != nil {
			return err
		}
		now := time.Now()
		until, err := expiry(*expires, now)
		if err != nil {
			return err
		}
		secret, t, err := auth.NewToken(*subject, *project, lcm.Role(*role), until, now)
		if err != nil {
			return usagef("%s", err)
		}
		if err := auth.AddToken(path, t); err != nil {
			return tokenError(err)
		}
		printf(a.env.Stderr, "token %s of %s, %s in the project %s, expires %s; it is not shown again\n",
			t.ID, t.Subject, t.Role, t.Project, expiryText(t))
		return a.show(createdToken{t, secret}, func(w io.Writer) { printline(w, secret) })
	}
	return cmd
}

func (a *app) tokenListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the tokens, without their secrets"}
	file := a.tokenFile(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		path, err := file()
		if err != nil {
			return err
		}
		tokens, err := auth.ReadTokens(path)
		if err != nil && len(tokens) == 0 && !errors.Is(err, fs.ErrNotExist) {
			return tokenError(err)
		}
		slices.SortFunc(tokens, func(a, b auth.Token) int { return a.Created.Compare(b.Created) })
		t := table{head: []string{"ID", "SUBJECT", "ROLE", "PROJECT", "CREATED", "EXPIRES"}}
		for _, k := range tokens {
			t.add(k.ID, k.Subject, string(k.Role), k.Project, k.Created.Format(time.RFC3339), expiryText(k))
		}
		shown := a.show(slices.Concat([]auth.Token{}, tokens), func(w io.Writer) { t.write(w, a.paint) })
		if shown != nil {
			return shown
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return tokenError(err)
		}
		return nil
	}
	return cmd
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a token", Args: cobra.ExactArgs(1),
		Long: `Revoke a token. Nodes reject it within a second.`,
	}
	file := a.tokenFile(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		path, err := file()
		if err != nil {
			return err
		}
		t, err := auth.RevokeToken(path, args[0])
		if errors.Is(err, fs.ErrNotExist) {
			return failWith(ExitNotFound, "%w", err)
		}
		if err != nil {
			return tokenError(err)
		}
		return a.show(t, func(w io.Writer) { printf(w, "token %s of %s is revoked\n", t.ID, t.Subject) })
	}
	return cmd
}

// tokenError adds a hint to an error of the file.
func tokenError(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w\n  hint: run the command as the user that gybe runs as, or as root", err)
	}
	return err
}

func expiryText(t auth.Token) string {
	switch {
	case t.Expires.IsZero():
		return "never"
	case t.Expires.Before(time.Now()):
		return t.Expires.Format(time.RFC3339) + " (expired)"
	}
	return t.Expires.Format(time.RFC3339)
}

// expiry reads a duration from now, a date, or never.
func expiry(s string, now time.Time) (time.Time, error) {
	if s == "never" {
		return time.Time{}, nil
	}
	days, isDays := strings.CutSuffix(s, "d")
	if n, err := strconv.Atoi(days); isDays && err == nil && n > 0 && n <= 36500 {
		return now.AddDate(0, 0, n), nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.After(now) {
			return t, nil
		}
	}
	return time.Time{}, usagef("--expires is %q; use a time such as 12h or 30d, a date in the future, or never", s)
}
