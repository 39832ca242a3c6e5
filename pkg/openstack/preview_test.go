package openstack_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// preview plans the operation that was admitted last, and lets nothing of it happen.
func (w *world) preview() *lcm.Preview {
	w.t.Helper()
	r := w.admitted()
	d, _ := w.node()
	defer d.Close()
	before := w.cloud.State()
	p, err := d.Preview(w.t.Context(), r)
	require.NoError(w.t, err)
	require.Empty(w.t, w.cloud.State().Since(before), "a preview changes nothing")
	return p
}

// admitted is the request of the operation that was admitted last.
func (w *world) admitted() lcm.Request {
	w.t.Helper()
	op, i := w.store.op, copied(w.store.instance)
	r := lcm.Request{
		Type: op.Type, Instance: &i, VNFD: w.pkg.model, Flavour: &w.pkg.model.Flavours[0],
		Package: w.pkg.files, Params: op.Params, Scope: op.Scope,
	}
	var req struct {
		FlavourID        string            `json:"flavourId"`
		AdditionalParams sol.KeyValuePairs `json:"additionalParams"`
	}
	require.NoError(w.t, json.Unmarshal(op.Params, &req))
	r.AdditionalParams = req.AdditionalParams
	if f := w.pkg.model.Flavour(req.FlavourID); f != nil {
		r.Flavour = f
	}
	if op.Scope != nil {
		r.Flavour = w.pkg.model.Flavour(op.Scope.Flavour)
		r.Previous = &lcm.Revision{
			VNFD: w.pkg.model, Flavour: w.pkg.model.Flavour(i.Instantiated.FlavourID), Package: w.pkg.files,
		}
	}
	if all, ok := w.pkgs.(packages); ok && op.VnfPkgID != "" {
		next := all[op.VnfPkgID]
		r.VNFD, r.Flavour, r.Package = next.model, next.model.Flavour(op.Scope.Flavour), next.files
	}
	return r
}

func plannedNames(list []lcm.PlannedResource) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, strings.TrimPrefix(r.Type, "OS::")+" "+r.Name)
	}
	slices.Sort(out)
	return out
}

// checksIn lists the subjects of the checks with this outcome.
func checksIn(p *lcm.Preview, state lcm.CheckState) []string {
	out := []string{}
	for _, c := range p.Checks {
		if c.State == state {
			out = append(out, c.Subject)
		}
	}
	return out
}

// TestPlanOfAnInstantiation: what a request would make, and that the cloud has what it needs.
func TestPlanOfAnInstantiation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	require.NoError(t, w.cloud.SetQuota("nova", map[string]int{"instances": 10, "cores": 40}))
	w.instantiate("simple")
	p := w.preview()
	require.True(t, p.Possible, p.Checks)
	require.Equal(t, []string{
		"Neutron::FloatingIP masterNode_CP1_floating_ip-0", "Neutron::FloatingIP workerNode_CP1_floating_ip-0",
		"Neutron::FloatingIP workerNode_CP1_floating_ip-1", "Neutron::Port masterNode_CP1-0",
		"Neutron::Port workerNode_CP1-0", "Neutron::Port workerNode_CP1-1", "Nova::Server masterNode-0",
		"Nova::Server workerNode-0", "Nova::Server workerNode-1",
	}, plannedNames(p.Add))
	require.Empty(t, checksIn(p, lcm.CheckFailed))
	for _, subject := range []string{
		"image masterNode-image", "flavour m1.medium", "network " + w.cloud.Net0ID(), "network public",
		"quota of servers", "quota of cores", "quota of ports", "quota of floatingips",
	} {
		require.Contains(t, checksIn(p, lcm.CheckOK), subject, "%+v", p.Checks)
	}
	tops, _ := w.stacks()
	require.Zero(t, tops)
}

// TestPlanSaysWhatIsMissing: everything that the cloud lacks is reported together, with hints.
func TestPlanSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	require.NoError(t, w.cloud.SetQuota("nova", map[string]int{"instances": 3}))
	require.NoError(t, w.cloud.SetQuota("neutron", map[string]int{"port": 1}))
	require.NoError(t, w.cloud.SetQuota("cinder", map[string]int{"volumes": 0}))
	w.mixed("two")
	var req map[string]any
	require.NoError(t, json.Unmarshal(w.store.op.Params, &req))
	params, _ := req["additionalParams"].(map[string]any)
	params["nfv"] = map[string]any{"VDU": map[string]any{
		"VDU1-0": map[string]any{"computeFlavourId": "m9.none", "locationConstraints": "nowhere"},
		"VDU1-1": map[string]any{"vcImageId": "no image"},
	}, "CP": map[string]any{"VDU2_CP1-0": map[string]any{"network": "no network"}}}
	w.admit(sol.LcmOperationInstantiate, req)
	p := w.preview()
	require.False(t, p.Possible)
	require.Equal(t, []string{
		"flavour m9.none", "image no image", "network no network", "quota of ports", "quota of servers",
		"quota of volumes", "zone nowhere",
	}, checksIn(p, lcm.CheckFailed))
	for _, c := range p.Checks[:7] {
		require.NotEmpty(t, c.Hint, c.Subject)
	}
	at := slices.IndexFunc(p.Checks, func(c lcm.Check) bool { return c.Subject == "quota of servers" })
	require.Equal(t, "4 needed, 0 of 3 are in use", p.Checks[at].Detail)
}

