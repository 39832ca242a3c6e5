package vnfpackages_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cnf"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

var cnfWeb = sample{dir: "cnf-web", prefix: "cnf_web_"}

func TestCnfWebMetaListsEveryFile(t *testing.T) { cnfWeb.metaListsEveryFile(t) }

// TestCnfWebIsAGoodPackage: the VNFD has all that the driver needs, so the parameter file names no manifests.
func TestCnfWebIsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := cnfWeb.good(t)
	f := v.Flavour("simple")
	require.NotNil(t, f)
	counts, ok := f.Counts("")
	require.True(t, ok)
	require.Equal(t, map[string]int{"VDU1": 2}, counts)
	require.Equal(t, &vnfd.Workload{Kind: "Deployment", Name: "web"}, f.VDU("VDU1").Workload)
	require.Equal(t, "nginx", f.VDU("VDU1").Containers[0].Image.Name)
	require.Len(t, f.Mciops[0].Manifests, 3)
	require.NotNil(t, f.VirtualCP("web_service"))
	var req sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(cnfWeb.read(t, "params/instantiate.json"), &req))
	require.Equal(t, cnf.VimType, req.VimConnectionInfo["vim1"].VimType)
	require.NotContains(t, req.AdditionalParams, "lcm-kubernetes-def-files")
	d := cnf.New(cnf.Config{}, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	require.NoError(t, d.Validate(t.Context(), lcm.Request{
		Type: sol.LcmOperationInstantiate, Instance: &lcm.Instance{ID: "a"}, VNFD: v, Flavour: f,
		Package: os.DirFS(cnfWeb.dir), Params: cnfWeb.read(t, "params/instantiate.json"),
		AdditionalParams: req.AdditionalParams,
	}))
}
