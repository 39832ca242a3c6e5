package signature_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

const manifestPath = "top.mf"

// files are those of an unsigned package.
func files() map[string]string {
	return map[string]string{
		csar.MetaPath: "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nEntry-Definitions: Definitions/top.yaml\n\n" +
			"Name: Scripts/run.sh\nAlgorithm: SHA-256\nHash: " + sumOf("#!/bin/sh\n") + "\n",
		"Definitions/top.yaml": "tosca_definitions_version: tosca_simple_yaml_1_2\n",
		"Scripts/run.sh":       "#!/bin/sh\n",
		"Files/x.img":          "an image",
	}
}

func sumOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func pack(tb testing.TB, files map[string]string, method uint16) []byte {
	tb.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		require.NoError(tb, err)
		_, err = io.WriteString(w, files[name])
		require.NoError(tb, err)
	}
	require.NoError(tb, z.Close())
	return buf.Bytes()
}

func unpack(tb testing.TB, archive []byte) map[string]string {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(tb, err)
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(tb, err)
		data, err := io.ReadAll(r)
		require.NoError(tb, err)
		out[f.Name] = string(data)
	}
	return out
}

// sign1 signs files with option 1 and returns the files of the signed package.
func sign1(tb testing.TB, id cms.Identity, artifacts bool) map[string]string {
	tb.Helper()
	return unpack(tb, signedArchive(tb, id, artifacts))
}

func signedArchive(tb testing.TB, id cms.Identity, artifacts bool) []byte {
	tb.Helper()
	data := pack(tb, files(), zip.Deflate)
	a, err := csar.Open(bytes.NewReader(data), int64(len(data)), csar.DefaultLimits())
	require.NoError(tb, err)
	var out bytes.Buffer
	require.NoError(tb, signature.SignManifest(tb.Context(), a, &out, id, cmstest.Now,
		[]string{"vnf_product_name: x"}, artifacts))
	return out.Bytes()
}

// signManifest signs a manifest with any identity, also with one that this package does not accept.
func signManifest(tb testing.TB, files map[string]string, ids ...cms.Identity) {
	tb.Helper()
	content, _, _ := strings.Cut(files[manifestPath], "-----BEGIN CMS-----")
	files[manifestPath] = content + signText(tb, content, ids...)
}

// signAt replaces the signature by one with another signing time.
func signAt(tb testing.TB, files map[string]string, at time.Time, id cms.Identity) {
	tb.Helper()
	content, _, _ := strings.Cut(files[manifestPath], "-----BEGIN CMS-----")
	out, err := cms.Sign(hashOf([]byte(content)), at, id)
	require.NoError(tb, err)
	files[manifestPath] = content + string(out)
}

type scratch struct{ *os.File }

func (s scratch) Bytes() int64   { info, _ := s.Stat(); return info.Size() }
func (s scratch) Discard() error { return os.Remove(s.Name()) }

func inTemp(tb testing.TB) csar.Scratch {
	tb.Helper()
	return func(_ context.Context, r io.Reader) (csar.ScratchFile, error) {
		f, err := os.CreateTemp(tb.TempDir(), "")
		require.NoError(tb, err)
		_, err = io.Copy(f, r)
		return scratch{f}, err
	}
}

// check reads a package completely; the error is a rejection of the archive, not of its signature.
func check(tb testing.TB, data []byte, trust *signature.Trust) (*signature.Result, error) {
	tb.Helper()
	return checkAt(tb, data, trust, cmstest.Now)
}

func checkAt(tb testing.TB, data []byte, trust *signature.Trust, now time.Time) (*signature.Result, error) {
	tb.Helper()
	a, c, err := csar.OpenUpload(
		tb.Context(), bytes.NewReader(data), int64(len(data)), csar.DefaultLimits(), inTemp(tb),
	)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(tb, c.Close()) }()
	checker, err := signature.NewChecker(tb.Context(), a, c, trust, now)
	if err != nil {
		return nil, err
	}
	report, err := a.Verify(tb.Context(), nil, checker.Sums()...)
	if err != nil {
		return nil, err
	}
	return checker.Finish(report), nil
}

func trustOf(tb testing.TB, parts ...[]byte) *signature.Trust {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "trust.pem")
	require.NoError(tb, os.WriteFile(name, bytes.Join(parts, nil), 0o600))
	t, err := signature.LoadTrust("", []string{name})
	require.NoError(tb, err)
	return t
}

