// Package ubuntu is the operating system of a simulated machine: what an Ubuntu 22.04 cloud image holds, systemd, apt
// and dpkg with a simulated archive, kernel settings, and the programs that look at them.
package ubuntu

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/coreutils"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
)

// Hardware is what the flavor of a server gives its machine.
type Hardware struct {
	VCPUs, MemoryMB int
}

// OS is the system of one machine. Make it with New, add programs, then call Boot after each power-on.
type OS struct {
	Sys *process.System
	Net *netstack.Stack
	// Delay waits for as long as a named step shall take on this machine; nil: no step takes time.
	Delay func(ctx context.Context, step string) error
	// Power is called by reboot, poweroff and their like: "reboot" or "poweroff".
	Power func(what string)
	// Console gets every line of the console.
	Console func(line string)

	hw       Hardware
	mu       sync.Mutex
	host     string
	programs map[string]process.Program
	kernel   kernel
	units    map[string]*unit
	pkgs     map[string]string // installed: version
	held     map[string]bool
	lists    map[string]bool // sources whose index apt-get update has fetched
	dpkg     chan struct{}   // the lock of apt and dpkg
	journal  map[string][]string
	disks    []Disk
	mounts   []mount
}

// Disk is an attached volume.
type Disk struct {
	Device string // "/dev/vdb"
	// Volume is what is on it, which it keeps when it is attached to another machine; nil: blank.
	Volume *Volume
}

// Volume is the content of a block device. It is safe for concurrent use.
type Volume struct {
	// ID is the disk's serial number, by which guests find it; may be empty.
	ID string

	mu      sync.Mutex
	content blocks
}

// blocks is what can be seen of a block device.
type blocks struct {
	fs    string
	uuid  string // of the file system
	table string // kind of the partition table
}

// Copy is another volume with the same content.
func (v *Volume) Copy(id string) *Volume { return &Volume{ID: id, content: v.get()} }

func (v *Volume) get() blocks {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.content
}

func (v *Volume) set(b blocks) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.content = b
}

// New makes the system of a machine that has never been switched on. hostname is its first name; user with password
// (and publicKey, if not empty) is its login. The disk is that of a fresh cloud image, or a copy of from.
func New(
	clock *process.Clock, net *netstack.Stack, hw Hardware, hostname, user, publicKey string, from *Content,
) *OS {
	o := &OS{
		Net: net, host: hostname, programs: map[string]process.Program{}, units: map[string]*unit{},
		pkgs: map[string]string{}, held: map[string]bool{}, lists: map[string]bool{}, dpkg: make(chan struct{}, 1),
		journal: map[string][]string{}, hw: hw,
	}
	o.Sys = &process.System{
		FS: memfs.New(clock.Now, 0), Clock: clock, Net: net, Lookup: o.lookup, Hostname: o.hostname,
		SetHostname: func(n string) { o.mu.Lock(); o.host = n; o.mu.Unlock() },
	}
	net.Hosts = o.hosts
	o.kernel.init()
	if from != nil {
		o.load(from)
	} else {
		o.image(user, publicKey)
	}
	return o
}

func (o *OS) hostname() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.host
}

// Add registers programs; files that run them come with packages, or with AddFile.
func (o *OS) Add(progs map[string]process.Program) { maps.Copy(o.programs, progs) }

// Programs lists the programs that the machine can run, once the packages that bring them are installed.
func (o *OS) Programs() []string {
	names := maps.Clone(coreutils.Programs)
	maps.Copy(names, o.programs)
	return slices.Sorted(maps.Keys(names))
}

func (o *OS) lookup(name string) process.Program {
	if p, ok := o.programs[name]; ok {
		return p
	}
	return coreutils.Programs[name]
}

// hosts resolves names with /etc/hosts.
func (o *OS) hosts(name string) (netip.Addr, bool) {
	b, err := o.root().ReadFile("/etc/hosts")
	if err != nil {
		return netip.Addr{}, false
	}
	for l := range strings.Lines(string(b)) {
		l, _, _ = strings.Cut(l, "#")
		f := strings.Fields(l)
		if len(f) > 1 && slices.Contains(f[1:], name) {
			if ip, err := netip.ParseAddr(f[0]); err == nil && ip.Is4() {
				return ip, true
			}
		}
	}
	return netip.Addr{}, false
}

