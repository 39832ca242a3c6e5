package openstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// memory is an lcm.Ledger in memory, with the same fence. A death is a call after
// which nothing more is written by the node that made it.
type memory struct {
	mu       sync.Mutex
	op       lcm.Operation
	instance lcm.Instance
	phases   map[string]lcm.PhaseRecord
	steps    []lcm.StepRecord
	writes   int
	logs     map[int64]string // of steps
	// forgotten are the VNFCs whose host keys went.
	forgotten []string
	// snapshot is what operations have recorded of the last snapshot.
	snapshot map[string]lcm.VNFCSnapshot
	// dieAt is the write at which the node dies, dieAfter that it dies after it is done; 0 = never.
	dieAt    int
	dieAfter bool
	dead     bool

	clock lcm.Clock // of the first claim
}

func (m *memory) now() time.Time {
	if m.clock == nil {
		return time.Now()
	}
	return m.clock.Now()
}

// copied is v as it is after it was stored and read.
func copied[T any](v T) T {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return out
}

var errDead = fmt.Errorf("the node is dead: %w", lcm.ErrFenced)

// write runs f unless the node is dead or the claim outdated.
func (m *memory) write(c lcm.Claim, f func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || c.Epoch != m.op.Epoch {
		return errDead
	}
	m.writes++
	if m.dieAt == m.writes {
		m.dead = true
		if !m.dieAfter {
			return errDead
		}
		f()
		return errDead
	}
	f()
	return nil
}

func (m *memory) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

func (m *memory) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// revive lets the next node write; the dead one is fenced.
func (m *memory) revive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = false
}

func (m *memory) Claim(_ context.Context, _, node string) (*lcm.Claimed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !lcm.Running(m.op.State) {
		return nil, nil //nolint:nilnil // the contract of Store
	}
	m.op.Epoch++
	m.op.Node = node
	op, i := copied(m.op), copied(m.instance)
	out := &lcm.Claimed{Op: &op, Instance: &i}
	if p, ok := m.phases[m.op.Phase]; ok {
		out.Phase = &p
	}
	return out, nil
}

func (m *memory) CommitTick(_ context.Context, c lcm.Claim, t lcm.Tick) error {
	return m.write(c, func() {
		m.op = copied(*t.Op)
		if t.Instance != nil {
			m.instance = copied(*t.Instance)
		}
		m.forgotten = append(m.forgotten, t.Effects.ForgetVNFCs...)
		for id, c := range t.Effects.Snapshot.VNFCs {
			m.snapshot[id] = copied(c)
		}
		if t.Effects.Snapshot.Release {
			m.snapshot = map[string]lcm.VNFCSnapshot{}
		}
		for _, p := range t.Phases {
			m.phases[p.Name] = p
		}
	})
}

func (m *memory) BeginStep(_ context.Context, c lcm.Claim, phase, name, target string) (lcm.StepRecord, error) {
	var out lcm.StepRecord
	err := m.write(c, func() {
		for i := range m.steps {
			s := &m.steps[i]
			if s.Phase == phase && s.Name == name && s.Target == target {
				if s.State != lcm.StepDone {
					s.Attempts++
				}
				out = *s
				return
			}
		}
		m.steps = append(m.steps, lcm.StepRecord{
			ID: int64(len(m.steps) + 1), Phase: phase, Name: name, Target: target, State: lcm.StepOpen, Attempts: 1,
			Started: m.now(),
		})
		out = m.steps[len(m.steps)-1]
	})
	return out, err
}

func (m *memory) SaveStep(_ context.Context, c lcm.Claim, id int64, checkpoint json.RawMessage, status string) error {
	return m.write(c, func() {
		s := &m.steps[id-1]
		s.Checkpoint = checkpoint
		if status != "" {
			s.Detail = status
		}
	})
}

func (m *memory) Begun(context.Context, lcm.Claim) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.steps) > 0, nil
}

func (m *memory) CheckClaim(_ context.Context, c lcm.Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || c.Epoch != m.op.Epoch {
		return errDead
	}
	return nil
}

func (m *memory) EndStep(
	_ context.Context, c lcm.Claim, id int64, state lcm.StepState, detail string, failure *lcm.Failure,
) error {
	return m.write(c, func() {
		s := &m.steps[id-1]
		s.State, s.Detail, s.Error = state, detail, failure
	})
}

func (m *memory) AppendLog(_ context.Context, c lcm.Claim, id int64, lines []lcm.LogLine) error {
	return m.write(c, func() {
		if m.logs == nil {
			m.logs = map[int64]string{}
		}
		for _, l := range lines {
			m.logs[id] += l.Text + "\n"
		}
	})
}

// logOf is what a step has logged.
func (m *memory) logOf(id int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.logs[id]
}

// step returns the newest step with this name.
func (m *memory) step(t *testing.T, name string) lcm.StepRecord {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range slices.Backward(m.steps) {
		if s.Name == name {
			return s
		}
	}
	require.Fail(t, "there is no step "+name)
	return lcm.StepRecord{}
}