// noTrust is an empty trust store.
func noTrust(tb testing.TB) *signature.Trust {
	tb.Helper()
	t, err := signature.LoadTrust(tb.TempDir(), nil)
	require.NoError(tb, err)
	return t
}

// requireProblem checks that a package is not trusted, for this reason.
func requireProblem(tb testing.TB, r *signature.Result, state signature.State, name, detail string) {
	tb.Helper()
	require.Equal(tb, state, r.State, "%+v", r.Checks)
	p := r.Problem()
	require.NotNil(tb, p)
	require.Equal(tb, name, p.Name, "%+v", p)
	require.Contains(tb, p.Detail, detail)
}

func TestSignedPackageIsTrusted(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	middle := ca.Intermediate("middle")
	id := middle.Issue(cmstest.Options{Name: "signer"})
	r, err := check(t, signedArchive(t, id, true), trustOf(t, ca.PEM()))
	require.NoError(t, err)
	require.Equal(t, signature.Trusted, r.State, "%+v", r.Checks)
	require.Equal(t, signature.Option1, r.Option)
	require.Empty(t, r.SigningCertificate, "it is in the signature, not in a file")
	require.Len(t, r.Signers, 2)
	s := r.Signers[0]
	sum := sha256.Sum256(id.Certificate.Raw)
	at := cmstest.Now
	require.Equal(t, signature.Signer{
		Signs: manifestPath, Subject: "CN=signer,O=Test", Issuer: "CN=middle,O=Test", Serial: "1",
		Fingerprint: hex.EncodeToString(sum[:]), Root: "CN=root,O=Test", RootFingerprint: s.RootFingerprint,
		Algorithm: "SHA-256 with ECDSA", SigningTime: &at, Trusted: true,
	}, s)
	require.NotEmpty(t, s.RootFingerprint)
	require.Equal(t, "Scripts/run.sh", r.Signers[1].Signs)
	first, again := signedArchive(t, id, true), signedArchive(t, id, true)
	require.Equal(t, first, again, "the same bytes each time")
}

