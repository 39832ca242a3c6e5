package vnfpackages_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

var cnfWebHelm = sample{dir: "cnf-web-helm", prefix: "cnf_web_helm_"}

func TestCnfWebHelmMetaListsEveryFile(t *testing.T) { cnfWebHelm.metaListsEveryFile(t) }

// TestCnfWebHelmIsAGoodPackage: its parameter file is accepted by the driver. Package helm runs the contract of infra
// drivers with it.
func TestCnfWebHelmIsAGoodPackage(t *testing.T) {
	t.Parallel()
	v := cnfWebHelm.good(t)
	f := v.Flavour("simple")
	require.NotNil(t, f)
	counts, ok := f.Counts("")
	require.True(t, ok)
	require.Equal(t, map[string]int{"VDU1": 2}, counts)
	var req sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(cnfWebHelm.read(t, "params/instantiate.json"), &req))
	d := helm.New(helm.Config{}, slog.New(slog.DiscardHandler))
	t.Cleanup(d.Close)
	require.NoError(t, d.Validate(t.Context(), lcm.Request{
		Type: sol.LcmOperationInstantiate, Instance: &lcm.Instance{ID: "a"}, VNFD: v, Flavour: f,
		Package: os.DirFS(cnfWebHelm.dir), AdditionalParams: req.AdditionalParams,
	}))
	require.Equal(t, helm.VimType, req.VimConnectionInfo["vim1"].VimType)
}
