package ubuntu

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/coreutils"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

const osRelease = `PRETTY_NAME="Ubuntu 22.04.4 LTS"
NAME="Ubuntu"
VERSION_ID="22.04"
VERSION="22.04.4 LTS (Jammy Jellyfish)"
VERSION_CODENAME=jammy
ID=ubuntu
ID_LIKE=debian
HOME_URL="https://www.ubuntu.com/"
SUPPORT_URL="https://help.ubuntu.com/"
BUG_REPORT_URL="https://bugs.launchpad.net/ubuntu/"
UBUNTU_CODENAME=jammy
`

const bashrc = `# ~/.bashrc
case $- in
    *i*) ;;
      *) return;;
esac
`

// sbin are the programs that live in /usr/sbin rather than /usr/bin.
var sbin = map[string]bool{
	"modprobe": true, "sysctl": true, "swapoff": true, "mkfs.ext4": true, "blkid": true, "parted": true, "reboot": true,
	"sshd": true,
}

// image fills the disk with what a cloud image has after cloud-init's first boot.
func (o *OS) image(user, publicKey string) {
	v, f := o.root(), o.Sys.FS
	for _, d := range []string{
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local/bin", "/usr/local/sbin", "/usr/local/libexec",
		"/usr/local/lib", "/usr/share/keyrings", "/etc/apt/sources.list.d", "/etc/apt/keyrings",
		"/etc/apt/trusted.gpg.d", "/etc/apt/apt.conf.d", "/etc/default", "/etc/modules-load.d", "/etc/sysctl.d",
		"/etc/systemd/system", "/usr/lib/systemd/system", "/etc/ssh/sshd_config.d", "/etc/sudoers.d",
		"/etc/cloud/cloud.cfg.d", "/etc/ssl/certs", "/etc/profile.d", "/etc/netplan", "/home", "/root", "/tmp", "/run",
		"/var/log", "/var/lib/dpkg", "/var/lib/apt/lists", "/var/lib/cloud/instance", "/var/tmp", "/var/cache/apt",
		"/opt", "/srv", "/mnt", "/media", "/proc", "/sys/fs/cgroup", "/dev/fd", "/dev/shm", "/boot",
		"/usr/local/share/ca-certificates", "/etc/cron.d",
	} {
		_ = v.MkdirAll(d, 0o755)
	}
	for _, d := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		_ = v.Chmod(d, fs.ModeSticky|0o777)
	}
	_ = v.Chmod("/root", 0o700)
	for name, to := range map[string]string{
		"/bin": "usr/bin", "/sbin": "usr/sbin", "/lib": "usr/lib",
		"/var/run": "/run", "/var/lock": "/run/lock", "/etc/os-release": "../usr/lib/os-release",
	} {
		_ = v.Symlink(to, name)
	}
	for name, kind := range map[string]string{
		"/dev/null": "null", "/dev/zero": "zero", "/dev/full": "full",
		"/dev/urandom": "urandom", "/dev/random": "urandom", "/dev/tty": "null", "/dev/log": "null",
		"/dev/kmsg": "null",
	} {
		f.Device(name, kind)
	}
	f.Block("/dev/vda")
	f.Block("/dev/vda1")
	home := "/home/" + user
	put := func(name, text string, mode fs.FileMode) { _ = v.WriteFile(name, []byte(text), mode) }
	put("/usr/lib/os-release", osRelease, 0o644)
	put("/etc/lsb-release",
		"DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\nDISTRIB_CODENAME=jammy\n"+
			"DISTRIB_DESCRIPTION=\"Ubuntu 22.04.4 LTS\"\n",
		0o644)
	put("/etc/debian_version", "bookworm/sid\n", 0o644)
	put("/etc/issue", "Ubuntu 22.04.4 LTS \\n \\l\n", 0o644)
	put("/etc/hostname", o.host+"\n", 0o644)
	put("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 "+o.host+
		"\n\n# The following lines are desirable for IPv6 capable hosts\n::1 ip6-localhost ip6-loopback\n", 0o644)
	put("/etc/fstab",
		"LABEL=cloudimg-rootfs\t/\t ext4\tdiscard,errors=remount-ro\t0 1\n"+
			"LABEL=UEFI\t/boot/efi\tvfat\tumask=0077\t0 1\n",
		0o644)
	put("/etc/passwd",
		fmt.Sprintf("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"+
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"+
			"_apt:x:100:65534::/nonexistent:/usr/sbin/nologin\nsshd:x:106:65534::/run/sshd:/usr/sbin/nologin\n"+
			"haproxy:x:115:120::/var/lib/haproxy:/usr/sbin/nologin\n%s:x:1000:1000:Ubuntu:%s:/bin/bash\n", user, home),
		0o644)
	put("/etc/group", fmt.Sprintf(
		"root:x:0:\ndaemon:x:1:\nadm:x:4:syslog,%s\nsudo:x:27:%s\nsystemd-journal:x:101:\nhaproxy:x:120:\n"+
			"nogroup:x:65534:\n%s:x:1000:\n",
		user, user, user,
	), 0o644)
	put("/etc/sudoers", "root ALL=(ALL:ALL) ALL\n%sudo ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n", 0o440)
	put("/etc/sudoers.d/90-cloud-init-users", user+" ALL=(ALL) NOPASSWD:ALL\n", 0o440)
	put("/etc/ssh/sshd_config",
		"Include /etc/ssh/sshd_config.d/*.conf\nKbdInteractiveAuthentication no\nUsePAM yes\n"+
			"Subsystem sftp /usr/lib/openssh/sftp-server\n",
		0o644)
	put("/etc/profile",
		"if [ -d /etc/profile.d "+
			"]; then for i in /etc/profile.d/*.sh; do if [ -r $i ]; then . $i; fi; done; unset i; fi\n",
		0o644)
	put("/etc/resolv.conf", "nameserver 127.0.0.53\noptions edns0 trust-ad\nsearch openstacklocal\n", 0o644)
	put("/etc/systemd/resolved.conf", "[Resolve]\n#DNS=\n", 0o644)
	put("/etc/cloud/cloud.cfg", "users:\n   - default\ndisable_root: true\npreserve_hostname: false\n", 0o644)
	put("/etc/nsswitch.conf", "passwd: files systemd\ngroup: files systemd\nhosts: files dns\n", 0o644)
	put("/etc/ssl/certs/ca-certificates.crt", "", 0o644)
	put("/etc/timezone", "Etc/UTC\n", 0o644)
	put("/etc/sysctl.conf", "# /etc/sysctl.conf\n", 0o644)
	put("/etc/apt/sources.list",
		"deb http://nova.clouds.archive.ubuntu.com/ubuntu/ jammy main restricted universe multiverse\n"+
			"deb http://nova.clouds.archive.ubuntu.com/ubuntu/ jammy-updates main restricted universe multiverse\n"+
			"deb http://security.ubuntu.com/ubuntu jammy-security main restricted universe multiverse\n", 0o644)
	put("/var/lib/dpkg/lock-frontend", "", 0o640)
	put("/var/lib/dpkg/lock", "", 0o640)
	put("/usr/share/keyrings/ubuntu-archive-keyring.gpg", "ubuntu archive", 0o644)
	put("/var/lib/cloud/instance/boot-finished", "2 - cloud-init finished\n", 0o644)
	put("/root/.bashrc", bashrc, 0o644)
	put("/root/.profile", "mesg n 2> /dev/null || true\n", 0o644)

	owner := memfs.Cred{UID: 1000, GID: 1000}
	_ = v.MkdirAll(home+"/.ssh", 0o700)
	put(home+"/.bashrc", bashrc, 0o644)
	put(home+"/.profile", "if [ -d \"$HOME/bin\" ]; then PATH=\"$HOME/bin:$PATH\"; fi\n", 0o644)
	put(home+"/.ssh/authorized_keys", strings.TrimSpace(publicKey)+"\n", 0o600)
	for _, n := range []string{
		home, home + "/.ssh", home + "/.bashrc", home + "/.profile", home + "/.ssh/authorized_keys",
	} {
		_ = v.Chown(n, owner.UID, owner.GID)
	}
	_ = v.Chmod(home, 0o750)

	o.builtin()
	for _, n := range slices.Concat(
		slices.Collect(maps.Keys(coreutils.Programs)), slices.Collect(maps.Keys(o.programs)), []string{"sshd"},
	) {
		o.AddFile(n)
	}
	o.packaged()
	o.proc()
	for name, text := range baseUnits {
		put("/usr/lib/systemd/system/"+name+".service", text, 0o644)
		o.loadUnit(name)
	}
	for _, n := range []string{"ssh", "systemd-resolved", "cron", "rsyslog"} {
		o.enable(n)
	}
	maps.Copy(o.pkgs, map[string]string{
		"bash": "5.1-6ubuntu1.1", "coreutils": "8.32-4.1ubuntu1.2", "curl": "7.81.0-1ubuntu1.16",
		"ca-certificates": "20230311ubuntu0.22.04.1", "gnupg": "2.2.27-3ubuntu2.1", "gpg": "2.2.27-3ubuntu2.1",
		"openssl": "3.0.2-0ubuntu1.15", "sudo": "1.9.9-1ubuntu2.4", "openssh-server": "1:8.9p1-3ubuntu0.7",
		"apt-transport-https": "2.4.12", "lsb-release": "11.1.0ubuntu4", "iproute2": "5.15.0-1ubuntu2",
		"iptables": "1.8.7-1ubuntu5.2", "wget": "1.21.2-2ubuntu1", "software-properties-common": "0.99.22.9",
		"systemd": "249.11-0ubuntu3.12", "apt": "2.4.12", "dpkg": "1.21.1ubuntu2.3", "procps": "2:3.3.17-6ubuntu2.1",
	})
}

