package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

const noHost = "No valid host was found. There are not enough hosts available."

// broken starts an instantiation that fails because of what Heat says about a server, and returns the operation at
// rest.
func (w *world) broken(times int) (id string, o *sol.VnfLcmOpOcc) {
	w.t.Helper()
	vnfd := w.onboard(plainSource)
	w.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create", Reason: noHost, Count: times,
	})
	id = w.create(vnfd)
	o = w.failed(w.instantiate(id, w.plain("default")))
	require.Contains(w.t, o.Error.Detail, noHost, "the VIM's own words")
	require.Contains(w.t, o.Error.Detail, "VDU1", "and on what")
	require.NotNil(w.t, o.Links.Retry)
	require.NotNil(w.t, o.Links.Rollback)
	require.NotNil(w.t, o.Links.Fail)
	require.Equal(w.t, "grant infra(FAILED)", phases(w.progress(o.ID).Phases))
	return id, o
}

// While an operation waits for its user, no other request changes the instance.
func (w *world) held(id string) {
	w.t.Helper()
	_, err := w.api.Instantiate(w.t.Context(), id, encode(w.t, w.plain("default")))
	status(w.t, err, 409)
	_, err = w.api.Terminate(w.t.Context(), id, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
	status(w.t, err, 409)
	status(w.t, w.api.DeleteInstance(w.t.Context(), id), 409)
}

func status(t *testing.T, err error, want int) *client.Error {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Status(), e.Error())
	return e
}

func TestFailureOfTheVIMIsReportedAndRetryContinues(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	id, o := w.broken(1)
	w.held(id)
	require.NoError(t, w.api.Retry(t.Context(), o.ID))
	w.completed(o.ID)
	require.Equal(t, "grant infra inventory", phases(w.progress(o.ID).Phases))
	require.Len(t, stacksOf(w.cloud.State(), id), 1)
	require.Equal(t, []string{"STARTING", "PROCESSING", "FAILED_TEMP", "PROCESSING", "COMPLETED"}, w.notified(o.ID))
	status(t, w.api.Retry(t.Context(), o.ID), 409)
	w.completed(w.terminate(id))
	w.gone()
}

func TestRollbackTakesEverythingBack(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	id, o := w.broken(0)
	require.NoError(t, w.api.Rollback(t.Context(), o.ID))
	o = w.resting(o.ID)
	require.Equal(t, sol.LcmOperationStateRolledBack, o.OperationState)
	require.Contains(t, o.Error.Detail, noHost, "why it was rolled back stays readable")
	require.Nil(t, o.ResourceChanges)
	w.gone()
	require.Equal(t, []string{"STARTING", "PROCESSING", "FAILED_TEMP", "ROLLING_BACK", "ROLLED_BACK"}, w.notified(o.ID))
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))
}

// Fail leaves what is there; the instance cannot be forgotten while the VIM may hold something of it. Instantiating
// again replaces the remains.
func TestFailLeavesTheRestAndTheNextInstantiationReplacesIt(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	id, o := w.broken(1)
	old := stacksOf(w.cloud.State(), id)
	require.Len(t, old, 1)
	require.NoError(t, w.api.Fail(t.Context(), o.ID))
	o = w.resting(o.ID)
	require.Equal(t, sol.LcmOperationStateFailed, o.OperationState)
	require.Contains(t, o.Error.Detail, noHost)
	status(t, w.api.DeleteInstance(t.Context(), id), 409)

	w.completed(w.instantiate(id, w.plain("default")))
	now := stacksOf(w.cloud.State(), id)
	require.Len(t, now, 1)
	require.NotEqual(t, old[0].ID, now[0].ID, "what another request made may differ in everything")
	w.completed(w.terminate(id))
	w.gone()
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))
}

// A cloud that refuses the credentials has created nothing. So neither a rollback nor the deletion of the instance
// needs it.
func TestInstantiateWithWrongPasswordRollsBack(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	vnfd := w.onboard(plainSource)
	for _, tt := range []struct {
		name  string
		steer func(ctx context.Context, op string) error
		end   sol.LcmOperationStateType
	}{
		{"rollback", w.api.Rollback, sol.LcmOperationStateRolledBack},
		{"fail", w.api.Fail, sol.LcmOperationStateFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			params := w.plain("default")
			for _, v := range params["vimConnectionInfo"].(map[string]any) {
				v.(sol.VimConnectionInfo).AccessInfo["password"] = "wrong"
			}
			id := w.create(vnfd)
			o := w.failed(w.instantiate(id, params))
			require.Contains(t, o.Error.Detail, "401")
			require.NoError(t, tt.steer(t.Context(), o.ID))
			require.Equal(t, tt.end, w.resting(o.ID).OperationState)
			require.NoError(t, w.api.DeleteInstance(t.Context(), id))
		})
	}
}

