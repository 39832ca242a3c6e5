package machine

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ubuntu"
)

// Machine is one machine of a fleet.
type Machine struct {
	f    *Fleet
	spec Spec
	net  *netstack.Stack

	life  sync.Mutex // power changes, one at a time
	power bool
	wake  sync.Mutex // held while the system boots

	mu       sync.Mutex
	vips     []netip.Addr              // it may hold
	vipAlias map[netip.Addr]netip.Addr // public: virtual
	os       *ubuntu.OS                // nil until the first login
	booted   bool                      // the system runs, not just the door
	first    bool                      // the disk has not run on this server yet
	stopSSH  func()
	keys     []ssh.Signer
	fault    SSHFault
	console  []string
	disks    []Disk
	since    time.Time
}

func newMachine(f *Fleet, s Spec) *Machine {
	if s.Hostname == "" {
		s.Hostname = s.Name
	}
	if s.AdminUser == "" {
		s.AdminUser = "ubuntu"
	}
	if s.AdminPassword == "" {
		s.AdminPassword = "ubuntu"
	}
	m := &Machine{
		f: f, spec: s, net: netstack.New(), vips: slices.Clone(s.AllowedAddressPairs),
		vipAlias: map[netip.Addr]netip.Addr{}, disks: slices.Clone(s.Volumes),
	}
	maps.Copy(m.vipAlias, s.VIPFloatingIPs)
	m.net.OnChange(func() { f.world.changed(m) })
	return m
}

// Hostname is the host name now.
func (m *Machine) Hostname() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.os == nil {
		return m.spec.Hostname
	}
	return m.os.Sys.Hostname()
}

// Addresses are the machine's fixed addresses and whatever virtual ones it holds.
func (m *Machine) Addresses() []string { return m.net.Addresses() }

// FS is the machine's disk as root sees it.
func (m *Machine) FS() memfs.View { return m.system().Sys.FS.As(memfs.Root) }

// Programs lists the programs that the machine can run.
func (m *Machine) Programs() []string { return m.system().Programs() }

// Processes lists the command lines of the running processes by pid.
func (m *Machine) Processes() map[int]string {
	out := map[int]string{}
	for _, p := range m.system().Sys.Procs() {
		out[p.PID] = strings.Join(p.Cmdline(), " ")
	}
	return out
}

// on boots the machine. Without a boot delay it answers when on returns.
func (m *Machine) on(ctx context.Context) error {
	m.life.Lock()
	defer m.life.Unlock()
	if m.power {
		return nil
	}
	m.power = true
	m.f.record(m.spec.ID, Entry{Kind: "power", Line: "on"})
	d := m.f.delay("boot")
	if d <= 0 {
		return m.start(ctx)
	}
	m.f.background(func(ctx context.Context) {
		if m.f.clock.Sleep(ctx, d) != nil {
			return
		}
		m.life.Lock()
		defer m.life.Unlock()
		if m.power && !m.net.IsUp() {
			if err := m.start(ctx); err != nil {
				m.f.log.Error("machine does not boot", "id", m.spec.ID, "err", err)
			}
		}
	})
	return nil
}

// start brings up the network and the SSH port. The system itself starts now only if a user has logged in before, here
// or on the machine that the disk comes from, or if there is user data to run. Otherwise it waits for the first
// visitor, so that idle machines cost next to nothing.
func (m *Machine) start(ctx context.Context) error {
	for i, ip := range m.spec.FixedIPs {
		if err := m.net.Add(ctx, netstack.Addr{IP: ip}); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		for _, fip := range m.spec.FloatingIPs {
			if err := m.net.Add(ctx, netstack.Addr{IP: fip, Target: ip}); err != nil {
				return err
			}
		}
	}
	m.net.Up()
	m.mu.Lock()
	m.since = m.f.clock.Now()
	known := m.os != nil || m.from() != nil
	m.mu.Unlock()
	if err := m.openSSH(ctx); err != nil {
		m.net.Down()
		return err
	}
	if known || len(m.spec.UserData) > 0 {
		m.f.background(func(context.Context) { m.system() })
	}
	return nil
}

// off takes the power away and returns when nothing of the machine runs any more.
func (m *Machine) off() {
	m.life.Lock()
	defer m.life.Unlock()
	if !m.power {
		return
	}
	m.power = false
	m.mu.Lock()
	o := m.os
	m.mu.Unlock()
	if o != nil {
		o.Sys.Halt() // first, so that no session waits for a process while the network waits for them
	}
	m.net.Down()
	m.wake.Lock()
	m.mu.Lock()
	o, m.booted, m.stopSSH = m.os, false, nil
	m.mu.Unlock()
	if o != nil {
		o.Sys.PowerOff()
	}
	m.wake.Unlock()
	m.f.record(m.spec.ID, Entry{Kind: "power", Line: "off"})
}

