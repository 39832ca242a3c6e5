package granting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/granting"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// granted grants what a request asks for.
func granted(r *sol.GrantRequest) *sol.Grant {
	g := &sol.Grant{ID: "g", VnfInstanceID: r.VnfInstanceID, VnfLcmOpOccID: r.VnfLcmOpOccID}
	for _, d := range r.AddResources {
		g.AddResources = append(g.AddResources, sol.GrantInfo{ResourceDefinitionID: d.ID})
	}
	for _, d := range r.RemoveResources {
		g.RemoveResources = append(g.RemoveResources, sol.GrantInfo{ResourceDefinitionID: d.ID})
	}
	for _, d := range r.UpdateResources {
		g.UpdateResources = append(g.UpdateResources, sol.GrantInfo{ResourceDefinitionID: d.ID})
	}
	return g
}

// info is the decision about a definition.
func info(g *sol.Grant, id string) *sol.GrantInfo {
	for n := range g.AddResources {
		if g.AddResources[n].ResourceDefinitionID == id {
			return &g.AddResources[n]
		}
	}
	panic("the grant has no " + id)
}

// vim is a connection to a VIM.
func vim(project string) sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimType: "T", InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://" + project},
		AccessInfo: sol.KeyValuePairs{"username": "u", "project": project, "projectDomain": "Default"},
	}
}

// operation is an operation with what its package and instance have.
func operation(name string) *lcm.Execution {
	w := executions()[name]
	w.Flavour.VDUs[0].Image = &vnfd.SwImage{Name: "image-1.0"}
	w.Flavour.Storages[0].Image = &vnfd.SwImage{Name: "disk-1.0"}
	w.VNFD.Flavours = []vnfd.Flavour{*w.Flavour}
	w.Instance.VimConnections = map[string]sol.VimConnectionInfo{"vim1": vim("p1")}
	return w
}

// apply applies a grant that change has changed.
func apply(t *testing.T, w *lcm.Execution, change func(*sol.Grant)) error {
	t.Helper()
	r, err := granting.Request(w, "https://vnfm.example")
	require.NoError(t, err)
	g := granted(r)
	change(g)
	return granting.Apply(w, r, g, "https://nfvo/grants/g", nil)
}

