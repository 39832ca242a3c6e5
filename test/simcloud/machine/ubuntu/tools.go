package ubuntu

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
)

// baseImage are the programs of the cloud image beyond the ordinary ones.
var baseImage = []string{
	"bash", "sh", "dash", "rbash", "systemctl", "service", "journalctl", "hostnamectl", "apt-get", "apt", "apt-cache", "apt-mark", "apt-key",
	"dpkg", "dpkg-query", "add-apt-repository", "modprobe", "lsmod", "depmod", "sysctl", "swapoff", "swapon", "ip", "curl", "wget", "gpg", "openssl",
	"lsb_release", "update-alternatives", "mount", "umount", "findmnt", "mountpoint", "lsblk", "blkid", "mkfs", "mkfs.ext4", "mkfs.xfs", "cloud-init",
	"timedatectl", "resolvectl", "loginctl", "systemd-detect-virt", "update-ca-certificates", "locale-gen", "reboot", "poweroff", "shutdown", "halt",
	"useradd", "adduser", "usermod", "userdel", "groupadd", "chpasswd", "passwd", "iptables", "iptables-save", "ufw", "ss", "nc", "ping", "sshd", "logger",
	"dmesg", "lscpu", "visudo", "ldconfig", "systemd-analyze", "crontab", "wait-for-it", "busctl", "ssh-keygen", "host", "nslookup", "dig", "man",
	"update-locale", "localectl", "snap", "apt-config", "netplan", "fuser", "lsof", "newgrp", "mesg", "run-parts", "needrestart", "hwclock",
}

func (o *OS) builtin() {
	nop := func(context.Context, *process.Proc) int { return 0 }
	o.Add(map[string]process.Program{
		"bash": shell.Bash, "rbash": shell.Bash, "sh": shell.Sh, "dash": shell.Sh,
		"systemctl": o.systemctl, "service": o.service, "journalctl": o.journalctl, "hostnamectl": o.hostnamectl,
		"apt-get": o.aptGet, "apt": o.aptGet, "apt-cache": o.aptCache, "apt-mark": o.aptMark, "apt-key": o.aptKey, "dpkg": o.dpkg_, "dpkg-query": o.dpkgQuery,
		"add-apt-repository": o.addAptRepository, "modprobe": o.modprobeCmd, "lsmod": o.lsmod, "sysctl": o.sysctl, "swapoff": o.swapoff, "swapon": o.swapon,
		"ip": o.ip, "curl": o.curl, "wget": o.wget, "gpg": gpg, "openssl": openssl, "lsb_release": lsbRelease, "mount": o.mount, "umount": o.umount,
		"findmnt": o.findmnt, "mountpoint": o.mountpoint, "lsblk": o.lsblk, "blkid": o.blkid, "mkfs": o.mkfs, "mkfs.ext4": o.mkfs, "mkfs.xfs": o.mkfs,
		"cloud-init": o.cloudInit, "timedatectl": nop, "resolvectl": nop, "loginctl": nop, "systemd-detect-virt": func(_ context.Context, p *process.Proc) int {
			p.Printf("kvm\n")
			return 0
		},
		"reboot":   func(_ context.Context, p *process.Proc) int { return o.power(p, "reboot") },
		"poweroff": func(_ context.Context, p *process.Proc) int { return o.power(p, "poweroff") },
		"halt":     func(_ context.Context, p *process.Proc) int { return o.power(p, "poweroff") },
		"shutdown": func(_ context.Context, p *process.Proc) int {
			return o.power(p, map[bool]string{true: "reboot", false: "poweroff"}[slices.Contains(p.Args, "-r")])
		},
		"useradd": o.useradd, "adduser": o.useradd, "usermod": o.usermod, "groupadd": o.groupadd, "chpasswd": o.chpasswd, "passwd": nop,
		"ss": o.ss, "netstat": o.ss, "nc": o.nc, "ping": o.ping, "dmesg": nop, "logger": nop, "host": o.ping, "conntrack": nop, "exportfs": o.exportfs,
		"showmount": o.exportfs,
	})
	for _, n := range []string{
		"update-alternatives", "update-ca-certificates", "locale-gen", "iptables", "iptables-save", "ufw", "visudo", "ldconfig", "depmod", "crontab", "wait-for-it", "busctl",
		"ssh-keygen", "userdel", "systemd-analyze", "lscpu", "socat", "ebtables", "ethtool", "ipset", "ipvsadm", "runc", "containerd-shim-runc-v2", "update-locale", "localectl",
		"snap", "apt-config", "netplan", "fuser", "lsof", "newgrp", "mesg", "run-parts", "needrestart", "hwclock", "man", "nslookup", "dig", "mount.nfs", "ifconfig", "loopback", "bridge",
	} {
		o.programs[n] = nop
	}
}

