package telemetry

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Metrics are the metrics of a node, in a separate registry. It observes HTTP requests and, as an
// execution.Observer, operations.
type Metrics struct {
	registry   *prometheus.Registry
	requests   *prometheus.HistogramVec
	vims       *prometheus.HistogramVec
	ticks      *prometheus.HistogramVec
	phases     *prometheus.HistogramVec
	operations *prometheus.HistogramVec
	auth       *prometheus.CounterVec

	notifications *prometheus.HistogramVec
	deadLetters   *prometheus.CounterVec
}

var _ execution.Observer = (*Metrics)(nil)

// Buckets of durations in seconds. Requests take milliseconds, those to a VIM up to a minute and uploads longer, phases
// up to hours.
var (
	requestBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	vimBuckets     = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	phaseBuckets   = []float64{.005, .025, .1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
)

// New returns metrics with those of the process and the Go runtime. version is that of the program.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gybe_http_request_duration_seconds", Help: "Time to answer HTTP requests.", Buckets: requestBuckets,
		}, []string{"method", "route", "status"}),
		vims: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gybe_vim_request_duration_seconds", Help: "Time until the services of VIMs answer requests.",
			Buckets: vimBuckets,
		}, []string{"service", "method", "status"}),
		ticks: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gybe_tick_duration_seconds", Help: "Time of ticks; a tick is one pass of work on an operation.",
			Buckets: phaseBuckets,
		}, []string{"outcome"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gybe_phase_duration_seconds", Help: "Time from start to end of a phase, including waits.",
			Buckets: phaseBuckets,
		}, []string{"operation", "phase", "outcome"}),
		operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gybe_operation_duration_seconds", Help: "Time from the request to the end of operations.",
			Buckets: phaseBuckets,
		}, []string{"operation", "state"}),
	}
	m.notifications = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gybe_notification_attempt_duration_seconds", Help: "Time of attempts to deliver a notification.",
		Buckets: requestBuckets,
	}, []string{"api", "outcome"})
	m.deadLetters = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gybe_notifications_dead_total", Help: "Notifications that became dead letters on this node.",
	}, []string{"api"})
	m.auth = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gybe_authentication_failures_total", Help: "Requests that were not authenticated.",
	}, []string{"mode", "reason"})
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gybe_build_info", Help: "Always 1; the label has the version.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	m.registry.MustRegister(m.requests, m.vims, m.ticks, m.phases, m.operations, m.auth, m.notifications,
		m.deadLetters, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// methods limits the number of series: unknown methods count as "other".
var methods = map[string]bool{
	"GET":     true,
	"HEAD":    true,
	"POST":    true,
	"PUT":     true,
	"PATCH":   true,
	"DELETE":  true,
	"OPTIONS": true,
}

func bounded(method string) string {
	if methods[method] {
		return method
	}
	return "other"
}

// Request observes an answered HTTP request; route is the pattern, "" for an unknown path.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	if route == "" {
		route = "unknown"
	}
	m.requests.WithLabelValues(bounded(method), route, strconv.Itoa(status)).Observe(took.Seconds())
}

// VimRequest observes a request to a service of a VIM; status 0 means no response. The metric has only the class of the
// status, to limit the number of series.
func (m *Metrics) VimRequest(service, method string, status int, took time.Duration) {
	class := "none"
	if status > 0 {
		class = strconv.Itoa(status/100) + "xx"
	}
	m.vims.WithLabelValues(strings.ToLower(service), bounded(method), class).Observe(took.Seconds())
}

// Notification implements delivery.Observer.
func (m *Metrics) Notification(api, outcome string, took time.Duration) {
	m.notifications.WithLabelValues(api, outcome).Observe(took.Seconds())
}

// DeadLetters implements delivery.Observer.
func (m *Metrics) DeadLetters(api string, n int64) {
	m.deadLetters.WithLabelValues(api).Add(float64(n))
}

// Tick observes one tick of the engine.
func (m *Metrics) Tick(took time.Duration, err error) {
	outcome := "done"
	if err != nil {
		outcome = "error"
	}
	m.ticks.WithLabelValues(outcome).Observe(took.Seconds())
}

// PhaseEnded implements execution.Observer.
func (m *Metrics) PhaseEnded(op sol.LcmOperationType, phase string, failed bool, took time.Duration) {
	outcome := "done"
	if failed {
		outcome = "failed"
	}
	m.phases.WithLabelValues(string(op), phase, outcome).Observe(took.Seconds())
}

// OperationEnded implements execution.Observer.
func (m *Metrics) OperationEnded(op sol.LcmOperationType, state sol.LcmOperationStateType, took time.Duration) {
	m.operations.WithLabelValues(string(op), string(state)).Observe(took.Seconds())
}

// AuthFailed counts a request that was not authenticated. Both labels have few values.
func (m *Metrics) AuthFailed(mode, reason string) { m.auth.WithLabelValues(mode, reason).Inc() }
