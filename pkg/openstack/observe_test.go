package openstack_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// TestEveryCallIsCounted: who watches a node sees which service of the VIM answers how often, with what, and how fast.
func TestEveryCallIsCounted(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	var mu sync.Mutex
	seen := map[string]int{}
	w.cfg.Observe = func(service, method string, status int, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprintf("%s %s %d", service, method, status)]++
		require.Positive(t, took)
	}
	cloud.AddFault(simcloud.Fault{Kind: fault.ExpireTokens, Service: "heat", Method: "POST", Count: 1})
	cloud.AddFault(simcloud.Fault{Kind: fault.Reset, Service: "glance", Method: "POST", Count: 1})
	w.instantiate("simple")
	w.completed()

	mu.Lock()
	defer mu.Unlock()
	total := 0
	for _, n := range seen {
		total += n
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.calls, total, "%v", seen)
	for call, want := range map[string]int{
		"Keystone POST 201": 2, "Heat POST 401": 1, "Heat POST 201": 1, "Glance PUT 204": 2, "Glance POST 0": 1,
		"Nova GET 200": 2,
	} {
		require.Equal(t, want, seen[call], "%s of %v", call, seen)
	}
}
