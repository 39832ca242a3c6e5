package openstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// packages are several by id.
type packages map[string]onePackage

func (p packages) Model(_ context.Context, _ lcm.Principal, vnfdID string) (*vnfd.VNFD, string, error) {
	for id, o := range p {
		if o.model.ID == vnfdID {
			return o.model, id, nil
		}
	}
	return nil, "", lcm.Errorf(lcm.CodeUnprocessable, "no such package")
}

func (p packages) VnfdID(_ context.Context, _ lcm.Principal, id string) (string, error) {
	return p[id].model.ID, nil
}

func (p packages) ModelOf(_ context.Context, id string) (*vnfd.VNFD, error) { return p[id].model, nil }

func (p packages) Files(_ context.Context, id string) (fs.FS, error) { return p[id].files, nil }

const (
	rollTop = `heat_template_version: 2018-08-31
parameters: {nfv: {type: json}}
resources:
  VDU1:
    type: VDU1.yaml
    properties:
      flavor: {get_param: [nfv, VDU, VDU1, computeFlavourId]}
      image: {get_param: [nfv, VDU, VDU1, vcImageId]}
      net: {get_param: [nfv, CP, VDU1_CP1, network]}
      net2: {get_param: [nfv, CP, VDU1_CP2, network]}
      ips2: {get_param: [nfv, CP, VDU1_CP2, fixed_ips]}
  VDU2:
    type: VDU2.yaml
    properties:
      flavor: {get_param: [nfv, VDU, VDU2, computeFlavourId]}
      image: {get_param: [nfv, VDU, VDU2-Storage, vcImageId]}
      net: {get_param: [nfv, CP, VDU2_CP1, network]}
`
	rollVDU1 = `heat_template_version: 2018-08-31
parameters: {flavor: {type: string}, image: {type: string}, net: {type: string}, net2: {type: string}, ips2: {type: json, default: []}}
resources:
  VDU1: {type: 'OS::Nova::Server', properties: {flavor: {get_param: flavor}, image: {get_param: image}, networks: [{port: {get_resource: VDU1_CP1}}, {port: {get_resource: VDU1_CP2}}]}}
  VDU1_CP1: {type: 'OS::Neutron::Port', properties: {network: {get_param: net}}}
  VDU1_CP2: {type: 'OS::Neutron::Port', properties: {network: {get_param: net2}, fixed_ips: {get_param: ips2}}}
`
	rollVDU2 = `heat_template_version: 2018-08-31
parameters: {flavor: {type: string}, image: {type: string}, net: {type: string}}
resources:
  VDU2: {type: 'OS::Nova::Server', properties: {flavor: {get_param: flavor}, image: cirros-0.5.2-x86_64-disk, block_device_mapping_v2: [{volume_id: {get_resource: VDU2-Storage}, boot_index: -1, device_name: vdb}], networks: [{port: {get_resource: VDU2_CP1}}]}}
  VDU2-Storage: {type: 'OS::Cinder::Volume', properties: {size: 1, image: {get_param: image}}}
  VDU2_CP1: {type: 'OS::Neutron::Port', properties: {network: {get_param: net}}}
`
	extraVDU = `
  %[1]s: {type: 'OS::Nova::Server', properties: {flavor: {get_param: [nfv, VDU, %[1]s, computeFlavourId]}, image: cirros-0.5.2-x86_64-disk, networks: [{network: net0}]}}
`
)

