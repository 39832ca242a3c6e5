package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/telemetry"
)

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	s := httptest.NewServer(m.Handler())
	defer s.Close()
	resp, err := http.Get(s.URL + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 200, resp.StatusCode)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(raw)
}

func TestMetricsShowWhatHappened(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	m.Request("GET", "/vnflcm/v2/vnf_instances", 200, time.Millisecond)
	m.Request("FROB", "", 404, time.Millisecond)
	m.VimRequest("Heat", "GET", 200, 20*time.Millisecond)
	m.VimRequest("Heat", "GET", 204, time.Second)
	m.VimRequest("Nova", "FROB", 409, time.Second)
	m.VimRequest("Keystone", "POST", 0, time.Second)
	m.Tick(time.Second, nil)
	m.Tick(time.Second, errors.New("x"))
	m.PhaseEnded(sol.LcmOperationInstantiate, "infra", true, time.Second)
	m.OperationEnded(sol.LcmOperationInstantiate, sol.LcmOperationStateCompleted, time.Minute)
	m.Count("gybe_operations", "help", "state", func(context.Context) (map[string]float64, error) {
		return map[string]float64{"PROCESSING": 3}, nil
	})
	m.Pool(func() telemetry.PoolStat { return telemetry.PoolStat{Max: 7, AcquireTime: time.Second} })
	text := scrape(t, m)
	for _, want := range []string{
		`gybe_build_info{version="v1"} 1`,
		`gybe_http_request_duration_seconds_count{method="GET",route="/vnflcm/v2/vnf_instances",status="200"} 1`,
		`gybe_http_request_duration_seconds_count{method="other",route="unknown",status="404"} 1`,
		`gybe_vim_request_duration_seconds_count{method="GET",service="heat",status="2xx"} 2`,
		`gybe_vim_request_duration_seconds_bucket{method="GET",service="heat",status="2xx",le="0.025"} 1`,
		`gybe_vim_request_duration_seconds_count{method="other",service="nova",status="4xx"} 1`,
		`gybe_vim_request_duration_seconds_count{method="POST",service="keystone",status="none"} 1`,
		`gybe_tick_duration_seconds_count{outcome="error"} 1`,
		`gybe_phase_duration_seconds_count{operation="INSTANTIATE",outcome="failed",phase="infra"} 1`,
		`gybe_operation_duration_seconds_count{operation="INSTANTIATE",state="COMPLETED"} 1`,
		`gybe_operations{state="PROCESSING"} 3`,
		`gybe_db_connections_max 7`,
		`gybe_db_acquire_seconds_total 1`,
		`go_goroutines`,
	} {
		require.Contains(t, text, want)
	}
}

func TestAnUnreadableNumberDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	m := telemetry.New("v1")
	m.Count("gybe_operations", "help", "state", func(context.Context) (map[string]float64, error) {
		return nil, errors.New("the database is away")
	})
	require.Contains(t, scrape(t, m), "gybe_build_info")
}

func TestLoggerFormats(t *testing.T) {
	t.Parallel()
	var text, json strings.Builder
	telemetry.NewLogger(&text, slog.LevelWarn, "text").Info("quiet")
	telemetry.NewLogger(&text, slog.LevelWarn, "text").Warn("loud", "op_id", "1")
	telemetry.NewLogger(&json, slog.LevelInfo, "json").Info("loud", "op_id", "1")
	require.NotContains(t, text.String(), "quiet")
	require.Contains(t, text.String(), `msg=loud op_id=1`)
	require.Contains(t, json.String(), `"msg":"loud","op_id":"1"`)
}