// AddFile puts an executable for a registered program where its package would.
func (o *OS) AddFile(name string) {
	dir := "/usr/bin/"
	if sbin[name] {
		dir = "/usr/sbin/"
	}
	if path.IsAbs(name) {
		dir = ""
	}
	full := dir + name
	_ = o.root().MkdirAll(path.Dir(full), 0o755)
	_ = o.root().Remove(full)
	_ = o.root().WriteFile(full, process.Stub(path.Base(name)), 0o755)
}

// proc makes the computed files of /proc.
func (o *OS) proc() {
	f := o.Sys.FS
	text := func(name string, get func() string) {
		f.Synth(name, 0o444, func() []byte { return []byte(get()) }, nil)
	}
	text("/proc/uptime", func() string { return fmt.Sprintf("%.2f 0.00\n", o.Sys.Uptime().Seconds()) })
	text("/proc/version", func() string {
		return "Linux version " +
			"5.15.0-107-generic (buildd@lcy02-amd64-017) #117-Ubuntu SMP Fri Apr 26 12:26:49 UTC 2024\n"
	})
	text("/proc/loadavg", func() string { return "0.00 0.01 0.05 1/123 4567\n" })
	text("/proc/swaps", func() string {
		var out strings.Builder
		out.WriteString("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
		for _, s := range o.kernel.swaps() {
			out.WriteString(s + "                               file\t\t2097148\t\t0\t\t-2\n")
		}
		return out.String()
	})
	text("/proc/modules", func() string {
		var out strings.Builder
		for _, m := range o.kernel.loaded() {
			out.WriteString(m + " 16384 0 - Live 0x0000000000000000\n")
		}
		return out.String()
	})
	text("/proc/meminfo", func() string {
		kb := max(o.hw.MemoryMB, 512) * 1024
		return fmt.Sprintf(
			"MemTotal:       %8d kB\nMemFree:        %8d kB\nMemAvailable:   %8d kB\nSwapTotal:             0 kB\n", kb,
			kb/2, kb*3/4,
		)
	})
	text("/proc/cpuinfo", func() string {
		var out strings.Builder
		for i := range max(o.hw.VCPUs, 1) {
			_, _ = fmt.Fprintf(
				&out, "processor\t: %d\nmodel name\t: Simulated CPU\nflags\t\t: fpu vme sse sse2 ht syscall nx lm\n\n",
				i,
			)
		}
		return out.String()
	})
	text("/proc/cmdline", func() string {
		return "BOOT_IMAGE=/boot/vmlinuz root=LABEL=cloudimg-rootfs ro console=tty1 console=ttyS0\n"
	})
	text("/proc/mounts", func() string {
		var out strings.Builder
		out.WriteString(
			"/dev/vda1 / ext4 rw,relatime,discard,errors=remount-ro 0 0\ntmpfs /run tmpfs rw,nosuid,nodev 0 0\n" +
				"cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n",
		)
		for _, m := range o.mounted() {
			_, _ = fmt.Fprintf(&out, "%s %s %s rw,relatime 0 0\n", m.dev, m.dir, m.kind)
		}
		return out.String()
	})
	text("/proc/filesystems", func() string { return "nodev\tproc\nnodev\ttmpfs\n\text4\nnodev\toverlay\n" })
	text("/sys/fs/cgroup/cgroup.controllers", func() string { return "cpuset cpu io memory hugetlb pids rdma misc\n" })
	text("/sys/class/dmi/id/product_uuid", func() string {
		return "00000000-0000-0000-0000-" + fmt.Sprintf("%012x", len(o.host)) + "\n"
	})
	for key := range sysctlDefaults {
		o.sysctlFile(key)
	}
}
