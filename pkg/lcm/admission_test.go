package lcm_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// tasks is a good body of every task on the running cluster.
var tasks = map[sol.LcmOperationType]string{
	sol.LcmOperationTerminate:     `{"terminationType":"FORCEFUL"}`,
	sol.LcmOperationScale:         `{"type":"SCALE_OUT","aspectId":"workers"}`,
	sol.LcmOperationScaleToLevel:  `{"instantiationLevelId":"big"}`,
	sol.LcmOperationChangeFlavour: `{"newFlavourId":"complex"}`,
	sol.LcmOperationHeal:          `{}`,
	sol.LcmOperationOperate:       `{"changeStateTo":"STOPPED"}`,
	sol.LcmOperationChangeExtConn: `{"extVirtualLinks":[{"id":"l","resourceId":"net","extCps":[{"cpdId":"workerNode_CP1"}]}]}`,
	sol.LcmOperationChangeVnfpkg:  `{"vnfdId":"` + apitest.NextID + `"}`,
	sol.LcmOperationModifyInfo:    `{"vnfInstanceName":"other"}`,
}

func TestWhatCannotWorkIsRefusedBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	w := running(t)
	vnfc := w.vnfcs("workerNode")[0]
	w.Packages.Disable("disabled")
	for _, tt := range []struct {
		task   sol.LcmOperationType
		body   string
		code   lcm.Code
		at     []string
		detail string
	}{
		{"INSTANTIATE", `{"flavourId":"simple"}`, lcm.CodeConflict, nil, "already INSTANTIATED"},

		{
			"SCALE", `{"type":"SCALE_OUT","aspectId":"x"}`, lcm.CodeUnprocessable,
			[]string{"/aspectId"},
			`no scaling aspect "x"; it has workers`,
		},
		{
			"SCALE", `{"type":"UP","aspectId":"workers","numberOfSteps":-1}`, lcm.CodeUnprocessable,
			[]string{"/numberOfSteps", "/type"},
			"",
		},
		{
			"SCALE", `{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":3}`, lcm.CodeUnprocessable,
			[]string{"/numberOfSteps"},
			"is at scale level 1 and its highest is 3: cannot add 3",
		},
		{
			"SCALE", `{"type":"SCALE_OUT","aspectId":"workers","numberOfSteps":9223372036854775807}`,
			lcm.CodeUnprocessable,
			[]string{"/numberOfSteps"},
			"highest is 3",
		},
		{
			"SCALE", `{"type":"SCALE_IN","aspectId":"workers","numberOfSteps":2}`, lcm.CodeUnprocessable,
			[]string{"/numberOfSteps"},
			"is at scale level 1 and its lowest is 0: cannot remove 2",
		},
		{
			"SCALE", `{"type":"SCALE_OUT","aspectId":"workers","additionalParams":{"refuse":1,"driver":"bad"}}`,
			lcm.CodeUnprocessable,
			[]string{"/additionalParams/driver", "/additionalParams/refuse"},
			"is not wanted",
		},

		{"SCALE_TO_LEVEL", `{}`, lcm.CodeUnprocessable, []string{""}, "either instantiationLevelId or scaleInfo"},
		{
			"SCALE_TO_LEVEL", `{"scaleInfo":[]}`, lcm.CodeUnprocessable,
			[]string{""},
			"either instantiationLevelId or scaleInfo",
		},
		{
			"SCALE_TO_LEVEL", `{"instantiationLevelId":"big","scaleInfo":[{"aspectId":"workers","scaleLevel":1}]}`,
			lcm.CodeUnprocessable,
			[]string{"/scaleInfo"},
			"one of them",
		},
		{
			"SCALE_TO_LEVEL", `{"instantiationLevelId":"x"}`, lcm.CodeUnprocessable,
			[]string{"/instantiationLevelId"},
			"it has default, small, big",
		},
		{
			"SCALE_TO_LEVEL", `{"scaleInfo":[{"aspectId":"workers","scaleLevel":4},{"aspectId":"x","scaleLevel":1},{"aspectId":"workers","scaleLevel":-1}]}`, lcm.CodeUnprocessable,
			[]string{"/scaleInfo/0/scaleLevel", "/scaleInfo/1/aspectId", "/scaleInfo/2/scaleLevel"},
			"has the scale levels 0 to 3, and is at 1",
		},
		{
			"SCALE_TO_LEVEL",
			`{"scaleInfo":[{"aspectId":"workers","scaleLevel":2},{"aspectId":"workers","scaleLevel":3}]}`,
			lcm.CodeUnprocessable,
			[]string{"/scaleInfo/1/aspectId"},
			"twice",
		},

		{
			"CHANGE_FLAVOUR", `{"newFlavourId":"x"}`, lcm.CodeUnprocessable,
			[]string{"/newFlavourId"},
			"it has simple, complex",
		},
		{"CHANGE_FLAVOUR", `{"newFlavourId":"simple"}`, lcm.CodeUnprocessable, []string{"/newFlavourId"}, "already"},
		{
			"CHANGE_FLAVOUR", `{"newFlavourId":"complex","instantiationLevelId":"big","extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[{"cpdId":"x"}]}],` +
				`"extManagedVirtualLinks":[{"id":"m","vnfVirtualLinkDescId":"y","resourceId":"n"}]}`,
			lcm.CodeUnprocessable,
			[]string{
				"/extManagedVirtualLinks/0/vnfVirtualLinkDescId", "/extVirtualLinks/0/extCps/0/cpdId",
				"/instantiationLevelId",
			},
			"",
		},

		{
			"HEAL", `{"vnfcInstanceId":["` + vnfc + `","nobody"],"additionalParams":{"all":"yes"}}`,
			lcm.CodeUnprocessable,
			[]string{"/additionalParams/all", "/vnfcInstanceId/1"},
			"nobody",
		},
		{"OPERATE", `{"changeStateTo":"STARTED"}`, lcm.CodeConflict, nil, "already STARTED"},
		{"OPERATE", `{"changeStateTo":"PAUSED"}`, lcm.CodeUnprocessable, []string{"/changeStateTo"}, ""},
		{
			"OPERATE", `{"changeStateTo":"STOPPED","stopType":"FORCEFUL","gracefulStopTimeout":5}`,
			lcm.CodeUnprocessable,
			[]string{"/gracefulStopTimeout"},
			"",
		},

		{"CHANGE_EXT_CONN", `{"extVirtualLinks":[]}`, lcm.CodeUnprocessable, []string{"/extVirtualLinks"}, "empty"},
		{
			"CHANGE_EXT_CONN", `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[{"cpdId":"x"}]}]}`,
			lcm.CodeUnprocessable,
			[]string{"/extVirtualLinks/0/extCps/0/cpdId"},
			"",
		},
		{
			"CHANGE_EXT_CONN", `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[]}],"vimConnectionInfo":{"vim1":{"vimType":"x"}}}`, lcm.CodeUnprocessable,
			[]string{"/vimConnectionInfo/vim1/vimType"},
			"not supported",
		},

		{"CHANGE_VNFPKG", `{"vnfdId":"unknown"}`, lcm.CodeUnprocessable, []string{"/vnfdId"}, "no onboarded package"},
		{
			"CHANGE_VNFPKG", `{"vnfdId":"` + apitest.ClusterID + `"}`, lcm.CodeUnprocessable,
			[]string{"/vnfdId"},
			"already",
		},
		{
			"CHANGE_VNFPKG",
			`{"vnfdId":"` + apitest.NextID +
				`","additionalParams":{"upgrade_type":"BlueGreen","vdu_params":[{"vdu_id":"x"},{"a":1}]}}`,
			lcm.CodeUnprocessable,
			[]string{
				"/additionalParams/upgrade_type", "/additionalParams/vdu_params/0/vdu_id",
				"/additionalParams/vdu_params/1/vdu_id",
			},
			`is not "RollingUpdate"`,
		},
		{
			"CHANGE_VNFPKG", `{"vnfdId":"` + apitest.NextID + `","additionalParams":{"vdu_params":{}}}`,
			lcm.CodeUnprocessable,
			[]string{"/additionalParams/vdu_params"},
			"",
		},

		{"MODIFY_INFO", `{"vnfdId":"unknown"}`, lcm.CodeUnprocessable, []string{"/vnfdId"}, ""},
		{
			"MODIFY_INFO", `{"vnfdId":"` + apitest.VnfdID + `","vnfPkgId":"` + apitest.VnfPkgID + `x"}`,
			lcm.CodeUnprocessable,
			[]string{"/vnfPkgId"},
			"",
		},
		{
			"MODIFY_INFO",
			`{"vnfcInfoModifications":[{"id":"` + vnfc +
				`","vnfcConfigurableProperties":{}},{"id":"x","vnfcConfigurableProperties":{}}]}`,
			lcm.CodeUnprocessable,
			[]string{"/vnfcInfoModifications/1/id"},
			vnfc,
		},
		{
			"MODIFY_INFO", `{"vimConnectionInfo":{"vim1":null}}`, lcm.CodeUnprocessable,
			[]string{"/vimConnectionInfo"},
			"without a connection",
		},
		{
			"MODIFY_INFO", `{"metadata":{"VDU_VNFc_mapping":{"a":["x","y","x"],"b":"c","d":[1,"y"]}}}`,
			lcm.CodeUnprocessable,
			[]string{
				"/metadata/VDU_VNFc_mapping/a/2", "/metadata/VDU_VNFc_mapping/b", "/metadata/VDU_VNFc_mapping/d/0",
				"/metadata/VDU_VNFc_mapping/d/1",
			},
			"",
		},
		{
			"MODIFY_INFO", `{"metadata":{"VDU_VNFc_mapping":[]}}`, lcm.CodeUnprocessable,
			[]string{"/metadata/VDU_VNFc_mapping"},
			"",
		},
	} {
		before := w.instance()
		_, err := w.do(tt.task, tt.body)
		require.Error(t, err, "%s %s", tt.task, tt.body)
		e := lcm.AsError(err)
		require.Equal(t, tt.code, e.Code, "%s %s: %v", tt.task, tt.body, err)
		require.Equal(t, tt.at, pointers(err), "%s %s", tt.task, tt.body)
		require.Contains(t, e.Detail, tt.detail)
		require.Equal(t, before, w.instance(), "nothing changes")

		_, planned := w.preview(tt.task, tt.body)
		require.Equal(t, err, planned, "the plan is refused as the task is")
	}
	ops, err := w.Store.Operations(t.Context(), lcm.Query{InstanceID: w.id})
	require.NoError(t, err)
	require.Len(t, ops, 1, "the instantiation")
}

