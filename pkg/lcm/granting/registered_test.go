package granting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/granting"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// registeredVim is a connection of the registry. Its login names a cloud of the operator: it has no interfaceInfo.
func registeredVim(id string) sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimID: id, VimType: "T", AccessInfo: sol.KeyValuePairs{"cloud": "edge", "password": secret},
		Extra: sol.KeyValuePairs{"of": "registry", "k": "v"},
	}
}

// secret is a value that no error may have.
const secret = "correct-horse-battery"

// ofVim is the connection vim with a vimId.
func ofVim(id, project string) sol.VimConnectionInfo {
	c := vim(project)
	c.VimID = id
	return c
}

// everywhere refers to a VIM by vimId alone, under the key core, and names this key wherever a grant can.
func everywhere(vimID string) func(*sol.Grant) {
	return func(g *sol.Grant) {
		const key = "core"
		g.VimConnectionInfo = map[string]sol.VimConnectionInfo{key: {VimID: vimID, VimType: "T"}}
		for _, list := range [][]sol.GrantInfo{g.AddResources, g.RemoveResources, g.UpdateResources} {
			for n := range list {
				list[n].VimConnectionID = key
			}
		}
		g.VimAssets = &sol.VimAssets{
			ComputeResourceFlavours: []sol.VimComputeResourceFlavour{
				{VnfdVirtualComputeDescID: "masterNode", VimFlavourID: "f1", VimConnectionID: key},
				{VnfdVirtualComputeDescID: "masterNode", VimFlavourID: "f2", VimConnectionID: "elsewhere"},
			},
			SoftwareImages: []sol.VimSoftwareImage{
				{VnfdSoftwareImageID: "masterNode", VimSoftwareImageID: "i1", VimConnectionID: key},
			},
		}
	}
}

// placed also names the key where only an instantiation can.
func placed(vimID string) func(*sol.Grant) {
	return func(g *sol.Grant) {
		everywhere(vimID)(g)
		g.Zones = []sol.ZoneInfo{{ID: "z1", ZoneID: "az1", VimConnectionID: "core"}}
		info(g, "masterNode-0").ZoneID = "z1"
		g.ExtVirtualLinks = []sol.ExtVirtualLinkData{{
			ID: "l", ResourceID: "n", VimConnectionID: "core",
			ExtCps:       []sol.VnfExtCpData{{CpdID: "workerNode_CP1"}},
			ExtLinkPorts: []sol.ExtLinkPortData{{ID: "p", ResourceHandle: sol.ResourceHandle{VimConnectionID: "core"}}},
		}}
		g.ExtManagedVirtualLinks = []sol.ExtManagedVirtualLinkData{{
			ID: "m", ResourceID: "n", VnfVirtualLinkDescID: "internalVL", VimConnectionID: "core",
			VnfLinkPort: []sol.VnfLinkPortData{{
				VnfLinkPortID: "p", ResourceHandle: sol.ResourceHandle{VimConnectionID: "core"},
			}},
		}}
	}
}

// resolved applies a grant with these connections of a registry, as far as the grant needs them.
func resolved(
	t *testing.T, w *lcm.Execution, registry map[string]sol.VimConnectionInfo, change func(*sol.Grant),
) ([]string, error) {
	t.Helper()
	r, err := granting.Request(w, "https://vnfm.example")
	require.NoError(t, err)
	g := granted(r)
	change(g)
	ids := granting.VimIDs(w, g)
	found := map[string]sol.VimConnectionInfo{}
	for _, id := range ids {
		if c, ok := registry[id]; ok {
			found[id] = c
		}
	}
	return ids, granting.Apply(w, r, g, "https://nfvo/grants/g", found)
}

