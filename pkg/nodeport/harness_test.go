package nodeport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

const opID = "0d7b1c1e-0000-4000-8000-000000000001"

var packageFS fs.FS = os.DirFS("../../vnf-packages/cnf-nodeport")

// model is a VNFD that names the driver as packages for other VNFMs do.
func model() *vnfd.VNFD {
	impl := vnfd.Implementation{Name: nodeport.Name}
	return &vnfd.VNFD{ID: "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177", Flavours: []vnfd.Flavour{{
		ID: "simple", VDUs: []vnfd.VDU{{Name: "VDU1"}},
		LCM: map[string]vnfd.Implementation{
			"instantiate_end": impl, "heal_start": impl, "heal_end": impl, "terminate_end": impl,
		},
	}}}
}

// store is an lcm.Ledger in memory. It can die at a chosen write, as a killed node does: nothing of
// that epoch is written any more.
type store struct {
	mu     sync.Mutex
	op     lcm.Operation
	inst   []byte // the instance as JSON, so that nothing is shared
	phase  *lcm.PhaseRecord
	steps  map[string]*lcm.StepRecord
	logs   map[string][]string
	told   []string // what open steps have said, in this order
	vims   map[string]lcm.Vim
	next   int64
	writes int
	dieAt  int // number of the write at which the node dies; 0 = never
	died   context.CancelFunc
}

var errDead = errors.New("the node is dead")

func newStore(t *testing.T, typ sol.LcmOperationType, params map[string]any, i *lcm.Instance) *store {
	t.Helper()
	raw, err := json.Marshal(i)
	require.NoError(t, err)
	body, err := json.Marshal(map[string]any{"flavourId": "simple", "additionalParams": params})
	require.NoError(t, err)
	op := lcm.Operation{
		ID: opID, InstanceID: i.ID, Type: typ, State: sol.LcmOperationStateStarting, Params: body,
		StateEntered: time.Now(),
	}
	if typ != sol.LcmOperationInstantiate {
		op.Before = i
	}
	return &store{
		op:   op,
		inst: raw, steps: map[string]*lcm.StepRecord{}, logs: map[string][]string{}, vims: map[string]lcm.Vim{},
	}
}

// write checks the fence and counts; the lock is held.
func (s *store) write(epoch int64) error {
	if epoch != s.op.Epoch {
		return lcm.ErrFenced
	}
	s.writes++
	if s.dieAt != 0 && s.writes >= s.dieAt {
		s.died()
		return errDead
	}
	return nil
}

func (s *store) Claim(_ context.Context, _, node string) (*lcm.Claimed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !lcm.Running(s.op.State) {
		return nil, nil //nolint:nilnil // the contract
	}
	s.op.Epoch++
	s.op.Node = node
	op := s.op
	c := &lcm.Claimed{Op: &op, Instance: &lcm.Instance{}}
	if s.phase != nil && s.phase.Name == op.Phase {
		p := *s.phase
		c.Phase = &p
	}
	return c, json.Unmarshal(s.inst, c.Instance)
}

func (s *store) CommitTick(_ context.Context, c lcm.Claim, t lcm.Tick) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(c.Epoch); err != nil {
		return err
	}
	s.op = *t.Op
	raw, err := json.Marshal(t.Instance)
	if err != nil {
		return err
	}
	s.inst = raw
	for _, p := range t.Phases {
		if p.Name == t.Op.Phase {
			s.phase = &p
		}
	}
	for _, v := range t.Effects.RegisterVims {
		s.vims[v.ID] = v
	}
	for _, id := range t.Effects.RemoveVims {
		delete(s.vims, id)
	}
	return nil
}

func (s *store) BeginStep(_ context.Context, c lcm.Claim, phase, name, target string) (lcm.StepRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(c.Epoch); err != nil {
		return lcm.StepRecord{}, err
	}
	key := phase + " " + name + " " + target
	rec := s.steps[key]
	if rec == nil {
		s.next++
		rec = &lcm.StepRecord{ID: s.next, Phase: phase, Name: name, Target: target, Started: time.Now()}
		s.steps[key] = rec
	}
	if rec.State != lcm.StepDone {
		rec.State = lcm.StepOpen
		rec.Attempts++
	}
	return *rec, nil
}

func (s *store) step(id int64) *lcm.StepRecord {
	for _, r := range s.steps {
		if r.ID == id {
			return r
		}
	}
	panic("no such step")
}

func (s *store) SaveStep(_ context.Context, c lcm.Claim, id int64, cp json.RawMessage, status string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(c.Epoch); err != nil {
		return err
	}
	r := s.step(id)
	r.Checkpoint = cp
	if status != "" {
		r.Detail = status
		s.told = append(s.told, r.Name+" "+r.Target+": "+status)
	}
	return nil
}