func TestNothingButInstantiationWorksOnWhatIsNotInstantiated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for task, body := range tasks {
		if task == sol.LcmOperationModifyInfo {
			body = `{"vimConnectionInfo":{"vim1":{"vimType":"TEST"}}}`
		}
		_, err := w.do(task, body)
		require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%s: %v", task, err)
		require.Contains(t, lcm.AsError(err).Detail, "NOT_INSTANTIATED")
	}
	w.done(sol.LcmOperationModifyInfo, tasks[sol.LcmOperationModifyInfo])
	require.Equal(t, "other", w.instance().Name)
}

func TestConflictNamesTheActiveOperation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	op, err := w.do(sol.LcmOperationInstantiate, string(encode(t, apitest.Params())))
	require.NoError(t, err)
	for task, body := range tasks {
		_, err := w.do(task, body)
		require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
		require.Contains(t, lcm.AsError(err).Detail, op.ID, "%s", task)
		_, err = w.preview(task, body)
		require.Contains(t, lcm.AsError(err).Detail, op.ID, "%s", task)
	}
	_, _, err = w.Service.RemoveLeftovers(t.Context(), w.id)
	require.Contains(t, lcm.AsError(err).Detail, op.ID)
}

func TestOfManyScaleOutsAtOnceExactlyOneIsAccepted(t *testing.T) {
	t.Parallel()
	w := running(t)
	const clients = 25
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() { _, errs[n] = w.do(sol.LcmOperationScale, tasks[sol.LcmOperationScale]) })
	}
	wg.Wait()
	accepted := 0
	for _, err := range errs {
		if err == nil {
			accepted++
			continue
		}
		require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code, "%v", err)
	}
	require.Equal(t, 1, accepted)
}

