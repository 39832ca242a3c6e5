package ansible_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/ansible"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

const (
	opID       = "0d7b1c1e-0000-4000-8000-000000000001"
	instanceID = "14c5406b-f627-4391-b91b-440f242623ac"
	password   = "s3cret-password" // of all machines
)

// store is an lcm.Ledger in memory. It can die at a chosen write, as a killed node does: nothing of that epoch is
// written any more.
type store struct {
	mu     sync.Mutex
	op     lcm.Operation
	inst   []byte
	phase  *lcm.PhaseRecord
	steps  map[string]*lcm.StepRecord // by "name target"
	logs   map[string][]string
	next   int64
	writes int
	dieAt  int // number of the write at which the node dies; 0 = never
	died   context.CancelFunc
	deaths int
	model  *vnfd.VNFD
	files  fs.FS
}

var errDead = errors.New("the node is dead")

// write checks the fence and counts; the lock is held.
func (s *store) write(epoch int64) error {
	if epoch != s.op.Epoch {
		return lcm.ErrFenced
	}
	if s.writes++; s.dieAt != 0 && s.writes >= s.dieAt {
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
	return nil
}

func (s *store) BeginStep(_ context.Context, c lcm.Claim, phase, name, target string) (lcm.StepRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(c.Epoch); err != nil {
		return lcm.StepRecord{}, err
	}
	rec := s.steps[name+" "+target]
	if rec == nil {
		s.next++
		rec = &lcm.StepRecord{ID: s.next, Phase: phase, Name: name, Target: target, Started: time.Now(), Attempts: 1}
		s.steps[name+" "+target] = rec
	}
	if rec.State == lcm.StepFailed {
		rec.Attempts++
	}
	if rec.State != lcm.StepDone {
		rec.State = lcm.StepOpen
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
	return nil
}

func (s *store) AppendLog(_ context.Context, c lcm.Claim, id int64, lines []lcm.LogLine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(c.Epoch); err != nil {
		return err
	}
	r := s.step(id)
	for _, l := range lines {
		s.logs[r.Name+" "+r.Target] = append(s.logs[r.Name+" "+r.Target], l.Text)
	}
	return nil
}

// stored is everything that the database would have of the steps.
func (s *store) stored(t *testing.T) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := json.MarshalIndent([]any{s.steps, s.logs, s.op.Error}, "", " ")
	require.NoError(t, err)
	return string(raw)
}

// Model implements lcm.Packages.
func (s *store) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return s.model, "pkg", nil
}

func (s *store) VnfdID(context.Context, lcm.Principal, string) (string, error) {
	return s.model.ID, nil
}
func (s *store) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return s.model, nil }
func (s *store) Files(context.Context, string) (fs.FS, error)        { return s.files, nil }

// infra has nothing to do: the machines are there. What it does not implement is not called.
type infra struct{ lcmInfra }

type lcmInfra = interface{ lcm.Infra }

func (infra) Infra(string) (lcm.Infra, bool)                     { return infra{}, true }
func (infra) Validate(context.Context, lcm.Request) error        { return nil }
func (infra) Options(lcm.Request) (lcm.Options, error)           { return lcm.Options{}, nil }
func (infra) Lasting(params sol.KeyValuePairs) sol.KeyValuePairs { return params }
func (infra) Instantiate(context.Context, *lcm.Execution) error  { return nil }
func (infra) Inventory(context.Context, *lcm.Execution) error    { return nil }
func (infra) Change(context.Context, *lcm.Execution) error       { return nil }
func (infra) Terminate(context.Context, *lcm.Execution) error    { return nil }
func (infra) Grant(context.Context, *lcm.Execution) (*lcm.Grant, error) {
	return &lcm.Grant{ID: "g"}, nil
}

// world is an instance with simulated machines and a store.
type world struct {
	t     *testing.T
	fleet *simmachine.Fleet
	block *simcloud.Block
	keys  *pinned
	inst  *lcm.Instance
	o     ansible.Options
	store *store
}

