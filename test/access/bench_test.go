package access_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// BenchmarkAuditedChange measures a small change with its entry in the audit trail: the CPU of node and client, which
// are one process, without PostgreSQL.
func BenchmarkAuditedChange(b *testing.B) {
	w := start(b, func(c *config.Config) { c.Limits.Quota = config.Quota{} })
	c := w.as(b, red, lcm.RoleOperator)
	began := cpuTime(b)
	for b.Loop() {
		_, err := c.CreatePackage(b.Context(), sol.CreateVnfPkgInfoRequest{})
		require.NoError(b, err)
	}
	b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// cpuTime is the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
