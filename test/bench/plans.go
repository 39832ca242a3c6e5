package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// logPlans lets PostgreSQL log the plans of all statements of connections that are made later, with the rows and
// buffers that they read.
func logPlans(ctx context.Context, db *pgx.Conn) error {
	if _, err := db.Exec(ctx, "LOAD 'auto_explain'"); err != nil { // so that its settings are known
		return err
	}
	for _, s := range []string{
		"ALTER SYSTEM SET session_preload_libraries = 'auto_explain'",
		"ALTER SYSTEM SET auto_explain.log_min_duration = 0", "ALTER SYSTEM SET auto_explain.log_analyze = on",
		"ALTER SYSTEM SET auto_explain.log_buffers = on", "ALTER SYSTEM SET auto_explain.log_timing = off",
		"SELECT pg_reload_conf()",
	} {
		if _, err := db.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// logNoPlans ends logPlans.
func logNoPlans(ctx context.Context, db *pgx.Conn) error {
	for _, s := range []string{
		"session_preload_libraries", "auto_explain.log_min_duration", "auto_explain.log_analyze",
		"auto_explain.log_buffers", "auto_explain.log_timing",
	} {
		if _, err := db.Exec(ctx, "ALTER SYSTEM RESET "+s); err != nil {
			return err
		}
	}
	_, err := db.Exec(ctx, "SELECT pg_reload_conf()")
	return err
}

// plans reports the plans of the statements that a node sends during do and that begin with one of some texts.
func (b *bench) plans(what string, statements []string, do func() error) error {
	log := filepath.Join(b.stack.Database.Dir(), "log")
	before, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	b.row("", "", "", "")
	b.row("plan of "+what, "", "", "")
	for _, line := range plan(string(after[len(before):]), statements) {
		b.row("  "+line, "", "", "")
	}
	return nil
}

// plan returns the lines of the plans of some statements in a log, without the statements. Each statement has one plan,
// the last that it had.
func plan(log string, statements []string) (out []string) {
	plans := map[string][]string{}
	var order []string
	current := ""
	for line := range strings.Lines(log) {
		text := strings.TrimRight(line, "\n")
		if query, begins := strings.CutPrefix(strings.TrimSpace(text), "Query Text: "); begins {
			current = ""
			if slices.ContainsFunc(statements, func(s string) bool { return strings.HasPrefix(query, s) }) {
				current = query
				if plans[current] == nil {
					order = append(order, current)
				}
				plans[current] = nil
			}
			continue
		}
		if !strings.HasPrefix(text, "\t") {
			current = ""
		}
		if current != "" && (len(plans[current]) > 0 || strings.Contains(text, "(cost=")) {
			plans[current] = append(plans[current], strings.TrimPrefix(text, "\t"))
		}
	}
	for _, query := range order {
		out = append(out, plans[query]...)
	}
	return out
}
