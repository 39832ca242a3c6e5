package openstack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/stack"
)

// coordinate is a script that knows a VNFC by its address, and takes its time.
const coordinate = `
import pickle, sys, time
v = pickle.load(sys.stdin.buffer)
print("coordinates", v["ssh_ip"], v["vnfc_info_id"], "back" if v["is_rollback"] else "forward")
time.sleep(v["seconds"])
sys.exit(v["status"])
`

// withScript onboards a package of test/packages with the script.
func (w *world) withScript(name string) string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), name)
	require.NoError(w.t, os.CopyFS(dir, os.DirFS(filepath.Join("../../packages", name))))
	require.NoError(w.t, os.Mkdir(filepath.Join(dir, "Scripts"), 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "Scripts", "coordinate.py"), []byte(coordinate), 0o644))
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), dir, dir+".zip"))
	vnfd, err := stack.Onboard(w.t.Context(), w.api, dir+".zip")
	require.NoError(w.t, err)
	return vnfd
}

// said are the lines of an operation's scripts that end so.
func (w *world) said(op, end string) []string {
	w.t.Helper()
	p, err := w.api.Progress(w.t.Context(), op, "", 1000)
	require.NoError(w.t, err)
	var out []string
	for _, l := range p.Lines {
		if strings.HasSuffix(l.Text, end) {
			out = append(out, l.Text)
		}
	}
	return out
}

// The scripts of a package are run for each VNFC that is changed, with the address that it has, again when the node is
// killed that ran them, and for those that are changed back.
func TestCoordinationScripts(t *testing.T) {
	python := sandbox.Python(t, true)
	w := start(t, 2, "GYBE_SCRIPTS_PYTHON="+python)
	id := w.up(w.withScript("standard"), w.standard("volumes"))
	w.run(id, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
	next := w.withScript("standard-2")
	upgrade := func(status int) sol.ChangeCurrentVnfPkgRequest {
		r := nextVersion(next)
		param := func(seconds, status int) map[string]any {
			return map[string]any{"cp_name": "VDU1_CP1", "seconds": seconds, "status": status}
		}
		r.AdditionalParams["vdu_params"] = []any{
			map[string]any{"vdu_id": "VDU1", "new_vnfc_param": param(3, status), "old_vnfc_param": param(0, 0)},
		}
		r.AdditionalParams["lcm-operation-coordinate-new-vnf"] = "./Scripts/coordinate.py"
		r.AdditionalParams["lcm-operation-coordinate-old-vnf"] = "./Scripts/coordinate.py"
		return r
	}
	op := w.begin(id, sol.LcmOperationChangeVnfpkg, upgrade(3))
	w.failed(op, "the script Scripts/coordinate.py ended with exit status 3")
	require.Len(t, w.said(op, " forward"), 1, "the first VNFC has failed")
	w.rolledBack(op)
	require.Len(t, w.said(op, " back"), 1)
	require.Equal(t, "1.0", w.instance(id).VnfSoftwareVersion)
	require.Equal(t, map[string]int{"VDU1": 2, "VDU2": 1}, vnfcs(w.instance(id)))

	op = w.begin(id, sol.LcmOperationChangeVnfpkg, upgrade(0))
	w.until("a script runs", func() bool { return len(w.said(op, " forward")) > 0 })
	w.killOwner(op, 0)
	w.completed(op)
	var about []string
	for _, line := range w.said(op, " forward") {
		about = append(about, strings.Fields(line)[2])
	}
	require.ElementsMatch(
		t, []string{about[0], about[0], about[2]}, about, "the one whose node was killed was asked twice",
	)
	require.NotEqual(t, about[0], about[2])
	after := w.instance(id)
	require.Equal(t, "2.0", after.VnfSoftwareVersion)
	for _, line := range w.said(op, " forward") {
		words := strings.Fields(line)
		require.Contains(t, addressesOf(after, "VDU1_CP1"), words[1])
	}
	w.down(id)
}

// addressesOf are the addresses of all instances of an external CP.
func addressesOf(i *sol.VnfInstance, cpd string) []string {
	var out []string
	for _, cp := range i.InstantiatedVnfInfo.ExtCpInfo {
		if cp.CpdID != cpd {
			continue
		}
		for _, p := range cp.CpProtocolInfo {
			for _, a := range p.IpOverEthernet.IpAddresses {
				out = append(out, a.Addresses...)
			}
		}
	}
	return out
}
