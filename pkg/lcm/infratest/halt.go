package infratest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// halt cancels the operation and waits until the driver reports that the VIM does nothing for it any more.
func (v *vnf) halt(mode sol.CancelModeType) {
	v.t.Helper()
	v.op.Cancel = mode
	require.NoError(v.t, v.until(func() (bool, error) {
		ctx, cancel := v.node.tick(v.t.Context())
		defer cancel()
		err := v.driver.Halt(ctx, v.work(), mode)
		return err == nil, err
	}))
	require.False(v.t, v.vim.Busy(), "the VIM still works on the operation")
}

// runUntilBusy works on the operation until the VIM is busy with it.
func (v *vnf) runUntilBusy() {
	v.t.Helper()
	require.NoError(v.t, v.until(func() (bool, error) {
		if v.vim.Busy() {
			return true, nil
		}
		_, err := v.tick()
		return v.vim.Busy(), err
	}))
}

// machineTime is how long a machine takes while an operation is cancelled. A VIM may finish machines that it has begun.
const machineTime = 2 * time.Second

// testHaltForceful: the VIM stops. A retry completes the instance.
func testHaltForceful(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	empty := v.vim.Contents()
	v.vim.Slow(machineTime)
	v.admitInstantiate()
	v.runUntilBusy()
	v.halt(sol.CancelModeForceful)

	v.vim.Slow(0)
	v.steer(lcm.EventRetry)
	v.complete()
	v.requireInventory()
	v.terminate()
	require.ElementsMatch(t, empty, v.vim.Contents())
}

// testHaltGraceful: the VIM finishes its work. A rollback leaves nothing.
func testHaltGraceful(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	empty := v.vim.Contents()
	v.vim.Slow(machineTime)
	v.admitInstantiate()
	v.runUntilBusy()
	v.halt(sol.CancelModeGraceful)

	v.steer(lcm.EventRollback)
	v.complete()
	require.ElementsMatch(t, empty, v.vim.Contents())
}

// testFailure: the error has the VIM's own text and names a resource. A retry continues, a rollback leaves nothing.
func testFailure(t *testing.T, h Harness) {
	t.Helper()
	const text = "the hypervisors in cell 7 are on strike"
	for _, ev := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
		t.Run(string(ev), func(t *testing.T) {
			t.Parallel()
			v := newVNF(t, h, h.New(t))
			empty := v.vim.Contents()
			resource := v.vim.Refuse(text)
			v.admitInstantiate()
			err := v.run()
			require.ErrorContains(t, err, text)
			require.ErrorContains(t, err, resource)
			require.NotEqual(t, lcm.CodeInternal, lcm.AsError(err).Code)

			v.vim.Refuse("")
			v.steer(ev)
			v.complete()
			if ev == lcm.EventRetry {
				v.requireInventory()
				v.terminate()
			}
			require.ElementsMatch(t, empty, v.vim.Contents())
		})
	}
}

// testRestore: the rollback of a change keeps the VNFCs that were there before, and removes the others.
func testRestore(t *testing.T, h Harness) {
	t.Helper()
	v := newVNF(t, h, h.New(t))
	v.instantiate()
	machines, contents := v.machines(), v.vim.Contents()
	v.vim.Slow(machineTime)
	v.admitScale(sol.ScaleTypeOut)
	v.runUntilBusy()
	v.halt(sol.CancelModeForceful)

	v.vim.Slow(0)
	v.steer(lcm.EventRollback)
	v.complete()
	require.Equal(t, machines, v.machines())
	require.ElementsMatch(t, contents, v.vim.Contents())
}
