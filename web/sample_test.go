package web_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/pkg/csar/signature"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/render"
	"github.com/gybe-nfv/gybe/pkg/notify"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/pkg/vnfpkg"
	"github.com/gybe-nfv/gybe/web"
)

// began is when the operations of the sample began; the clock stands at now.
var (
	began = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	now   = began.Add(82 * time.Second)
)

const (
	cluster  = "6f1c3d9a-2b0e-4a6d-9a51-0d2f8f3c7b11"
	idle     = "a0d7c2e4-90c5-44d0-8f0b-3f6f9f0f2a22"
	broken   = "c3b8a9f0-7d1e-4e0c-b0f5-5c1d2e3f4a33"
	running  = "11111111-aaaa-4bbb-8ccc-000000000001"
	failed   = "22222222-aaaa-4bbb-8ccc-000000000002"
	finished = "33333333-aaaa-4bbb-8ccc-000000000003"
	scaling  = "66666666-aaaa-4bbb-8ccc-000000000006"
	healed   = "77777777-aaaa-4bbb-8ccc-000000000007"
	modified = "88888888-aaaa-4bbb-8ccc-000000000008"
	site     = "e5d2c0b1-3c4d-4e5f-8a6b-7c8d9e0f5a55"
	good     = "44444444-aaaa-4bbb-8ccc-000000000004"
	refused  = "55555555-aaaa-4bbb-8ccc-000000000005"
	foreign  = "55555555-aaaa-4bbb-8ccc-000000000006"
	secret   = "devstack-s3cret"
)

// world is what a console may look at, in memory.
type world struct {
	mu        sync.Mutex
	instances []*lcm.Instance
	snapshots []*lcm.Snapshot
	ops       []*lcm.Operation
	phases    map[string][]lcm.PhaseRecord
	steps     map[string][]lcm.StepRecord
	lines     map[string][]gybeapi.Line
	packages  []*vnfpkg.Package
	nodes     []gybeapi.Node
	subs      []notify.Status
	down      error // what reads fail with
	followers []chan []gybeapi.Event
	at        func() time.Time
}

func (w *world) deps() web.Deps {
	return web.Deps{
		In: func(lcm.Principal) web.Project {
			return web.Project{
				Instances: w, Operations: w, Packages: packages{w}, Feed: w, Subscriptions: subscribers{w},
			}
		},
		Log: slog.New(slog.DiscardHandler), Clock: w,
		Nodes: func(context.Context) ([]gybeapi.Node, error) { return w.nodes, nil },
		Kubeconfig: func(rw http.ResponseWriter, r *frame.Request) error {
			_, err := io.WriteString(rw, "kubeconfig of "+r.Param("vnfInstanceId"))
			return err
		},
	}
}

// subscribers are the subscriptions of a world.
type subscribers struct{ *world }

// Statuses implements web.Subscriptions.
func (s subscribers) Statuses(_ context.Context, after string, limit int) ([]notify.Status, error) {
	return s.status(limit, func(n notify.Status) bool { return n.Subscription.ID > after })
}

// Failing implements web.Subscriptions.
func (s subscribers) Failing(_ context.Context, limit int) ([]notify.Status, error) {
	return s.status(limit, func(n notify.Status) bool { return !n.FailingSince.IsZero() })
}

func (s subscribers) status(limit int, wanted func(notify.Status) bool) (out []notify.Status, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.subs {
		if wanted(n) && len(out) < limit {
			out = append(out, n)
		}
	}
	return out, s.down
}

func (w *world) Now() time.Time { return w.at() }

// change does something and tells the followers.
func (w *world) change(kind string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	for _, f := range w.followers {
		f <- []gybeapi.Event{{Kind: kind}}
	}
}

