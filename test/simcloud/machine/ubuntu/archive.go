package ubuntu

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// pkg is one package of a simulated archive.
type pkg struct {
	name     string
	versions []string // newest first
	files    []string // programs: a name, or an absolute path whose base is the program
	depends  []string
	units    map[string]string
	conf     map[string]string // written if absent
	start    bool              // its units are enabled and started at installation, as Debian does
}

// latest are the newest patches of the Kubernetes minors that the archive holds.
var latest = map[string]int{
	"1.28": 15, "1.29": 15, "1.30": 14, "1.31": 14, "1.32": 10, "1.33": 6, "1.34": 3, "1.35": 4, "1.36": 4, "1.37": 2,
}

const kubeletUnit = "[Unit]\nDescription=kubelet: The Kubernetes Node Agent\n" +
	"Documentation=https://kubernetes.io/docs/\nStartLimitIntervalSec=0\n" +
	"[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\nRestartSec=10" + installable

const kubeadmDropIn = "[Service]\nEnvironment=\"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/" +
	"bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf\"\n" +
	"Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n" +
	"EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nEnvironmentFile=-/etc/default/kubelet\n" +
	"ExecStart=\nExecStart=/usr/bin/kubelet " +
	"$KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n"

const containerdUnit = "[Unit]\nDescription=containerd container runtime\n[Service]\n" +
	"ExecStartPre=-/sbin/modprobe overlay\nExecStart=/usr/bin/containerd\nType=notify\n" +
	"Restart=always\nRestartSec=5" + installable

const haproxyUnit = "[Unit]\nDescription=HAProxy Load Balancer\n[Service]\nEnvironmentFile=-/etc/default/haproxy\n" +
	"Environment=\"CONFIG=/etc/haproxy/haproxy.cfg\"\n" +
	"ExecStartPre=/usr/sbin/haproxy -Ws -f $CONFIG -c -q\nExecStart=/usr/sbin/haproxy -Ws -f $CONFIG\n" +
	"ExecReload=/usr/sbin/haproxy -Ws -f $CONFIG -c -q\n" +
	"ExecReload=/bin/kill -USR2 $MAINPID\nRestart=always\nType=notify" + installable

const haproxyConf = "global\n\tlog /dev/log\tlocal0\n\tchroot /var/lib/haproxy\n" +
	"\tstats socket /run/haproxy/admin.sock mode 660 level admin\n\tuser haproxy\n\tgroup haproxy\n\tdaemon\n\n" +
	"defaults\n\tlog\tglobal\n\tmode\thttp\n\toption\thttplog\n\ttimeout connect 5000\n\ttimeout client  50000\n" +
	"\ttimeout server  50000\n"

const keepalivedUnit = "[Unit]\nDescription=Keepalive Daemon (LVS and VRRP)\n" +
	"ConditionFileNotEmpty=/etc/keepalived/keepalived.conf\n[Service]\nType=notify\n" +
	"ExecStart=/usr/sbin/keepalived --dont-fork\nExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure" + installable

const oneshotUnit = "[Unit]\nDescription=%s\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/true\n" +
	"ExecReload=/usr/bin/true" + installable

// ubuntuArchive is what the distribution's own archive holds.
var ubuntuArchive = index(
	pkg{
		name: "containerd", versions: []string{"1.7.12-0ubuntu2~22.04.1", "1.5.9-0ubuntu3"},
		files: []string{"containerd"}, depends: []string{"runc"},
		units: map[string]string{"containerd": containerdUnit}, start: true,
	},
	pkg{name: "runc", versions: []string{"1.1.12-0ubuntu2~22.04.1"}},
	pkg{
		name: "haproxy", versions: []string{"2.4.24-0ubuntu0.22.04.1"}, files: []string{"/usr/sbin/haproxy"},
		units: map[string]string{"haproxy": haproxyUnit},
		conf: map[string]string{
			"/etc/haproxy/haproxy.cfg": haproxyConf, "/etc/default/haproxy": "# Defaults file for HAProxy\n",
		},
		start: true,
	},
	pkg{
		name: "keepalived", versions: []string{"1:2.2.4-0.2build1"}, files: []string{"/usr/sbin/keepalived"},
		units: map[string]string{"keepalived": keepalivedUnit},
		conf:  map[string]string{"/etc/default/keepalived": "DAEMON_ARGS=\"\"\n"}, start: true,
	},
	pkg{name: "conntrack", versions: []string{"1:1.4.6-2build2"}, files: []string{"/usr/sbin/conntrack"}},
	pkg{name: "socat", versions: []string{"1.7.4.1-3ubuntu4"}, files: []string{"socat"}},
	pkg{name: "nfs-common", versions: []string{"1:2.6.1-1ubuntu1.2"}},
	pkg{
		name: "nfs-kernel-server", versions: []string{"1:2.6.1-1ubuntu1.2"}, files: []string{"/usr/sbin/exportfs"},
		depends: []string{"nfs-common"},
		units: map[string]string{
			"nfs-server":        fmt.Sprintf(oneshotUnit, "NFS server and services"),
			"nfs-kernel-server": fmt.Sprintf(oneshotUnit, "NFS server and services"),
		},
		conf: map[string]string{
			"/etc/exports": "# /etc/exports: the access control list for filesystems which may be exported\n",
		},
		start: true,
	},
)

func index(l ...pkg) map[string]pkg {
	m := map[string]pkg{}
	for _, p := range l {
		m[p.name] = p
	}
	return m
}

