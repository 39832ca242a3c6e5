package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	standardSource = "../packages/standard"
	nextSource     = "../packages/standard-2"
	groupsSource   = "../packages/groups"
)

// operation is one request to an instance of the package standard, and what its user gets.
type operation struct {
	name  string
	typ   sol.LcmOperationType
	level string // that the instance is instantiated at
	// first is done before, e.g. a stop before a start; may be nil.
	first *operation
	body  func(w *world, i *sol.VnfInstance) any
	// changes are its resourceChanges as changes lists them, links its changedExtConnectivity as links does.
	changes, links []string
	// want looks at the instance that comes out; nil for operations after which the same is there.
	want func(t *testing.T, before, after *sol.VnfInstance)
	// breaks makes it fail in the middle; its Count is 1.
	breaks *simcloud.Fault
	// back says that a rollback is offered.
	back bool
}

// serverFails is a fault of a server that Heat makes, changes or deletes.
func serverFails(action, name string) *simcloud.Fault {
	return &simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: name,
		Action: action, Reason: noHost, Count: 1,
	}
}

// counts are the VNFCs of an instance by VDU.
func counts(i *sol.VnfInstance) map[string]int {
	n := map[string]int{}
	for _, v := range i.InstantiatedVnfInfo.VnfcInfo {
		n[v.VduID]++
	}
	return n
}

// serverOf are the servers of an instance by VNFC.
func serverOf(i *sol.VnfInstance) map[string]string {
	out := map[string]string{}
	for _, v := range i.InstantiatedVnfInfo.VnfcInfo {
		for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
			if r.ID == v.VnfcResourceInfoID {
				out[v.ID] = r.ComputeResource.ResourceID
			}
		}
	}
	return out
}

// vnfcs are the ids of an instance's VNFCs of a VDU, the highest index first.
func vnfcs(i *sol.VnfInstance, vdu string) []string {
	var out []string
	for _, v := range i.InstantiatedVnfInfo.VnfcInfo {
		if v.VduID == vdu {
			out = append(out, v.ID)
		}
	}
	return out
}

// changes lists resourceChanges as "kind descriptor change", each with its number, sorted.
func changes(o *sol.VnfLcmOpOcc) []string {
	n := map[string]int{}
	if c := o.ResourceChanges; c != nil {
		for _, v := range c.AffectedVnfcs {
			n[fmt.Sprintf("vnfc %s %s", v.VduID, v.ChangeType)]++
		}
		for _, v := range c.AffectedVirtualLinks {
			n[fmt.Sprintf("link %s %s", v.VnfVirtualLinkDescID, v.ChangeType)]++
		}
		for _, v := range c.AffectedExtLinkPorts {
			n[fmt.Sprintf("port %s", v.ChangeType)]++
		}
		for _, v := range c.AffectedVirtualStorages {
			n[fmt.Sprintf("storage %s %s", v.VirtualStorageDescID, v.ChangeType)]++
		}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%d %s", n[k], k))
	}
	return out
}

// links lists changedExtConnectivity as "id number of ports".
func links(o *sol.VnfLcmOpOcc) []string {
	var out []string
	for _, l := range o.ChangedExtConnectivity {
		out = append(out, fmt.Sprintf("%s %d", l.ID, len(l.ExtLinkPorts)))
	}
	return out
}

