package lcm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

func TestWhatAnAbandonedInstantiationLeftCanBeRemovedAndTheInstanceThenDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Hooks.Fail("instantiate_end", boom)
	op := w.failed(sol.LcmOperationInstantiate, string(encode(t, apitest.Params())))
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)
	require.Error(t, w.Service.DeleteInstance(t.Context(), w.id, nil), "the VIM holds resources")

	left, err := w.Service.Leftovers(t.Context(), w.id)
	require.NoError(t, err)
	require.Len(t, left.Extra, 3)
	w.VIM.Fail(boom)
	_, _, err = w.Service.RemoveLeftovers(t.Context(), w.id)
	require.Error(t, err)
	require.True(t, w.instance().HoldsResources)
	w.VIM.Fail(nil)
	removed, still, err := w.Service.RemoveLeftovers(t.Context(), w.id)
	require.NoError(t, err)
	require.Len(t, removed, 3)
	require.Empty(t, still)
	require.False(t, w.instance().HoldsResources)
	require.Nil(t, w.instance().VimConnections)
	left, err = w.Service.Leftovers(t.Context(), w.id)
	require.NoError(t, err, "the VIM is remembered")
	require.Empty(t, left.Extra)
	require.NoError(t, w.Service.DeleteInstance(t.Context(), w.id, nil))
}

func TestLeftoversOfARunningInstanceAreOnlyWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := running(t)
	left, err := w.Service.Leftovers(t.Context(), w.id)
	require.NoError(t, err)
	require.Empty(t, left.Extra)
	_, _, err = w.Service.RemoveLeftovers(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, sol.InstantiationStateInstantiated, w.instance().State)
	require.Len(t, w.vnfcs(""), 3)
}

func TestLeftoversAreLookedForInTheDefaultVIMWhenThereWasNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Service.Leftovers(t.Context(), w.id)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.NotEmpty(t, lcm.AsError(err).Hint)
	require.NoError(t, w.Store.SaveVim(t.Context(), lcm.Vim{
		ID: apitest.VnfdID, Name: "default", Default: true, Connection: sol.VimConnectionInfo{VimType: apitest.VimType},
		Created: lcm.SystemClock{}.Now(), Updated: lcm.SystemClock{}.Now(),
	}))
	_, err = w.Service.Leftovers(t.Context(), w.id)
	require.NoError(t, err)
}

// asked is a VIM that calls back during the removal of leftovers.
type asked struct {
	lcm.Infra
	during func(ctx context.Context) error
}

// RemoveLeftovers implements lcm.Infra.
func (a asked) RemoveLeftovers(
	ctx context.Context, _ *lcm.Instance, _ []*lcm.Snapshot, _ []lcm.Leftover,
) ([]lcm.Leftover, error) {
	return nil, a.during(ctx)
}

// only is the lcm.Infras with one driver for all types.
type only struct{ driver lcm.Infra }

// Infra implements lcm.Infras.
func (o only) Infra(string) (lcm.Infra, bool) { return o.driver, true }

func TestRemoveLeftoversThatLosesItsLeaseStopsAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Hooks.Fail("instantiate_end", boom)
	op := w.failed(sol.LcmOperationInstantiate, string(encode(t, apitest.Params())))
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)

	expired := make(chan struct{})
	services := *w.Service.Services
	services.Infras = only{asked{w.VIM, func(ctx context.Context) error {
		_, _, err := w.Service.RemoveLeftovers(ctx, w.id)
		require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
		_, err = w.Pool.Exec(ctx, "UPDATE instance_lease SET expires = now() WHERE instance_id = $1", w.id)
		require.NoError(t, err)
		close(expired)
		<-ctx.Done()
		return context.Cause(ctx)
	}}}
	_, _, err = services.In(lcm.Principal{}).RemoveLeftovers(t.Context(), w.id)
	require.Equal(t, lcm.LeaseLost(w.id), err)
	<-expired
	require.True(t, w.instance().HoldsResources)

	removed, _, err := w.Service.RemoveLeftovers(t.Context(), w.id)
	require.NoError(t, err)
	require.Len(t, removed, 3)
	require.False(t, w.instance().HoldsResources)
}