func (s *store) Begun(context.Context, lcm.Claim) (bool, error) { return true, nil }

func (s *store) CheckClaim(_ context.Context, c lcm.Claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Epoch != s.op.Epoch {
		return lcm.ErrFenced
	}
	return nil
}

func (s *store) EndStep(
	_ context.Context, c lcm.Claim, id int64, state lcm.StepState, detail string, f *lcm.Failure,
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(c.Epoch); err != nil {
		return err
	}
	r := s.step(id)
	r.State, r.Detail, r.Error = state, detail, f
	if state == lcm.StepOpen {
		s.told = append(s.told, r.Name+" "+r.Target+": "+detail)
	}
	return nil
}

func (s *store) AppendLog(_ context.Context, c lcm.Claim, id int64, lines []lcm.LogLine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(c.Epoch); err != nil {
		return err
	}
	r := s.step(id)
	key := r.Name + " " + r.Target
	for _, l := range lines {
		s.logs[key] = append(s.logs[key], l.Text)
	}
	return nil
}

// rollBack and retry are what the user asks for after a failure.
func (s *store) rollBack() { s.again(sol.LcmOperationStateRollingBack) }

func (s *store) retry() { s.again(sol.LcmOperationStateProcessing) }

func (s *store) again(state sol.LcmOperationStateType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.op.State = state; state == sol.LcmOperationStateRollingBack {
		s.op.Phase = ""
	}
	s.op.StateEntered, s.op.Error = time.Now(), nil
	s.op.Run++
}

// said is what open steps have said.
func (s *store) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.told, "\n")
}

// details is what the steps show when they are done.
func (s *store) details() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s.steps)) {
		fmt.Fprintln(&b, k, s.steps[k].Detail)
	}
	return b.String()
}

// allLogs is everything that a user can read of the steps.
func (s *store) allLogs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s.logs)) {
		for _, l := range s.logs[k] {
			fmt.Fprintf(&b, "%s: %s\n", k, l)
		}
	}
	return b.String()
}

// packages has the sample package.
type packages struct{}

func (packages) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return model(), "pkg", nil
}

// VnfdID is that of the model.
func (packages) VnfdID(context.Context, lcm.Principal, string) (string, error) {
	return model().ID, nil
}

// ModelOf gives the same model.
func (packages) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return model(), nil }

// Files are those of the sample package.
func (packages) Files(context.Context, string) (fs.FS, error) { return packageFS, nil }

// infra plays the infra driver of CNFs: the test changes the cluster. What it does not implement is not called.
type infra struct{ driver }

type driver = interface{ lcm.Infra }

func (f infra) Infra(string) (lcm.Infra, bool)                      { return f, true }
func (infra) Validate(context.Context, lcm.Request) error           { return nil }
func (infra) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs    { return params }
func (infra) Instantiate(_ context.Context, w *lcm.Execution) error { return nil }
func (infra) Inventory(context.Context, *lcm.Execution) error       { return nil }
func (infra) Change(context.Context, *lcm.Execution) error          { return nil }
func (infra) Restore(context.Context, *lcm.Execution) error         { return nil }
func (infra) Terminate(context.Context, *lcm.Execution) error       { return nil }
func (infra) Grant(context.Context, *lcm.Execution) (*lcm.Grant, error) {
	return &lcm.Grant{ID: "g"}, nil
}

// advance lets nodes work on the operation until it comes to rest; every death is followed by another node.
func advance(t *testing.T, s *store, newDriver func() *nodeport.Driver) {
	t.Helper()
	require.NoError(t, advanced(t, s, newDriver))
}

// advanced is advance for other goroutines.
func advanced(t *testing.T, s *store, newDriver func() *nodeport.Driver) error {
	t.Helper()
	for n := range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		s.mu.Lock()
		s.died = cancel
		s.mu.Unlock()
		r := &execution.Runner{
			Store: s, Packages: packages{}, Clock: lcm.SystemClock{}, Log: slog.New(slog.DiscardHandler),
			Node: fmt.Sprintf("node-%d", n), Tuning: execution.Tuning{RetryBase: time.Millisecond, Retries: 3},
			Planner: &execution.Planner{
				Infras: infra{}, Mgmt: mgmt.Registry{nodeport.Name: newDriver()}, Grantor: infra{},
			},
		}
		after, again, err := r.Advance(ctx, opID)
		dead := ctx.Err() != nil
		cancel()
		if dead {
			s.mu.Lock()
			s.dieAt = 0
			s.mu.Unlock()
			continue
		}
		if err != nil || !again {
			return err
		}
		select {
		case <-time.After(after):
		case <-t.Context().Done():
		}
	}
	return errors.New("the operation does not come to an end")
}
