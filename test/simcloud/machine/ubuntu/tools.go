package ubuntu

import (
	"context"
	"slices"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/shell"
)

// builtin adds the programs of the cloud image beyond the ordinary ones.
func (o *OS) builtin() {
	o.Add(map[string]process.Program{
		"bash": shell.Bash, "sh": shell.Sh,
		"systemctl": o.systemctl, "journalctl": o.journalctl, "hostnamectl": o.hostnamectl,
		"apt-get": o.aptGet, "apt-cache": o.aptCache, "apt-mark": o.aptMark, "dpkg": o.runDpkg,
		"dpkg-query": o.dpkgQuery, "modprobe": o.modprobeCmd, "sysctl": o.sysctl, "swapoff": swapoff,
		"ip": o.ip, "ss": o.ss,
		"curl": o.curl, "gpg": gpg, "openssl": openssl, "mount": o.mount, "findmnt": o.findmnt,
		"mountpoint": o.mountpoint, "blkid": o.blkid, "parted": o.parted, "mkfs.ext4": o.mkfs,
		"cloud-init": o.cloudInit,
		"reboot":     func(_ context.Context, p *process.Proc) int { return o.power(p, "reboot") },
	})
}

// packaged are the programs that come with packages.
func (o *OS) packaged() {
	nop := func(context.Context, *process.Proc) int { return 0 }
	o.Add(map[string]process.Program{"exportfs": o.nfsExports, "conntrack": nop, "socat": nop})
}

// Interface is the name of the machine's network interface, as a virtio device gets it.
const Interface = "ens3"

const nic = Interface

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
