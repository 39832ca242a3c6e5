package crash_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// A node dies while it removes leftovers: before and after each of its writes, and in a call to the VIM. The user
// repeats the request on another node as soon as the lease has expired, and nothing is left.
func TestDeathWhileLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	database := devpg.TestURL(t)
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
	other := spawn(t, database, w.data)
	vnfd := w.onboard(other.api, plainSource)
	for name, tt := range map[string]struct {
		death  death // Nth 0: in a call to the VIM
		leased bool  // whether the node that died leaves a lease
		ended  bool  // whether it has done everything
	}{
		"before the lease":     {death{Nth: 1, Method: "Lease"}, false, false},
		"after the lease":      {death{Nth: 1, Method: "Lease", After: true}, true, false},
		"in a call to the VIM": {death{}, true, false},
		"before the end":       {death{Nth: 1, Method: "EndLease"}, true, false},
		"after the end":        {death{Nth: 1, Method: "EndLease", After: true}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			w.cloud.AddFault(simcloud.Fault{
				Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Reason: "no", Count: 1,
			})
			id := w.create(other.api, vnfd)
			op, err := w.instantiate(w.plain())(other.api, id)
			require.NoError(t, err)
			w.rests(other.api, op, sol.LcmOperationStateFailedTemp)
			require.NoError(t, other.api.Fail(t.Context(), op))

			node := spawn(t, database, w.data)
			done := make(chan error, 1)
			remove := func() {
				_, err := node.api.RemoveLeftovers(t.Context(), id)
				done <- err
			}
			if tt.death.Nth > 0 {
				require.True(t, node.arm(tt.death))
				go remove()
				<-node.dead
			} else {
				delay := w.cloud.AddFault(simcloud.Fault{
					Kind: fault.Delay, Service: "heat", Method: "DELETE", Delay: simcloud.Duration(patience), Count: 1,
				})
				go remove()
				require.Eventually(t, func() bool {
					rule, _ := w.cloud.Faults().Get(delay)
					return rule.Fired == 1
				}, patience, interval)
				node.kill()
				w.cloud.Faults().Remove(delay)
			}
			var lost *client.Unreachable
			require.ErrorAs(t, <-done, &lost)

			_, err = other.api.RemoveLeftovers(t.Context(), id)
			if tt.leased {
				var e *client.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, 409, e.Status())
				require.Contains(t, e.Error(), "another request works on VNF instance "+id)
				// most of the lease is over, and one of them waits for its end
				rest := map[bool]string{false: "1 s", true: "0 s"}[tt.death.Nth > 0]
				w.column("UPDATE instance_lease SET expires = now() + $1::interval RETURNING token::text", rest)
				require.Eventually(t, func() bool {
					_, err = other.api.RemoveLeftovers(t.Context(), id)
					return err == nil
				}, patience, interval)
			}
			require.NoError(t, err)
			if tt.ended {
				require.Equal(
					t, []string{"false"}, w.column("SELECT holds_resources::text FROM vnf_instance WHERE id = $1", id),
				)
			}
			w.gone()
			require.NoError(t, other.api.DeleteInstance(t.Context(), id))
			require.Empty(t, w.column("SELECT token::text FROM instance_lease"))
		})
	}
}
