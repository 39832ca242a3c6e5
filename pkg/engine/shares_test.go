package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// admitTo admits an operation of a VIM.
func admitTo(t *testing.T, st *store.Records, vim string) string {
	t.Helper()
	return admit(t, st, func(op *lcm.Operation) { op.VimKey = vim })
}

// hanging is work on operations that does not end before the test does.
type hanging struct {
	*script
	release <-chan struct{}
	hangs   sync.Map // ids
	running atomic.Int64
}

func (h *hanging) advance(ctx context.Context, id string) (time.Duration, bool, error) {
	if _, ok := h.hangs.Load(id); !ok {
		return h.script.Advance(ctx, id)
	}
	h.running.Add(1)
	defer h.running.Add(-1)
	select {
	case <-h.release:
	case <-ctx.Done():
	}
	return 0, true, nil
}

// hang starts a node whose operations hang if the test says so.
func hang(t *testing.T, change func(*engine.Config)) (*node, *hanging) {
	t.Helper()
	release := make(chan struct{})
	h := &hanging{script: &script{steps: 1}, release: release}
	n := start(t, devpg.New(t), "a", h.script, func(c *engine.Config) {
		c.Kinds[0].Run = h.advance
		change(c)
	})
	t.Cleanup(func() { close(release) })
	return n, h
}

func TestJobsOfOneVimLeaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	n, h := hang(t, func(c *engine.Config) { c.Kinds[0].Workers, c.MaxPerVim = 8, 3 })
	for range 40 {
		hung := admitTo(t, n.store, "1111")
		h.hangs.Store(hung, true)
	}
	require.Eventually(t, func() bool { return h.running.Load() == 3 }, time.Minute, time.Millisecond)
	for range 10 {
		completed(t, n.store, admitTo(t, n.store, "2222"))
		require.EqualValues(t, 3, h.running.Load())
	}
}

func TestJobsOfOneProjectLeaveWorkersToOthers(t *testing.T) {
	t.Parallel()
	n, h := hang(t, func(c *engine.Config) { c.Kinds[0].Workers, c.MaxPerProject = 8, 5 })
	for i := range 40 {
		h.hangs.Store(admitTo(t, n.store, fmt.Sprint(i)), true)
	}
	require.Eventually(t, func() bool { return h.running.Load() == 5 }, time.Minute, time.Millisecond)
	other := n.store.Of(lcm.Principal{Project: "other"})
	completed(t, other, admitTo(t, other, "1"))
}

// TestWaitingJobsTakePlacesThatBecomeFree does not depend on polls.
func TestWaitingJobsTakePlacesThatBecomeFree(t *testing.T) {
	t.Parallel()
	n, _ := hang(t, func(c *engine.Config) { c.Kinds[0].Workers, c.MaxPerVim, c.Poll = 8, 1, time.Hour })
	var ops []string
	for range 20 {
		ops = append(ops, admitTo(t, n.store, "1111"))
	}
	completed(t, n.store, ops...)
}

func TestCancelDoesNotWaitForWorkers(t *testing.T) {
	t.Parallel()
	n, h := hang(t, func(c *engine.Config) { c.Kinds[0].Workers = 2 })
	var ops []string
	for range 20 {
		op := admitTo(t, n.store, "1111")
		h.hangs.Store(op, true)
		ops = append(ops, op)
	}
	require.Eventually(t, func() bool { return h.running.Load() == 2 }, time.Minute, time.Millisecond)
	last := ops[len(ops)-1]
	h.hangs.Delete(last)
	_, err := n.store.Steer(t.Context(), last, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
		o.Cancel = sol.CancelModeForceful
		return nil, nil
	})
	require.NoError(t, err)
	completed(t, n.store, last)
	require.EqualValues(t, 2, h.running.Load())
}

func TestWakeShareMakesWaitingJobsDue(t *testing.T) {
	t.Parallel()
	pool := devpg.New(t)
	first := &atomic.Bool{}
	work := &script{steps: 1}
	n := start(t, pool, "a", work, func(c *engine.Config) {
		run := c.Kinds[0].Run
		c.Kinds[0].Run = func(ctx context.Context, id string) (time.Duration, bool, error) {
			if first.CompareAndSwap(false, true) {
				return time.Hour, true, nil
			}
			return run(ctx, id)
		}
	})
	op := admitTo(t, n.store, "1111")
	require.Eventually(t, func() bool {
		return count(t, pool, "SELECT count(*) FROM river_job WHERE state = 'scheduled'") == 1
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, n.WakeShare(t.Context(), store.OperationJobs, "1111"))
	completed(t, n.store, op)
}