// system returns the machine's system, booting it if it has not been needed since power came on. Without power it is
// the dead system, of which only the disk is of use.
func (m *Machine) system() *ubuntu.OS {
	m.wake.Lock()
	defer m.wake.Unlock()
	m.mu.Lock()
	if m.os == nil {
		m.build()
	}
	o, boot, first := m.os, !m.booted && m.net.IsUp(), m.first
	m.booted = m.booted || boot
	m.first = first && !boot
	m.mu.Unlock()
	if !boot {
		return o
	}
	o.Sys.PowerOn(m.f.ctx)
	o.Boot(o.Sys.Context())
	if first && len(m.spec.UserData) > 0 {
		o.Sys.Go(func(ctx context.Context) { o.CloudInit(ctx, m.spec.UserData, m.spec.AdminUser) })
	}
	return o
}

// build makes the system with what is on the disk. The lock is held.
func (m *Machine) build() {
	from := m.from()
	var content *ubuntu.Content
	if from != nil {
		content = from.system
	}
	o := ubuntu.New(
		m.f.clock, m.net, ubuntu.Hardware{VCPUs: m.spec.VCPUs, MemoryMB: m.spec.MemoryMB}, m.spec.Hostname,
		m.spec.AdminUser, m.spec.PublicKey, content)
	m.first = o.Begin(m.spec.ID, m.spec.Hostname, m.spec.AdminUser, m.spec.PublicKey)
	if from == nil {
		o.SetPassword(m.spec.AdminUser, m.spec.AdminPassword)
	}
	o.Delay = m.f.wait
	o.Console = m.print
	o.Power = func(what string) {
		m.f.background(func(context.Context) {
			m.off()
			if what == "reboot" {
				m.f.PowerOn(m.spec.ID)
			}
		})
	}
	o.Sys.Before = func(ctx context.Context, p *process.Proc) (int, bool) { return m.f.before(ctx, m.spec.ID, p) }
	o.Sys.After = func(p *process.Proc, status int, took time.Duration) int {
		if x := m.f.failure(m.spec.ID, line(p), true); x != nil {
			status = m.f.play(p.Context(), p, x)
		}
		m.f.record(m.spec.ID, Entry{
			Kind: "exec", User: o.Sys.UserName(p.Cred.UID), PID: p.PID, Line: line(p), Exit: status, Took: took,
		})
		return status
	}
	o.Add(map[string]process.Program{"sshd": m.sshd})
	m.f.world.install(m, o, from)
	for _, d := range m.disks {
		o.AttachDisk(m.f.disk(d))
	}
	for _, k := range m.hostKeys() {
		name := "/etc/ssh/ssh_host_" + map[string]string{
			ssh.KeyAlgoED25519: "ed25519", ssh.KeyAlgoECDSA256: "ecdsa",
		}[k.PublicKey().Type()] + "_key.pub"
		_ = o.Sys.FS.As(memfs.Root).WriteFile(name, ssh.MarshalAuthorizedKey(k.PublicKey()), 0o644)
	}
	m.os = o
}

// hostKeys makes the machine's host keys when they are first needed. Those on a disk are of use to its server only:
// cloud-init replaces them on another one (ssh_deletekeys). The lock is held.
func (m *Machine) hostKeys() []ssh.Signer {
	if from := m.from(); m.keys == nil && m.os == nil && from != nil && from.server == m.spec.ID {
		m.keys = slices.Clone(from.keys)
	}
	if m.keys == nil {
		_, ed, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil
		}
		ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil
		}
		for _, k := range []any{ec, ed} {
			if s, err := ssh.NewSignerFromKey(k); err == nil {
				m.keys = append(m.keys, s)
			}
		}
	}
	return m.keys
}

// HostKeys are the public host keys of the machine.
func (m *Machine) HostKeys() []ssh.PublicKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []ssh.PublicKey
	for _, k := range m.hostKeys() {
		out = append(out, k.PublicKey())
	}
	return out
}

// ChangeHostKeys gives a machine new SSH host keys, as a reinstallation does.
func (f *Fleet) ChangeHostKeys(id string) {
	if m := f.Machine(id); m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.keys = nil
	}
}

// DisturbSSH sets the faults of a machine's SSH server; the zero value heals it.
func (f *Fleet) DisturbSSH(id string, x SSHFault) {
	m := f.Machine(id)
	if m == nil {
		return
	}
	m.mu.Lock()
	m.fault = x
	m.mu.Unlock()
	if x.Refuse {
		m.closeSSH()
	} else if m.net.IsUp() {
		if err := m.openSSH(f.ctx); err != nil {
			f.log.Error("SSH does not come back", "id", id, "err", err)
		}
	}
}

func (m *Machine) print(l string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.console = append(m.console[max(0, len(m.console)-2000):], l)
}

func (m *Machine) consoleText(lines int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := slices.Clone(m.console)
	if !m.since.IsZero() {
		l = append(l, "ci-info: no authorized SSH keys fingerprints found for user "+m.spec.AdminUser+".",
			"-----BEGIN SSH HOST KEY FINGERPRINTS-----")
		for _, k := range m.hostKeys() {
			l = append(l, fmt.Sprintf("256 %s root@%s (%s)", ssh.FingerprintSHA256(k.PublicKey()), m.spec.Hostname,
				strings.ToUpper(strings.Split(strings.TrimPrefix(k.PublicKey().Type(), "ssh-"), "-")[0])))
		}
		l = append(l, "-----END SSH HOST KEY FINGERPRINTS-----", "-----BEGIN SSH HOST KEY KEYS-----")
		for _, k := range m.hostKeys() {
			l = append(l, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.PublicKey())))+" root@"+m.spec.Hostname)
		}
		l = append(l, "-----END SSH HOST KEY KEYS-----", "Ubuntu 22.04.4 LTS "+m.spec.Hostname+" ttyS0", "",
			m.spec.Hostname+" login: ")
	}
	if lines > 0 {
		l = l[max(0, len(l)-lines):]
	}
	return strings.Join(l, "\n") + "\n"
}

