package k8scluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

var errSlow = errors.New("the machine did not answer in time")

// Phases of the installation script (GYBE_PHASE).
const (
	phasePrepare = "prepare"
	phaseInit    = "init"
	phaseJoin    = "join"
	phaseTokens  = "tokens"
	phaseRefresh = "refresh"
	phaseUpgrade = "upgrade"
)

const (
	scriptFile  = "install.sh"
	secretsFile = "secrets"
	resultFile  = "result"
)

// installer runs the installation script for one tick of an operation.
type installer struct {
	d       *Driver
	w       *lcm.Work
	p       params
	c       *cluster
	script  []byte
	slots   chan struct{}
	secrets func() (joinSecrets, error) // made at most once per tick
	// lead finds the master through which the cluster is reached, at most once per tick.
	lead func() (node, error)
	// foreign says that the script knows no phases; late are the VNFCs that come to a cluster that is there.
	foreign bool
	late    []string
}

// joinSecrets is what a node needs to join. It is never stored: whoever needs it has a master make a new one.
type joinSecrets struct {
	token, caHash, certKey string
}

// installer makes the installer for the instance as it is now. The cluster is never reached through the nodes of the VNFCs that avoid names.
func (d *Driver) installer(ctx context.Context, w *lcm.Work, avoid ...string) (*installer, error) {
	additional, err := w.Params()
	if err != nil {
		return nil, err
	}
	p, bad := parse(additional, w.Flavour, w.Instance.SSHKey)
	if len(bad) > 0 {
		return nil, lcm.Unprocessable(bad...)
	}
	script, err := readScript(w.Package, p.script)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "The script_path in the additionalParams is invalid: %w.", err)
	}
	c, err := resolve(w.Instance, p, d.o.SSHPort)
	if err != nil {
		return nil, err
	}
	in := &installer{d: d, w: w, p: p, c: c, script: script, slots: make(chan struct{}, d.o.Parallel)}
	if in.foreign = !phased(script); in.foreign {
		if err := in.unique(); err != nil {
			return nil, err
		}
	}
	fetch := in.makeSecrets
	if in.foreign {
		fetch = in.foreignSecrets
	}
	in.secrets = sync.OnceValues(func() (joinSecrets, error) { return fetch(ctx) })
	in.lead = sync.OnceValues(func() (node, error) { return in.living(ctx, avoid) })
	return in, nil
}

// step runs one phase of the script on a node as a durable step.
func (in *installer) step(ctx context.Context, title, phase string, n node) error {
	if in.foreign && phase == phasePrepare { // part of the rest
		return nil
	}
	return in.w.Step(ctx, title, n.vnfc, func(ctx context.Context, s *lcm.Step) error { return in.run(title, phase, n, s).follow(ctx) })
}

// run is a run of one phase of the script on a node, in a step.
func (in *installer) run(title, phase string, n node, s *lcm.Step) *scriptRun {
	r := &scriptRun{
		d: in.d, s: s, n: n, doing: title, clock: in.w.Clock, round: in.w.Op.StateEntered,
		id:      func(try int) string { return in.runID(n, phase, try) },
		secrets: in.hidden(n), once: in.foreign && phase != phaseRefresh,
	}
	r.job = func(ctx context.Context, id string) (remote.Job, error) {
		var js joinSecrets
		if phase == phaseJoin {
			var err error
			if js, err = in.secrets(); err != nil {
				return remote.Job{}, err
			}
		}
		if in.foreign {
			return in.foreignJob(ctx, n, phase, id, r.cp.Try, js)
		}
		return in.job(n, phase, id, js), nil
	}
	return r
}

// prefix begins the ids of all runs of the operation's pass on all nodes.
func (in *installer) prefix() string { return fmt.Sprintf("%s-%d-", in.w.Op.ID, in.w.Op.Run) }

func (in *installer) runID(n node, phase string, try int) string {
	return fmt.Sprintf("%s%s-%s-%d", in.prefix(), n.name, phase, try)
}

