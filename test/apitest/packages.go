package apitest

import (
	"context"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
)

// VnfdID and VnfPkgID are of a package that cannot be scaled, ClusterID is the VNFD of one that can; NextID that of its
// next version.
const (
	VnfdID    = "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177"
	VnfPkgID  = "0d2b3f7e-7a2f-4a39-8a5e-3a4f4c6a1b11"
	ClusterID = "5f1a9a3e-8d37-4c0b-9c55-2f3d53c0a001"
	NextID    = "5f1a9a3e-8d37-4c0b-9c55-2f3d53c0a002"
)

const (
	clusterPkgID = "0d2b3f7e-7a2f-4a39-8a5e-3a4f4c6a1b12"
	nextPkgID    = "0d2b3f7e-7a2f-4a39-8a5e-3a4f4c6a1b13"
)

// Packages is lcm.Packages with packages that tests make; all of them are empty archives.
type Packages struct {
	mu       sync.Mutex
	models   map[string]*vnfd.VNFD // by package id
	disabled map[string]bool
}

// Add onboards a package. Instances refer to it in the database, so it has a row there.
func (d *Domain) Add(tb testing.TB, id string, model *vnfd.VNFD) {
	tb.Helper()
	p := &vnfpkg.Package{
		ID: id, OnboardingState: sol.PackageOnboardingStateCreated,
		OperationalState: sol.PackageOperationalStateDisabled,
	}
	require.NoError(tb, d.Store.AllPackages().InsertPackage(tb.Context(), p))
	d.Packages.mu.Lock()
	defer d.Packages.mu.Unlock()
	d.Packages.models[id] = model
}

// Disable makes a package unfit for new instances.
func (p *Packages) Disable(vnfdID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disabled[vnfdID] = true
}

// Model implements lcm.Packages.
func (p *Packages) Model(_ context.Context, _ lcm.Principal, vnfdID string) (*vnfd.VNFD, string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, m := range p.models {
		if m.ID == vnfdID && !p.disabled[vnfdID] {
			return m, id, nil
		}
	}
	return nil, "", lcm.Errorf(lcm.CodeUnprocessable, "no onboarded package has the vnfdId %q", vnfdID)
}

// VnfdID implements lcm.Packages.
func (p *Packages) VnfdID(ctx context.Context, _ lcm.Principal, id string) (string, error) {
	m, err := p.ModelOf(ctx, id)
	if err != nil {
		return "", err
	}
	return m.ID, nil
}

// ModelOf implements lcm.Packages.
func (p *Packages) ModelOf(_ context.Context, id string) (*vnfd.VNFD, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.models[id]
	if !ok {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "there is no package %q", id)
	}
	return m, nil
}

// Files implements lcm.Packages.
func (*Packages) Files(context.Context, string) (fs.FS, error) { return fstest.MapFS{}, nil }

// sample is a package with one VDU of one VNFC.
func sample() *vnfd.VNFD {
	return &vnfd.VNFD{
		ID: VnfdID, Version: "1.0", Provider: "Company", ProductName: "Sample VNF", SoftwareVersion: "1.0",
		Flavours: []vnfd.Flavour{{
			ID: "simple", VDUs: []vnfd.VDU{{Name: "VDU1", MinInstances: 1, MaxInstances: 1, InitialInstances: 1}},
			CPs: []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1"}},
		}},
	}
}

