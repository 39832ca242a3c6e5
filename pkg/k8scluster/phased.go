package k8scluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

const (
	scriptFile  = "install.sh"
	secretsFile = "secrets"
	resultFile  = "result"
)

// phased is the Installer for a script that does its work in phases, each of which can be done again.
type phased struct {
	*session
	script  installScript
	secrets func() (joinSecrets, error) // makes them at most once per tick
}

func newPhased(ctx context.Context, s *session, script installScript) *phased {
	p := &phased{session: s, script: script}
	p.secrets = sync.OnceValues(func() (joinSecrets, error) { return p.makeSecrets(ctx) })
	return p
}

// Traits implements Installer.
func (p *phased) Traits() traits {
	return traits{namesEndpoint: true, upgrades: p.script.has(phaseUpgrade)}
}

// Prepare implements Installer.
func (p *phased) Prepare(ctx context.Context, n node) error {
	return p.step(ctx, titlePrepare, phasePrepare, n)
}

// Init implements Installer.
func (p *phased) Init(ctx context.Context, n node) error {
	return p.step(ctx, titleInit, phaseInit, n)
}

// Join implements Installer.
func (p *phased) Join(ctx context.Context, n node) error {
	return p.step(ctx, titleJoin, phaseJoin, n)
}

// Detach implements Installer: there is nothing to do, because HAProxy asks the API servers whether they are ready.
func (*phased) Detach(context.Context, *lcm.Step, node) error { return nil }

// Refresh implements Installer.
func (p *phased) Refresh(ctx context.Context, s *lcm.Step, n node) error {
	return p.phaseRun(titleRefresh, phaseRefresh, n, s, "").follow(ctx)
}

// Upgrade implements Installer.
func (p *phased) Upgrade(ctx context.Context, s *lcm.Step, n node, to version) error {
	return p.phaseRun(titleUpgrade, phaseUpgrade, n, s, to.String()).follow(ctx)
}

// UpgradeNetwork implements Installer.
func (p *phased) UpgradeNetwork(ctx context.Context, n node) error {
	if !p.script.has(phaseNetwork) {
		return nil
	}
	return p.step(ctx, titleNetwork, phaseNetwork, n)
}

// JoinSecrets implements Installer.
func (p *phased) JoinSecrets() (joinSecrets, error) { return p.secrets() }

// step runs one phase of the script on a node as a durable step.
func (p *phased) step(ctx context.Context, title, phase string, n node) error {
	return p.w.Step(ctx, title, n.vnfc, func(ctx context.Context, s *lcm.Step) error {
		return p.phaseRun(title, phase, n, s, "").follow(ctx)
	})
}

// phaseRun is the run of one phase on a node, in a step. kubernetes replaces the version that is wanted otherwise.
func (p *phased) phaseRun(title, phase string, n node, s *lcm.Step, kubernetes string) *scriptRun {
	r := p.newRun(title, phase, n, s)
	r.job = func(ctx context.Context, id string) (remote.Job, error) {
		var js joinSecrets
		if phase == phaseJoin {
			var err error
			if js, err = p.JoinSecrets(); err != nil {
				return remote.Job{}, err
			}
		}
		return p.job(n, phase, id, kubernetes, js), nil
	}
	return r
}

// job is a run of the script. Secrets go into files, everything else into the environment and the arguments.
func (p *phased) job(n node, phase, id, kubernetes string, js joinSecrets) remote.Job {
	dir := remote.Dir(id)
	env := p.settings()
	env["GYBE_PHASE"], env["GYBE_SECRETS_FILE"], env["GYBE_RESULT_FILE"] = phase, dir+"/"+secretsFile, dir+"/"+
		resultFile
	env["NODE_NAME"], env["NODE_IP"] = n.name, n.ip
	if kubernetes != "" {
		env["K8S_VERSION"] = kubernetes
	}

	args := []string{"bash", "./" + scriptFile, "-i", p.t.internal}
	if n.role == roleWorker {
		args = append(args, "-w", n.ip)
	} else {
		args = append(args, "-m", p.t.masterIPs(), "-p", p.p.podCIDR, "-a", p.p.serviceCIDR)
	}
	for i, a := range args {
		args[i] = remote.Quote(a)
	}
	return remote.Job{
		RunID: id, Env: env, Command: strings.Join(args, " "),
		Files: append(slices.Clone(p.script.library),
			remote.File{Name: scriptFile, Mode: 0o700, Content: p.script.content},
			remote.File{Name: secretsFile, Mode: 0o600, Content: p.secretLines(n, js), Secret: true}),
	}
}

