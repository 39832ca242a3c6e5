package k8scluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"golang.org/x/crypto/ssh"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// A role for which the request has neither a password nor a private_key is logged in to with a key pair of the instance's own, if the package's
// template takes it (lcm.ParamPublicKey). The pair is made when the instantiation is admitted, and is the same until the instance is terminated.

var _ lcm.KeyMaker = (*Driver)(nil)

// NewKey implements lcm.KeyMaker.
func (d *Driver) NewKey(r lcm.Request) (*lcm.SSHKey, error) {
	p, bad := parse(r.AdditionalParams, r.Flavour, loginKey(r))
	if len(bad) > 0 || !p.keyed() {
		return nil, lcm.Unprocessable(bad...)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key pair: %w", err)
	}
	name := "gybe@" + r.Instance.ID
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

// loginKey is the key by which an operation would log in: the instance's, or, for an instantiation, one that is to be made. It is nil where there
// can be none, because the machines would not have it.
func loginKey(r lcm.Request) *lcm.SSHKey {
	switch {
	case !takesKey(r.Package, r.Flavour):
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

// takesKey says whether the template of a flavour declares the parameter for the key. A template that is none is the infra driver's to report.
func takesKey(pkg fs.FS, f *vnfd.Flavour) bool {
	dir := path.Join("BaseHOT", f.ID)
	if !fs.ValidPath(dir) {
		return false
	}
	entries, err := fs.ReadDir(pkg, dir) // in order
	if err != nil {
		return false
	}
	at := slices.IndexFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(path.Ext(e.Name())))
	})
	if at < 0 {
		return false
	}
	name := path.Join(dir, entries[at].Name())
	if info, err := entries[at].Info(); err != nil || info.Size() > maxTemplate {
		return false
	}
	raw, err := fs.ReadFile(pkg, name)
	if err != nil {
		return false
	}
	var top struct {
		Parameters map[string]any `yaml:"parameters"`
	}
	if yaml.Unmarshal(raw, &top) != nil {
		return false
	}
	_, declared := top.Parameters[lcm.ParamPublicKey]
	return declared
}
