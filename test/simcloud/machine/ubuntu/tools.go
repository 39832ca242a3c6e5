package ubuntu

import (
	"context"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
)

// baseImage are the programs of the cloud image beyond the ordinary ones.
var baseImage = []string{
	"bash", "sh", "dash", "rbash", "systemctl", "service", "journalctl", "hostnamectl", "apt-get", "apt", "apt-cache", "apt-mark", "apt-key",
	"dpkg", "dpkg-query", "add-apt-repository", "modprobe", "lsmod", "depmod", "sysctl", "swapoff", "swapon", "ip", "curl", "wget", "gpg", "openssl",
	"lsb_release", "update-alternatives", "mount", "umount", "findmnt", "mountpoint", "lsblk", "blkid", "parted", "mkfs", "mkfs.ext4", "mkfs.xfs", "cloud-init",
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
		"apt-get": o.aptGet, "apt": o.aptGet, "apt-cache": o.aptCache, "apt-mark": o.aptMark, "apt-key": o.aptKey, "dpkg": o.runDpkg, "dpkg-query": o.dpkgQuery,
		"add-apt-repository": o.addAptRepository, "modprobe": o.modprobeCmd, "lsmod": o.lsmod, "sysctl": o.sysctl, "swapoff": o.swapoff, "swapon": o.swapon,
		"ip": o.ip, "curl": o.curl, "wget": o.wget, "gpg": gpg, "openssl": openssl, "lsb_release": lsbRelease, "mount": o.mount, "umount": o.umount,
		"findmnt": o.findmnt, "mountpoint": o.mountpoint, "lsblk": o.lsblk, "blkid": o.blkid, "parted": o.parted, "mkfs": o.mkfs, "mkfs.ext4": o.mkfs, "mkfs.xfs": o.mkfs,
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
		"ss": o.ss, "netstat": o.ss, "nc": o.nc, "ping": o.ping, "dmesg": nop, "logger": nop, "host": o.ping, "conntrack": nop,
		"exportfs":  o.nfsExports,
		"showmount": o.nfsExports,
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

func lsbRelease(_ context.Context, p *process.Proc) int {
	flags := strings.ReplaceAll(strings.Join(p.Args[1:], ""), "-", "")
	what, short := strings.ReplaceAll(flags, "s", ""), strings.Contains(flags, "s")
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
