package k8scluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	_ "embed"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// A foreign script is an installation script that knows nothing of GYBE_PHASE: that of a package made for an older VNFM. It is run as that
// would: once on each node, with everything on the command line. The first master goes first, then the other masters one by one, then the
// workers, all at once. It may not be fit to be run twice, so nobody does that without being asked: a run that was cut off fails, and a
// retry runs it again, unless the node is in the cluster by then.

// foreignScript runs such a script on a node.
//
//go:embed nodescripts/foreign.sh
var foreignScript []byte

const titleInstall = "install node"

// phased says whether the script can do its work in parts.
func phased(script []byte) bool { return bytes.Contains(script, []byte("GYBE_PHASE")) }

// unique refuses nodes that such a script, which names them by the last part of their addresses, would call alike.
func (in *installer) unique() error {
	seen := map[string]node{}
	for _, n := range in.c.nodes() {
		name := n.role + n.ip[strings.LastIndexByte(n.ip, '.')+1:]
		if other, taken := seen[name]; taken {
			return lcm.Errorf(lcm.CodeUnprocessable, "the script %s would call the nodes at %s and %s both %s", in.p.script, other.ip, n.ip, name).
				WithHint("let the nodes have addresses in one network of at most 256, or take the script of the sample package as a base")
		}
		seen[name] = n
	}
	return nil
}

// installForeign runs the script on all nodes.
func (in *installer) installForeign(ctx context.Context) error {
	first := in.c.masters[0]
	if err := in.step(ctx, titleInit, phaseInit, first); err != nil {
		return err
	}
	for _, m := range in.c.masters[1:] {
		if err := in.step(ctx, titleInstall, phaseJoin, m); err != nil {
			return err
		}
	}
	lanes := []func(context.Context) error{in.serveStorage}
	for _, n := range in.c.workers {
		lanes = append(lanes, func(ctx context.Context) error {
			return in.bounded(ctx, func() error { return in.step(ctx, titleInstall, phaseJoin, n) })
		})
	}
	for _, n := range in.c.nodes() {
		lanes = append(lanes, func(ctx context.Context) error { return in.bounded(ctx, func() error { return in.client(ctx, n) }) })
	}
	return together(ctx, lanes)
}

// foreignJob is a run of the script.
func (in *installer) foreignJob(ctx context.Context, n node, phase, id string, try int, js joinSecrets) (remote.Job, error) {
	if phase == phaseJoin && n.role == roleMaster { // a key is valid for two hours only, and masters may take long
		var err error
		if js.certKey, err = in.certificateKey(ctx); err != nil {
			return remote.Job{}, err
		}
	}
	vars := map[string]string{
		"GYBE_PHASE": phase, "GYBE_RUN": id, "GYBE_TRY": strconv.Itoa(try), "NODE_NAME": n.name, "CLUSTER_HOSTS": in.c.hosts(),
		"MASTERS": in.mastersFor(n), "WORKER": "", "CLUSTER_IP": in.c.ip, "POD_CIDR": in.p.podCIDR, "SERVICE_CIDR": in.p.serviceCIDR,
		"EXPORTS": in.exports(n),
	}
	var secrets strings.Builder
	if n.role == roleWorker {
		vars["WORKER"] = n.ip
	}
	for _, line := range [][2]string{{"JOIN_TOKEN", js.token}, {"CA_CERT_HASH", js.caHash}, {"CERTIFICATE_KEY", js.certKey}} {
		if line[1] != "" {
			fmt.Fprintf(&secrets, "%s=%s\n", line[0], line[1])
		}
	}
	return remote.Job{
		RunID: id, Env: vars, Command: "bash ./foreign.sh",
		Files: []remote.File{
			{Name: "foreign.sh", Mode: 0o700, Content: foreignScript},
			{Name: scriptFile, Mode: 0o700, Content: in.script},
			{Name: secretsFile, Mode: 0o600, Content: []byte(secrets.String()), Secret: true},
		},
	}, nil
}

// mastersFor lists the masters' addresses for a node. Scripts take the first for the one that initialises the cluster, so a master that comes
// later is never that.
func (in *installer) mastersFor(n node) string {
	if !slices.Contains(in.late, n.vnfc) {
		return in.c.masterIPs()
	}
	late, others := pick(in.c.masters, in.late)
	var ips []string
	for _, m := range slices.Concat(others, late) {
		ips = append(ips, m.ip)
	}
	return strings.Join(ips, ",")
}

