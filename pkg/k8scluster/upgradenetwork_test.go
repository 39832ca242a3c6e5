package k8scluster_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// cilium reads the image of the agents of Cilium in the cluster.
func (g *grown) cilium() string {
	g.t.Helper()
	code, body := g.cluster.Do(
		g.t.Context(), kubeapi.Admin, http.MethodGet, "/apis/apps/v1/namespaces/kube-system/daemonsets/cilium", "", nil,
	)
	require.Equal(g.t, http.StatusOK, code, "%s", body)
	var d struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Image string } }
			}
		}
	}
	require.NoError(g.t, json.Unmarshal(body, &d))
	require.Len(g.t, d.Spec.Template.Spec.Containers, 1)
	return d.Spec.Template.Spec.Containers[0].Image
}

// An upgrade brings Cilium to the version of the request after the last node. A failure that may pass is retried
// without another upgrade of the nodes, and a version older than the cluster's changes nothing.
func TestUpgradeBringsCiliumToItsVersion(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	require.Equal(t, "quay.io/cilium/cilium:v1.18.4", g.cilium())
	g.fleet.Fail("masterNode-11", simmachine.Failure{
		Command: "cilium upgrade", Stderr: "Error: unable to pull the chart", Times: 1,
	})
	s := g.change("1.35", map[string]any{"cilium_version": "1.18.6"})
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
	require.Contains(t, s.allLogs(), "unable to pull the chart")
	require.Equal(t, "quay.io/cilium/cilium:v1.18.6", g.cilium())
	g.all("v1.35.4")
	require.Equal(t, each(1), g.upgrades())

	s = g.change("1.35", map[string]any{"cilium_version": "1.18.5"})
	advance(t, s, g.driver, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateCompleted, s.op.State, "%+v\n%s", s.op.Error, s.allLogs())
	require.Equal(t, "quay.io/cilium/cilium:v1.18.6", g.cilium())
	require.Contains(t, s.allLogs(), "1.18.6, which is newer than CILIUM_VERSION 1.18.5")
}
