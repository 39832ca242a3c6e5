package crash_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// A user rolls a failed instantiation back, or retries it, and a node dies at every single write of that.
func TestDeathAtEveryWriteAfterTheUsersDecision(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steer  func(api *client.Client, ctx context.Context, op string) error
		end    sol.LcmOperationStateType
		states []string
	}{
		"rollback": {
			(*client.Client).Rollback,
			sol.LcmOperationStateRolledBack,
			[]string{"STARTING", "PROCESSING", "FAILED_TEMP", "ROLLING_BACK", "ROLLED_BACK"},
		},
		"retry": {
			(*client.Client).Retry,
			sol.LcmOperationStateCompleted,
			[]string{"STARTING", "PROCESSING", "FAILED_TEMP", "PROCESSING", "COMPLETED"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := devpg.TestURL(t)
			w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}), database, devpg.Pool(t, database))
			node := spawn(t, database, w.data)
			vnfd := w.onboard(node.api, plainSource)
			deaths, every := 0, 1
			if testing.Short() {
				every = 5
			}
			for n, survived := 0, false; !survived; n += every {
				w.cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Reason: "no",
					Count: 1,
				})
				id := w.create(node.api, vnfd)
				op, err := w.instantiate(w.plain())(node.api, id)
				require.NoError(t, err)
				w.rests(node.api, op, sol.LcmOperationStateFailedTemp)

				d := death{Nth: n/2 + 1, After: n%2 == 1}
				require.True(t, node.arm(d))
				err = tt.steer(node.api, t.Context(), op)
				if err == nil {
					select {
					case <-node.dead:
					case <-w.rested(node.api, op):
					}
				}
				if node.arm(death{}) {
					require.NoError(t, err)
					survived = true
				} else {
					deaths++
					<-node.dead
					node = spawn(t, database, w.data)
					o, err := node.api.Operation(t.Context(), op)
					require.NoError(t, err)
					if o.OperationState == sol.LcmOperationStateFailedTemp { // it died before the decision was durable
						require.False(t, d.After)
						require.NoError(t, tt.steer(node.api, t.Context(), op))
					}
				}
				w.rests(node.api, op, tt.end)
				require.Equal(t, tt.states,
					w.column("SELECT body->>'operationState' FROM outbox WHERE op_id = $1 ORDER BY seq", op), "%+v", d)
				require.Equal(
					t, tt.states,
					w.column(
						"SELECT body->>'state' FROM event WHERE op_id = $1 AND kind = 'op.state' ORDER BY tx, seq", op,
					),
					"%+v", d,
				)
				if tt.end == sol.LcmOperationStateCompleted {
					w.oneStack(id)
					op, err := w.terminate()(node.api, id)
					require.NoError(t, err)
					w.completed(node.api, op)
				}
				w.gone()
				require.NoError(t, node.api.DeleteInstance(t.Context(), id))
			}
			t.Logf("%d deaths", deaths)
			if every == 1 {
				require.Greater(t, deaths, 5, "the test has to kill")
			}
		})
	}
}

// atRest says whether no node works on an operation in a state.
func atRest(s sol.LcmOperationStateType) bool {
	return s != sol.LcmOperationStateStarting && s != sol.LcmOperationStateProcessing &&
		s != sol.LcmOperationStateRollingBack
}

// rested is closed when no node works on an operation, when its node does not answer, or after patience.
func (w *world) rested(api *client.Client, op string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
			o, err := api.Operation(w.t.Context(), op)
			if err != nil || atRest(o.OperationState) {
				return
			}
		}
	}()
	return done
}

// rests waits until an operation is in a state in which no node works on it, and requires this state.
func (w *world) rests(api *client.Client, op string, want sol.LcmOperationStateType) {
	w.t.Helper()
	var o *sol.VnfLcmOpOcc
	require.Eventually(w.t, func() bool {
		var err error
		o, err = api.Operation(w.t.Context(), op)
		require.NoError(w.t, err)
		return atRest(o.OperationState)
	}, patience, interval)
	require.Equal(w.t, want, o.OperationState, "%+v", o.Error)
}
