package k8scluster

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/kubespray"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// playbookScript runs on the Ansible host.
//
//go:embed nodescripts/playbook.sh
var playbookScript []byte

// The playbooks of Kubespray.
const (
	bookCluster = "cluster.yml"
	bookFacts   = "facts.yml"
	bookScale   = "scale.yml"
	bookRemove  = "remove-node.yml"

	titleInventory = "claim inventory"
)

// How long playbooks may take: for each machine, and at least.
const (
	playbookPerNode = 45 * time.Minute
	factsTimeout    = 15 * time.Minute
)

// playbook is one run of a playbook.
type playbook struct {
	name string
	args []string
	// masters and workers are the inventory; the masters that have the cluster come first.
	masters, workers []node
	// leaves are those of them that are not in the inventory any more after the run.
	leaves []node
	// fresh are machines whose SSH keys are new, because others had their addresses.
	fresh []node
}

// claimInventory makes the directory of the inventory the instance's own, before there is a machine.
func (op *spray) claimInventory(ctx context.Context) error {
	return op.w.Step(ctx, titleInventory, "", func(ctx context.Context, s *lcm.Step) error {
		// Two hooks of an instantiation do this, and the first may have needed several attempts.
		r := op.newRun(titleInventory, "claim-"+op.w.Op.Phase, op.host, s)
		r.job = func(_ context.Context, id string) (remote.Job, error) {
			return op.ansibleJob(id, "", time.Minute), nil
		}
		r.fails = func(ctx context.Context, _ int) error {
			return &lcm.Error{
				Code: lcm.CodeUpstream, Title: "Inventory not available",
				Detail: op.host.during(titleInventory) + ": " + strings.Join(r.lastLines(ctx), " "),
				Hint: "every cluster needs a transferring_inventory_path of its own, and kubespray_root_path has to " +
					"be the directory of Kubespray; correct " + ParamKey + ".ansible",
			}
		}
		if err := r.follow(ctx); err != nil {
			return err
		}
		s.Detail(op.k.ansible.inventory + " on " + op.host.ip)
		return nil
	})
}

// ansibleJob is a run of the script on the Ansible host.
func (op *spray) ansibleJob(id, forget string, limit time.Duration, args ...string) remote.Job {
	words := []string{"bash", "./playbook.sh"}
	for _, a := range args {
		words = append(words, remote.Quote(a))
	}
	return remote.Job{
		RunID: id, Command: strings.Join(words, " "),
		Env: map[string]string{
			"KUBESPRAY": op.k.ansible.root, "INVENTORY": op.k.ansible.inventory, "INSTANCE": op.w.Instance.ID,
			"TIME_LIMIT": strconv.Itoa(int(limit.Seconds())), "FORGET": forget,
		},
		Files: []remote.File{{Name: "playbook.sh", Mode: 0o700, Content: playbookScript}},
	}
}

// play runs a playbook as a durable step, with a step for each host of its recap.
func (op *spray) play(ctx context.Context, b playbook) error {
	title := "run " + b.name
	return op.w.Step(ctx, title, "", func(ctx context.Context, s *lcm.Step) error {
		r := op.newRun(title, strings.TrimSuffix(b.name, ".yml"), op.host, s)
		r.secrets = op.secrets()
		r.job = func(ctx context.Context, id string) (remote.Job, error) { return op.playbookJob(ctx, b, id) }
		r.fails = func(ctx context.Context, code int) error { return op.playFailed(ctx, b, r, code) }
		if err := r.follow(ctx); err != nil {
			return err
		}
		results, err := op.recap(ctx, b, r)
		if err != nil {
			return err
		}
		var words []string
		for _, res := range results {
			words = append(words, res.Host)
		}
		s.Detail(fmt.Sprintf("%s on %s", strings.Join(words, ", "), op.host.ip))
		return nil
	})
}

// recap reads the end of a run's output, and records a step for each host of the instance.
func (op *spray) recap(ctx context.Context, b playbook, r *scriptRun) ([]kubespray.Result, error) {
	const limit = 256 << 10
	command := fmt.Sprintf("tail -c %d %s/log", limit-1024, remote.Dir(r.id(r.cp.Attempt)))
	out, err := op.output(ctx, op.host, "read the recap of "+b.name, command, nil, limit)
	if err != nil {
		return nil, err
	}
	results, nodes := kubespray.Recap(out), slices.Concat(b.masters, b.workers)
	for i, res := range results {
		results[i].Cause = mask(res.Cause, r.secrets)
		at := slices.IndexFunc(nodes, func(n node) bool { return n.name == res.Host })
		if at < 0 {
			continue
		}
		n := nodes[at]
		// The result of a host that failed is recorded by its own step, too, and reported by the playbook's.
		_ = op.w.Step(ctx, b.name, n.vnfc, func(_ context.Context, s *lcm.Step) error {
			if !res.Good() {
				return op.playbookError(b, results[i].String())
			}
			s.Detail(n.name + " " + res.Counts)
			return nil
		})
	}
	return results, nil
}