// standardOperations are all operations of an instance that is there.
func standardOperations() []operation {
	request := func(v any) func(*world, *sol.VnfInstance) any {
		return func(*world, *sol.VnfInstance) any { return v }
	}
	has := func(want map[string]int) func(*testing.T, *sol.VnfInstance, *sol.VnfInstance) {
		return func(t *testing.T, before, after *sol.VnfInstance) {
			t.Helper()
			require.Equal(t, want, counts(after))
			old := serverOf(before)
			for id, server := range serverOf(after) {
				if was, ok := old[id]; ok {
					require.Equal(t, was, server, "what was there and stays is not touched")
				}
			}
		}
	}
	recreated := func(vdus ...string) func(*testing.T, *sol.VnfInstance, *sol.VnfInstance) {
		return func(t *testing.T, before, after *sol.VnfInstance) {
			t.Helper()
			require.Equal(t, counts(before), counts(after))
			old, now := serverOf(before), serverOf(after)
			for _, v := range before.InstantiatedVnfInfo.VnfcInfo {
				if slices.Contains(vdus, v.VduID) {
					require.NotContains(t, slices.Collect(maps.Values(now)), old[v.ID], "%s has its old server", v.ID)
				} else {
					require.Equal(t, old[v.ID], now[v.ID], "%s was healthy", v.ID)
				}
			}
		}
	}
	state := func(s sol.VnfOperationalState) func(*testing.T, *sol.VnfInstance, *sol.VnfInstance) {
		return func(t *testing.T, before, after *sol.VnfInstance) {
			t.Helper()
			require.Equal(t, s, after.InstantiatedVnfInfo.VnfState)
			require.Equal(t, serverOf(before), serverOf(after))
		}
	}
	stop := operation{
		name: "stop", typ: sol.LcmOperationOperate, level: "largest", back: true,
		changes: []string{"3 vnfc VDU1 MODIFIED", "1 vnfc VDU2 MODIFIED"},
		body: request(
			sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped, StopType: sol.StopTypeForceful},
		),
		want: state(sol.VnfOperationalStateStopped),
		breaks: &simcloud.Fault{
			Kind: fault.Status, Service: "nova", Method: "POST", Path: "/action$", Status: 403,
			Reason: "Policy doesn't allow it to be performed.", Nth: 2, Count: 1,
		},
	}
	start := stop
	start.name, start.first, start.want = "start", &stop, state(sol.VnfOperationalStateStarted)
	start.body = request(sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStarted})
	return []operation{
		{
			name: "scale out", typ: sol.LcmOperationScale, level: "volumes", back: true,
			changes: []string{"1 link internalVL1 LINK_PORT_ADDED", "2 port ADDED", "2 vnfc VDU1 ADDED"},
			links:   []string{"link1 3"},
			body:    request(stack.Scale(sol.ScaleTypeOut, 2)), want: has(map[string]int{"VDU1": 3, "VDU2": 1}),
			breaks: serverFails("create", "VDU1"),
		},
		{
			name: "scale in", typ: sol.LcmOperationScale, level: "largest",
			changes: []string{"1 link internalVL1 LINK_PORT_REMOVED", "2 port REMOVED", "2 vnfc VDU1 REMOVED"},
			links:   []string{"link1 1"},
			body:    request(stack.Scale(sol.ScaleTypeIn, 2)), want: has(map[string]int{"VDU1": 1, "VDU2": 1}),
			breaks: serverFails("delete", "VDU1"),
		},
		{
			name: "scale to level", typ: sol.LcmOperationScaleToLevel, level: "smallest", back: true,
			changes: []string{
				"1 link internalVL1 LINK_PORT_ADDED", "3 port ADDED", "1 storage VDU2-Data ADDED",
				"1 storage VDU2-VirtualStorage ADDED", "2 vnfc VDU1 ADDED", "1 vnfc VDU2 ADDED",
			},
			links: []string{"link1 3", "link2 1"},
			body:  request(sol.ScaleVnfToLevelRequest{InstantiationLevelID: "largest"}),
			want:  has(map[string]int{"VDU1": 3, "VDU2": 1}), breaks: serverFails("create", "VDU2"),
		},
		{
			name: "change of the flavour", typ: sol.LcmOperationChangeFlavour, level: "volumes", back: true,
			changes: []string{
				"1 link internalVL1 LINK_PORT_ADDED", "1 port REMOVED", "1 storage VDU2-Data REMOVED",
				"1 storage VDU2-VirtualStorage REMOVED", "1 vnfc VDU1 MODIFIED", "1 vnfc VDU2 REMOVED",
				"1 vnfc VDU3 ADDED",
			},
			body: request(stack.Large()), breaks: serverFails("create", "VDU3"),
			want: func(t *testing.T, _, after *sol.VnfInstance) {
				t.Helper()
				require.Equal(t, "large", after.InstantiatedVnfInfo.FlavourID)
				require.Equal(t, map[string]int{"VDU1": 1, "VDU3": 1}, counts(after))
			},
		},
		{
			name: "heal of a VNFC", typ: sol.LcmOperationHeal, level: "volumes", want: recreated("VDU1"),
			breaks:  serverFails("create", "VDU1"),
			changes: []string{"1 vnfc VDU1 ADDED", "1 vnfc VDU1 REMOVED"},
			body: func(_ *world, i *sol.VnfInstance) any {
				return sol.HealVnfRequest{VnfcInstanceID: vnfcs(i, "VDU1")}
			},
		},
		{
			name: "heal of a VNFC with its storages", typ: sol.LcmOperationHeal, level: "volumes",
			want: recreated("VDU2"), breaks: serverFails("create", "VDU2"),
			changes: []string{
				"1 storage VDU2-Data ADDED", "1 storage VDU2-Data REMOVED", "1 storage VDU2-VirtualStorage ADDED",
				"1 storage VDU2-VirtualStorage REMOVED", "1 vnfc VDU2 ADDED", "1 vnfc VDU2 REMOVED",
			},
			body: func(_ *world, i *sol.VnfInstance) any {
				return sol.HealVnfRequest{
					VnfcInstanceID: vnfcs(i, "VDU2"), AdditionalParams: sol.KeyValuePairs{"all": true},
				}
			},
		},
		{
			name: "heal of the whole VNF", typ: sol.LcmOperationHeal, level: "volumes", want: recreated("VDU1", "VDU2"),
			breaks:  serverFails("create", "VDU2"),
			changes: []string{"1 vnfc VDU1 ADDED", "1 vnfc VDU1 REMOVED", "1 vnfc VDU2 ADDED", "1 vnfc VDU2 REMOVED"},
			body:    request(sol.HealVnfRequest{Cause: "a test"}),
		},
		{
			name: "heal with everything recreated", typ: sol.LcmOperationHeal, level: "volumes",
			want: recreated("VDU1", "VDU2"), breaks: serverFails("create", "VDU2"),
			changes: []string{
				"1 link internalVL1 ADDED", "1 link internalVL1 REMOVED", "2 port ADDED",
				"2 port REMOVED", "1 storage VDU2-Data ADDED", "1 storage VDU2-Data REMOVED",
				"1 storage VDU2-VirtualStorage ADDED", "1 storage VDU2-VirtualStorage REMOVED", "1 vnfc VDU1 ADDED",
				"1 vnfc VDU1 REMOVED", "1 vnfc VDU2 ADDED", "1 vnfc VDU2 REMOVED",
			},
			links: []string{"link1 1", "link2 1"},
			body:  request(sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}}),
		},
		stop, start,
		{
			name: "another address", typ: sol.LcmOperationChangeExtConn, level: "volumes", back: true,
			changes: []string{"1 vnfc VDU2 MODIFIED"},
			links:   []string{"link2 1"},
			body:    func(w *world, _ *sol.VnfInstance) any { return w.requests.Readdressed("10.10.1.78") },
			want:    addresses("10.10.1.78"),
			breaks: &simcloud.Fault{
				Kind: fault.FailResource, ResourceType: "OS::Neutron::Port", Action: "update", Reason: noHost, Count: 1,
			},
		},
		{
			name: "another network", typ: sol.LcmOperationChangeExtConn, level: "volumes", back: true,
			changes: []string{"1 port ADDED", "1 port REMOVED", "1 vnfc VDU2 MODIFIED"},
			links:   []string{"link3 1"},
			body:    func(w *world, _ *sol.VnfInstance) any { return w.requests.Reconnected("net_mgmt") },
			want:    addresses("192.168.120."),
			breaks: &simcloud.Fault{
				Kind: fault.FailResource, ResourceType: "OS::Neutron::Port", Action: "create", Reason: noHost, Count: 1,
			},
		},
		{
			name: "change of the package", typ: sol.LcmOperationChangeVnfpkg, level: "largest", back: true,
			changes: []string{"1 storage VDU2-Data MODIFIED", "3 vnfc VDU1 MODIFIED"},
			body:    func(w *world, _ *sol.VnfInstance) any { return stack.NextVersion(w.onboard(nextSource)) },
			want: func(t *testing.T, before, after *sol.VnfInstance) {
				t.Helper()
				require.Equal(t, counts(before), counts(after))
				require.NotEqual(t, before.VnfdID, after.VnfdID)
				require.Equal(t, "2.0", after.VnfSoftwareVersion)
			},
			breaks: &simcloud.Fault{
				Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1",
				Action: "update", Reason: noHost, Nth: 2, Count: 1,
			},
		},
		{
			name: "modification", typ: sol.LcmOperationModifyInfo, level: "smallest",
			body: request(map[string]any{"vnfInstanceName": "another", "metadata": map[string]any{"key": "value"}}),
			want: func(t *testing.T, _, after *sol.VnfInstance) {
				t.Helper()
				require.Equal(t, "another", after.VnfInstanceName)
				require.Equal(t, "value", after.Metadata["key"])
			},
		},
	}
}

