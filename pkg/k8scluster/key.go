package k8scluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// A role for which the request has neither a password nor a private_key is logged in to with a key pair of the
// instance's own, if the package's template takes it (lcm.Templates). The pair is made when the instantiation is
// admitted, and is the same until the instance is terminated.

// newKey creates the key pair of an instance; nil when every role has credentials in the request.
func newKey(r lcm.Request) (*lcm.SSHKey, error) {
	p, bad := parse(r.AdditionalParams, r.Flavour, loginKey(r))
	if len(bad) > 0 || !p.keyed() {
		return nil, lcm.Unprocessable(bad...)
	}
	return makeKey(r.Instance.ID)
}

// makeKey creates a key pair for an instance.
func makeKey(instance string) (*lcm.SSHKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key pair: %w", err)
	}
	name := "gybe@" + instance
	block, err := ssh.MarshalPrivateKey(private, name)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("encode a public key: %w", err)
	}
	return &lcm.SSHKey{
		Public:  strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line))) + " " + name,
		Private: string(pem.EncodeToMemory(block)),
	}, nil
}

// loginKey is the key by which an operation would log in: the instance's, or, for an instantiation, one that is to be
// made. It is nil where there can be none, because the machines would not have it.
func loginKey(r lcm.Request) *lcm.SSHKey {
	switch {
	case !r.TakesKey():
		return nil
	case r.Instance.SSHKey == nil && r.Type == sol.LcmOperationInstantiate:
		return &lcm.SSHKey{}
	}
	return r.Instance.SSHKey
}

// keyed says whether the key is needed.
func (p params) keyed() bool {
	return p.master.keyed || p.worker.keyed || p.storage != nil && p.storage.keyed
}
