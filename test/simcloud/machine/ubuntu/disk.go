package ubuntu

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

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
	if slices.Contains(p.Args, "-a") {
		o.mountAll()
		return 0
	}
	if len(args) == 1 {
		e, ok := o.fstab(args[0])
		if !ok {
			p.Errorf("mount: %s: can't find in /etc/fstab.\n", args[0])
			return 32
		}
		args, kind = []string{e.dev, e.dir}, e.kind
	}
	if id, ok := strings.CutPrefix(args[0], "UUID="); ok {
		if args[0] = o.byUUID(id); args[0] == "" {
			p.Errorf("mount: %s: can't find UUID=%s.\n", args[1], id)
			return 32
		}
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
		if o.disks[i].Volume.fs == "" {
			p.Errorf("mount: %s: wrong fs type, bad option, bad superblock on %s, missing codepage or helper program, or other error.\n", args[1], args[0])
			return 32
		}
	}
	o.mounts = append(o.mounts, mount{args[0], args[1], kind})
	return 0
}

// fstab finds the entry of a device or directory in /etc/fstab.
func (o *OS) fstab(name string) (mount, bool) {
	for _, m := range o.fstabs() {
		if m.dir == name || m.dev == name {
			return m, true
		}
	}
	return mount{}, false
}

func (o *OS) fstabs() []mount {
	b, _ := o.root().ReadFile("/etc/fstab")
	var out []mount
	for l := range strings.Lines(string(b)) {
		if f := strings.Fields(l); len(f) > 2 && !strings.HasPrefix(f[0], "#") {
			out = append(out, mount{f[0], f[1], f[2]})
		}
	}
	return out
}

// byUUID is the disk whose file system has that UUID, "" when there is none.
func (o *OS) byUUID(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.disks {
		if d.Volume.uuid == id && id != "" {
			return d.Device
		}
	}
	return ""
}

// mountAll mounts what /etc/fstab names by UUID and is not mounted, as the boot does.
func (o *OS) mountAll() {
	for _, m := range o.fstabs() {
		id, ok := strings.CutPrefix(m.dev, "UUID=")
		if !ok {
			continue
		}
		if m.dev = o.byUUID(id); m.dev == "" {
			continue
		}
		o.mu.Lock()
		if !slices.ContainsFunc(o.mounts, func(x mount) bool { return x.dir == m.dir }) {
			o.mounts = append(o.mounts, m)
		}
		o.mu.Unlock()
	}
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
			if i := slices.Index(p.Args, "SOURCE"); i > 0 {
				p.Printf("%s\n", m.dev)
				return 0
			}
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
	if !strings.HasPrefix(d.Device, "/") {
		d.Device = "/dev/" + d.Device // requests may name the disk without its folder
	}
	o.mu.Lock()
	if d.Volume == nil {
		d.Volume = &Volume{}
	}
	o.disks = append(slices.DeleteFunc(o.disks, func(x Disk) bool { return x.Device == d.Device }), d)
	o.mu.Unlock()
	o.Sys.FS.Block(d.Device)
	if name := d.byID(); name != "" {
		_ = o.root().MkdirAll(path.Dir(name), 0o755)
		_ = o.root().Symlink("../../"+path.Base(d.Device), name)
	}
}

// byID is the link by which guests find a disk of KVM: its serial number is cut to 20 characters.
func (d Disk) byID() string {
	if d.Volume.ID == "" {
		return ""
	}
	return "/dev/disk/by-id/virtio-" + d.Volume.ID[:min(20, len(d.Volume.ID))]
}

// DetachDisk takes a block device away.
func (o *OS) DetachDisk(device string) {
	if !strings.HasPrefix(device, "/") {
		device = "/dev/" + device
	}
	var links []string
	o.mu.Lock()
	o.disks = slices.DeleteFunc(o.disks, func(d Disk) bool {
		if d.Device == device {
			links = append(links, d.byID())
		}
		return d.Device == device
	})
	o.mu.Unlock()
	for _, name := range append(links, device) {
		_ = o.root().Remove(name)
	}
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
		if d.Volume.fs == "" && d.Volume.table == "" || len(p.Args) > 1 && !slices.Contains(p.Args, d.Device) {
			continue
		}
		if i := slices.Index(p.Args, "-s"); i > 0 && slices.Contains(p.Args, "value") {
			status = 0 // something is known of it, if not this
			if v := map[string]string{"TYPE": d.Volume.fs, "UUID": d.Volume.uuid, "PTTYPE": d.Volume.table}[p.Args[i+1]]; v != "" {
				p.Printf("%s\n", v)
			}
			continue
		}
		if d.Volume.table != "" {
			p.Printf("%s: PTTYPE=\"%s\"\n", d.Device, d.Volume.table)
		} else {
			p.Printf("%s: UUID=\"%s\" TYPE=\"%s\"\n", d.Device, d.Volume.uuid, d.Volume.fs)
		}
		status = 0
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
			v := o.disks[i].Volume
			v.fs, v.uuid, v.table = kind, uuid.NewString(), ""
			p.Printf("Creating filesystem with 262144 4k blocks and 65536 inodes\nWriting superblocks and filesystem accounting information: done\n")
			return 0
		}
	}
	return p.Errorf("The file %s does not exist and no size was specified.\n", p.Args[len(p.Args)-1])
}

// parted knows how to write a partition table: parted -s DEVICE mklabel gpt.
func (o *OS) parted(_ context.Context, p *process.Proc) int {
	at := slices.Index(p.Args, "mklabel")
	if needRoot(p) || at < 2 || at+1 >= len(p.Args) {
		return p.Errorf("Error: this parted knows -s DEVICE mklabel KIND as root\n")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.disks {
		if d.Device == p.Args[at-1] {
			d.Volume.fs, d.Volume.uuid, d.Volume.table = "", "", p.Args[at+1]
			return 0
		}
	}
	return p.Errorf("Error: Could not stat device %s - No such file or directory.\n", p.Args[at-1])
}

func (o *OS) nfsExports(_ context.Context, p *process.Proc) int {
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
