package cli

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// auditPage is how many entries one request for the audit trail reads.
const auditPage = 500

func (a *app) auditCommand() *cobra.Command {
	var since, until, subject, method, instance, op, pkg, after string
	limit, follow := 0, false
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who requested what in the project, newest first",
		Long: `Show who requested what in the project, newest first: requests that change something, those for
secrets, those whose role was not sufficient, and logins and logouts at the console. It requires the role admin.

With --follow, show new entries as they come, oldest first, until the command is interrupted. An entry comes with its
outcome. A request that takes longer than ten seconds comes without one.`,
	}
	flags := cmd.Flags()
	flags.StringVar(
		&since, "since", "24h", "from this time on: 2026-01-31T12:00:00Z, or as long ago as 90m; all is the beginning",
	)
	flags.StringVar(&until, "until", "", "before this time")
	flags.StringVar(&subject, "subject", "", "only requests of this user or client")
	flags.StringVar(&method, "method", "", "only this method, e.g. DELETE")
	flags.StringVar(&instance, "instance", "", "only about this VNF instance, also by the id of one that was deleted")
	flags.StringVar(&op, "op", "", "only about the operation with this id")
	flags.StringVar(&pkg, "package", "", "only about the VNF package with this id")
	flags.IntVar(&limit, "limit", 100, "how many entries at most; 0 is all")
	flags.BoolVarP(&follow, "follow", "f", false, "show new entries until interrupted; with --since, older ones first")
	flags.StringVar(&after, "after", "", "with --follow, only entries after this cursor")
	_ = cmd.RegisterFlagCompletionFunc("instance", a.complete(instanceThings)) // the flags exist
	_ = cmd.RegisterFlagCompletionFunc("op", a.complete(operationThings))
	_ = cmd.RegisterFlagCompletionFunc("package", a.complete(packageThings))
	_ = cmd.RegisterFlagCompletionFunc("method", cobra.FixedCompletions([]string{
		http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut,
	}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if after != "" && !follow {
			return usagef("--after needs --follow")
		}
		place, err := placeFlag(after, flags.Changed("since"), until != "", flags.Changed("limit"))
		if follow && err != nil {
			return err
		}
		if follow && !flags.Changed("since") {
			since = ""
		}
		q := url.Values{}
		for name, text := range map[string]string{"since": since, "until": until} {
			at, err := timeFlag("--"+name, text)
			if err != nil {
				return err
			}
			if !at.IsZero() {
				q.Set(name, at.UTC().Format(time.RFC3339))
			}
		}
		if limit < 0 {
			return usagef("--limit is %d; it is 0 or more", limit)
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		if instance != "" {
			if id, err := pick(cmd.Context(), "VNF instance", instance, instanceThings(c)); err == nil {
				instance = id
			}
		}
		for name, value := range map[string]string{
			"subject": subject, "method": strings.ToUpper(method), "vnfInstanceId": instance, "vnfLcmOpOccId": op,
			"vnfPkgId": pkg,
		} {
			if value != "" {
				q.Set(name, value)
			}
		}
		if follow {
			return a.followAudit(cmd.Context(), c, q, place)
		}
		entries, err := auditEntries(cmd.Context(), c, q, limit)
		if err != nil {
			return err
		}
		return a.show(entries, func(w io.Writer) { a.auditTable(w, entries) })
	}
	return cmd
}

// auditEntries reads pages until limit is reached; 0 is no limit.
func auditEntries(ctx context.Context, c *client.Client, q url.Values, limit int) ([]gybeapi.AuditEntry, error) {
	out := []gybeapi.AuditEntry{}
	for {
		size := auditPage
		if limit > 0 {
			size = min(size, limit-len(out))
		}
		q.Set("limit", strconv.Itoa(size))
		page, err := c.Audit(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Entries...)
		if page.Next == "" || limit > 0 && len(out) >= limit {
			return out, nil
		}
		q.Set("before", page.Next)
	}
}

func (a *app) auditTable(w io.Writer, entries []gybeapi.AuditEntry) {
	t := table{head: []string{"TIME", "SUBJECT", "ROLE", "MODE", "REMOTE", "STATUS", "REQUEST", "ERROR"}}
	for _, e := range entries {
		t.add(auditCells(e)...)
	}
	t.write(w, a.paint)
}

// timeFlag reads a time, or a duration before now; "" and "all" are the zero time.
func timeFlag(name, text string) (time.Time, error) {
	if text == "" || text == "all" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usagef("%s is %q; use a time such as 2026-01-31T12:00:00Z, or a duration such as 90m", name, text)
	}
	return at, nil
}
