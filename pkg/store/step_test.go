package store_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

func TestAStepIsRememberedAcrossTicks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.admit(t)
	_, cl := b.claim(t, op.ID, "n1")
	s, err := b.BeginStep(t.Context(), cl, "instantiate_end", "prepare node", "workerNode-1")
	require.NoError(t, err)
	require.Equal(t, 1, s.Attempts)
	require.NoError(t, b.SaveStep(t.Context(), cl, s.ID, json.RawMessage(`{"offset": 12}`), ""))
	require.NoError(t, b.AppendLog(
		t.Context(), cl, s.ID, []lcm.LogLine{{Time: now(), Text: "bytes \x00\xff"}, {Time: now(), Text: "two"}},
	))
	require.NoError(t, b.AppendLog(t.Context(), cl, s.ID, nil))
	require.NoError(
		t, b.EndStep(t.Context(), cl, s.ID, lcm.StepFailed, "", &lcm.Failure{Status: 502, Detail: "exit 1"}),
	)

	_, cl = b.claim(t, op.ID, "n2")
	s, err = b.BeginStep(t.Context(), cl, "instantiate_end", "prepare node", "workerNode-1")
	require.NoError(t, err)
	require.Equal(t, 2, s.Attempts)
	require.JSONEq(t, `{"offset": 12}`, string(s.Checkpoint))
	require.True(t, s.Finished.IsZero())
	require.NoError(t, b.EndStep(t.Context(), cl, s.ID, lcm.StepDone, "Ready", nil))
	s, err = b.BeginStep(t.Context(), cl, "instantiate_end", "prepare node", "workerNode-1")
	require.NoError(t, err)
	require.Equal(t, lcm.StepDone, s.State)
	require.Equal(t, 2, s.Attempts, "a done step is not tried again")
	require.False(t, s.Finished.IsZero())

	_, steps, err := b.Progress(t.Context(), op.ID)
	require.NoError(t, err)
	require.Len(t, steps, 1)
	require.Equal(t, "Ready", steps[0].Detail)
	require.Nil(t, steps[0].Error)

	_, other := b.claim(t, b.admitID(t), "n1")
	require.ErrorIs(
		t, b.SaveStep(t.Context(), other, s.ID, json.RawMessage(`{}`), ""), lcm.ErrFenced, "another operation's step",
	)
}

func (b *bundle) admitID(tb testing.TB) string {
	tb.Helper()
	_, op := b.admit(tb)
	return op.ID
}

func TestParallelStepsAndClaimsDoNotBlockEachOtherForEver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.admit(t)
	_, cl := b.claim(t, op.ID, "n1")
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			target := fmt.Sprint("node", n)
			s, err := b.BeginStep(t.Context(), cl, "p", "s", target)
			if err == nil {
				err = b.AppendLog(t.Context(), cl, s.ID, []lcm.LogLine{{Text: "x"}})
			}
			if err == nil {
				err = b.EndStep(t.Context(), cl, s.ID, lcm.StepDone, "", nil)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, steps, err := b.Progress(t.Context(), op.ID)
	require.NoError(t, err)
	require.Len(t, steps, 20)
}