// rolling are the packages of an upgrade. VDU1 gets another flavour, image and metadata, and its image has the same
// name in both; VDU2's server gets another flavour, and its volume a size; VDU3 is in the old package only, VDU4 in the
// new.
func rolling(size int) packages {
	image := func(content string) *vnfd.SwImage {
		return &vnfd.SwImage{
			Name: "app", DiskFormat: "raw", ContainerFormat: "bare", File: "Files/app.img",
			ChecksumAlgorithm: "sha-256", ChecksumHash: content,
		}
	}
	cirros := &vnfd.SwImage{Name: "cirros-0.5.2-x86_64-disk"}
	pkg := func(id, version, flavour, other string, f fstest.MapFS) onePackage {
		return onePackage{&vnfd.VNFD{
			ID: id, Version: version, Provider: "p", ProductName: "n", SoftwareVersion: version,
			Flavours: []vnfd.Flavour{{
				ID: "default",
				VDUs: []vnfd.VDU{
					{Name: "VDU1", ComputeFlavour: flavour, Image: image(version)},
					{Name: "VDU2", ComputeFlavour: flavour, Storages: []string{"VDU2-Storage"}},
					{Name: other, ComputeFlavour: "m1.tiny"},
				},
				Storages: []vnfd.Storage{{Name: "VDU2-Storage", Type: "BLOCK", Image: cirros}},
				CPs: []vnfd.CP{
					{Name: "VDU1_CP1", VDU: "VDU1", External: true},
					{Name: "VDU1_CP2", VDU: "VDU1", External: true},
					{Name: "VDU2_CP1", VDU: "VDU2", External: true},
				},
				Levels: []vnfd.InstantiationLevel{
					{ID: "two", VDUs: map[string]int{"VDU1": 2, "VDU2": 1, other: 1}},
				},
				DefaultLevel: "two",
			}},
		}, f}
	}
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return packages{
		"pkg-1": pkg("vnfd-1", "1.0", "m1.tiny", "VDU3", fstest.MapFS{
			"BaseHOT/default/top.yaml": file(rollTop + fmt.Sprintf(extraVDU, "VDU3")), "Files/app.img": file("one"),
			"BaseHOT/default/nested/VDU1.yaml": file(rollVDU1), "BaseHOT/default/nested/VDU2.yaml": file(rollVDU2),
		}),
		"pkg-2": pkg("vnfd-2", "2.0", "m1.small", "VDU4", fstest.MapFS{
			"BaseHOT/default/top.yaml": file(rollTop + fmt.Sprintf(extraVDU, "VDU4")),
			"Files/app.img":            file("two, which is longer"),
			"BaseHOT/default/nested/VDU1.yaml": file(strings.Replace(rollVDU1, "{flavor: {get_param: flavor},",
				"{metadata: {generation: two}, flavor: {get_param: flavor},", 1)),
			"BaseHOT/default/nested/VDU2.yaml": file(
				strings.Replace(rollVDU2, "size: 1", fmt.Sprint("size: ", size), 1),
			),
		}),
	}
}

var standardUserData = map[string]any{
	"lcm-operation-user-data": "./UserData/userdata_standard.py", "lcm-operation-user-data-class": "StandardUserData",
}

// newRolling is a world with an instance of the old package.
func newRolling(tb testing.TB, cloud *simcloud.Cloud) *world {
	tb.Helper()
	w := newWorld(tb, cloud)
	all := rolling(1)
	w.pkgs, w.pkg = all, all["pkg-1"]
	w.store.instance.VnfdID = w.pkg.model.ID
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "additionalParams": standardUserData,
		"extVirtualLinks": []any{link("ext-0", cloud.Net0ID(), "VDU1_CP1", "VDU1_CP2", "VDU2_CP1")},
	})
	w.store.instance.Params = encoded(w.t, standardUserData)
	w.completed()
	w.reset()
	return w
}

// link is an external virtual link on a network with connection points.
func link(id, network string, cps ...string) map[string]any {
	ext := []any{}
	for _, cp := range cps {
		ext = append(ext, map[string]any{"cpdId": cp, "cpConfig": map[string]any{cp + "_1": map[string]any{
			"cpProtocolData": []any{map[string]any{
				"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
					"ipAddresses": []any{map[string]any{"type": "IPV4", "numDynamicAddresses": 1}},
				},
			}},
		}}})
	}
	return map[string]any{"id": id, "resourceId": network, "extCps": ext}
}