// addresses wants a CP of VDU2 to have one, by its beginning.
func addresses(prefix string) func(t *testing.T, before, after *sol.VnfInstance) {
	return func(t *testing.T, before, after *sol.VnfInstance) {
		t.Helper()
		require.Equal(t, serverOf(before), serverOf(after))
		var all []string
		for _, cp := range after.InstantiatedVnfInfo.ExtCpInfo {
			if cp.CpdID != "VDU2_CP1" {
				continue
			}
			for _, p := range cp.CpProtocolInfo {
				for _, a := range p.IpOverEthernet.IpAddresses {
					all = append(all, a.Addresses...)
				}
			}
		}
		require.Len(t, all, 1)
		require.Contains(t, all[0], prefix)
	}
}

// startStandard starts a node in front of a cloud that has what the package standard wants: two more networks, and an
// availability zone that the grant names.
func startStandard(t *testing.T, change func(*configuration)) *world {
	t.Helper()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	requests, err := stack.NewRequests(t.Context(), cloud)
	require.NoError(t, err)
	w := start(t, cloud, func(c *configuration) {
		c.Grant.Zones = []string{"nova"}
		if change != nil {
			change(c)
		}
	})
	w.requests = requests
	return w
}

// standard brings an instance of the package standard to where an operation begins.
func (w *world) standard(o operation) *sol.VnfInstance {
	w.t.Helper()
	vnfd := w.onboard(standardSource)
	id := w.create(vnfd)
	w.completed(w.instantiate(id, w.requests.Standard(o.level)))
	if o.first != nil {
		w.completed(w.begin(*o.first, w.instance(id)))
	}
	return w.instance(id)
}

