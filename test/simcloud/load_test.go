package simcloud

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"
)

// cpu is the processor time of this process so far.
func cpu() time.Duration {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// TestHundredStacksAtOnce holds the simulator to its place: it must never be what a load test measures. The figure
// includes the clients.
func TestHundredStacksAtOnce(t *testing.T) {
	c := StartTest(t, Options{LargeNetworks: true})
	u := login(t, c)
	before := c.State()
	const n = 100
	top := workersTop + "" // two nested stacks; the third stands beside them
	top = top[:len(top)-len(
		"outputs:\n  ips: {value: [{get_attr: [worker-0, ip]}, {get_attr: [worker-1, ip]}]}\n",
	)] + "  worker-2: *w\n"
	begun, used := time.Now(), cpu()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := fmt.Sprintf("vnf-%d", i)
			id := createStack(t, u, name, top, map[string]string{"worker.yaml": workerFile}, nfv())
			waitStack(t, u, id, "CREATE_COMPLETE")
		})
	}
	wg.Wait()
	wall, spent := time.Since(begun), cpu()-used
	t.Logf("%d stacks with 3 nested stacks each: wall %v, CPU with clients %v", n, wall, spent)
	require.Len(t, c.State()["servers"], 3*n)
	require.Less(t, spent, 3*time.Second)
	begun, used = time.Now(), cpu()
	for _, st := range c.State()["stacks"] {
		if len(st.Name) < 10 {
			wg.Go(func() { _ = stacks.Delete(t.Context(), u.heat, st.Name, st.ID).ExtractErr() })
		}
	}
	wg.Wait()
	eventually(t, "nothing left", func() bool { return len(c.State().Since(before)) == 0 })
	t.Logf("deleted: wall %v, CPU with clients %v", time.Since(begun), cpu()-used)
}