// TestDefectsOfSignatures has a row for each way in which a signature of option 1 can be wrong.
func TestDefectsOfSignatures(t *testing.T) {
	t.Parallel()
	ca, other := cmstest.NewCA(t, "root"), cmstest.NewCA(t, "stranger")
	id, weakRoot := ca.Issue(cmstest.Options{Name: "signer"}), cmstest.NewCAWithKey(t, "weak", cmstest.ShortRSA())
	day := 24 * time.Hour
	trust := trustOf(t, ca.PEM())
	signedBy := func(id cms.Identity) func(t *testing.T, f map[string]string) {
		return func(t *testing.T, f map[string]string) { t.Helper(); signManifest(t, f, id) }
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, f map[string]string)
		trust  *signature.Trust
		state  signature.State
		check  string
		detail string
	}{
		"unsigned": {
			func(t *testing.T, f map[string]string) {
				t.Helper()
				f[manifestPath], _, _ = strings.Cut(f[manifestPath], "-----BEGIN")
			}, trust, signature.Unsigned, signature.CheckSignature, "the manifest top.mf is not signed",
		},
		"a file that is not listed": {
			func(_ *testing.T, f map[string]string) { f["Scripts/extra.sh"] = "rm -rf /" },
			trust, signature.Failed, signature.CheckCoverage,
			"1 file without a hash in the signed manifest: Scripts/extra.sh",
		},
		"a hash that was changed in the manifest": {
			func(_ *testing.T, f map[string]string) {
				f["Files/x.img"] = "another image"
				f[manifestPath] = strings.Replace(f[manifestPath], sumOf("an image"), sumOf("another image"), 1)
			}, trust, signature.Failed, signature.CheckSignature, "made for other content",
		},
		"a file that was removed with its entry": {
			func(_ *testing.T, f map[string]string) {
				delete(f, "Files/x.img")
				f[manifestPath] = strings.Replace(f[manifestPath], "\nSource: Files/x.img\nAlgorithm: SHA-256\nHash: "+
					sumOf("an image")+"\n", "", 1)
			}, trust, signature.Failed, signature.CheckSignature, "made for other content",
		},
		"SHA-224 in the manifest": {
			func(t *testing.T, f map[string]string) {
				t.Helper()
				sum := sha256.Sum224([]byte("an image"))
				f[manifestPath] = strings.Replace(f[manifestPath], "SHA-256\nHash: "+sumOf("an image"),
					"SHA-224\nHash: "+hex.EncodeToString(sum[:]), 1)
				signManifest(t, f, id)
			}, trust, signature.Failed, signature.CheckCoverage,
			"Files/x.img in the signed manifest is weaker than SHA-256",
		},
		"the signature of another package": {
			func(t *testing.T, f map[string]string) {
				t.Helper()
				content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN")
				f[manifestPath] = content + signText(t, "metadata:\n  vnf_product_name: y\n", id)
			}, trust, signature.Failed, signature.CheckSignature, "made for other content",
		},
		"an unknown authority": {
			signedBy(other.Issue(cmstest.Options{Name: "signer"})), trust, signature.Failed, signature.CheckTrust,
			"unknown authority CN=stranger,O=Test",
		},
		"an authority of the same name with another key": {
			signedBy(cmstest.NewCA(t, "root").Issue(cmstest.Options{Name: "signer"})), trust, signature.Failed,
			signature.CheckTrust, "unknown authority",
		},
		"an expired certificate": {
			signedBy(ca.Issue(cmstest.Options{Name: "old", NotAfter: cmstest.Now.Add(-day)})), trust,
			signature.Failed, signature.CheckCertificate, "expired on 2026-05-31",
		},
		"a certificate of the future": {
			signedBy(ca.Issue(cmstest.Options{Name: "new", NotBefore: cmstest.Now.Add(day)})), trust,
			signature.Failed, signature.CheckCertificate, "not valid before 2026-06-02",
		},
		"a certificate for TLS servers": {
			signedBy(ca.Issue(cmstest.Options{Name: "www", ExtUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})),
			trust, signature.Failed, signature.CheckCertificate, "key usage",
		},
		"a certificate for encryption": {
			signedBy(ca.Issue(cmstest.Options{Name: "enc", Usage: x509.KeyUsageKeyEncipherment})), trust,
			signature.Failed, signature.CheckCertificate, "key usage",
		},
		"a signing time in the future": {
			func(t *testing.T, f map[string]string) { t.Helper(); signAt(t, f, cmstest.Now.Add(2*time.Hour), id) },
			trust, signature.Failed, signature.CheckCertificate, "2026-06-01T14:00:00Z is in the future",
		},
		"a signing time before the certificate": {
			func(t *testing.T, f map[string]string) { t.Helper(); signAt(t, f, cmstest.Now.Add(-400*day), id) },
			trust, signature.Failed, signature.CheckCertificate, "outside of the certificate's validity",
		},
		"a weak key of the root": {
			signedBy(weakRoot.Issue(cmstest.Options{Name: "s"})), trustOf(t, weakRoot.PEM()), signature.Failed,
			signature.CheckTrust, "a key of the chain is not accepted: an RSA key of 1024 bits",
		},
		"a weak key of an authority": {
			signedBy(ca.IntermediateWithKey("m", cmstest.ShortRSA()).Issue(cmstest.Options{Name: "s"})), trust,
			signature.Failed, signature.CheckTrust, "no chain leads",
		},
		"many certificates with the name of the signer's": {
			func(t *testing.T, f map[string]string) {
				t.Helper()
				content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN CMS-----")
				f[manifestPath] = content + bareSignature(t, content, id)
				serial := id.Certificate.SerialNumber.Int64()
				for range 3 {
					other := ca.Issue(cmstest.Options{Name: "signer", Serial: serial})
					f["top.cert"] += string(cmstest.CertificatePEM(other.Certificate))
				}
				f["top.cert"] += string(cmstest.CertificatePEM(id.Certificate))
			}, trust, signature.Failed, signature.CheckSignature, "does not belong to the signer's certificate",
		},
		"a revoked certificate": {
			nil, trustOf(t, ca.PEM(), ca.CRL(cmstest.Now.Add(day), id.Certificate)), signature.Failed,
			signature.CheckRevocation, "revoked (trust.pem)",
		},
		"an old revocation list": {
			nil, trustOf(t, ca.PEM(), ca.CRL(cmstest.Now.Add(-time.Hour))), signature.Failed,
			signature.CheckRevocation, "out of date since 2026-06-01",
		},
		"no trust store": {
			nil, noTrust(t), signature.Failed, signature.CheckTrust, "the trust store has no certificates",
		},
		"garbage": {
			func(_ *testing.T, f map[string]string) {
				content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN")
				f[manifestPath] = content + "-----BEGIN CMS-----\nrubbish\n-----END CMS-----\n"
			}, trust, signature.Failed, signature.CheckSignature, "damaged",
		},
		"no end": {
			func(_ *testing.T, f map[string]string) {
				f[manifestPath], _, _ = strings.Cut(f[manifestPath], "-----END CMS-----")
			}, trust, signature.Failed, signature.CheckSignature, "damaged",
		},
		"text behind the signature": {
			func(_ *testing.T, f map[string]string) { f[manifestPath] += "Source: Scripts/extra.sh\n" },
			trust, signature.Failed, signature.CheckSignature, "damaged",
		},
		"a certificate file that is none": {
			func(_ *testing.T, f map[string]string) { f["top.cert"] = "#!/bin/sh\n" },
			trust, signature.Failed, signature.CheckCertificate, "not a certificate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := sign1(t, id, false)
			if tc.change != nil {
				tc.change(t, f)
			}
			r, err := check(t, pack(t, f, zip.Deflate), tc.trust)
			require.NoError(t, err)
			requireProblem(t, r, tc.state, tc.check, tc.detail)
		})
	}
}

