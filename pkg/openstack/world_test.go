package openstack_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	gopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/grant"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/execution"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

var packageRoot = filepath.Join("..", "..", "vnf-packages", "kubernetes-cluster")

// onePackage is a store of packages that has one.
type onePackage struct {
	model *vnfd.VNFD
	files fs.FS
}

func (p onePackage) Model(context.Context, lcm.Principal, string) (*vnfd.VNFD, string, error) {
	return p.model, "pkg-1", nil
}

func (p onePackage) VnfdID(context.Context, lcm.Principal, string) (string, error) {
	return p.model.ID, nil
}
func (p onePackage) ModelOf(context.Context, string) (*vnfd.VNFD, error) { return p.model, nil }
func (p onePackage) Files(context.Context, string) (fs.FS, error)        { return p.files, nil }

// infras has one driver for everything.
type infras struct{ driver lcm.Infra }

func (i infras) Infra(string) (lcm.Infra, bool) { return i.driver, true }

// noMgmt has no mgmt drivers: the tests take the hooks out of the flavours.
type noMgmt struct{}

func (noMgmt) Driver(vnfd.Implementation) (lcm.MgmtDriver, error) {
	return nil, errors.New("there is no mgmt driver")
}

// samplePackage is the sample cluster, without its mgmt hooks.
var samplePackage = sync.OnceValues(func() (onePackage, error) {
	files := os.DirFS(packageRoot)
	res, err := tosca.Parse(files, tosca.Options{Entry: "Definitions/kubernetes_top.vnfd.yaml"})
	if err != nil {
		return onePackage{}, err
	}
	for i := range res.VNFD.Flavours {
		res.VNFD.Flavours[i].LCM = nil
	}
	return onePackage{res.VNFD, files}, nil
})

// tap sees every call of a node to the cloud, and is where nodes die.
type tap struct {
	next http.RoundTripper
	w    *world
}

// RoundTrip implements http.RoundTripper.
func (t tap) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.w.store.isDead() {
		return nil, errors.New("a dead node sends no requests")
	}
	t.w.mu.Lock()
	t.w.calls = append(t.w.calls, r.Method+" "+r.URL.Path)
	dies := len(t.w.calls) == t.w.dieAtCall
	if r.Method != http.MethodGet {
		t.w.changes++
		dies = dies || t.w.changes == t.w.dieAtChange
	}
	t.w.mu.Unlock()
	if !dies {
		return t.next.RoundTrip(r)
	}
	if t.w.dieAfterCall {
		if res, err := t.next.RoundTrip(r); err == nil {
			_ = res.Body.Close()
		}
	}
	t.w.store.kill()
	return nil, errors.New("the node died")
}

// world is one instance, its operations, and the nodes that work on them one after another.
type world struct {
	t     testing.TB
	cloud *simcloud.Cloud
	pkg   onePackage
	pkgs  lcm.Packages // takes the place of pkg where there are several
	store *memory
	cfg   openstack.Config
	zones []string
	// grantor takes the place of the local one with zones; nil = it does not.
	grantor lcm.Grantor
	retry   execution.Tuning
	clock   lcm.Clock
	// scripts makes what runs the scripts of the next node, if any, after the death of the last; nil = scripts are not
	// run.
	scripts func() openstack.ScriptRunner
	mgmt    func(openstack.ScriptRunner) lcm.MgmtDrivers // finds the mgmt drivers; nil = there are none
	deaths  int

	mu           sync.Mutex
	calls        []string
	changes      int // calls that are not GET
	dieAtCall    int
	dieAtChange  int
	dieAfterCall bool
}

// encoded are additionalParams as an instance remembers them.
func encoded(tb testing.TB, params map[string]any) sol.RawPairs {
	tb.Helper()
	raw, err := sol.KeyValuePairs(params).Raw()
	require.NoError(tb, err)
	return raw
}

func newWorld(tb testing.TB, cloud *simcloud.Cloud) *world {
	tb.Helper()
	pkg, err := samplePackage()
	require.NoError(tb, err)
	w := &world{
		t: tb, cloud: cloud, pkg: pkg, store: &memory{}, clock: lcm.SystemClock{},
		retry: execution.Tuning{RetryBase: time.Millisecond, RetryMax: 10 * time.Millisecond, Retries: 4},
	}
	w.cfg.DoubtPause = 5 * time.Millisecond
	w.cfg.CancelPatience = time.Minute
	w.cfg.AwayFirst, w.cfg.AwayLongest = time.Millisecond, 5*time.Millisecond
	w.cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return tap{next, w} }
	w.store.instance = lcm.Instance{
		ID: uuid.NewString(), VnfdID: pkg.model.ID, VnfPkgID: "pkg-1", HoldsResources: true,
		VimConnections: connectionTo(cloud),
	}
	return w
}

// connectionTo is the vimConnectionInfo of a cloud.
func connectionTo(cloud *simcloud.Cloud) map[string]sol.VimConnectionInfo {
	return map[string]sol.VimConnectionInfo{"vim1": {
		VimType: openstack.VimType, InterfaceInfo: sol.KeyValuePairs{"endpoint": cloud.AuthURL()},
		AccessInfo: sol.KeyValuePairs{
			"username": simcloud.Username, "password": simcloud.Password, "project": simcloud.Project,
			"region": simcloud.Region, "userDomain": simcloud.Domain, "projectDomain": simcloud.Domain,
		},
	}}
}

// admit puts a new operation in the place of the last.
func (w *world) admit(typ sol.LcmOperationType, params any) {
	w.t.Helper()
	raw, err := json.Marshal(params)
	require.NoError(w.t, err)
	epoch := w.store.op.Epoch
	w.store.phases, w.store.steps = map[string]lcm.PhaseRecord{}, nil
	w.store.op = lcm.Operation{
		ID: uuid.NewString(), InstanceID: w.store.instance.ID, Type: typ, State: sol.LcmOperationStateStarting,
		Params: raw, Deadline: time.Now().Add(24 * time.Hour), Epoch: epoch, Try: 1,
	}
}