// playFailed makes the error of a run that failed, from its recap if there is one.
func (op *spray) playFailed(ctx context.Context, b playbook, r *scriptRun, code int) error {
	results, err := op.recap(ctx, b, r)
	if err != nil {
		return err
	}
	var bad []string
	for _, res := range results {
		if !res.Good() {
			bad = append(bad, res.String())
		}
	}
	if len(bad) > maxNamed {
		bad = append(bad[:maxNamed], fmt.Sprintf("and %d more hosts", len(bad)-maxNamed))
	}
	if len(bad) == 0 {
		bad = append(bad, strings.Join(append(r.lastLines(ctx), fmt.Sprintf("(exit status %d)", code)), " "))
	}
	return op.playbookError(b, strings.Join(bad, "; "))
}

// playbookError is the failure of a playbook.
func (op *spray) playbookError(b playbook, why string) error {
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Playbook failed",
		Detail: op.host.during("run "+b.name) + ": " + why,
		Hint: "the log of the step has the playbook's output; remove the cause and retry the operation, the playbook " +
			"runs again",
	}
}

// playbookJob is the job of a playbook with the files of the inventory.
func (op *spray) playbookJob(ctx context.Context, b playbook, id string) (remote.Job, error) {
	mtu, err := op.mtu(ctx, b.masters[0])
	if err != nil {
		return remote.Job{}, err
	}
	limit := factsTimeout
	if b.name != bookFacts {
		limit = playbookPerNode * time.Duration(max(1, len(b.masters)+len(b.workers)))
	}
	var forget []string
	for _, n := range b.fresh {
		forget = append(forget, n.target.Host)
		if n.target.Port != 22 {
			forget = append(forget, fmt.Sprintf("[%s]:%d", n.target.Host, n.target.Port))
		}
	}
	j := op.ansibleJob(id, strings.Join(forget, " "), limit, append([]string{b.name}, b.args...)...)
	settings := kubespray.Settings{
		PodCIDR: op.k.podCIDR, ServiceCIDR: op.k.serviceCIDR, MTU: mtu,
		HTTPProxy: op.k.proxy.http, HTTPSProxy: op.k.proxy.https, NoProxy: op.k.proxy.no,
		CertificateNames: op.certificateNames(),
	}
	secret := func(name string, content []byte) {
		j.Files = append(j.Files, remote.File{Name: name, Mode: 0o600, Content: content, Secret: true})
	}
	now, err := op.inventoryOf(b.masters, b.workers).YAML()
	if err != nil {
		return j, err
	}
	secret("hosts.yaml", now)
	if len(b.leaves) > 0 {
		later, err := op.inventoryOf(without(b.masters, b.leaves), without(b.workers, b.leaves)).YAML()
		if err != nil {
			return j, err
		}
		secret("later.yaml", later)
	}
	for name, encode := range map[string]func() ([]byte, error){
		"all.yml": settings.All, "k8s_cluster.yml": settings.Cluster,
	} {
		content, err := encode()
		if err != nil {
			return j, err
		}
		secret(name, content)
	}
	for _, role := range []struct{ name, key string }{
		{roleMaster, op.k.master.privateKey}, {roleWorker, op.k.worker.privateKey},
	} {
		if role.key != "" {
			secret("keys/"+role.name, []byte(strings.TrimRight(role.key, "\n")+"\n"))
		}
	}
	return j, nil
}

// certificateNames are the addresses by which the API servers are used beside those that Kubespray knows.
func (op *spray) certificateNames() []string {
	out := []string{op.t.internal}
	if op.t.external != op.t.internal {
		out = append(out, op.t.external)
	}
	for _, m := range op.t.masters {
		if m.target.Host != m.ip {
			out = append(out, m.target.Host)
		}
	}
	return out
}

// inventoryOf is the inventory with some nodes.
func (op *spray) inventoryOf(masters, workers []node) kubespray.Inventory {
	dir := op.k.ansible.inventory
	hosts := func(nodes []node) []kubespray.Host {
		var out []kubespray.Host
		for _, n := range nodes {
			h := kubespray.Host{
				Name: n.name, Address: n.target.Host, IP: n.ip, Port: n.target.Port, User: n.target.User,
				Password: n.target.Password,
			}
			if len(n.target.PrivateKey) > 0 {
				h.KeyFile = dir + "/keys/" + n.role
			}
			out = append(out, h)
		}
		return out
	}
	return kubespray.Inventory{
		Masters: hosts(masters), Workers: hosts(workers), KnownHosts: dir + "/known_hosts",
	}
}

// without leaves nodes out.
func without(nodes, leaving []node) []node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n node) bool {
		return slices.ContainsFunc(leaving, func(l node) bool { return l.vnfc == n.vnfc })
	})
}

var linkLine = regexp.MustCompile(`^\d+: .*\bmtu (\d+)\b`)

// mtu is that of the interface by which a node reaches the others; 0 if the node does not show it.
func (op *spray) mtu(ctx context.Context, n node) (int, error) {
	out, err := op.ask(ctx, n, "read the MTU", "ip address show")
	if err != nil {
		return 0, err
	}
	return interfaceMTU(string(out), n.ip), nil
}

// interfaceMTU finds, in the output of "ip address show", the MTU of the interface with an address.
func interfaceMTU(out, ip string) int {
	mtu := 0
	for line := range strings.Lines(out) {
		if m := linkLine.FindStringSubmatch(line); m != nil {
			mtu, _ = strconv.Atoi(m[1]) // digits only; a number that is too large is none
		}
		if f := strings.Fields(line); len(f) > 1 && f[0] == "inet" && strings.HasPrefix(f[1], ip+"/") {
			return mtu
		}
	}
	return 0
}
