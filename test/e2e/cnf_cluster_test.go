package e2e_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// inCluster is the request to instantiate a CNF in the VIM with an id.
func inCluster(vimID string) map[string]any {
	vim := map[string]any{"vimId": vimID, "vimType": "ETSINFV.KUBERNETES.V_1"}
	return map[string]any{"flavourId": "simple", "vimConnectionInfo": map[string]any{"vim1": vim}}
}

// refusedAt requires a refusal with a status, and returns it.
func refusedAt(t *testing.T, status int, err error) *client.Error {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, status, e.Problem.Status, "%v", err)
	return e
}

// TestContainersInAClusterOfAnInstance: a CNF names the VNF instance that has made its cluster, works after the cluster
// was healed as a whole, keeps the cluster from a graceful termination, and can be terminated after a forceful one.
func TestContainersInAClusterOfAnInstance(t *testing.T) {
	t.Parallel()
	w, _ := withMachines(t, nil)
	cluster := w.create(w.onboard(clusterSource))
	vnfd := w.onboard("../../vnf-packages/cnf-web")
	cnf := w.create(vnfd)

	_, err := w.api.Instantiate(t.Context(), cnf, encode(t, inCluster(cluster)))
	e := refusedAt(t, http.StatusUnprocessableEntity, err)
	require.Equal(t, "/vimConnectionInfo/vim1/vimId", e.Problem.InvalidParams[0].Pointer)
	require.Contains(t, e.Problem.Detail, "VNF instance "+cluster+" has no cluster")
	_, err = w.api.Instantiate(t.Context(), cnf, encode(t, inCluster(uuid.NewString())))
	require.ErrorContains(t, err, "VIM")

	w.completed(w.instantiate(cluster, w.cluster("simple")))
	w.completed(w.instantiate(cnf, inCluster(cluster)))
	require.Len(t, w.serverIDs(cnf), 2)
	made, err := w.api.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.Equal(t, made[0].ID, w.instance(cnf).VimConnectionInfo["vim1"].VimID)

	w.completed(w.task(cluster, sol.LcmOperationHeal, map[string]any{"additionalParams": map[string]any{"all": true}}))
	w.completed(w.task(cnf, sol.LcmOperationHeal, map[string]any{}))
	w.completed(w.task(cnf, sol.LcmOperationScale, map[string]any{"type": "SCALE_OUT", "aspectId": "web"}))
	require.Len(t, w.serverIDs(cnf), 3)

	graceful := sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeGraceful}
	_, err = w.api.Terminate(t.Context(), cluster, graceful)
	e = refusedAt(t, http.StatusConflict, err)
	require.Contains(t, e.Problem.Detail, "in which other VNF instances have resources: "+cnf)
	require.Contains(t, e.Error(), "FORCEFUL")

	_, text, code := w.gybe("vnf", "terminate", cluster, "--yes")
	require.NotZero(t, code)
	require.Contains(t, text, cnf)
	require.Contains(t, text, "gybe vnf terminate --force")
	w.told("vnf", "terminate", cluster, "--yes", "--force", "--wait")
	op := w.completed(w.terminate(cnf))
	require.Contains(t, string(encode(t, w.progress(op.ID).Steps)), "all resources are gone with the cluster")
	require.NoError(t, w.api.DeleteInstance(t.Context(), cnf))
	w.gone()

	w.completed(w.instantiate(cluster, w.cluster("simple")))
	other := w.create(vnfd)
	w.completed(w.instantiate(other, inCluster(cluster)))
	w.completed(w.terminate(other))
	done, err := w.api.Terminate(t.Context(), cluster, graceful)
	require.NoError(t, err)
	w.completed(done)
}
