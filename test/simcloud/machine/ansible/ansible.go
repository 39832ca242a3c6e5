// Package ansible plays ansible-playbook on a simulated machine. It reads an inventory in the layout of Kubespray, logs
// in to the machines over SSH with the credentials of the inventory, and makes of them what the playbooks of Kubespray
// make: nodes of a cluster, installed by the script of the sample package of clusters. It writes a PLAY RECAP.
package ansible

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// Playbook is the program ansible-playbook with what the nodes are installed by.
type Playbook struct {
	// Script is the folder with install_k8s_cluster.sh and its library.
	Script fs.FS
}

// host is a machine of the inventory.
type host struct {
	name    string
	Address string `yaml:"ansible_host"`
	IP      string `yaml:"ip"`
	Port    int    `yaml:"ansible_port"`
	User    string `yaml:"ansible_user"`
	Secret  string `yaml:"ansible_password"`

	client              *ssh.Client
	ok, changed         int
	failed, unreachable int
}

// run is one run of a playbook.
type run struct {
	p                *process.Proc
	script           fs.FS
	hosts            map[string]*host
	masters, workers []*host
	etcd             []*host
	limit            []string
	vars             map[string]string
	settings         struct {
		Pods     string   `yaml:"kube_pods_subnet"`
		Services string   `yaml:"kube_service_addresses"`
		Names    []string `yaml:"supplementary_addresses_in_ssl_keys"`
	}
}

// Program runs a playbook of Kubespray: cluster.yml, facts.yml, scale.yml or remove-node.yml.
func (b Playbook) Program(ctx context.Context, p *process.Proc) int {
	r := &run{p: p, script: b.Script, hosts: map[string]*host{}, vars: map[string]string{}}
	inventory, playbook := "", ""
	args := p.Args[1:]
	for len(args) > 0 {
		word, rest := args[0], args[1:]
		value := ""
		if slices.Contains([]string{"-i", "-e", "--limit"}, word) && len(rest) > 0 {
			value, rest = rest[0], rest[1:]
		}
		switch {
		case word == "-i":
			inventory = value
		case word == "-e":
			name, v, _ := strings.Cut(value, "=")
			r.vars[name] = v
		case word == "--limit":
			r.limit = strings.Split(value, ",")
		case word == "--become", word == "--become-user=root":
		case strings.HasPrefix(word, "-"):
			return p.Errorf("ansible-playbook: error: unrecognized arguments: %s\n", word)
		default:
			playbook = word
		}
		args = rest
	}
	if err := r.read(inventory); err != nil {
		_ = p.Errorf("ERROR! %v\n", err)
		return 1
	}
	defer r.close()
	play := map[string]func(context.Context){
		"cluster.yml": r.cluster, "facts.yml": r.facts, "scale.yml": r.scale, "remove-node.yml": r.remove,
	}[path.Base(playbook)]
	if play == nil {
		_ = p.Errorf("ERROR! the playbook: %s could not be found\n", playbook)
		return 1
	}
	p.Printf("PLAY [%s] ****************************\n", path.Base(playbook))
	play(ctx)
	return r.recap()
}

