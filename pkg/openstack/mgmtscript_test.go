package openstack_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/mgmt/packaged"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// mgmtScript fails the first time, leaves data for the second, and then changes the instance.
const mgmtScript = `
import os, pickle, sys
v = pickle.load(sys.stdin.buffer)
inst, data = v["vnf_instance"], v["user_script_err_handling_data"]
sys.stderr.write("%s with %s, %d machines\n" % (v["operation"], data, len(inst["instantiatedVnfInfo"]["vnfcInfo"])))
sys.stderr.write("granted: %s\n" % sorted(r["id"] for r in v["grant_request"]["addResources"] if r["type"] == "COMPUTE"))
sys.stderr.write("package: %s, connections: %s\n" % (os.path.exists(v["tmp_csar_dir"] + "/Scripts/m.py"), "vimConnectionInfo" in v["request"]))
inst["metadata"] = {"set": "by the script"}
inst["vnfInstanceName"] = "another"
value = {"user_script_err_handling_data": {"tries": data.get("tries", 0) + 1}}
if "tries" in data:
    value["vnf_instance"] = inst
pickle.dump(value, sys.stdout.buffer)
sys.stdout.flush()
if "tries" not in data:
    sys.stderr.write("the machine does not answer")
    os._exit(1)
os._exit(0)
`

// withMgmtScript is a world whose package names a script of its own at the end of an instantiation.
func withMgmtScript(t *testing.T) *world {
	t.Helper()
	pkg := plainPackage(t)
	files, _ := pkg.files.(fstest.MapFS)
	files["Scripts/m.py"] = &fstest.MapFile{Data: []byte(mgmtScript)}
	for n := range pkg.model.Flavours {
		pkg.model.Flavours[n].LCM = map[string]vnfd.Implementation{
			"instantiate_end": {Name: "m", ArtifactType: packaged.ArtifactType, File: "Scripts/m.py"},
		}
	}
	w := newSite(t, pkg)
	w.mgmt = func(r openstack.ScriptRunner) lcm.MgmtDrivers {
		return &packaged.Drivers{BuiltIn: mgmt.Registry{}, Host: durable.Host{Scripts: r, Process: "p"}}
	}
	return w
}

// TestMgmtScriptOfThePackage: a mgmt driver script runs at its hook with its output in the log of the step. What it
// leaves when it fails is given to its next run, and of the instance only what it may change is taken over.
func TestMgmtScriptOfThePackage(t *testing.T) {
	t.Parallel()
	w := withMgmtScript(t)
	w.instantiateSite()
	f := w.failed()
	require.Equal(t, "Mgmt driver failed", f.Title)
	require.Contains(t, f.Detail, "at instantiate_end: the script Scripts/m.py ended with exit status 1")
	require.Contains(t, f.Detail, "the machine does not answer")
	require.True(t, w.logged("instantiate_end with {}, 1 machines"))
	require.True(t, w.logged("granted: ['VDU1-0']"))
	require.True(t, w.logged("package: True, connections: False"))
	require.JSONEq(t, `{"tries": 1}`, string(w.store.op.ScriptData))

	w.steer(lcm.EventRetry)
	w.completed()
	require.True(t, w.logged("instantiate_end with {'tries': 1}, 1 machines"))
	require.True(t, w.logged("the script has changed vnfInstanceName of the VnfInstance, which is ignored"))
	require.JSONEq(t, `{"set": "by the script"}`, string(w.store.instance.Metadata))
	require.Empty(t, w.store.instance.Name)
}

// TestMgmtScriptsAreRefused: a VNFD that names a script is refused where none is run, and so is one without the file.
func TestMgmtScriptsAreRefused(t *testing.T) {
	t.Parallel()
	impl := vnfd.Implementation{Name: "m", ArtifactType: packaged.ArtifactType, File: "Scripts/m.py"}
	off := &packaged.Drivers{BuiltIn: mgmt.Registry{}}
	_, err := off.Driver(impl)
	require.ErrorContains(t, err, "not built in: it is a script of the package (Scripts/m.py), and this node runs no")
	require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
	require.Contains(t, lcm.AsError(err).Hint, "scripts.python")

	on := &packaged.Drivers{BuiltIn: mgmt.Registry{}, Host: durable.Host{Scripts: runner(t, "none")}}
	other := vnfd.Implementation{Name: "m", ArtifactType: "tosca.artifacts.File", File: "m.sh"}
	_, err = on.Driver(other)
	require.ErrorContains(t, err, "running m.sh of the package is not supported")
	program := vnfd.Implementation{Name: "m", ArtifactType: "tosca.artifacts.Implementation.Bash", File: "m.sh"}
	lua, err := on.Driver(program)
	require.NoError(t, err)
	err = lua.Validate(t.Context(), lcm.Request{Type: sol.LcmOperationInstantiate, Package: fstest.MapFS{
		"m.sh": {Data: []byte("#!/usr/bin/no-such-lua\n")},
	}})
	require.ErrorContains(t, err, "names the interpreter /usr/bin/no-such-lua, which scripts do not find")
	d, err := on.Driver(impl)
	require.NoError(t, err)
	err = d.Validate(t.Context(), lcm.Request{Type: sol.LcmOperationInstantiate, Package: fstest.MapFS{}})
	require.ErrorContains(t, err, "the package has no file Scripts/m.py")
}
