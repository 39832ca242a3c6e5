package k8scluster_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/fleet"
	simmachine "github.com/gybe-nfv/gybe/test/simcloud/machine"
)

// disks copies the disks of all machines, by VNFC, at a moment of the cluster: a master whose copy is newer than those
// on which the other masters agree could not start.
func (g *grown) disks() map[string]fleet.Content {
	g.t.Helper()
	var out map[string]fleet.Content
	require.Eventually(g.t, func() bool {
		out = map[string]fleet.Content{}
		before := g.cluster.Save()
		for id := range g.fleet.Snapshot() {
			out[id] = g.fleet.CopyDisk(id)
		}
		return before.Covers(g.cluster.Save()) // nothing was written during this time
	}, time.Minute, time.Millisecond)
	return out
}

// rebuild gives machines the disks, as the VIM does before the hook.
func (g *grown) rebuild(disks map[string]fleet.Content) {
	g.t.Helper()
	vip, floating := g.block.Addr(10, 100), g.block.Addr(20, 100)
	for id, disk := range disks {
		g.fleet.Delete(id)
		vdu, index, _ := strings.Cut(id, "-")
		var host byte
		_, err := fmt.Sscan(index, &host)
		require.NoError(g.t, err)
		spec := simmachine.Spec{
			ID: id, Name: vdu, Hostname: strings.ToLower(vdu), VCPUs: 2, MemoryMB: 4096, Content: disk,
			FixedIPs: []netip.Addr{g.block.Addr(10, host)}, FloatingIPs: []netip.Addr{g.block.Addr(20, host)},
		}
		if vdu == "masterNode" {
			spec.AllowedAddressPairs = []netip.Addr{vip}
			spec.VIPFloatingIPs = map[netip.Addr]netip.Addr{floating: vip}
		}
		require.NoError(g.t, g.fleet.Boot(g.t.Context(), spec))
	}
}

// revert is a revert of all machines.
func (g *grown) revert() *store {
	s := newStore(g.t, sol.LcmOperationRevertToSnapshot, []byte(`{"vnfSnapshotInfoId":"s"}`), g.instance)
	s.op.VnfPkgID, s.op.Before, s.op.Try = "pkg", g.instance, 1
	s.op.Scope = &lcm.Scope{Flavour: "complex"}
	return s
}

// TestRevertWaitsForTheCluster: the operation ends when all nodes have reported, and a node of the VNFM may die at any
// write. What the cluster has stored about a machine that does not boot is not believed.
func TestRevertWaitsForTheCluster(t *testing.T) {
	t.Parallel()
	g := newGrown(t)
	disks := g.disks()
	g.rebuild(disks)
	s := g.revert()
	advance(t, s, g.driver, execution.Tuning{})
	g.built(s)
	writes := s.writes
	for at := 1; at <= writes; at++ {
		s := g.revert()
		s.dieAt = at
		advance(t, s, g.driver, execution.Tuning{})
		g.built(s)
	}

	g.rebuild(disks)
	g.fleet.PowerOff("workerNode-22")
	impatient := func() *k8scluster.Driver { return g.driverWith(k8scluster.Options{ReadyTimeout: 2 * time.Second}) }
	s = g.revert()
	advance(t, s, impatient, execution.Tuning{})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "the cluster of the snapshot is not complete (for 2s): 4 of 5 nodes are "+
		"Ready; worker22: ")
	require.Contains(t, s.op.Error.Hint, "journalctl -u kubelet")
	g.fleet.PowerOn("workerNode-22")
	retry(s, false)
	advance(t, s, g.driver, execution.Tuning{})
	g.built(s)

	for id := range disks {
		g.fleet.PowerOff(id)
	}
	s = g.revert()
	advance(t, s, impatient, execution.Tuning{Retries: 1})
	require.Equal(t, sol.LcmOperationStateFailedTemp, s.op.State)
	require.Contains(t, s.op.Error.Detail, "the API server of the cluster does not answer (for 2s): ")
	require.Contains(t, s.op.Error.Detail, "masterNode-11", "the first machine that was asked")
}

// TestDisksThatAreNoClusterAreRefused: of several masters at different moments, and for machines with other addresses.
func TestDisksThatAreNoClusterAreRefused(t *testing.T) {
	t.Parallel()
	all := func(flavour string) lcm.Scope {
		masters := map[string]int{"simple": 1, "complex": 3}[flavour]
		var s lcm.Scope
		for n := range masters {
			s.VNFCs = append(s.VNFCs, fmt.Sprintf("masterNode-%d", n))
		}
		s.VNFCs = append(s.VNFCs, "workerNode-0", "workerNode-1", "storage_server-0")
		return s
	}
	masters := []string{"masterNode-0", "masterNode-1", "masterNode-2"}
	for name, tt := range map[string]struct {
		typ     sol.LcmOperationType
		flavour string
		stopped []string
		detail  string // "" is none
	}{
		"a snapshot of one master":               {sol.LcmOperationCreateSnapshot, "simple", nil, ""},
		"a snapshot of masters that run":         {sol.LcmOperationCreateSnapshot, "complex", nil, "3 of the 3"},
		"a snapshot when one runs":               {sol.LcmOperationCreateSnapshot, "complex", masters[1:], "1 of"},
		"a snapshot of stopped masters":          {sol.LcmOperationCreateSnapshot, "complex", masters, ""},
		"a revert of a cluster":                  {sol.LcmOperationRevertToSnapshot, "complex", nil, ""},
		"a revert of a cluster that is not used": {sol.LcmOperationRevertToSnapshot, "complex", masters, "are STOPPED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := submit(t, tt.flavour, tt.typ, all(tt.flavour), `{}`, tt.stopped...)
			if tt.detail == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
			require.ErrorContains(t, err, tt.detail)
			require.Contains(t, lcm.AsError(err).Hint, "operate with changeStateTo")
		})
	}
}

// TestRevertOfMachinesThatHaveMoved: certificates and members of etcd are for the addresses of the snapshot.
func TestRevertOfMachinesThatHaveMoved(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	had, has := c.instance(3, 2), c.instance(3, 2)
	for _, i := range []*lcm.Instance{had, has} {
		i.Instantiated = &sol.InstantiatedVnfInfo{}
		for _, r := range i.Inventory {
			if r.Kind == lcm.KindCompute {
				i.Instantiated.VnfcInfo = append(i.Instantiated.VnfcInfo, sol.VnfcInfo{ID: r.VNFC, VduID: r.VDU})
			}
		}
	}
	var req sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(paramFile(t, "complex"), &req))
	r := lcm.Request{
		Type: sol.LcmOperationRevertToSnapshot, Instance: has, VNFD: model(), Flavour: model().Flavour("complex"),
		Package: packageFS, AdditionalParams: req.AdditionalParams, Scope: &lcm.Scope{VNFCs: make([]string, 5)},
		Snapshot: &lcm.Snapshot{Instance: had},
	}
	d := k8scluster.New(k8scluster.Options{})
	require.NoError(t, d.Validate(t.Context(), r))
	n := slices.IndexFunc(has.Inventory, func(r lcm.Resource) bool {
		return r.Name == "workerNode_CP1" && r.Index == 1
	})
	has.Inventory[n].Addresses = []lcm.Address{{IP: "10.10.0.99"}}
	err := d.Validate(t.Context(), r)
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.ErrorContains(t, err, "VNFC "+has.Inventory[n].VNFC+" has 10.10.0.99 and had 10.10.0.22")
}