// A VIM that is away for a moment costs time and nothing else, and the operation shows it.
func TestVIMThatIsAwayForAMomentIsWaitedForVisibly(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][]simcloud.Fault{
		"keystone answers 503": {{Kind: fault.Status, Service: "keystone", Status: 503, Count: 2}},
		"heat answers 503":     {{Kind: fault.Status, Service: "heat", Method: "POST", Status: 503, Count: 3}},
		"a proxy answers 502":  {{Kind: fault.HTML, Service: "heat", Method: "GET", Count: 2}},
		"connections break": {{Kind: fault.Reset, Service: "nova", Count: 2}, {
			Kind: fault.Reset, Service: "heat", Method: "POST", Count: 1,
		}},
		"the answer does not end": {
			{Kind: fault.Truncate, Service: "heat", Method: "GET", Path: "/resources$", Count: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
			vnfd := w.onboard(plainSource)
			id := w.create(vnfd)
			for _, r := range rules {
				w.cloud.AddFault(r)
			}
			op := w.instantiate(id, w.plain("default"))
			w.completed(op)
			attempts := 0
			for _, p := range w.progress(op).Phases {
				attempts += p.Attempts
			}
			require.Positive(t, attempts, "the failures are counted")
			seen := false
			for _, e := range w.events(op) {
				if e.Kind == gybeapi.KindPhase {
					var p gybeapi.Phase
					decode(t, e.Body, &p)
					seen = seen || p.State == "WAITING" && p.Error != nil && p.Error.Detail != ""
				}
			}
			require.True(t, seen, "the feed tells what the phase waits for, and why")
			w.cloud.Faults().Clear()
			w.completed(w.terminate(id))
			w.gone()
		})
	}
}

// Answers that are lost or credentials that expire in the middle leave exactly one stack.
func TestLostAnswersAndExpiredTokensMakeNothingTwice(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]simcloud.Fault{
		"the answer to the creation is lost": {
			Kind: fault.DropReply, Service: "heat", Method: "POST", Path: "/stacks$", Count: 1,
		},
		"the token expires at the creation": {
			Kind: fault.ExpireTokens, Service: "heat", Method: "POST", Path: "/stacks$", Count: 1,
		},
		"the token expires later": {Kind: fault.ExpireTokens, Service: "neutron", Count: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
			id := w.create(w.onboard(plainSource))
			rule := w.cloud.AddFault(rule)
			w.completed(w.instantiate(id, w.plain("default")))
			r, ok := w.cloud.Faults().Get(rule)
			require.True(t, ok)
			require.Equal(t, 1, r.Fired, "the test has to hit something")
			require.Len(t, stacksOf(w.cloud.State(), id), 1)
			w.completed(w.terminate(id))
			w.gone()
		})
	}
}

// The VIM refuses to delete a resource: this is reported, and a retry continues. A termination is not rolled back.
func TestTerminationThatFailsCanBeRetried(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	id := w.create(w.onboard(plainSource))
	w.completed(w.instantiate(id, w.plain("default")))
	rule := w.cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceType: "OS::Neutron::Port",
		Action: "delete", Reason: "port is in use by a router",
	})
	op := w.terminate(id)
	o := w.failed(op)
	require.Contains(t, o.Error.Detail, "port is in use by a router")
	require.Nil(t, o.Links.Rollback)
	status(t, w.api.Rollback(t.Context(), op), 409)
	require.True(t, w.cloud.Faults().Remove(rule))
	require.NoError(t, w.api.Retry(t.Context(), op))
	w.completed(op)
	w.gone()
}

// passDeadline lets the deadline of an operation pass as soon as it waits for something, until it is at rest.
func (w *world) passDeadline(op, waiting string) {
	w.t.Helper()
	require.Eventually(
		w.t, func() bool { return strings.Contains(w.progress(op).Waiting, waiting) }, patience, interval,
	)
	require.Eventually(w.t, func() bool { // the commit of a tick may write the old deadline once more
		_, err := w.pool.Exec(
			w.t.Context(), "UPDATE vnf_lcm_op_occ SET deadline = now() WHERE id = $1 AND state = 'PROCESSING'", op,
		)
		require.NoError(w.t, err)
		o, err := w.api.Operation(w.t.Context(), op)
		require.NoError(w.t, err)
		return o.OperationState != sol.LcmOperationStateProcessing
	}, patience, interval)
}

// An operation that hangs in the VIM ends by its deadline, and its instance is not lost. The deadline passes when the
// operation waits for the VIM: a short one could pass before that on a busy machine, and then nothing would have been
// created.
func TestDeadlineEndsWhatHangs(t *testing.T) {
	t.Parallel()
	w := start(t, simcloud.StartTest(t, simcloud.Options{}), nil)
	id := w.create(w.onboard(plainSource))
	w.cloud.AddFault(simcloud.Fault{Kind: fault.HangResource, ResourceType: "OS::Nova::Server", Action: "create"})
	op := w.instantiate(id, w.plain("default"))
	w.passDeadline(op, "CREATE_IN_PROGRESS")
	o := w.failed(op)
	require.Equal(t, 504, o.Error.Status)
	require.Contains(t, o.Error.Detail, "CREATE_IN_PROGRESS", "it says what it was waiting for")
	w.cloud.Faults().Clear()
	require.NoError(t, w.api.Rollback(t.Context(), op))
	require.Equal(t, sol.LcmOperationStateRolledBack, w.resting(op).OperationState)
	w.gone()
}