// exports are the variables that the script finds in its environment.
func (in *installer) exports(n node) string {
	vars := map[string]string{"http_proxy": in.p.proxy.http, "https_proxy": in.p.proxy.https}
	if no := in.noProxy(); no != "" {
		vars["no_proxy"] = strings.Join([]string{no, in.p.podCIDR, in.p.serviceCIDR, "127.0.0.1", "localhost", in.c.ip}, ",")
	}
	vars["HTTP_PRIVATE_REGISTRIES"] = in.p.plainRegistries()
	if n.role == roleWorker {
		vars["ha_flag"] = "False"
		if in.c.ha() {
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

// foreignSecrets is what nodes need to join: what the first master's script has printed in this operation, or, when it is gone or there was
// none, what a living master makes.
func (in *installer) foreignSecrets(ctx context.Context) (joinSecrets, error) {
	const doing = "read the join information"
	m, err := in.lead()
	if err != nil {
		return joinSecrets{}, err
	}
	first := in.c.masters[0]
	if in.w.Op.Tries <= 1 { // a retry may come when the token has expired
		printed, err := in.ask(ctx, first, doing,
			"grep -ahE '(token|ssl_ca_cert_hash):' "+remote.Dir(in.w.Op.ID)+"-*-"+first.name+"-"+phaseInit+"-*/log | tail -n 100")
		if js := parsePrinted(printed); err == nil && js.token != "" && js.caHash != "" {
			return js, nil
		}
	}
	var js joinSecrets
	token, err := in.insist(ctx, m, "make a join token", "sudo -n kubeadm token create")
	if err != nil {
		return joinSecrets{}, err
	}
	if js.token = joinToken.FindString(string(token)); js.token == "" {
		return joinSecrets{}, lcm.Errorf(lcm.CodeUpstream, "kubeadm token create on node %s printed no token", m.name)
	}
	cert, err := in.ask(ctx, m, doing, "sudo -n cat /etc/kubernetes/pki/ca.crt")
	if err != nil {
		return joinSecrets{}, err
	}
	js.caHash, err = caHash(cert)
	if err != nil {
		return joinSecrets{}, lcm.Errorf(lcm.CodeUpstream, "read /etc/kubernetes/pki/ca.crt on node %s: %w", m.name, err)
	}
	return js, nil
}

// certificateKey has a living master upload the cluster's certificates for another master to fetch.
func (in *installer) certificateKey(ctx context.Context) (string, error) {
	m, err := in.lead()
	if err != nil {
		return "", err
	}
	out, err := in.insist(ctx, m, "upload the certificates", "sudo -n kubeadm init phase upload-certs --upload-certs")
	if err != nil {
		return "", err
	}
	keys := bareKey.FindAllString(string(out), -1)
	if len(keys) == 0 {
		return "", lcm.Errorf(lcm.CodeUpstream, "kubeadm init phase upload-certs on node %s printed no certificate key", m.name)
	}
	return keys[len(keys)-1], nil
}

// insist is ask for what asks the API server in turn, which may be away for some seconds: a master was lost, the virtual address moves, a load balancer
// reads its new configuration.
func (in *installer) insist(ctx context.Context, n node, doing, command string) ([]byte, error) {
	const attempts = 6 // about half a minute
	pause := backoff{first: time.Second, longest: 8 * time.Second}
	for attempt := 1; ; attempt++ {
		out, err := in.ask(ctx, n, doing, command)
		if err == nil || attempt == attempts || lcm.AsError(err).Class == lcm.Auth {
			return out, err
		}
		if err := pause.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// ask runs a short command on a node for its output.
func (in *installer) ask(ctx context.Context, n node, doing, command string) ([]byte, error) {
	return in.tell(ctx, n, doing, command, nil, 256<<10)
}

var (
	// bareKey is a certificate key as kubeadm prints it, on a line of its own.
	bareKey = regexp.MustCompile(`(?m)^[0-9a-f]{64}$`)
	// printedLine is join information as the first master's script prints it. What clears the screen may be before it.
	printedLine = regexp.MustCompile(`(?m)^(?:\x1b\[[0-9;]*[A-Za-z])*(token|ssl_ca_cert_hash):[ \t]*(\S+)[ \t\r]*$`)
)

// parsePrinted finds join information in a script's output; the last word counts.
func parsePrinted(out []byte) joinSecrets {
	var js joinSecrets
	for _, m := range printedLine.FindAllSubmatch(out, -1) {
		if value := string(m[2]); string(m[1]) == "token" {
			js.token = value
		} else {
			js.caHash = value
		}
	}
	return js
}

// caHash is the hash by which joining nodes know the cluster's CA, without the algorithm's name: scripts put that before it themselves.
func caHash(cert []byte) (string, error) {
	block, _ := pem.Decode(cert)
	if block == nil {
		return "", errors.New("it is no certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:]), nil
}

// cutOff ends a step whose run is gone without an end, and may not be begun again unasked.
func (r *scriptRun) cutOff(ctx context.Context, st remote.Status) error {
	r.cp.Ended = true
	if err := r.s.Save(ctx, r.cp); err != nil {
		return err
	}
	how := "it was killed, or the machine went down"
	if st.State == remote.Exited {
		how = fmt.Sprintf("it was killed (exit status %d)", st.Code)
	}
	return &lcm.Error{
		Code: lcm.CodeUpstream, Title: "Node installation cut off",
		Detail: fmt.Sprintf("%s: the package's script did not come to its end: %s", r.n.during(r.doing), how),
		Hint: "the script cannot say whether it may be run again on what it has left; retry the operation only if it may; " +
			"a node that has joined meanwhile is left alone",
	}
}
