package ubuntu

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// kernel is what modprobe and sysctl change.
type kernel struct {
	mu      sync.Mutex
	modules map[string]bool
	values  map[string]string
}

var sysctlDefaults = map[string]string{
	"net.ipv4.ip_forward": "0", "net.ipv6.conf.all.forwarding": "0", "net.ipv4.conf.all.forwarding": "0",
	"net.ipv4.conf.all.rp_filter":     "2",
	"net.ipv4.conf.default.rp_filter": "2", "vm.swappiness": "60", "vm.overcommit_memory": "0",
	"vm.max_map_count": "65530", "fs.inotify.max_user_instances": "128", "fs.inotify.max_user_watches": "29284",
	"fs.file-max": "9223372036854775807", "kernel.panic": "0", "kernel.panic_on_oops": "0",
	"net.core.somaxconn": "4096", "kernel.pid_max": "4194304", "net.ipv4.ip_nonlocal_bind": "0",
	"net.ipv4.tcp_keepalive_time": "7200", "net.ipv4.ip_local_port_range": "32768\t60999",
	"kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000",
	"net.ipv6.conf.all.disable_ipv6": "0", "net.ipv6.conf.default.disable_ipv6": "0",
	"kernel.osrelease": "5.15.0-107-generic", "net.netfilter.nf_conntrack_max": "65536",
}

// bridgeKeys exist only while br_netfilter is loaded.
var bridgeKeys = []string{
	"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables", "net.bridge.bridge-nf-call-arptables",
}

// knownModules are what /lib/modules holds.
var knownModules = []string{
	"overlay", "br_netfilter", "bridge", "ip_vs", "ip_vs_rr", "ip_vs_wrr", "ip_vs_sh", "nf_conntrack", "nf_nat",
	"xt_conntrack", "vxlan", "nfs", "nfsd", "ip_tables", "ip6_tables", "iptable_nat", "configs", "dummy", "8021q",
	"tun", "iscsi_tcp", "dm_crypt", "rbd",
}

func (k *kernel) init() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.modules, k.values = map[string]bool{}, maps.Clone(sysctlDefaults)
}

func (k *kernel) get(key string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.values[key]
	return v, ok
}

func (k *kernel) set(key, value string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.values[key]; !ok {
		return false
	}
	k.values[key] = value
	return true
}

func sysctlPath(key string) string { return "/proc/sys/" + strings.ReplaceAll(key, ".", "/") }

func (o *OS) sysctlFile(key string) {
	o.Sys.FS.Synth(sysctlPath(key), 0o644, func() []byte {
		v, _ := o.kernel.get(key)
		return []byte(v + "\n")
	}, func(b []byte) error {
		// A shell may write the end of the line by itself.
		if v := strings.TrimSpace(string(b)); v != "" && !o.kernel.set(key, v) {
			return syscall.EINVAL
		}
		return nil
	})
}

func (o *OS) modprobe(name string) bool {
	name = strings.ReplaceAll(name, "-", "_")
	if !slices.Contains(knownModules, name) {
		return false
	}
	o.kernel.mu.Lock()
	fresh := !o.kernel.modules[name]
	o.kernel.modules[name] = true
	if name == "br_netfilter" && fresh {
		o.kernel.modules["bridge"] = true
		for _, k := range bridgeKeys {
			o.kernel.values[k] = "1"
		}
	}
	o.kernel.mu.Unlock()
	if name == "br_netfilter" && fresh {
		for _, k := range bridgeKeys {
			o.sysctlFile(k)
		}
	}
	return true
}

// loadModules loads what /etc/modules-load.d names, as the boot does.
func (o *OS) loadModules() {
	_ = o.root().RemoveAll("/proc/sys/net/bridge")
	for line := range o.confLines("/etc/modules-load.d", "/etc/modules") {
		o.modprobe(line)
	}
}

func (o *OS) loadSysctl() {
	for line := range o.confLines("/etc/sysctl.d", "/etc/sysctl.conf") {
		k, v, ok := strings.Cut(line, "=")
		if ok {
			o.kernel.set(strings.ReplaceAll(strings.TrimSpace(k), "/", "."), strings.TrimSpace(v))
		}
	}
}

// confLines yields the lines of a configuration file and of the *.conf in a directory, without comments.
func (o *OS) confLines(dir, file string) func(func(string) bool) {
	return func(yield func(string) bool) {
		names := []string{}
		l, _ := o.root().ReadDir(dir)
		for _, e := range l {
			if strings.HasSuffix(e.Name(), ".conf") {
				names = append(names, dir+"/"+e.Name())
			}
		}
		for _, n := range append(names, file) {
			b, err := o.root().ReadFile(n)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(b)) {
				line = strings.TrimSpace(line)
				if line != "" && line[0] != '#' && line[0] != ';' && !yield(line) {
					return
				}
			}
		}
	}
}

func (o *OS) modprobeCmd(_ context.Context, p *process.Proc) int {
	status := 0
	for _, name := range p.Args[1:] {
		if needRoot(p) {
			return p.Errorf("modprobe: ERROR: could not insert '%s': Operation not permitted\n", name)
		}
		if !o.modprobe(name) {
			status = p.Errorf(
				"modprobe: FATAL: Module %s not found in directory /lib/modules/5.15.0-107-generic\n", name,
			)
		}
	}
	return status
}

// swapoff has nothing to do: the machines have no swap.
func swapoff(_ context.Context, p *process.Proc) int {
	if needRoot(p) || len(p.Args) != 2 || p.Args[1] != "-a" {
		return p.Errorf("swapoff: -a is simulated, as root\n")
	}
	return 0
}

// sysctl shows settings, sets them with -w, and with -p takes them from files.
func (o *OS) sysctl(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "qnwp", "quiet=q", "write=w", "load=p")
	if !ok {
		return 1
	}
	status := 0
	for _, n := range f.Args {
		lines := []string{n}
		if f.Has("p") {
			b, err := p.ReadFile(n)
			if err != nil {
				p.Errorf("sysctl: cannot open \"%s\": %s\n", n, process.Reason(err))
				return 255
			}
			lines = strings.Split(strings.TrimSpace(string(b)), "\n")
		}
		for _, l := range lines {
			if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
				status = max(status, o.oneSetting(p, f, l))
			}
		}
	}
	return status
}

func (o *OS) oneSetting(p *process.Proc, f *process.Flags, line string) int {
	key, value, set := strings.Cut(line, "=")
	key = strings.TrimSpace(key)
	old, known := o.kernel.get(key)
	switch {
	case !known:
		p.Errorf("sysctl: cannot stat %s: No such file or directory\n", sysctlPath(key))
		return 255
	case set && needRoot(p):
		p.Errorf("sysctl: permission denied on key \"%s\"\n", key)
		return 255
	case set:
		old = strings.TrimSpace(value)
		o.kernel.set(key, old)
	}
	switch {
	case f.Has("q"):
	case f.Has("n"):
		p.Printf("%s\n", old)
	default:
		p.Printf("%s = %s\n", key, old)
	}
	return 0
}
