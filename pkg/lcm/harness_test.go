package lcm_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
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
	i, err := w.Service.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: apitest.ClusterID, VnfInstanceName: "n", Metadata: sol.KeyValuePairs{"k": "v"}})
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
	op, err := w.Service.Instantiate(w.t.Context(), w.id, apitest.Params(), encode(w.t, apitest.Params()))
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

func send(ctx context.Context, s *lcm.Service, id string, t sol.LcmOperationType, raw []byte) (*lcm.Operation, error) {
	switch t {
	case sol.LcmOperationInstantiate:
		return with(raw, func(r sol.InstantiateVnfRequest) (*lcm.Operation, error) { return s.Instantiate(ctx, id, r, raw) })
	case sol.LcmOperationTerminate:
		return with(raw, func(r sol.TerminateVnfRequest) (*lcm.Operation, error) { return s.Terminate(ctx, id, r, raw) })
	case sol.LcmOperationScale:
		return with(raw, func(r sol.ScaleVnfRequest) (*lcm.Operation, error) { return s.Scale(ctx, id, r, raw) })
	case sol.LcmOperationScaleToLevel:
		return with(raw, func(r sol.ScaleVnfToLevelRequest) (*lcm.Operation, error) { return s.ScaleToLevel(ctx, id, r, raw) })
	case sol.LcmOperationChangeFlavour:
		return with(raw, func(r sol.ChangeVnfFlavourRequest) (*lcm.Operation, error) { return s.ChangeFlavour(ctx, id, r, raw) })
	case sol.LcmOperationHeal:
		return with(raw, func(r sol.HealVnfRequest) (*lcm.Operation, error) { return s.Heal(ctx, id, r, raw) })
	case sol.LcmOperationOperate:
		return with(raw, func(r sol.OperateVnfRequest) (*lcm.Operation, error) { return s.Operate(ctx, id, r, raw) })
	case sol.LcmOperationChangeExtConn:
		return with(raw, func(r sol.ChangeExtVnfConnectivityRequest) (*lcm.Operation, error) {
			return s.ChangeExtConn(ctx, id, r, raw)
		})
	case sol.LcmOperationChangeVnfpkg:
		return with(raw, func(r sol.ChangeCurrentVnfPkgRequest) (*lcm.Operation, error) {
			return s.ChangePackage(ctx, id, r, raw)
		})
	case sol.LcmOperationModifyInfo:
		return with(raw, func(r sol.VnfInfoModificationRequest) (*lcm.Operation, error) { return s.Modify(ctx, id, r, raw, nil) })
	default:
		panic("no task for " + t)
	}
}

func with[T any](raw []byte, f func(T) (*lcm.Operation, error)) (*lcm.Operation, error) {
	var req T
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, err
	}
	return f(req)
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
