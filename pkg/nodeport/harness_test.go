package nodeport_test

import (
	"encoding/json"
	"os"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
)

// model is a VNFD that names the driver as packages for other VNFMs do.
func model() *vnfd.VNFD {
	impl := vnfd.Implementation{Name: nodeport.Name}
	return &vnfd.VNFD{ID: "babb0ce7-ebca-4fa7-95ed-4840d70a1177", Flavours: []vnfd.Flavour{{
		ID: "simple", VDUs: []vnfd.VDU{{Name: "VDU1"}},
		LCM: map[string]vnfd.Implementation{
			"instantiate_end": impl, "heal_start": impl, "heal_end": impl, "terminate_end": impl,
		},
	}}}
}

// vnf has the sample package; each node has a new driver.
func (w *world) vnf(o nodeport.Options) mgmttest.VNF {
	return mgmttest.VNF{
		Name: nodeport.Name, VNFD: model(), Package: os.DirFS("../../vnf-packages/cnf-nodeport"),
		Driver: func() lcm.MgmtDriver { return w.driver(o) },
		Tuning: execution.Tuning{RetryBase: time.Millisecond, Retries: 3},
	}
}

// operate runs an operation to its end.
func (w *world) operate(typ sol.LcmOperationType, i *lcm.Instance) *mgmttest.Task {
	w.t.Helper()
	s := w.begin(typ, i)
	s.Complete(w.t)
	return s
}

// begin admits an operation with the parameters of the sample package.
func (w *world) begin(typ sol.LcmOperationType, i *lcm.Instance) *mgmttest.Task {
	w.t.Helper()
	return w.beginWith(nodeport.Options{}, typ, i)
}

// beginWith is begin with other drivers.
func (w *world) beginWith(o nodeport.Options, typ sol.LcmOperationType, i *lcm.Instance) *mgmttest.Task {
	w.t.Helper()
	var params map[string]any
	if typ == sol.LcmOperationInstantiate {
		params = w.params()
		fresh := *i
		fresh.State, fresh.Instantiated, i = sol.InstantiationStateNotInstantiated, nil, &fresh
	}
	return w.request(o, typ, params, i, nil)
}

// request admits an operation with additionalParams.
func (w *world) request(
	o nodeport.Options, typ sol.LcmOperationType, params map[string]any, i *lcm.Instance, change func(*lcm.Operation),
) *mgmttest.Task {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"flavourId": "simple", "additionalParams": params})
	require.NoError(w.t, err)
	return w.vnf(o).Begin(w.t, typ, body, i, change)
}