func (m *Machine) addAddress(ctx context.Context, a Address) error {
	switch a.Kind {
	case VIP:
		m.mu.Lock()
		if !slices.Contains(m.vips, a.IP) {
			m.vips = append(m.vips, a.IP)
		}
		m.mu.Unlock()
		m.f.world.changed(m)
		return nil
	case VIPFloating:
		m.mu.Lock()
		m.vipAlias[a.IP] = a.Target
		m.mu.Unlock()
		if m.net.Has(a.Target) {
			return m.net.Add(ctx, netstack.Addr{IP: a.IP, Target: a.Target, Virtual: true})
		}
		return nil
	case Floating:
	case Fixed:
		m.mu.Lock()
		m.spec.FixedIPs = append(slices.Clone(m.spec.FixedIPs), a.IP)
		m.mu.Unlock()
		return m.net.Add(ctx, netstack.Addr{IP: a.IP})
	}
	target := a.Target
	if !target.IsValid() {
		target = m.net.Primary()
	}
	m.mu.Lock()
	m.spec.FloatingIPs = append(slices.Clone(m.spec.FloatingIPs), a.IP)
	m.mu.Unlock()
	return m.net.Add(ctx, netstack.Addr{IP: a.IP, Target: target})
}

func (m *Machine) removeAddress(a Address) {
	m.mu.Lock()
	same := func(x netip.Addr) bool { return x == a.IP }
	m.spec.FixedIPs = slices.DeleteFunc(slices.Clone(m.spec.FixedIPs), same)
	m.spec.FloatingIPs = slices.DeleteFunc(slices.Clone(m.spec.FloatingIPs), same)
	m.vips = slices.DeleteFunc(m.vips, same)
	delete(m.vipAlias, a.IP)
	m.mu.Unlock()
	m.net.Remove(a.IP)
	m.f.world.changed(m)
}

// mayHold reports whether the ports of the machine let a virtual address through.
func (m *Machine) mayHold(vip netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Contains(m.vips, vip)
}

// aliasAddrs are the public addresses that lead to a virtual one.
func (m *Machine) aliasAddrs(vip netip.Addr) []netstack.Addr {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []netstack.Addr
	for pub, v := range m.vipAlias {
		if v == vip {
			out = append(out, netstack.Addr{IP: pub, Target: vip, Virtual: true})
		}
	}
	return out
}

func (m *Machine) attach(d Disk) {
	m.mu.Lock()
	m.disks = append(m.disks, d)
	o := m.os
	m.mu.Unlock()
	if o != nil {
		o.AttachDisk(m.f.disk(d))
	}
}

func (m *Machine) detach(volume string) {
	m.mu.Lock()
	device := ""
	m.disks = slices.DeleteFunc(m.disks, func(d Disk) bool {
		if d.VolumeID == volume {
			device = d.Device
		}
		return d.VolumeID == volume
	})
	o := m.os
	m.mu.Unlock()
	if o != nil && device != "" {
		o.DetachDisk(device)
	}
}

// State is what Snapshot shows of a machine.
type State struct {
	Name      string            `json:"name"`
	Hostname  string            `json:"hostname"`
	Host      string            `json:"host"`
	Power     bool              `json:"power"`
	Cut       bool              `json:"unreachable,omitempty"`
	Addresses []string          `json:"addresses"`
	Listening []string          `json:"listening"`
	Commands  int               `json:"commands"`
	Processes map[int]string    `json:"processes,omitempty"`
	Installed map[string]string `json:"installed,omitempty"`
}

func (m *Machine) snapshot() State {
	m.mu.Lock()
	o, booted := m.os, m.booted
	m.mu.Unlock()
	s := State{
		Name: m.spec.Name, Hostname: m.Hostname(), Host: m.spec.Host, Power: m.net.IsUp(), Cut: m.net.IsCut(),
		Listening: m.net.Sockets(),
	}
	for _, a := range m.net.Addrs() {
		s.Addresses = append(s.Addresses, a.IP.String())
	}
	s.Commands = len(m.f.Journal(m.spec.ID))
	if o != nil && booted {
		s.Processes, s.Installed = map[int]string{}, map[string]string{}
		for _, p := range o.Sys.Procs() {
			s.Processes[p.PID] = strings.Join(p.Cmdline(), " ")
		}
		for _, n := range []string{"containerd", "kubelet", "kubeadm", "haproxy", "keepalived"} {
			if v := o.Installed(n); v != "" {
				s.Installed[n] = v
			}
		}
	}
	return s
}
