package vnfpkg_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/csar"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg/vnfpkgtest"
)

// packed is an archive of the small package with one thing changed.
func packed(change func(files map[string]string)) []byte {
	files := vnfpkgtest.Files("vnfd-1")
	change(files)
	return vnfpkgtest.Zip(files)
}

// vnfdWith replaces text of the VNFD.
func vnfdWith(t *testing.T, old, replacement string) []byte {
	t.Helper()
	return packed(func(f map[string]string) {
		const name = "Definitions/vnfd.yaml"
		require.Contains(t, f[name], old)
		f[name] = strings.Replace(f[name], old, replacement, 1)
	})
}

// with adds an entry of a special kind to the small package.
func with(t *testing.T, h *zip.FileHeader, body string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for name, content := range vnfpkgtest.Files("vnfd-1") {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	w, err := z.CreateHeader(h)
	require.NoError(t, err)
	_, err = w.Write([]byte(body))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return buf.Bytes()
}

// damaged is the small package with the first byte of a file's data changed in the archive.
func damaged(t *testing.T, name string, method uint16) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for file, body := range vnfpkgtest.Files("vnfd-1") {
		w, err := z.CreateHeader(&zip.FileHeader{Name: file, Method: method})
		require.NoError(t, err)
		_, err = w.Write([]byte(body))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())

	data := buf.Bytes()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	i := slices.IndexFunc(r.File, func(f *zip.File) bool { return f.Name == name })
	require.GreaterOrEqual(t, i, 0)
	at, err := r.File[i].DataOffset()
	require.NoError(t, err)
	data[at] ^= 0xff
	return data
}

func symlink() *zip.FileHeader {
	h := &zip.FileHeader{Name: "link"}
	h.SetMode(fs.ModeSymlink | 0o777)
	return h
}

const moreFlavours = `
topology_template:
  substitution_mappings:
    node_type: tosca.nodes.nfv.VNF
    properties: {flavour_id: simple}
`

const unknownAspect = `
  policies:
    - deltas:
        type: tosca.policies.nfv.VduScalingAspectDeltas
        properties: {aspect: nowhere, deltas: {d: {number_of_instances: 1}}}
        targets: [node]
`

