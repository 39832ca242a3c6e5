package remote

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/crypto/ssh"
)

// HostKey is a machine's public key.
type HostKey struct {
	Type string // e.g. ssh-ed25519
	Key  []byte // in the wire format of RFC 4253 clause 6.6
}

// Fingerprint returns the SHA256 fingerprint as ssh-keygen -l shows it, with the key's type.
func (k HostKey) Fingerprint() string {
	pub, err := ssh.ParsePublicKey(k.Key)
	if err != nil {
		return "unreadable " + k.Type + " key"
	}
	return ssh.FingerprintSHA256(pub) + " (" + k.Type + ")"
}

// Machine names the machine of a VNFC. VNFCs of other instances, also in other projects, can have the same id.
type Machine struct{ Instance, VNFC string }

// HostKeyStore keeps the key of each VNFC's machine.
type HostKeyStore interface {
	// Lookup returns the pinned key, or nil when none is pinned.
	Lookup(ctx context.Context, m Machine) (*HostKey, error)
	// Pin stores k if no key is pinned yet, and returns the key that is pinned afterwards: concurrent callers, also on
	// different nodes, all get the same key.
	Pin(ctx context.Context, m Machine, k HostKey) (HostKey, error)
}

// errPeek ends a handshake that was started only to read the machine's key.
var errPeek = errors.New("only looking at the host key")

// algorithmsOf lists the signature algorithms that prove possession of a key of this type.
func algorithmsOf(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// verifier checks one handshake against the store. seen is the key the machine showed.
type verifier struct {
	ctx     context.Context //nolint:containedctx // ssh's callback has no context
	store   HostKeyStore
	machine Machine
	pinned  *HostKey
	seen    HostKey
}

func (v *verifier) check(_ string, _ net.Addr, key ssh.PublicKey) error {
	v.seen = HostKey{Type: key.Type(), Key: key.Marshal()}
	if v.pinned == nil {
		k, err := v.store.Pin(v.ctx, v.machine, v.seen)
		if err != nil {
			return fmt.Errorf("pin the host key: %w", err)
		}
		v.pinned = &k
	}
	if v.pinned.Type != v.seen.Type || string(v.pinned.Key) != string(v.seen.Key) {
		return &HostKeyError{VNFC: v.machine.VNFC, Pinned: v.pinned.Fingerprint(), Seen: v.seen.Fingerprint()}
	}
	return nil
}
