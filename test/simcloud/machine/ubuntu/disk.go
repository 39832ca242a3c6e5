package ubuntu

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

type mount struct{ dev, dir string }

func (o *OS) mounted() []mount {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.mounts)
}

// mount mounts what /etc/fstab names for a directory.
func (o *OS) mount(_ context.Context, p *process.Proc) int {
	fail := func(format string, a ...any) int {
		p.Errorf("mount: "+format+"\n", a...)
		return 32
	}
	if needRoot(p) || len(p.Args) != 2 {
		return fail("a directory of /etc/fstab is simulated, as root")
	}
	m, ok := o.fstab(p.Args[1])
	if !ok {
		return fail("%s: can't find in /etc/fstab.", p.Args[1])
	}
	if id, ok := strings.CutPrefix(m.dev, "UUID="); ok {
		if m.dev = o.byUUID(id); m.dev == "" {
			return fail("%s: can't find UUID=%s.", m.dir, id)
		}
	}
	if i, err := p.FS().Stat(m.dir); err != nil || !i.IsDir() {
		return fail("%s: mount point does not exist.", m.dir)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.disks, func(d Disk) bool { return d.Device == m.dev })
	if i < 0 {
		return fail("%s: special device %s does not exist.", m.dir, m.dev)
	}
	if o.disks[i].Volume.get().fs == "" {
		return fail(
			"%s: wrong fs type, bad option, bad superblock on %s, missing codepage or helper program, or other error.",
			m.dir, m.dev,
		)
	}
	o.mounts = append(o.mounts, m)
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
			out = append(out, mount{f[0], f[1]})
		}
	}
	return out
}

// byUUID is the disk whose file system has that UUID, "" when there is none.
func (o *OS) byUUID(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.disks {
		if id != "" && d.Volume.get().uuid == id {
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

// findmnt prints the device that is mounted at a directory.
func (o *OS) findmnt(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "no:")
	if !ok || f.Val("o") != "SOURCE" || len(f.Args) != 1 {
		return p.Errorf("findmnt: -n -o SOURCE DIRECTORY is simulated\n")
	}
	for _, m := range o.mounted() {
		if m.dir == f.Args[0] {
			p.Printf("%s\n", m.dev)
			return 0
		}
	}
	return 1
}

func (o *OS) mountpoint(_ context.Context, p *process.Proc) int {
	name := p.Args[len(p.Args)-1]
	is := slices.ContainsFunc(o.mounted(), func(m mount) bool { return m.dir == path.Clean(name) })
	if !slices.Contains(p.Args, "-q") {
		p.Printf("%s is %sa mountpoint\n", name, map[bool]string{false: "not "}[is])
	}
	return 32 * b2i(!is)
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

// blkid prints one value of a disk: blkid -p -o value -s TYPE DEVICE.
func (o *OS) blkid(_ context.Context, p *process.Proc) int {
	f, ok := p.Options(false, "po:s:")
	if !ok || f.Val("o") != "value" || len(f.Args) != 1 {
		return p.Errorf("blkid: -p -o value -s NAME DEVICE is simulated\n")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.disks {
		b := d.Volume.get()
		if d.Device != f.Args[0] || b.fs == "" && b.table == "" {
			continue
		}
		if v := map[string]string{"TYPE": b.fs, "UUID": b.uuid, "PTTYPE": b.table}[f.Val("s")]; v != "" {
			p.Printf("%s\n", v)
		}
		return 0
	}
	return 2
}

// mkfs is mkfs.ext4 -q DEVICE.
func (o *OS) mkfs(_ context.Context, p *process.Proc) int {
	device := p.Args[len(p.Args)-1]
	if needRoot(p) {
		return p.Errorf("Could not open %s: Permission denied\n", device)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.disks {
		if d.Device == device {
			d.Volume.set(blocks{fs: "ext4", uuid: uuid.NewString()})
			return 0
		}
	}
	return p.Errorf("The file %s does not exist and no size was specified.\n", device)
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
			d.Volume.set(blocks{table: p.Args[at+1]})
			return 0
		}
	}
	return p.Errorf("Error: Could not stat device %s - No such file or directory.\n", p.Args[at-1])
}

func (o *OS) nfsExports(_ context.Context, p *process.Proc) int {
	b, _ := o.root().ReadFile("/etc/exports")
	if slices.Contains(p.Args, "-ra") {
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