//nolint:thelper // the checks of rows are no helpers
func TestApplyResolvesVimIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, op string
		has      map[string]sol.VimConnectionInfo
		change   func(*sol.Grant)
		ids      []string // that the registry is asked for
		check    func(t *testing.T, w *lcm.Execution)
	}{
		{
			name: "the registry has the VIM", op: "instantiate", change: placed("r1"), ids: []string{"r1"},
			has: map[string]sol.VimConnectionInfo{"vim1": vim("p1")},
			check: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, []string{"core"}, lcm.VimsOf(w.Instance.VimConnections))
				require.Equal(t, registeredVim("r1"), w.Instance.VimConnections["core"])
				require.Equal(t, map[string]string{"masterNode": "f1"}, w.Op.Grant.Flavours)
				require.Equal(t, "az1", w.Op.Grant.Zones["masterNode-0"])
			},
		},
		{
			name: "the request names no VIM", op: "instantiate", change: placed("r1"), ids: []string{"r1"},
			check: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, map[string]sol.VimConnectionInfo{"core": registeredVim("r1")},
					w.Instance.VimConnections)
			},
		},
		{
			name: "the request has the VIM", op: "instantiate", change: placed("r1"),
			has: map[string]sol.VimConnectionInfo{"vim1": vim("p1"), "vim2": ofVim("r1", "p2")},
			check: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, []string{"vim2"}, lcm.VimsOf(w.Instance.VimConnections))
				require.Equal(t, ofVim("r1", "p2").AccessInfo, w.Instance.VimConnections["vim2"].AccessInfo)
				require.NotContains(t, w.Instance.VimConnections, "core")
				require.Equal(t, "az1", w.Op.Grant.Zones["masterNode-0"])
				require.Equal(t, map[string]string{"masterNode": "f1"}, w.Op.Grant.Flavours)
				require.Equal(t, map[string]string{"masterNode": "i1"}, w.Op.Grant.Images)
				ext, managed := w.Op.Grant.ExtVirtualLinks[0], w.Op.Grant.ExtManagedVirtualLinks[0]
				require.Equal(t, "vim2", ext.VimConnectionID)
				require.Equal(t, "vim2", ext.ExtLinkPorts[0].ResourceHandle.VimConnectionID)
				require.Equal(t, "vim2", managed.VimConnectionID)
				require.Equal(t, "vim2", managed.VnfLinkPort[0].ResourceHandle.VimConnectionID)
			},
		},
		{
			name: "the VNF has the VIM", op: "heal", change: everywhere("r1"),
			has: map[string]sol.VimConnectionInfo{"vim1": ofVim("r1", "p1")},
			check: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, map[string]sol.VimConnectionInfo{"vim1": ofVim("r1", "p1")},
					w.Instance.VimConnections)
			},
		},
		{
			name: "the VNF has the key", op: "scale", change: func(g *sol.Grant) {
				g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"vim1": {VimID: "unknown"}}
			},
			has: map[string]sol.VimConnectionInfo{"vim1": vim("p1")},
			check: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, map[string]sol.VimConnectionInfo{"vim1": vim("p1")}, w.Instance.VimConnections)
			},
		},
		{
			name: "vimType and members that agree, and extra", op: "scale", change: func(g *sol.Grant) {
				g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"core": {
					VimID: "r1", VimType: "T", AccessInfo: sol.KeyValuePairs{"cloud": "edge"},
					Extra: sol.KeyValuePairs{"of": "grant"},
				}}
			},
			ids: []string{"r1"}, has: map[string]sol.VimConnectionInfo{"vim1": vim("p1")},
			check: func(t *testing.T, w *lcm.Execution) {
				c := w.Instance.VimConnections["core"]
				require.Equal(t, registeredVim("r1").AccessInfo, c.AccessInfo)
				require.Equal(t, sol.KeyValuePairs{"of": "grant", "k": "v", lcm.ExtraVDUs: []any{}}, c.Extra)
				require.Equal(t, []string{"vim1"}, lcm.VimsOf(w.Instance.VimConnections), "nothing uses it")
			},
		},
		{
			name: "a complete connection needs no registry", op: "instantiate", change: func(g *sol.Grant) {
				g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"core": ofVim("r1", "pc")}
			},
			has: map[string]sol.VimConnectionInfo{"vim1": vim("p1")},
			check: func(t *testing.T, w *lcm.Execution) {
				require.Equal(t, "pc", w.Instance.VimConnections["core"].AccessInfo["project"])
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := operation(tt.op)
			w.Instance.VimConnections = tt.has
			registry := map[string]sol.VimConnectionInfo{"r1": registeredVim("r1"), "r2": registeredVim("r2")}
			ids, err := resolved(t, w, registry, tt.change)
			require.NoError(t, err)
			require.Equal(t, tt.ids, ids)
			tt.check(t, w)
			require.Equal(t, registeredVim("r1"), registry["r1"], "the connection of the registry is not changed")
		})
	}
}

