package crash_test

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"syscall"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// death says when a node dies: at the Nth write that fits Method and Step, before it is made or right after it is
// durable.
type death struct {
	Nth   int  `json:"nth"`
	After bool `json:"after"`
	// Method is that of lcm.Records or lcm.Ledger, Step the name of the step or phase that it is about; "" fits all.
	Method string `json:"method,omitempty"`
	Step   string `json:"step,omitempty"`
}

// mortal lets its node die at a write to the store, as by kill -9: in the middle of whatever else it does.
type mortal struct {
	mu    sync.Mutex
	death death // Nth 0: it lives
	count int
	dying bool
	names map[int64]string // of steps by id
}

// arm plans the death and counts from here. It does not return when the last death that was planned is about to come.
func (m *mortal) arm(d death) {
	m.mu.Lock()
	dying := m.dying
	if !dying {
		m.death, m.count = d, 0
	}
	m.mu.Unlock() // the write that the node dies of may need it
	if dying {
		select {}
	}
}

// write makes one write, unless it is the last thing that this process does.
func (m *mortal) write(method, step string, do func() error) error {
	m.mu.Lock()
	d := m.death
	now := false
	if d.Nth > 0 && (d.Method == "" || d.Method == method) && (d.Step == "" || d.Step == step) {
		m.count++
		now = m.count == d.Nth
		m.dying = m.dying || now
	}
	m.mu.Unlock()
	if now && !d.After {
		die()
	}
	err := do()
	if now {
		die()
	}
	return err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (m *mortal) name(id int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names[id]
}

// mortalStores is the request side of the store of a mortal node.
type mortalStores struct {
	lcm.Stores
	*mortal
}

// In implements lcm.Stores.
func (m mortalStores) In(p lcm.Principal) lcm.Records { return mortalRecords{m.Stores.In(p), m.mortal} }

type mortalRecords struct {
	lcm.Records
	*mortal
}

// mortalLedger is the engine side.
type mortalLedger struct {
	lcm.Ledger
	*mortal
}

// Admit implements lcm.Records.
func (m mortalRecords) Admit(
	ctx context.Context, op *lcm.Operation, msg []lcm.Message, check func(*lcm.Instance) error,
) error {
	return m.write("Admit", "", func() error { return m.Records.Admit(ctx, op, msg, check) })
}

// Steer implements lcm.Records.
func (m mortalRecords) Steer(
	ctx context.Context, id string, change func(*lcm.Operation, *lcm.Protection) ([]lcm.Message, error),
) (op *lcm.Operation, err error) {
	err = m.write("Steer", "", func() error {
		op, err = m.Records.Steer(ctx, id, change)
		return err
	})
	return op, err
}

// Lease implements lcm.Records.
func (m mortalRecords) Lease(ctx context.Context, id, purpose string) (l *lcm.Lease, err error) {
	err = m.write("Lease", "", func() error {
		l, err = m.Records.Lease(ctx, id, purpose)
		return err
	})
	return l, err
}

// EndLease implements lcm.Records.
func (m mortalRecords) EndLease(ctx context.Context, l *lcm.Lease, change func(*lcm.Instance)) error {
	return m.write("EndLease", "", func() error { return m.Records.EndLease(ctx, l, change) })
}

// Claim implements lcm.Ledger.
func (m mortalLedger) Claim(ctx context.Context, opID, node string) (c *lcm.Claimed, err error) {
	err = m.write("Claim", "", func() error {
		c, err = m.Ledger.Claim(ctx, opID, node)
		return err
	})
	return c, err
}

// CommitTick implements lcm.Ledger. The step is the phase that the operation is in.
func (m mortalLedger) CommitTick(ctx context.Context, c lcm.Claim, t lcm.Tick) error {
	return m.write("CommitTick", t.Op.Phase, func() error { return m.Ledger.CommitTick(ctx, c, t) })
}

// BeginStep implements lcm.Ledger.
func (m mortalLedger) BeginStep(
	ctx context.Context, c lcm.Claim, phase, name, target string,
) (rec lcm.StepRecord, err error) {
	err = m.write("BeginStep", name, func() error {
		rec, err = m.Ledger.BeginStep(ctx, c, phase, name, target)
		m.mu.Lock()
		m.names[rec.ID] = name
		m.mu.Unlock()
		return err
	})
	return rec, err
}

// SaveStep implements lcm.Ledger.
func (m mortalLedger) SaveStep(
	ctx context.Context, c lcm.Claim, id int64, checkpoint json.RawMessage, status string,
) error {
	return m.write("SaveStep", m.name(id), func() error { return m.Ledger.SaveStep(ctx, c, id, checkpoint, status) })
}

// EndStep implements lcm.Ledger.
func (m mortalLedger) EndStep(
	ctx context.Context, c lcm.Claim, id int64, state lcm.StepState, detail string, f *lcm.Failure,
) error {
	return m.write("EndStep", m.name(id), func() error { return m.Ledger.EndStep(ctx, c, id, state, detail, f) })
}

// AppendLog implements lcm.Ledger.
func (m mortalLedger) AppendLog(ctx context.Context, c lcm.Claim, id int64, lines []lcm.LogLine) error {
	return m.write("AppendLog", m.name(id), func() error { return m.Ledger.AppendLog(ctx, c, id, lines) })
}
