package store_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/rendered"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a store on its own database, as the default project sees it.
type bundle struct {
	*store.Records
	pool *pgxpool.Pool
	ring *secret.Ring
	// raw says that the test writes rows itself, so that their JSON is not valid.
	raw bool
}

var quiet = slog.New(slog.DiscardHandler)

func setup(tb testing.TB) *bundle {
	tb.Helper()
	return on(tb, devpg.New(tb), newRing(tb, secret.Generate()))
}

func on(tb testing.TB, pool *pgxpool.Pool, ring *secret.Ring) *bundle {
	tb.Helper()
	s, err := store.New(tb.Context(), pool, ring, &engine.Queue{}, quiet)
	require.NoError(tb, err)
	b := &bundle{Records: s.Of(lcm.Principal{}), pool: pool, ring: ring}
	tb.Cleanup(func() {
		if !b.raw && !tb.Failed() {
			rendered.Check(tb, s, pool)
		}
	})
	return b
}

func newRing(tb testing.TB, lines ...string) *secret.Ring {
	tb.Helper()
	text := ""
	for _, l := range lines {
		text += l + "\n"
	}
	ring, err := secret.Parse([]byte(text))
	require.NoError(tb, err)
	return ring
}

// packages are those of the project.
func (b *bundle) packages() vnfpkg.Store {
	return b.PackagesOf(lcm.Principal{Project: b.Project()})
}

const password = "correct-horse-battery"

func now() time.Time { return lcm.SystemClock{}.Now() }

func connection() sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimType:       "ETSINFV.OPENSTACK_KEYSTONE.V_3",
		InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://127.0.0.1/identity/v3"},
		AccessInfo:    sol.KeyValuePairs{"username": "nfv_user", "password": password},
	}
}

// newInstance stores an instance that has every field set.
func (b *bundle) newInstance(tb testing.TB) *lcm.Instance {
	tb.Helper()
	i := &lcm.Instance{
		ID: uuid.NewString(), Version: 1, Created: now(), Updated: now(), Name: "k8s", Description: "a cluster",
		VnfdID: "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177", VnfPkgID: b.newPackage(tb), Provider: "P", ProductName: "N",
		SoftwareVersion: "1.0", VnfdVersion: "2.0",
		State:          sol.InstantiationStateNotInstantiated,
		VimConnections: map[string]sol.VimConnectionInfo{"vim1": connection()},
		PreviousVims:   map[string]sol.VimConnectionInfo{"old": connection()},
		Params:         `{"k8s":{"password":"` + password + `"}}`,
		Metadata:       `{"n":1.5,"zone":"a"}`, Extensions: `{"e":true}`,
		ConfigurableProperties: `{"isAutoscaleEnabled":false}`, PrimaryResource: "vnflcm_1",
		Inventory: []lcm.Resource{{
			Name: "masterNode", Kind: lcm.KindCompute, Type: "OS::Nova::Server",
			ID: "1", Addresses: []lcm.Address{{IP: "10.0.0.1", Floating: true}},
		}},
	}
	require.NoError(tb, b.InsertInstance(tb.Context(), i, []lcm.Message{message(i.ID, "")}))
	return i
}

func message(instanceID, opID string) lcm.Message {
	return lcm.Message{
		ID: uuid.NewString(), Kind: lcm.KindOperation, InstanceID: instanceID, OperationID: opID,
		Time: now(), Body: json.RawMessage(`{"a":1}`),
	}
}

func newOperation(instanceID string) *lcm.Operation {
	t := now()
	return &lcm.Operation{
		ID: uuid.NewString(), InstanceID: instanceID, Type: sol.LcmOperationInstantiate,
		State: sol.LcmOperationStateStarting, StateEntered: t, Started: t, Updated: t, Version: 1,
		Deadline: t.Add(time.Hour),
		Params:   json.RawMessage(`{"flavourId":"simple","additionalParams":{"password":"` + password + `"}}`),
	}
}

func ok(*lcm.Instance) error { return nil }

// admit stores an instance with an operation in STARTING.
func (b *bundle) admit(tb testing.TB) (*lcm.Instance, *lcm.Operation) {
	tb.Helper()
	i := b.newInstance(tb)
	op := newOperation(i.ID)
	require.NoError(tb, b.Admit(tb.Context(), op, []lcm.Message{message(i.ID, op.ID)}, ok))
	return i, op
}

