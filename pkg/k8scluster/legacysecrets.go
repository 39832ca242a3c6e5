package k8scluster

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"regexp"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
)

// findSecrets finds the secrets that the first master's script has printed in this operation. Otherwise a master that
// answers makes new ones.
func (l *legacy) findSecrets(ctx context.Context) (joinSecrets, error) {
	const doing = "read the join information"
	m, err := l.master()
	if err != nil {
		return joinSecrets{}, err
	}
	first := l.t.masters[0]
	if l.w.Op.Try <= 1 { // a retry may come when the token has expired
		printed, err := l.ask(ctx, first, doing,
			"grep -ahE '(token|ssl_ca_cert_hash):' "+remote.Dir(l.w.Op.ID)+"-*-"+first.name+"-"+phaseInit+
				"-*/log | tail -n 100")
		if js := parsePrinted(printed); err == nil && js.token != "" && js.caHash != "" {
			return js, nil
		}
	}
	var js joinSecrets
	token, err := l.askAgain(ctx, m, "make a join token", "sudo -n kubeadm token create")
	if err != nil {
		return joinSecrets{}, err
	}
	if js.token = joinToken.FindString(string(token)); js.token == "" {
		return joinSecrets{}, lcm.Errorf(lcm.CodeUpstream, "kubeadm token create on node %s printed no token", m.name)
	}
	cert, err := l.ask(ctx, m, doing, "sudo -n cat /etc/kubernetes/pki/ca.crt")
	if err != nil {
		return joinSecrets{}, err
	}
	js.caHash, err = caHash(cert)
	if err != nil {
		return joinSecrets{}, lcm.Errorf(
			lcm.CodeUpstream, "read /etc/kubernetes/pki/ca.crt on node %s: %w", m.name, err,
		)
	}
	return js, nil
}

// certificateKey lets a master upload the cluster's certificates, which another master fetches with the key.
func (l *legacy) certificateKey(ctx context.Context) (string, error) {
	m, err := l.master()
	if err != nil {
		return "", err
	}
	out, err := l.askAgain(ctx, m, "upload the certificates", "sudo -n kubeadm init phase upload-certs --upload-certs")
	if err != nil {
		return "", err
	}
	keys := bareKey.FindAllString(string(out), -1)
	if len(keys) == 0 {
		return "", lcm.Errorf(
			lcm.CodeUpstream, "kubeadm init phase upload-certs on node %s printed no certificate key", m.name,
		)
	}
	return keys[len(keys)-1], nil
}

// askAgain is ask for commands that use the API server. It may not answer for some seconds: a master was lost, the
// virtual address moves, or a load balancer reads its new configuration.
func (l *legacy) askAgain(ctx context.Context, n node, doing, command string) ([]byte, error) {
	const attempts = 6 // about half a minute
	pause := backoff{first: time.Second, longest: 8 * time.Second}
	for attempt := 1; ; attempt++ {
		out, err := l.ask(ctx, n, doing, command)
		if err == nil || attempt == attempts || lcm.AsError(err).Class == lcm.Auth {
			return out, err
		}
		if err := pause.wait(ctx); err != nil {
			return nil, err
		}
	}
}

var (
	// bareKey is a certificate key as kubeadm prints it, on a line of its own.
	bareKey = regexp.MustCompile(`(?m)^[0-9a-f]{64}$`)
	// printedLine is join information as the first master's script prints it. Codes that clear the screen may come
	// before it.
	printedLine = regexp.MustCompile(`(?m)^(?:\x1b\[[0-9;]*[A-Za-z])*(token|ssl_ca_cert_hash):[ \t]*(\S+)[ \t\r]*$`)
)

// parsePrinted finds join information in a script's output; the last value counts.
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

// caHash is the hash by which joining nodes check the cluster's CA, without the algorithm's name: such scripts add it
// themselves.
func caHash(cert []byte) (string, error) {
	block, _ := pem.Decode(cert)
	if block == nil {
		return "", errors.New("it is not a certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:]), nil
}
