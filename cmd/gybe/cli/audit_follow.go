package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// followAudit shows entries of the audit trail behind a place as they come, until the user ends it. When the server is
// away for a short time, it goes on where it was, also at another node behind the same endpoint.
func (a *app) followAudit(ctx context.Context, c *client.Client, q url.Values, place string) error {
	q.Set("limit", strconv.Itoa(auditPage))
	var lastSeen time.Time // when the server last answered
	for {
		q.Set("after", place)
		page, err := c.Audit(ctx, q)
		switch {
		case ctx.Err() != nil:
			if place != lcm.AuditEnd {
				printf(a.env.Stderr, "go on with: gybe audit --follow --after %s\n", place)
			}
			return nil
		case err != nil && (exitCode(err) != ExitUnreachable || time.Since(lastSeen) > patience):
			return err
		case err == nil:
			if lastSeen.IsZero() && a.output == "table" {
				a.auditLine("TIME", "SUBJECT", "ROLE", "MODE", "REMOTE", "STATUS", "REQUEST", "ERROR")
			}
			for _, e := range page.Entries {
				if err := a.showEntry(e); err != nil {
					return err
				}
			}
			place, lastSeen = page.Next, time.Now()
			if len(page.Entries) == auditPage {
				continue
			}
		}
		_ = pause(ctx, retryEvery) // the next request reports that the user has ended it
	}
}

// showEntry writes an entry: a line for people, an object on a line in JSON, or a document in YAML.
func (a *app) showEntry(e gybeapi.AuditEntry) error {
	switch a.output {
	case "json":
		enc := json.NewEncoder(a.env.Stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(e)
	case "yaml":
		raw, err := asYAML(e)
		if err != nil {
			return err
		}
		_, err = a.env.Stdout.Write(append([]byte("---\n"), raw...))
		return err
	}
	a.auditLine(auditCells(e)...)
	return nil
}

// auditLine writes a line of a table whose rows are not known yet.
func (a *app) auditLine(cells ...string) {
	widths := []int{19, 20, 8, 11, 15, 9, 40}
	for n, w := range widths {
		printf(a.env.Stdout, "%-*s  ", w, cells[n])
	}
	printline(a.env.Stdout, cells[len(widths)])
}

// auditCells are the columns of an entry in a table.
func auditCells(e gybeapi.AuditEntry) []string {
	status := "no answer"
	if e.Status != 0 {
		status = strconv.Itoa(e.Status)
	}
	problem := oneLine(e.Error)
	if e.Count > 1 {
		problem += " (" + strconv.Itoa(e.Count) + " times)"
	}
	return []string{
		clock(e.Time), cmp.Or(e.Subject, "-"), cmp.Or(e.Role, "-"), cmp.Or(e.Mode, "-"), e.Remote, status,
		e.Method + " " + oneLine(e.Path), problem,
	}
}

// placeFlag is where a user wants to follow the trail from.
func placeFlag(after string, sinceGiven, untilGiven, limitGiven bool) (string, error) {
	switch {
	case untilGiven || limitGiven:
		return "", usagef("--follow shows entries until it is interrupted, so --until and --limit are not possible")
	case after != "":
		return after, nil
	case sinceGiven:
		return lcm.AuditStart, nil
	}
	return lcm.AuditEnd, nil
}
