package infratest

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// vnf is a VNF instance of the harness's package in a VIM, with the node that works on it.
type vnf struct {
	Harness
	t      *testing.T
	vim    VIM
	driver lcm.Infra
	node   *Node
	*records
	deaths int
	// second is a VDU that has a connection of its own, connect returns that; "" is none.
	second  string
	connect func() sol.VimConnectionInfo
}

// secondKey is the connection of the VDU second.
const secondKey = "second"

// connections is the vimConnectionInfo of the instantiation.
func (v *vnf) connections() map[string]sol.VimConnectionInfo {
	out := v.vim.Connections()
	if v.second != "" {
		c := v.connect()
		c.Extra = sol.KeyValuePairs{lcm.ExtraVDUs: []any{v.second}}
		out[secondKey] = c
	}
	return out
}

// newVNF returns an instance that is not instantiated.
func newVNF(t *testing.T, h Harness, vim VIM) *vnf {
	t.Helper()
	v := &vnf{Harness: h, t: t, vim: vim, records: &records{}}
	v.instance = lcm.Instance{
		ID: uuid.NewString(), VnfdID: h.VNFD.ID, VnfPkgID: "pkg-1", State: sol.InstantiationStateNotInstantiated,
	}
	if h.Own != nil {
		v.Request = h.Own(vim, h.Request, v.instance.ID)
	}
	v.start(death{})
	return v
}

// start replaces the node by another one, which dies at d.
func (v *vnf) start(d death) {
	v.node = &Node{death: d}
	v.node.changing = v.requireHold
	v.driver = v.vim.Infra(v.node)
}

// requireHold is called before each change of the VIM.
func (v *vnf) requireHold() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.instance.HoldsResources {
		v.t.Errorf("the driver changes the VIM before Execution.Hold: a node that dies now leaves an unknown resource")
	}
}

// Infra implements lcm.Infras.
func (v *vnf) Infra(string) (lcm.Infra, bool) { return v.driver, true }

// Model implements lcm.Packages.
func (v *vnf) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return v.VNFD, "pkg-1", nil
}

// VnfdID implements lcm.Packages.
func (v *vnf) VnfdID(context.Context, lcm.Principal, string) (string, error) { return v.VNFD.ID, nil }

// ModelOf implements lcm.Packages.
func (v *vnf) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return v.VNFD, nil }

// Files implements lcm.Packages.
func (v *vnf) Files(context.Context, string) (fs.FS, error) { return v.Harness.Files, nil }

// admission decides on a task.
func (v *vnf) admission(typ sol.LcmOperationType, body any) *lcm.Admission {
	v.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(v.t, err)
	task, err := lcm.ParseTask(typ, raw)
	require.NoError(v.t, err)
	i, _ := v.read()
	a := &lcm.Admission{
		Task: task, Instance: &i, Infras: v, Connections: v.connections(), Snapshot: v.taken(task.SnapshotID),
		Present: lcm.Revision{VNFD: v.VNFD, Package: v.Harness.Files},
	}
	if i.Instantiated != nil {
		a.Present.Flavour = v.VNFD.Flavour(i.Instantiated.FlavourID)
	}
	require.NoError(v.t, task.Decide(a))
	require.Empty(v.t, append(a.Bad, a.CheckVims()...))
	return a
}

// request is an admission as the driver sees it.
func (v *vnf) request(a *lcm.Admission) lcm.Request {
	v.t.Helper()
	r, err := a.Request()
	require.NoError(v.t, err)
	r.Templates = v.driver.Templates(r)
	return r
}

