package app

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/gybe-nfv/gybe/pkg/telemetry"
)

// addMetrics adds what is read at every scrape.
func (a *App) addMetrics() {
	a.metrics.Pool(func() telemetry.PoolStat {
		s := a.pool.Stat()
		return telemetry.PoolStat{
			Max: s.MaxConns(), Total: s.TotalConns(), Acquired: s.AcquiredConns(), Idle: s.IdleConns(),
			AcquireCount: s.AcquireCount(), EmptyCount: s.EmptyAcquireCount(), AcquireTime: s.AcquireDuration(),
		}
	})
	a.metrics.Count("gybe_operations", "Operations that hold an instance, on all nodes.", "state", a.counts(activeOperations))
	a.metrics.Count("gybe_jobs", "Jobs of the engine that are not done, on all nodes.", "state", a.counts(openJobs))
	a.metrics.Count("gybe_engine_ticks_running", "Ticks that run on this node now.", "node", func(context.Context) (map[string]float64, error) {
		return map[string]float64{a.cfg.NodeID: float64(a.engine.Busy())}, nil
	})
}

const (
	activeOperations = `SELECT state, count(*)::float8 FROM vnf_lcm_op_occ
		WHERE state IN ('STARTING', 'PROCESSING', 'ROLLING_BACK', 'FAILED_TEMP') GROUP BY state`
	openJobs = `SELECT state::text, count(*)::float8 FROM river_job
		WHERE state IN ('available', 'retryable', 'running', 'scheduled', 'discarded') GROUP BY state`
)

// counts reads rows of a label and a number.
func (a *App) counts(sql string) telemetry.Counts {
	return func(ctx context.Context) (map[string]float64, error) {
		rows, err := a.pool.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		type row struct {
			Label string
			Value float64
		}
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		if err != nil {
			return nil, err
		}
		out := make(map[string]float64, len(list))
		for _, r := range list {
			out[r.Label] = r.Value
		}
		return out, nil
	}
}