// secretLines is the file from which the script reads its secrets.
func (p *phased) secretLines(n node, js joinSecrets) []byte {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s=%s\n", name, value)
		}
	}
	line("VRRP_AUTH", vrrpAuth(p.w.Instance.ID))
	line("JOIN_TOKEN", js.token)
	line("CA_CERT_HASH", js.caHash)
	if n.role == roleMaster {
		line("CERTIFICATE_KEY", js.certKey)
	}
	return []byte(b.String())
}

// settings are the variables that are the same for all nodes.
func (p *phased) settings() map[string]string {
	vars := p.proxyVars()
	vars["CLUSTER_HOSTS"], vars["ha_flag"] = p.t.hosts(), "False"
	if p.t.ha() {
		vars["ha_flag"] = "True"
	}
	if p.t.external != p.t.internal {
		vars["EXTRA_CERT_SANS"] = p.t.external
	}
	for name, value := range map[string]string{
		"K8S_VERSION":    cmp.Or(p.p.kubernetesVersion, p.script.kubernetes),
		"CILIUM_VERSION": strings.TrimPrefix(cmp.Or(p.p.ciliumVersion, p.script.cilium), "v"),
	} {
		if value != "" {
			vars[name] = value
		}
	}
	return vars
}

// makeSecrets has a master make a bootstrap token and upload the certificates under a new key.
func (p *phased) makeSecrets(ctx context.Context) (joinSecrets, error) {
	const doing = "make a join token"
	m, err := p.master()
	if err != nil {
		return joinSecrets{}, err
	}
	c, release, err := p.o.Connect(ctx, m.target)
	if err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	defer release()

	id := p.prefix() + "tokens-" + uuid.NewString()[:8]
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errSlow)
	defer cancel()
	// In every case the result is removed from the node.
	defer func() {
		_, _ = short(context.WithoutCancel(ctx), p.o, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, c.CleanupAll(ctx, id)
		})
	}()

	if _, _, err = c.StartOrAdopt(ctx, p.job(m, phaseTokens, id, "", joinSecrets{})); err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	var lines []string
	st, err := c.Follow(ctx, id, 0, func(text string, _ int64) {
		if text = strings.TrimSpace(text); text != "" {
			lines = []string{mask(text, nil)}
		}
	})
	if err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	if st.State != remote.Exited {
		return joinSecrets{}, nodeError(m, doing, &remote.Error{
			Kind: remote.KindClosed, Op: "run", Target: m.target.String(), Err: fmt.Errorf("the run is %s", st.State),
		})
	}
	if st.Code != 0 {
		return joinSecrets{}, scriptError(m, doing, st.Code, lines)
	}
	raw, err := c.ReadFile(ctx, remote.Dir(id)+"/"+resultFile, 64<<10)
	if err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	js := parseSecrets(raw)
	if js.token == "" || js.caHash == "" || p.t.ha() && js.certKey == "" {
		return joinSecrets{}, lcm.Errorf(
			lcm.CodeUpstream, "%s on node %s: the script's result has no token, hash or certificate key", doing, m.name,
		)
	}
	return js, nil
}

// parseSecrets reads the script's result file, lines of name=value.
func parseSecrets(raw []byte) joinSecrets {
	var js joinSecrets
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch name {
		case "token":
			js.token = value
		case "ssl_ca_cert_hash":
			js.caHash = value
		case "certificate_key":
			js.certKey = value
		}
	}
	return js
}
