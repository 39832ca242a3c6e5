package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// ExplainFanOut runs a fan-out without a result, and returns its plan, which is that of the first call with conn.
func (d *Deliveries) ExplainFanOut(ctx context.Context, conn *pgx.Conn) (plan string, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, beginFanOut); err != nil {
		return "", err
	}
	found, err := all[dueMessage](tx.Query(ctx, dueMessages, 100))
	if err != nil {
		return "", err
	}
	rows, err := fanOutRows(found)
	if err != nil {
		return "", err
	}
	if _, err := conn.Prepare(ctx, "fan_out", fanOut); err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE fan_out ($1, NULL, '1 hour')",
		pgx.QueryExecModeSimpleProtocol, string(rows)).Scan(&plan)
	return plan, err
}

// ExplainClaim claims subscribers without a result, and returns the plan.
func (d *Deliveries) ExplainClaim(ctx context.Context, conn *pgx.Conn) (plan string, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := conn.Prepare(ctx, "claim", claimSubscribers); err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE claim (NULL, false, 8, 'n', '15 s')").Scan(&plan)
	return plan, err
}

// FanningOut is the advisory lock of a fan-out.
const FanningOut = fanningOut
