package signature_test

import (
	"archive/zip"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cms"
	"github.com/gybe-nfv/gybe/pkg/cms/cmstest"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
)

// TestTimeStampsProveNothing: a time stamp of a trusted authority (RFC 3161) does not make up for a certificate that is
// expired now, also if it is from a time at which the certificate was valid. It does not harm a good signature.
func TestTimeStampsProveNothing(t *testing.T) {
	t.Parallel()
	ca := cmstest.NewCA(t, "root")
	authority := ca.Issue(cmstest.Options{Name: "time stamp authority"})
	signed := cmstest.Now.Add(-48 * time.Hour)
	for name, tc := range map[string]struct {
		ends  time.Time
		state signature.State
	}{
		"a certificate that is valid now":             {time.Time{}, signature.Trusted},
		"one that was valid at the time of the stamp": {cmstest.Now.Add(-24 * time.Hour), signature.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := ca.Issue(cmstest.Options{Name: "signer", NotAfter: tc.ends})
			files := sign1(t, ca.Issue(cmstest.Options{Name: "other"}), false)
			signAt(t, files, signed, id)
			content, text, _ := strings.Cut(files[manifestPath], "-----BEGIN CMS-----")
			token, err := cms.Sign(hashOf([]byte(text)), signed, authority)
			require.NoError(t, err)
			block, _ := pem.Decode(token)
			stamped := cmstest.WithTimeStamp(t, []byte("-----BEGIN CMS-----"+text), block.Bytes)
			require.Greater(t, len(stamped), len(text)+len(token)/2)
			files[manifestPath] = content + string(stamped)
			r, err := check(t, pack(t, files, zip.Deflate), trustOf(t, ca.PEM()))
			require.NoError(t, err)
			require.Equal(t, tc.state, r.State, "%+v", r.Checks)
			require.Len(t, r.Signers, 1, "the authority is no signer")
			require.Equal(t, "CN=signer,O=Test", r.Signers[0].Subject)
			if tc.state == signature.Failed {
				requireProblem(t, r, signature.Failed, signature.CheckCertificate, "expired on")
			}
		})
	}
}
