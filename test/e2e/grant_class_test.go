package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/nfvo"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/stack"
)

// A user-data class of the package has to follow the grant of an NFVO. One that does not is an error before anything is
// created, or changed, and the error says what differs.
func TestGrantThatAClassDoesNotFollow(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, true)
	m := startManaged(t, func(c *configuration) { c.Scripts.Python = python })
	var decide func(sol.GrantRequest, *sol.Grant)
	m.nfvo.Set(nfvo.Behaviour{Change: func(r sol.GrantRequest, g *sol.Grant) { decide(r, g) }})
	flavour := func(r sol.GrantRequest, g *sol.Grant) {
		for _, d := range r.AddResources {
			if d.Type == "COMPUTE" {
				g.VimAssets = &sol.VimAssets{ComputeResourceFlavours: []sol.VimComputeResourceFlavour{{
					VimConnectionID: "vim1", VnfdVirtualComputeDescID: "VDU1", VimFlavourID: "m1.small",
				}}}
			}
		}
	}
	network := func(_ sol.GrantRequest, g *sol.Grant) {
		g.ExtVirtualLinks = []sol.ExtVirtualLinkData{{
			ID: "net0", ResourceID: m.cloud.Net0ID(), ExtCps: []sol.VnfExtCpData{{CpdID: "VDU1_CP1"}},
		}}
	}
	for name, tt := range map[string]struct {
		old, replacement string
		grants           func(sol.GrantRequest, *sol.Grant)
		want             string
	}{
		"follows it": {"the flavour %s with", "the flavour %s has", flavour, ""},
		"another flavour": {
			`utils.get_param_flavor("VDU1", flavour_id, vnfd, grant)`, `"m1.tiny"`, flavour,
			"the grant gives VDU1-0 the flavour m1.small (/vimAssets), but it would have m1.tiny: the user-data " +
				"class SiteUserData decides it",
		},
		"a flavour in the template": {
			`    top["outputs"] =`,
			`    top["resources"]["VDU1-0"]["properties"]["flavor"] = "m1.tiny"
    top["outputs"] =`,
			flavour,
			"the template does not take it from nfv.VDU.VDU1.computeFlavourId",
		},
		"one VNFC too many": {
			"    for index in range(count):\n        top", "    for index in range(count + 1):\n        top", network,
			"the grant is for 1 VNFCs of VDU1, but the stack would have 2: the user-data class SiteUserData decides it",
		},
		"another network": {
			`leaves["network"] = network`, `leaves["network"] = "public"`, network,
			"but it would be on public: the user-data class SiteUserData decides it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := *m.world
			w.t = t
			m := managed{world: &w, nfvo: m.nfvo}
			decide = tt.grants
			s := sourceOf(t, plainSource)
			s.edit(t, "UserData/site.py", tt.old, tt.replacement)
			m.onboardShape(s, name, nil)
			id := m.create(name)
			params := m.plain("default")
			params["additionalParams"] = map[string]any{
				"lcm-operation-user-data": "./UserData/site.py", "lcm-operation-user-data-class": "SiteUserData",
			}
			op := m.instantiate(id, params)
			if tt.want == "" {
				m.completed(op)
				op, err := m.api.Start(t.Context(), id, sol.LcmOperationScale, stack.Scale(sol.ScaleTypeOut, 1))
				require.NoError(t, err)
				m.completed(op)
				m.completed(m.terminate(id))
			} else {
				occ := m.resting(op)
				require.Equal(t, sol.LcmOperationStateRolledBack, occ.OperationState)
				require.Contains(t, occ.Error.Detail, tt.want)
			}
			m.gone()
			require.NoError(t, m.api.DeleteInstance(t.Context(), id))
		})
	}
}