func signText(tb testing.TB, content string, ids ...cms.Identity) string {
	tb.Helper()
	out, err := cms.Sign(hashOf([]byte(content)), cmstest.Now, ids...)
	require.NoError(tb, err)
	return string(out)
}

func TestWrongHashRejectsTheArchive(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	f := sign1(t, ca.Issue(cmstest.Options{Name: "signer"}), false)
	f["Files/x.img"] = "another image"
	_, err := check(t, pack(t, f, zip.Deflate), trustOf(t, ca.PEM()))
	require.ErrorContains(t, err, "Files/x.img: the file is not the one that top.mf")
}

// TestEndsOfLinesDoNotMatter: the manifest was converted after it was signed, or is signed as openssl does without
// -binary.
func TestEndsOfLinesDoNotMatter(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id, trust := ca.Issue(cmstest.Options{Name: "signer"}), trustOf(t, ca.PEM())
	good := sign1(t, id, false)[manifestPath]
	content, block, _ := strings.Cut(good, "-----BEGIN CMS-----")
	dos := strings.ReplaceAll(content, "\n", "\r\n")
	for name, manifest := range map[string]string{
		"converted to CRLF":                strings.ReplaceAll(good, "\n", "\r\n"),
		"signed with CRLF, stored with LF": content + signText(t, dos, id),
		"signed without the last end":      content + signText(t, strings.TrimSuffix(content, "\n"), id),
		"signed with CRLF":                 dos + signText(t, dos, id),
	} {
		f := sign1(t, id, false)
		f[manifestPath] = manifest
		r, err := check(t, pack(t, f, zip.Deflate), trust)
		require.NoError(t, err)
		require.Equal(t, signature.Trusted, r.State, "%s: %+v", name, r.Checks)
	}
	f := sign1(t, id, false)
	f[manifestPath] = strings.Replace(content, "\n", "\n\n", 1) + "-----BEGIN CMS-----" + block
	r, err := check(t, pack(t, f, zip.Deflate), trust)
	require.NoError(t, err)
	requireProblem(t, r, signature.Failed, signature.CheckSignature, "made for other content")
}