func TestEveryKindOfBadPackageIsRefusedReadablyAndCanBeReplaced(t *testing.T) {
	t.Parallel()
	limits := vnfpkg.DefaultLimits()
	limits.Archive.FileBytes, limits.Archive.RatioFrom, limits.Archive.Entries = 1<<20, 64<<10, 100
	bomb := "a: &a [x]\n"
	for i := range 30 {
		bomb += aliasLevel(i)
	}

	for name, tc := range map[string]struct {
		archive []byte
		status  int
		detail  string
	}{
		"not a zip": {[]byte("this is no archive"), 422, "not a zip archive"},
		"empty":     {nil, 422, "not a zip archive"},
		"zip slip": {
			with(t, &zip.FileHeader{Name: "../../etc/cron.d/x"}, "x"), 422,
			"../../etc/cron.d/x: the path leads out of the package",
		},
		"absolute path": {
			with(t, &zip.FileHeader{Name: "/etc/passwd"}, "x"), 422, "/etc/passwd: the path is absolute",
		},
		"symbolic link": {with(t, symlink(), "/etc/passwd"), 422, "link: the entry is a symbolic link"},
		"bomb": {
			with(t, &zip.FileHeader{Name: "bomb", Method: zip.Deflate}, strings.Repeat("\x00", 1<<20)), 422,
			"bomb: the file grows to more than 100 times",
		},
		"file over the limit": {
			with(t, &zip.FileHeader{Name: "big"}, strings.Repeat("\x00", 1<<20+1)), 413,
			"big: the file is larger than 1048576 bytes",
		},
		"VNFD over the limit": {packed(func(f map[string]string) {
			f["Definitions/vnfd.yaml"] += strings.Repeat("# long\n", 600_000)
		}), 413, "Definitions/vnfd.yaml: the file is larger than"},
		"missing checksum": {packed(func(f map[string]string) {
			f[csar.MetaPath] = strings.SplitAfter(f[csar.MetaPath], "application/sh\n")[0]
		}), 422, "Scripts/run.sh is listed without Algorithm and Hash"},
		"wrong checksum": {
			packed(func(f map[string]string) {
				f["Scripts/run.sh"] = "changed"
			}), 422,
			"Scripts/run.sh: the file is not the one that TOSCA-Metadata/TOSCA.meta:6 was made for: expected SHA-256 " +
				"a8076d",
		},
		"unknown algorithm": {packed(func(f map[string]string) {
			f[csar.MetaPath] = strings.Replace(f[csar.MetaPath], "SHA-256", "MD5", 1)
		}), 422, `"MD5"`},
		"missing file": {packed(func(f map[string]string) {
			delete(f, "Scripts/run.sh")
		}), 422, "Scripts/run.sh: the file is not in the package"},
		"no VNFD file": {
			packed(func(f map[string]string) { delete(f, "Definitions/vnfd.yaml") }), 422, "Entry-Definitions",
		},
		"no VNFD": {packed(func(f map[string]string) {
			f["Definitions/vnfd.yaml"] = "a: b\n"
		}), 422, "declare a deployment flavour"},
		"several VNFDs for a flavour": {packed(func(f map[string]string) {
			f["Definitions/vnfd.yaml"] = strings.Replace(
				f["Definitions/vnfd.yaml"], "imports:\n", "imports: \n  - more.yaml\n", 1,
			)
			f["Definitions/more.yaml"] = moreFlavours
		}), 422, `several VNFDs for the flavour "simple"`},
		"unknown scaling aspect": {packed(func(f map[string]string) {
			f["Definitions/vnfd.yaml"] += unknownAspect
		}), 422, `the scaling aspect "nowhere", which is not declared`},
		"alias bomb": {packed(func(f map[string]string) {
			f["Definitions/vnfd.yaml"] = bomb
		}), 422, "aliases expand to too many values"},
		"no descriptor_id": {
			vnfdWith(t, "        descriptor_id: vnfd-1\n", ""), 422, "no descriptor_id",
		},
		"image that is not in the package": {packed(func(f map[string]string) {
			delete(f, "Files/images/node.img")
		}), 422, `"../Files/images/node.img" of the artifact sw_image is not in the package`},
		"import from the network": {
			vnfdWith(t, "https://forge.etsi.org/rep/nfv", "http://169.254.169.254"), 422, "is not in the package",
		},
		"damaged VNFD, wrong checksum": {
			damaged(t, "Definitions/vnfd.yaml", zip.Store), 422,
			"Definitions/vnfd.yaml: the archive is damaged here: zip: checksum error",
		},
		"damaged VNFD, bad compression": {
			damaged(t, "Definitions/vnfd.yaml", zip.Deflate), 422,
			"Definitions/vnfd.yaml: the archive is damaged here: flate: corrupt input",
		},
		"damaged TOSCA.meta": {
			damaged(t, csar.MetaPath, zip.Store), 422,
			csar.MetaPath + ": the archive is damaged here: zip: checksum error",
		},
		"damaged artifact": {
			damaged(t, "Scripts/run.sh", zip.Store), 422,
			"Scripts/run.sh: the archive is damaged here: zip: checksum error",
		},
		"unknown VDU": {
			vnfdWith(t, "virtual_binding: node", "virtual_binding: missing"), 422,
			`Definitions/vnfd.yaml:35: virtual_binding of the node port names "missing"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(o *vnfpkg.Options) { o.Limits = limits })
			id := b.create(t)
			require.NoError(
				t, b.Upload(t.Context(), id, nil, bytes.NewReader(tc.archive)), "it is checked after the answer",
			)
			b.work(t)

			info := b.get(t, id).Info()
			require.Equal(t, sol.PackageOnboardingStateCreated, info.OnboardingState)
			require.Equal(t, sol.PackageOperationalStateDisabled, info.OperationalState)
			require.Empty(t, info.VnfdID)
			require.Nil(t, info.Checksum)
			require.NotNil(t, info.OnboardingFailureDetails)
			require.Equal(t, tc.status, info.OnboardingFailureDetails.Status)
			require.Contains(t, info.OnboardingFailureDetails.Detail, tc.detail)
			require.Empty(t, b.digests(t), "refused content is not kept")
			_, _, err := b.Model(t.Context(), lcm.Principal{}, "vnfd-1")
			require.Error(t, err)

			require.NoError(
				t, b.Upload(t.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(vnfpkgtest.Files("vnfd-1")))),
			)
			require.Nil(t, b.get(t, id).Failure, "a new upload begins without the old failure")
			b.work(t)
			require.Equal(t, sol.PackageOnboardingStateOnboarded, b.get(t, id).OnboardingState)
			require.Equal(t, "vnfd-1", b.get(t, id).VnfdID)
		})
	}
}

// aliasLevel is a list of three of the list before.
func aliasLevel(i int) string {
	name, before := "a"+strings.Repeat("x", i+1), "*a"+strings.Repeat("x", i)
	return name + ": &" + name + " [" + before + ", " + before + ", " + before + "]\n"
}

func TestVNFDThatIsOnboardedAlreadyIsRefusedAndCanComeLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.onboard(t, vnfpkgtest.Files("vnfd-1"))
	for _, same := range []bool{true, false} {
		files := vnfpkgtest.Files("vnfd-1")
		if !same {
			files["README"] = "other content, same VNFD"
		}
		id := b.create(t)
		err := b.Upload(t.Context(), id, nil, bytes.NewReader(vnfpkgtest.Zip(files)))
		if same {
			var identical *vnfpkg.IdenticalError
			require.ErrorAs(t, err, &identical)
			require.Equal(t, first.ID, identical.PackageID)
		} else {
			require.NoError(t, err)
		}
		b.work(t)
		p := b.get(t, id)
		require.Equal(t, sol.PackageOnboardingStateCreated, p.OnboardingState)
		require.Equal(t, http.StatusConflict, p.Failure.Status)
		want := "the VNFD vnfd-1 is onboarded already, with the package "
		if same {
			want = "the content is identical to that of the onboarded VNF package "
		}
		require.Contains(t, p.Failure.Detail, want+first.ID)
		require.Len(t, b.digests(t), 1, "the first package keeps its content")
		_, err = b.Files(t.Context(), first.ID)
		require.NoError(t, err)
	}
	_, _, err := b.Update(
		t.Context(), first.ID, sol.VnfPkgInfoModifications{OperationalState: sol.PackageOperationalStateDisabled}, nil,
	)
	require.NoError(t, err)
	require.NoError(t, b.Delete(t.Context(), first.ID, nil))
	b.onboard(t, vnfpkgtest.Files("vnfd-1"))
}

func TestImageThatIsNotTheVNFDsIsAWarning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	files := vnfpkgtest.Files("vnfd-1")
	files["Definitions/vnfd.yaml"] = strings.Replace(files["Definitions/vnfd.yaml"], "size: 1 GB}",
		"size: 1 GB, checksum: {algorithm: sha-512, hash: "+strings.Repeat("0", 128)+"}}", 1)
	p := b.onboard(t, files)
	require.Len(t, p.Onboarded.Warnings, 1)
	require.Contains(t, p.Onboarded.Warnings[0].Text,
		`Files/images/node.img: the VNFD gives the image "node-image" the checksum sha-512 000`)
}
