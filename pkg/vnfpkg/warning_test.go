package vnfpkg_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// changed is a small package whose VNFD has other text in it.
func changed(tb testing.TB, id string, oldNew ...string) map[string]string {
	tb.Helper()
	files := vnfpkgtest.Files(id)
	const vnfdFile = "Definitions/vnfd.yaml"
	for i := 0; i < len(oldNew); i += 2 {
		require.Equal(tb, 1, strings.Count(files[vnfdFile], oldNew[i]), oldNew[i])
		files[vnfdFile] = strings.Replace(files[vnfdFile], oldNew[i], oldNew[i+1], 1)
	}
	return files
}

func drivers(o *vnfpkg.Options) { o.Mgmt = mgmt.Registry{"built-in": nil} }

func TestWarningsAreStoredOnThePackage(t *testing.T) {
	t.Parallel()
	b := setup(t, drivers)
	p := b.onboard(t, changed(t, "d", "../Files/images/node.img", "https://images.example.com/node.img"))
	require.Equal(t, []sol.VnfPkgWarning{
		{
			Code: "missing_artifact", Subject: "node", FlavourID: "simple",
			Location: "Definitions/vnfd.yaml#/topology_template/node_templates/node/artifacts/sw_image/file",
			Text: `Definitions/vnfd.yaml:30: the artifact sw_image is at "https://images.example.com/node.img", ` +
				`outside of the package`,
			Remedy:     "put the file in the package, or create an image with the name node-image in the VIM",
			Operations: []string{"INSTANTIATE", "SCALE", "SCALE_TO_LEVEL", "HEAL", "CHANGE_FLAVOUR", "CHANGE_VNFPKG"},
		},
		{
			Code: "unknown_mgmt_driver", Subject: "script", FlavourID: "simple", Operations: []string{"INSTANTIATE"},
			Text: `the VNFD names the mgmt driver "script", which is not built in; running Scripts/run.sh of the ` +
				`package is not supported`,
			Remedy: `built in are: built-in; to ignore the driver, upload the package again with ` +
				`"gybe.ignoreMgmtDrivers": "script" in its userDefinedData (gybe package upload --ignore-mgmt-driver)`,
		},
	}, p.Info().Warnings)

	model, _, err := b.Model(t.Context(), lcm.Principal{}, "d")
	require.NoError(t, err)
	require.Equal(t, "missing_artifact", model.Flavours[0].Warnings[0].Code)
	again, _, err := b.another().Model(t.Context(), lcm.Principal{}, "d")
	require.NoError(t, err)
	require.Equal(t, model, again, "as it was stored")
}

// Files on other servers are listed with their addresses (SOL005 clauses 9.5.3.2 and 9.5.3.3): images, artifacts of the
// metadata with their checksums, and artifacts that only the VNFD names. None of them can be downloaded.
func TestFilesOnOtherServersAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t, drivers)
	files := changed(t, "d", "../Files/images/node.img", "https://ann:s3cret@images.example.com/node.img",
		"file: ../Scripts/run.sh", "file: https://ann:s3cret@scripts.example.com/run.sh")
	files["TOSCA-Metadata/TOSCA.meta"] += "\nName: https://images.example.com/node.img\nAlgorithm: sha512\nHash: AB\n" +
		"\nName: http://files.example.com/help.txt\nAlgorithm: SHA-256\nHash: cd\n" +
		"\nName: ftp://files.example.com/more.txt\n"
	info := b.onboard(t, files).Info()
	require.Len(t, info.SoftwareImages, 1)
	img := info.SoftwareImages[0]
	require.Empty(t, img.ImagePath)
	require.Equal(t, "https://images.example.com/node.img", img.ImageURI)
	require.Equal(t, sol.Checksum{Algorithm: "SHA-512", Hash: "ab"}, img.Checksum)
	var external []sol.VnfPackageArtifactInfo
	for _, a := range info.AdditionalArtifacts {
		if a.ArtifactPath == "" {
			external = append(external, a)
		}
	}
	none := sol.KeyValuePairs{}
	require.Equal(t, []sol.VnfPackageArtifactInfo{
		{
			ArtifactURI: "http://files.example.com/help.txt", Metadata: none,
			Checksum: sol.Checksum{Algorithm: "SHA-256", Hash: "cd"},
		},
		{ArtifactURI: "ftp://files.example.com/more.txt", Metadata: none},
		{ArtifactURI: "https://scripts.example.com/run.sh", Metadata: none},
	}, external)
	stored, err := json.Marshal(info)
	require.NoError(t, err)
	require.NotContains(t, string(stored), "s3cret")
}

