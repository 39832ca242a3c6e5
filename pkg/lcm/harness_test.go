package lcm_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// world is the domain on a real database, with an instance in it.
type world struct {
	*apitest.Domain
	t  *testing.T
	id string
}

// newWorld makes an instance of the cluster package, NOT_INSTANTIATED.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Domain: apitest.NewDomain(t), t: t}
	w.id = w.create()
	return w
}

func (w *world) create() string {
	w.t.Helper()
	i, err := w.Service.CreateInstance(w.t.Context(), sol.CreateVnfRequest{
		VnfdID: apitest.ClusterID, VnfInstanceName: "n", Metadata: sol.KeyValuePairs{"k": "v"},
	})
	require.NoError(w.t, err)
	return i.ID
}

// running makes an instance of the flavour simple at its default level: one master, two workers.
func running(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.instantiate()
	w.Hooks.Take()
	return w
}

func (w *world) instantiate() {
	w.t.Helper()
	op, err := w.do(sol.LcmOperationInstantiate, string(encode(w.t, apitest.Params())))
	require.NoError(w.t, err)
	require.Equal(w.t, sol.LcmOperationStateCompleted, w.Work(w.t, op.ID))
}

func (w *world) instance() *lcm.Instance {
	w.t.Helper()
	i, err := w.Store.Instance(w.t.Context(), w.id)
	require.NoError(w.t, err)
	return i
}

func (w *world) operation(id string) *lcm.Operation {
	w.t.Helper()
	op, err := w.Store.Operation(w.t.Context(), id)
	require.NoError(w.t, err)
	return op
}

// do sends a task with this body.
func (w *world) do(t sol.LcmOperationType, body string) (*lcm.Operation, error) {
	return send(w.t.Context(), w.Service, w.id, t, []byte(body))
}

// done sends a task that is accepted and succeeds.
func (w *world) done(t sol.LcmOperationType, body string) *lcm.Operation {
	w.t.Helper()
	op, err := w.do(t, body)
	require.NoError(w.t, err)
	require.Equal(w.t, sol.LcmOperationStateCompleted, w.Work(w.t, op.ID), "%+v", w.operation(op.ID).Error)
	return w.operation(op.ID)
}

// failed sends a task that is accepted and fails for good.
func (w *world) failed(t sol.LcmOperationType, body string) *lcm.Operation {
	w.t.Helper()
	op, err := w.do(t, body)
	require.NoError(w.t, err)
	require.Equal(w.t, sol.LcmOperationStateFailedTemp, w.Work(w.t, op.ID))
	return w.operation(op.ID)
}

// steered applies a user's event and works until the operation rests.
func (w *world) steered(op *lcm.Operation, ev lcm.Event, want sol.LcmOperationStateType) *lcm.Operation {
	w.t.Helper()
	_, err := w.Service.Steer(w.t.Context(), op.ID, ev)
	require.NoError(w.t, err)
	require.Equal(w.t, want, w.Work(w.t, op.ID))
	return w.operation(op.ID)
}

// vnfcs lists the vnfcInfo ids of a VDU, all of them for "".
func (w *world) vnfcs(vdu string) []string {
	w.t.Helper()
	var out []string
	for _, c := range w.instance().Instantiated.VnfcInfo {
		if vdu == "" || c.VduID == vdu {
			out = append(out, c.ID)
		}
	}
	return out
}

// level is the scale level of an aspect.
func (w *world) level(aspect string) int {
	w.t.Helper()
	for _, s := range w.instance().Instantiated.ScaleStatus {
		if s.AspectID == aspect {
			return s.ScaleLevel
		}
	}
	return -1
}

func send(
	ctx context.Context, s *admission.Service, id string, t sol.LcmOperationType, raw []byte,
) (*lcm.Operation, error) {
	task, err := lcm.ParseTask(t, raw)
	if err != nil {
		return nil, err
	}
	return s.Submit(ctx, id, task)
}

// preview asks what a task with this body would do.
func (w *world) preview(t sol.LcmOperationType, body string) (*lcm.Preview, error) {
	task, err := lcm.ParseTask(t, []byte(body))
	if err != nil {
		return nil, err
	}
	return w.Service.Preview(w.t.Context(), w.id, task)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

func pointers(err error) []string {
	var out []string
	for _, p := range lcm.AsError(err).Params {
		out = append(out, p.Pointer)
	}
	return out
}
