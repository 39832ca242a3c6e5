package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// ExplainFanOut runs a fan-out without a result, and returns its plan.
func (d *Deliveries) ExplainFanOut(ctx context.Context) (plan string, err error) {
	tx, err := d.pool.Begin(ctx)
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
	err = tx.QueryRow(
		ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+fanOut, pgx.QueryExecModeSimpleProtocol, string(rows), nil, "1 hour",
	).Scan(&plan)
	return plan, err
}

// FanningOut is the advisory lock of a fan-out.
const FanningOut = fanningOut