// A vimId that cannot be resolved changes nothing, and its error says where it is and what to do.
func TestApplyRejectsVimIDs(t *testing.T) {
	t.Parallel()
	owned := registeredVim("r2")
	owned.Extra = sol.KeyValuePairs{lcm.ExtraOwner: "i1"}
	own := ofVim("mine", "p1")
	own.Extra = sol.KeyValuePairs{lcm.ExtraOwner: "i1"}
	several := map[string]sol.VimConnectionInfo{"vim1": ofVim("r1", "p1"), "vim2": ofVim("r1", "p2")}
	for _, tt := range []struct {
		name, want, hint string
		c                sol.VimConnectionInfo
		has              map[string]sol.VimConnectionInfo
	}{
		{
			name: "unknown", c: sol.VimConnectionInfo{VimID: "nowhere"},
			want: `/vimConnectionInfo/a~1b/vimId is "nowhere": neither the VNF nor the registry`,
			hint: "gybe vim register",
		},
		{
			name: "the cluster that the VNF has made", c: sol.VimConnectionInfo{VimID: "mine"},
			has:  map[string]sol.VimConnectionInfo{"vim1": vim("p1"), "mine": own},
			want: `/vimConnectionInfo/a~1b/vimId is "mine": neither`, hint: "gybe vim register",
		},
		{
			name: "its cluster in the registry", c: sol.VimConnectionInfo{VimID: "r2"},
			want: `/vimConnectionInfo/a~1b/vimId is "r2", the cluster that this VNF instance has made`, hint: "correct it",
		},
		{
			name: "several connections", c: sol.VimConnectionInfo{VimID: "r1"}, has: several,
			want: `/vimConnectionInfo/a~1b/vimId is "r1", and the VNF has several connections to this VIM: ["vim1" "vim2"]`,
			hint: "vimConnectionId",
		},
		{
			name: "another type", c: sol.VimConnectionInfo{VimID: "r1", VimType: "X"},
			want: `/vimConnectionInfo/a~1b/vimType is "X", and the VIM r1 has the type T`, hint: "correct it",
		},
		{
			name: "another endpoint", c: sol.VimConnectionInfo{
				VimID: "r1", InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://x"},
			},
			want: `/vimConnectionInfo/a~1b/interfaceInfo/endpoint is not that of the connection to the VIM r1`,
			hint: "leave it out",
		},
		{
			name: "another password", c: sol.VimConnectionInfo{
				VimID: "r1", AccessInfo: sol.KeyValuePairs{"password": secret + "2"},
			},
			want: `/vimConnectionInfo/a~1b/accessInfo/password is not that of`, hint: "leave it out",
		},
		{
			name: "marked as a cluster", c: sol.VimConnectionInfo{
				VimID: "r1", Extra: sol.KeyValuePairs{lcm.ExtraOwner: "i1"},
			},
			want: `/vimConnectionInfo/a~1b/extra/` + lcm.ExtraOwner, hint: "correct it",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := operation("instantiate")
			if tt.has != nil {
				w.Instance.VimConnections = tt.has
			}
			op, has := *w.Op, w.Instance.VimConnections
			registry := map[string]sol.VimConnectionInfo{"r1": registeredVim("r1"), "r2": owned}
			_, err := resolved(t, w, registry, func(g *sol.Grant) {
				g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"a/b": tt.c}
			})
			require.ErrorContains(t, err, tt.want)
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUpstream, e.Code)
			require.Equal(t, lcm.Permanent, e.Class)
			require.Contains(t, e.Hint, tt.hint)
			require.NotContains(t, e.Error()+e.Hint, secret)
			require.Equal(t, &op, w.Op)
			require.Equal(t, has, w.Instance.VimConnections)
		})
	}
}

// A grant names a cluster by the instance that has made it. It is asked for in the registry, unless the VNF is in it.
func TestGrantNamesAClusterByItsInstance(t *testing.T) {
	t.Parallel()
	const owner = "41a07e23-217e-4593-877e-962698d11a03"
	in := ofVim("r1", "p")
	in.Extra = sol.KeyValuePairs{lcm.ExtraCluster: owner}
	g := &sol.Grant{VimConnectionInfo: map[string]sol.VimConnectionInfo{"core": {VimID: owner}}}
	for name, c := range map[string]struct {
		conns map[string]sol.VimConnectionInfo
		want  []string
	}{
		"in the cluster": {map[string]sol.VimConnectionInfo{"vim1": in}, nil},
		"elsewhere":      {map[string]sol.VimConnectionInfo{"vim1": ofVim("r2", "p")}, []string{owner}},
	} {
		w := &lcm.Execution{Instance: &lcm.Instance{VimConnections: c.conns}}
		require.ElementsMatch(t, c.want, granting.VimIDs(w, g), name)
	}
}