// admit stores the operation of a task in the place of the last one.
func (v *vnf) admit(typ sol.LcmOperationType, body any) {
	v.t.Helper()
	a := v.admission(typ, body)
	if !a.Task.Kind.Unchecked {
		require.NoError(v.t, v.driver.Validate(v.t.Context(), v.request(a)))
	}
	op := lcm.Operation{
		ID: uuid.NewString(), InstanceID: v.instance.ID, Type: typ, State: sol.LcmOperationStateProcessing,
		Params: a.Task.Raw, Scope: a.Scope, Grant: &lcm.Grant{ID: uuid.NewString()},
		Started: time.Now(), Deadline: time.Now().Add(time.Hour), Try: 1,
	}
	if !a.Task.Kind.Instantiates() {
		before, _ := v.read()
		op.Before = &before
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.instance, v.op, v.steps = stored(*a.Instance), op, nil
	if typ == sol.LcmOperationCreateSnapshot {
		v.snapshot.Operation, v.snapshot.InstanceID, v.snapshot.Instance = op.ID, op.InstanceID, op.Before
	}
}

// work returns the work of a tick on the stored records.
func (v *vnf) work() *lcm.Execution {
	v.t.Helper()
	i, op := v.read()
	w, err := lcm.NewExecution(v.t.Context(), lcm.ExecutionInput{
		Op: &op, Instance: &i, Packages: v, Clock: lcm.SystemClock{}, Log: slog.New(slog.DiscardHandler),
		Journal: journal{v.records, v.node}, Claim: lcm.Claim{OperationID: op.ID, InstanceID: i.ID, Epoch: 1},
		Commit: func(context.Context) error { return v.commit(&op, &i, lcm.Effects{}) },
	})
	require.NoError(v.t, err)
	w.EnterPhase(op.Phase)
	return w
}

// commit stores the operation, the instance and what a tick does to the snapshot.
func (v *vnf) commit(op *lcm.Operation, i *lcm.Instance, e lcm.Effects) error {
	return v.node.write(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.op, v.instance = stored(*op), stored(*i)
		v.applyToSnapshot(e.Snapshot)
	})
}

// phases are what the operation runs in its state.
func (v *vnf) phases() (phases []lcm.Phase, end func(*lcm.Execution) error) {
	of := v.op.Kind().Phases(v.driver)
	if v.op.State == sol.LcmOperationStateRollingBack {
		return of.Rollback, of.RolledBack
	}
	return of.Processing, of.Completed
}

// tick calls the current phase once. done says that all phases are done.
func (v *vnf) tick() (done bool, err error) {
	v.t.Helper()
	if !lcm.Running(v.op.State) {
		return true, nil // the node died after it had stored the end
	}
	phases, end := v.phases()
	at := max(slices.IndexFunc(phases, func(p lcm.Phase) bool { return p.Name == v.op.Phase }), 0)
	v.op.Phase = phases[at].Name
	w := v.work()
	ctx, cancel := v.node.tick(v.t.Context())
	defer cancel()

	if err := phases[at].Run(ctx, w); err != nil {
		return false, err
	}
	if at < len(phases)-1 {
		w.Op.Phase = phases[at+1].Name
		return false, v.commit(w.Op, w.Instance, w.Effects())
	}
	if end != nil {
		require.NoError(v.t, end(w))
	}
	w.Op.Phase, w.Op.State = "", ended(w.Op.State)
	return true, v.commit(w.Op, w.Instance, w.Effects())
}

// ended is the state after the last phase.
func ended(s sol.LcmOperationStateType) sol.LcmOperationStateType {
	if s == sol.LcmOperationStateRollingBack {
		return sol.LcmOperationStateRolledBack
	}
	return sol.LcmOperationStateCompleted
}

// run works on the operation until it is done or has failed. A node that dies is followed by another one.
func (v *vnf) run() error {
	v.t.Helper()
	return v.until(v.tick)
}

// until calls do, which is one tick, until it is done or has failed.
func (v *vnf) until(do func() (done bool, err error)) error {
	v.t.Helper()
	const retries = 8
	limit := time.Now().Add(5 * time.Minute)
	for failures := 0; time.Now().Before(limit); {
		done, err := do()
		after, why, waiting := lcm.Waiting(v.t.Context(), err)
		switch {
		case v.node.isDead():
			v.deaths++
			v.node.calls.Wait()
			v.start(death{})
		case done:
			return nil
		case waiting:
			require.NotEmpty(v.t, why, "a wait says what for")
			v.pause(after)
		case err == nil:
			failures = 0
		case lcm.AsError(err).Class == lcm.Transient && failures < retries:
			failures++
			v.pause(time.Millisecond)
		default:
			return err
		}
	}
	require.Fail(v.t, "the operation does not end", "phase %q", v.op.Phase)
	return nil
}

// pause waits for the VIM. An early look does no harm to a driver.
func (v *vnf) pause(d time.Duration) {
	timer := time.NewTimer(min(d, 20*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.t.Context().Done():
	}
}

// steer does what a user's event does to a failed or cancelled operation.
func (v *vnf) steer(ev lcm.Event) {
	v.op.Try++
	v.op.Cancel, v.op.FailedIn = "", v.op.State
	v.op.State = sol.LcmOperationStateProcessing
	if ev == lcm.EventRollback {
		v.op.State, v.op.Phase = sol.LcmOperationStateRollingBack, ""
		v.op.Run++
	}
}
