package crash_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
)

// ward is a world for the package standard, with nodes that go on where the last one died.
type ward struct {
	*world
	requests   stack.Requests
	node       *child
	vnfd, next string
	deaths     int
}

func newWard(t *testing.T) *ward {
	t.Helper()
	database := devpg.TestURL(t)
	cloud := simcloud.StartTest(t, simcloud.Options{})
	requests, err := stack.NewRequests(t.Context(), cloud)
	require.NoError(t, err)
	d := &ward{world: newWorld(t, cloud, database, devpg.Pool(t, database)), requests: requests}
	d.spawn()
	d.vnfd = d.onboard(d.node.api, "../packages/standard")
	return d
}

func (d *ward) spawn() { d.node = spawn(d.t, d.database, d.data, "GYBE_GRANT_ZONES=nova") }

// alive disarms the node, or replaces it when it has died.
func (d *ward) alive() (died bool) {
	d.t.Helper()
	if d.node.arm(death{}) {
		return false
	}
	<-d.node.dead
	d.deaths++
	d.spawn()
	return true
}

// up makes an instance.
func (d *ward) up(level string) *sol.VnfInstance {
	d.t.Helper()
	id := d.create(d.node.api, d.vnfd)
	op, err := d.instantiate(d.requests.Standard(level))(d.node.api, id)
	require.NoError(d.t, err)
	d.completed(d.node.api, op)
	return d.instance(id)
}

func (d *ward) instance(id string) *sol.VnfInstance {
	d.t.Helper()
	i, err := d.node.api.Instance(d.t.Context(), id)
	require.NoError(d.t, err)
	return i
}

// down terminates an instance, deletes its snapshots, and wants nothing to be left.
func (d *ward) down(id string) {
	d.t.Helper()
	op, err := d.terminate()(d.node.api, id)
	require.NoError(d.t, err)
	d.completed(d.node.api, op)
	all, err := d.node.api.Snapshots(d.t.Context(), "", false)
	require.NoError(d.t, err)
	for _, s := range all {
		require.NoError(d.t, d.node.api.DeleteSnapshot(d.t.Context(), s.ID))
	}
	d.gone()
	require.NoError(d.t, d.node.api.DeleteInstance(d.t.Context(), id))
}

// change is an operation with its effect when it is not interrupted.
type change struct {
	name  string
	typ   sol.LcmOperationType
	level string
	body  func(d *ward, i *sol.VnfInstance) any
}

func changes() []change {
	request := func(v any) func(*ward, *sol.VnfInstance) any { return func(*ward, *sol.VnfInstance) any { return v } }
	return []change{
		{"scale out", sol.LcmOperationScale, "smallest", request(stack.Scale(sol.ScaleTypeOut, 2))},
		{"scale in", sol.LcmOperationScale, "largest", request(stack.Scale(sol.ScaleTypeIn, 2))},
		{"scale to level", sol.LcmOperationScaleToLevel, "smallest", request(
			sol.ScaleVnfToLevelRequest{InstantiationLevelID: "largest"},
		)},
		{"heal", sol.LcmOperationHeal, "volumes", request(sol.HealVnfRequest{Cause: "a test"})},
		{"heal with everything recreated", sol.LcmOperationHeal, "volumes", request(
			sol.HealVnfRequest{AdditionalParams: sol.KeyValuePairs{"all": true}},
		)},
		{"stop", sol.LcmOperationOperate, "largest", request(
			sol.OperateVnfRequest{ChangeStateTo: sol.VnfOperationalStateStopped, StopType: sol.StopTypeForceful},
		)},
		{"another address", sol.LcmOperationChangeExtConn, "volumes", func(d *ward, _ *sol.VnfInstance) any {
			return d.requests.Readdressed("10.10.1.78")
		}},
		{"change of the flavour", sol.LcmOperationChangeFlavour, "volumes", request(stack.Large())},
		{"change of the package", sol.LcmOperationChangeVnfpkg, "volumes", func(d *ward, _ *sol.VnfInstance) any {
			if d.next == "" {
				d.next = d.onboard(d.node.api, "../packages/standard-2")
			}
			return stack.NextVersion(d.next)
		}},
		{"snapshot", sol.LcmOperationCreateSnapshot, "volumes", func(d *ward, _ *sol.VnfInstance) any {
			return sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: d.emptySnapshot()}
		}},
		{"revert", sol.LcmOperationRevertToSnapshot, "volumes", func(d *ward, i *sol.VnfInstance) any {
			id := d.emptySnapshot()
			op, err := d.node.api.Start(d.t.Context(), i.ID, sol.LcmOperationCreateSnapshot,
				sol.CreateVnfSnapshotRequest{VnfSnapshotInfoID: id})
			require.NoError(d.t, err)
			d.completed(d.node.api, op)
			d.cloud.ResetCalls()
			return sol.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: id}
		}},
		{"modification", sol.LcmOperationModifyInfo, "smallest", request(map[string]any{"vnfInstanceName": "another"})},
	}
}

