package signature_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

// FuzzChecker: for each manifest, certificate and signature of an artifact, the archive is rejected or its signature is
// checked, and only the manifest of the signer is trusted.
func FuzzChecker(f *testing.F) {
	ca := cmstest.NewCA(f, "root")
	id := ca.Issue(cmstest.Options{Name: "signer"})
	good, trust := sign1(f, id, true), trustOf(f, ca.PEM())
	const artifact = "Scripts/run.sh.cms"
	content, _, _ := strings.Cut(good[manifestPath], "-----BEGIN CMS-----")
	f.Add(good[manifestPath], string(cmstest.CertificatePEM(id.Certificate)), good[artifact])
	f.Add(content+bareSignature(f, content, id), string(id.Certificate.Raw), "x")
	f.Add(content+signText(f, content, id, ca.Issue(cmstest.Options{Name: "b"})), "", good[artifact])
	f.Add("Source: a\nSignature: ../x\n-----BEGIN CMS-----\n", "-----BEGIN CERTIFICATE-----", "")
	f.Fuzz(func(t *testing.T, manifest, certificate, signed string) {
		files := maps.Clone(good)
		files[manifestPath], files["top.cert"], files[artifact] = manifest, certificate, signed
		r, err := check(t, pack(t, files, zip.Deflate), trust)
		if err != nil {
			_, rejected := errors.AsType[*csar.Rejection](err)
			require.True(t, rejected, "%v", err)
			return
		}
		require.NotEmpty(t, r.Checks)
		if r.State != signature.Trusted {
			return
		}
		before, _, _ := strings.Cut(manifest, "-----BEGIN ")
		normal := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
		require.Equal(t, normal(content), normal(before))
		require.NotEmpty(t, r.Signers)
	})
}

// TestResultIsBounded: a package with many signatures of artifacts, all of them wrong, has a result of limited size,
// and still shows a failure.
func TestResultIsBounded(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id := ca.Issue(cmstest.Options{Name: "signer"})
	f := sign1(t, id, false)
	content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN CMS-----")
	wrong := signText(t, "other", id)
	var more strings.Builder
	for i := range 900 {
		name := "Files/" + strings.Repeat("a", i%50) + string(rune('a'+i%26)) + strings.Repeat("b", i/50)
		if _, twice := f[name]; twice {
			continue
		}
		f[name], f[name+".cms"] = "x", wrong
		more.WriteString("\nSource: " + name + "\nAlgorithm: SHA-256\nHash: " + sumOf("x") + "\nSignature: " + name +
			".cms\n")
	}
	content += more.String()
	f[manifestPath] = content + signText(t, content, id)
	r, err := check(t, pack(t, f, zip.Deflate), trustOf(t, ca.PEM()))
	require.NoError(t, err)
	requireProblem(t, r, signature.Failed, signature.CheckArtifact, "made for other content")
	require.LessOrEqual(t, len(r.Checks), 100)
	require.LessOrEqual(t, len(r.Signers), 50)
}

// TestCheckerUsesLittleMemory: a manifest of the largest size, with many signatures.
func TestCheckerUsesLittleMemory(t *testing.T) {
	ca := cmstest.NewCA(t, "root")
	id, trust := ca.Issue(cmstest.Options{Name: "signer"}), trustOf(t, ca.PEM())
	f := sign1(t, id, false)
	content, _, _ := strings.Cut(f[manifestPath], "-----BEGIN CMS-----")
	content = strings.Repeat("# "+strings.Repeat("x", 97)+"\n", 40_000) + content // 4 MB
	f[manifestPath] = content + strings.Repeat(signText(t, "other", id, id, id, id, id, id, id, id), 8)
	data := pack(t, f, zip.Store)
	perRun := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		for range b.N {
			a, c, err := csar.OpenUpload(
				b.Context(), bytes.NewReader(data), int64(len(data)), csar.DefaultLimits(), inTemp(b),
			)
			require.NoError(b, err)
			_, err = signature.NewChecker(b.Context(), a, c, trust, cmstest.Now)
			require.NoError(b, err)
		}
	}).AllocedBytesPerOp()
	t.Logf("%d MiB", perRun>>20)
	require.Less(t, perRun, int64(128<<20))
}
