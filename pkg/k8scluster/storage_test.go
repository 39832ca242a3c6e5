package k8scluster

import (
	"os/exec"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Invalid parameters of the storage server are reported with their place, before anything is created.
func TestBadStorageParametersAreRefusedWithPointers(t *testing.T) {
	t.Parallel()
	entry := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1] //nolint:forcetypeassert // made here
		}
		return m
	}
	a := aspectParams()
	install, _ := a[ParamKey].(map[string]any)
	install["storage_server"] = entry(
		"vdu_id", "storage_server", "ssh_cp_name", "storage_server_CP", "username", "ubuntu", "password", "ubuntu",
		"cinder_volume_setup_params",
		[]any{entry("volume_resource_id", "v", "mount_to", "/usr/local"), entry("mount_to", "/a b"), "x"},
		"nfs_server_setup_params", []any{entry("export_dir", "relative", "export_to", "10.0.0.0/8; rm")},
	)
	install["pv_registration_params"] = []any{entry("nfs_server_cp", "storage_server_CP")}
	p, bad := parse(a, aspectFlavour(), nil)
	got := map[string]bool{}
	for _, b := range bad {
		got[b.Pointer[len("/additionalParams/"+ParamKey):]] = true
	}
	require.Equal(t, map[string]bool{
		"/storage_server/cinder_volume_setup_params/0/mount_to":           true,
		"/storage_server/cinder_volume_setup_params/1/volume_resource_id": true,
		"/storage_server/cinder_volume_setup_params/1/mount_to":           true,
		"/storage_server/cinder_volume_setup_params/2":                    true,
		"/storage_server/nfs_server_setup_params/0/export_dir":            true,
		"/storage_server/nfs_server_setup_params/0/export_to":             true,
		"/pv_registration_params/0/pv_manifest_file_path":                 true,
	}, got)
	require.Equal(t, "storage_server_CP", p.storage.nicCP, "the older parameters have only one")

	delete(install, "storage_server")
	_, bad = parse(a, aspectFlavour(), nil)
	require.Contains(t, bad[len(bad)-1].Detail, "pv_registration_params needs it")
}

func TestManifestsThatAreNoVolumesAreRefused(t *testing.T) {
	t.Parallel()
	pkg := fstest.MapFS{
		"pod.yaml": {Data: []byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n")},
		"two.yaml": {Data: []byte(
			"---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\n" +
				"spec: {nfs: {server: 192.0.2.1, path: /a}}\n---\n# none\n---\napiVersion: v1\n" +
				"kind: PersistentVolume\nmetadata: {name: b}\nspec: {nfs: {server: 192.0.2.1, path: /b}}\n",
		)},
	}
	_, err := readVolumes(pkg, "pod.yaml")
	require.ErrorContains(t, err, "not a manifest of a PersistentVolume")
	_, err = readVolumes(pkg, "none.yaml")
	require.ErrorContains(t, err, "no file")
	list, err := readVolumes(pkg, "two.yaml")
	require.NoError(t, err)
	require.Len(t, list, 2)
}

// The script runs as root on users' machines.
func TestStorageScriptIsSound(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Skip("SKIPPED: shellcheck is not installed")
	}
	out, err := exec.CommandContext(t.Context(), "shellcheck", "nodescripts/storage.sh").CombinedOutput()
	require.NoError(t, err, string(out))
}