// TestTheScopeIsDecidedOnTheInstanceAsItIs: requests that were checked before another operation ended must not be
// admitted on what they saw.
func TestTheScopeIsDecidedOnTheInstanceAsItIs(t *testing.T) {
	t.Parallel()
	w := running(t)
	var accepted, refused atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // until there is no level left
			for t.Context().Err() == nil {
				op, err := w.do(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
				if err == nil {
					accepted.Add(1)
					w.Work(t, op.ID)
					continue
				}
				if code := lcm.AsError(err).Code; code != lcm.CodeConflict { // another operation is under way
					assert.Equal(t, lcm.CodeUnprocessable, code, "%v", err)
					refused.Add(1)
					return
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 2, accepted.Load(), "from level 1 to the highest, 3")
	require.EqualValues(t, 4, refused.Load())
	require.Equal(t, 3, w.level("workers"))
	require.Len(t, w.vnfcs("workerNode"), 4)
}

func TestAPlanChangesNothingAndSaysWhatWouldHappen(t *testing.T) {
	t.Parallel()
	w := running(t)
	before := w.instance()
	for task, body := range tasks {
		p, err := w.preview(task, body)
		require.NoError(t, err, "%s", task)
		require.Equal(t, task, p.Operation)
		require.True(t, p.Possible)
		adds := map[sol.LcmOperationType]int{"SCALE": 1, "SCALE_TO_LEVEL": 2, "CHANGE_FLAVOUR": 2}
		require.Len(t, p.Add, adds[task], "%s", task)
	}
	require.Equal(t, before, w.instance())
	_, err := w.preview("SCALE", `{"type":3}`)
	require.Equal(t, lcm.CodeInvalid, lcm.AsError(err).Code)
	_, err = w.preview("UNKNOWN", `{}`)
	require.Equal(t, []string{"/operation"}, pointers(err))
}

func TestSecretsOfTheRequestStaySealed(t *testing.T) {
	t.Parallel()
	w := running(t)
	op, err := w.do(sol.LcmOperationChangeExtConn, strings.Replace(tasks[sol.LcmOperationChangeExtConn], `{`,
		fmt.Sprintf(
			`{"vimConnectionInfo":{"vim1":{"vimType":"TEST","accessInfo":{"password":%q}}},`, apitest.Password+"-new",
		),
		1))
	require.NoError(t, err)
	require.Nil(t, op.Before)
	require.Equal(t, sol.LcmOperationStateCompleted, w.Work(t, op.ID))
	conn := w.instance().VimConnections["vim1"]
	require.Equal(t, apitest.Password+"-new", conn.AccessInfo["password"], "put over what was there")
	require.Equal(t, "nfv_user", conn.AccessInfo["username"])
	require.Contains(t, w.operation(op.ID).ChangedInfo.VimConnectionInfo, "vim1")
	var body string
	require.NoError(t, w.Pool.QueryRow(t.Context(), "SELECT string_agg(body::text, ' ') FROM outbox WHERE op_id = $1",
		op.ID).Scan(&body))
	require.Contains(t, body, "changedInfo")
	require.NotContains(t, body, apitest.Password)
}

// A VNFD without hooks at a change of the flavour does not keep from asking those who have built something on the
// machines that would go: a cluster of three masters became one master without a warning.
func TestAnotherFlavourIsAskedOfTheDriversThatBuiltTheVNF(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model, _, err := w.Packages.Model(t.Context(), lcm.Principal{}, apitest.ClusterID)
	require.NoError(t, err)
	for _, f := range model.Flavours {
		maps.DeleteFunc(
			f.LCM, func(hook string, _ vnfd.Implementation) bool { return strings.HasPrefix(hook, "change_flavour") },
		)
	}
	w.instantiate()
	_, err = w.do(sol.LcmOperationChangeFlavour, `{"newFlavourId":"complex","additionalParams":{"driver":"bad"}}`)
	require.Equal(t, []string{"/additionalParams/driver"}, pointers(err))
	_, err = w.do(
		sol.LcmOperationScale, `{"type":"SCALE_OUT","aspectId":"workers","additionalParams":{"driver":"good"}}`,
	)
	require.NoError(t, err)
}

// A second request to terminate is not answered with the advice to instantiate first.
func TestTerminateOfNothingSaysThatThereIsNothingToTerminate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.do(sol.LcmOperationTerminate, tasks[sol.LcmOperationTerminate])
	require.Equal(t, lcm.CodeConflict, lcm.AsError(err).Code)
	require.Contains(t, lcm.AsError(err).Hint, "nothing to terminate")
	_, err = w.do(sol.LcmOperationHeal, `{}`)
	require.Equal(t, "instantiate it first", lcm.AsError(err).Hint)

	w.VIM.Fail(boom)
	op := w.failed(sol.LcmOperationInstantiate, string(encode(t, apitest.Params())))
	_, err = w.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)
	_, err = w.do(sol.LcmOperationTerminate, tasks[sol.LcmOperationTerminate])
	require.Contains(t, lcm.AsError(err).Hint, "look at its leftovers")
}

// Credentials are those of the request, so a retry has no others: who only retries never gets in.
func TestRefusedCredentialsSayThatARetryHasNoOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refused := &lcm.Error{Code: lcm.CodeUpstream, Class: lcm.Auth, Title: "Login refused", Hint: "check the password"}
	w.VIM.Fail(refused)
	op := w.failed(sol.LcmOperationInstantiate, string(encode(t, apitest.Params())))
	require.Equal(
		t,
		"check the password; a retry of the operation logs in with the same ones: if the request has them wrong, "+
			"roll it back or mark it failed, and send another",
		op.Error.Hint)
	_, err := w.Service.Steer(t.Context(), op.ID, lcm.EventFail)
	require.NoError(t, err)

	w.VIM.Fail(nil)
	w.instantiate()
	w.VIM.Fail(refused)
	op = w.failed(sol.LcmOperationScale, tasks[sol.LcmOperationScale])
	const others = "check the password; retry and rollback log in with the same ones: if the VNF has them wrong, " +
		"mark the operation failed, then modify"
	require.Contains(t, op.Error.Hint, others)
	op = w.steered(op, lcm.EventRollback, sol.LcmOperationStateFailedTemp)
	require.Contains(t, op.Error.Hint, others)
}
