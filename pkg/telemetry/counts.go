package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// scrapeTimeout limits the database queries of one scrape.
const scrapeTimeout = 2 * time.Second

// Counts reads numbers from the database. It is called once per scrape and returns values by one label.
type Counts func(ctx context.Context) (map[string]float64, error)

// Count adds a gauge with one label whose values are read at every scrape. If they cannot be read, the scrape omits
// the gauge and reports the error.
func (m *Metrics) Count(name, help, label string, read Counts) {
	m.registry.MustRegister(&counter{desc: prometheus.NewDesc(name, help, []string{label}, nil), read: read})
}

type counter struct {
	desc *prometheus.Desc
	read Counts
}

// Describe implements prometheus.Collector.
func (c *counter) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *counter) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout) // a Collector gets no context
	defer cancel()
	values, err := c.read(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(c.desc, err)
		return
	}
	for label, v := range values {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, v, label)
	}
}

// PoolStat is the state of the database connection pool.
type PoolStat struct {
	Max, Total, Acquired, Idle int32
	// AcquireCount and AcquireTime are the number of acquired connections and the total time of their acquisition;
	// EmptyCount is how often no connection was idle.
	AcquireCount, EmptyCount int64
	AcquireTime              time.Duration
}

// Pool adds the metrics of the database connection pool.
func (m *Metrics) Pool(read func() PoolStat) {
	gauge := func(name, help string, value func(PoolStat) float64) {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(
				prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(read()) },
			),
		)
	}
	count := func(name, help string, value func(PoolStat) float64) {
		m.registry.MustRegister(
			prometheus.NewCounterFunc(
				prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return value(read()) },
			),
		)
	}
	gauge(
		"gybe_db_connections_max",
		"Most connections to the database.",
		func(s PoolStat) float64 { return float64(s.Max) },
	)
	gauge("gybe_db_connections", "Open connections to the database.", func(s PoolStat) float64 {
		return float64(s.Total)
	})
	gauge("gybe_db_connections_in_use", "Connections in use.", func(s PoolStat) float64 { return float64(s.Acquired) })
	gauge("gybe_db_connections_idle", "Connections not in use.", func(s PoolStat) float64 { return float64(s.Idle) })
	count(
		"gybe_db_acquire_total",
		"Connections taken from the pool.",
		func(s PoolStat) float64 { return float64(s.AcquireCount) },
	)
	count(
		"gybe_db_acquire_empty_total",
		"Connections taken when none was idle.",
		func(s PoolStat) float64 { return float64(s.EmptyCount) },
	)
	count(
		"gybe_db_acquire_seconds_total",
		"Time spent taking connections.",
		func(s PoolStat) float64 { return s.AcquireTime.Seconds() },
	)
}