// parameterFile is that of the sample.
func parameterFile(tb testing.TB, flavour string) []byte {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(packageRoot, "params", flavour+"_kubernetes_param_file_v2.json"))
	require.NoError(tb, err)
	return raw
}

// request is the sample's parameter file.
func (w *world) request(flavour string) map[string]any {
	w.t.Helper()
	var out map[string]any
	require.NoError(w.t, json.Unmarshal(parameterFile(w.t, flavour), &out))
	return out
}

func (w *world) instantiate(flavour string) {
	w.t.Helper()
	w.admit(sol.LcmOperationInstantiate, w.request(flavour))
}

func (w *world) terminate() {
	w.t.Helper()
	w.admit(sol.LcmOperationTerminate, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
}

// steer does what a user's event does to an operation in FAILED_TEMP.
func (w *world) steer(ev lcm.Event) {
	w.t.Helper()
	op := &w.store.op
	to, err := lcm.Next(op, ev)
	require.NoError(w.t, err)
	op.State = to
	op.Try++
	if ev == lcm.EventRollback || ev == lcm.EventRetry && op.FailedIn == sol.LcmOperationStateRollingBack {
		op.Run++
		op.Phase = ""
		w.store.phases = map[string]lcm.PhaseRecord{}
		w.store.steps = nil
	}
}

// node is a VNFM process: a driver and a runner of its own.
func (w *world) node() (*openstack.Driver, *execution.Runner) {
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	}
	if w.scripts != nil {
		w.cfg.Scripts = w.scripts()
	}
	d := openstack.New(w.cfg, log)
	grantor := w.grantor
	if grantor == nil {
		grantor = grant.Local{Zones: w.zones}
	}
	w.store.clock = w.clock
	var drivers lcm.MgmtDrivers = noMgmt{}
	if w.mgmt != nil {
		drivers = w.mgmt(w.cfg.Scripts)
	}
	var pkgs lcm.Packages = w.pkg
	if w.pkgs != nil {
		pkgs = w.pkgs
	}
	return d, &execution.Runner{
		Store: w.store, Packages: pkgs, Clock: w.clock, Log: log, Node: "node-1", Tuning: w.retry,
		Planner: &execution.Planner{Infras: infras{d}, Mgmt: drivers, Grantor: grantor},
	}
}

// patience is how long a busy machine may need for an operation.
const patience = 5 * time.Minute

// run works on the operation until it ends, with a new node for each that dies, and returns the state.
func (w *world) run() sol.LcmOperationStateType {
	w.t.Helper()
	d, r := w.node()
	defer func() { d.Close() }()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		after, again, err := r.Advance(w.t.Context(), w.store.op.ID)
		require.NoError(w.t, err)
		switch {
		case w.store.isDead():
			w.deaths++
			d.Close()
			d, r = w.node()
			w.store.revive()
		case !again:
			return w.store.op.State
		case after > 0:
			timer := time.NewTimer(min(after, 50*time.Millisecond)) // an early look must do no harm
			select {
			case <-timer.C:
			case <-w.t.Context().Done():
			}
		}
	}
	require.Fail(w.t, "the operation does not end", "%+v", w.store.op)
	return ""
}

// completed runs the operation and wants it to succeed.
func (w *world) completed() {
	w.t.Helper()
	require.Equal(w.t, sol.LcmOperationStateCompleted, w.run(), "%+v", w.store.op.Error)
}

// failed runs the operation and wants it to fail for now.
func (w *world) failed() *lcm.Failure {
	w.t.Helper()
	require.Equal(w.t, sol.LcmOperationStateFailedTemp, w.run())
	require.NotNil(w.t, w.store.op.Error)
	return w.store.op.Error
}

// reset forgets the deaths that were planned and the calls that were counted.
func (w *world) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.changes, w.dieAtCall, w.dieAtChange = nil, 0, 0, 0
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.writes, w.store.dieAt = 0, 0
}

func (w *world) stackName() string {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return "vnf-" + w.store.instance.ID
}

// resumedClock goes on at the pace of time where another clock is.
type resumedClock struct{ at, start time.Time }

func resume(c lcm.Clock) resumedClock { return resumedClock{c.Now(), time.Now()} }

func (c resumedClock) Now() time.Time { return c.at.Add(time.Since(c.start)) }

// fastClock runs a hundred times as fast as time.
type fastClock struct{ start time.Time }

func (c fastClock) Now() time.Time { return c.start.Add(100 * time.Since(c.start)) }

// call makes a call to Heat that no node makes.
func (w *world) call(method, path string) {
	w.t.Helper()
	provider, err := simcloud.Login(w.t.Context(), w.cloud.AuthOptions())
	require.NoError(w.t, err)
	heat, err := gopenstack.NewOrchestrationV1(provider, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(w.t, err)
	res, err := heat.Request(w.t.Context(), method, strings.TrimSuffix(heat.Endpoint, "/")+path,
		&gophercloud.RequestOpts{OkCodes: []int{200, 204}})
	require.NoError(w.t, err)
	require.NoError(w.t, res.Body.Close())
	provider.HTTPClient.CloseIdleConnections()
}

// stacks counts the instance's top stacks and names all of them.
func (w *world) stacks() (tops int, names []string) {
	for _, s := range w.cloud.State()["stacks"] {
		if strings.HasPrefix(s.Name, w.stackName()) {
			names = append(names, s.Name+" "+s.Status)
			if s.Name == w.stackName() {
				tops++
			}
		}
	}
	return tops, names
}