// Cluster is a package with masters and workers: the flavour "simple" has one master and one worker more than the level
// of the aspect "workers", "complex" has three masters and also pairs of them as an aspect. Every operation has hooks
// of the mgmt driver "recorder".
func Cluster(id, version string) *vnfd.VNFD {
	one := map[string]int{"workerNode": 1}
	level := func(id string, n, masters int) vnfd.InstantiationLevel {
		return vnfd.InstantiationLevel{ID: id, ScaleLevels: map[string]int{"workers": n}, VDUs: map[string]int{
			"workerNode": n + 1, "masterNode": masters,
		}}
	}
	simple := vnfd.Flavour{
		ID: "simple",
		VDUs: []vnfd.VDU{
			{Name: "masterNode", MinInstances: 1, MaxInstances: 1, InitialInstances: 1},
			{Name: "workerNode", MinInstances: 1, MaxInstances: 4, InitialInstances: 2},
		},
		CPs: []vnfd.CP{{Name: "masterNode_CP1", VDU: "masterNode", External: true}, {
			Name: "workerNode_CP1", VDU: "workerNode", External: true,
		}},
		VLs:          []vnfd.VL{{Name: "internalVL"}},
		Aspects:      []vnfd.ScalingAspect{{ID: "workers", MaxScaleLevel: 3, Steps: []map[string]int{one, one, one}}},
		Levels:       []vnfd.InstantiationLevel{level("default", 1, 1), level("small", 0, 1), level("big", 3, 1)},
		DefaultLevel: "default",
		LCM:          map[string]vnfd.Implementation{},
	}
	for _, k := range lcm.OperationKinds() {
		for _, hook := range hooksOf(k) {
			simple.LCM[string(hook)] = vnfd.Implementation{Name: "recorder"}
		}
	}
	big := simple
	big.ID = "complex"
	big.VDUs = []vnfd.VDU{
		{Name: "masterNode", MinInstances: 3, MaxInstances: 5, InitialInstances: 3},
		{Name: "workerNode", MinInstances: 1, MaxInstances: 4, InitialInstances: 2},
	}
	big.Aspects = append([]vnfd.ScalingAspect{
		{ID: "masters", MaxScaleLevel: 2, Steps: []map[string]int{{"masterNode": 1}, {"masterNode": 2}}},
	}, simple.Aspects...)
	big.Levels = []vnfd.InstantiationLevel{level("default", 1, 3)}
	return &vnfd.VNFD{
		ID: id, Version: version, Provider: "Company", ProductName: "Cluster", SoftwareVersion: version,
		Flavours: []vnfd.Flavour{simple, big},
	}
}

// Recorder is the mgmt driver "recorder": it remembers its hooks.
type Recorder struct {
	mu    sync.Mutex
	hooks []string
	fail  map[string]error
}

// Fail makes a hook fail; nil lets it succeed.
func (r *Recorder) Fail(hook string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail[hook] = err
}

// Take returns the hooks that were run since it was called last, with the version of the VNFD that they saw and the
// numbers of VNFCs.
func (r *Recorder) Take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.hooks
	r.hooks = nil
	return out
}

// Validate implements lcm.MgmtDriver.
func (*Recorder) Validate(_ context.Context, r lcm.Request) error {
	if r.AdditionalParams["driver"] == "bad" {
		return lcm.Unprocessable(lcm.InvalidParam{Pointer: "/additionalParams/driver", Detail: "is bad"})
	}
	return nil
}

// Hooks implements lcm.MgmtDriver: the recorder handles every hook.
func (r *Recorder) Hooks() []lcm.HookHandler {
	var out []lcm.HookHandler
	for _, k := range lcm.OperationKinds() {
		for _, hook := range hooksOf(k) {
			run := func(_ context.Context, w *lcm.Execution) error { return r.record(hook, w) }
			out = append(out, lcm.HookHandler{Hook: hook, Run: run})
		}
	}
	return out
}

// hooksOf lists the hooks of an operation and of its rollback.
func hooksOf(k *lcm.OperationKind) []lcm.Hook {
	start, end := k.Hooks()
	back, backEnd := k.RollbackHooks()
	return []lcm.Hook{start, end, back, backEnd}
}

func (r *Recorder) record(hook lcm.Hook, w *lcm.Execution) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	if w.Instance.Instantiated != nil {
		n = len(w.Instance.Instantiated.VnfcInfo)
	}
	r.hooks = append(r.hooks, fmt.Sprintf("%s %s %d", hook, w.VNFD.Version, n))
	return r.fail[string(hook)]
}