// upgrade admits the change to the new package.
func (w *world) upgrade(params map[string]any) {
	w.t.Helper()
	if params == nil {
		params = map[string]any{}
	}
	w.change(sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": "vnfd-2", "additionalParams": params},
		lcm.Scope{Flavour: "default"})
	w.store.op.VnfPkgID = "pkg-2"
	w.store.op.Scope.Counts = map[string]int{"VDU1": 2, "VDU2": 1, "VDU4": 1}
}

// coordinator is a coordination server that notes who is asked about, and what the cloud is like at that moment.
type coordinator struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []map[string]any // requests
	keys   []string         // Idempotency-Key of each
	seen   []string         // flavours of VDU1-0, VDU1-1, VDU2-0 at each
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

func newCoordinator(t *testing.T, w *world) *coordinator {
	t.Helper()
	c := &coordinator{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			raw, _ := io.ReadAll(r.Body)
			var req map[string]any
			_ = json.Unmarshal(raw, &req)
			seen := w.flavours()
			c.mu.Lock()
			c.asked, c.keys, c.seen = append(c.asked, req), append(
				c.keys, r.Header.Get("Idempotency-Key"),
			), append(c.seen, seen)
			c.mu.Unlock()
		}
		c.mu.Lock()
		n, answer := len(c.asked), c.answer
		c.mu.Unlock()
		if answer == nil {
			answer = says("CONTINUE")
		}
		answer(n, rw, r)
	}))
	t.Cleanup(c.Close)
	return c
}