// newWorld boots VDU1-0, VDU1-1 and VDU2-0.
func newWorld(t *testing.T) *world {
	t.Helper()
	block, err := simcloud.ReserveBlock(t.Context())
	require.NoError(t, err)
	f := simmachine.NewFleet(t.Context(), simmachine.Options{Speed: 20})
	t.Cleanup(func() {
		f.Close()
		_ = block.Close()
	})
	w := &world{t: t, fleet: f, block: block, keys: &pinned{keys: map[remote.Machine]remote.HostKey{}}}
	w.inst = &lcm.Instance{
		ID: instanceID, VnfdID: "vnfd", VnfPkgID: "pkg", Instantiated: &sol.InstantiatedVnfInfo{FlavourID: "default"},
		VimConnections: map[string]sol.VimConnectionInfo{
			"vim1": {VimID: "d82ee798-a1d2-4854-8f74-4892ad706751", VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3"},
		},
	}
	for n, vdu := range []string{"VDU1", "VDU1", "VDU2"} {
		id := fmt.Sprintf("%s-%d", vdu, n%2)
		at := block.Addr(10, byte(11+n))
		require.NoError(t, f.Boot(t.Context(), simmachine.Spec{
			ID: id, Name: vdu, Hostname: strings.ToLower(id), VCPUs: 1, MemoryMB: 512, AdminPassword: password,
			FixedIPs: []netip.Addr{at},
		}))
		w.inst.Inventory = append(w.inst.Inventory,
			lcm.Resource{Name: vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", VNFC: id, VDU: vdu, Index: n % 2},
			lcm.Resource{
				Name: vdu + "_CP1", VNFC: id, VDU: vdu, Index: n % 2, Addresses: []lcm.Address{{IP: at.String()}},
			})
		w.inst.Instantiated.VnfcInfo = append(w.inst.Instantiated.VnfcInfo, sol.VnfcInfo{
			ID: id, VduID: vdu, VnfcResourceInfoID: id,
		})
		w.inst.Instantiated.VnfcResourceInfo = append(w.inst.Instantiated.VnfcResourceInfo, sol.VnfcResourceInfo{
			ID: id, VduID: vdu,
		})
	}
	pool := remote.NewPool(remote.Options{HostKeys: w.keys}, 0)
	t.Cleanup(pool.Close)
	w.o = ansible.Options{Connect: ansible.Pooled(pool), HostKeys: w.keys, SSHPort: int(f.SSHPort())}
	return w
}

// address is that of a VNFC.
func (w *world) address(vnfc string) string {
	for _, r := range w.inst.Inventory {
		if r.VNFC == vnfc && len(r.Addresses) > 0 {
			return r.Addresses[0].IP
		}
	}
	return ""
}

// begin makes an operation.
func (w *world) begin(
	typ sol.LcmOperationType, config string, files fstest.MapFS, params string, scope *lcm.Scope,
) {
	w.t.Helper()
	raw, err := json.Marshal(w.inst)
	require.NoError(w.t, err)
	impl := vnfd.Implementation{Name: ansible.Name}
	all := fstest.MapFS{"ScriptANSIBLE/config.yaml": {Data: []byte(config)}}
	maps.Copy(all, files)
	w.store = &store{
		op: lcm.Operation{
			ID: opID, InstanceID: instanceID, Type: typ, State: sol.LcmOperationStateStarting, Scope: scope,
			Params: json.RawMessage(params),
		},
		inst: raw, steps: map[string]*lcm.StepRecord{}, logs: map[string][]string{}, files: all,
		model: &vnfd.VNFD{ID: "vnfd", Flavours: []vnfd.Flavour{{
			ID: "default", VDUs: []vnfd.VDU{{Name: "VDU1"}, {Name: "VDU2"}},
			LCM: map[string]vnfd.Implementation{
				"instantiate_end": impl, "terminate_start": impl, "heal_end": impl, "scale_start": impl,
				"scale_end": impl,
			},
		}}},
	}
}

// advance lets nodes work on the operation until it rests; every death is followed by another node.
func (w *world) advance() {
	w.t.Helper()
	s := w.store
	for n := range 1000 {
		ctx, cancel := context.WithCancel(w.t.Context())
		s.mu.Lock()
		s.died = cancel
		s.mu.Unlock()
		r := &execution.Runner{
			Store: s, Packages: s, Clock: lcm.SystemClock{}, Log: slog.New(slog.DiscardHandler),
			Node: fmt.Sprintf("node-%d", n),
			Planner: &execution.Planner{
				Infras: infra{}, Mgmt: mgmt.Registry{ansible.Name: ansible.New(w.o)}, Grantor: infra{},
			},
		}
		after, again, err := r.Advance(ctx, opID)
		dead := ctx.Err() != nil
		cancel()
		if dead {
			s.mu.Lock()
			s.dieAt = 0
			s.deaths++
			s.mu.Unlock()
			continue
		}
		require.NoError(w.t, err)
		if !again {
			return
		}
		timer := time.NewTimer(after)
		<-timer.C
	}
	w.t.Fatal("the operation does not come to an end")
}

// completed checks that the operation has succeeded.
func (w *world) completed() {
	w.t.Helper()
	require.Equal(w.t, sol.LcmOperationStateCompleted, w.store.op.State, "%s", w.store.stored(w.t))
}

// failed checks that the operation has failed, and returns why.
func (w *world) failed() *lcm.Failure {
	w.t.Helper()
	require.Equal(w.t, sol.LcmOperationStateFailedTemp, w.store.op.State, "%s", w.store.stored(w.t))
	return w.store.op.Error
}

// order lists the steps of playbooks and commands in the order in which they began.
func (s *store) order() []string {
	var out []string
	for _, r := range slices.SortedFunc(maps.Values(s.steps), func(a, b *lcm.StepRecord) int {
		return int(a.ID - b.ID)
	}) {
		if r.Name != "wait for SSH" && !strings.HasPrefix(r.Name, "PLAY RECAP") {
			out = append(out, r.Name+" "+r.Target)
		}
	}
	return out
}

// on returns the output of a command on a VNFC.
func (w *world) on(vnfc, command string) string {
	w.t.Helper()
	c, release, err := w.o.Connect(w.t.Context(), remote.Target{
		Instance: instanceID, VNFC: vnfc, Host: w.address(vnfc), Port: w.o.SSHPort, User: "ubuntu", Password: password,
	})
	require.NoError(w.t, err)
	defer release()
	out, err := c.Output(w.t.Context(), command, nil, 1<<20)
	require.NoError(w.t, err)
	return string(out)
}

// pinned keeps host keys in memory.
type pinned struct {
	mu   sync.Mutex
	keys map[remote.Machine]remote.HostKey
}

func (p *pinned) Lookup(_ context.Context, m remote.Machine) (*remote.HostKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.keys[m]; ok {
		return &k, nil
	}
	return nil, nil //nolint:nilnil // the contract
}

func (p *pinned) Pin(_ context.Context, m remote.Machine, k remote.HostKey) (remote.HostKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.keys[m]; ok {
		return old, nil
	}
	p.keys[m] = k
	return k, nil
}

func (w *world) driver() *ansible.Driver { return ansible.New(w.o) }
