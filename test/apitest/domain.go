package apitest

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/grant"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/admission"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/notify/delivery"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/rendered"
)

// VimType of the VIM that VIM stands for.
const VimType = "TEST"

// Password is a secret that no answer may contain.
const Password = "correct-horse-battery"

// Domain is the domain on its own database, with a VIM that does what a test says. Operations are not worked on
// until Work is called.
type Domain struct {
	Store    *store.Records // of the default project
	Pool     *pgxpool.Pool
	Services *admission.Services
	Service  *admission.Service // of the default project
	Runner   *execution.Runner
	Packages *Packages
	VIM      *VIM
	// Subscriptions test callbacks, and allow duplicates. Deliver sends their notifications.
	Subscriptions *notify.Services
	delivery      *delivery.Runner
	// Hooks is the mgmt driver of the packages that Cluster makes.
	Hooks *Recorder
}

// AttributeLimit is the size of attributes of instances with free names.
const AttributeLimit = 40_000

// NewDomain makes a Domain.
func NewDomain(tb testing.TB) *Domain {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	pool := devpg.New(tb)
	ring, err := secret.Parse([]byte(secret.Generate() + "\n"))
	require.NoError(tb, err)
	s, err := store.New(tb.Context(), pool, ring, &engine.Queue{}, quiet)
	require.NoError(tb, err)
	d := &Domain{
		Store: s.Of(lcm.Principal{}), Pool: pool, VIM: NewVIM(), Hooks: &Recorder{fail: map[string]error{}},
		Packages: &Packages{models: map[string]*vnfd.VNFD{}, disabled: map[string]bool{}},
	}
	d.Add(tb, VnfPkgID, sample())
	d.Add(tb, clusterPkgID, Cluster(ClusterID, "1.0"))
	d.Add(tb, nextPkgID, Cluster(NextID, "2.0"))
	clock, pkgs, drivers := lcm.SystemClock{}, d.Packages, mgmt.Registry{"recorder": d.Hooks}
	d.Services = &admission.Services{
		Stores: s, Packages: pkgs, Infras: d.VIM, Mgmt: drivers, Clock: clock,
		Limits: lcm.Limits{Attribute: AttributeLimit, Params: AttributeLimit},
	}
	d.Service = d.Services.In(lcm.Principal{})
	d.Runner = &execution.Runner{
		Store: s, Packages: pkgs, Planner: &execution.Planner{Infras: d.VIM, Mgmt: drivers, Grantor: grant.Local{}},
		Clock: clock, Log: quiet, Node: "test", Tuning: execution.Tuning{RetryBase: time.Millisecond, Retries: 2},
	}
	d.openNotify(tb, s)
	tb.Cleanup(func() { rendered.Check(tb, s, pool) })
	return d
}

// Submit submits a task with this body.
func (d *Domain) Submit(tb testing.TB, id string, t sol.LcmOperationType, body any) (*lcm.Operation, error) {
	tb.Helper()
	raw, err := json.Marshal(body)
	require.NoError(tb, err)
	task, err := lcm.ParseTask(t, raw)
	if err != nil {
		return nil, err
	}
	return d.Service.Submit(tb.Context(), id, task)
}

// Work advances an operation until it rests, and returns its state.
func (d *Domain) Work(tb testing.TB, opID string) sol.LcmOperationStateType {
	tb.Helper()
	for {
		_, again, err := d.Runner.Advance(tb.Context(), opID)
		require.NoError(tb, err)
		if !again {
			break
		}
	}
	op, err := d.Store.Operation(tb.Context(), opID)
	require.NoError(tb, err)
	return op.State
}

// Params is an instantiate request that is good.
func Params() sol.InstantiateVnfRequest {
	return sol.InstantiateVnfRequest{
		FlavourID: "simple",
		VimConnectionInfo: map[string]sol.VimConnectionInfo{"vim1": {
			VimType: VimType, InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://vim/identity/v3"},
			AccessInfo: sol.KeyValuePairs{"username": "nfv_user", "password": Password, "project": "nfv"},
		}},
		AdditionalParams: sol.KeyValuePairs{"nested": sol.KeyValuePairs{"username": "ubuntu", "password": Password}},
	}
}
