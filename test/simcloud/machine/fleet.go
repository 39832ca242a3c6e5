// Package machine plays the inside of simulated servers: every machine has an SSH and SFTP server on its addresses, a
// disk in memory, a shell that really interprets scripts, and simulated programs up to kubeadm and a Kubernetes API.
// Machines can be killed, rebooted, cut off, slowed down and made to fail at any command, and keep a journal of what
// was run on them.
package machine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/ansible"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Options are the settings of a fleet; the zero value works.
type Options struct {
	// SSHPort is the port of the SSH servers, 2222 if 0.
	SSHPort uint16
	// Speed is how many simulated seconds pass in a real one: it shortens Delays and every sleep and timeout inside the
	// machines. 1 if 0.
	Speed float64
	// Delays are how long simulated steps take, in simulated time. A key is the beginning of a command line ("apt-get",
	// "kubeadm join", "systemctl restart haproxy"; the longest that fits counts), or one of "boot" (until a machine
	// answers), "prepare" (the first installation of kubeadm), "init" and "join" (kubeadm's).
	Delays map[string]time.Duration
	// Playbook is what ansible-playbook installs nodes with; without it the program does not work.
	Playbook ansible.Playbook
	// Logger gets what happens to machines; nil: nothing is logged.
	Logger *slog.Logger
}

// Fleet is all machines of one cloud. It is safe for concurrent use.
type Fleet struct {
	clock *process.Clock
	port  uint16
	log   *slog.Logger
	ctx   context.Context //nolint:containedctx // the fleet is a server: ends with Close
	stop  context.CancelFunc
	wg    sync.WaitGroup
	faults
	world    world
	playbook ansible.Playbook

	mu       sync.Mutex
	machines map[string]*Machine
	volumes  map[string]volume // what is on them, by id
	closed   bool
}

// NewFleet makes an empty fleet, which lives until Close or until ctx ends.
func NewFleet(ctx context.Context, o Options) *Fleet {
	if o.SSHPort == 0 {
		o.SSHPort = 2222
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{
		clock: process.NewClock(o.Speed), port: o.SSHPort, log: o.Logger, machines: map[string]*Machine{},
		volumes: map[string]volume{}, playbook: o.Playbook,
	}
	f.ctx, f.stop = context.WithCancel(ctx)
	f.faults.init(f.clock)
	f.SetDelays(o.Delays)
	f.world.init(f)
	return f
}

// Close switches every machine off and waits until nothing of the fleet runs any more.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	all := slices.Collect(maps.Values(f.machines))
	f.mu.Unlock()
	f.stop()
	var wg sync.WaitGroup
	for _, m := range all {
		wg.Go(m.off)
	}
	wg.Wait()
	f.wg.Wait()
	f.world.close()
}

// SSHPort is the port of the SSH servers.
func (f *Fleet) SSHPort() uint16 { return f.port }

// Machine finds a machine, nil if there is none.
func (f *Fleet) Machine(id string) *Machine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.machines[id]
}

// Boot creates a machine and starts it. It returns when its addresses are taken; with a boot delay the machine answers
// later. The error says which address cannot be used.
func (f *Fleet) Boot(ctx context.Context, s Spec) error {
	m := newMachine(f, s)
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return fmt.Errorf("boot %s: the fleet is closed", s.ID)
	}
	if f.machines[s.ID] != nil {
		f.mu.Unlock()
		return fmt.Errorf("boot %s: there is such a machine already", s.ID)
	}
	f.machines[s.ID] = m
	f.mu.Unlock()
	if err := m.on(ctx); err != nil {
		f.Delete(s.ID)
		return fmt.Errorf("boot %s: %w", s.ID, err)
	}
	f.log.Debug("machine booted", "id", s.ID, "name", s.Name, "addresses", s.FixedIPs)
	return nil
}

// Delete switches a machine off and forgets it with its journal, and with its disk unless that is a volume.
func (f *Fleet) Delete(id string) {
	if m := f.Machine(id); m != nil {
		m.off()
		f.leaveRoot(m)
		f.world.forget(m)
		f.mu.Lock()
		delete(f.machines, id)
		f.mu.Unlock()
	}
}

// PowerOff ends everything on a machine at once: connections break, its addresses refuse. The disk stays.
func (f *Fleet) PowerOff(id string) {
	if m := f.Machine(id); m != nil {
		m.off()
	}
}

// PowerOn boots a machine that is off.
func (f *Fleet) PowerOn(id string) {
	if m := f.Machine(id); m != nil {
		if err := m.on(f.ctx); err != nil {
			f.log.Error("machine does not boot", "id", id, "err", err)
		}
	}
}

// Reboot is PowerOff and PowerOn.
func (f *Fleet) Reboot(id string) {
	f.PowerOff(id)
	f.PowerOn(id)
}

// Kill is a power cut; the error says that there is no such machine.
func (f *Fleet) Kill(id string) error {
	m := f.Machine(id)
	if m == nil {
		return unknown(id)
	}
	m.off()
	return nil
}

func unknown(id string) error { return fmt.Errorf("there is no machine %q", id) }

// Unreachable cuts a machine's network (true) or restores it (false): connections stay open and addresses accept, but
// nothing gets through, while processes go on.
func (f *Fleet) Unreachable(id string, cut bool) error {
	m := f.Machine(id)
	if m == nil {
		return unknown(id)
	}
	m.net.Cut(cut)
	return nil
}

// AddAddress gives a running machine an address.
func (f *Fleet) AddAddress(id string, a Address) error {
	m := f.Machine(id)
	if m == nil {
		return nil
	}
	return m.addAddress(f.ctx, a)
}

// RemoveAddress takes an address from a machine.
func (f *Fleet) RemoveAddress(id string, a Address) {
	if m := f.Machine(id); m != nil {
		m.removeAddress(a)
	}
}

// AttachDisk makes a volume appear in a machine.
func (f *Fleet) AttachDisk(id string, d Disk) {
	if m := f.Machine(id); m != nil {
		m.attach(d)
	}
}

// DetachDisk takes a volume away.
func (f *Fleet) DetachDisk(id, volumeID string) {
	if m := f.Machine(id); m != nil {
		m.detach(volumeID)
	}
}

// Holder is the id of the machine that holds a virtual address now, "" if none does.
func (f *Fleet) Holder(vip netip.Addr) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, m := range f.machines {
		if m.net.IsUp() && m.net.Has(vip) {
			return id
		}
	}
	return ""
}

// Console is the last lines of a machine's serial console, all of them if lines ≤ 0. cloud-init prints the fingerprints
// and keys of the SSH host there.
func (f *Fleet) Console(id string, lines int) string {
	m := f.Machine(id)
	if m == nil {
		return ""
	}
	return m.consoleText(lines)
}

// Snapshot describes every machine by id, for people and for the control API.
func (f *Fleet) Snapshot() map[string]any {
	f.mu.Lock()
	all := maps.Clone(f.machines)
	f.mu.Unlock()
	out := map[string]any{}
	for id, m := range all {
		out[id] = m.snapshot()
	}
	return out
}

// background runs f as work of the fleet that Close waits for.
func (f *Fleet) background(run func(ctx context.Context)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.wg.Go(func() { run(f.ctx) })
	}
}
