package k8scluster_test

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

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

const (
	opID       = "0d7b1c1e-0000-4000-8000-000000000001"
	instanceID = "14c5406b-f627-4391-b91b-440f242623ac"
)

var packageFS fs.FS = os.DirFS("../../vnf-packages/kubernetes-cluster")

// paramFile reads the request that users send for a flavour.
func paramFile(t *testing.T, flavour string) []byte {
	t.Helper()
	raw, err := fs.ReadFile(packageFS, "params/"+flavour+"_kubernetes_param_file_v2.json")
	require.NoError(t, err)
	return raw
}

// model is the VNFD of the sample package as far as the driver asks.
func model() *vnfd.VNFD {
	impl := vnfd.Implementation{Name: k8scluster.Name}
	flavour := func(id string, masters int) vnfd.Flavour {
		return vnfd.Flavour{
			ID: id,
			VDUs: []vnfd.VDU{
				{Name: "masterNode", MinInstances: masters}, {Name: "workerNode", MinInstances: 2},
			},
			Levels: []vnfd.InstantiationLevel{
				{ID: "instantiation_level_1", VDUs: map[string]int{"masterNode": masters, "workerNode": 2}},
			},
			DefaultLevel: "instantiation_level_1",
			LCM: map[string]vnfd.Implementation{
				"instantiate_end": impl, "terminate_end": impl,
				"change_current_package_start": impl, "change_current_package_end": impl,
				"change_current_package_rollback_start": impl,
			},
		}
	}
	return &vnfd.VNFD{ID: "d34ac189-5376-493f-828f-224dd5fe7393", Flavours: []vnfd.Flavour{
		flavour("simple", 1), flavour("complex", 3),
	}}
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
	files  fs.FS // of the package, in place of those of the sample package
}

var errDead = errors.New("the node is dead")

func newStore(t *testing.T, typ sol.LcmOperationType, params []byte, i *lcm.Instance) *store {
	t.Helper()
	raw, err := json.Marshal(i)
	require.NoError(t, err)
	return &store{
		op: lcm.Operation{
			ID: opID, InstanceID: instanceID, Type: typ, State: sol.LcmOperationStateStarting, Params: params,
		},
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
	key := name + " " + target
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

func (s *store) instance(t *testing.T) *lcm.Instance {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &lcm.Instance{}
	require.NoError(t, json.Unmarshal(s.inst, i))
	return i
}

// stepStates lists "name target" of every step with its state.
func (s *store) stepStates() map[string]lcm.StepState {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]lcm.StepState{}
	for k, r := range s.steps {
		out[k] = r.State
	}
	return out
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

// packages has one package; files replaces its files.
type packages struct{ files fs.FS }

func (packages) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return model(), "pkg", nil
}

// VnfdID is that of the model.
func (packages) VnfdID(context.Context, lcm.Principal, string) (string, error) {
	return model().ID, nil
}

// ModelOf gives the same model.
func (packages) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return model(), nil }

// Files are those of the sample package, or others.
func (p packages) Files(context.Context, string) (fs.FS, error) {
	if p.files != nil {
		return p.files, nil
	}
	return packageFS, nil
}

// infra has nothing to do: the machines are there. What it does not implement is not called.
type infra struct{ driver }

type driver = interface{ lcm.Infra }

func (infra) Infra(string) (lcm.Infra, bool)                     { return infra{}, true }
func (infra) Validate(context.Context, lcm.Request) error        { return nil }
func (infra) Options(lcm.Request) (lcm.Options, error)           { return lcm.Options{}, nil }
func (infra) Replaces(lcm.Request) ([]string, error)             { return nil, nil }
func (infra) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs { return params }
func (infra) Instantiate(context.Context, *lcm.Execution) error  { return nil }
func (infra) Inventory(context.Context, *lcm.Execution) error    { return nil }
func (infra) Change(context.Context, *lcm.Execution) error       { return nil }
func (infra) Restore(context.Context, *lcm.Execution) error      { return nil }
func (infra) Terminate(context.Context, *lcm.Execution) error    { return nil }
func (infra) Grant(context.Context, *lcm.Execution) (*lcm.Grant, error) {
	return &lcm.Grant{ID: "g"}, nil
}

// advance lets nodes work on the operation until it has ended; every death is followed by another node.
func advance(t *testing.T, s *store, newDriver func() *k8scluster.Driver, tune execution.Tuning) {
	t.Helper()
	for n := range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		s.mu.Lock()
		s.died = cancel
		s.mu.Unlock()
		r := &execution.Runner{
			Store: s, Packages: packages{s.files}, Clock: lcm.SystemClock{}, Log: slog.New(slog.DiscardHandler),
			Node: fmt.Sprintf("node-%d", n), Tuning: tune,
			Planner: &execution.Planner{
				Infras: infra{}, Mgmt: mgmt.Registry{k8scluster.Name: newDriver()}, Grantor: infra{},
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
		require.NoError(t, err)
		if !again {
			return
		}
		if after > 0 {
			time.Sleep(after) //nolint:forbidigo // time is simulated
		}
	}
	t.Fatal("the operation does not come to an end")
}