// kubernetesArchive is the pkgs.k8s.io repository of one minor; nil if it does not exist.
func kubernetesArchive(minor string) map[string]pkg {
	n, ok := latest[minor]
	if !ok {
		return nil
	}
	var vs []string
	for i := n; i >= 0; i-- {
		vs = append(vs, fmt.Sprintf("%s.%d-1.1", minor, i))
	}
	return index(
		pkg{
			name: "kubelet", versions: vs, files: []string{"kubelet"},
			depends: []string{"kubernetes-cni", "conntrack", "socat"}, units: map[string]string{"kubelet": kubeletUnit},
			conf: map[string]string{"/etc/default/kubelet": "KUBELET_EXTRA_ARGS=\n"}, start: true,
		},
		pkg{
			name: "kubeadm", versions: vs, files: []string{"kubeadm"}, depends: []string{"cri-tools"},
			conf: map[string]string{"/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf": kubeadmDropIn},
		},
		pkg{name: "kubectl", versions: vs, files: []string{"kubectl"}},
		pkg{name: "cri-tools", versions: []string{minor + ".0-1.1"}},
		pkg{name: "kubernetes-cni", versions: []string{"1.7.1-1.1"}},
	)
}

// source is one line of sources.list.
type source struct {
	url, suite string
	signedBy   string
	trusted    bool
}

// sources reads /etc/apt/sources.list and sources.list.d.
func (o *OS) sources() []source {
	v := o.root()
	names := []string{"/etc/apt/sources.list"}
	l, _ := v.ReadDir("/etc/apt/sources.list.d")
	for _, e := range l {
		names = append(names, "/etc/apt/sources.list.d/"+e.Name())
	}
	var out []source
	for _, n := range names {
		b, err := v.ReadFile(n)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if s, ok := parseSource(line); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

func parseSource(line string) (source, bool) {
	line, _, _ = strings.Cut(line, "#")
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
	if !ok {
		return source{}, false
	}
	var s source
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "[") {
		opts, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return source{}, false
		}
		for opt := range strings.FieldsSeq(opts) {
			k, v, _ := strings.Cut(opt, "=")
			switch k {
			case "signed-by":
				s.signedBy = v
			case "trusted":
				s.trusted = v == "yes"
			}
		}
		rest = after
	}
	f := strings.Fields(rest)
	if len(f) < 2 {
		return source{}, false
	}
	s.url, s.suite = strings.TrimSuffix(f[0], "/"), f[1]
	return s, true
}

// archive is what a source offers; known is false if there is no such host, and the map nil if the host has no such
// repository.
func (s source) archive() (pkgs map[string]pkg, known bool) {
	host, path := hostPath(s.url)
	switch {
	case strings.HasSuffix(host, "ubuntu.com"):
		return ubuntuArchive, true
	case host == "pkgs.k8s.io":
		minor := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path, "/core:/stable:/v"), "/deb"), "v")
		if !strings.HasPrefix(path, "/core:/stable:/v") || !strings.HasSuffix(strings.TrimSuffix(path, "/"), "/deb") {
			return nil, true
		}
		return kubernetesArchive(minor), true
	}
	return nil, false
}

func hostPath(url string) (host, path string) {
	_, rest, _ := strings.Cut(url, "://")
	host, path, _ = strings.Cut(rest, "/")
	return host, "/" + path
}

// candidates are the packages of a name in the indexes that were fetched, with the source they come from.
func (o *OS) candidates(name string) []candidate {
	o.mu.Lock()
	lists := maps.Clone(o.lists)
	o.mu.Unlock()
	var out []candidate
	for _, s := range o.sources() {
		pkgs, _ := s.archive()
		if p, ok := pkgs[name]; ok && lists[s.url+" "+s.suite] {
			for _, v := range p.versions {
				if !slices.ContainsFunc(out, func(c candidate) bool { return c.version == v }) {
					out = append(out, candidate{p, v, s})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int { return -compareVersions(a.version, b.version) })
	return out
}

type candidate struct {
	pkg     pkg
	version string
	src     source
}

var number = regexp.MustCompile(`[0-9]+`)

// compareVersions orders the versions of one package by the numbers in them, well enough for the archive above.
func compareVersions(a, b string) int {
	return slices.CompareFunc(number.FindAllString(a, -1), number.FindAllString(b, -1), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}

// Installed is the version of an installed package, "" if it is not installed.
func (o *OS) Installed(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pkgs[name]
}

// unpack puts a package onto the disk.
func (o *OS) unpack(c candidate) {
	v := o.root()
	for _, f := range c.pkg.files {
		o.AddFile(f)
	}
	for name, text := range c.pkg.units {
		_ = v.WriteFile("/usr/lib/systemd/system/"+name+".service", []byte(text), 0o644)
	}
	for name, text := range c.pkg.conf {
		if _, err := v.Stat(name); err != nil {
			_ = v.MkdirAll(path.Dir(name), 0o755)
			_ = v.WriteFile(name, []byte(text), 0o644)
		}
	}
	for name := range c.pkg.units {
		o.loadUnit(name)
	}
	o.loadUnit("kubelet")
	o.mu.Lock()
	o.pkgs[c.pkg.name] = c.version
	o.mu.Unlock()
}

// LatestKubernetes is the newest patch version of a minor ("1.34" → "1.34.3"), "" if there is none.
func LatestKubernetes(minor string) string {
	n, ok := latest[minor]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s.%d", minor, n)
}
