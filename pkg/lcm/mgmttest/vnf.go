package mgmttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// VNF is a VNF instance whose operations call a mgmt driver.
type VNF struct {
	// Name is the implementation name of the driver in the VNFD, and Driver makes it for each node.
	Name   string
	Driver func() lcm.MgmtDriver
	// VNFD and Package are what was onboarded.
	VNFD    *vnfd.VNFD
	Package fs.FS
	// Infra is the infra driver; nil is one that changes nothing: the test makes the machines, and the instance has
	// them from the beginning.
	Infra lcm.Infra
	// Tuning is that of the nodes; its zero value has the engine's defaults.
	Tuning execution.Tuning
}

// Task is an operation of a VNF.
type Task struct {
	*Ledger
	vnf VNF
}

// Begin admits an operation. params is the body of the request; change completes the operation, and may be nil.
func (v VNF) Begin(
	t *testing.T, typ sol.LcmOperationType, params []byte, i *lcm.Instance, change func(*lcm.Operation),
) *Task {
	t.Helper()
	raw, err := json.Marshal(i)
	require.NoError(t, err)
	now := time.Now()
	op := lcm.Operation{
		ID: uuid.NewString(), InstanceID: i.ID, Type: typ, State: sol.LcmOperationStateStarting, Params: params,
		Started: now, StateEntered: now, Deadline: now.Add(time.Hour), Try: 1,
	}
	if typ != sol.LcmOperationInstantiate {
		op.Before = &lcm.Instance{}
		require.NoError(t, json.Unmarshal(raw, op.Before))
	}
	if change != nil {
		change(&op)
	}
	return &Task{vnf: v, Ledger: &Ledger{
		op: op, instance: raw, logs: map[int64][]string{}, vims: map[string]lcm.Vim{},
	}}
}

// Run lets nodes work on the operation until it comes to rest.
func (k *Task) Run(t *testing.T) {
	t.Helper()
	require.NoError(t, k.Work(t.Context()))
}

// Complete is Run for an operation that succeeds.
func (k *Task) Complete(t *testing.T) {
	t.Helper()
	k.Run(t)
	op := k.Operation()
	require.Equal(t, sol.LcmOperationStateCompleted, op.State, "%+v\n%s", op.Error, k.Stored(t))
}

// Fail is Run for an operation that fails; it returns the reason.
func (k *Task) Fail(t *testing.T) *lcm.Failure {
	t.Helper()
	k.Run(t)
	op := k.Operation()
	require.Equal(t, sol.LcmOperationStateFailedTemp, op.State, "%s", k.Stored(t))
	return op.Error
}

// maxTicks bounds the work on an operation, which has come to rest long before.
const maxTicks = 10_000

// Work lets nodes work on the operation until it comes to rest; a node that dies is followed by another one. It may be
// called in any goroutine.
func (k *Task) Work(ctx context.Context) error {
	for n := range maxTicks {
		after, again, died, err := k.tick(ctx, fmt.Sprintf("node-%d", n))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case died:
			continue
		case err != nil || !again:
			return err
		}
		timer := time.NewTimer(after)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return errors.New("the operation does not come to rest")
}

// tick is one tick of a node.
func (k *Task) tick(ctx context.Context, node string) (after time.Duration, again, died bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := k.revive(cancel)
	r := &execution.Runner{
		Store: k.Ledger, Packages: k.vnf, Clock: lcm.SystemClock{}, Log: slog.New(slog.DiscardHandler), Node: node,
		Tuning: k.vnf.Tuning,
		Planner: &execution.Planner{
			Infras: infras{k.vnf.Infra}, Mgmt: mgmt.Registry{k.vnf.Name: k.vnf.Driver()}, Grantor: infra{},
		},
	}
	after, again, err = r.Advance(ctx, k.Operation().ID)
	return after, again, end(), err
}

// Steer is what a user asks for after a failure, with the code that handles such requests.
func (k *Task) Steer(t *testing.T, e lcm.Event) {
	t.Helper()
	all := &admission.Services{Stores: stores{task: k}, Clock: lcm.SystemClock{}}
	_, err := all.In(lcm.Principal{}).Steer(t.Context(), k.Operation().ID, e)
	require.NoError(t, err)
}

// RollBack rolls an operation back that has failed. One that has succeeded is taken for one whose last phase has failed
// after its work was done.
func (k *Task) RollBack(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	if k.op.State == sol.LcmOperationStateCompleted {
		k.op.State, k.op.FailedIn = sol.LcmOperationStateFailedTemp, sol.LcmOperationStateProcessing
	}
	k.mu.Unlock()
	k.Steer(t, lcm.EventRollback)
	k.Run(t)
	op := k.Operation()
	require.Equal(t, sol.LcmOperationStateRolledBack, op.State, "%+v\n%s", op.Error, k.Stored(t))
}

// SurviveDeaths runs the same operation again and again: each time its first node dies at another write, before or
// after it is stored, and another one continues. begin prepares and admits the operation; check looks at the outcome,
// which must be that of an undisturbed run. It returns the number of deaths.
func SurviveDeaths(t *testing.T, begin func() *Task, check func(k *Task)) int {
	t.Helper()
	deaths := 0
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			k := begin()
			k.DieAt, k.DieAfter = at, after
			k.Run(t)
			state := k.Operation().State
			require.Equal(t, sol.LcmOperationStateCompleted, state, "death at write %d: %s", at, k.Stored(t))
			check(k)
			if k.Deaths() == 0 {
				break
			}
			deaths++
		}
	}
	require.NotZero(t, deaths, "the operation has written nothing")
	return deaths
}
