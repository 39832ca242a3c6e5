package k8scluster

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// storage is storage_server: the machine whose volumes the nodes mount over NFS.
type storage struct {
	login
	volumes []mountPoint
	exports []export
}

type mountPoint struct {
	volume string // name of the volume's resource
	dir    string
}

type export struct {
	dir, network string
}

// volumeManifest is an entry of pv_registration_params.
type volumeManifest struct {
	file string // in the package
	cp   string // resource whose address is the NFS server's
}

var (
	dirText     = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)
	networkText = regexp.MustCompile(`^[A-Za-z0-9*][A-Za-z0-9.*:/_-]*$`)
)

// systemDirs are not allowed as mount points: a volume there would hide the system.
var systemDirs = []string{
	"bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var", "home",
}

// list returns the objects of a member that is a list; an empty list is missing.
func (g group) list(member string, required bool) []group {
	v, ok := g.m[member]
	items, isList := v.([]any)
	switch {
	case ok && v != nil && !isList:
		g.fail(member, fmt.Sprintf("%s %s is not a list.", g.name, member))
	case required && len(items) == 0:
		g.missing(member)
	}
	var out []group
	for i, item := range items {
		sub := group{r: g.r, name: member, pointer: fmt.Sprintf("%s/%s/%d", g.pointer, member, i)}
		m, ok := item.(map[string]any)
		if !ok {
			sub.fail("", member+" is not a list of objects.")
			continue
		}
		sub.m = m
		out = append(out, sub)
	}
	return out
}

// dir returns a directory that may be written to a file of lines.
func (g group) dir(member string) string {
	s := g.must(member)
	if s != "" && (!dirText.MatchString(s) || path.Clean(s) != s) {
		g.fail(member, fmt.Sprintf(
			"%s %s %q is not an absolute path of letters, digits, '.', '_' and '-'.", g.name, member, s,
		))
	}
	return s
}

// storage reads storage_server.
func (g group) storage(f *vnfd.Flavour) *storage {
	s := &storage{}
	if _, ok := g.m["nic_cp_name"]; !ok { // the parameter came later
		m := map[string]any{"nic_cp_name": g.m["ssh_cp_name"]}
		maps.Copy(m, g.m)
		s.login = group{r: g.r, name: g.name, pointer: g.pointer, m: m}.login(f)
	} else {
		s.login = g.login(f)
	}
	for _, v := range g.list("cinder_volume_setup_params", true) {
		m := mountPoint{volume: v.must("volume_resource_id"), dir: v.dir("mount_to")}
		if first, rest, _ := strings.Cut(strings.TrimPrefix(m.dir, "/"), "/"); slices.Contains(systemDirs, first) &&
			(rest == "" || !slices.Contains([]string{"var", "home"}, first)) {
			v.fail("mount_to", fmt.Sprintf("%s mount_to %s belongs to the system.", v.name, m.dir))
		}
		if slices.ContainsFunc(s.volumes, func(o mountPoint) bool { return o.dir == m.dir || o.volume == m.volume }) {
			v.fail("", v.name+" names a volume or a directory twice.")
		}
		s.volumes = append(s.volumes, m)
	}
	for _, e := range g.list("nfs_server_setup_params", true) {
		x := export{dir: e.dir("export_dir"), network: e.must("export_to")}
		if x.network != "" && !networkText.MatchString(x.network) {
			e.fail(
				"export_to", fmt.Sprintf("%s export_to %q is not a network such as 10.10.0.0/24.", e.name, x.network),
			)
		}
		if slices.Contains(s.exports, x) {
			e.fail("", e.name+" names an export twice.")
		}
		s.exports = append(s.exports, x)
	}
	return s
}

// manifests reads pv_registration_params.
func (g group) manifests() []volumeManifest {
	var out []volumeManifest
	for _, m := range g.list("pv_registration_params", false) {
		out = append(out, volumeManifest{
			file: strings.TrimPrefix(m.must("pv_manifest_file_path"), "./"), cp: m.must("nfs_server_cp"),
		})
	}
	return out
}

const roleStorage = "storage"

// lines are the exports for the script.
func (s *storage) lines() string {
	var b strings.Builder
	for _, e := range s.exports {
		fmt.Fprintf(&b, "%s %s\n", e.dir, e.network)
	}
	return b.String()
}