// Interface is the name of the machine's network interface, as a virtio device gets it.
const Interface = "ens3"

const nic = Interface

func (o *OS) ip(_ context.Context, p *process.Proc) int {
	v4, oneLine, brief := false, false, false
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-4":
			v4 = true
		case "-o", "-oneline", "--oneline":
			oneLine = true
		case "-br", "-brief":
			brief = true
		case "-6":
			return 0
		}
		args = args[1:]
	}
	if len(args) == 0 {
		p.Errorf("Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }\n")
		return 255
	}
	switch obj := args[0]; {
	case strings.HasPrefix("address", obj):
		return o.ipAddr(p, args[1:], v4, oneLine, brief)
	case strings.HasPrefix("link", obj):
		if len(args) > 1 && (args[1] == "set" || args[1] == "add" || args[1] == "delete" || args[1] == "del") {
			return 0
		}
		p.Printf("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\n    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n")
		p.Printf("2: %s: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc fq_codel state UP mode DEFAULT group default qlen 1000\n    link/ether %s brd ff:ff:ff:ff:ff:ff\n", nic, o.mac())
	case strings.HasPrefix("route", obj):
		return o.ipRoute(p, args[1:])
	case strings.HasPrefix("neighbour", obj), obj == "rule", obj == "netns":
	default:
		p.Errorf("Object \"%s\" is unknown, try \"ip help\".\n", obj)
		return 255
	}
	return 0
}

func (o *OS) mac() string {
	b := o.Net.Primary().As4()
	return fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", b[1], b[2], b[3])
}

func (o *OS) ipAddr(p *process.Proc, args []string, v4, oneLine, brief bool) int {
	if len(args) > 0 && (args[0] == "add" || args[0] == "del" || args[0] == "delete" || args[0] == "flush" || args[0] == "replace") {
		if needRoot(p) {
			p.Errorf("RTNETLINK answers: Operation not permitted\n")
			return 2
		}
		return 0
	}
	dev := ""
	for i, a := range args {
		if a == "dev" && i+1 < len(args) {
			dev = args[i+1]
		} else if i == len(args)-1 && a != "show" && a != "list" && a != "ls" && a != "up" && (i == 0 || args[i-1] == "show") {
			dev = a
		}
	}
	if dev != "" && dev != nic && dev != "lo" {
		p.Errorf("Device \"%s\" does not exist.\n", dev)
		return 1
	}
	var own []string
	for i, a := range o.Net.Addresses() {
		bits, label := "/24", ""
		if ip, err := netip.ParseAddr(a); err == nil && i > 0 && o.virtual(ip) {
			bits, label = "/32", " secondary"
		}
		own = append(own, a+bits+label)
	}
	show := func(n int, name, flags, link string, addrs []string) {
		if dev != "" && dev != name {
			return
		}
		if brief {
			p.Printf("%-16s %-14s %s \n", name, map[bool]string{true: "UNKNOWN", false: "UP"}[name == "lo"], strings.Join(addrs, " "))
			return
		}
		if !oneLine {
			p.Printf("%d: %s: %s group default qlen 1000\n", n, name, flags)
			if !v4 {
				p.Printf("    %s\n", link)
			}
		}
		for _, a := range addrs {
			cidr, label, _ := strings.Cut(a, " ")
			ip, _, _ := strings.Cut(cidr, "/")
			brd, scope := " brd "+ip[:strings.LastIndexByte(ip, '.')]+".255", "global"
			if name == "lo" {
				brd, scope = "", "host"
			}
			if strings.HasSuffix(cidr, "/32") {
				brd = ""
			}
			if label != "" {
				label = " " + label
			}
			if oneLine {
				p.Printf("%d: %s    inet %s%s scope %s%s %s\\       valid_lft forever preferred_lft forever\n", n, name, cidr, brd, scope, label, name)
			} else {
				p.Printf("    inet %s%s scope %s%s %s\n       valid_lft forever preferred_lft forever\n", cidr, brd, scope, label, name)
			}
		}
	}
	show(1, "lo", "<LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN", "link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00", []string{"127.0.0.1/8"})
	show(2, nic, "<BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc fq_codel state UP", "link/ether "+o.mac()+" brd ff:ff:ff:ff:ff:ff", own)
	return 0
}

