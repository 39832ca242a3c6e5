package machine_test

import (
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// Who needs programs: files, and directories whose files count.
const (
	packages  = "vnf-packages"                          // the scripts of the sample packages
	nodes     = "pkg/k8scluster"                        // the driver of clusters and its scripts
	balancers = "pkg/nodeport"                          // the driver of load balancers
	jobs      = "pkg/remote"                            // commands and detached jobs over SSH
	older     = "test/e2e/testdata/older_install.sh"    // a package's script in the style of older VNFMs
	units     = "test/simcloud/machine/ubuntu"          // services of the simulated machine
	faults    = "test/e2e"                              // what tests do to machines
	checks    = "test/simcloud/machine/fleet_test.go"   // how a machine looks to those who log in
	sessions  = "test/simcloud/machine/session_test.go" //
	disks     = "test/simcloud/machine/disk_test.go"    //
	clusters  = "test/simcloud/machine/cluster_test.go" //
)

// users records who needs each program of a simulated machine.
var users = map[string]string{
	"ansible-playbook": nodes,
	"apt-cache":        packages, "apt-get": packages, "apt-mark": packages, "arch": checks, "awk": packages,
	"base64": packages, "bash": jobs, "blkid": nodes,
	"cat": packages, "chmod": packages, "chown": packages, "cilium": packages, "cloud-init": packages, "cmp": packages,
	"conntrack":  packages,
	"containerd": packages, "cp": nodes, "curl": packages, "cut": packages, "date": packages, "dd": nodes,
	"dirname": packages, "dpkg": packages,
	"dpkg-query": packages, "env": checks, "exportfs": nodes, "findmnt": nodes, "flock": jobs, "getent": packages,
	"gpg": packages, "grep": nodes, "haproxy": packages, "head": clusters, "hostname": packages,
	"hostnamectl": packages, "id": packages, "install": packages, "ip": packages, "journalctl": packages,
	"keepalived": packages, "kill": jobs, "kubeadm": packages, "kubectl": packages, "kubelet": packages, "ls": checks,
	"mkdir": jobs, "mkfs.ext4": nodes, "mktemp": packages, "modprobe": packages, "mount": nodes, "mountpoint": nodes,
	"mv": jobs, "openssl": packages, "parted": disks, "pgrep": packages, "pkill": "test/simcloud/machine/kube",
	"printenv": checks, "pwd": checks, "readlink": nodes, "reboot": checks, "rm": jobs, "sed": packages, "seq": nodes,
	"setsid": jobs, "sh": checks, "sha256sum": packages, "sleep": jobs, "socat": packages, "ss": balancers,
	"sshd": units, "stat": jobs,
	"sudo": jobs, "swapoff": packages, "sysctl": packages, "systemctl": packages, "tail": nodes, "tar": packages,
	"tee": packages, "test": nodes, "timeout": packages, "touch": packages, "tr": packages, "true": jobs,
	"tty": sessions, "uname": packages, "wc": packages, "whoami": checks,
}

// TestProgramsHaveUsers keeps the simulated machine as small as it can be: a program that nothing needs any more goes.
func TestProgramsHaveUsers(t *testing.T) {
	t.Parallel()
	at, f := subnet(t), newFleet(t, machine.Options{})
	require.NoError(t, f.Boot(t.Context(), machine.Spec{ID: "a", Name: "a", FixedIPs: []netip.Addr{at(5)}}))
	have := f.Machine("a").Programs()
	texts := map[string]string{}
	for _, name := range have {
		user, ok := users[name]
		if !ok {
			t.Errorf("%s: nothing is recorded to need it", name)
			continue
		}
		if _, ok := texts[user]; !ok {
			texts[user] = textsBelow(t, user)
		}
		called := regexp.MustCompile(`(^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(name) + `($|[^A-Za-z0-9_=-])`)
		if !called.MatchString(texts[user]) {
			t.Errorf("%s: %s does not mention it any more", name, user)
		}
	}
	for name := range users {
		require.Contains(t, have, name, "there is no such program")
	}
}

// textsBelow is the text of a file, or of the scripts and the Go files in a directory, below the root of the
// repository.
func textsBelow(t *testing.T, name string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Join("../../..", name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "users_test.go" ||
			filepath.Ext(path) != ".sh" && filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	require.NoError(t, err)
	return b.String()
}