// A package of an earlier release has warnings without codes, and a model without warnings.
func TestWarningsOfEarlierReleasesAreTexts(t *testing.T) {
	t.Parallel()
	var o vnfpkg.Onboarded
	require.NoError(t, json.Unmarshal([]byte(`{"productName": "Small", "warnings": ["the one", "the other"]}`), &o))
	p := &vnfpkg.Package{OnboardingState: sol.PackageOnboardingStateOnboarded, Onboarded: &o}
	require.Equal(t, []sol.VnfPkgWarning{{Text: "the one"}, {Text: "the other"}}, p.Info().Warnings)
	again, err := json.Marshal(&o)
	require.NoError(t, err)
	require.Contains(t, string(again), `"warnings":["the one","the other"]`, "nodes of that release read it")
}

func TestMgmtDriversThatDoNotExistCanBeIgnored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		data    any
		driver  string
		ignored []string
		codes   []string
	}{
		"a name": {"script", "script", []string{"script"}, []string{"ignored_mgmt_driver"}},
		"a list": {[]any{"script"}, "script", []string{"script"}, []string{"ignored_mgmt_driver"}},
		"names in a text": {
			"x, script", "script", []string{"script"}, []string{"ignored_mgmt_driver", "mgmt_driver_not_ignored"},
		},
		"one that exists":  {"built-in", "built-in", nil, []string{"mgmt_driver_not_ignored"}},
		"another":          {"other", "script", nil, []string{"unknown_mgmt_driver", "mgmt_driver_not_ignored"}},
		"nonsense":         {map[string]any{"a": 1}, "script", nil, []string{"unknown_mgmt_driver"}},
		"no such setting":  {nil, "script", nil, []string{"unknown_mgmt_driver"}},
		"numbers in lists": {[]any{1.0, "script"}, "script", []string{"script"}, []string{"ignored_mgmt_driver"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, drivers)
			p, err := b.Create(t.Context(), sol.KeyValuePairs{lcm.KeyIgnoreMgmtDrivers: tc.data})
			require.NoError(t, err)
			files := changed(t, "d", "instantiate_end: {implementation: script}",
				"instantiate_end: {implementation: "+tc.driver+"}")
			require.NoError(t, b.Upload(t.Context(), p.ID, nil, bytes.NewReader(vnfpkgtest.Zip(files))))
			b.work(t)
			p = b.get(t, p.ID)
			require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
			require.Equal(t, tc.ignored, p.Onboarded.IgnoredDrivers)
			var codes []string
			for _, w := range p.Info().Warnings {
				codes = append(codes, w.Code)
			}
			require.Equal(t, tc.codes, codes)

			// The setting of the upload stays, whatever becomes of userDefinedData.
			_, _, err = b.Update(t.Context(), p.ID, sol.VnfPkgInfoModifications{
				UserDefinedData: sol.KeyValuePairs{lcm.KeyIgnoreMgmtDrivers: "script,built-in"},
			}, nil)
			require.NoError(t, err)
			model, _, err := b.Model(t.Context(), lcm.Principal{}, "d")
			require.NoError(t, err)
			same, err := b.another().ModelOf(t.Context(), p.ID)
			require.NoError(t, err)
			for _, m := range []*vnfd.VNFD{model, same} {
				require.Equal(t, tc.ignored == nil, m.Flavours[0].LCM["instantiate_end"].Name == tc.driver)
			}
		})
	}
}

// Two projects can have one archive, and only one of them ignores a driver.
func TestIgnoredMgmtDriversBelongToThePackage(t *testing.T) {
	t.Parallel()
	b := setup(t, drivers)
	p := b.onboard(t, vnfpkgtest.Files("d"))
	model, err := b.ModelOf(t.Context(), p.ID)
	require.NoError(t, err)
	require.NotEmpty(t, model.Flavours[0].LCM)
	_, err = b.store.UpdatePackage(t.Context(), p.ID, func(q *vnfpkg.Package, _ time.Time) error {
		q.Onboarded.IgnoredDrivers = []string{"script"}
		return nil
	})
	require.NoError(t, err)
	without, err := b.ModelOf(t.Context(), p.ID)
	require.NoError(t, err)
	require.Empty(t, without.Flavours[0].LCM)
	require.NotEmpty(t, model.Flavours[0].LCM, "the model in the cache is not changed")
}

// A VNFD can name many drivers. The package does not become larger with each of them.
func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, drivers)
	var hooks strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&hooks, "          hook%d: {implementation: driver%d}\n", i, i)
	}
	p := b.onboard(t, changed(t, "d", "          instantiate_end: {implementation: script}\n", hooks.String()))
	require.Len(t, p.Info().Warnings, 300)
}