func (w *world) instance(id string) *sol.VnfInstance {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	return i
}

// begin starts an operation.
func (w *world) begin(o operation, i *sol.VnfInstance) string {
	w.t.Helper()
	op, err := w.api.Start(w.t.Context(), i.ID, o.typ, o.body(w, i))
	require.NoError(w.t, err)
	return op
}

// end terminates an instance and wants nothing of it to be left.
func (w *world) end(id string) {
	w.t.Helper()
	w.completed(w.terminate(id))
	w.gone()
	require.NoError(w.t, w.api.DeleteInstance(w.t.Context(), id))
}

// Every operation does what was asked for, says exactly what it has changed, and leaves nothing after the termination.
func TestEveryOperationDoesWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, o := range standardOperations() {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			w := startStandard(t, nil)
			before := w.standard(o)
			occ := w.completed(w.begin(o, before))
			after := w.instance(before.ID)
			o.want(t, before, after)
			require.Equal(t, o.changes, changes(occ))
			require.Equal(t, o.links, links(occ))
			require.Equal(t, o.typ == sol.LcmOperationModifyInfo, occ.ChangedInfo != nil)
			require.Equal(t, o.typ == sol.LcmOperationChangeVnfpkg, occ.ModificationsTriggeredByVnfPkgChange != nil)
			w.end(before.ID)
		})
	}
}

// halfway brings an operation to its failure in the middle.
func (w *world) halfway(o operation) (before *sol.VnfInstance, occ *sol.VnfLcmOpOcc) {
	w.t.Helper()
	before = w.standard(o)
	rule := w.cloud.AddFault(*o.breaks)
	occ = w.failed(w.begin(o, before))
	require.Contains(w.t, occ.Error.Detail, o.breaks.Reason, "the VIM's own words")
	require.NotNil(w.t, occ.Links.Retry)
	require.NotNil(w.t, occ.Links.Fail)
	require.Equal(w.t, o.back, occ.Links.Rollback != nil)
	r, _ := w.cloud.Faults().Get(rule)
	require.Equal(w.t, 1, r.Fired)
	w.cloud.Faults().Clear()
	return before, occ
}