//nolint:thelper // the checks of rows are no helpers
func TestApply(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, op string
		change   func(*sol.Grant)
		check    func(t *testing.T, w *lcm.Execution)
	}{
		{"nothing but permission", "instantiate", func(*sol.Grant) {}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, "g", w.Op.Grant.ID)
			require.Contains(t, w.Op.Grant.New, "workerNode-0/workerNode_CP1")
			w.Op.Grant.New = nil
			require.Equal(t, &lcm.Grant{ID: "g"}, w.Op.Grant)
			require.Equal(t, "https://nfvo/grants/g", w.Op.GrantHref)
			require.Equal(t, map[string]sol.VimConnectionInfo{"vim1": vim("p1")}, w.Instance.VimConnections)
		}},
		{"zones", "instantiate", func(g *sol.Grant) {
			g.Zones = []sol.ZoneInfo{{ID: "z1", ZoneID: "az1", VimConnectionID: "vim1"}, {ID: "z2", ZoneID: "az2"}}
			g.ZoneGroups = []sol.ZoneGroupInfo{{ZoneID: []string{"z1", "z2"}}}
			info(g, "masterNode-0").ZoneID = "z1"
			info(g, "masterNode-1").ZoneID = "z2"
			info(g, "workerNode-0").ZoneID = "z2"
			info(g, "masterNode-0/masterDisk").ZoneID = "z1"
		}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, map[string]string{
				"masterNode-0": "az1", "masterNode-1": "az2", "workerNode-0": "az2", "workerNode": "az2",
			}, w.Op.Grant.Zones)
		}},
		{"zone of a VNFC that comes", "scale", func(g *sol.Grant) {
			g.Zones = []sol.ZoneInfo{{ID: "z1", ZoneID: "az1"}}
			info(g, "masterNode-2").ZoneID = "z1"
		}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, map[string]string{"masterNode-2": "az1", "masterNode": "az1"}, w.Op.Grant.Zones)
		}},
		{"assets", "instantiate", func(g *sol.Grant) {
			g.VimAssets = &sol.VimAssets{
				ComputeResourceFlavours: []sol.VimComputeResourceFlavour{
					{VnfdVirtualComputeDescID: "masterNode", VimFlavourID: "f1"},
					{VnfdVirtualComputeDescID: "masterNode", VimFlavourID: "f2", VimConnectionID: "elsewhere"},
				},
				SoftwareImages: []sol.VimSoftwareImage{
					{VnfdSoftwareImageID: "masterNode", VimSoftwareImageID: "i1"},
					{VnfdSoftwareImageID: "disk-1.0", VimSoftwareImageID: "i2", VimConnectionID: "vim1"},
				},
			}
		}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, map[string]string{"masterNode": "f1"}, w.Op.Grant.Flavours)
			require.Equal(t, map[string]string{"masterNode": "i1", "masterDisk": "i2"}, w.Op.Grant.Images)
			require.Equal(t, &lcm.VimAssets{Flavours: w.Op.Grant.Flavours, Images: w.Op.Grant.Images},
				w.Op.Grant.Assets)
		}},
		{"assets of an earlier grant", "scale", func(*sol.Grant) {}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, map[string]string{"workerNode": "f9"}, w.Op.Grant.Flavours)
			require.Nil(t, w.Op.Grant.Assets)
		}},
		{"links and parameters", "instantiate", func(g *sol.Grant) {
			g.ExtVirtualLinks = []sol.ExtVirtualLinkData{{
				ID: "l", ResourceID: "n", VimConnectionID: "vim1",
				ExtCps: []sol.VnfExtCpData{{CpdID: "workerNode_CP1"}},
			}}
			g.ExtManagedVirtualLinks = []sol.ExtManagedVirtualLinkData{{
				ID: "m", ResourceID: "n", VnfVirtualLinkDescID: "internalVL",
			}}
			g.AdditionalParams = sol.KeyValuePairs{"k": "v"}
		}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, "l", w.Op.Grant.ExtVirtualLinks[0].ID)
			require.Equal(t, "m", w.Op.Grant.ExtManagedVirtualLinks[0].ID)
			require.Equal(t, sol.KeyValuePairs{"k": "v"}, w.Op.GrantParams)
		}},
		{"another VIM for everything", "instantiate", func(g *sol.Grant) {
			g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a": vim("pa"), "z": vim("pz")}
			for n := range g.AddResources {
				g.AddResources[n].VimConnectionID = "z"
			}
		}, func(t *testing.T, w *lcm.Execution) {
			key, c, _ := lcm.PrimaryVim(w.Instance.VimConnections)
			require.Equal(t, "z", key)
			require.Equal(t, vim("pz").AccessInfo, c.AccessInfo)
			require.Equal(t, []string{"z"}, lcm.VimsOf(w.Instance.VimConnections))
		}},
		{"a VIM for each VDU", "instantiate_managed", func(g *sol.Grant) {
			g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a": vim("pa")}
			for n, i := range g.AddResources {
				g.AddResources[n].VimConnectionID = "vim1"
				if i.ResourceDefinitionID[:6] == "worker" {
					g.AddResources[n].VimConnectionID = "a"
				}
			}
		}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, []string{"vim1", "a"}, lcm.VimsOf(w.Instance.VimConnections))
			key, _, _ := lcm.VimOf(w.Instance.VimConnections, "workerNode")
			require.Equal(t, "a", key)
		}},
		{"a connection that the VNF has is not changed", "scale", func(g *sol.Grant) {
			g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"vim1": vim("other"), "a": vim("pa")}
		}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, vim("p1"), w.Instance.VimConnections["vim1"])
			require.Contains(t, w.Instance.VimConnections, "a")
			require.Equal(t, []string{"vim1"}, lcm.VimsOf(w.Instance.VimConnections),
				"the new one does not become primary")
		}},
		{"a project", "instantiate", func(g *sol.Grant) {
			for n := range g.AddResources {
				g.AddResources[n].ResourceGroupID = "project-7"
			}
		}, func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, sol.KeyValuePairs{"username": "u", "projectId": "project-7"},
				w.Instance.VimConnections["vim1"].AccessInfo)
		}},
		{
			"the project that it has", "scale", func(g *sol.Grant) { g.AddResources[0].ResourceGroupID = "p1" },
			func(*testing.T, *lcm.Execution) {},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := operation(tt.op)
			if tt.op == "scale" {
				w.Instance.Assets = &lcm.VimAssets{Flavours: map[string]string{"workerNode": "f9"}}
			}
			require.NoError(t, apply(t, w, tt.change))
			tt.check(t, w)
		})
	}
}