// TestPlanWithoutAnswers: a failed query of the cloud does not fail the plan.
func TestPlanWithoutAnswers(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.cloud.AddFault(simcloud.Fault{
		Kind: fault.Status, Service: "neutron", Path: "/quotas/", Status: http.StatusForbidden, Reason: "not for you",
	})
	w.cloud.AddFault(simcloud.Fault{Kind: fault.Status, Service: "glance", Status: http.StatusServiceUnavailable})
	w.mixed("two")
	p := w.preview()
	require.True(t, p.Possible)
	require.Equal(t, []string{"images", "quota of networking"}, checksIn(p, lcm.CheckWarning))
	require.Contains(t, p.Checks[1].Detail, "not for you")
}

// TestPlanOfFixedAddresses: an address that another port has, or that is in no subnet, is found before Heat finds it.
func TestPlanOfFixedAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.pkg = onePackage{model: &vnfd.VNFD{ID: "d", Flavours: []vnfd.Flavour{{
		ID: "f",
		VDUs: []vnfd.VDU{{Name: "VDU1", InitialInstances: 1, ComputeFlavour: "m1.tiny", Image: &vnfd.SwImage{
			Name: "cirros-0.5.2-x86_64-disk",
		}}},
		CPs: []vnfd.CP{{Name: "VDU1_CP1", VDU: "VDU1"}},
	}}}, files: addressed}
	o := newOutsider(t, w.cloud)
	o.named("/network/v2.0/ports", "port", "theirs", map[string]any{"network_id": w.cloud.Net0ID()})
	var taken string
	for _, p := range w.cloud.State()["ports"] {
		if p.Name == "theirs" {
			taken = p.Detail
		}
	}
	free := taken[:strings.LastIndexByte(taken, '.')] + ".200"
	for address, want := range map[string][]string{
		taken: {"address " + taken + " of VDU1_CP1-0"}, "192.0.2.1": {"address 192.0.2.1 of VDU1_CP1-0"}, free: {},
	} {
		w.admit(sol.LcmOperationInstantiate, map[string]any{"flavourId": "f", "extVirtualLinks": []any{map[string]any{
			"id": "e", "resourceId": w.cloud.Net0ID(),
			"extCps": []any{map[string]any{"cpdId": "VDU1_CP1", "cpConfig": map[string]any{"c": map[string]any{
				"cpProtocolData": []any{map[string]any{
					"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
						"ipAddresses": []any{map[string]any{"type": "IPV4", "fixedAddresses": []any{address}}},
					},
				}},
			}}}},
		}}})
		require.Equal(t, want, checksIn(w.preview(), lcm.CheckFailed), address)
	}
}

// TestPlanOfChanges: for every kind of change, what comes, goes, and is replaced; the ids are those of the cloud.
func TestPlanOfChanges(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	w.mixed("two")
	w.completed()
	server := func(vdu string) string {
		_, r, _ := w.store.instance.VNFC(w.vnfc(vdu, 0))
		return r.ID
	}

	scale := func(vdu1 int, remove ...string) {
		w.change(sol.LcmOperationScale, map[string]any{}, lcm.Scope{Flavour: "default", Remove: remove})
		w.store.op.Scope.Counts["VDU1"] = vdu1
	}
	scale(3)
	p := w.preview()
	require.Equal(t, []string{"Neutron::Port VDU1_CP1-2", "Nova::Server VDU1-2"}, plannedNames(p.Add))
	require.Empty(t, plannedNames(slices.Concat(p.Remove, p.Replace, p.Change)))
	require.True(t, p.Possible, p.Checks)

	scale(1, w.vnfc("VDU1", 1))
	p = w.preview()
	require.Equal(t, []string{"Neutron::Port VDU1_CP1-1", "Nova::Server VDU1-1"}, plannedNames(p.Remove))
	require.Equal(t, w.vnfc("VDU1", 1), p.Remove[0].VNFC)
	require.Empty(t, plannedNames(slices.Concat(p.Add, p.Replace, p.Change)))

	heal := func(params map[string]any) *lcm.Preview {
		w.change(sol.LcmOperationHeal, map[string]any{"additionalParams": params},
			lcm.Scope{Flavour: "default", VNFCs: []string{w.vnfc("VDU2", 0)}})
		return w.preview()
	}
	p = heal(map[string]any{})
	require.Equal(t, []string{"Nova::Server VDU2-0"}, plannedNames(p.Replace))
	require.Equal(t, server("VDU2"), p.Replace[0].ID)
	require.Equal(t, []string{"Cinder::Volume VDU2-VirtualStorage-0", "Nova::Server VDU2-0"},
		plannedNames(heal(map[string]any{"all": true}).Replace))

	w.change(sol.LcmOperationOperate, map[string]any{"changeStateTo": "STOPPED"},
		lcm.Scope{Flavour: "default", VNFCs: []string{w.vnfc("VDU3", 0)}})
	p = w.preview()
	require.Equal(t, []string{"Nova::Server VDU3-0"}, plannedNames(p.Change))
	require.Equal(t, "STARTED becomes STOPPED", p.Change[0].Detail)

	o := newOutsider(t, w.cloud)
	net := o.named("/network/v2.0/networks", "network", "other", nil)
	o.named("/network/v2.0/subnets", "subnet", "other", map[string]any{
		"network_id": net, "cidr": "10.98.0.0/24", "ip_version": 4,
	})
	w.change(sol.LcmOperationChangeExtConn, map[string]any{"extVirtualLinks": []any{map[string]any{
		"id": "ext-2", "resourceId": net, "extCps": []any{map[string]any{
			"cpdId": "VDU1_CP1", "cpConfig": map[string]any{"VDU1_CP1_1": map[string]any{"cpProtocolData": []any{
				map[string]any{"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
					"ipAddresses": []any{map[string]any{"type": "IPV4", "numDynamicAddresses": 1}},
				}},
			}}},
		}},
	}}}, lcm.Scope{Flavour: "default"})
	p = w.preview()
	require.Equal(t, []string{"Neutron::Port VDU1_CP1-0", "Neutron::Port VDU1_CP1-1"}, plannedNames(p.Replace))
	require.Contains(t, p.Replace[0].Detail, net)
	require.Empty(t, plannedNames(slices.Concat(p.Add, p.Remove)))

	w.terminate()
	p = w.preview()
	require.Len(t, p.Remove, 4+3+1, "servers, ports and a volume")
	require.True(t, p.Possible)
}