func (b *bundle) claim(tb testing.TB, opID, node string) (*lcm.Claimed, lcm.Claim) {
	tb.Helper()
	c, err := b.Claim(tb.Context(), opID, node)
	require.NoError(tb, err)
	require.NotNil(tb, c)
	return c, lcm.Claim{OperationID: opID, InstanceID: c.Instance.ID, Epoch: c.Op.Epoch}
}

func (b *bundle) count(tb testing.TB, query string, args ...any) int {
	tb.Helper()
	var n int
	require.NoError(tb, b.pool.QueryRow(tb.Context(), query, args...).Scan(&n))
	return n
}

func requireCode(tb testing.TB, code lcm.Code, err error) *lcm.Error {
	tb.Helper()
	require.Error(tb, err)
	e := lcm.AsError(err)
	require.Equal(tb, code, e.Code, "%v", err)
	return e
}

func TestAnInstanceComesBackAsItWasStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	want := b.newInstance(t)
	got, err := b.Instance(t.Context(), want.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(
		t, 1, b.count(t, "SELECT count(*) FROM outbox WHERE instance_id = $1 AND fanned_out IS NULL", want.ID),
	)

	for _, id := range []string{uuid.NewString(), "not-a-uuid", "", "../../etc"} {
		_, err := b.Instance(t.Context(), id)
		requireCode(t, lcm.CodeNotFound, err)
		_, err = b.Operation(t.Context(), id)
		requireCode(t, lcm.CodeNotFound, err)
		_, err = b.Vim(t.Context(), id)
		requireCode(t, lcm.CodeNotFound, err)
		_, _, err = b.Progress(t.Context(), id)
		requireCode(t, lcm.CodeNotFound, err)
		_, err = b.Claim(t.Context(), id, "n")
		requireCode(t, lcm.CodeNotFound, err)
		requireCode(t, lcm.CodeNotFound, b.DeleteInstance(t.Context(), id, nil, nil))
		requireCode(t, lcm.CodeNotFound, b.DeleteVim(t.Context(), id))
		requireCode(t, lcm.CodeNotFound, b.Admit(t.Context(), newOperation(id), nil, ok))
	}
}

