package k8scluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What older scripts print for the next node is found among what they trace, also where they have cleared the screen
// first.
func TestPrintedJoinInformationIsFound(t *testing.T) {
	t.Parallel()
	out := "+ echo token:zzzzzz.0123456789abcdef\n\x1b[H\x1b[2J\x1b[3Jtoken:abcdef.0123456789abcdef\r\n" +
		"server:https://10.0.0.1:6443\n" +
		"+ echo ssl_ca_cert_hash:00\nssl_ca_cert_hash:53eecb14\n" +
		"certificate_key:[upload-certs] Storing the certificates\n"
	require.Equal(t, joinSecrets{token: "abcdef.0123456789abcdef", caHash: "53eecb14"}, parsePrinted([]byte(out)))
	require.Equal(t, joinSecrets{}, parsePrinted([]byte("token:\nno token: here\n")))
}

// Joining nodes know the CA by the hash that kubeadm and openssl compute.
func TestHashOfTheCAIsThatOfItsKey(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, key.Public(), key)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	sum := sha256.Sum256(public)
	got, err := caHash(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(sum[:]), got)
	_, err = caHash([]byte("no certificate"))
	require.Error(t, err)
}

// Scripts that trace themselves show what is worth hiding in more places than others.
func TestMaskHidesWhatOlderScriptsTrace(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("0f", 32)
	for in, want := range map[string]string{
		key:                                   "***",
		"+ cert_key='" + key + "'":            "+ cert_key='***'",
		"sha256:" + key:                       "sha256:" + key,
		"bearer eyJhbGciOiJSUzI1NiJ9.e30.abc": "bearer ***",
	} {
		require.Equal(t, want, mask(in, nil))
	}
}

// Nodes that a script would give one name are refused before it runs.
func TestNodesThatALegacyScriptWouldNameAlikeAreRefused(t *testing.T) {
	t.Parallel()
	l := &legacy{session: &session{t: &topology{
		masters: []node{{role: roleMaster, ip: "10.0.0.5"}},
		workers: []node{{role: roleWorker, ip: "10.0.1.5"}, {role: roleWorker, ip: "10.0.2.6"}},
	}}}
	require.NoError(t, l.checkNames())
	l.t.workers[1].ip = "10.0.2.5"
	require.ErrorContains(t, l.checkNames(), "10.0.1.5 and 10.0.2.5 both worker5")
}