func (o *OS) root() memfs.View { return o.Sys.FS.As(memfs.Root) }

// delay waits for a step; false if the process was killed during the wait.
func (o *OS) delay(ctx context.Context, step string) bool {
	return o.Delay == nil || o.Delay(ctx, step) == nil
}

// Boot starts the system after a power-on: temporary directories are emptied, kernel settings and modules are loaded
// from their files, and the enabled units start.
func (o *OS) Boot(ctx context.Context) {
	v := o.root()
	for _, d := range []string{"/tmp", "/run"} {
		l, _ := v.ReadDir(d)
		for _, e := range l {
			_ = v.RemoveAll(d + "/" + e.Name())
		}
	}
	_ = v.MkdirAll("/run/lock", 0o777)
	_ = v.Chmod("/run/lock", 0o1777)
	_ = v.MkdirAll("/run/systemd/system", 0o755)
	o.kernel.init()
	o.mu.Lock()
	o.mounts = nil
	o.journal = map[string][]string{}
	for _, u := range o.units {
		u.reset()
	}
	o.mu.Unlock()
	if b, err := v.ReadFile("/etc/hostname"); err == nil {
		o.Sys.SetHostname(strings.TrimSpace(string(b)))
	}
	o.loadModules()
	o.loadSysctl()
	o.mountAll()
	o.log("[    0.000000] Linux version 5.15.0-107-generic (buildd@lcy02) #117-Ubuntu SMP")
	o.mu.Lock()
	names := slices.Collect(maps.Keys(o.units))
	o.mu.Unlock()
	names = slices.DeleteFunc(names, func(n string) bool { return !o.enabled(n) || strings.Contains(n, "@") })
	slices.Sort(names)
	for _, n := range names {
		_ = o.StartUnit(ctx, n)
	}
	o.log(fmt.Sprintf("Ubuntu 22.04.4 LTS %s ttyS0", o.hostname()))
}

func (o *OS) log(line string) {
	if o.Console != nil {
		o.Console(line)
	}
}

// Run runs a command line as root to its end, as cloud-init does, and returns its status.
func (o *OS) Run(ctx context.Context, line string) int {
	root, _ := o.Sys.Account("root")
	p, err := o.Sys.NewProc(root, "bash", "-c", line)
	if err != nil {
		return 1
	}
	p.SetFD(0, process.NewFD(process.FromIO(strings.NewReader(""), nil, nil)))
	out := &lineLog{put: o.log}
	p.SetFD(1, process.NewFD(process.FromIO(nil, out, nil)))
	p.SetFD(2, process.NewFD(process.FromIO(nil, out, nil)))
	p.Start(shell.Bash)
	st, err := p.Wait(ctx)
	if err != nil {
		return 1
	}
	return st
}

// lineLog hands complete lines on.
type lineLog struct {
	mu  sync.Mutex
	buf string
	put func(string)
}

// Write implements io.Writer.
func (l *lineLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf += string(b)
	for {
		line, rest, ok := strings.Cut(l.buf, "\n")
		if !ok {
			return len(b), nil
		}
		l.put(line)
		l.buf = rest
	}
}

// needRoot complains and returns true if the process is not root's.
func needRoot(p *process.Proc) bool { return p.Cred.UID != 0 }

// Journal is what journalctl -u shows for a unit.
func (o *OS) Journal(unit string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.journal[unit])
}

// maxJournal bounds the lines kept per unit.
const maxJournal = 500

func (o *OS) note(unit, line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.journal[unit] = append(o.journal[unit], o.Sys.Clock.Now().UTC().Format(time.Stamp)+" "+o.host+" "+line)
	if l := o.journal[unit]; len(l) > maxJournal {
		o.journal[unit] = slices.Clone(l[len(l)-maxJournal/2:])
	}
}

// Hardware is what the machine was built with; zero numbers mean unknown.
func (o *OS) Hardware() Hardware { return o.hw }