// job is a run of the script. Secrets go into files, everything else into the environment and the arguments.
func (in *installer) job(n node, phase, id string, js joinSecrets) remote.Job {
	dir := remote.Dir(id)
	var secrets strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&secrets, "%s=%s\n", name, value)
		}
	}
	line("VRRP_AUTH", vrrpAuth(in.w.Instance.ID))
	line("JOIN_TOKEN", js.token)
	line("CA_CERT_HASH", js.caHash)
	if n.role == roleMaster {
		line("CERTIFICATE_KEY", js.certKey)
	}
	j := remote.Job{
		RunID: id,
		Env: env(in.settings(), map[string]string{
			"GYBE_PHASE": phase, "GYBE_SECRETS_FILE": dir + "/" + secretsFile, "GYBE_RESULT_FILE": dir + "/" + resultFile,
			"NODE_NAME": n.name, "NODE_IP": n.ip,
		}),
		Files: []remote.File{
			{Name: scriptFile, Mode: 0o700, Content: in.script},
			{Name: secretsFile, Mode: 0o600, Content: []byte(secrets.String()), Secret: true},
		},
	}
	args := []string{"bash", "./" + scriptFile, "-i", in.c.ip}
	if n.role == roleWorker {
		args = append(args, "-w", n.ip)
	} else {
		args = append(args, "-m", in.c.masterIPs(), "-p", in.p.podCIDR, "-a", in.p.serviceCIDR)
	}
	for i, a := range args {
		args[i] = remote.Quote(a)
	}
	j.Command = strings.Join(args, " ")
	return j
}

// settings are the variables that are the same for all nodes.
func (in *installer) settings() map[string]string {
	s := map[string]string{"CLUSTER_HOSTS": in.c.hosts(), "ha_flag": "False"}
	if in.c.ha() {
		s["ha_flag"] = "True"
	}
	if in.c.external != in.c.ip {
		s["EXTRA_CERT_SANS"] = in.c.external
	}
	for name, value := range map[string]string{
		"K8S_VERSION": in.p.kubernetesVersion, "CILIUM_VERSION": strings.TrimPrefix(in.p.ciliumVersion, "v"),
		"http_proxy": in.p.proxy.http, "https_proxy": in.p.proxy.https, "no_proxy": in.noProxy(),
	} {
		if value != "" {
			s[name] = value
		}
	}
	return s
}

// noProxy adds every node to the addresses that are reached directly.
func (in *installer) noProxy() string {
	if in.p.proxy.http == "" && in.p.proxy.https == "" {
		return ""
	}
	list, listed := []string{}, map[string]bool{}
	if in.p.proxy.no != "" {
		list = append(list, in.p.proxy.no)
	}
	subnet := in.p.proxy.nodes
	if len(subnet) == 0 { // nodes that come later are most likely there too
		subnet = addresses(in.c.masters[0].ip + "/24")
	}
	for _, a := range subnet {
		listed[a] = true
	}
	list = append(list, subnet...)
	for _, n := range in.c.nodes() {
		if !listed[n.ip] {
			list = append(list, n.ip)
		}
	}
	return strings.Join(list, ",")
}

// makeSecrets has a master make a bootstrap token and upload the certificates under a new key.
func (in *installer) makeSecrets(ctx context.Context) (joinSecrets, error) {
	const doing = "make a join token"
	m, err := in.lead()
	if err != nil {
		return joinSecrets{}, err
	}
	c, release, err := in.d.o.Connect(ctx, m.target)
	if err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	defer release()
	id := in.prefix() + "tokens-" + uuid.NewString()[:8]
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errSlow)
	defer cancel()
	// Whatever becomes of it, the result does not stay on the node.
	defer func() {
		_, _ = short(context.WithoutCancel(ctx), in.d, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.CleanupAll(ctx, id) })
	}()
	_, _, err = c.StartOrAdopt(ctx, in.job(m, phaseTokens, id, joinSecrets{}))
	if err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	var words []string
	st, err := c.Follow(ctx, id, 0, func(text string, _ int64) {
		if text = strings.TrimSpace(text); text != "" {
			words = []string{mask(text, nil)}
		}
	})
	if err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	if st.State != remote.Exited {
		return joinSecrets{}, nodeError(m, doing, &remote.Error{Kind: remote.KindClosed, Op: "run", Target: m.target.String(), Err: fmt.Errorf("the run is %s", st.State)})
	}
	if st.Code != 0 {
		e := scriptError(m, doing, st.Code, words)
		return joinSecrets{}, e
	}
	raw, err := c.ReadFile(ctx, remote.Dir(id)+"/"+resultFile, 64<<10)
	if err != nil {
		return joinSecrets{}, nodeError(m, doing, err)
	}
	js := parseSecrets(raw)
	if js.token == "" || js.caHash == "" || in.c.ha() && js.certKey == "" {
		return joinSecrets{}, lcm.Errorf(lcm.CodeUpstream, "%s on node %s: the script's result has no token, hash or certificate key", doing, m.name)
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
