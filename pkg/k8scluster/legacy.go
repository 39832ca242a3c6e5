package k8scluster

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// A legacy script does all the work of a node in one run and has no phases: that of a package made for an older VNFM.
// It is run as that VNFM would: once on each node, with everything on the command line; the first master first, then
// the other masters one by one, then all workers at the same time. It may not be safe to run twice, so that is never
// done without being asked: a run that was cut off fails, and a retry runs the script again, unless the node is in the
// cluster by then.

// legacyScript runs such a script on a node.
//
//go:embed nodescripts/legacy.sh
var legacyScript []byte

// legacy is the Installer for such a script.
type legacy struct {
	*session
	script  installScript
	secrets func() (joinSecrets, error) // finds them at most once per tick
}

func newLegacy(ctx context.Context, s *session, script installScript) (*legacy, error) {
	l := &legacy{session: s, script: script}
	l.secrets = sync.OnceValues(func() (joinSecrets, error) { return l.findSecrets(ctx) })
	return l, l.checkNames()
}

// checkNames refuses nodes to which such a script, which names nodes by the last part of their addresses, would give
// the same name.
func (l *legacy) checkNames() error {
	seen := map[string]node{}
	for _, n := range l.t.nodes() {
		name := n.role + n.ip[strings.LastIndexByte(n.ip, '.')+1:]
		if other, taken := seen[name]; taken {
			return lcm.Errorf(lcm.CodeUnprocessable, "the script %s would name the nodes at %s and %s both %s",
				l.script.path, other.ip, n.ip, name).
				WithHint(
					"let the nodes have addresses in one network of at most 256, or start from the script of the " +
						"sample package",
				)
		}
		seen[name] = n
	}
	return nil
}

// Traits implements Installer.
func (*legacy) Traits() traits { return traits{mastersFirst: true, detaches: true} }

// Prepare implements Installer: the script does everything in one run.
func (*legacy) Prepare(context.Context, node) error { return nil }

// Init implements Installer.
func (l *legacy) Init(ctx context.Context, n node) error { return l.step(ctx, titleInit, phaseInit, n) }

// Join implements Installer.
func (l *legacy) Join(ctx context.Context, n node) error {
	title := titleInstall
	if slices.Contains(l.late, n.vnfc) {
		title = titleJoin
	}
	return l.step(ctx, title, phaseJoin, n)
}

// Refresh implements Installer.
func (l *legacy) Refresh(ctx context.Context, s *lcm.Step, n node) error {
	return l.again(ctx, s, titleRefresh, phaseRefresh, n)
}

// Detach implements Installer: such scripts let HAProxy look at the API servers' ports only.
func (l *legacy) Detach(ctx context.Context, s *lcm.Step, n node) error {
	return l.again(ctx, s, titleDetach, phaseDetach, n)
}

// again does work inside a step that does not run the package's script, so that it can be done again.
func (l *legacy) again(ctx context.Context, s *lcm.Step, title, phase string, n node) error {
	r := l.nodeRun(title, phase, n, s)
	r.once = false
	return r.follow(ctx)
}

// Upgrade implements Installer.
func (l *legacy) Upgrade(context.Context, *lcm.Step, node, version) error {
	return lcm.Errorf(lcm.CodeUnprocessable, "the script %s has no phases, so it cannot upgrade a node", l.script.path)
}

// UpgradeNetwork implements Installer.
func (*legacy) UpgradeNetwork(context.Context, node) error { return nil }

// JoinSecrets implements Installer.
func (l *legacy) JoinSecrets() (joinSecrets, error) { return l.secrets() }

// step runs the script on a node as a durable step.
func (l *legacy) step(ctx context.Context, title, phase string, n node) error {
	return l.w.Step(ctx, title, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		return l.nodeRun(title, phase, n, s).follow(ctx)
	})
}

// nodeRun is the run for a node in a step.
func (l *legacy) nodeRun(title, phase string, n node, s *lcm.Step) *scriptRun {
	r := l.newRun(title, phase, n, s)
	r.once = true
	r.job = func(ctx context.Context, id string) (remote.Job, error) {
		var js joinSecrets
		if phase == phaseJoin {
			var err error
			if js, err = l.joinSecretsFor(ctx, n); err != nil {
				return remote.Job{}, err
			}
		}
		return l.job(n, phase, id, r.cp.Attempt, js), nil
	}
	return r
}

// joinSecretsFor adds the key that a master needs. It is made for each master: it is valid for two hours only, and
// masters may take long.
func (l *legacy) joinSecretsFor(ctx context.Context, n node) (joinSecrets, error) {
	js, err := l.JoinSecrets()
	if err == nil && n.role == roleMaster {
		js.certKey, err = l.certificateKey(ctx)
	}
	return js, err
}

// job is a run of the script.
func (l *legacy) job(n node, phase, id string, attempt int, js joinSecrets) remote.Job {
	vars := map[string]string{
		"GYBE_PHASE": phase, "GYBE_RUN": id, "GYBE_TRY": strconv.Itoa(attempt), "NODE_NAME": n.name,
		"CLUSTER_HOSTS": l.t.hosts(), "MASTERS": l.mastersFor(n), "WORKER": "", "CLUSTER_IP": l.t.internal,
		"POD_CIDR": l.p.podCIDR, "SERVICE_CIDR": l.p.serviceCIDR,
		"EXPORTS": l.exports(n),
	}
	var secrets strings.Builder
	if n.role == roleWorker {
		vars["WORKER"] = n.ip
	}
	for _, line := range [][2]string{
		{"JOIN_TOKEN", js.token}, {"CA_CERT_HASH", js.caHash}, {"CERTIFICATE_KEY", js.certKey},
	} {
		if line[1] != "" {
			fmt.Fprintf(&secrets, "%s=%s\n", line[0], line[1])
		}
	}
	return remote.Job{
		RunID: id, Env: vars, Command: "bash ./legacy.sh",
		Files: append(library("base.sh"),
			remote.File{Name: "legacy.sh", Mode: 0o700, Content: legacyScript},
			remote.File{Name: scriptFile, Mode: 0o700, Content: l.script.content},
			remote.File{Name: secretsFile, Mode: 0o600, Content: []byte(secrets.String()), Secret: true}),
	}
}

// mastersFor lists the masters' addresses for a node. Scripts initialise the cluster on the first, so a master that
// joins an existing cluster is never the first.
func (l *legacy) mastersFor(n node) string {
	if !slices.Contains(l.late, n.vnfc) {
		return l.t.masterIPs()
	}
	late, others := pick(l.t.masters, l.late)
	var ips []string
	for _, m := range slices.Concat(others, late) {
		ips = append(ips, m.ip)
	}
	return strings.Join(ips, ",")
}

// exports are the variables that the script finds in its environment.
func (l *legacy) exports(n node) string {
	vars := map[string]string{"http_proxy": l.p.proxy.http, "https_proxy": l.p.proxy.https}
	if no := l.noProxy(); no != "" {
		vars["no_proxy"] = strings.Join(
			[]string{no, l.p.podCIDR, l.p.serviceCIDR, "127.0.0.1", "localhost", l.t.internal}, ",",
		)
	}
	vars["HTTP_PRIVATE_REGISTRIES"] = l.p.plainRegistries()
	if n.role == roleWorker {
		vars["ha_flag"] = "False"
		if l.t.ha() {
			vars["ha_flag"] = "True"
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if vars[name] != "" {
			lines = append(lines, name+"="+vars[name])
		}
	}
	return strings.Join(lines, "\n")
}
