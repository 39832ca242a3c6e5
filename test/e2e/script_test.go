package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/stack"
)

const scriptPassword = "5criptPassw0rdOfThisTest"

// coordinate is a script as packages have them: it looks at the VNFC, here at what it received about it, and refuses or
// not.
const coordinate = `
import os, pickle, sys
v = pickle.load(sys.stdin.buffer)
print("logs in to", v["ssh_ip"], "as", v["username"], "with", v["password"], "back" if v["is_rollback"] else "forward")
if v["answer"] != "yes" or v["inst"]["vnfSoftwareVersion"] != "1.0":
    sys.stderr.write("cannot go on with " + v["vnfc_info_id"])
    os._exit(1)
os._exit(0)
`

// withScript is the package of a source with the script.
func (w *world) withScript(source string) string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), w.t.Name()+"-"+filepath.Base(source))
	require.NoError(w.t, os.CopyFS(dir, os.DirFS(source)))
	require.NoError(w.t, os.Mkdir(filepath.Join(dir, "Scripts"), 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "Scripts", "coordinate.py"), []byte(coordinate), 0o644))
	return w.onboard(dir)
}

// An operator who switches scripts on gets packages upgraded whose scripts have to agree: the plan and the refusals
// know them, each VNFC's step has their words, a rollback asks those of the package from before, and their passwords
// are nowhere.
func TestScriptsOfAPackage(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, true)
	var data string
	w := startStandard(t, func(c *config.Config) {
		c.Scripts.Python = python
		data = c.DataDir
	})
	id := w.create(w.withScript(standardSource))
	w.completed(w.instantiate(id, w.requests.Standard("largest")))
	vnfd := w.withScript(nextSource)
	upgrade := func(script, answer string) sol.ChangeCurrentVnfPkgRequest {
		r := stack.NextVersion(vnfd)
		param := func(answer string) map[string]any {
			return map[string]any{
				"cp_name": "VDU1_CP1", "username": "ubuntu", "password": scriptPassword, "answer": answer,
			}
		}
		r.AdditionalParams["vdu_params"] = []any{
			map[string]any{"vdu_id": "VDU1", "new_vnfc_param": param(answer), "old_vnfc_param": param("yes")},
		}
		r.AdditionalParams["lcm-operation-coordinate-new-vnf"] = script
		r.AdditionalParams["lcm-operation-coordinate-old-vnf"] = "./Scripts/coordinate.py"
		return r
	}
	said := func(op, way string) (n int) {
		for _, l := range w.progress(op).Lines {
			if strings.HasPrefix(l.Text, "logs in to ") && strings.HasSuffix(l.Text, " as ubuntu with *** "+way) {
				n++
			}
		}
		return n
	}
	_, err := w.api.Start(t.Context(), id, sol.LcmOperationChangeVnfpkg, upgrade("./Scripts/other.py", "yes"))
	require.ErrorContains(t, err, "the package has no script Scripts/other.py")

	op, err := w.api.Start(t.Context(), id, sol.LcmOperationChangeVnfpkg, upgrade("./Scripts/coordinate.py", "no"))
	require.NoError(t, err)
	o := w.failed(op)
	require.Equal(t, "Coordination failed", o.Error.Title)
	require.Contains(
		t, o.Error.Detail, "the script Scripts/coordinate.py ended with exit status 1: cannot go on with VDU1-",
	)
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	require.Equal(t, 1, said(op, "back"), "as many as had been changed")

	next := upgrade("./Scripts/coordinate.py", "yes")
	raw, err := json.Marshal(next)
	require.NoError(t, err)
	plan, err := w.api.Plan(
		t.Context(), gybeapi.PlanRequest{VnfInstanceID: id, Operation: sol.LcmOperationChangeVnfpkg, Params: raw},
	)
	require.NoError(t, err)
	require.True(t, plan.Possible, "%+v", plan)
	op, err = w.api.Start(t.Context(), id, sol.LcmOperationChangeVnfpkg, next)
	require.NoError(t, err)
	w.completed(op)
	require.Equal(t, counts(w.instance(id))["VDU1"], said(op, "forward"))
	require.Equal(t, "2.0", w.instance(id).VnfSoftwareVersion)

	for name, text := range w.tables() {
		require.NotContains(t, text, scriptPassword, name)
	}
	for name, text := range files(t, data) {
		require.NotContains(t, text, scriptPassword, name)
	}
	require.NotContains(t, w.log.String(), scriptPassword)
	require.NotContains(t, w.seen.String(), scriptPassword)
}
