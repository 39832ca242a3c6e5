package k8scluster_test

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/k8scluster"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// begin admits the next operation of the instance.
func (m *sprayed) begin(typ sol.LcmOperationType, body map[string]any, scope *lcm.Scope) *mgmttest.Task {
	m.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(m.t, err)
	i := m.instance
	if i == nil {
		i = &lcm.Instance{ID: m.id, VnfdID: sprayVnfd, VnfPkgID: "pkg"}
	}
	if typ == sol.LcmOperationInstantiate {
		i.VimConnections = vim1()
		i.Params, err = m.params.Raw()
		require.NoError(m.t, err)
	}
	v := mgmttest.VNF{
		Name: k8scluster.KubesprayName, Driver: m.driver, Package: sprayFS, Infra: sprayCloud{m: m},
		VNFD: &vnfd.VNFD{ID: sprayVnfd, Flavours: []vnfd.Flavour{sprayFlavour(m.masters)}},
		// Every wait takes place within a tick.
		Tuning: execution.Tuning{InlineWait: time.Hour, RetryBase: 50 * time.Millisecond},
	}
	return v.Begin(m.t, typ, raw, i, func(op *lcm.Operation) { op.Scope = scope })
}

// complete works on an operation that succeeds, and remembers the outcome.
func (m *sprayed) complete(k *mgmttest.Task) *mgmttest.Task {
	m.t.Helper()
	k.Complete(m.t)
	m.remember(k)
	return k
}

// remember takes the outcome of an operation over.
func (m *sprayed) remember(k *mgmttest.Task) {
	m.instance = k.Instance(m.t)
	for _, id := range k.Removed() { // an operation may register a VIM after it has removed one
		delete(m.vims, id)
	}
	maps.Copy(m.vims, k.Vims())
}

// instantiation makes the cluster.
func (m *sprayed) instantiation() *mgmttest.Task {
	m.t.Helper()
	return m.begin(
		sol.LcmOperationInstantiate, map[string]any{"flavourId": "simple", "additionalParams": m.params}, nil,
	)
}

// scale adds workers, or removes these.
func (m *sprayed) scale(add int, remove []string, params map[string]any) *mgmttest.Task {
	m.t.Helper()
	return m.resize(sol.LcmOperationScale, add, remove, params)
}

// resize is SCALE or SCALE_TO_LEVEL.
func (m *sprayed) resize(
	typ sol.LcmOperationType, add int, remove []string, params map[string]any,
) *mgmttest.Task {
	m.t.Helper()
	scope := &lcm.Scope{Flavour: "simple", Remove: remove}
	if add > 0 {
		scope.Add = map[string]int{"workerNode": add}
	}
	return m.begin(typ, body(params), scope)
}

// heal replaces VNFCs.
func (m *sprayed) heal(params map[string]any, vnfcs ...string) *mgmttest.Task {
	m.t.Helper()
	return m.begin(sol.LcmOperationHeal, body(params), &lcm.Scope{Flavour: "simple", VNFCs: vnfcs})
}

// healAll replaces all VNFCs.
func (m *sprayed) healAll(params map[string]any) *mgmttest.Task {
	m.t.Helper()
	var all []string
	for _, v := range m.there.Instantiated.VnfcInfo {
		all = append(all, v.ID)
	}
	return m.begin(sol.LcmOperationHeal, body(params), &lcm.Scope{Flavour: "simple", VNFCs: all, Whole: true})
}

// termination removes the VNF.
func (m *sprayed) termination(kind string) *mgmttest.Task {
	m.t.Helper()
	return m.begin(sol.LcmOperationTerminate, map[string]any{"terminationType": kind}, nil)
}

// body is a request with installation parameters.
func body(params map[string]any) map[string]any {
	if params == nil {
		return map[string]any{}
	}
	return map[string]any{"additionalParams": map[string]any{k8scluster.ParamKey: params}}
}
