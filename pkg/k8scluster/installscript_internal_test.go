package k8scluster

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func load(t *testing.T, files map[string]string) (installScript, error) {
	t.Helper()
	pkg := fstest.MapFS{}
	for name, text := range files {
		pkg[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var _ fs.FS = pkg
	return loadScript(pkg, "Scripts/install.sh")
}

const allPhases = "phases: [prepare, init, join, tokens, refresh, upgrade]\n"

// A script with a manifest can do what the manifest declares. Its text does not matter.
func TestManifestDeclaresCapabilities(t *testing.T) {
	t.Parallel()
	s, err := load(t, map[string]string{
		"Scripts/install.sh":    "# GYBE_PHASE upgrade K8S_VERSION=${K8S_VERSION:-1.33}",
		"Scripts/install.yaml":  allPhases + "library: lib\nkubernetes_version: \"1.34\"\ncilium_version: 1.18.4\n",
		"Scripts/lib/os.sh":     "os",
		"Scripts/lib/kernel.sh": "kernel",
		"Scripts/other/x.sh":    "x",
	})
	require.NoError(t, err)
	require.True(t, s.phased())
	require.True(t, s.has(phaseUpgrade))
	require.False(t, s.has(phaseNetwork))
	require.Equal(t, "1.34 1.18.4", s.kubernetes+" "+s.cilium)
	var names []string
	for _, f := range s.library {
		names = append(names, f.Name+"="+string(f.Content))
	}
	require.Equal(t, []string{"lib/kernel.sh=kernel", "lib/os.sh=os"}, names)

	s, err = load(t, map[string]string{
		"Scripts/install.sh":   "GYBE_PHASE=${GYBE_PHASE:-all}",
		"Scripts/install.yaml": "# a script that does everything in one run\n",
	})
	require.NoError(t, err)
	require.False(t, s.phased(), "the manifest counts, not the text")
}

// A mistake in a manifest is reported when the request is validated, not on a machine.
func TestManifestWithAMistakeIsRefused(t *testing.T) {
	t.Parallel()
	for manifest, want := range map[string]string{
		"phases: [prepare, init, join, tokens]\n":  "the phase refresh is missing",
		"phases: [later]\n":                        `unknown phase "later"`,
		"phase: [prepare]\n":                       "phase",
		allPhases + "library: ../lib\n":            "is not the name of a folder",
		allPhases + "library: lib\n":               `the package has no folder "Scripts/lib"`,
		allPhases + "kubernetes_version: newest\n": `kubernetes_version "newest" is not like 1.34`,
		allPhases + "cilium_version: \"1.18\"\n":   `cilium_version "1.18" is not like 1.18.4`,
		"phases: {prepare: true}\n":                "cannot construct",
	} {
		_, err := load(t, map[string]string{"Scripts/install.sh": "", "Scripts/install.yaml": manifest})
		require.ErrorContains(t, err, `its manifest "Scripts/install.yaml" is invalid`, manifest)
		require.ErrorContains(t, err, want, manifest)
	}
}

// Packages that were made before manifests existed keep working.
func TestCapabilitiesOfAScriptWithoutManifestAreInferred(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]installScript{
		"GYBE_PHASE=${GYBE_PHASE:-all}\nupgrade() { :; }\nK8S_VERSION=${K8S_VERSION:-1.33}\n": {
			phases: append(requiredPhases, phaseUpgrade), kubernetes: "1.33",
		},
		`export K8S_VERSION="${K8S_VERSION:-v1.34}"; case $GYBE_PHASE in *) ;; esac`: {
			phases: requiredPhases, kubernetes: "v1.34",
		},
		"A=b K8S_VERSION=${K8S_VERSION:-'1.34'} C=d\n": {
			kubernetes: "1.34",
		},
		"# GYBE_PHASE is not for this script\n  # upgrade: K8S_VERSION=${K8S_VERSION:-1.30}\n" +
			"apt-get install kubeadm\n": {},
	} {
		s, err := load(t, map[string]string{"Scripts/install.sh": text})
		require.NoError(t, err)
		require.ElementsMatch(t, want.phases, s.phases, text)
		require.Equal(t, want.kubernetes, s.kubernetes, text)
		require.Empty(t, s.cilium)
	}
}