func (o *OS) virtual(ip netip.Addr) bool {
	for _, a := range o.Net.Addrs() {
		if a.IP == ip {
			return a.Virtual
		}
	}
	return false
}

func (o *OS) ipRoute(p *process.Proc, args []string) int {
	me := o.Net.Primary()
	gw := "0.0.0.0"
	if me.IsValid() {
		b := me.As4()
		gw = netip.AddrFrom4([4]byte{b[0], b[1], b[2], 1}).String()
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-4" })
	if len(args) > 0 && args[0] == "get" && len(args) > 1 {
		p.Printf("%s via %s dev %s src %s uid %d \n    cache \n", args[1], gw, nic, me, p.Cred.UID)
		return 0
	}
	if len(args) > 0 && (args[0] == "add" || args[0] == "del" || args[0] == "replace") {
		return 0
	}
	p.Printf("default via %s dev %s proto dhcp src %s metric 100 \n", gw, nic, me)
	if !slices.Contains(args, "default") && me.IsValid() {
		p.Printf("%s dev %s proto kernel scope link src %s metric 100 \n", netip.PrefixFrom(me, 24).Masked(), nic, me)
	}
	return 0
}

func (o *OS) ss(_ context.Context, p *process.Proc) int {
	p.Printf("State    Recv-Q   Send-Q     Local Address:Port     Peer Address:Port  Process\n")
	for _, s := range o.Net.Sockets() {
		p.Printf("LISTEN   0        4096       %18s     0.0.0.0:*\n", s)
	}
	return 0
}

// nc tells whether a port accepts connections: nc -z host port.
func (o *OS) nc(ctx context.Context, p *process.Proc) int {
	var args []string
	wait := 5
	for i := 1; i < len(p.Args); i++ {
		a := p.Args[i]
		if a == "-w" || a == "-G" {
			if i++; i < len(p.Args) {
				wait, _ = strconv.Atoi(p.Args[i])
			}
		} else if strings.HasPrefix(a, "-w") {
			wait, _ = strconv.Atoi(a[2:])
		} else if !strings.HasPrefix(a, "-") {
			args = append(args, a)
		}
	}
	if len(args) != 2 {
		return 1
	}
	ctx, cancel := o.Sys.Clock.WithTimeout(ctx, seconds(float64(wait)))
	defer cancel()
	c, err := o.Net.Dial(ctx, args[0]+":"+args[1])
	if err != nil {
		return p.Errorf("nc: connect to %s port %s (tcp) failed: %s\n", args[0], args[1], process.Reason(err))
	}
	_ = c.Close()
	p.Errorf("Connection to %s %s port [tcp/*] succeeded!\n", args[0], args[1])
	return 0
}

func (o *OS) ping(_ context.Context, p *process.Proc) int {
	host := p.Args[len(p.Args)-1]
	ip, err := o.Net.Resolve(host)
	if err != nil {
		p.Errorf("ping: %s: Name or service not known\n", host)
		return 2
	}
	p.Printf("64 bytes from %s: icmp_seq=1 ttl=64 time=0.04 ms\n", ip)
	return 0
}

func lsbRelease(_ context.Context, p *process.Proc) int {
	short, what := false, ""
	for _, a := range p.Args[1:] {
		for _, c := range strings.TrimLeft(a, "-") {
			if c == 's' {
				short = true
			} else {
				what += string(c)
			}
		}
	}
	put := func(key, val string) {
		if short {
			p.Printf("%s\n", val)
		} else {
			p.Printf("%s:\t%s\n", key, val)
		}
	}
	for _, c := range what {
		switch c {
		case 'i':
			put("Distributor ID", "Ubuntu")
		case 'd':
			put("Description", "Ubuntu 22.04.4 LTS")
		case 'r':
			put("Release", "22.04")
		case 'c':
			put("Codename", "jammy")
		case 'a':
			put("Distributor ID", "Ubuntu")
			put("Description", "Ubuntu 22.04.4 LTS")
			put("Release", "22.04")
			put("Codename", "jammy")
		}
	}
	return 0
}

type mount struct{ dev, dir, kind string }

func (o *OS) mounted() []mount {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.mounts)
}