// read reads the inventory and the variables beside it.
func (r *run) read(name string) error {
	raw, err := r.p.ReadFile(name)
	if err != nil {
		return fmt.Errorf("unable to read %s: %w", name, err)
	}
	type group struct {
		Hosts yaml.Node `yaml:"hosts"`
	}
	var file struct {
		All struct {
			Hosts    map[string]*host `yaml:"hosts"`
			Children map[string]group `yaml:"children"`
		} `yaml:"all"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("failed to parse %s: %w", name, err)
	}
	r.hosts = file.All.Hosts
	for n, h := range r.hosts {
		h.name = n
		if h.Port == 0 {
			h.Port = 22
		}
	}
	members := func(name string) (out []*host) {
		n := file.All.Children[name].Hosts
		for i := 0; i < len(n.Content); i += 2 {
			if h := r.hosts[n.Content[i].Value]; h != nil {
				out = append(out, h)
			}
		}
		return out
	}
	r.masters, r.workers, r.etcd = members("kube_control_plane"), members("kube_node"), members("etcd")
	if len(r.masters) == 0 || len(r.etcd) == 0 {
		return errors.New("the group kube_control_plane or etcd is empty")
	}
	vars, err := r.p.ReadFile(path.Dir(name) + "/group_vars/k8s_cluster/zz_gybe.yml")
	if err != nil {
		return fmt.Errorf("unable to read the variables of k8s_cluster: %w", err)
	}
	return yaml.Unmarshal(vars, &r.settings)
}

func (r *run) close() {
	for _, h := range r.hosts {
		if h.client != nil {
			_ = h.client.Close()
		}
	}
}

// recap prints the results and returns the exit status of ansible-playbook.
func (r *run) recap() int {
	status := 0
	r.p.Printf("\nPLAY RECAP *********************************************************************\n")
	names := []string{}
	for n, h := range r.hosts {
		if h.ok+h.failed+h.unreachable > 0 {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		h := r.hosts[n]
		r.p.Printf("%-26s : ok=%-4d changed=%-4d unreachable=%-4d failed=%-4d skipped=0    rescued=0    ignored=0\n",
			n, h.ok, h.changed, h.unreachable, h.failed)
		if h.failed > 0 {
			status |= 2
		}
		if h.unreachable > 0 {
			status |= 4
		}
	}
	return status
}

// task runs a shell command as root on a host; false if it failed, or if an earlier task of the host has.
func (r *run) task(ctx context.Context, h *host, name, command string, stdin []byte) (string, bool) {
	if h.failed+h.unreachable > 0 {
		return "", false
	}
	r.p.Printf("\nTASK [%s] ****************************\n", name)
	if err := r.connect(ctx, h); err != nil {
		h.unreachable++
		r.p.Printf("fatal: [%s]: UNREACHABLE! => {\"changed\": false, \"msg\": %q, \"unreachable\": true}\n", h.name,
			"Failed to connect to the host via ssh: "+err.Error())
		return "", false
	}
	out, err := r.shell(h, command, stdin)
	if err != nil {
		h.failed++
		lines := strings.Split(cmp.Or(strings.TrimSpace(out), err.Error()), "\n")
		r.p.Printf("fatal: [%s]: FAILED! => {\"changed\": true, \"msg\": %q}\n", h.name, lines[len(lines)-1])
		return "", false
	}
	h.ok, h.changed = h.ok+1, h.changed+1
	r.p.Printf("changed: [%s]\n", h.name)
	return out, true
}

// fail records that a task of this program, not a command, has failed on a host.
func (h *host) fail(r *run, task, message string) {
	h.failed++
	r.p.Printf("\nTASK [%s] ****************************\nfatal: [%s]: FAILED! => {\"msg\": %q}\n", task, h.name,
		message)
}

// connect logs in to a host.
func (r *run) connect(ctx context.Context, h *host) error {
	if h.client != nil {
		return nil
	}
	addr := net.JoinHostPort(h.Address, strconv.Itoa(h.Port))
	conn, err := (&net.Dialer{Timeout: sshTimeout}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(sshTimeout))
	c, chans, reqs, err := ssh.NewClientConn(conn, addr, &ssh.ClientConfig{
		User: h.User, Auth: []ssh.AuthMethod{ssh.Password(h.Secret)},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), // machines of a simulation
	})
	if err != nil {
		_ = conn.Close()
		return err
	}
	_ = conn.SetDeadline(time.Time{})
	h.client = ssh.NewClient(c, chans, reqs)
	return nil
}

const sshTimeout = 5 * time.Second

// shell runs a command as root. The output is that of both streams.
func (r *run) shell(h *host, command string, stdin []byte) (string, error) {
	s, err := h.client.NewSession()
	if err != nil {
		return "", err
	}
	defer func() { _ = s.Close() }()
	s.Stdin = bytes.NewReader(stdin)
	out, err := s.CombinedOutput("sudo -n bash -c " + quote(command))
	return string(out), err
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
