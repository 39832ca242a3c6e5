package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/subscriber"
)

// TestASubscriberGetsEachState: operations that complete, fail, are retried, rolled back or given up, instances and a
// package that come and go. The subscriber requires a notification of each state and change, for both verbosities.
func TestASubscriberGetsEachState(t *testing.T) {
	t.Parallel()
	s := subscriber.Start(t)
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	var err error
	w.api, err = client.New(w.node.URL(), s.Client())
	require.NoError(t, err)
	s.Subscribe(w.node.URL())
	vnfd := w.onboard(plainSource)
	fails := func() (id, op string) {
		w.cloud.AddFault(*serverFails("create", ""))
		id = w.create(vnfd)
		op = w.failed(w.instantiate(id, w.plain("default"))).ID
		w.cloud.Faults().Clear()
		return id, op
	}

	id, op := fails()
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	op, err = w.api.Start(t.Context(), id, sol.LcmOperationModifyInfo, map[string]any{"vnfInstanceName": "another"})
	require.NoError(t, err)
	w.completed(op)
	w.completed(w.terminate(id))
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))

	id, op = fails()
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))

	id, op = fails()
	require.NoError(t, w.api.Fail(t.Context(), op))
	w.completed(w.instantiate(id, w.plain("default")))
	w.completed(w.terminate(id))
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))

	all, err := w.api.Packages(t.Context(), "", false)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.NoError(t, w.api.UpdatePackage(t.Context(), all[0].ID, sol.VnfPkgInfoModifications{
		OperationalState: sol.PackageOperationalStateDisabled,
	}))
	require.NoError(t, w.api.DeletePackage(t.Context(), all[0].ID))
}