func TestWhatScriptsAndClientsSendIsStorable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	i.ID = uuid.NewString()
	i.Name = "nul \x00 and broken \xff"
	var err error
	i.Metadata, err = sol.KeyValuePairs{"a": "\x00", `b\`: `\u0000 literally`, "c": "\xff"}.Raw()
	require.NoError(t, err)
	require.NoError(t, b.InsertInstance(t.Context(), i, nil))
	got, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, "nul \uFFFD and broken \uFFFD", got.Name)
	metadata, err := got.Metadata.Decode()
	require.NoError(t, err)
	require.Equal(t, sol.KeyValuePairs{"a": "\uFFFD", `b\`: `\u0000 literally`, "c": "\uFFFD"}, metadata)
}

func TestListsGoThroughEverythingInPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := map[string]bool{}
	var instance string
	for range 7 {
		i, op := b.admit(t)
		ids[i.ID], ids[op.ID] = true, true
		instance = i.ID
	}
	after, pages := "", 0
	for {
		page, err := b.Instances(t.Context(), lcm.Query{After: after, Limit: 3})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		pages++
		for _, i := range page {
			require.Greater(t, i.ID, after)
			after = i.ID
			delete(ids, i.ID)
		}
	}
	require.Equal(t, 3, pages)
	after = ""
	var last time.Time
	for {
		page, err := b.Operations(t.Context(), lcm.Query{After: after, Limit: 2})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, o := range page {
			require.False(t, o.Started.Before(last), "newest last")
			after, last = o.ID, o.Started
			delete(ids, o.ID)
		}
	}
	require.Empty(t, ids)

	mine, err := b.Operations(t.Context(), lcm.Query{
		InstanceID: instance, States: []sol.LcmOperationStateType{sol.LcmOperationStateStarting},
	})
	require.NoError(t, err)
	require.Len(t, mine, 1)
	none, err := b.Operations(
		t.Context(), lcm.Query{InstanceID: instance, States: []sol.LcmOperationStateType{sol.LcmOperationStateFailed}},
	)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestDeleteRefusesWhatWouldLoseResources(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	e := requireCode(t, lcm.CodeConflict, b.DeleteInstance(t.Context(), i.ID, nil, nil))
	require.Contains(t, e.Detail, op.ID)
	require.Contains(t, e.Detail, "STARTING")

	held := b.newInstance(t)
	set := func(query string) {
		_, err := b.pool.Exec(t.Context(), query, held.ID)
		require.NoError(t, err)
	}
	set("UPDATE vnf_instance SET holds_resources = true WHERE id = $1")
	requireCode(t, lcm.CodeConflict, b.DeleteInstance(t.Context(), held.ID, nil, nil))
	set("UPDATE vnf_instance SET holds_resources = false, state = 'INSTANTIATED' WHERE id = $1")
	requireCode(t, lcm.CodeConflict, b.DeleteInstance(t.Context(), held.ID, nil, nil))
	set("UPDATE vnf_instance SET state = 'NOT_INSTANTIATED' WHERE id = $1")
	stale := held.Version - 1
	requireCode(t, lcm.CodePrecondition, b.DeleteInstance(t.Context(), held.ID, &stale, nil))
	require.NoError(t, b.DeleteInstance(t.Context(), held.ID, &held.Version, []lcm.Message{message(held.ID, "")}))
	requireCode(t, lcm.CodeNotFound, b.DeleteInstance(t.Context(), held.ID, nil, nil))
	require.Equal(t, 2, b.count(t, "SELECT count(*) FROM outbox WHERE instance_id = $1", held.ID))
}

func TestOfManyRequestsAtOnceExactlyOneOperationIsAccepted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	const clients = 30
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			op := newOperation(i.ID)
			errs[n] = b.Admit(t.Context(), op, []lcm.Message{message(i.ID, op.ID)}, func(i *lcm.Instance) error {
				i.HoldsResources = true
				return nil
			})
		})
	}
	wg.Wait()
	accepted := 0
	for _, err := range errs {
		if err == nil {
			accepted++
			continue
		}
		require.Contains(
			t, requireCode(t, lcm.CodeConflict, err).Detail, "(INSTANTIATE) of this VNF instance is STARTING",
		)
	}
	require.Equal(t, 1, accepted)
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM vnf_lcm_op_occ"))
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM river_job"))
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM vnf_lcm_op_occ o JOIN river_job j ON j.id = o.job_id"))
	require.Equal(t, 2, b.count(t, "SELECT count(*) FROM outbox"))
	got, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.True(t, got.HoldsResources, "check's change of the instance belongs to the admission")
	require.Equal(t, i.Version+1, got.Version)
}

func TestARefusedAdmissionLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.newInstance(t)
	refusal := lcm.Errorf(lcm.CodeConflict, "no")
	err := b.Admit(t.Context(), newOperation(i.ID), []lcm.Message{message(i.ID, "")}, func(i *lcm.Instance) error {
		i.HoldsResources = true
		return refusal
	})
	require.Same(t, refusal, err)
	require.Zero(t, b.count(t, "SELECT count(*) FROM vnf_lcm_op_occ"))
	require.Zero(t, b.count(t, "SELECT count(*) FROM river_job"))
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM outbox"))
	got, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, i, got)
}

func TestASteeredOperationGetsAJobAndANewEpoch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n1")
	c.Op.State, c.Op.FailedIn, c.Op.Phase = sol.LcmOperationStateFailedTemp, sol.LcmOperationStateProcessing, "infra"
	c.Op.Error = &lcm.Failure{Status: 502, Detail: "quota"}
	require.NoError(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op, Instance: c.Instance}))
	none, err := b.Claim(t.Context(), op.ID, "n1")
	require.NoError(t, err)
	require.Nil(t, none, "an operation in FAILED_TEMP has no work for a node")
	requireCode(t, lcm.CodeConflict, b.Admit(t.Context(), newOperation(i.ID), nil, ok))

	var first int64
	require.NoError(t, b.pool.QueryRow(t.Context(), "SELECT job_id FROM vnf_lcm_op_occ").Scan(&first))
	_, err = b.Steer(t.Context(), op.ID, func(*lcm.Operation, *lcm.Protection) ([]lcm.Message, error) {
		return nil, lcm.Errorf(lcm.CodeConflict, "no")
	})
	requireCode(t, lcm.CodeConflict, err)
	got, err := b.Steer(t.Context(), op.ID, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
		require.Equal(t, "infra", o.Phase)
		o.State, o.StateEntered = sol.LcmOperationStateProcessing, now()
		return []lcm.Message{message(i.ID, o.ID)}, nil
	})
	require.NoError(t, err)
	require.Equal(t, cl.Epoch+1, got.Epoch)
	stored, err := b.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	require.Equal(t, stored, got)
	require.JSONEq(t, string(op.Params), string(stored.Params))
	require.Equal(t, 1, b.count(
		t, "SELECT count(*) FROM vnf_lcm_op_occ o JOIN river_job j ON j.id = o.job_id WHERE j.id <> $1", first,
	))
	require.ErrorIs(t, b.CommitTick(t.Context(), cl, lcm.Tick{Op: c.Op}), lcm.ErrFenced)

	_, err = b.Steer(t.Context(), op.ID, func(o *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
		o.State = sol.LcmOperationStateFailed
		return nil, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, b.count(t, "SELECT count(*) FROM vnf_lcm_op_occ WHERE job_id IS NULL"),
		"no job for an operation that has ended")
	require.NoError(t, b.Admit(t.Context(), newOperation(i.ID), nil, ok), "an ended operation is not active")
}

func TestANodeThatLostItsClaimCannotWrite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.admit(t)
	oldC, old := b.claim(t, op.ID, "paused")
	step, err := b.BeginStep(t.Context(), old, "p", "s", "")
	require.NoError(t, err)
	_, current := b.claim(t, op.ID, "other")
	before := b.count(t, "SELECT count(*) FROM event")

	oldC.Op.State = sol.LcmOperationStateCompleted
	oldC.Instance.Name = "overwritten"
	tick := lcm.Tick{
		Op: oldC.Op, Instance: oldC.Instance,
		Phases:   []lcm.PhaseRecord{{Name: "p", State: lcm.PhaseDone, Started: now()}},
		Messages: []lcm.Message{message(oldC.Instance.ID, op.ID)},
		Effects:  lcm.Effects{RegisterVims: []lcm.Vim{{ID: uuid.NewString(), Name: "v", Connection: connection()}}},
	}
	require.ErrorIs(t, b.CommitTick(t.Context(), old, tick), lcm.ErrFenced)
	_, err = b.BeginStep(t.Context(), old, "p", "s", "")
	require.ErrorIs(t, err, lcm.ErrFenced)
	require.ErrorIs(t, b.SaveStep(t.Context(), old, step.ID, json.RawMessage(`{}`), ""), lcm.ErrFenced)
	require.ErrorIs(t, b.EndStep(t.Context(), old, step.ID, lcm.StepDone, "", nil), lcm.ErrFenced)
	require.ErrorIs(t, b.AppendLog(t.Context(), old, step.ID, []lcm.LogLine{{Text: "x"}}), lcm.ErrFenced)

	require.Equal(t, before, b.count(t, "SELECT count(*) FROM event"), "a fenced write leaves no trace")
	require.Zero(t, b.count(t, "SELECT count(*) FROM vim"))
	require.Zero(t, b.count(t, "SELECT count(*) FROM lcm_op_phase"))
	again, err := b.BeginStep(t.Context(), current, "p", "s", "")
	require.NoError(t, err)
	require.Equal(t, lcm.StepOpen, again.State)
	require.Equal(t, 1, again.Attempts, "another node goes on with the same attempt")
	require.Equal(t, step.ID, again.ID)
	got, err := b.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	require.Equal(t, "other", got.Node)
	require.Equal(t, sol.LcmOperationStateStarting, got.State)
}

func TestAClaimSeesWhatATickCommitsAtTheSameMoment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.raw = true
	_, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n1")
	c.Instance.Name = "from the tick"
	// The tick's transaction has written and not committed when the claim begins.
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT gybe_fence($1, $2)", op.ID, cl.Epoch)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE vnf_instance SET name = $2 WHERE id = $1", c.Instance.ID, c.Instance.Name)
	require.NoError(t, err)
	got := make(chan *lcm.Claimed, 1)
	go func() {
		claimed, err := b.Claim(context.WithoutCancel(t.Context()), op.ID, "n2")
		if err != nil {
			t.Error(err)
		}
		got <- claimed
	}()
	require.Eventually(t, func() bool {
		return b.count(
			t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
		) == 1
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, "from the tick", (<-got).Instance.Name)
}

func TestATickCommitsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	c, cl := b.claim(t, op.ID, "n1")
	require.Nil(t, c.Phase)
	vim := lcm.Vim{
		ID: uuid.NewString(), Name: "cluster", Owner: i.ID, Connection: connection(), Created: now(), Updated: now(),
	}
	c.Op.State, c.Op.Phase, c.Op.Waiting = sol.LcmOperationStateProcessing, "infra", "stack CREATE_IN_PROGRESS"
	c.Op.StateEntered = now()
	c.Op.Grant = &lcm.Grant{ID: "g", Zones: map[string]string{"masterNode": "nova"}}
	c.Op.ResourceChanges = &sol.ResourceChanges{AffectedVnfcs: []sol.AffectedVnfc{{ID: "1", VduID: "masterNode"}}}
	c.Op.ChangedInfo = &sol.VnfInfoModifications{VimConnectionInfo: map[string]sol.VimConnectionInfo{"v": connection()}}
	c.Instance.Instantiated = &sol.InstantiatedVnfInfo{FlavourID: "simple"}
	phases := []lcm.PhaseRecord{
		{Name: "grant", State: lcm.PhaseDone, Started: now(), Finished: now()},
		{
			Name: "infra", State: lcm.PhaseWaiting, Started: now(), Attempts: 2, Failing: 1, Detail: "waits",
			Error: &lcm.Failure{Status: 503, Detail: "busy"},
		},
	}
	tick := lcm.Tick{
		Op: c.Op, Instance: c.Instance, Phases: phases, Messages: []lcm.Message{message(i.ID, op.ID)},
		Effects: lcm.Effects{RegisterVims: []lcm.Vim{vim}, RemoveVims: []string{uuid.NewString()}},
	}
	require.NoError(t, b.CommitTick(t.Context(), cl, tick))

	stored, err := b.Operation(t.Context(), op.ID)
	require.NoError(t, err)
	require.Equal(t, c.Op, stored)
	inst, err := b.Instance(t.Context(), i.ID)
	require.NoError(t, err)
	c.Instance.Fingerprint = nil // only claims read it
	require.Equal(t, c.Instance, inst)
	require.Equal(t, int64(2), inst.Version)
	got, _, err := b.Progress(t.Context(), op.ID)
	require.NoError(t, err)
	require.Equal(t, phases, got)
	v, err := b.Vim(t.Context(), vim.ID)
	require.NoError(t, err)
	vim.Version = 1
	require.Equal(t, &vim, v)

	again, cl2 := b.claim(t, op.ID, "n2")
	require.Equal(t, &phases[1], again.Phase)
	events := b.count(t, "SELECT count(*) FROM event")
	require.NoError(t, b.CommitTick(
		t.Context(), cl2, lcm.Tick{Op: again.Op, Instance: again.Instance, Phases: []lcm.PhaseRecord{*again.Phase}},
	))
	require.Equal(t, events, b.count(t, "SELECT count(*) FROM event"), "a tick that changed nothing tells nothing")
	require.Equal(t, int64(2), again.Instance.Version, "and leaves the instance's ETag alone")

	again.Op.Run, again.Op.Phase = 1, "infra"
	require.NoError(t, b.CommitTick(t.Context(), cl2, lcm.Tick{
		Op: again.Op, Phases: []lcm.PhaseRecord{{Name: "infra", State: lcm.PhaseRunning, Started: now()}},
		Effects: lcm.Effects{RemoveVims: []string{vim.ID}},
	}))
	got, _, err = b.Progress(t.Context(), op.ID)
	require.NoError(t, err)
	require.Len(t, got, 3, "a new run does not take an earlier one's phase for its own")
	_, err = b.Vim(t.Context(), vim.ID)
	requireCode(t, lcm.CodeNotFound, err)
}

func TestBriefListsLeaveOutWhatIsLargeOrSealed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i, op := b.admit(t)
	instances, err := b.Instances(t.Context(), lcm.Query{Brief: true})
	require.NoError(t, err)
	require.Len(t, instances, 1)
	want := *i
	want.VimConnections, want.PreviousVims, want.Instantiated, want.Inventory = nil, nil, nil, nil
	want.Params, want.ConfigurableProperties, want.Metadata, want.Extensions = "", "", "", ""
	require.Equal(t, &want, instances[0])
	ops, err := b.Operations(t.Context(), lcm.Query{Brief: true})
	require.NoError(t, err)
	require.Len(t, ops, 1)
	short := *op
	short.Params = nil
	require.Equal(t, &short, ops[0])
}