func (o *OS) mount(_ context.Context, p *process.Proc) int {
	var args []string
	kind := "ext4"
	for i := 1; i < len(p.Args); i++ {
		switch a := p.Args[i]; {
		case a == "-t" || a == "-o":
			if i++; a == "-t" && i < len(p.Args) {
				kind = p.Args[i]
			}
		case strings.HasPrefix(a, "-"):
		default:
			args = append(args, a)
		}
	}
	if len(args) == 0 {
		for _, m := range o.mounted() {
			p.Printf("%s on %s type %s (rw,relatime)\n", m.dev, m.dir, m.kind)
		}
		return 0
	}
	if needRoot(p) {
		p.Errorf("mount: %s: must be superuser to use mount.\n", args[len(args)-1])
		return 32
	}
	if len(args) == 1 {
		return 0
	}
	if i, err := p.FS().Stat(p.Abs(args[1])); err != nil || !i.IsDir() {
		p.Errorf("mount: %s: mount point does not exist.\n", args[1])
		return 32
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.HasPrefix(args[0], "/dev/") && kind != "tmpfs" {
		i := slices.IndexFunc(o.disks, func(d Disk) bool { return d.Device == args[0] })
		if i < 0 {
			p.Errorf("mount: %s: special device %s does not exist.\n", args[1], args[0])
			return 32
		}
		if o.disks[i].fs == "" {
			p.Errorf("mount: %s: wrong fs type, bad option, bad superblock on %s, missing codepage or helper program, or other error.\n", args[1], args[0])
			return 32
		}
	}
	o.mounts = append(o.mounts, mount{args[0], args[1], kind})
	return 0
}

func (o *OS) umount(_ context.Context, p *process.Proc) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := p.Args[len(p.Args)-1]
	n := len(o.mounts)
	o.mounts = slices.DeleteFunc(o.mounts, func(m mount) bool { return m.dir == name || m.dev == name })
	if len(o.mounts) == n {
		p.Errorf("umount: %s: not mounted.\n", name)
		return 32
	}
	return 0
}

func (o *OS) findmnt(_ context.Context, p *process.Proc) int {
	name := p.Args[len(p.Args)-1]
	for _, m := range append(o.mounted(), mount{"/dev/vda1", "/", "ext4"}) {
		if m.dir == name || m.dev == name || len(p.Args) == 1 {
			p.Printf("%s %s %s rw,relatime\n", m.dir, m.dev, m.kind)
			return 0
		}
	}
	return 1
}

