package lcm_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// reboot is an operation that exists in tests only, to prove docs/how-to/add-an-operation.md: this file is all that it
// needs.
const reboot sol.LcmOperationType = "REBOOT"

type rebootRequest struct {
	Force bool `json:"force"`
}

func init() {
	lcm.RegisterOperation(lcm.OperationKind{
		Type: reboot, Path: "reboot", Hook: "reboot", Requires: sol.InstantiationStateInstantiated, VIM: true,
		NeedsGrant: true, CanRollBack: true,
		Body: rebootRequest{},
		Decode: func(raw json.RawMessage) (lcm.Task, error) {
			var req rebootRequest
			if err := json.Unmarshal(raw, &req); err != nil {
				return lcm.Task{}, lcm.Errorf(lcm.CodeInvalid, "the request is malformed: %w", err)
			}
			return lcm.Task{Decide: func(a *lcm.Admission) error {
				if !req.Force {
					a.Reject("/force", "must be true")
				}
				a.Scope = &lcm.Scope{Flavour: a.Present.Flavour.ID}
				return nil
			}}, nil
		},
		Phases: func(infra lcm.Infra) lcm.Phases {
			return lcm.Phases{
				Processing: []lcm.Phase{{Name: "infra", Run: infra.Change}},
				Rollback:   []lcm.Phase{{Name: "rollback_infra", Run: infra.Restore}},
			}
		},
	})
}

// TestAnOperationIsAddedInOnePlace: the row above gives an operation its admission, preview, phases, hooks, rollback
// and client request.
func TestAnOperationIsAddedInOnePlace(t *testing.T) {
	t.Parallel()
	w := running(t)
	_, err := w.do(reboot, `{}`)
	require.Equal(t, []string{"/force"}, pointers(err))
	p, err := w.preview(reboot, `{"force":true}`)
	require.NoError(t, err)
	require.Equal(t, reboot, p.Operation)

	op := w.done(reboot, `{"force":true}`)
	require.NotNil(t, op.Grant)
	require.Contains(t, w.VIM.Calls(), "change REBOOT with 1.0")
	require.Equal(t, []string{"reboot_start 1.0 3", "reboot_end 1.0 3"}, w.Hooks.Take())

	w.VIM.Fail(boom)
	op = w.failed(reboot, `{"force":true}`)
	require.Contains(t, lcm.Allowed(op), lcm.EventRollback)
	w.VIM.Fail(nil)
	w.steered(op, lcm.EventRollback, sol.LcmOperationStateRolledBack)
	require.Contains(t, w.VIM.Calls(), "restore REBOOT with 1.0")

	_, err = (&world{Domain: w.Domain, t: t, id: w.create()}).do(reboot, `{"force":true}`)
	require.ErrorContains(t, err, "NOT_INSTANTIATED")
}

// TestTheClientStartsAnAddedOperation: the path of the row is all that the client needs.
func TestTheClientStartsAnAddedOperation(t *testing.T) {
	t.Parallel()
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.Path
		w.Header().Set("Location", "/vnflcm/v2/vnf_lcm_op_occs/op-1")
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(s.URL, s.Client())
	require.NoError(t, err)
	id, err := c.Start(context.WithoutCancel(t.Context()), "i-1", reboot, rebootRequest{Force: true})
	require.NoError(t, err)
	require.Equal(t, "op-1", id)
	require.Equal(t, "POST /vnflcm/v2/vnf_instances/i-1/reboot", asked)
}
