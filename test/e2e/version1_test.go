package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
)

// TestClusterLivesItsWholeLifeThroughVersion1: a cluster is created, instantiated, scaled, healed, terminated and
// deleted through version 1 of the interface alone, with requests as parameter files of the openstack client have them.
func TestClusterLivesItsWholeLifeThroughVersion1(t *testing.T) {
	t.Parallel()
	w, fleet := withMachines(t, nil)
	vnfd := w.onboard(v1Source)
	var made v1.VnfInstance
	w.v1(http.MethodPost, "", map[string]any{"vnfdId": vnfd}, 201, &made)
	require.Equal(t, "vnf-"+made.ID, made.VnfInstanceName)
	require.Equal(t, "/vnflcm/v1/vnf_instances/"+made.ID, made.Links.Self.Href)
	id := "/" + made.ID

	w.doneV1(id+"/instantiate", olderForm(t, w.clusterV1("simple")))
	w.members(made.ID, 1, 2)
	w.doneV1(id+"/scale", map[string]any{"type": "SCALE_OUT", "aspectId": "worker_instance", "numberOfSteps": "1"})
	w.members(made.ID, 1, 3)
	w.doneV1(id+"/scale", map[string]any{"type": "SCALE_IN", "aspectId": "worker_instance", "numberOfSteps": 1})
	w.members(made.ID, 1, 2)

	shown := w.instanceV1(id)
	types := map[string]string{}
	for _, c := range shown.VimConnectionInfo {
		types[c.VimType] = c.ID
	}
	require.Equal(t, "vim1", types["openstack"])
	require.NotEmpty(t, types["kubernetes"], "the cluster")
	for _, r := range shown.InstantiatedVnfInfo.VnfcResourceInfo {
		if r.VduID != "workerNode" {
			continue
		}
		fleet.PowerOff(r.ComputeResource.ResourceID)
		op := w.doneV1(id+"/heal", map[string]any{"cause": "power is off", "vnfcInstanceId": []string{r.ID}})
		require.Len(t, op.ResourceChanges.AffectedVnfcs, 2, "one machine is removed, and one is added")
		break
	}
	w.members(made.ID, 1, 2)

	before := w.stackOf(made.ID)
	w.doneV1(id+"/heal", map[string]any{})
	w.members(made.ID, 1, 2)
	require.NotEqual(t, before, w.stackOf(made.ID), "a heal without VNFCs makes another stack")

	w.doneV1(id+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
	w.gone()
	w.v1(http.MethodDelete, id, nil, 204, nil)
	w.v1(http.MethodGet, id, nil, 404, nil)
}

// olderForm gives a request the form of version 1.
func olderForm(t *testing.T, params map[string]any) map[string]any {
	t.Helper()
	listed := func(of any, name string) (out []any) {
		members, ok := of.(map[string]any)
		require.True(t, ok)
		for key, value := range members {
			member, ok := value.(map[string]any)
			require.True(t, ok)
			if name != "" {
				member[name] = key
			}
			if member["vimType"] != nil {
				member["vimType"] = "openstack"
			}
			out = append(out, member)
		}
		return out
	}
	params["vimConnectionInfo"] = listed(params["vimConnectionInfo"], "id")
	links, ok := params["extVirtualLinks"].([]any)
	require.True(t, ok)
	for _, link := range links {
		cps, ok := link.(map[string]any)["extCps"].([]any) //nolint:forcetypeassert // a wrong file fails the test
		require.True(t, ok)
		for _, c := range cps {
			cp, ok := c.(map[string]any)
			require.True(t, ok)
			cp["cpConfig"] = listed(cp["cpConfig"], "") // parameter files have no cpInstanceId
		}
	}
	return params
}

// v1 sends a request to a path below /vnflcm/v1/vnf_instances, and decodes the answer into out unless it is nil. It
// returns the header of the answer.
func (w *world) v1(method, at string, body any, status int, out any) http.Header {
	w.t.Helper()
	var raw io.Reader = http.NoBody
	if body != nil {
		raw = bytes.NewReader(encode(w.t, body))
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.node.URL()+"/vnflcm/v1/vnf_instances"+at, raw)
	require.NoError(w.t, err)
	req.Header.Set("Version", "1.3.0")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, status, resp.StatusCode, "%s", text)
	if out != nil {
		require.NoError(w.t, json.Unmarshal(text, out))
	}
	return resp.Header
}

// doneV1 sends a task that has to succeed, and returns its operation.
func (w *world) doneV1(at string, body any) *sol.VnfLcmOpOcc {
	w.t.Helper()
	return w.completed(path.Base(w.v1(http.MethodPost, at, body, 202, nil).Get("Location")))
}

func (w *world) instanceV1(at string) (i v1.VnfInstance) {
	w.t.Helper()
	w.v1(http.MethodGet, at, nil, 200, &i)
	return i
}

// stackOf is the id of the stack of an instance.
func (w *world) stackOf(instance string) string {
	w.t.Helper()
	for _, s := range w.cloud.State()["stacks"] {
		if s.Name == "vnf-"+instance {
			return s.ID
		}
	}
	w.t.Fatal("the instance has no stack")
	return ""
}
