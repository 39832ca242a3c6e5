package machine_test

import (
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// A service has one main process, also when commands and its automatic restart start it at the same time. A second one
// would keep its ports.
func TestServiceHasOneProcess(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{Speed: 1000})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}))
	c := dial(t, at(5), f.SSHPort())
	ok(t, c, `printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sleep 1000000\nRestart=always\nRestartSec=0\n' |
		sudo tee /etc/systemd/system/one.service && sudo systemctl daemon-reload`)
	sleepers := func() (n int) {
		for _, command := range f.Machine("a").Processes() {
			if strings.Contains(command, "sleep 1000000") {
				n++
			}
		}
		return n
	}
	for range 20 {
		var wg sync.WaitGroup
		for _, verb := range []string{"restart", "start", "restart", "start"} {
			wg.Go(func() { _, err := sh2(c, "sudo systemctl "+verb+" one"); assert.NoError(t, err) })
		}
		wg.Wait()
		require.Equal(t, "active\n", ok(t, c, "systemctl is-active one"))
		require.Equal(t, 1, sleepers())
	}
	ok(t, c, "sudo systemctl stop one")
	require.Eventually(t, func() bool { return sleepers() == 0 }, time.Minute, 10*time.Millisecond)
}