func (d *ward) emptySnapshot() string {
	d.t.Helper()
	s, err := d.node.api.CreateSnapshot(d.t.Context())
	require.NoError(d.t, err)
	return s.ID
}

// effects are what an operation has done to the cloud: the calls that change something, and the affected resources.
func (d *ward) effects(op string) map[string]int {
	d.t.Helper()
	out := map[string]int{}
	o, err := d.node.api.Operation(d.t.Context(), op)
	require.NoError(d.t, err)
	changed := []string{"heat"}
	if o.Operation == sol.LcmOperationCreateSnapshot {
		changed = append(changed, "nova", "cinder")
	}
	for _, c := range d.cloud.Calls() {
		if slices.Contains(changed, c.Service) && c.Method != http.MethodGet && c.Method != http.MethodHead {
			out[c.Method+" "+c.Route.Route] = c.Count
		}
	}
	if r := o.ResourceChanges; r != nil {
		for _, v := range r.AffectedVnfcs {
			out[fmt.Sprintf("%s %s", v.VduID, v.ChangeType)]++
		}
		for _, v := range r.AffectedVirtualStorages {
			out[fmt.Sprintf("%s %s", v.VirtualStorageDescID, v.ChangeType)]++
		}
	}
	return out
}

// begun asks for an operation of which a node may die; it is sent again if it was not admitted.
func (d *ward) begun(c change, i *sol.VnfInstance, at death) (op string, died bool) {
	d.t.Helper()
	body := c.body(d, i)
	require.True(d.t, d.node.arm(at))
	op, err := d.node.api.Start(d.t.Context(), i.ID, c.typ, body)
	if err == nil {
		select {
		case <-d.node.dead:
		case <-d.rested(d.node.api, op):
		}
	}
	died = d.alive()
	if !died {
		require.NoError(d.t, err)
		return op, false
	}
	if op == "" {
		op = d.newest(d.node.api, i.ID, c.typ)
	}
	if op == "" {
		require.False(d.t, at.After, "what was durable is lost")
		op, err = d.node.api.Start(d.t.Context(), i.ID, c.typ, body)
		require.NoError(d.t, err)
	}
	return op, true
}

// full says whether a node dies at every write.
func full() bool { return os.Getenv("GYBE_FULL") != "" }

// stride is how many writes lie between two deaths. It is odd, so that every other death comes after the write.
func stride() int {
	if full() {
		return 1
	}
	return 7
}

// clusterStride is the first write that a node dies at in a scenario of a cluster, and the stride.
func clusterStride(scenario int) (first, every int) {
	switch {
	case full():
		return 1, 1
	case testing.Short():
		return 1 + 2*scenario, 27
	}
	return 1 + 2*scenario, 15
}

// A node dies at a write of any operation, before it is made or when it is durable. The next goes on, and nothing is
// done twice: Heat was asked for the same as if no node had died, and no machine was made, healed or taken away once
// more.
func TestDeathInAnyOperationDoesNothingTwice(t *testing.T) {
	t.Parallel()
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newWard(t)
			run := func(at death) (map[string]int, bool) {
				i := d.up(c.level)
				d.cloud.ResetCalls()
				op, died := d.begun(c, i, at)
				d.completed(d.node.api, op)
				done := d.effects(op)
				d.down(i.ID)
				return done, died
			}
			want, _ := run(death{})
			for n, died := 1, true; died; n += stride() {
				var done map[string]int
				at := death{Nth: (n + 1) / 2, After: n%2 == 0}
				done, died = run(at)
				require.Equal(t, want, done, "%+v", at)
			}
			t.Logf("%d deaths", d.deaths)
			require.Positive(t, d.deaths)
		})
	}
}

