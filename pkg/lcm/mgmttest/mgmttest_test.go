package mgmttest_test

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// driver calls do in a step of instantiate_end, and undo in one of its rollback.
type driver struct {
	do, undo func(ctx context.Context, s *lcm.Step) error
}

func (d driver) Validate(context.Context, lcm.Request) error { return nil }

func (d driver) Hooks() []lcm.HookHandler {
	step := func(do func(context.Context, *lcm.Step) error) func(context.Context, *lcm.Execution) error {
		return func(ctx context.Context, w *lcm.Execution) error { return w.Step(ctx, "work", "VDU1-0", do) }
	}
	return []lcm.HookHandler{
		{Hook: lcm.HookInstantiateEnd, Run: step(d.do)},
		{Hook: lcm.HookInstantiateRollbackStart, Run: step(d.undo)},
	}
}

// begin admits an instantiation.
func begin(t *testing.T, d driver) *mgmttest.Task {
	t.Helper()
	impl := vnfd.Implementation{Name: "test"}
	v := mgmttest.VNF{
		Name: "test", Driver: func() lcm.MgmtDriver { return d }, Package: fstest.MapFS{},
		VNFD: &vnfd.VNFD{ID: "vnfd", Flavours: []vnfd.Flavour{{
			ID: "default", LCM: map[string]vnfd.Implementation{
				"instantiate_end": impl, "instantiate_rollback_start": impl,
			},
		}}},
	}
	return v.Begin(t, sol.LcmOperationInstantiate, []byte(`{"flavourId":"default"}`), &lcm.Instance{
		ID: "14c5406b-f627-4391-b91b-440f242623ac", VnfPkgID: "pkg",
		VimConnections: map[string]sol.VimConnectionInfo{"vim1": {VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"}},
	}, nil)
}

// TestRetry: a retry continues the step with its checkpoint, as another attempt.
func TestRetry(t *testing.T) {
	t.Parallel()
	var seen []int // attempts
	k := begin(t, driver{do: func(ctx context.Context, s *lcm.Step) error {
		seen = append(seen, s.Attempt())
		n := 0
		if _, err := s.Load(&n); err != nil {
			return err
		}
		s.Logf(ctx, "looks")
		if err := s.Save(ctx, n+1); err != nil || n == 1 {
			return err
		}
		return lcm.Errorf(lcm.CodeUpstream, "no license")
	}})
	require.Equal(t, "no license", k.Fail(t).Detail)
	require.Equal(t, lcm.StepFailed, k.Step("work", "VDU1-0").State)
	k.Steer(t, lcm.EventRetry)
	k.Complete(t)
	require.Equal(t, []int{1, 2}, seen)
	op := k.Operation()
	require.Equal(t, 2, op.Try)
	require.Equal(t, []string{"looks", "looks"}, k.Log("work", "VDU1-0"))
}

// TestDeaths: a node can die at every write, and the work that a step has recorded is not repeated.
func TestDeaths(t *testing.T) {
	t.Parallel()
	ended := 0
	deaths := mgmttest.SurviveDeaths(t, func() *mgmttest.Task {
		ended = 0
		return begin(t, driver{do: func(ctx context.Context, s *lcm.Step) error {
			if err := s.Save(ctx, true); err != nil {
				return err
			}
			ended++
			return nil
		}})
	}, func(k *mgmttest.Task) {
		require.Len(t, k.Steps(), 1)
		require.Equal(t, 1, k.Steps()[0].Attempts, "a death is not a failure")
		require.LessOrEqual(t, ended, 2)
		require.Positive(t, ended)
	})
	require.Greater(t, deaths, 8)
}

// TestRollBack: a rollback is another run, with steps of its own.
func TestRollBack(t *testing.T) {
	t.Parallel()
	undone := 0
	k := begin(t, driver{
		do:   func(context.Context, *lcm.Step) error { return nil },
		undo: func(context.Context, *lcm.Step) error { undone++; return nil },
	})
	k.Complete(t)
	k.RollBack(t)
	require.Equal(t, 1, undone)
	require.Len(t, k.Steps(), 2)
	require.Equal(t, 1, k.Operation().Run)
}
