package granting_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// attribute is what becomes of one attribute of a grant: exactly one of applied, refused and unused is set.
type attribute struct {
	path string
	op   string // of executions; "" is instantiate
	set  func(*sol.Grant)
	// applied checks the effect.
	applied func(t *testing.T, w *lcm.Execution)
	// refused is a part of the error, with the pointer into the grant.
	refused string
	// unused is the reason why the attribute has no effect.
	unused string
}

// flavoured sets an asset of a VDU.
func flavoured(change func(*sol.VimComputeResourceFlavour)) func(*sol.Grant) {
	return func(g *sol.Grant) {
		f := sol.VimComputeResourceFlavour{VnfdVirtualComputeDescID: "masterNode", VimFlavourID: "f1"}
		change(&f)
		g.VimAssets = &sol.VimAssets{ComputeResourceFlavours: []sol.VimComputeResourceFlavour{f}}
	}
}

// imaged sets an image of a VDU.
func imaged(change func(*sol.VimSoftwareImage)) func(*sol.Grant) {
	return func(g *sol.Grant) {
		i := sol.VimSoftwareImage{VnfdSoftwareImageID: "masterNode", VimSoftwareImageID: "i1"}
		change(&i)
		g.VimAssets = &sol.VimAssets{SoftwareImages: []sol.VimSoftwareImage{i}}
	}
}

// linked sets an external link.
func linked(change func(*sol.ExtVirtualLinkData)) func(*sol.Grant) {
	return func(g *sol.Grant) {
		l := sol.ExtVirtualLinkData{ID: "l", ResourceID: "n", ExtCps: []sol.VnfExtCpData{{CpdID: "workerNode_CP1"}}}
		change(&l)
		g.ExtVirtualLinks = []sol.ExtVirtualLinkData{l}
	}
}

// managed sets an externally managed link.
func managed(change func(*sol.ExtManagedVirtualLinkData)) func(*sol.Grant) {
	return func(g *sol.Grant) {
		l := sol.ExtManagedVirtualLinkData{ID: "m", ResourceID: "n", VnfVirtualLinkDescID: "internalVL"}
		change(&l)
		g.ExtManagedVirtualLinks = []sol.ExtManagedVirtualLinkData{l}
	}
}

// connected adds a VIM connection and selects it.
func connected(change func(*sol.VimConnectionInfo)) func(*sol.Grant) {
	return func(g *sol.Grant) {
		c := vim("pa")
		change(&c)
		g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a": c}
		for n := range g.AddResources {
			g.AddResources[n].VimConnectionID = "a"
		}
	}
}

// zoned puts a VNFC into a zone.
func zoned(change func(*sol.ZoneInfo)) func(*sol.Grant) {
	return func(g *sol.Grant) {
		z := sol.ZoneInfo{ID: "z1", ZoneID: "az1"}
		change(&z)
		g.Zones = []sol.ZoneInfo{z}
		info(g, "masterNode-0").ZoneID = "z1"
	}
}

// unchanged leaves an attribute as it is set.
func unchanged[T any](*T) {}

func isZoned(t *testing.T, w *lcm.Execution) {
	t.Helper()
	require.Equal(t, map[string]string{"masterNode-0": "az1"}, w.Op.Grant.Zones)
}

func isConnected(t *testing.T, w *lcm.Execution) {
	t.Helper()
	require.Equal(t, vim("pa").AccessInfo, w.Instance.VimConnections["a"].AccessInfo)
	require.Equal(t, vim("pa").InterfaceInfo, w.Instance.VimConnections["a"].InterfaceInfo)
	require.Equal(t, "T", w.Instance.VimConnections["a"].VimType)
	require.Equal(t, []string{"a"}, lcm.VimsOf(w.Instance.VimConnections))
}

func isFlavoured(t *testing.T, w *lcm.Execution) {
	t.Helper()
	require.Equal(t, map[string]string{"masterNode": "f1"}, w.Op.Grant.Assets.Flavours)
}

func isImaged(t *testing.T, w *lcm.Execution) {
	t.Helper()
	require.Equal(t, map[string]string{"masterNode": "i1"}, w.Op.Grant.Assets.Images)
}

func isLinked(t *testing.T, w *lcm.Execution) {
	t.Helper()
	require.Equal(t, "workerNode_CP1", w.Op.Grant.ExtVirtualLinks[0].ExtCps[0].CpdID)
	require.Equal(t, "n", w.Op.Grant.ExtVirtualLinks[0].ResourceID)
}

func isManaged(t *testing.T, w *lcm.Execution) {
	t.Helper()
	require.Equal(t, "internalVL", w.Op.Grant.ExtManagedVirtualLinks[0].VnfVirtualLinkDescID)
	require.Equal(t, "n", w.Op.Grant.ExtManagedVirtualLinks[0].ResourceID)
}

