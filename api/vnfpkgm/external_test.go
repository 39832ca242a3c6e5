package vnfpkgm_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// TestThereAreNoExternalArtifacts: a file on another server that a package names is never read, so the resource with
// the credentials for such servers does not exist (SOL005 clause 9.4.4a).
func TestThereAreNoExternalArtifacts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.onboard(t, vnfpkgtest.Files(vnfdID))
	const access = `{"artifact": [{"artifactUri": "https://images.example.com/node.img", "authType":
		"OAUTH2_CLIENT_CREDENTIALS", "paramsOauth2ClientCredentials": {"clientId": "c", "clientPassword": "s3cret",
		"tokenEndpoint": "https://tokens.example.com/"}}]}`
	for prefix, version := range map[string]string{"/vnfpkgm/v1": "", "/vnfpkgm/v2": "2.4.0"} {
		for _, one := range []string{id, b.create(t)} {
			path := prefix + "/vnf_packages/" + one + "/ext_artifacts_access"
			for _, method := range []string{"GET", "PUT"} {
				var body any
				if method == "PUT" {
					body = access
				}
				a := b.Do(t, method, path, body, "Version", version)
				require.Equal(t, 404, a.Status, "%s %s", method, path)
				require.NotNil(t, a.Problem)
				require.NotContains(t, string(a.Body), "s3cret")
			}
		}
	}

	files := vnfpkgtest.Files(uuid.NewString())
	files[csar.MetaPath] += "\nName: https://images.example.com/node.img\nAlgorithm: SHA-256\nHash: " +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
	other := b.create(t)
	require.Equal(t, 202, b.upload(t, other, vnfpkgtest.Zip(files)).Status)
	p := b.get(t, other)
	require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
	require.Equal(t, []sol.VnfPkgWarning{{
		Code: "external_artifact", Location: csar.MetaPath,
		Text: "TOSCA-Metadata/TOSCA.meta:11: the artifact https://images.example.com/node.img is outside of the " +
			"package: it is not read, and its hash is not checked",
		Remedy: "put the file in the package, or remove the entry",
	}}, p.Warnings)
	a := b.Do(t, "GET", packages+"/"+other+"/artifacts/https:%2F%2Fimages.example.com%2Fnode.img", nil)
	require.Equal(t, 404, a.Status)
}
