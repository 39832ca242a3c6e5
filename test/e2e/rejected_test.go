package e2e_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

const vnfdFile = "Definitions/vnfd.yaml"

// changed is the small package with its files changed.
func changed(vnfd string, change func(files map[string]string)) []byte {
	files := vnfpkgtest.Files(vnfd)
	change(files)
	return vnfpkgtest.Zip(files)
}

// added is the small package with one more entry of a special kind.
func added(t *testing.T, vnfd string, h *zip.FileHeader, body string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, content := range vnfpkgtest.Files(vnfd) {
		f, err := z.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
	}
	f, err := z.CreateHeader(h)
	require.NoError(t, err)
	_, err = f.Write([]byte(body))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return buf.Bytes()
}

// aliasBomb is a document of some hundred bytes that stands for billions of values.
func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x]\n")
	for name := "a"; len(name) < 30; name += "x" {
		b.WriteString(name + "x: &" + name + "x [*" + name + ", *" + name + ", *" + name + "]\n")
	}
	return b.String()
}

// Every kind of package that is refused leaves a reason that its owner can read, a server that works, and the way free
// for the right package with the same VNFD.
func TestEveryKindOfRejectedPackage(t *testing.T) {
	t.Parallel()
	tight := start(t, simcloud.StartTest(t, simcloud.Options{}), func(c *config.Config) {
		c.Limits.PackageUnpacked, c.Limits.PackageFiles = 8*config.MiB, 100
	})
	usual := start(t, tight.cloud, nil)
	link := &zip.FileHeader{Name: "link"}
	link.SetMode(fs.ModeSymlink | 0o777)
	cut := func(b []byte) []byte { return b[:len(b)/2] }
	for name, tc := range map[string]struct {
		archive func(vnfd string) []byte
		status  int
		detail  string
	}{
		"not a zip": {func(string) []byte { return []byte("this is no archive") }, 422, "not a zip archive"},
		"empty":     {func(string) []byte { return nil }, 422, "not a zip archive"},
		"half of a zip": {
			func(v string) []byte { return cut(vnfpkgtest.Zip(vnfpkgtest.Files(v))) }, 422, "not a zip archive",
		},
		"zip slip": {
			func(v string) []byte { return added(t, v, &zip.FileHeader{Name: "../../etc/cron.d/x"}, "x") },
			422, "../../etc/cron.d/x: the path leads out of the package",
		},
		"absolute path": {func(v string) []byte {
			return added(t, v, &zip.FileHeader{Name: "/etc/passwd"}, "x")
		}, 422, "/etc/passwd: the path is absolute"},
		"symbolic link": {func(v string) []byte {
			return added(t, v, link, "/etc/passwd")
		}, 422, "link: the entry is a symbolic link"},
		"bomb": {
			func(v string) []byte {
				return added(t, v, &zip.FileHeader{Name: "bomb", Method: zip.Deflate}, strings.Repeat("\x00", 101<<20))
			}, 422, "grows to more than 100 times",
		},
		"file over the limit": {
			func(v string) []byte { return added(t, v, &zip.FileHeader{Name: "big"}, strings.Repeat("\x00", 9<<20)) },
			413, "larger than 8388608 bytes",
		},
		"too many files": {
			func(v string) []byte {
				return changed(v, func(f map[string]string) {
					for i := range 120 {
						f["Files/more/"+strings.Repeat("x", i+1)] = "x"
					}
				})
			}, 422, "100",
		},
		"missing checksum": {
			func(v string) []byte {
				return changed(v, func(f map[string]string) {
					f[csar.MetaPath] = strings.SplitAfter(f[csar.MetaPath], "application/sh\n")[0]
				})
			}, 422, "Scripts/run.sh is listed without Algorithm and Hash",
		},
		"wrong checksum": {
			func(v string) []byte {
				return changed(v, func(f map[string]string) { f["Scripts/run.sh"] = "changed" })
			},
			422, "Scripts/run.sh: the file is not the one that TOSCA-Metadata/TOSCA.meta",
		},
		"missing file": {func(v string) []byte {
			return changed(v, func(f map[string]string) { delete(f, "Scripts/run.sh") })
		}, 422, "Scripts/run.sh: the file is not in the package"},
		"no VNFD file": {func(v string) []byte {
			return changed(v, func(f map[string]string) { delete(f, vnfdFile) })
		}, 422, "Entry-Definitions"},
		"no VNFD": {func(v string) []byte {
			return changed(v, func(f map[string]string) { f[vnfdFile] = "a: b\n" })
		}, 422, "declare a deployment flavour"},
		"not YAML": {func(v string) []byte {
			return changed(v, func(f map[string]string) { f[vnfdFile] += "\n\t}{\n" })
		}, 422, vnfdFile},
		"several VNFDs for a flavour": {
			func(v string) []byte {
				return changed(v, func(f map[string]string) {
					f[vnfdFile] = strings.Replace(f[vnfdFile], "imports:\n", "imports: \n  - more.yaml\n", 1)
					f["Definitions/more.yaml"] = "\ntopology_template:\n  substitution_mappings:\n" +
						"    node_type: tosca.nodes.nfv.VNF\n    properties: {flavour_id: simple}\n"
				})
			}, 422, `several VNFDs for the flavour "simple"`,
		},
		"unknown scaling aspect": {
			func(v string) []byte {
				return changed(v, func(f map[string]string) {
					f[vnfdFile] += "\n  policies:\n    - deltas:\n" +
						"        type: tosca.policies.nfv.VduScalingAspectDeltas\n" +
						"        properties: {aspect: nowhere, deltas: {d: {number_of_instances: 1}}}\n" +
						"        targets: [node]\n"
				})
			}, 422, `the scaling aspect "nowhere", which is not declared`,
		},
		"alias bomb": {func(v string) []byte {
			return changed(v, func(f map[string]string) { f[vnfdFile] = aliasBomb() })
		}, 422, "aliases expand to too many values"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *tight
			if name == "bomb" { // which the other's limit would stop before it has grown
				w = *usual
			}
			w.t = t
			vnfd := "rejected-" + strings.ReplaceAll(name, " ", "-")
			p, err := w.api.CreatePackage(
				t.Context(), sol.CreateVnfPkgInfoRequest{UserDefinedData: sol.KeyValuePairs{"test": name}},
			)
			require.NoError(t, err)
			require.NoError(t, w.api.UploadPackage(t.Context(), p.ID, bytes.NewReader(tc.archive(vnfd))))
			p = w.processed(p.ID)
			require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
			require.Equal(t, sol.PackageOperationalStateDisabled, p.OperationalState)
			require.Empty(t, p.VnfdID)
			require.NotNil(t, p.OnboardingFailureDetails)
			require.Equal(t, tc.status, p.OnboardingFailureDetails.Status)
			require.Contains(t, p.OnboardingFailureDetails.Detail, tc.detail)
			_, err = w.api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
			status(t, err, 422)
			_, err = w.api.PackageContent(t.Context(), p.ID)
			status(t, err, 409)
			require.NoError(t, w.api.Ready(t.Context()), "the server is as well as before")

			require.NoError(
				t, w.api.UploadPackage(t.Context(), p.ID, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files(vnfd)))),
			)
			p = w.processed(p.ID)
			require.Equal(t, sol.PackageOnboardingStateOnboarded, p.OnboardingState)
			require.Equal(t, vnfd, p.VnfdID)
			require.Nil(t, p.OnboardingFailureDetails)
			i, err := w.api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
			require.NoError(t, err)
			require.NoError(t, w.api.DeleteInstance(t.Context(), i.ID))
			require.NoError(t, w.api.UpdatePackage(
				t.Context(), p.ID, sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled},
			))
			require.NoError(t, w.api.DeletePackage(t.Context(), p.ID))
		})
	}
}

// processed waits until a package has been looked at.
func (w *world) processed(id string) *sol.VnfPkgInfo {
	w.t.Helper()
	var p *sol.VnfPkgInfo
	require.Eventually(w.t, func() bool {
		var err error
		p, err = w.api.Package(w.t.Context(), id)
		require.NoError(w.t, err)
		return p.OnboardingState == sol.PackageOnboardingStateOnboarded || p.OnboardingFailureDetails != nil
	}, patience, 5*time.Millisecond)
	return p
}
