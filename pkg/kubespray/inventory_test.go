package kubespray_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/gybe-nfv/gybe/pkg/kubespray"
)

func hosts(role string, n int) []kubespray.Host {
	var out []kubespray.Host
	for i := range n {
		out = append(out, kubespray.Host{
			Name: fmt.Sprintf("%s%d", role, 20-i), Address: fmt.Sprintf("192.168.10.%d", 20-i),
			IP: fmt.Sprintf("10.10.0.%d", 20-i), User: "ubuntu", Password: "it's {{ odd }}: #1",
		})
	}
	return out
}

// The order of masters decides which one has the cluster, so it has to survive.
func TestInventoryKeepsTheOrderOfMasters(t *testing.T) {
	t.Parallel()
	for masters, members := range map[int]int{1: 1, 2: 1, 3: 3, 4: 3, 5: 5} {
		raw, err := kubespray.Inventory{
			Masters: hosts("master", masters), Workers: hosts("worker", 2), KnownHosts: "/k/inventory/c/known_hosts",
		}.YAML()
		require.NoError(t, err)
		var file struct {
			All struct {
				Hosts    map[string]map[string]any `yaml:"hosts"`
				Children map[string]struct {
					Hosts    yaml.Node      `yaml:"hosts"`
					Children map[string]any `yaml:"children"`
				} `yaml:"children"`
			} `yaml:"all"`
		}
		require.NoError(t, yaml.Unmarshal(raw, &file), "%s", raw)
		list := func(group string) []string {
			n := file.All.Children[group].Hosts
			var out []string
			for i := 0; i < len(n.Content); i += 2 {
				out = append(out, n.Content[i].Value)
			}
			return out
		}
		var want []string
		for i := range masters {
			want = append(want, fmt.Sprintf("master%d", 20-i))
		}
		require.Equal(t, want, list("kube_control_plane"))
		require.Equal(t, want[:members], list("etcd"))
		require.ElementsMatch(t, []string{"worker20", "worker19"}, list("kube_node"))
		require.Contains(t, file.All.Children["k8s_cluster"].Children, "kube_node")
		require.Contains(t, file.All.Children, "calico_rr")
		h := file.All.Hosts["master20"]
		require.Equal(t, "192.168.10.20", h["ansible_host"])
		require.Equal(t, "10.10.0.20", h["ip"])
		require.Equal(t, "it's {{ odd }}: #1", h["ansible_password"])
		require.Contains(t, string(raw), "ansible_password: !unsafe 'it''s {{ odd }}: #1'")
		require.NotContains(t, h, "ansible_port")
		require.NotContains(t, h, "ansible_ssh_common_args", "it comes after ssh_args of Kubespray's ansible.cfg")
	}
}

// ansibleConfig is what the ansible.cfg of Kubespray 2.16 says of connections.
const ansibleConfig = `[ssh_connection]
pipelining=True
ssh_args = -o ControlMaster=auto -o ControlPersist=30m -o ConnectionAttempts=100 -o UserKnownHostsFile=/dev/null
[defaults]
host_key_checking=False
`

// ssh takes the first value of an option, so the order in which the real Ansible puts them decides which keys count.
func TestAnsibleChecksTheKeysOfMachines(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"ansible", "ansible-inventory", "ssh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
	machines := hosts("master", 1)
	machines[0].Address, machines[0].Port = "127.0.0.1", 1 // no machine answers there
	raw, err := kubespray.Inventory{Masters: machines, KnownHosts: "/k/inventory/c/known_hosts"}.YAML()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), raw, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ansible.cfg"), []byte(ansibleConfig), 0o600))
	run := func(program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"-i", "hosts.yaml"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "ANSIBLE_HOST_KEY_CHECKING=True", "ANSIBLE_CONFIG="+dir+"/ansible.cfg",
			"ANSIBLE_LOCAL_TEMP="+dir+"/tmp", "ANSIBLE_SSH_CONTROL_PATH_DIR="+dir+"/cp")
		out, err := cmd.CombinedOutput()
		if program != "ansible" {
			require.NoError(t, err, "%s", out)
		}
		return string(out)
	}
	require.Contains(t, run("ansible-inventory", "--host", "master20"), `"it's {{ odd }}: #1"`)

	machines[0].Password, machines[0].KeyFile = "", "/k/key" // a password needs sshpass
	raw, err = kubespray.Inventory{Masters: machines, KnownHosts: "/k/inventory/c/known_hosts"}.YAML()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), raw, 0o600))
	out := run("ansible", "-vvv", "-m", "ping", "master20")
	_, command, ok := strings.Cut(out, "SSH: EXEC ssh ")
	require.True(t, ok, out)
	command, _, _ = strings.Cut(command, "\n")
	first := func(option string) string {
		for word := range strings.FieldsSeq(command) {
			if value, ok := strings.CutPrefix(word, option+"="); ok {
				return value
			}
		}
		return ""
	}
	require.Equal(t, "/k/inventory/c/known_hosts", first("UserKnownHostsFile"), command)
	require.Equal(t, "accept-new", first("StrictHostKeyChecking"), command)
}

