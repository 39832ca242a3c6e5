package apitest

import (
	"context"
	"io/fs"
	"log/slog"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/engine"
	"github.com/gybe-nfv/gybe/pkg/grant"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/mgmt"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/test/devpg"
)

// VimType of the VIM that VIM stands for.
const VimType = "TEST"

// VnfdID is the one package that there is; VnfPkgID is its id.
const (
	VnfdID   = "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177"
	VnfPkgID = "0d2b3f7e-7a2f-4a39-8a5e-3a4f4c6a1b11"
)

// Password is a secret that no answer may contain.
const Password = "correct-horse-battery"

// Domain is the domain on its own database, with a VIM that does what a test says. Operations are not worked on
// until Work is called.
type Domain struct {
	Store   *store.Store
	Pool    *pgxpool.Pool
	Service *lcm.Service
	Runner  *lcm.Runner
	VIM     *VIM
}

// NewDomain makes a Domain.
func NewDomain(tb testing.TB) *Domain {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	pool := devpg.New(tb)
	queue, err := engine.NewQueue(pool, quiet)
	require.NoError(tb, err)
	ring, err := secret.Parse([]byte(secret.Generate() + "\n"))
	require.NoError(tb, err)
	s, err := store.New(tb.Context(), pool, ring, queue, quiet)
	require.NoError(tb, err)
	// Instances refer to their package in the database.
	require.NoError(tb, s.InsertPackage(tb.Context(), &vnfpkg.Package{ID: VnfPkgID, OnboardingState: sol.PackageOnboardingStateCreated, OperationalState: sol.PackageOperationalStateDisabled}))
	d := &Domain{Store: s, Pool: pool, VIM: &VIM{}}
	clock, pkgs, drivers := lcm.SystemClock{}, onePackage{}, mgmt.Registry{}
	d.Service = &lcm.Service{Store: s, Packages: pkgs, Infras: d.VIM, Mgmt: drivers, Clock: clock}
	d.Runner = &lcm.Runner{
		Store: s, Packages: pkgs, Planner: &lcm.Planner{Infras: d.VIM, Mgmt: drivers, Grantor: grant.Local{}},
		Clock: clock, Log: quiet, Node: "test", Tuning: lcm.Tuning{RetryBase: time.Millisecond, Retries: 2},
	}
	return d
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

// VIM is an lcm.Infra that only remembers.
type VIM struct {
	mu   sync.Mutex
	fail error
}

// Fail makes all work fail from now on; nil lets it succeed.
func (v *VIM) Fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fail = err
}

func (v *VIM) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fail
}

// Infra implements lcm.Infras.
func (v *VIM) Infra(t string) (lcm.Infra, bool) { return v, t == VimType }

// Validate implements lcm.Infra.
func (v *VIM) Validate(_ context.Context, r lcm.Request) error {
	if r.AdditionalParams["refuse"] != nil {
		return lcm.Unprocessable(lcm.InvalidParam{Pointer: "/additionalParams/refuse", Detail: "is not wanted"})
	}
	return nil
}

// Instantiate implements lcm.Infra.
func (v *VIM) Instantiate(ctx context.Context, w *lcm.Work) error {
	return w.Step(ctx, "create stack", "vnf-"+w.Instance.ID, func(ctx context.Context, s *lcm.Step) error {
		s.Logf(ctx, "the first line")
		s.Logf(ctx, "the second line")
		return v.failure()
	})
}

// Inventory implements lcm.Infra.
func (v *VIM) Inventory(_ context.Context, w *lcm.Work) error {
	handle := sol.ResourceHandle{VimConnectionID: "vim1", ResourceID: "ea9875b6-ff85-4d36-a559-913e424963d5", VimLevelResourceType: "OS::Nova::Server"}
	w.Instance.Instantiated = &sol.InstantiatedVnfInfo{
		FlavourID: w.Flavour.ID, VnfState: sol.VnfOperationalStateStarted,
		VnfcResourceInfo: []sol.VnfcResourceInfo{{ID: handle.ResourceID, VduID: "VDU1", ComputeResource: handle}},
		VnfcInfo:         []sol.VnfcInfo{{ID: "VDU1-" + handle.ResourceID, VduID: "VDU1", VnfcResourceInfoID: handle.ResourceID, VnfcState: sol.VnfOperationalStateStarted}},
	}
	w.Op.ResourceChanges = &sol.ResourceChanges{AffectedVnfcs: []sol.AffectedVnfc{{
		ID: handle.ResourceID, VduID: "VDU1", ChangeType: sol.ChangeTypeAdded, ComputeResource: handle,
	}}}
	return v.failure()
}

// Terminate implements lcm.Infra.
func (v *VIM) Terminate(context.Context, *lcm.Work) error { return v.failure() }

// Change implements lcm.Infra.
func (v *VIM) Change(context.Context, *lcm.Work) error { return v.failure() }

// Restore implements lcm.Infra.
func (v *VIM) Restore(context.Context, *lcm.Work) error { return v.failure() }

// Halt implements lcm.Infra.
func (v *VIM) Halt(context.Context, *lcm.Work, sol.CancelModeType) error { return nil }

// Preview implements lcm.Infra.
func (v *VIM) Preview(_ context.Context, r lcm.Request) (*lcm.Preview, error) {
	return &lcm.Preview{Operation: r.Type, Possible: true}, v.failure()
}

// Leftovers implements lcm.Infra.
func (v *VIM) Leftovers(context.Context, *lcm.Instance) (*lcm.Leftovers, error) {
	return &lcm.Leftovers{}, v.failure()
}

// RemoveLeftovers implements lcm.Infra.
func (v *VIM) RemoveLeftovers(_ context.Context, _ *lcm.Instance, extra []lcm.Leftover) ([]lcm.Leftover, error) {
	return extra, v.failure()
}

// onePackage is lcm.Packages with one package.
type onePackage struct{}

// Model implements lcm.Packages.
func (onePackage) Model(_ context.Context, vnfdID string) (*vnfd.VNFD, string, error) {
	if vnfdID != VnfdID {
		return nil, "", lcm.Errorf(lcm.CodeUnprocessable, "no onboarded package has the vnfdId %q", vnfdID)
	}
	return &vnfd.VNFD{
		ID: VnfdID, Version: "1.0", Provider: "Company", ProductName: "Sample VNF", SoftwareVersion: "1.0",
		Flavours: []vnfd.Flavour{{
			ID: "simple", VDUs: []vnfd.VDU{{Name: "VDU1", MinInstances: 1, MaxInstances: 1, InitialInstances: 1}},
			CPs: []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1"}},
		}},
	}, VnfPkgID, nil
}

// ModelOf implements lcm.Packages.
func (p onePackage) ModelOf(ctx context.Context, _ string) (*vnfd.VNFD, error) {
	m, _, err := p.Model(ctx, VnfdID)
	return m, err
}

// Files implements lcm.Packages.
func (onePackage) Files(context.Context, string) (fs.FS, error) { return fstest.MapFS{}, nil }

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
