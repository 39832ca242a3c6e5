package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestContainersChangeTheirLevel: CNFs from manifests and from a chart are instantiated at a level, are scaled to
// another one and to numbers of an aspect, and go on with the credentials that a MODIFY gives.
func TestContainersChangeTheirLevel(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]struct {
		start               func(*testing.T) *containers
		source, flavour, id string
		params              map[string]any
	}{
		"manifests": {startContainers, cnfWebSource, cnfWebFlavour, cnfWebID, nil},
		"chart": {
			charts, chartSource, "Definitions/cnf_web_helm_df_simple.yaml", chartID, chartParams(nil),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := p.start(t)
			s := sourceOf(t, p.source)
			s[p.flavour] = strings.NewReplacer(
				"          default_level:",
				"            largest:\n              description: all\n              scale_info:\n"+
					"                web: { scale_level: 2 }\n          default_level:",
				"            instantiation_level_1:\n              number_of_instances: 2\n",
				"            instantiation_level_1:\n              number_of_instances: 2\n"+
					"            largest:\n              number_of_instances: 4\n",
			).Replace(s[p.flavour])
			id := w.create(w.onboardShape(s, p.id, nil).VnfdID)
			request := w.request(p.params)
			request["instantiationLevelId"] = "largest"
			w.completed(w.instantiate(id, request))
			at := func(vnfcs int) {
				t.Helper()
				require.Len(t, w.vnfcs(id), vnfcs)
				require.Len(t, w.named("Pod", ""), vnfcs)
			}
			at(4)
			first := w.vnfcs(id)
			level := func(to string) map[string]any { return map[string]any{"instantiationLevelId": to} }
			_, err := w.api.Start(t.Context(), id, sol.LcmOperationScaleToLevel, level("another"))
			refused := refusedAt(t, http.StatusUnprocessableEntity, err)
			require.Equal(t, "/instantiationLevelId", refused.Problem.InvalidParams[0].Pointer)
			at(4)
			w.completed(w.task(id, sol.LcmOperationScaleToLevel, level("instantiation_level_1")))
			at(2)
			require.Subset(t, first, w.vnfcs(id))
			w.completed(w.task(id, sol.LcmOperationScaleToLevel, map[string]any{
				"scaleInfo": []any{map[string]any{"aspectId": "web", "scaleLevel": 1}},
			}))
			at(3)

			cred, err := w.cluster.IssueClient("another", "system:masters")
			require.NoError(t, err)
			access := kubernetes.Access{Certificate: cred.Certificate, Key: cred.Key}.Vim().AccessInfo
			w.completed(w.task(id, sol.LcmOperationModifyInfo, map[string]any{
				"vnfInstanceName": "renamed", "vimConnectionInfo": map[string]any{
					"vim1": map[string]any{"accessInfo": access},
				},
			}))
			require.Equal(t, "renamed", w.instance(id).VnfInstanceName)
			at(3)
			w.completed(w.task(id, sol.LcmOperationScaleToLevel, level("largest")))
			at(4)
			w.completed(w.terminate(id))
			require.Empty(t, w.named("Pod", ""))
		})
	}
}