// existing changes the decision about a resource that exists.
func existing(list func(*sol.Grant) []sol.GrantInfo, change func(*sol.GrantInfo)) func(*sol.Grant) {
	return func(g *sol.Grant) { change(&list(g)[0]) }
}

func removed(g *sol.Grant) []sol.GrantInfo { return g.RemoveResources }
func updated(g *sol.Grant) []sol.GrantInfo { return g.UpdateResources }

// ofExisting are the rows of the decision about resources that exist.
func ofExisting(name, op string, list func(*sol.Grant) []sol.GrantInfo) []attribute {
	at := "/" + name + "/0/"
	return []attribute{
		{path: name + "/resourceDefinitionId", op: op, set: existing(list, func(i *sol.GrantInfo) {
			i.ResourceDefinitionID = "x"
		}), refused: `/` + name + `/0 names the resource definition "x"`},
		{path: name + "/reservationId", op: op, set: existing(list, func(i *sol.GrantInfo) {
			i.ReservationID = "r"
		}), refused: at + "reservationId"},
		{path: name + "/vimConnectionId", op: op, set: existing(list, func(i *sol.GrantInfo) {
			i.VimConnectionID = "vim2"
		}), refused: at + "vimConnectionId"},
		{path: name + "/resourceProviderId", op: op, set: existing(list, func(i *sol.GrantInfo) {
			i.ResourceProviderID = "p"
		}), refused: at + "resourceProviderId"},
		{path: name + "/zoneId", op: op, set: existing(list, func(i *sol.GrantInfo) {
			i.ZoneID = "z"
		}), refused: at + "zoneId"},
		{path: name + "/resourceGroupId", op: op, set: existing(list, func(i *sol.GrantInfo) {
			i.ResourceGroupID = "g"
		}), refused: at + "resourceGroupId"},
	}
}

// temporary are the rows of tempResources: requests have none.
func temporary() []attribute {
	var out []attribute
	for _, name := range []string{
		"resourceDefinitionId", "reservationId", "vimConnectionId", "resourceProviderId", "zoneId", "resourceGroupId",
	} {
		out = append(out, attribute{path: "tempResources/" + name, set: func(g *sol.Grant) {
			g.TempResources = []sol.GrantInfo{{
				ResourceDefinitionID: "masterNode-0", ReservationID: "r", VimConnectionID: "v",
				ResourceProviderID: "p", ZoneID: "z", ResourceGroupID: "g",
			}}
		}, refused: "/tempResources/0 names the resource definition"})
	}
	return out
}

func attributes() []attribute {
	return slices.Concat(ofGrant(), ofExisting("removeResources", "heal", removed),
		ofExisting("updateResources", "operate", updated), temporary(), ofAssets(), ofLinks())
}

//nolint:thelper // the checks of rows are no helpers
func ofGrant() []attribute {
	return []attribute{
		{path: "id", set: func(g *sol.Grant) { g.ID = "" }, refused: "/id is missing"},
		{path: "vnfInstanceId", set: func(g *sol.Grant) { g.VnfInstanceID = "x" }, refused: "/vnfInstanceId"},
		{path: "vnfLcmOpOccId", set: func(g *sol.Grant) { g.VnfLcmOpOccID = "x" }, refused: "/vnfLcmOpOccId"},
		{
			path: "_links", set: func(g *sol.Grant) { g.Links.VnfInstance.Href = "http://x" },
			unused: "the grant is known by its ids; _links.self is kept with the operation by the client",
		},
		{
			path: "vimConnectionInfo/vimId", set: connected(func(c *sol.VimConnectionInfo) { c.VimID = "id" }),
			applied: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, "id", w.Instance.VimConnections["a"].VimID)
			},
		},
		{
			path: "vimConnectionInfo/vimType", set: connected(func(c *sol.VimConnectionInfo) { c.VimType = "" }),
			refused: "/vimConnectionInfo/a needs vimType",
		},
		{path: "vimConnectionInfo/interfaceInfo", set: connected(unchanged), applied: isConnected},
		{path: "vimConnectionInfo/accessInfo", set: connected(unchanged), applied: isConnected},
		{path: "vimConnectionInfo/extra", set: connected(func(c *sol.VimConnectionInfo) {
			c.Extra = sol.KeyValuePairs{"k": "v"}
		}), applied: func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, sol.KeyValuePairs{"k": "v"}, w.Instance.VimConnections["a"].Extra)
		}},
		{path: "zones/id", set: zoned(func(z *sol.ZoneInfo) { z.ID = "z2" }), refused: `the zone "z1"`},
		{path: "zones/zoneId", set: zoned(unchanged), applied: isZoned},
		{
			path: "zones/vimConnectionId", set: zoned(func(z *sol.ZoneInfo) { z.VimConnectionID = "x" }),
			refused: `the VIM connection "x"`,
		},
		{
			path: "zones/resourceProviderId", set: zoned(func(z *sol.ZoneInfo) { z.ResourceProviderID = "p" }),
			refused: "/zones/0/resourceProviderId",
		},
		{path: "zoneGroups/zoneId", set: func(g *sol.Grant) {
			g.ZoneGroups = []sol.ZoneGroupInfo{{ZoneID: []string{"z"}}}
		}, refused: "/zoneGroups/0/zoneId/0"},
		{path: "addResources/resourceDefinitionId", set: func(g *sol.Grant) {
			g.AddResources[0].ResourceDefinitionID = "x"
		}, refused: `/addResources/0 names the resource definition "x"`},
		{
			path: "addResources/reservationId", set: func(g *sol.Grant) { g.AddResources[0].ReservationID = "r" },
			refused: "/addResources/0/reservationId",
		},
		{path: "addResources/vimConnectionId", set: connected(unchanged), applied: isConnected},
		{path: "addResources/resourceProviderId", set: func(g *sol.Grant) {
			g.AddResources[0].ResourceProviderID = "p"
		}, refused: "/addResources/0/resourceProviderId"},
		{path: "addResources/zoneId", set: zoned(unchanged), applied: isZoned},
		{path: "addResources/resourceGroupId", set: func(g *sol.Grant) {
			g.AddResources[0].ResourceGroupID = "project-7"
		}, applied: func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, "project-7", w.Instance.VimConnections["vim1"].AccessInfo["projectId"])
		}},
		{
			path: "additionalParams", set: func(g *sol.Grant) { g.AdditionalParams = sol.KeyValuePairs{"k": "v"} },
			applied: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, sol.KeyValuePairs{"k": "v"}, w.Op.GrantParams)
			},
		},
	}
}