// says is the synchronous answer with this result.
func says(result string) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/lcmcoord/v1/coordinations/c1")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":"c1","coordinationResult":%q,"error":{"title":"no","detail":"because"}}`, result)
	}
}

// about lists the VNFCs that were asked about, by their VDU.
func (c *coordinator) about() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, r := range c.asked {
		input, _ := r["inputParams"].(map[string]any)
		ids, _ := input["vnfcInstanceIds"].([]any)
		back := ""
		if input["isRollback"] == true {
			back = " back"
		}
		out = append(out, fmt.Sprint(ids[0])[:4]+back)
	}
	return out
}

// flavours are those of the servers of VDU1-0, VDU1-1 and VDU2-0 in the cloud.
func (w *world) flavours() string { return w.flavoursOf(w.servers()) }

// flavoursOf are the flavours of servers.
func (w *world) flavoursOf(servers []map[string]any) string {
	names := map[any]string{}
	list, _ := w.ask("compute", http.MethodGet, "/flavors", nil)["flavors"].([]any)
	for _, f := range list {
		m, _ := f.(map[string]any)
		names[m["id"]] = fmt.Sprint(m["name"])
	}
	var out []string
	for _, s := range servers {
		f, _ := s["flavor"].(map[string]any)
		out = append(out, names[f["id"]])
	}
	return strings.Join(out, " ")
}

// servers are those of VDU1-0, VDU1-1 and VDU2-0 in the cloud.
func (w *world) servers() []map[string]any {
	stacks, _ := w.ask("orchestration", http.MethodGet, "/stacks?name="+w.stackName(), nil)["stacks"].([]any)
	top, _ := stacks[0].(map[string]any)
	all, _ := w.ask("orchestration", http.MethodGet,
		fmt.Sprintf("/stacks/%s/%s/resources?nested_depth=3", w.stackName(), top["id"]), nil)["resources"].([]any)
	var out []map[string]any
	for _, stack := range []string{"-VDU1-0-", "-VDU1-1-", "-VDU2-0-"} {
		for _, r := range all {
			m, _ := r.(map[string]any)
			if m["resource_type"] == "OS::Nova::Server" && strings.Contains(fmt.Sprint(m["links"]), stack) {
				got, _ := w.ask("compute", http.MethodGet, fmt.Sprint("/servers/", m["physical_resource_id"]),
					nil)["server"].(map[string]any)
				out = append(out, got)
			}
		}
	}
	return out
}

// vduParams are vdu_params with the server's endpoint for these VDUs.
func (c *coordinator) vduParams(vdus ...string) map[string]any {
	var list []any
	for _, v := range vdus {
		p := map[string]any{"endpoint": c.URL, "timeout": 600}
		list = append(list, map[string]any{"vdu_id": v, "new_vnfc_param": p, "old_vnfc_param": p})
	}
	return map[string]any{"upgrade_type": "RollingUpdate", "vdu_params": list}
}

// TestPackageIsChanged: VNFC by VNFC in the order that the request has, with a question after each; ids stay, and the
// old image goes at the end.
func TestPackageIsChanged(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	w.pkgs = rolling(2)
	c := newCoordinator(t, w)
	servers, ports, volumes := w.ids("OS::Nova::Server"), w.ids("OS::Neutron::Port"), w.ids("OS::Cinder::Volume")
	image := w.image("VDU1-0")
	w.cfg.PublicURL = "https://vnfm.example"
	w.upgrade(c.vduParams("VDU2", "VDU1"))
	w.completed()

	require.Equal(t, []string{"VDU2", "VDU1", "VDU1"}, c.about())
	require.Equal(
		t, []string{"m1.tiny m1.tiny m1.small", "m1.tiny m1.small m1.small", "m1.small m1.small m1.small"}, c.seen,
		"one VNFC after the other, the highest index first")
	require.Equal(t, w.store.op.ID, c.asked[0]["vnfLcmOpOccId"])
	require.Equal(t, "CHANGE_VNFPKG", c.asked[0]["lcmOperationType"])
	require.Equal(t, "https://vnfm.example/vnflcm/v2/vnf_instances/"+w.store.instance.ID,
		c.asked[0]["_links"].(map[string]any)["vnfInstance"].(map[string]any)["href"])
	require.Equal(t, 4, w.updates(), "one for each VNFC, one for the rest")

	require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
	require.Empty(t, differing(volumes, w.ids("OS::Cinder::Volume")), "a volume that grows stays")
	require.Equal(t, []string{"VDU3-0 VDU3-0", "VDU4-0 VDU4-0"}, differing(servers, w.ids("OS::Nova::Server")),
		"the servers stay, those of VDUs that come and go do not")
	for _, s := range w.servers()[:2] {
		require.Equal(t, map[string]any{"generation": "two"}, s["metadata"])
	}
	require.Equal(t, "vnfd-2", w.store.instance.VnfdID)
	require.Equal(t, "pkg-2", w.store.instance.VnfPkgID)
	require.NotEqual(t, image, w.image("VDU1-0"))
	require.Len(t, w.images(), 1, "the former package's image is gone")
	require.Contains(t, w.images()[0], w.image("VDU1-0"))
	require.Subset(t, w.store.forgotten, w.vnfcs("VDU1", "VDU2"), "their host keys are others")
	w.terminate()
	w.completed()
	require.Empty(t, w.images())
}

// image is the image that nfv has for a VNFC.
func (w *world) image(key string) string {
	nfv, _ := w.store.instance.Instantiated.Metadata["nfv"].(map[string]any)
	vdus, _ := nfv["VDU"].(map[string]any)
	leaves, _ := vdus[key].(map[string]any)
	s, _ := leaves["vcImageId"].(string)
	return s
}

// images are those of the instance in the cloud.
func (w *world) images() []string {
	list, _ := w.ask("image", http.MethodGet, "/v2/images?tag="+w.store.instance.ID, nil)["images"].([]any)
	var out []string
	for _, i := range list {
		m, _ := i.(map[string]any)
		out = append(out, fmt.Sprint(m["name"], " ", m["id"]))
	}
	return out
}

// vnfcs are the vnfcInfo ids of VDUs.
func (w *world) vnfcs(vdus ...string) []string {
	var out []string
	for _, c := range w.store.instance.Instantiated.VnfcInfo {
		if slices.Contains(vdus, c.VduID) {
			out = append(out, c.ID)
		}
	}
	return out
}

// TestPackageOfSomeVDUs: a VDU that the request does not list keeps its image, flavour and host keys, and the image
// that it is made from.
func TestPackageOfSomeVDUs(t *testing.T) {
	t.Parallel()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	image := w.image("VDU1-0")
	w.upgrade(map[string]any{"vdu_params": []any{map[string]any{"vdu_id": "VDU2"}}})
	w.completed()
	require.Equal(t, "m1.tiny m1.tiny m1.small", w.flavours())
	require.Equal(t, image, w.image("VDU1-0"))
	require.Equal(t, []string{"app " + image}, w.images())
	require.NotSubset(t, w.store.forgotten, w.vnfcs("VDU1"))
	require.NotSubset(t, w.store.forgotten, w.vnfcs("VDU2"), "it is the same machine with another size")
	require.Equal(t, 2, w.updates())
}

// upgradeVDU2 changes to a package in which VDU2 may have another flavour, and all else is the same.
func (w *world) upgradeVDU2(flavour string) {
	w.t.Helper()
	all := rolling(1)
	next := rolling(1)["pkg-1"]
	next.model.ID, next.model.Version = "vnfd-2", "2.0"
	next.model.Flavours[0].VDUs[1].ComputeFlavour = flavour
	all["pkg-2"] = next
	w.pkgs = all
	w.upgrade(nil)
	w.store.op.Scope.Counts = map[string]int{"VDU1": 2, "VDU2": 1, "VDU3": 1}
}

// TestPackageThatDiffersInOneVDU: VNFCs that are the same in both packages are no work for Heat, and keep their servers
// and their host keys.
func TestPackageThatDiffersInOneVDU(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		vdu2    string
		updates int
		planned []string
	}{"none": {"m1.tiny", 1, []string{}}, "VDU2": {"m1.small", 2, []string{"Nova::Server VDU2-0"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
			servers := w.ids("OS::Nova::Server")
			w.upgradeVDU2(tt.vdu2)
			p := w.preview()
			require.Equal(t, tt.planned, plannedNames(slices.Concat(p.Add, p.Remove, p.Replace, p.Change)),
				"the image of the package is there already")
			w.completed()
			require.Equal(t, "vnfd-2", w.store.instance.VnfdID)
			require.Equal(t, "m1.tiny m1.tiny "+tt.vdu2, w.flavours())
			require.Empty(t, differing(servers, w.ids("OS::Nova::Server")))
			require.NotSubset(t, w.store.forgotten, w.vnfcs("VDU1"))
			require.Equal(t, tt.updates, w.updates())
		})
	}
}

// TestPackageFailsHalfWay: a retry goes on with the VNFC that failed; a rollback takes back, in the opposite order,
// those that were changed, and no others.
func TestPackageFailsHalfWay(t *testing.T) {
	t.Parallel()
	for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
		t.Run(string(then), func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			w := newRolling(t, cloud)
			c := newCoordinator(t, w)
			before, images := copied(w.store.instance), w.images()
			rule := cloud.AddFault(simcloud.Fault{
				Kind: fault.FailResource, ResourceType: "OS::Nova::Server", ResourceName: "VDU1", Action: "update",
				Reason: "no valid host was found", Nth: 1, Count: 1,
			})
			w.upgrade(c.vduParams("VDU2", "VDU1"))
			f := w.failed()
			require.Equal(t, "Stack update failed", f.Title)
			require.Contains(t, f.Detail, "VDU1-1")
			require.Equal(t, []string{"VDU2"}, c.about())
			require.Equal(t, "vnfd-1", w.store.instance.VnfdID)
			cloud.Faults().Remove(rule)
			w.reset()
			w.steer(then)
			if then == lcm.EventRetry {
				w.completed()
				require.Equal(t, []string{"VDU2", "VDU1", "VDU1"}, c.about(), "no VNFC is coordinated twice")
				require.Equal(t, "m1.small m1.small m1.small", w.flavours())
				require.Equal(t, 3, w.updates())
				return
			}
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
			require.Equal(t, []string{"VDU2", "VDU1 back", "VDU2 back"}, c.about())
			require.Equal(t, "m1.tiny m1.tiny m1.tiny", w.flavours())
			require.Equal(t, 2, w.updates())
			require.Equal(t, images, w.images(), "the new package's image is gone, the old one's is not")
			w.asBefore(before)
		})
	}
}

// asBefore wants the instance's record to be what it was.
func (w *world) asBefore(before lcm.Instance) {
	w.t.Helper()
	is := w.store.instance
	require.Equal(w.t, before.VnfdID, is.VnfdID)
	require.Equal(w.t, before.VnfPkgID, is.VnfPkgID)
	require.Equal(w.t, before.Instantiated.Metadata["nfv"], is.Instantiated.Metadata["nfv"])
	require.Equal(w.t, before.Instantiated.ExtVirtualLinkInfo, is.Instantiated.ExtVirtualLinkInfo)
	require.Equal(w.t, before.Instantiated.VnfcResourceInfo, is.Instantiated.VnfcResourceInfo)
}

// TestPackageThatGrew: resources that cannot shrink do not prevent a rollback. Servers whose disk gets another image
// are recreated immediately; other losses are reported to the user first, and the next rollback recreates the
// resources.
func TestPackageThatGrew(t *testing.T) {
	t.Parallel()
	const flavour = "BadRequest: Flavor's disk is smaller than the minimum size specified in image metadata. Flavor " +
		"disk is 1073741824 bytes"
	for _, tt := range []struct {
		name, vdu string
		size      int
		told      string
		servers   []string
		volumes   []string
	}{
		{"disks with another image", "VDU1", 1, "", []string{"VDU1-0 VDU1", "VDU1-1 VDU1"}, nil},
		{"a disk with the same image", "VDU2", 1, "Flavor's disk is smaller", []string{"VDU2-0 VDU2"}, nil},
		{"a volume", "", 2, "Shrinking volume is not supported", []string{"VDU2-0 VDU2"}, []string{
			"VDU2-0 VDU2-Storage",
		}},
		{
			"a volume and a disk", "VDU2", 2, "Shrinking volume is not supported",
			[]string{"VDU2-0 VDU2"},
			[]string{"VDU2-0 VDU2-Storage"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cloud := simcloud.StartTest(t, simcloud.Options{})
			w := newRolling(t, cloud)
			before := copied(w.store.instance)
			servers, ports, volumes := w.ids("OS::Nova::Server"), w.ids("OS::Neutron::Port"), w.ids(
				"OS::Cinder::Volume",
			)
			w.pkgs = rolling(tt.size)
			rule := cloud.AddFault(
				simcloud.Fault{Kind: fault.FailResource, ResourceName: "VDU4-0", Action: "create", Reason: "broken"},
			)
			w.upgrade(nil)
			w.failed()
			cloud.Faults().Remove(rule)
			if tt.vdu != "" {
				cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server",
					ResourceName: tt.vdu, Action: "update", Reason: flavour,
				})
			}
			w.steer(lcm.EventRollback)
			if tt.told != "" {
				f := w.failed()
				require.Contains(t, f.Detail, tt.told)
				require.Contains(t, f.Hint, "recreated, without the data on them")
				w.reset()
				w.steer(lcm.EventRollback)
			}
			require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
			require.Equal(t, "m1.tiny m1.tiny m1.tiny", w.flavours())
			for _, s := range w.store.steps {
				require.NotEqual(t, lcm.StepOpen, s.State, "%s %s", s.Name, s.Target)
			}
			require.Equal(t, before.Instantiated.Metadata["nfv"], w.store.instance.Instantiated.Metadata["nfv"])
			require.Empty(t, differing(ports, w.ids("OS::Neutron::Port")))
			require.Equal(t, tt.servers, differing(servers, w.ids("OS::Nova::Server")))
			require.Equal(t, tt.volumes, differing(volumes, w.ids("OS::Cinder::Volume")))
		})
	}
}
