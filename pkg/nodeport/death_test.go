package nodeport_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/nodeport"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// changes are the operations that change the Services of a CNF which exists. The hooks of the others are the same.
func changes() []sol.LcmOperationType {
	list := []sol.LcmOperationType{sol.LcmOperationScale, sol.LcmOperationChangeVnfpkg}
	if os.Getenv("GYBE_FULL") != "" {
		list = append(list, sol.LcmOperationScaleToLevel, sol.LcmOperationHeal, sol.LcmOperationChangeFlavour)
	}
	return list
}

// first makes the Services of a CNF that is instantiated, and second those after an operation: a port has changed, a
// Service has come and another one has gone.
func (w *world) first(i *lcm.Instance) {
	w.t.Helper()
	w.remove("new")
	w.expose(i, "default", "web", 30422)
	w.expose(i, "default", "old", 30430)
}

func (w *world) second(i *lcm.Instance) {
	w.t.Helper()
	w.remove("old")
	w.expose(i, "default", "web", 30423)
	w.expose(i, "default", "new", 30431)
}

// remove deletes Services that may be there.
func (w *world) remove(names ...string) {
	w.t.Helper()
	for _, name := range names {
		if _, err := w.cluster.Store().Get(kubeapi.Kind("Service"), "default", name); err == nil {
			w.hide("default", name)
		}
	}
}

// has requires that the load balancer has these ports of CNFs, and no others.
func (w *world) has(ports ...string) {
	w.t.Helper()
	var got []string
	for _, match := range boundPort.FindAllStringSubmatch(w.config(), -1) {
		got = append(got, match[1])
	}
	require.ElementsMatch(w.t, ports, got)
}

// boundPort is a port of a CNF. The port 8383 of the API server is not one.
var boundPort = regexp.MustCompile(`bind \*:(3\d+)`)

// end removes a CNF.
func (w *world) end(i *lcm.Instance) {
	w.t.Helper()
	w.remove("web", "old", "new")
	w.operate(sol.LcmOperationTerminate, i)
	w.has()
}

// started is an operation of a CNF that has the first Services. It finds the second ones, unless it is an
// instantiation.
func (w *world) started(typ sol.LcmOperationType) (*lcm.Instance, *mgmttest.Task) {
	w.t.Helper()
	i := w.instance()
	w.first(i)
	if typ == sol.LcmOperationInstantiate {
		return i, w.begin(typ, i)
	}
	w.operate(sol.LcmOperationInstantiate, i)
	w.second(i)
	return i, w.request(nodeport.Options{}, typ, nil, i, func(op *lcm.Operation) {
		op.Scope = &lcm.Scope{Flavour: "simple"}
	})
}

// A node of the VNFM can die at any write of an operation, and another one continues. HAProxy has the ports of the
// Services in the end. With GYBE_FULL=1 this is so for all operations.
func TestAnyNodeMayDie(t *testing.T) {
	t.Parallel()
	for _, typ := range append(changes(), sol.LcmOperationInstantiate, sol.LcmOperationTerminate) {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var i *lcm.Instance
			deaths := mgmttest.SurviveDeaths(t, func() (s *mgmttest.Task) {
				i, s = w.started(typ)
				return s
			}, func(*mgmttest.Task) {
				switch typ {
				case sol.LcmOperationInstantiate:
					w.has("30422", "30430")
				case sol.LcmOperationTerminate:
					w.has()
				default:
					w.has("30423", "30431")
				}
				w.end(i)
			})
			require.Greater(t, deaths, 4)
		})
	}
}

// The same holds for rollbacks: the ports are those of the Services that the infra driver has brought back.
func TestAnyNodeMayDieInARollback(t *testing.T) {
	t.Parallel()
	for _, typ := range append(changes(), sol.LcmOperationInstantiate) {
		if typ == sol.LcmOperationHeal {
			continue // it has no rollback
		}
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, after := range []bool{false, true} {
				for at := 1; ; at++ {
					i, s := w.started(typ)
					s.Complete(t)
					if typ != sol.LcmOperationInstantiate {
						w.first(i)
					}
					s.DieAt, s.DieAfter = s.Writes()+at, after
					s.RollBack(t)
					if typ == sol.LcmOperationInstantiate {
						w.has()
					} else {
						w.has("30422", "30430")
					}
					w.end(i)
					if s.Deaths() == 0 {
						require.Greater(t, at, 3)
						break
					}
				}
			}
		})
	}
}
