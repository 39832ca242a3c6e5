package app

import (
	"context"

	"github.com/gybe-nfv/gybe/pkg/engine"
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
	a.metrics.Count("gybe_operations", "Operations that hold an instance, on all nodes.", "state", a.store.CountActive)
	a.metrics.Count("gybe_jobs", "Jobs of the engine that are not done, on all nodes.", "state",
		func(ctx context.Context) (map[string]float64, error) {
			return engine.OpenJobs(ctx, a.pool)
		})
	a.metrics.Count("gybe_vims", "VIMs that this node has asked, by whether they answer to it.", "state", a.countVims)
	a.metrics.Count("gybe_engine_ticks_running", "Ticks that run on this node now.", "node",
		func(context.Context) (map[string]float64, error) {
			return map[string]float64{a.cfg.NodeID: float64(a.engine.Busy())}, nil
		})
	a.metrics.Count("gybe_notifications", "Notifications that are not delivered, on all nodes.", "state",
		func(ctx context.Context) (map[string]float64, error) {
			b, err := a.store.Backlog(ctx)
			return map[string]float64{"pending": float64(b.Pending), "dead": float64(b.Dead)}, err
		})
	a.metrics.Count("gybe_notification_oldest_seconds", "Age of the oldest pending notification.", "state",
		func(ctx context.Context) (map[string]float64, error) {
			b, err := a.store.Backlog(ctx)
			return map[string]float64{"pending": b.Oldest.Seconds()}, err
		})
	a.metrics.Count("gybe_subscribers", "Subscribers that do not accept notifications now.", "state",
		func(ctx context.Context) (map[string]float64, error) {
			b, err := a.store.Backlog(ctx)
			return map[string]float64{"failing": float64(b.Failing)}, err
		})
}
