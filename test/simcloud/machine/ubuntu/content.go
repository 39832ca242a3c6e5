package ubuntu

import (
	"maps"
	"path"
	"strings"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/memfs"
)

// Content is what was on a root disk at one moment. It does not change: a machine that starts from it gets a copy.
type Content struct {
	files *memfs.FS
	pkgs  map[string]string
	held  map[string]bool
	lists map[string]bool
}

// Content copies the root disk as it is now, as a snapshot of a running machine does.
func (o *OS) Content() *Content {
	o.mu.Lock()
	defer o.mu.Unlock()
	return &Content{
		files: o.Sys.FS.Clone(), pkgs: maps.Clone(o.pkgs), held: maps.Clone(o.held), lists: maps.Clone(o.lists),
	}
}

// unitDirs are where packages and administrators put unit files.
var unitDirs = []string{"/usr/lib/systemd/system", "/etc/systemd/system"}

// load makes the root disk a copy of another one. The next Boot starts the units that are enabled on it.
func (o *OS) load(c *Content) {
	o.Sys.FS = c.files.Clone()
	o.pkgs, o.held, o.lists = maps.Clone(c.pkgs), maps.Clone(c.held), maps.Clone(c.lists)
	_ = o.root().RemoveAll("/dev/disk") // the links to the disks of the other machine
	o.devices()
	o.builtin()
	o.packaged()
	o.proc()
	for _, dir := range unitDirs {
		entries, _ := o.root().ReadDir(dir)
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".service"); ok {
				o.loadUnit(name)
			}
		}
	}
}

// Begin does what cloud-init does first at a boot, with the id and the name of the server. It says whether the disk has
// not run on that server yet: then the host name is set, unless the disk keeps its own (preserve_hostname), the key is
// added, and the user data is for it. A server that is rebuilt keeps its id, so the disk of a snapshot knows it.
func (o *OS) Begin(id, hostname, user, publicKey string) bool {
	v := o.root()
	const known = "/var/lib/cloud/data/instance-id"
	if b, _ := v.ReadFile(known); strings.TrimSpace(string(b)) == id {
		return false
	}
	_ = v.MkdirAll(path.Dir(known), 0o755)
	_ = v.WriteFile(known, []byte(id+"\n"), 0o644)
	if !o.preservesHostname() {
		o.Sys.SetHostname(hostname)
		_ = v.WriteFile("/etc/hostname", []byte(hostname+"\n"), 0o644)
	}
	if a, ok := o.Sys.Account(user); ok && publicKey != "" {
		keys := a.Home + "/.ssh/authorized_keys"
		if b, _ := v.ReadFile(keys); !strings.Contains(string(b), strings.TrimSpace(publicKey)) {
			o.appendTo(keys, strings.TrimSpace(publicKey)+"\n")
		}
	}
	return true
}

// preservesHostname looks into the settings of cloud-init.
func (o *OS) preservesHostname() bool {
	const dir = "/etc/cloud/cloud.cfg.d"
	entries, _ := o.root().ReadDir(dir)
	for _, e := range entries {
		b, _ := o.root().ReadFile(dir + "/" + e.Name())
		for l := range strings.Lines(string(b)) {
			if strings.TrimSpace(l) == "preserve_hostname: true" {
				return true
			}
		}
	}
	return false
}