func TestCertificateInAFile(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id, trust := ca.Issue(cmstest.Options{Name: "signer"}), trustOf(t, ca.PEM())
	text := string(cmstest.CertificatePEM(id.Certificate))
	without := func(t *testing.T, f map[string]string) { // sign without the certificate
		t.Helper()
		content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN CMS-----")
		f[manifestPath] = content + bareSignature(t, content, id)
	}
	f := sign1(t, id, false)
	without(t, f)
	r, err := check(t, pack(t, f, zip.Deflate), trust)
	require.NoError(t, err)
	requireProblem(t, r, signature.Failed, signature.CheckSignature, "neither in the signature nor in a file")

	f["top.cert"] = text
	r, err = check(t, pack(t, f, zip.Deflate), trust)
	require.NoError(t, err)
	require.Equal(t, signature.Trusted, r.State, "%+v", r.Checks)
	require.Equal(t, text, r.SigningCertificate)

	// A certificate of another key that claims to be the signer's.
	f["top.cert"] = string(cmstest.CertificatePEM(ca.Issue(
		cmstest.Options{Name: "signer", Serial: id.Certificate.SerialNumber.Int64()}).Certificate))
	r, err = check(t, pack(t, f, zip.Deflate), trust)
	require.NoError(t, err)
	requireProblem(t, r, signature.Failed, signature.CheckSignature, "does not belong to the signer's certificate")

	delete(f, "top.cert")
	f[csar.MetaPath] = strings.Replace(f[csar.MetaPath], "\n\n", "\nETSI-Entry-Certificate: Certs/v.cert\n\n", 1)
	f["Certs/v.cert"] = text
	content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN CMS-----")
	before := files()[csar.MetaPath]
	before = strings.Replace(before, "top.yaml\n", "top.yaml\nETSI-Entry-Manifest: top.mf\n", 1)
	f[manifestPath] = strings.Replace(content, sumOf(before), sumOf(f[csar.MetaPath]), 1)
	without(t, f)
	r, err = check(t, pack(t, f, zip.Deflate), trust)
	require.NoError(t, err)
	require.Equal(t, signature.Trusted, r.State, "%+v", r.Checks)
	require.Equal(t, text, r.SigningCertificate)
}

func TestSeveralSignersNeedOneThatIsTrusted(t *testing.T) {
	t.Parallel()
	ca, other := cmstest.NewCA(t, "root"), cmstest.NewCA(t, "stranger")
	a, b := ca.Issue(cmstest.Options{Name: "a"}), other.Issue(cmstest.Options{Name: "b"})
	trust := trustOf(t, ca.PEM())
	f := sign1(t, a, false)
	content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN CMS-----")
	damaged := strings.Replace(signText(t, content, b), "A", "B", 3)
	for name, tc := range map[string]struct {
		signatures string
		state      signature.State
	}{
		"in one message":          {signText(t, content, a, b), signature.Trusted},
		"in two messages":         {signText(t, content, b) + signText(t, content, a), signature.Trusted},
		"none of them trusted":    {signText(t, content, b) + signText(t, content, b), signature.Failed},
		"one of them for another": {signText(t, content, a) + signText(t, "x", b), signature.Failed},
		"one of them damaged":     {signText(t, content, a) + damaged, signature.Failed},
	} {
		f[manifestPath] = content + tc.signatures
		r, err := check(t, pack(t, f, zip.Deflate), trust)
		require.NoError(t, err)
		require.Equal(t, tc.state, r.State, "%s: %+v", name, r.Checks)
	}
}

func TestSignaturesOfArtifacts(t *testing.T) {
	t.Parallel()
	ca, other := cmstest.NewCA(t, "root"), cmstest.NewCA(t, "stranger")
	id, trust := ca.Issue(cmstest.Options{Name: "signer"}), trustOf(t, ca.PEM())
	const name = "Scripts/run.sh.cms"
	for label, tc := range map[string]struct {
		content string
		remove  bool
		detail  string
	}{
		"of another file":      {signText(t, "other", id), false, "signature: the signature was made for"},
		"of an unknown signer": {signText(t, "#!/bin/sh\n", other.Issue(cmstest.Options{Name: "x"})), false, "trust: "},
		"damaged":              {"-----BEGIN CMS-----\n", false, "signature: the signature is damaged"},
		"missing":              {"", true, "the file Scripts/run.sh.cms is not in the package"},
	} {
		f := sign1(t, id, true)
		require.Contains(t, f[manifestPath], "Signature: "+name+"\n")
		f[name] = tc.content
		if tc.remove {
			delete(f, name)
		}
		r, err := check(t, pack(t, f, zip.Deflate), trust)
		require.NoError(t, err)
		requireProblem(t, r, signature.Failed, signature.CheckArtifact, tc.detail)
		require.Equal(t, "Scripts/run.sh", r.Problem().Subject, label)
	}
}
