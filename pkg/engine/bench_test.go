package engine_test

import (
	"sync"
	"testing"

	"github.com/gybe-nfv/gybe/test/devpg"
)

// BenchmarkHundredOperations admits a hundred operations at once and waits until all have done their four steps.
func BenchmarkHundredOperations(b *testing.B) {
	const many = 100
	pool := devpg.Pool(b, devpg.TestURL(b)+"&pool_max_conns=20")
	n := start(b, pool, "a", &script{steps: 4})
	for b.Loop() {
		ops := make([]string, many)
		var wg sync.WaitGroup
		for i := range ops {
			wg.Go(func() { ops[i] = admit(b, n.store) })
		}
		wg.Wait()
		completed(b, n.store, ops...)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/many, "ms/operation")
}