func ofAssets() []attribute {
	const flavours, images = "vimAssets/computeResourceFlavours/", "vimAssets/softwareImages/"
	out := []attribute{
		{path: flavours + "vimConnectionId", set: flavoured(func(f *sol.VimComputeResourceFlavour) {
			f.VimConnectionID = "x"
		}), refused: "/vimAssets/computeResourceFlavours/0/vimConnectionId"},
		{path: flavours + "resourceProviderId", set: flavoured(func(f *sol.VimComputeResourceFlavour) {
			f.ResourceProviderID = "p"
		}), refused: "/vimAssets/computeResourceFlavours/0/resourceProviderId"},
		{path: flavours + "vnfdVirtualComputeDescId", set: flavoured(func(f *sol.VimComputeResourceFlavour) {
			f.VnfdVirtualComputeDescID = "x"
		}), refused: "/vimAssets/computeResourceFlavours/0/vnfdVirtualComputeDescId"},
		{path: flavours + "vimFlavourId", set: flavoured(unchanged), applied: isFlavoured},
		{path: images + "vimConnectionId", set: imaged(func(i *sol.VimSoftwareImage) {
			i.VimConnectionID = "x"
		}), refused: "/vimAssets/softwareImages/0/vimConnectionId"},
		{path: images + "resourceProviderId", set: imaged(func(i *sol.VimSoftwareImage) {
			i.ResourceProviderID = "p"
		}), refused: "/vimAssets/softwareImages/0/resourceProviderId"},
		{path: images + "vnfdSoftwareImageId", set: imaged(func(i *sol.VimSoftwareImage) {
			i.VnfdSoftwareImageID = "x"
		}), refused: "/vimAssets/softwareImages/0/vnfdSoftwareImageId"},
		{path: images + "vimSoftwareImageId", set: imaged(unchanged), applied: isImaged},
	}
	for _, name := range []string{
		"vimConnectionId", "resourceProviderId", "vnfSnapshotId", "vnfcSnapshotId", "storageSnapshotId",
		"vimSnapshotResourceId",
	} {
		out = append(out, attribute{
			path: "vimAssets/snapshotResources/" + name, op: "revert_to_snapshot", set: func(g *sol.Grant) {
				g.VimAssets = &sol.VimAssets{SnapshotResources: []sol.VimSnapshotResource{{VnfSnapshotID: "s"}}}
			}, refused: "/vimAssets/snapshotResources",
		})
	}
	return out
}

