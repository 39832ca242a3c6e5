package k8scluster_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// A user who retries gets the whole patience again: what he has put right may need as long as it did in the beginning.
func TestRetryIsAsPatientAsTheFirstTry(t *testing.T) {
	t.Parallel()
	refused := func(kind remote.Kind) func(c *cloud, up time.Time) {
		return func(c *cloud, up time.Time) {
			c.machine("workerNode22").refuse = func() error {
				if time.Now().Before(up) {
					return &remote.Error{Kind: kind, Op: "connect", Err: errors.New("not yet")}
				}
				return nil
			}
		}
	}
	for name, tt := range map[string]struct {
		spoil func(c *cloud, up time.Time)
		first time.Duration // how long the first try is patient
	}{
		"a machine that boots":        {refused(remote.KindRefused), 10 * time.Minute},
		"a password that is set late": {refused(remote.KindAuth), time.Minute},
		"a node that becomes Ready late": {func(c *cloud, up time.Time) {
			c.stuck = "worker22"
			time.AfterFunc(time.Until(up), func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.stuck = ""
			})
		}, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
				began := time.Now()
				tt.spoil(c, began.Add(24*time.Hour))
				advance(t, s, c.driver, execution.Tuning{})
				require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
				require.GreaterOrEqual(t, time.Since(began), tt.first)

				tt.spoil(c, time.Now().Add(tt.first*3/4))
				s.op.State, s.op.FailedIn = sol.LcmOperationStateProcessing, sol.LcmOperationStateProcessing
				s.op.StateEntered = time.Now()
				advance(t, s, c.driver, execution.Tuning{})
				c.built(t, s)
			})
		})
	}
}

// Who watches an operation sees which machine it waits for, and why, while it does: not only when its patience is at an
// end.
func TestStepsSayWhatTheyWaitForWhileTheyDo(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, sol.LcmOperationInstantiate, paramFile(t, "complex"), c.instance(3, 2))
		up := time.Now().Add(time.Minute)
		c.machine("workerNode22").refuse = func() error {
			if time.Now().Before(up) {
				return &remote.Error{Kind: remote.KindRefused, Op: "connect", Err: errors.New("connection refused")}
			}
			return nil
		}
		c.stuck = "worker21"
		time.AfterFunc(5*time.Minute, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.stuck = ""
		})
		advance(t, s, c.driver, execution.Tuning{})
		c.built(t, s)
		all := strings.Join(s.told, "\n")
		require.Regexp(t, `prepare node workerNode-00000022\S*: waits for SSH on ubuntu@172.24.4.22:2222: connection refused\n`+
			`(.*\n)*prepare node workerNode-00000022\S*: worker22 \(\S+\) answers`, all)
		require.NotRegexp(t, `prepare node workerNode-00000022\S*: \n`, all, "its words last from tick to tick")
		require.Contains(t, all, "wait for nodes : 4 of 5 nodes are Ready; worker21: ")
	})
}