// An invalid grant changes nothing, and its error names the entry.
func TestApplyRejectsInvalidGrants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		op     string
		change func(*sol.Grant)
		want   string
	}{
		{"scale", func(g *sol.Grant) { g.ID = "" }, "/id is missing"},
		{"scale", func(g *sol.Grant) { g.VnfLcmOpOccID = "x" }, "vnfLcmOpOccId"},
		{"scale", func(g *sol.Grant) { g.VnfInstanceID = "x" }, "vnfInstanceId"},
		{"scale", func(g *sol.Grant) { g.AddResources = g.AddResources[1:] }, "masterNode-2 (COMPUTE)"},
		{"scale", func(g *sol.Grant) { g.AddResources[0].ResourceDefinitionID = "x" }, `"x"`},
		{"scale", func(g *sol.Grant) { g.AddResources = append(g.AddResources, g.AddResources[0]) }, "twice"},
		{"scale", func(g *sol.Grant) { g.AddResources[0].ReservationID = "r" }, "reservations"},
		{"scale", func(g *sol.Grant) { g.AddResources[0].ZoneID = "z" }, `the zone "z"`},
		{"scale", func(g *sol.Grant) { g.Zones = []sol.ZoneInfo{{ID: "z"}} }, "/zones/0 needs id and zoneId"},
		{
			"scale", func(g *sol.Grant) { g.Zones = []sol.ZoneInfo{{ID: "z", ZoneID: "a"}, {ID: "z", ZoneID: "b"}} },
			"/zones/1 has the id",
		},
		{"scale", func(g *sol.Grant) { g.ZoneGroups = []sol.ZoneGroupInfo{{ZoneID: []string{"z"}}} }, "zoneGroups"},
		{"scale", func(g *sol.Grant) {
			g.Zones = []sol.ZoneInfo{{ID: "z", ZoneID: "az1", VimConnectionID: "vim9"}}
			g.AddResources[0].ZoneID = "z"
		}, `the VIM connection "vim9"`},
		{"scale", func(g *sol.Grant) { g.AddResources[0].VimConnectionID = "vim9" }, `"vim9"`},
		{"scale", func(g *sol.Grant) {
			g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a": vim("pa")}
			info(g, "workerNode-1").VimConnectionID = "a"
		}, "cannot move"},
		{"scale", func(g *sol.Grant) { g.AddResources[0].ResourceGroupID = "p2" }, "another project"},
		{"scale", func(g *sol.Grant) {
			g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a": {VimType: "T"}}
		}, "/vimConnectionInfo/a needs vimType, interfaceInfo and accessInfo"},
		{"instantiate", func(g *sol.Grant) {
			g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a": vim("pa")}
			info(g, "masterNode-0").VimConnectionID = "a"
			info(g, "masterNode-1").VimConnectionID = "vim1"
		}, "divides the resources of the VDU masterNode"},
		{"instantiate", func(g *sol.Grant) {
			g.AddResources[0].ResourceGroupID, g.AddResources[1].ResourceGroupID = "p1", "p2"
		}, "resource groups p1 and p2"},
		{"instantiate", func(g *sol.Grant) {
			g.VimAssets = &sol.VimAssets{ComputeResourceFlavours: []sol.VimComputeResourceFlavour{
				{VnfdVirtualComputeDescID: "noNode", VimFlavourID: "f"},
			}}
		}, `"noNode"`},
		{"instantiate", func(g *sol.Grant) {
			g.VimAssets = &sol.VimAssets{SoftwareImages: []sol.VimSoftwareImage{{VnfdSoftwareImageID: "noImage"}}}
		}, `"noImage"`},
		{"instantiate", func(g *sol.Grant) {
			g.ExtVirtualLinks = []sol.ExtVirtualLinkData{{
				ID: "l", ResourceID: "n",
				ExtCps: []sol.VnfExtCpData{{CpdID: "x"}},
			}}
		}, `/extVirtualLinks/0/extCps/0/cpdId is "x"`},
		{"instantiate", func(g *sol.Grant) { g.ExtVirtualLinks = []sol.ExtVirtualLinkData{{ID: "l"}} }, "resourceId"},
		{"instantiate", func(g *sol.Grant) {
			g.ExtManagedVirtualLinks = []sol.ExtManagedVirtualLinkData{{
				ID: "m", VnfVirtualLinkDescID: "x", ResourceID: "n",
			}}
		}, `/extManagedVirtualLinks/0/vnfVirtualLinkDescId is "x"`},
	} {
		t.Run(tt.want, func(t *testing.T) {
			w := operation(tt.op)
			op, vims := *w.Op, w.Instance.VimConnections
			err := apply(t, w, tt.change)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, lcm.Permanent, lcm.AsError(err).Class)
			require.Equal(t, &op, w.Op)
			require.Equal(t, vims, w.Instance.VimConnections)
		})
	}
}
