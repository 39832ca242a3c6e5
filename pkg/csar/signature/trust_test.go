package signature_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

func TestLoadTrustReadsAFolder(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	der, _ := pem.Decode(ca.PEM())
	delta := ca.ChangedCRL(cmstest.Now, func(l *x509.RevocationList) {
		l.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}}
	})
	list, _ := pem.Decode(ca.CRL(cmstest.Now))
	key, half := cmstest.KeyPEM(t, ca.Issue(cmstest.Options{})), ca.CRL(cmstest.Now)[:100]
	for name, tc := range map[string]struct {
		file  string
		data  []byte
		empty bool
		want  string // an error
	}{
		"PEM":                       {"ca.pem", ca.PEM(), false, ""},
		"DER":                       {"CA.CRT", der.Bytes, false, ""},
		"a list in DER":             {"ca.crl", list.Bytes, true, ""},
		"both in one file":          {"ca.cert", append(ca.PEM(), ca.CRL(cmstest.Now)...), false, ""},
		"another file":              {"README", []byte("x"), true, ""},
		"a hidden file":             {".ca.pem", []byte("x"), true, ""},
		"garbage":                   {"ca.pem", []byte("x"), true, "neither a certificate nor a revocation list"},
		"an empty file":             {"ca.pem", nil, true, "neither a certificate nor a revocation list"},
		"a delta of a list":         {"ca.crl", delta, true, "the critical extension 2.5.29.27"},
		"a private key":             {"ca.pem", key, true, "a block PRIVATE KEY"},
		"a list that was truncated": {"ca.crl", append(ca.PEM(), half...), true, "a damaged block"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, tc.file), tc.data, 0o600))
		trust, err := signature.LoadTrust(dir, nil)
		if tc.want != "" {
			require.ErrorContains(t, err, tc.want, name)
			require.ErrorContains(t, err, tc.file, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tc.empty, trust.Empty(), name)
	}
	_, err := signature.LoadTrust(filepath.Join(t.TempDir(), "missing"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = signature.LoadTrust("", []string{t.TempDir()})
	require.ErrorContains(t, err, "not a regular file")
}

// TestEachCertificateOfTheStoreIsTrusted: an operator can trust an authority below a root, or one signer.
func TestEachCertificateOfTheStoreIsTrusted(t *testing.T) {
	t.Parallel()
	root := cmstest.NewCA(t, "root")
	middle := root.Intermediate("middle")
	id := middle.Issue(cmstest.Options{Name: "signer"})
	other := middle.Issue(cmstest.Options{Name: "other"})
	without := func(id cms.Identity) cms.Identity { id.Chain = nil; return id }
	for name, tc := range map[string]struct {
		id    cms.Identity
		trust []byte
		state signature.State
	}{
		"the root":                    {id, root.PEM(), signature.Trusted},
		"the root, without the chain": {without(id), root.PEM(), signature.Failed},
		"the authority in between":    {without(id), middle.PEM(), signature.Trusted},
		"the signer":                  {without(id), cmstest.CertificatePEM(id.Certificate), signature.Trusted},
		"another signer":              {other, cmstest.CertificatePEM(id.Certificate), signature.Failed},
	} {
		r, err := check(t, signedArchive(t, tc.id, false), trustOf(t, tc.trust))
		require.NoError(t, err)
		require.Equal(t, tc.state, r.State, "%s: %+v", name, r.Checks)
	}
}

func TestRevocationLists(t *testing.T) {
	t.Parallel()
	root := cmstest.NewCA(t, "root")
	middle := root.Intermediate("middle")
	id := middle.Issue(cmstest.Options{Name: "signer"})
	namesake := cmstest.NewCA(t, "root")
	next, past := cmstest.Now.Add(time.Hour), cmstest.Now.Add(-time.Hour)
	for name, tc := range map[string]struct {
		lists  [][]byte
		detail string // of the failure
		skip   bool
	}{
		"none":                     {nil, "", true},
		"of one of two issuers":    {[][]byte{middle.CRL(next)}, "", true},
		"of both":                  {[][]byte{middle.CRL(next), root.CRL(next)}, "", false},
		"the signer is revoked":    {[][]byte{middle.CRL(next, id.Certificate)}, "the certificate is revoked", false},
		"the authority is revoked": {[][]byte{root.CRL(next, id.Chain[0])}, "the certificate is revoked", false},
		"an old one and a new one": {[][]byte{middle.CRL(past), middle.CRL(next), root.CRL(next)}, "", false},
		"revoked by the old one":   {[][]byte{middle.CRL(next), middle.CRL(past, id.Certificate)}, "revoked", false},
		"no longer on hold": {[][]byte{middle.ChangedCRL(next, func(l *x509.RevocationList) {
			l.RevokedCertificateEntries[0].ReasonCode = 8
		}, id.Certificate), root.CRL(next)}, "", false},
		"of an issuer of this name": {[][]byte{namesake.CRL(next)}, "is not signed by CN=root,O=Test", false},
	} {
		r, err := check(t, signedArchive(t, id, false), trustOf(t, append(tc.lists, root.PEM())...))
		require.NoError(t, err)
		if tc.detail != "" {
			requireProblem(t, r, signature.Failed, signature.CheckRevocation, tc.detail)
			continue
		}
		require.Equal(t, signature.Trusted, r.State, "%s: %+v", name, r.Checks)
		for _, c := range r.Checks {
			if c.Name == signature.CheckRevocation {
				require.Equal(t, tc.skip, c.Outcome == signature.Skipped, "%s: %+v", name, c)
			}
		}
	}
}
