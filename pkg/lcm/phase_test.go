package lcm_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

func TestEachLetsHealthyNodesFinishWhenOneFails(t *testing.T) {
	t.Parallel()
	boom := lcm.Errorf(lcm.CodeUpstream, "node b: disk full")
	var ran atomic.Int32
	err := lcm.Each(t.Context(), 2, []string{"a", "b", "c", "d"}, func(_ context.Context, n string) error {
		ran.Add(1)
		if n == "b" {
			return boom
		}
		return nil
	})
	require.ErrorIs(t, err, boom)
	require.EqualValues(t, 4, ran.Load())
}

func TestEachMergesOutcomes(t *testing.T) {
	t.Parallel()
	transient := lcm.Errorf(lcm.CodeUnavailable, "away").AsTransient()
	permanent := lcm.Errorf(lcm.CodeUpstream, "broken")
	cases := []struct {
		name string
		errs []error
		want error         // exact failure
		wait time.Duration // or the wait
	}{
		{"all done", []error{nil, nil}, nil, -1},
		{
			"the shortest wait wins",
			[]error{lcm.Wait(time.Second, "a"), nil, lcm.Wait(time.Millisecond, "b")},
			nil,
			time.Millisecond,
		},
		{"a failure beats a wait", []error{lcm.Wait(0, "a"), transient}, transient, -1},
		{"a permanent failure beats a transient one", []error{transient, permanent}, permanent, -1},
		{"being fenced beats everything", []error{permanent, lcm.ErrFenced, nil}, lcm.ErrFenced, -1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			idx := make([]int, len(c.errs))
			for i := range idx {
				idx[i] = i
			}
			err := lcm.Each(t.Context(), 0, idx, func(_ context.Context, i int) error { return c.errs[i] })
			after, _, waiting := lcm.Waiting(t.Context(), err)
			switch {
			case c.wait >= 0:
				require.True(t, waiting)
				require.Equal(t, c.wait, after)
			case c.want == nil:
				require.NoError(t, err)
			default:
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestEachKeepsItsLimit(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	items := make([]int, 50)
	require.NoError(t, lcm.Each(t.Context(), 3, items, func(context.Context, int) error {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				return nil
			}
		}
	}))
	require.LessOrEqual(t, most.Load(), int32(3))
}

func TestWorkInterruptedByItsBudgetIsNotAFailure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Nanosecond, lcm.ErrTickBudget)
	defer cancel()
	<-ctx.Done()
	_, _, waiting := lcm.Waiting(ctx, errors.New("read tcp: use of closed connection"))
	require.True(t, waiting)
	_, _, waiting = lcm.Waiting(ctx, lcm.ErrFenced)
	require.False(t, waiting, "a node that lost its claim must stop, not wait")
	_, _, waiting = lcm.Waiting(ctx, lcm.Errorf(lcm.CodeUpstream, "the script ended with exit status 1"))
	require.False(t, waiting, "a failure that is certain is not forgotten because a slower node used up the time")
	_, _, waiting = lcm.Waiting(ctx, lcm.Errorf(lcm.CodeUpstream, "copy: %w", context.Canceled))
	require.True(t, waiting)
	_, _, waiting = lcm.Waiting(ctx, nil)
	require.False(t, waiting, "done is done")
}

func TestErrorsHideTheirCauseFromTheUser(t *testing.T) {
	t.Parallel()
	e := lcm.AsError(errors.New("password=devstack"))
	require.Equal(t, lcm.CodeInternal, e.Code)
	require.NotContains(t, e.Error(), "devstack")
	require.Equal(t, 500, e.Status())
}

func TestUnprocessableNamesEveryOffendingMember(t *testing.T) {
	t.Parallel()
	require.NoError(t, lcm.Unprocessable())
	err := lcm.Unprocessable(
		lcm.InvalidParam{Pointer: "/b", Detail: "two"}, lcm.InvalidParam{Pointer: "/a", Detail: "one"},
	)
	e := lcm.AsError(err)
	require.Equal(t, 422, e.Status())
	require.Equal(t, "/a: one; /b: two", e.Detail)
	require.Equal(t, "a~1b~0c", lcm.Escape("a/b~c"))
	require.Equal(t, "the body: three", lcm.AsError(lcm.Unprocessable(lcm.InvalidParam{Detail: "three"})).Detail)
}

// packages fails every look-up.
type packages struct {
	lcm.Packages
	err error
}

func (p packages) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return nil, "", p.err
}

func TestOnlyWhatIsWrongWithARequestIsBlamedOnItsMembers(t *testing.T) {
	t.Parallel()
	create := func(err error) *lcm.Error {
		_, err = (&admission.Service{Services: &admission.Services{Packages: packages{err: err}}}).CreateInstance(
			t.Context(), sol.CreateVnfRequest{VnfdID: "x"},
		)
		return lcm.AsError(err)
	}
	wrong := create(lcm.Errorf(lcm.CodeUnprocessable, "no such package"))
	require.Equal(t, []lcm.InvalidParam{{Pointer: "/vnfdId", Detail: "no such package"}}, wrong.Params)
	away := create(lcm.Errorf(lcm.CodeUnavailable, "the database is away"))
	require.Empty(t, away.Params)
	require.Equal(t, 503, away.Status())
}