func TestSettingsReplaceThoseOfTheSample(t *testing.T) {
	t.Parallel()
	s := kubespray.Settings{
		PodCIDR: "192.168.0.0/16", ServiceCIDR: "10.199.187.0/24", MTU: 1450, HTTPProxy: "http://u:p@h:1",
		HTTPSProxy: "https://h:2", CertificateNames: []string{"10.10.0.9"},
	}
	all, err := s.All()
	require.NoError(t, err)
	require.YAMLEq(t, "http_proxy: http://u:p@h:1\nhttps_proxy: https://h:2\n", string(all))
	cluster, err := s.Cluster()
	require.NoError(t, err)
	require.YAMLEq(t, `{kube_pods_subnet: 192.168.0.0/16, kube_service_addresses: 10.199.187.0/24, calico_mtu: 1450,
		calico_veth_mtu: 1430, supplementary_addresses_in_ssl_keys: [10.10.0.9]}`, string(cluster))
	none, err := kubespray.Settings{}.Cluster()
	require.NoError(t, err)
	require.YAMLEq(t, "{}", string(none))
}

const output = `
TASK [etcd : Check that it answers] *******************
fatal: [master11]: FAILED! => {"changed": false, "msg": "no answer"}
...ignoring
TASK [download : Get the list of packages] ************
fatal: [worker21]: FAILED! => {"attempts": 4, "msg": "Failed to update apt cache:\n unknown reason"}
fatal: [worker22]: UNREACHABLE! => {"msg": "Failed to connect to the host via ssh", "unreachable": true}
failed: [worker23] (item=kubelet) => {"rc": 1}

PLAY RECAP *********************************************************************
localhost                  : ok=4    changed=0    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0
master11                   : ok=553  changed=100  unreachable=0    failed=0    skipped=1    rescued=0    ignored=1
worker21                   : ok=300  changed=50   unreachable=0    failed=1    skipped=0    rescued=0    ignored=0
worker22                   : ok=2    changed=0    unreachable=1    failed=0    skipped=0    rescued=0    ignored=0

Monday 06 September 2021  01:02:03 +0000 (0:00:00.052)       0:21:16.313 ******
`

func TestRecapNamesTheTaskThatFailed(t *testing.T) {
	t.Parallel()
	got := kubespray.Recap([]byte(output))
	require.Len(t, got, 4)
	require.True(t, got[0].Good())
	require.True(t, got[1].Good())
	require.Empty(t, got[1].Cause, "an ignored failure is none")
	require.Equal(t, "ok=553 changed=100 unreachable=0 failed=0 skipped=1 rescued=0 ignored=1", got[1].Counts)
	require.Equal(t,
		"worker21: task download : Get the list of packages: Failed to update apt cache: unknown reason",
		got[2].String())
	require.Contains(t, got[3].String(), "Failed to connect to the host via ssh")
	require.Empty(t, kubespray.Recap([]byte("PLAY [all] ***\nok: [x]\n")))
}

func FuzzRecap(f *testing.F) {
	f.Add([]byte(output))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, r := range kubespray.Recap(raw) {
			require.NotEmpty(t, r.Host)
			require.LessOrEqual(t, len(r.Cause), 600)
		}
	})
}

const haproxy = `global
    maxconn 100

frontend kubernetes-apiserver
    bind *:8383
    default_backend kubernetes-apiserver

backend kubernetes-apiserver
    mode tcp
    server  master11 10.10.0.11:6443 check

backend kubernetes-nodeport
    mode tcp
    server  worker21 10.10.0.21

frontend default_web
    bind *:30080
    default_backend kubernetes-nodeport
`

func TestBalanceKeepsTheRest(t *testing.T) {
	t.Parallel()
	masters := []kubespray.Server{{"master12", "10.10.0.12"}}
	workers := []kubespray.Server{{"worker21", "10.10.0.21"}, {"worker22", "10.10.0.22"}}
	got, err := kubespray.Balance([]byte(haproxy), masters, workers)
	require.NoError(t, err)
	require.Contains(t, string(got),
		"    mode tcp\n    server  master12 10.10.0.12:6443 check\n\nbackend kubernetes-nodeport")
	require.Contains(t, string(got),
		"    server  worker22 10.10.0.22\n\nfrontend default_web\n    bind *:30080\n")
	require.NotContains(t, string(got), "master11")
	again, err := kubespray.Balance(got, masters, workers)
	require.NoError(t, err)
	require.Equal(t, string(got), string(again))
	back, err := kubespray.Balance(got, []kubespray.Server{{"master11", "10.10.0.11"}}, slices.Clone(workers[:1]))
	require.NoError(t, err)
	require.Equal(t, haproxy, string(back))
	_, err = kubespray.Balance([]byte("global\n"), masters, workers)
	require.ErrorContains(t, err, "backend kubernetes-apiserver")
}