// addressed is a package whose VDU's port takes the addresses of the request.
var addressed = fstest.MapFS{"BaseHOT/f/top.yaml": {Data: []byte(`heat_template_version: 2013-05-23
parameters: { nfv: { type: json } }
resources:
  VDU1:
    type: OS::Nova::Server
    properties:
      flavor: { get_param: [ nfv, VDU, VDU1, computeFlavourId ] }
      image: { get_param: [ nfv, VDU, VDU1, vcImageId ] }
      networks: [ { port: { get_resource: VDU1_CP1 } } ]
  VDU1_CP1:
    type: OS::Neutron::Port
    properties:
      network: { get_param: [ nfv, CP, VDU1_CP1, network ] }
      fixed_ips: [ { ip_address: { get_param: [ nfv, CP, VDU1_CP1, fixed_ips, 0, ip_address ] } } ]
`)}}

// TestPlanNamesMissingValues: a value that the template reads and that neither package nor request has is reported
// before Heat fails, or uses an empty one.
func TestPlanNamesMissingValues(t *testing.T) {
	t.Parallel()
	w := newMixed(t, simcloud.StartTest(t, simcloud.Options{}))
	greeting := fstest.MapFS{}
	for _, name := range []string{
		"BaseHOT/default/top.yaml", "BaseHOT/default/nested/VDU1.yaml", "BaseHOT/default/nested/VDU2.yaml",
	} {
		text, err := fs.ReadFile(w.pkg.files, name)
		require.NoError(t, err)
		text = bytes.Replace(text, []byte("[ { network: net0 } ]"),
			[]byte("[ { network: net0 } ]\n      user_data: { get_param: [ nfv, VDU, VDU3, greeting ] }"), 1)
		greeting[name] = &fstest.MapFile{Data: text}
	}
	w.pkg.files = greeting
	vdus := w.pkg.model.Flavours[0].VDUs
	vdus[0].ComputeFlavour, vdus[2].Image = "", nil
	w.mixed("two")
	p := w.preview()
	require.False(t, p.Possible)
	require.Equal(t, []string{"flavor of VDU1-0", "flavor of VDU1-1", "image of VDU3-0"}, checksIn(p, lcm.CheckFailed))
	require.Contains(t, p.Checks[0].Detail, "there is no value for nfv.VDU.VDU1-0.computeFlavourId")
	require.Equal(t, "give it in additionalParams.nfv", p.Checks[0].Hint)
	require.Contains(t, checksIn(p, lcm.CheckWarning), "value of nfv.VDU.VDU3-0.greeting")

	w.mixedWith("two", map[string]any{"VDU": map[string]any{
		"VDU1-0": map[string]any{"computeFlavourId": "m1.tiny"},
		"VDU1-1": map[string]any{"computeFlavourId": "m1.tiny"},
		"VDU3-0": map[string]any{"vcImageId": "cirros-0.5.2-x86_64-disk", "greeting": "hello"},
	}})
	p = w.preview()
	require.True(t, p.Possible, p.Checks)
	require.Empty(t, checksIn(p, lcm.CheckWarning))
	require.Contains(t, checksIn(p, lcm.CheckOK), "zone of VDU1-0, VDU1-1", "a zone may be left to Nova")
	w.completed()
}
