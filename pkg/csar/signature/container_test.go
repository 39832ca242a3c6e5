package signature_test

import (
	"archive/zip"
	"bytes"
	"crypto"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

func hashOf(content []byte) func(crypto.Hash) ([]byte, error) {
	return func(h crypto.Hash) ([]byte, error) {
		w := h.New()
		w.Write(content)
		return w.Sum(nil), nil
	}
}

// bareSignature is a signature that does not carry the certificate: it is taken out of the DER.
func bareSignature(tb testing.TB, content string, id cms.Identity) string {
	tb.Helper()
	return cmstest.WithoutCertificates(tb, []byte(signText(tb, content, id)))
}

func sign2(tb testing.TB, inner []byte, id cms.Identity) []byte {
	tb.Helper()
	var out bytes.Buffer
	require.NoError(tb, signature.SignArchive(tb.Context(), bytes.NewReader(inner), &out, id, cmstest.Now, "vnf"))
	return out.Bytes()
}

func TestContainerIsTrusted(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	id, trust := ca.Issue(cmstest.Options{Name: "signer"}), trustOf(t, ca.PEM())
	inner := pack(t, files(), zip.Deflate)
	stored := sign2(t, inner, id)
	require.Equal(t, stored, sign2(t, inner, id), "the same bytes each time")
	for name, data := range map[string][]byte{
		"stored": stored, "compressed": pack(t, unpack(t, stored), zip.Deflate),
	} {
		r, err := check(t, data, trust)
		require.NoError(t, err, name)
		require.Equal(t, signature.Trusted, r.State, "%s: %+v", name, r.Checks)
		require.Equal(t, signature.Option2, r.Option)
		require.Equal(t, "vnf.csar", r.Signers[0].Signs)
		require.Equal(t, string(cmstest.CertificatePEM(id.Certificate)), r.SigningCertificate)
	}
}

func TestDefectsOfContainers(t *testing.T) {
	t.Parallel()
	ca, other := cmstest.NewCA(t, "root"), cmstest.NewCA(t, "stranger")
	id, trust := ca.Issue(cmstest.Options{Name: "signer"}), trustOf(t, ca.PEM())
	inner := pack(t, files(), zip.Deflate)
	changed := files()
	changed["Files/x.img"] = "another image"
	for name, tc := range map[string]struct {
		change func(f map[string]string)
		check  string
		detail string
	}{
		"another archive": {
			func(f map[string]string) { f["vnf.csar"] = string(pack(t, changed, zip.Deflate)) },
			signature.CheckSignature, "made for other content",
		},
		"an unknown signer": {
			func(f map[string]string) {
				f["vnf.cms"] = signText(t, string(inner), other.Issue(cmstest.Options{Name: "x"}))
			}, signature.CheckTrust, "unknown authority",
		},
		"without the certificate": {
			func(f map[string]string) {
				f["vnf.cms"] = bareSignature(t, string(inner), id)
				delete(f, "vnf.cert")
			}, signature.CheckSignature, "neither in the signature nor in a file",
		},
		"garbage": {func(f map[string]string) { f["vnf.cms"] = "x" }, signature.CheckSignature, "neither DER nor BER"},
	} {
		f := unpack(t, sign2(t, inner, id))
		tc.change(f)
		r, err := check(t, pack(t, f, zip.Store), trust)
		require.NoError(t, err, name)
		requireProblem(t, r, signature.Failed, tc.check, tc.detail)
	}
}

// TestContainerDecidesForItsPackage: an operator signs the package of a vendor whose signature is not valid any more.
func TestContainerDecidesForItsPackage(t *testing.T) {
	t.Parallel()
	vendor, own := cmstest.NewCA(t, "vendor"), cmstest.NewCA(t, "own")
	inner := signedArchive(t, vendor.Issue(cmstest.Options{Name: "v", NotAfter: cmstest.Now.Add(-1)}), true)
	data := sign2(t, inner, own.Issue(cmstest.Options{Name: "o"}))
	r, err := check(t, data, trustOf(t, own.PEM()))
	require.NoError(t, err)
	require.Equal(t, signature.Trusted, r.State, "%+v", r.Checks)
	require.True(t, slices.ContainsFunc(r.Checks, func(c signature.Check) bool {
		return c.Name == signature.CheckCertificate && c.Outcome == signature.Warning
	}), "%+v", r.Checks)

	r, err = check(t, data, trustOf(t, vendor.PEM()))
	require.NoError(t, err)
	requireProblem(t, r, signature.Failed, signature.CheckTrust, "unknown authority CN=own,O=Test")
}

func TestContainersThatAreNone(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	inner := pack(t, files(), zip.Deflate)
	good := unpack(t, sign2(t, inner, ca.Issue(cmstest.Options{Name: "signer"})))
	for name, tc := range map[string]struct {
		change func(f map[string]string)
		want   string
	}{
		"without signature": {func(f map[string]string) { delete(f, "vnf.cms") }, "so it has no VNFD"},
		"two archives":      {func(f map[string]string) { f["b.zip"] = f["vnf.csar"] }, "so it has no VNFD"},
		"another file":      {func(f map[string]string) { f["README"] = "" }, "so it has no VNFD"},
		"many certificates": {func(f map[string]string) {
			for i := range 8 {
				f[strings.Repeat("x", i)+"y.cert"] = f["vnf.cert"]
			}
		}, "so it has no VNFD"},
		"in a folder": {func(f map[string]string) {
			f["a/vnf.csar"] = f["vnf.csar"]
			delete(f, "vnf.csar")
		}, "so it has no VNFD"},
		"a container in a container": {func(f map[string]string) {
			f["vnf.csar"] = string(pack(t, good, zip.Deflate))
		}, "in vnf.csar: the package has neither"},
		"no archive": {
			func(f map[string]string) { f["vnf.csar"] = "x" }, "in vnf.csar: the content is not a zip archive",
		},
		"a large signature": {
			func(f map[string]string) { f["vnf.cms"] = strings.Repeat("x", 300<<10) }, "larger than 262144 bytes",
		},
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			f := maps.Clone(good)
			tc.change(f)
			_, err := check(t, pack(t, f, method), trustOf(t, ca.PEM()))
			var r *csar.Rejection
			require.ErrorAs(t, err, &r, name)
			require.ErrorContains(t, err, tc.want, name)
		}
	}
}

// TestContainerIsBounded: an archive that grows too much is not written to the disk completely.
func TestContainerIsBounded(t *testing.T) {
	t.Parallel()
	lim := csar.DefaultLimits()
	lim.FileBytes, lim.TotalBytes = 1<<20, 1<<20
	data := pack(t, map[string]string{"a.csar": strings.Repeat("x", 2<<20), "a.cms": "x"}, zip.Deflate)
	_, _, err := csar.OpenUpload(t.Context(), bytes.NewReader(data), int64(len(data)), lim, inTemp(t))
	var r *csar.Rejection
	require.ErrorAs(t, err, &r)
	require.Equal(t, csar.TooLarge, r.Reason)
}
