package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

const sshPort = 2222

// A VNF of plain virtual machines, in both forms of templates: up, shown, down, and nothing is left.
func TestPlainMachinesComeAndGo(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	vnfd := w.onboard(plainSource)
	for _, flavour := range []string{"default", "groups"} {
		t.Run(flavour, func(t *testing.T) {
			w := *w
			w.t = t
			id := w.create(vnfd)
			params := w.plain(flavour)
			params["instantiationLevelId"] = "instantiation_level_2"
			op := w.instantiate(id, params)
			o := w.completed(op)
			require.Len(t, o.ResourceChanges.AffectedVnfcs, 3)

			i, err := w.api.Instance(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, sol.InstantiationStateInstantiated, i.InstantiationState)
			require.Len(t, i.InstantiatedVnfInfo.VnfcInfo, 3)
			require.Equal(t, 2, i.InstantiatedVnfInfo.ScaleStatus[0].ScaleLevel)
			for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
				if flavour == "default" {
					require.Contains(t, r.Metadata["stack_id"], "vnf-"+id+"-VDU1-")
				} else {
					require.NotEmpty(
						t, r.Metadata["parent_resource_name"], "a member of a group is found again by its name in it",
					)
				}
			}
			require.Equal(t, "grant infra inventory", phases(w.progress(op).Phases))
			require.Len(t, stacksOf(w.cloud.State(), id), 1)

			_, err = w.api.Kubeconfig(t.Context(), id)
			require.ErrorContains(t, err, "404")
			require.ErrorContains(t, w.api.DeleteInstance(t.Context(), id), "409")
			w.completed(w.terminate(id))
			w.gone()
			i, err = w.api.Instance(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, sol.InstantiationStateNotInstantiated, i.InstantiationState)
			require.Nil(t, i.InstantiatedVnfInfo)
			require.NoError(t, w.api.DeleteInstance(t.Context(), id))
			_, err = w.api.Instance(t.Context(), id)
			require.ErrorContains(t, err, "404")
		})
	}
}

// stacksOf lists the top stacks of an instance.
func stacksOf(s simcloud.State, id string) []simcloud.Object {
	var out []simcloud.Object
	for _, o := range s["stacks"] {
		if o.Name == "vnf-"+id {
			out = append(out, o)
		}
	}
	return out
}