// find reads one thing; what comes back is a copy, as of a database.
func find[T any](w *world, all *[]*T, what, id string, idOf func(*T) string) (*T, error) {
	found, err := list(w, all, func(t *T) bool { return idOf(t) == id })
	if err == nil && len(found) == 0 {
		err = lcm.Errorf(lcm.CodeNotFound, "there is no %s %s", what, id)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func list[T any](w *world, all *[]*T, wanted func(*T) bool) ([]*T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*T
	for _, t := range *all {
		if wanted(t) {
			c := *t
			out = append(out, &c)
		}
	}
	return out, w.down
}

func pageOf[T any](w *world, all *[]*T, after string, limit int, idOf func(*T) string) ([]*T, error) {
	out, err := list(w, all, func(t *T) bool { return idOf(t) > after })
	slices.SortFunc(out, func(a, b *T) int { return cmp.Compare(idOf(a), idOf(b)) })
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, err
}

func instanceID(i *lcm.Instance) string   { return i.ID }
func operationID(o *lcm.Operation) string { return o.ID }
func packageID(p *vnfpkg.Package) string  { return p.ID }

func (w *world) Instance(_ context.Context, id string) (*lcm.Instance, error) {
	return find(w, &w.instances, "VNF instance", id, instanceID)
}

func (w *world) InstanceDocuments(_ context.Context, q lcm.Query) iter.Seq2[*lcm.InstanceDocument, error] {
	return func(yield func(*lcm.InstanceDocument, error) bool) {
		all, err := pageOf(w, &w.instances, q.After, q.Limit, instanceID)
		for n := 0; n < len(all) && err == nil; n++ {
			var d *lcm.InstanceDocument
			if d, err = render.Instance(all[n]); err == nil && !yield(d, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (w *world) Operation(_ context.Context, id string) (*lcm.Operation, error) {
	return find(w, &w.ops, "operation", id, operationID)
}

func (w *world) Operations(_ context.Context, q lcm.Query) ([]*lcm.Operation, error) {
	return list(w, &w.ops, func(op *lcm.Operation) bool {
		return (q.InstanceID == "" || op.InstanceID == q.InstanceID) && (len(q.States) == 0 || slices.Contains(q.States,
			op.State))
	})
}

func (w *world) Progress(_ context.Context, id string) ([]lcm.PhaseRecord, []lcm.StepRecord, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.phases[id]), slices.Clone(w.steps[id]), w.down
}

func (w *world) Follow(context.Context, gybeapi.FeedQuery) (gybeapi.Follower, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := make(chan []gybeapi.Event, 100)
	w.followers = append(w.followers, f)
	return follower(f), nil
}

type follower chan []gybeapi.Event

func (f follower) Next(ctx context.Context) ([]gybeapi.Event, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case ev := <-f:
		return ev, nil
	}
}

// Log has the number of lines read as its cursor.
func (w *world) Log(_ context.Context, op, after string, limit int) ([]gybeapi.Line, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, err := strconv.Atoi(cmp.Or(after, "0"))
	if err != nil {
		return nil, "", lcm.Errorf(lcm.CodeInvalid, "%q is no cursor", after)
	}
	all := w.lines[op]
	to := min(from+limit, len(all))
	return slices.Clone(all[min(from, to):to]), strconv.Itoa(max(from, to)), w.down
}

type packages struct{ w *world }

func (p packages) Get(_ context.Context, id string) (*vnfpkg.Package, error) {
	return find(p.w, &p.w.packages, "VNF package", id, packageID)
}

func (p packages) List(_ context.Context, q vnfpkg.Query) ([]*vnfpkg.Package, error) {
	return pageOf(p.w, &p.w.packages, q.After, q.Limit, packageID)
}

// sample is a cluster in the middle of its instantiation, an instance without resources, and one whose instantiation
// failed.
func sample() *world {
	w := &world{
		at:     func() time.Time { return now },
		phases: map[string][]lcm.PhaseRecord{}, steps: map[string][]lcm.StepRecord{},
		lines: map[string][]gybeapi.Line{},
	}
	instance := func(id, name string) *lcm.Instance {
		return &lcm.Instance{
			ID: id, Name: name, Description: "Kubernetes for the packet core", Created: began.Add(-time.Minute),
			Updated: began.Add(31 * time.Second), VnfdID: "b1db0ce7-ebca-1fb7-95ed-4840d70a1163", VnfPkgID: good,
			Provider: "Gybe", ProductName: "Kubernetes cluster", SoftwareVersion: "1.0", VnfdVersion: "1.0",
			State: sol.InstantiationStateNotInstantiated, HoldsResources: id != idle,
			VimConnections: map[string]sol.VimConnectionInfo{"vim1": openstack()},
			Metadata:       sol.RawPairs(`{"owner":"team <core>","db_password":"` + secret + `"}`),
		}
	}
	c := instance(cluster, "core-cluster")
	deploy(c)
	w.instances = []*lcm.Instance{c, instance(idle, "edge-cluster"), instance(broken, "lab-cluster")}
	w.ops = []*lcm.Operation{
		{
			ID: finished, InstanceID: broken, Type: sol.LcmOperationInstantiate, State: sol.LcmOperationStateRolledBack,
			Started: began.Add(-time.Hour), StateEntered: began.Add(-time.Hour + 95*time.Second), Node: "gybe-a",
		},
		{
			ID: failed, InstanceID: broken, Type: sol.LcmOperationInstantiate, State: sol.LcmOperationStateFailedTemp,
			Started: began, StateEntered: began.Add(41 * time.Second), Node: "gybe-b", Error: quota(),
			Deadline: began.Add(time.Hour),
		},
		{
			ID: running, InstanceID: cluster, Type: sol.LcmOperationInstantiate, State: sol.LcmOperationStateProcessing,
			Started: began, StateEntered: began.Add(200 * time.Millisecond), Phase: "instantiate_end", Node: "gybe-a",
			Waiting:  "3 of 5 machines are still being prepared",
			Deadline: began.Add(2 * time.Hour),
			Params: json.RawMessage(`{"flavourId":"complex","vimConnectionInfo":{"vim1":{"vimType":"ETSINFV.OPENSTACK_KEYSTONE.V_3","accessInfo":{"username":"nfv_user","password":"` + secret +
				`"}}},"additionalParams":{"k8s_cluster_installation_param":{"master_node":{"vdu_id":"masterNode","username":"ubuntu","password":"` + secret + `"}}}}`),
		},
	}
	w.progress(c)
	photographed := instance(site, "site-cluster")
	w.grow(photographed)
	w.photograph(photographed)
	w.instances[1].Protection = &lcm.Protection{Reason: "billing <core>", By: "ada", Since: began}
	w.packages = samplePackages()
	w.subs = []notify.Status{
		{
			Subscription: notify.Subscription{
				ID: good, API: "vnflcm", Callback: "https://oss.example:8443/lccn?token=" + secret,
			},
		},
		{
			Subscription: notify.Subscription{ID: refused, API: "vnflcm", Callback: "https://nfvo.example/lccn"},
			Pending:      14, Dead: 2, Failures: 7, FailingSince: began.Add(-time.Hour), Next: now.Add(4 * time.Minute),
			Error: "it answered 503 Service Unavailable",
		},
		{
			Subscription: notify.Subscription{ID: foreign, API: "vnfpkgm", Callback: "http://192.0.2.7/pkgm"}, Dead: 1,
		},
	}
	w.nodes = []gybeapi.Node{
		{
			ID: "7c1f", Name: "gybe-a", Address: "http://10.0.0.11:9890", Version: "0.1.0",
			Started: began.Add(-3 * time.Hour), Seen: now.Add(-4 * time.Second), Running: 1,
		},
		{
			ID: "8d20", Name: "gybe-b", Address: "http://10.0.0.12:9890", Version: "0.1.0",
			Started: began.Add(-3 * time.Hour), Seen: now.Add(-50 * time.Second), UnavailableVims: 1,
		},
		{
			ID: "9e31", Name: "gybe-c", Address: "http://10.0.0.13:9890", Version: "0.1.0",
			Started: began.Add(-5 * time.Hour), Seen: began, Ended: began.Add(time.Second),
		},
	}
	return w
}

func openstack() sol.VimConnectionInfo {
	return sol.VimConnectionInfo{
		VimType: "ETSINFV.OPENSTACK_KEYSTONE.V_3", VimID: "d82ee798-a1d2-4854-8f74-4892ad706751",
		InterfaceInfo: sol.KeyValuePairs{"endpoint": "http://10.0.0.5/identity/v3"},
		AccessInfo: sol.KeyValuePairs{
			"username": "nfv_user", "password": secret, "project": "nfv", "region": "RegionOne",
			"userDomain": "Default",
		},
	}
}

func quota() *lcm.Failure {
	return &lcm.Failure{
		Status: 502, Title: "Stack create failed", Phase: "infra",
		Detail: "stack vnf-" + broken +
			": CREATE_FAILED: resources.workerNode-1: ResourceInError: resources.workerNode: Went to status ERROR " +
			"due to \"Message: No valid host was found. , Code: 500\"",
		Hint: "ask the operator of the cloud for room, or take a smaller flavour, then retry the operation",
	}
}

// deploy gives an instance three masters and two workers on one external network, an internal link and a virtual IP.
func deploy(i *lcm.Instance) {
	const net0, storage = "bbc012e1-6619-4fe6-aaac-0668a4974313", "0c7f3f9e-5555-4444-8888-1234567890ab"
	info := &sol.InstantiatedVnfInfo{
		FlavourID: "complex", VnfState: sol.VnfOperationalStateStarted,
		ScaleStatus:    []sol.ScaleInfo{{AspectID: "workerNode_scale", ScaleLevel: 1}},
		MaxScaleLevels: []sol.ScaleInfo{{AspectID: "workerNode_scale", ScaleLevel: 2}},
		ExtVirtualLinkInfo: []sol.ExtVirtualLinkInfo{
			{ID: "net0_master", ResourceHandle: sol.ResourceHandle{ResourceID: net0}},
			{ID: "net0_worker", ResourceHandle: sol.ResourceHandle{ResourceID: net0}},
		},
		VnfVirtualLinkResourceInfo: []sol.VnfVirtualLinkResourceInfo{
			{VnfVirtualLinkDescID: "storageVL", NetworkResource: sol.ResourceHandle{ResourceID: storage}},
		},
	}
	add := func(vdu string, n, of int) {
		server := fmt.Sprintf("%08x-dd2f-4f5a-83e6-4b8e8e589d%02x", 0xebe3b84b+n*77+of*1000, n)
		id, portID := vdu+"-"+server, fmt.Sprintf("%s-port-%d", vdu, n)
		ip := fmt.Sprintf("10.10.0.%d", 10*of+n+1)
		res := sol.VnfcResourceInfo{
			ID: server, VduID: vdu, ComputeResource: sol.ResourceHandle{ResourceID: server},
			Metadata:   sol.KeyValuePairs{"flavor": "m1.medium"},
			VnfcCpInfo: []sol.VnfcCpInfo{{ID: vdu + "_CP1-" + server, CpdID: vdu + "_CP1", VnfExtCpID: "cp-" + portID}},
		}
		info.ExtCpInfo = append(
			info.ExtCpInfo, sol.VnfExtCpInfo{ID: "cp-" + portID, CpdID: vdu + "_CP1", ExtLinkPortID: portID},
		)
		link := &info.ExtVirtualLinkInfo[of-1]
		link.ExtLinkPorts = append(link.ExtLinkPorts, sol.ExtLinkPortInfo{ID: portID})
		i.Inventory = append(i.Inventory,
			lcm.Resource{
				Name: vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", ID: server, VNFC: id, VDU: vdu,
				Index: n, Host: fmt.Sprintf("compute-%d", n+1), Zone: "nova",
			},
			lcm.Resource{
				Name: vdu + "_CP1", Kind: lcm.KindPort, Type: "OS::Neutron::Port", ID: portID, VNFC: id,
				VDU: vdu, Index: n, Addresses: []lcm.Address{{IP: ip, Network: net0}},
			},
			lcm.Resource{
				Name: vdu + "_CP1_floating_ip", Kind: lcm.KindAddress, Type: "OS::Neutron::FloatingIP",
				ID: "f" + portID, VNFC: id, VDU: vdu, Index: n,
				Addresses: []lcm.Address{
					{IP: fmt.Sprintf("172.24.4.%d", 60+10*of+n), Network: "public", Floating: true},
				},
			})
		if vdu == "workerNode" {
			res.VnfcCpInfo = append(res.VnfcCpInfo, sol.VnfcCpInfo{
				ID: vdu + "_CP2-" + server, CpdID: vdu + "_CP2", VnfLinkPortID: "s-" + portID,
			})
			i.Inventory = append(i.Inventory, lcm.Resource{
				Name: vdu + "_CP2", Kind: lcm.KindPort, Type: "OS::Neutron::Port", ID: "s-" + portID, VNFC: id,
				VDU: vdu, Index: n, Addresses: []lcm.Address{{IP: fmt.Sprintf("192.168.7.%d", 11+n), Network: storage}},
			})
			l := &info.VnfVirtualLinkResourceInfo[0]
			l.VnfLinkPorts = append(l.VnfLinkPorts, sol.VnfLinkPortInfo{ID: "s-" + portID})
		}
		info.VnfcResourceInfo = append(info.VnfcResourceInfo, res)
		info.VnfcInfo = append(info.VnfcInfo, sol.VnfcInfo{
			ID: id, VduID: vdu, VnfcResourceInfoID: server, VnfcState: sol.VnfOperationalStateStarted,
		})
	}
	for n := range 3 {
		add("masterNode", n, 1)
	}
	for n := range 2 {
		add("workerNode", n, 2)
	}
	i.Inventory = append(i.Inventory,
		lcm.Resource{
			Name: "vip_CP", Kind: lcm.KindPort, Type: "OS::Neutron::Port", ID: "vip-port",
			Addresses: []lcm.Address{{IP: "10.10.0.5", Network: net0}},
		},
		lcm.Resource{
			Name: "vip_CP_floating_ip", Kind: lcm.KindAddress, Type: "OS::Neutron::FloatingIP", ID: "vip-fip",
			Addresses: []lcm.Address{{IP: "172.24.4.50", Network: "public", Floating: true}},
		})
	i.Instantiated = info
	i.VimConnections["kubernetes_vim"] = sol.VimConnectionInfo{
		VimType: "ETSINFV.KUBERNETES.V_1", InterfaceInfo: sol.KeyValuePairs{"endpoint": "https://172.24.4.50:16443"},
		AccessInfo: sol.KeyValuePairs{"bearer_token": secret}, Extra: sol.KeyValuePairs{lcm.ExtraOwner: i.ID},
	}
}

// progress makes the records of the operations.
func (w *world) progress(i *lcm.Instance) {
	at := func(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }
	until := func(s float64) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return at(s)
	}
	phase := func(op, name string, state lcm.PhaseState, from, to float64) {
		w.phases[op] = append(
			w.phases[op], lcm.PhaseRecord{Name: name, State: state, Started: at(from), Finished: until(to)},
		)
	}
	step := func(
		op, phase, name, target string, state lcm.StepState, from, to float64, detail string, lines ...string,
	) {
		id := int64(len(w.steps[op]) + 1)
		w.steps[op] = append(w.steps[op], lcm.StepRecord{
			ID: id, Phase: phase, Name: name, Target: target, State: state,
			Attempts: 1, Started: at(from), Finished: until(to), Detail: detail,
		})
		for n, l := range lines {
			w.lines[op] = append(w.lines[op], gybeapi.Line{StepID: id, Time: at(from + float64(n)*1.7), Text: l})
		}
	}
	stack := "vnf-" + cluster
	phase(running, "grant", lcm.PhaseDone, 0, 0.1)
	phase(running, "infra", lcm.PhaseDone, 0.2, 27)
	phase(running, "inventory", lcm.PhaseDone, 27, 28.4)
	phase(running, "instantiate_end", lcm.PhaseRunning, 28.4, 0)
	step(running, "infra", "upload image", "masterNode-image", lcm.StepDone, 0.3, 6.2, "ubuntu-22.04, 640 MiB")
	step(running, "infra", "create stack", stack, lcm.StepDone, 6.3, 27, "CREATE_COMPLETE, 5 of 5 servers")
	for n, c := range i.Instantiated.VnfcInfo {
		end, state := 0.0, lcm.StepOpen
		detail := ""
		if n < 2 {
			end, state, detail = 61+float64(n)*4, lcm.StepDone, "containerd 1.7.27, kubeadm 1.33.4"
		}
		step(running, "instantiate_end", "prepare node", c.ID, state, 29+float64(n)*.2, end, detail,
			"waits for the lock of apt",
			"Get:1 http://archive.ubuntu.com/ubuntu jammy-updates/main amd64 containerd amd64 1.7.27",
			"\x1b[32mSetting up containerd (1.7.27-0ubuntu1) ...\x1b[0m", "Setting up kubelet (1.33.4-1.1) ...",
			"swap is off; br_netfilter is loaded",
			"<b>kubeadm</b> config images pull: registry.k8s.io/kube-apiserver:v1.33.4")
	}
	step(running, "instantiate_end", "initialise cluster", i.Instantiated.VnfcInfo[0].ID, lcm.StepOpen, 61.2, 0, "",
		"[init] Using Kubernetes version: v1.33.4", "[preflight] Running pre-flight checks",
		"[certs] Generating \"apiserver\" certificate and key",
		"[control-plane] Creating static Pod manifest for \"kube-apiserver\"",
		"[wait-control-plane] Waiting for the kubelet to boot up the control plane")

	phase(failed, "grant", lcm.PhaseDone, 0, 0.1)
	phase(failed, "infra", lcm.PhaseFailed, 0.1, 41)
	w.phases[failed][1].Attempts, w.phases[failed][1].Error = 1, quota()
	step(failed, "infra", "upload image", "masterNode-image", lcm.StepDone, 0.3, 6.2, "it is there already")
	step(failed, "infra", "create stack", "vnf-"+broken, lcm.StepFailed, 6.3, 41, "", "CREATE_IN_PROGRESS masterNode-0",
		"CREATE_IN_PROGRESS workerNode-1", "CREATE_FAILED workerNode-1: No valid host was found.")
	w.steps[failed][1].Error = quota()
	phase(finished, "grant", lcm.PhaseDone, -3600, -3599)
}

func samplePackages() []*vnfpkg.Package {
	signed := began.Add(-72 * time.Hour)
	return []*vnfpkg.Package{
		{
			ID: good, Created: began.Add(-2 * time.Hour), Updated: began.Add(-time.Hour),
			OnboardingState: sol.PackageOnboardingStateOnboarded, OperationalState: sol.PackageOperationalStateEnabled,
			UsageState: sol.PackageUsageStateInUse, Shared: true, VnfdID: "b1db0ce7-ebca-1fb7-95ed-4840d70a1163",
			Content: &vnfpkg.Content{
				Digest: "9b1f3c5d7e9f1b3d5f7a9c1e3f5b7d9f1a3c5e7f9b1d3f5a7c9e1f3b5d7f9a1c", Size: 48_213,
			},
			UserDefinedData: sol.KeyValuePairs{"team": "core", "upload_token": secret},
			Onboarded: &vnfpkg.Onboarded{
				Provider: "Gybe", ProductName: "Kubernetes cluster", SoftwareVersion: "1.0", VnfdVersion: "1.0",
				VnfdFiles: []string{"Definitions/kubernetes_top.vnfd.yaml", "Definitions/kubernetes_df_complex.yaml"},
				Images: []sol.VnfPackageSoftwareImageInfo{
					{ID: "masterNode-image", Name: "ubuntu-22.04-server", Version: "22.04", DiskFormat: "QCOW2"},
				},
				Artifacts: []sol.VnfPackageArtifactInfo{{
					ArtifactPath: "Scripts/install_k8s_cluster.sh",
					Checksum:     sol.Checksum{Algorithm: "SHA-256", Hash: "5d7f9a1c3e5f7b9d"},
				}},
				Texts: []string{"the manifest names vnf_release_date_time without a time zone"},
				Warnings: []vnfd.Warning{{
					Code: vnfd.NoDefaultLevel, Subject: "simple", FlavourID: "simple",
					Location:   "Definitions/df_simple.yaml#/topology_template/policies/3/instantiation_levels",
					Text:       `Definitions/df_simple.yaml:57: the flavour "simple" has 2 instantiation levels, but no default_level`,
					Remedy:     "name a level in the request, or add the property default_level",
					Operations: []string{"INSTANTIATE", "CHANGE_FLAVOUR", "CHANGE_VNFPKG"},
				}},
				Signature: &signature.Result{
					State: signature.Trusted, Option: signature.Option1, Checked: began.Add(-time.Hour),
					Signers: []signature.Signer{{
						Signs: "kubernetes_top.vnfd.mf", Subject: "CN=Example release,O=Example", Trusted: true,
						Fingerprint: "eaac021a1488dc0e", Root: "CN=Example package CA,O=Example",
						Algorithm: "SHA-256 with RSA", SigningTime: &signed,
					}},
					Checks: []signature.Check{{
						Name: signature.CheckCoverage, Outcome: signature.Passed,
						Detail: "the manifest lists all files",
					}},
				},
			},
		},
		{
			ID: refused, Created: began.Add(-time.Hour), Updated: began.Add(-30 * time.Minute),
			OnboardingState: sol.PackageOnboardingStateCreated, OperationalState: sol.PackageOperationalStateDisabled,
			UsageState: sol.PackageUsageStateNotInUse,
			Failure: &sol.ProblemDetails{
				Title: "VNF package rejected", Status: 422,
				Detail: "Scripts/install_k8s_cluster.sh: the SHA-256 in the manifest is 5d7f…, the file's is 91aa…",
				Hint:   "build the package again with `gybe package build`, which writes the checksums",
			},
		},
		{
			ID: foreign, Created: began.Add(-time.Hour), Updated: began.Add(-time.Hour),
			OnboardingState: sol.PackageOnboardingStateOnboarded, OperationalState: sol.PackageOperationalStateEnabled,
			UsageState: sol.PackageUsageStateNotInUse, Project: "platform", Shared: true,
			VnfdID: "0c3f8b1e-5d0f-4a55-8f0f-6a1f3f0c5d01",
			Onboarded: &vnfpkg.Onboarded{
				Provider: "Gybe", ProductName: "Load balancer", SoftwareVersion: "2.1", VnfdVersion: "1.0",
				Signature: &signature.Result{
					State: signature.Failed, Option: signature.Option1, Checked: began.Add(-time.Hour),
					Signers: []signature.Signer{{
						Signs: "vnfd.mf", Subject: "CN=<script>alert(1)</script>", Algorithm: "SHA-256 with ECDSA",
					}},
					Checks: []signature.Check{{
						Name: signature.CheckTrust, Outcome: signature.Failure,
						Subject: "CN=<script>alert(1)</script>",
						Detail:  "no chain leads from the signer's certificate to the trust store",
						Hint:    "put the certificate of its authority into the trust store",
					}},
				},
			},
		},
	}
}
