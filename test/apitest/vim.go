package apitest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// machineType is the VIM's word for its machines.
const machineType = "TEST::Machine"

// VIM is an lcm.Infra that keeps machines in memory and does what a test says. It passes infratest.Contract.
type VIM struct {
	*memory
	// call makes each call of the driver to the memory.
	call func(changes bool, send func() error) error
}

// NewVIM returns an empty VIM with a driver.
func NewVIM() *VIM {
	state := &memory{
		machines: map[string][]machine{}, replaced: map[string]machine{}, disks: map[string][]disk{},
	}
	return &VIM{state, func(_ bool, send func() error) error { return send() }}
}

// Through returns another driver of the VIM, whose calls go through call.
func (v *VIM) Through(call func(changes bool, send func() error) error) *VIM {
	return &VIM{v.memory, call}
}

// memory is the state of a VIM.
type memory struct {
	mu       sync.Mutex
	fail     error
	blind    error // of Inventory
	partly   bool
	held     bool
	halting  bool
	refusal  string
	slow     time.Duration
	calls    []string
	machines map[string][]machine // by the instance whose name they carry
	replaced map[string]machine   // by a change of the package, by the id of the successor
	disks    map[string][]disk    // of snapshots, by their id
}

// machine is that of one VNFC.
type machine struct {
	id, vdu string
	index   int
	state   sol.VnfOperationalState
	ready   time.Time
	broken  bool   // its creation was stopped
	vim     string // key of the connection that it was created through
	from    string // the id of the snapshot that its disk comes from
}

func (m machine) name() string { return fmt.Sprintf("%s-%d", m.vdu, m.index) }
func (m machine) vnfc() string { return m.vdu + "-" + m.id }

// starting says whether the VIM still creates the machine.
func (m machine) starting() bool { return !m.broken && time.Now().Before(m.ready) }

// Fail makes all work but the inventory fail from now on; nil lets it succeed.
func (m *memory) Fail(err error) { m.set(func() { m.fail, m.partly = err, false }) }

// FailHalfway makes changes fail after the first VNFC.
func (m *memory) FailHalfway(err error) { m.set(func() { m.fail, m.partly = err, true }) }

// FailInventory makes the inventory fail.
func (m *memory) FailInventory(err error) { m.set(func() { m.blind = err }) }

// Hold makes all work wait, until it is called with false.
func (m *memory) Hold(on bool) { m.set(func() { m.held = on }) }

// HoldHalt makes Halt wait.
func (m *memory) HoldHalt(on bool) { m.set(func() { m.halting = on }) }

// Refuse makes the VIM reject new machines with this text, until it is called with "".
func (m *memory) Refuse(text string) { m.set(func() { m.refusal = text }) }

// Slow sets how long the creation of a machine takes.
func (m *memory) Slow(d time.Duration) { m.set(func() { m.slow = d }) }

// Lose deletes a machine without the driver.
func (m *memory) Lose(id string) {
	m.set(func() {
		for instance := range m.machines {
			m.deleteIf(instance, func(o machine) bool { return o.id == id })
		}
	})
}

// Leave creates a machine with the name of an instance and returns its id.
func (m *memory) Leave(instance string) string {
	id := uuid.NewString()
	m.set(func() {
		m.machines[instance] = append(m.machines[instance], machine{id: id, vdu: "forgotten"})
	})
	return id
}

// Machines lists the ids of all machines.
func (m *memory) Machines() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, all := range m.machines {
		for _, o := range all {
			out = append(out, o.id)
		}
	}
	return out
}

// Busy says whether machines are being created.
func (m *memory) Busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, all := range m.machines {
		if slices.ContainsFunc(all, machine.starting) {
			return true
		}
	}
	return false
}

// Calls lists the calls of the VIM: the method, the operation and its phase.
func (m *memory) Calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

func (m *memory) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// begin records a call and says whether it may go on.
func (m *memory) begin(format string, args ...any) error {
	m.calls = append(m.calls, fmt.Sprintf(format, args...))
	if m.held {
		return lcm.Wait(0, "the VIM is busy")
	}
	if m.partly {
		return nil
	}
	return m.fail
}

func (m *memory) deleteIf(instance string, gone func(machine) bool) {
	m.machines[instance] = slices.DeleteFunc(m.machines[instance], gone)
	if len(m.machines[instance]) == 0 {
		delete(m.machines, instance)
	}
}

// free is the lowest index of a VDU without a machine.
func (m *memory) free(instance, vdu string) int {
	n := 0
	for slices.ContainsFunc(m.machines[instance], func(o machine) bool { return o.vdu == vdu && o.index == n }) {
		n++
	}
	return n
}

// count is the number of machines of a VDU.
func (m *memory) count(instance, vdu string) int {
	n := 0
	for _, o := range m.machines[instance] {
		if o.vdu == vdu {
			n++
		}
	}
	return n
}

// find returns the machine of a VNFC; nil when the VIM does not have it.
func (m *memory) find(instance, vnfc string) *machine {
	for n := range m.machines[instance] {
		if m.machines[instance][n].vnfc() == vnfc {
			return &m.machines[instance][n]
		}
	}
	return nil
}
