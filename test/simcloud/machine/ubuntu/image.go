package ubuntu

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/coreutils"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// imageFiles are the files of the cloud image that every user may read.
var imageFiles = map[string]string{
	"/usr/lib/os-release": "PRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\n" +
		"VERSION=\"22.04.4 LTS (Jammy Jellyfish)\"\nVERSION_CODENAME=jammy\nID=ubuntu\nID_LIKE=debian\n",
	"/etc/fstab": "LABEL=cloudimg-rootfs\t/\t ext4\tdiscard,errors=remount-ro\t0 1\n" +
		"LABEL=UEFI\t/boot/efi\tvfat\tumask=0077\t0 1\n",
	"/etc/cloud/cloud.cfg": "users:\n   - default\ndisable_root: true\npreserve_hostname: false\n",
	"/etc/apt/sources.list": "" +
		"deb http://nova.clouds.archive.ubuntu.com/ubuntu/ jammy main restricted universe multiverse\n" +
		"deb http://nova.clouds.archive.ubuntu.com/ubuntu/ jammy-updates main restricted universe multiverse\n" +
		"deb http://security.ubuntu.com/ubuntu jammy-security main restricted universe multiverse\n",
	"/var/lib/cloud/instance/boot-finished": "2 - cloud-init finished\n",
}

// sbin are the programs that live in /usr/sbin rather than /usr/bin.
var sbin = map[string]bool{
	"modprobe": true, "sysctl": true, "swapoff": true, "mkfs.ext4": true, "blkid": true, "parted": true, "reboot": true,
	"sshd": true,
}

// image fills the disk with what a cloud image has after cloud-init's first boot.
func (o *OS) image(user, publicKey string) {
	v := o.root()
	for _, d := range []string{
		"/usr/bin", "/usr/sbin", "/usr/lib/systemd/system", "/usr/local/bin", "/usr/local/sbin", "/usr/local/libexec",
		"/usr/local/lib", "/usr/share/keyrings", "/etc/apt/sources.list.d", "/etc/apt/keyrings",
		"/etc/apt/trusted.gpg.d", "/etc/apt/apt.conf.d", "/etc/default", "/etc/modules-load.d", "/etc/sysctl.d",
		"/etc/systemd/system", "/etc/ssh", "/etc/cloud/cloud.cfg.d", "/home", "/root", "/tmp", "/run", "/var/log",
		"/var/lib/cloud/instance", "/var/tmp", "/opt", "/srv", "/mnt", "/proc", "/dev/shm",
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
	o.devices()
	home := "/home/" + user
	put := func(name, text string, mode fs.FileMode) { _ = v.WriteFile(name, []byte(text), mode) }
	for name, text := range imageFiles {
		put(name, text, 0o644)
	}
	put("/etc/hostname", o.host+"\n", 0o644)
	put("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 "+o.host+"\n\n::1 ip6-localhost ip6-loopback\n", 0o644)
	put("/etc/passwd",
		fmt.Sprintf("root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"+
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"+
			"haproxy:x:115:120::/var/lib/haproxy:/usr/sbin/nologin\n%s:x:1000:1000:Ubuntu:%s:/bin/bash\n", user, home),
		0o644)
	put("/etc/group",
		fmt.Sprintf("root:x:0:\ndaemon:x:1:\nadm:x:4:syslog,%s\nsudo:x:27:%s\nhaproxy:x:120:\nnogroup:x:65534:\n"+
			"%s:x:1000:\n", user, user, user),
		0o644)
	_ = v.MkdirAll(home+"/.ssh", 0o700)
	put(home+"/.ssh/authorized_keys", strings.TrimSpace(publicKey)+"\n", 0o600)
	for _, n := range []string{home, home + "/.ssh", home + "/.ssh/authorized_keys"} {
		_ = v.Chown(n, 1000, 1000)
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
	_ = o.root().WriteFile(full, process.Executable(path.Base(name)), 0o755)
}

// devices makes the device nodes that every machine has.
func (o *OS) devices() {
	for name, kind := range map[string]string{
		"/dev/null": "null", "/dev/zero": "zero", "/dev/urandom": "urandom", "/dev/tty": "null", "/dev/log": "null",
	} {
		o.Sys.FS.Device(name, kind)
	}
	o.Sys.FS.Block("/dev/vda")
}

// proc makes the computed files of /proc.
func (o *OS) proc() {
	f := o.Sys.FS
	text := func(name string, get func() string) {
		f.Synth(name, 0o444, func() []byte { return []byte(get()) }, nil)
	}
	text("/proc/swaps", func() string { return "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n" })
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
	for key := range sysctlDefaults {
		o.sysctlFile(key)
	}
}
