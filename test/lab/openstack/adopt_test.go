package openstack_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// register registers the lab in Gybe and returns the id of the VIM.
func (w *world) register() string {
	w.t.Helper()
	v := w.lab.vars
	vim, err := w.api.CreateVim(w.t.Context(), gybeapi.Vim{
		Name: "lab", Type: "openstack", AuthURL: v["OS_AUTH_URL"],
		AuthCred: sol.KeyValuePairs{
			"username": v["OS_USERNAME"], "password": v["OS_PASSWORD"], "user_domain_name": "Default",
		},
		VimProject:    sol.KeyValuePairs{"name": v["OS_PROJECT_NAME"], "project_domain_name": "Default"},
		PlacementAttr: sol.KeyValuePairs{"regions": []string{v["OS_REGION_NAME"]}},
	})
	require.NoError(w.t, err)
	return vim.ID
}

// adopt sends a request for an adoption, which must be accepted.
func (w *world) adopt(req gybeapi.AdoptionRequest) gybeapi.AdoptionPlan {
	w.t.Helper()
	res, err := w.subscriber.Client().Post(w.nodes[0].URL+"/gybe/v1/adoptions", "application/json",
		bytes.NewReader(encode(w.t, req)))
	require.NoError(w.t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	require.Less(w.t, res.StatusCode, http.StatusMultipleChoices, string(raw))
	var plan gybeapi.AdoptionPlan
	require.NoError(w.t, json.Unmarshal(raw, &plan))
	return plan
}

// An instance of Tacker is adopted without a change in the cloud. It is then scaled and terminated, and scaling leaves
// the servers that were there as they are.
func TestAdopt(t *testing.T) {
	w := start(t, 1)
	server, vim := w.manager()
	vnf := vim.Standard(server.AddPackage("../../packages/standard"), "by Tacker", w.standard("volumes"))
	*w.instances = append(*w.instances, vnf.ID)
	vnf.Scale(sol.ScaleTypeOut, "VDU1_scale", 1)
	servers := w.named(server, vnf, 3)

	packages, err := w.api.Packages(t.Context(), "(eq,vnfdId,"+w.vnfd("standard")+")", false)
	require.NoError(t, err)
	require.Len(t, packages, 1)
	in := w.read(server, vnf.ID)
	req := in.Request
	req.VnfPkgID, req.DryRun = packages[0].ID, true
	req.VimConnections = map[string]string{in.Connections[0].Key: w.register()}
	before := w.cloud.look(t)
	plan := w.adopt(req)
	require.Empty(t, plan.Refusals)
	require.Len(t, plan.Vnfcs, 3)
	require.Empty(t, plan.Update.Replace)
	require.Empty(t, plan.Update.Remove)
	require.False(t, plan.Adopted)
	req.DryRun = false
	plan = w.adopt(req)
	require.True(t, plan.Adopted)
	require.Equal(t, before, w.cloud.look(t), "adoption only reads")

	w.run(vnf.ID, sol.LcmOperationScale, scale(sol.ScaleTypeOut, 1))
	require.Equal(t, map[string]int{"VDU1": 3, "VDU2": 1}, vnfcs(w.instance(vnf.ID)))
	var after []string
	for _, m := range machines(w.instance(vnf.ID)) {
		after = append(after, m.server)
	}
	require.Subset(t, after, servers)
	w.servers(vnf.ID, "ACTIVE")
	w.run(vnf.ID, sol.LcmOperationScale, scale(sol.ScaleTypeIn, 2))
	require.Equal(t, map[string]int{"VDU1": 1, "VDU2": 1}, vnfcs(w.instance(vnf.ID)))
	w.down(vnf.ID)
}