//nolint:thelper // the checks of rows are no helpers
func ofLinks() []attribute {
	const ext, man = "extVirtualLinks/", "extManagedVirtualLinks/"
	return []attribute{
		{path: ext + "id", set: linked(func(l *sol.ExtVirtualLinkData) { l.ID = "" }), refused: "/extVirtualLinks/0"},
		{path: ext + "id", op: "scale", set: linked(unchanged), refused: "/extVirtualLinks is present, and SCALE"},
		{
			path: ext + "vimConnectionId", set: linked(func(l *sol.ExtVirtualLinkData) { l.VimConnectionID = "x" }),
			refused: "/extVirtualLinks/0/vimConnectionId",
		},
		{
			path: ext + "resourceProviderId", set: linked(func(l *sol.ExtVirtualLinkData) {
				l.ResourceProviderID = "p"
			}),
			refused: "/extVirtualLinks/0/resourceProviderId",
		},
		{path: ext + "resourceId", set: linked(unchanged), applied: isLinked},
		{path: ext + "extCps", set: linked(unchanged), applied: isLinked},
		{
			path: ext + "extCps", set: linked(func(l *sol.ExtVirtualLinkData) { l.ExtCps = nil }),
			refused: "/extVirtualLinks/0 needs",
		},
		{path: ext + "extLinkPorts", set: linked(func(l *sol.ExtVirtualLinkData) {
			l.ExtLinkPorts = []sol.ExtLinkPortData{{ID: "p"}}
		}), applied: func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, "p", w.Op.Grant.ExtVirtualLinks[0].ExtLinkPorts[0].ID)
		}},
		{
			path: man + "id", set: managed(func(l *sol.ExtManagedVirtualLinkData) { l.ID = "" }),
			refused: "/extManagedVirtualLinks/0",
		},
		{
			path: man + "id", op: "change_ext_conn", set: managed(unchanged),
			refused: "/extManagedVirtualLinks is present, and CHANGE_EXT_CONN",
		},
		{path: man + "vnfVirtualLinkDescId", set: managed(unchanged), applied: isManaged},
		{path: man + "vimConnectionId", set: managed(func(l *sol.ExtManagedVirtualLinkData) {
			l.VimConnectionID = "x"
		}), refused: "/extManagedVirtualLinks/0/vimConnectionId"},
		{path: man + "resourceProviderId", set: managed(func(l *sol.ExtManagedVirtualLinkData) {
			l.ResourceProviderID = "p"
		}), refused: "/extManagedVirtualLinks/0/resourceProviderId"},
		{path: man + "resourceId", set: managed(unchanged), applied: isManaged},
		{path: man + "vnfLinkPort", set: managed(func(l *sol.ExtManagedVirtualLinkData) {
			l.VnfLinkPort = []sol.VnfLinkPortData{{VnfLinkPortID: "p"}}
		}), applied: func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, "p", w.Op.Grant.ExtManagedVirtualLinks[0].VnfLinkPort[0].VnfLinkPortID)
		}},
		{path: man + "extManagedMultisiteVirtualLinkId", set: managed(func(l *sol.ExtManagedVirtualLinkData) {
			l.ExtManagedMultisiteVirtualLinkID = "s"
		}), applied: func(t *testing.T, w *lcm.Execution) {
			require.Equal(t, "s", w.Op.Grant.ExtManagedVirtualLinks[0].ExtManagedMultisiteVirtualLinkID)
		}},
	}
}

// whole are attributes that are read as requests have them; pkg/openstack/userdata tests their members.
var whole = []string{
	"_links", "additionalParams", "extVirtualLinks/extCps", "extVirtualLinks/extLinkPorts",
	"extManagedVirtualLinks/vnfLinkPort", "vimConnectionInfo/interfaceInfo", "vimConnectionInfo/accessInfo",
	"vimConnectionInfo/extra",
}

// paths lists the attributes of a type. The types have exactly the attributes of the published documents (package
// openapi tests that), those of both versions.
func paths(at string, t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(whole, at) {
		return []string{at}
	}
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, paths(strings.TrimPrefix(at+"/"+name, "/"), f.Type)...)
	}
	return out
}

// Every attribute of a grant is applied, or refused with a pointer to it, or has a reason to be without effect.
func TestEveryAttributeOfAGrant(t *testing.T) {
	t.Parallel()
	var tested []string
	for _, a := range attributes() {
		tested = append(tested, a.path)
		t.Run(a.path, func(t *testing.T) {
			t.Parallel()
			op := a.op
			if op == "" {
				op = "instantiate"
			}
			w, plain := operation(op), operation(op)
			require.NoError(t, apply(t, plain, func(*sol.Grant) {}))
			err := apply(t, w, a.set)
			switch {
			case a.refused != "":
				require.ErrorContains(t, err, a.refused)
			case a.applied != nil:
				require.NoError(t, err)
				a.applied(t, w)
			default:
				require.NoError(t, err)
				require.NotEmpty(t, a.unused)
				require.Equal(t, plain.Op, w.Op)
				require.Equal(t, plain.Instance, w.Instance)
			}
		})
	}
	for _, path := range paths("", reflect.TypeFor[sol.Grant]()) {
		require.Contains(t, tested, path)
	}
}