// A user rolls a failed operation back, and a node dies in between: the previous state is restored, once.
func TestDeathInAnyRollbackGivesBackWhatWasThere(t *testing.T) {
	t.Parallel()
	for _, c := range changes() {
		if !slices.Contains([]string{"scale out", "scale to level", "change of the flavour"}, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newWard(t)
			for n, died := 1, true; died; n += stride() {
				i := d.up(c.level)
				d.cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Reason: "no",
					Count: 1,
				})
				op := d.started(c, i)
				d.rests(d.node.api, op, sol.LcmOperationStateFailedTemp)
				d.cloud.ResetCalls()
				died = d.steered(op, death{Nth: (n + 1) / 2, After: n%2 == 0}, func(api *client.Client) error {
					return api.Rollback(t.Context(), op)
				})
				d.rests(d.node.api, op, sol.LcmOperationStateRolledBack)
				require.Equal(t, 1, d.effects(op)["PATCH /orchestration/v1/{project}/stacks/{name}/{id}"])
				require.ElementsMatch(t, slices.Collect(maps.Values(servers(i))), d.running())
				d.down(i.ID)
			}
			t.Logf("%d deaths", d.deaths)
			require.Positive(t, d.deaths)
		})
	}
}

// A user cancels an operation that does not come on, and a node dies in between: it stops all the same, and a retry
// completes it.
func TestDeathInACancelIsSurvived(t *testing.T) {
	t.Parallel()
	c, d := changes()[0], newWard(t)
	for n, died := 1, true; died; n += stride() {
		i := d.up(c.level)
		rule := d.cloud.AddFault(
			simcloud.Fault{Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: "create"},
		)
		op := d.started(c, i)
		require.Eventually(
			t, func() bool { r, _ := d.cloud.Faults().Get(rule); return r.Fired > 0 }, patience, interval,
		)
		died = d.steered(op, death{Nth: (n + 1) / 2, After: n%2 == 0}, func(api *client.Client) error {
			err := api.Cancel(t.Context(), op, sol.CancelModeForceful)
			if err == nil {
				d.cloud.Faults().Clear() // else the halt waits half a minute for what Heat does not let go of
			}
			return err
		})
		d.cloud.Faults().Clear()
		d.rests(d.node.api, op, sol.LcmOperationStateFailedTemp)
		o, err := d.node.api.Operation(t.Context(), op)
		require.NoError(t, err)
		require.Contains(t, o.Error.Detail, "ancelled")
		require.NoError(t, d.node.api.Retry(t.Context(), op))
		d.completed(d.node.api, op)
		require.ElementsMatch(t, slices.Collect(maps.Values(servers(d.instance(i.ID)))), d.running())
		d.down(i.ID)
	}
	t.Logf("%d deaths", d.deaths)
	require.Positive(t, d.deaths)
}

// started starts an operation that no node dies of.
func (d *ward) started(c change, i *sol.VnfInstance) string {
	d.t.Helper()
	op, err := d.node.api.Start(d.t.Context(), i.ID, c.typ, c.body(d, i))
	require.NoError(d.t, err)
	return op
}

// steered lets the user decide about an operation while a node dies; the decision is repeated if it was not stored.
func (d *ward) steered(op string, at death, decide func(*client.Client) error) (died bool) {
	d.t.Helper()
	before, err := d.node.api.Operation(d.t.Context(), op)
	require.NoError(d.t, err)
	require.True(d.t, d.node.arm(at))
	unanswered := decide(d.node.api)
	if unanswered == nil {
		select {
		case <-d.node.dead:
		case <-d.rested(d.node.api, op):
		}
	}
	if died = d.alive(); !died {
		require.NoError(d.t, unanswered)
		return false
	}
	now, err := d.node.api.Operation(d.t.Context(), op)
	require.NoError(d.t, err)
	// The write that the node died at was the decision's if it was the first of an operation at rest. An operation that
	// runs also writes by itself, and the node can have died before it received the decision.
	unheard := unanswered != nil && now.OperationState == before.OperationState &&
		now.IsCancelPending == before.IsCancelPending
	own := before.OperationState == sol.LcmOperationStateProcessing
	if unheard && (own || !at.After && at.Nth == 1) {
		require.NoError(d.t, decide(d.node.api))
	}
	return true
}

// servers are the servers of an instance by VNFC.
func servers(i *sol.VnfInstance) map[string]string {
	out := map[string]string{}
	for _, r := range i.InstantiatedVnfInfo.VnfcResourceInfo {
		out[r.ID] = r.ComputeResource.ResourceID
	}
	return out
}

// running are the servers that the cloud has.
func (d *ward) running() []string {
	var out []string
	for _, s := range d.cloud.State()["servers"] {
		out = append(out, s.ID)
	}
	return out
}