func (o *OS) mountpoint(_ context.Context, p *process.Proc) int {
	name := p.Args[len(p.Args)-1]
	quiet := slices.Contains(p.Args, "-q")
	for _, m := range append(o.mounted(), mount{"/dev/vda1", "/", "ext4"}) {
		if m.dir == path.Clean(name) {
			if !quiet {
				p.Printf("%s is a mountpoint\n", name)
			}
			return 0
		}
	}
	if !quiet {
		p.Printf("%s is not a mountpoint\n", name)
	}
	return 32
}

// AttachDisk makes a volume appear as a block device.
func (o *OS) AttachDisk(d Disk) {
	o.mu.Lock()
	o.disks = append(slices.DeleteFunc(o.disks, func(x Disk) bool { return x.Device == d.Device }), d)
	o.mu.Unlock()
	o.Sys.FS.Block(d.Device)
}

// DetachDisk takes a block device away.
func (o *OS) DetachDisk(device string) {
	o.mu.Lock()
	o.disks = slices.DeleteFunc(o.disks, func(d Disk) bool { return d.Device == device })
	o.mu.Unlock()
	_ = o.root().Remove(device)
}

func (o *OS) lsblk(_ context.Context, p *process.Proc) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	plain := slices.Contains(p.Args, "-n") || slices.ContainsFunc(p.Args, func(a string) bool {
		return strings.HasPrefix(a, "-") && strings.Contains(a, "n") && !strings.HasPrefix(a, "--")
	})
	if !plain {
		p.Printf("NAME   MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n")
	}
	p.Printf("vda    252:0    0  %dG  0 disk \n└─vda1 252:1    0  %dG  0 part /\n", max(o.hw.DiskGB, 1), max(o.hw.DiskGB, 1))
	for i, d := range o.disks {
		at := ""
		for _, m := range o.mounts {
			if m.dev == d.Device {
				at = m.dir
			}
		}
		p.Printf("%-6s 252:%d    0  %dG  0 disk %s\n", path.Base(d.Device), 16*(i+1), d.SizeGB, at)
	}
	return 0
}

func (o *OS) blkid(_ context.Context, p *process.Proc) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	status := 2
	for _, d := range o.disks {
		if (len(p.Args) == 1 || slices.Contains(p.Args, d.Device)) && d.fs != "" {
			p.Printf("%s: TYPE=\"%s\"\n", d.Device, d.fs)
			status = 0
		}
	}
	return status
}