// look is what a user sees of an instance, without what may differ after a way there and back: the ids of recreated
// resources.
func look(i *sol.VnfInstance) map[string]any {
	info := i.InstantiatedVnfInfo
	addresses := map[string]int{}
	for _, cp := range info.ExtCpInfo {
		for _, p := range cp.CpProtocolInfo {
			for _, a := range p.IpOverEthernet.IpAddresses {
				addresses[cp.CpdID] += len(a.Addresses)
			}
		}
	}
	links := map[string]int{}
	for _, l := range info.ExtVirtualLinkInfo {
		links[l.ID+" "+l.ResourceHandle.ResourceID] = len(l.ExtLinkPorts)
	}
	ids := slices.Sorted(maps.Keys(serverOf(i)))
	return map[string]any{
		"vnfd": i.VnfdID, "flavour": info.FlavourID, "state": info.VnfState, "scale": info.ScaleStatus, "vnfcs": ids,
		"counts": counts(i), "addresses": addresses, "links": links, "storages": len(info.VirtualStorageResourceInfo),
		"internal": len(info.VnfVirtualLinkResourceInfo),
		"name":     i.VnfInstanceName,
	}
}

// whole wants every server of an instance to be in the cloud, running or stopped as the instance says.
func (w *world) whole(i *sol.VnfInstance) {
	w.t.Helper()
	want := map[string]string{}
	for _, server := range serverOf(i) {
		want[server] = map[sol.VnfOperationalState]string{
			"STARTED": "ACTIVE", "STOPPED": "SHUTOFF",
		}[i.InstantiatedVnfInfo.VnfState]
	}
	have := map[string]string{}
	for _, s := range w.cloud.State()["servers"] {
		have[s.ID] = s.Status
	}
	require.Equal(w.t, want, have, "the instance and the cloud do not say the same")
}

// An operation fails in the middle: the VIM's text is reported. A retry continues, with the same result as without the
// failure.
func TestRetryCompletesWhatFailedInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, o := range standardOperations() {
		if o.breaks == nil {
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			w := startStandard(t, nil)
			before, occ := w.halfway(o)
			require.NoError(t, w.api.Retry(t.Context(), occ.ID))
			occ = w.completed(occ.ID)
			after := w.instance(before.ID)
			o.want(t, before, after)
			w.whole(after)
			require.Equal(t, o.changes, changes(occ), "as if nothing had been")
			require.Equal(t, o.links, links(occ))
			w.end(before.ID)
		})
	}
}

// A rollback gives back what was there before.
func TestRollbackGivesBackWhatWasThere(t *testing.T) {
	t.Parallel()
	for _, o := range standardOperations() {
		if !o.back {
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			w := startStandard(t, nil)
			before, occ := w.halfway(o)
			require.NoError(t, w.api.Rollback(t.Context(), occ.ID))
			occ = w.resting(occ.ID)
			require.Equal(t, sol.LcmOperationStateRolledBack, occ.OperationState, "%+v", occ.Error)
			after := w.instance(before.ID)
			require.Equal(t, look(before), look(after))
			require.Equal(t, serverOf(before), serverOf(after), "existing machines are not recreated")
			w.whole(after)
			w.end(before.ID)
		})
	}
}

// Who gives a failed operation up keeps an instance that says what is there, on which other operations work.
func TestFailLeavesAnInstanceThatCanBeHealed(t *testing.T) {
	t.Parallel()
	for _, o := range standardOperations() {
		if o.breaks == nil {
			continue
		}
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			w := startStandard(t, nil)
			before, occ := w.halfway(o)
			require.NoError(t, w.api.Fail(t.Context(), occ.ID))
			require.Equal(t, sol.LcmOperationStateFailed, w.resting(occ.ID).OperationState)
			heal, err := w.api.Heal(
				t.Context(), before.ID, sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}},
			)
			require.NoError(t, err)
			w.completed(heal)
			i := w.instance(before.ID)
			require.Equal(t, sol.VnfOperationalStateStarted, i.InstantiatedVnfInfo.VnfState)
			w.whole(i)
			w.end(before.ID)
		})
	}
}