func (o *OS) mkfs(_ context.Context, p *process.Proc) int {
	if needRoot(p) {
		return p.Errorf("Could not open: Permission denied\n")
	}
	kind := "ext4"
	if _, k, ok := strings.Cut(p.Name(), "."); ok {
		kind = k
	}
	for i, a := range p.Args {
		if a == "-t" && i+1 < len(p.Args) {
			kind = p.Args[i+1]
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.disks {
		if slices.Contains(p.Args, o.disks[i].Device) {
			o.disks[i].fs = kind
			p.Printf("Creating filesystem with 262144 4k blocks and 65536 inodes\nWriting superblocks and filesystem accounting information: done\n")
			return 0
		}
	}
	return p.Errorf("The file %s does not exist and no size was specified.\n", p.Args[len(p.Args)-1])
}

func (o *OS) exportfs(_ context.Context, p *process.Proc) int {
	b, _ := o.root().ReadFile("/etc/exports")
	if slices.Contains(p.Args, "-ra") || slices.Contains(p.Args, "-r") {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 1 && f[0][0] == '/' {
			host, _, _ := strings.Cut(f[1], "(")
			p.Printf("%s\t%s\n", f[0], host)
		}
	}
	return 0
}

func (o *OS) cloudInit(ctx context.Context, p *process.Proc) int {
	if len(p.Args) > 1 && p.Args[1] == "status" {
		done := func() bool { _, err := o.root().Stat("/var/lib/cloud/instance/boot-finished"); return err == nil }
		if slices.Contains(p.Args, "--wait") {
			for !done() {
				if o.Sys.Clock.Sleep(ctx, seconds(0.2)) != nil {
					return 1
				}
			}
			p.Printf("\n")
		}
		p.Printf("status: %s\n", map[bool]string{true: "done", false: "running"}[done()])
	}
	return 0
}

func (o *OS) useradd(_ context.Context, p *process.Proc) int {
	if needRoot(p) {
		return p.Errorf("%s: Permission denied.\n", p.Name())
	}
	name, home, sh := p.Args[len(p.Args)-1], "", "/bin/bash"
	if _, ok := o.Sys.Account(name); ok {
		p.Errorf("%s: user '%s' already exists\n", p.Name(), name)
		return 9
	}
	for i, a := range p.Args {
		if (a == "-d" || a == "--home") && i+1 < len(p.Args) {
			home = p.Args[i+1]
		}
		if (a == "-s" || a == "--shell") && i+1 < len(p.Args) {
			sh = p.Args[i+1]
		}
	}
	if home == "" {
		home = "/home/" + name
	}
	id := 1001
	for {
		if _, ok := o.Sys.Account(strconv.Itoa(id)); !ok {
			break
		}
		id++
	}
	o.appendTo("/etc/passwd", fmt.Sprintf("%s:x:%d:%d::%s:%s\n", name, id, id, home, sh))
	o.appendTo("/etc/group", fmt.Sprintf("%s:x:%d:\n", name, id))
	_ = o.root().MkdirAll(home, 0o750)
	_ = o.root().Chown(home, id, id)
	return 0
}

func (o *OS) appendTo(name, text string) {
	old, _ := o.root().ReadFile(name)
	_ = o.root().WriteFile(name, append(old, text...), 0o644)
}

func (o *OS) usermod(_ context.Context, p *process.Proc) int {
	for i, a := range p.Args {
		if (a == "-aG" || a == "-G") && i+2 < len(p.Args) {
			user := p.Args[len(p.Args)-1]
			for g := range strings.SplitSeq(p.Args[i+1], ",") {
				b, _ := o.root().ReadFile("/etc/group")
				var out strings.Builder
				for l := range strings.Lines(string(b)) {
					if f := strings.Split(strings.TrimSpace(l), ":"); len(f) == 4 && f[0] == g {
						l = strings.Join(f[:3], ":") + ":" + strings.Trim(f[3]+","+user, ",") + "\n"
					}
					out.WriteString(l)
				}
				_ = o.root().WriteFile("/etc/group", []byte(out.String()), 0o644)
			}
		}
	}
	return 0
}

func (o *OS) groupadd(_ context.Context, p *process.Proc) int {
	name := p.Args[len(p.Args)-1]
	if _, ok := o.Sys.Group(name); !ok {
		o.appendTo("/etc/group", name+":x:1500:\n")
	}
	return 0
}

// chpasswd takes "user:password" lines; the SSH server asks Password.
func (o *OS) chpasswd(_ context.Context, p *process.Proc) int {
	if needRoot(p) {
		return p.Errorf("chpasswd: Permission denied.\n")
	}
	b, err := p.ReadFile("-")
	if err != nil {
		return 1
	}
	for l := range strings.Lines(string(b)) {
		if user, pw, ok := strings.Cut(strings.TrimSuffix(l, "\n"), ":"); ok {
			o.SetPassword(user, pw)
		}
	}
	return 0
}

// shadow holds the passwords as they are: nothing in here is a secret.
const shadow = "/etc/shadow"

// SetPassword changes a user's password.
func (o *OS) SetPassword(user, password string) {
	b, _ := o.root().ReadFile(shadow)
	var out strings.Builder
	for l := range strings.Lines(string(b)) {
		if !strings.HasPrefix(l, user+":") {
			out.WriteString(l)
		}
	}
	out.WriteString(user + ":" + password + "\n")
	_ = o.root().WriteFile(shadow, []byte(out.String()), 0o640)
}

// Password is a user's password; ok is false for a user without one.
func (o *OS) Password(user string) (string, bool) {
	b, _ := o.root().ReadFile(shadow)
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), user+":"); ok {
			return rest, true
		}
	}
	return "", false
}
