package openstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

const plainVnfd = "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a11"

// plainPackage is test/packages/plain, which has a user-data class of its own, with texts replaced.
func plainPackage(tb testing.TB, replace ...string) onePackage {
	tb.Helper()
	root := os.DirFS(filepath.Join("..", "..", "test", "packages", "plain"))
	files := fstest.MapFS{}
	require.NoError(tb, fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files[name] = &fstest.MapFile{Data: []byte(strings.NewReplacer(replace...).Replace(string(text)))}
		return err
	}))
	res, err := tosca.Parse(files, tosca.Options{Entry: "Definitions/plain_top.vnfd.yaml"})
	require.NoError(tb, err)
	return onePackage{res.VNFD, files}
}

var siteClass = map[string]any{
	"lcm-operation-user-data": "./UserData/site.py", "lcm-operation-user-data-class": "SiteUserData",
}

// newSite is a world with an instance to be whose stack a class of the package makes.
func newSite(t *testing.T, pkg onePackage) *world {
	t.Helper()
	w := newWorld(t, simcloud.StartTest(t, simcloud.Options{}))
	w.pkg = pkg
	w.store.instance.VnfdID = pkg.model.ID
	var last *script.Runner
	w.scripts = func() openstack.ScriptRunner {
		if last != nil {
			last.Close()
		}
		last = runner(t, script.Bwrap)
		return last
	}
	return w
}

// instantiateSite admits the instantiation at the level with the smallest size.
func (w *world) instantiateSite() {
	w.t.Helper()
	w.store.instance.Params = encoded(w.t, siteClass)
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "default", "additionalParams": siteClass,
		"extVirtualLinks": []any{link("ext", w.cloud.Net0ID(), "VDU1_CP1")},
	})
}

// inHeat is the template that Heat has: its resources and the output of the class.
func (w *world) inHeat() (resources []string, machines string) {
	w.t.Helper()
	stacks, _ := w.ask("orchestration", http.MethodGet, "/stacks?name="+w.stackName(), nil)["stacks"].([]any)
	require.Len(w.t, stacks, 1)
	top, _ := stacks[0].(map[string]any)
	at := fmt.Sprintf("/stacks/%s/%s/template", w.stackName(), top["id"])
	template := w.ask("orchestration", http.MethodGet, at, nil)
	for _, name := range []string{"VDU1", "VDU1-0", "VDU1-1", "VDU1-2"} {
		all, _ := template["resources"].(map[string]any)
		if all[name] != nil {
			resources = append(resources, name)
		}
	}
	outputs, _ := template["outputs"].(map[string]any)
	count, _ := outputs["machines"].(map[string]any)
	return resources, fmt.Sprint(count["value"])
}

// logged says whether a line is in the log of a step.
func (w *world) logged(text string) bool {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return strings.Contains(fmt.Sprint(w.store.logs), text)
}

// TestClassOfThePackage: a package's own user-data class makes the stack, for each operation with the method of its
// name, and its output is in the log of the step.
func TestClassOfThePackage(t *testing.T) {
	t.Parallel()
	w := newSite(t, plainPackage(t))
	w.instantiateSite()
	w.completed()
	resources, machines := w.inHeat()
	require.Equal(t, []string{"VDU1-0"}, resources)
	require.Equal(t, "1", machines)
	require.True(t, w.logged("INFO the flavour default with 1 machines"))
	first := w.ids("OS::Nova::Server")
	require.Contains(t, first, "VDU1-0 VDU1", "VNFCs are numbered as the resources are")

	w.scale(sol.ScaleTypeOut, map[string]int{"VDU1": 3})
	w.completed()
	resources, machines = w.inHeat()
	require.Equal(t, []string{"VDU1-0", "VDU1-1", "VDU1-2"}, resources)
	require.Equal(t, "3", machines)
	grown := w.ids("OS::Nova::Server")
	require.Len(t, grown, 3)
	require.Equal(t, first["VDU1-0 VDU1"], grown["VDU1-0 VDU1"])

	w.scale(sol.ScaleTypeIn, map[string]int{"VDU1": 2})
	w.completed()
	resources, machines = w.inHeat()
	require.Equal(t, []string{"VDU1-0", "VDU1-1"}, resources)
	require.Equal(t, "2", machines)

	w.heal(nil, w.vnfc("VDU1", 1))
	w.completed()
	healed := w.ids("OS::Nova::Server")
	require.Equal(t, grown["VDU1-0 VDU1"], healed["VDU1-0 VDU1"])
	require.NotEqual(t, grown["VDU1-1 VDU1"], healed["VDU1-1 VDU1"])

	w.heal(sol.KeyValuePairs{"all": true})
	w.store.op.Scope.Whole = true
	w.completed()
	resources, _ = w.inHeat()
	require.Equal(t, []string{"VDU1-0", "VDU1-1"}, resources)

	other := w.otherNetwork()
	w.change(sol.LcmOperationChangeExtConn, map[string]any{
		"extVirtualLinks": []any{link("ext-2", other, "VDU1_CP1")},
	}, lcm.Scope{Flavour: "default"})
	w.completed()
	nfv, _ := w.store.instance.Assembled.Parameters["nfv"].(map[string]any)
	require.Equal(t, map[string]any{
		"VDU1_CP1-0": map[string]any{"network": other}, "VDU1_CP1-1": map[string]any{"network": other},
	}, nfv["CP"])

	w.terminate()
	w.completed()
	require.Nil(t, w.store.instance.Assembled)
}

// otherNetwork makes a network that the instance is not connected to.
func (w *world) otherNetwork() string {
	w.t.Helper()
	w.ask("network", http.MethodPost, "/v2.0/networks", map[string]any{"network": map[string]any{"name": "net1"}})
	list, _ := w.ask("network", http.MethodGet, "/v2.0/networks?name=net1", nil)["networks"].([]any)
	require.Len(w.t, list, 1)
	m, _ := list[0].(map[string]any)
	id, _ := m["id"].(string)
	w.ask("network", http.MethodPost, "/v2.0/subnets", map[string]any{
		"subnet": map[string]any{"network_id": id, "ip_version": 4, "cidr": "192.0.2.0/24"},
	})
	return id
}

// TestClassChangesThePackage: change_vnfpkg of the new package's class makes the new stack, and a rollback of a failed
// change leads back to the stack that was stored, without the class.
func TestClassChangesThePackage(t *testing.T) {
	t.Parallel()
	const next = "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a12"
	all := packages{
		"pkg-1": plainPackage(t),
		"pkg-2": plainPackage(t, plainVnfd, next, "capability_name: m1.tiny", "capability_name: m1.small"),
		"pkg-3": plainPackage(t, plainVnfd, next+"b", "fields[\"existing\"] = False", "raise ValueError('not today')"),
	}
	w := newSite(t, all["pkg-1"])
	w.pkgs = all
	w.instantiateSite()
	w.completed()
	flavour := func() any {
		nfv, _ := w.store.instance.Instantiated.Metadata["nfv"].(map[string]any)
		vdus, _ := nfv["VDU"].(map[string]any)
		leaves, _ := vdus["VDU1-0"].(map[string]any)
		return leaves["computeFlavourId"]
	}
	require.Equal(t, "m1.tiny", flavour())
	before := w.store.instance.Assembled

	upgrade := func(id, vnfdID string) {
		w.change(sol.LcmOperationChangeVnfpkg, map[string]any{"vnfdId": vnfdID}, lcm.Scope{Flavour: "default"})
		w.store.op.VnfPkgID = id
	}
	upgrade("pkg-3", next+"b")
	f := w.failed()
	require.Equal(t, "User-data class failed", f.Title)
	require.Contains(t, f.Detail, "ValueError: not today")
	require.Contains(t, f.Hint, "the step \"user data\"")
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	require.Equal(t, "m1.tiny", flavour())
	require.Equal(t, before, w.store.instance.Assembled)

	upgrade("pkg-2", next)
	w.completed()
	require.Equal(t, "m1.small", flavour())
}

// badFlavour grants a flavour that the VIM does not have.
type badFlavour struct{}

func (badFlavour) Grant(context.Context, *lcm.Execution) (*lcm.Grant, error) {
	return &lcm.Grant{ID: "g", Flavours: map[string]string{"VDU1": "no such flavour"}}, nil
}

// TestRollbackOfAClass: the stack from before a scale out that fails comes back, although the class has run.
func TestRollbackOfAClass(t *testing.T) {
	t.Parallel()
	w := newSite(t, plainPackage(t))
	w.instantiateSite()
	w.completed()
	before := w.store.instance.Assembled
	w.scale(sol.ScaleTypeOut, map[string]int{"VDU1": 2})
	w.grantor = badFlavour{}
	w.failed()
	require.Equal(t, w.store.op.ID, w.store.instance.Assembled.Operation)
	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	require.Equal(t, before, w.store.instance.Assembled)
	resources, machines := w.inHeat()
	require.Equal(t, []string{"VDU1-0"}, resources)
	require.Equal(t, "1", machines)
}

// TestClassRunsOnce: a node that dies after the class has run leaves its result; the next one does not run it again, so
// a class that returns something else each time makes one stack.
func TestClassRunsOnce(t *testing.T) {
	t.Parallel()
	const random = `LOG.info("the flavour %s with %d machines", flavour_id, count)`
	pkg := plainPackage(t, random, "import uuid\n    top['description'] = str(uuid.uuid4())\n    LOG.info('has run')")
	w := newSite(t, pkg)
	w.instantiateSite()
	w.dieAtChange, w.dieAfterCall = 1, true // the request that creates the stack
	w.completed()
	require.Equal(t, 1, w.deaths)
	w.store.mu.Lock()
	runs := strings.Count(fmt.Sprint(w.store.logs), "INFO has run")
	w.store.mu.Unlock()
	require.Equal(t, 1, runs)
	var made struct {
		Description string `json:"description" yaml:"description"`
	}
	stacks, _ := w.ask("orchestration", http.MethodGet, "/stacks?name="+w.stackName(), nil)["stacks"].([]any)
	top, _ := stacks[0].(map[string]any)
	require.Len(t, stacks, 1)
	template := w.ask("orchestration", http.MethodGet,
		fmt.Sprintf("/stacks/%s/%s/template", w.stackName(), top["id"]), nil)
	made.Description, _ = template["description"].(string)
	require.Contains(t, w.store.instance.Assembled.Template, made.Description)
}

// classV1 is a user-data class of API version 1, with the methods that such classes have.
const classV1 = `
import tacker.vnfm.lcm_user_data.utils as UserDataUtil

from tacker.vnfm.lcm_user_data.abstract_user_data import AbstractUserData


class V1(AbstractUserData):
    @staticmethod
    def instantiate(base_hot_dict=None, vnfd_dict=None, inst_req_info=None, grant_info=None):
        print("the flavour", inst_req_info.flavour_id, sorted(base_hot_dict), UserDataUtil.create_vdu_flavor_dict(vnfd_dict)["VDU1"])
        print("the address", inst_req_info.ext_virtual_links[0].ext_cps[0].cp_config[0].cp_protocol_data[0].layer_protocol)
        final = UserDataUtil.create_final_param_dict(
            UserDataUtil.create_initial_param_dict(base_hot_dict),
            UserDataUtil.create_vdu_flavor_capability_name_dict(vnfd_dict),
            UserDataUtil.create_vdu_image_dict(grant_info),
            UserDataUtil.create_cpd_vl_dict(base_hot_dict, inst_req_info),
        )
        final["nfv"]["desired_capacity"] = UserDataUtil.create_desired_capacity_dict(
            base_hot_dict, vnfd_dict, inst_req_info)
        return {**final, **UserDataUtil.get_diff_base_hot_param_from_api(base_hot_dict, inst_req_info)}

    def scale(base_hot_dict=None, vnfd_dict=None, scale_vnf_request=None, vnf_instances=None, inst_vnf_info=None,
              param=None, resource_number=None):
        had = UserDataUtil.get_desired_capacity_dict(base_hot_dict, vnfd_dict, inst_vnf_info)
        print("scales", had, scale_vnf_request.type, scale_vnf_request.aspect_id, vnf_instances.instantiation_state)
        param["nfv"]["desired_capacity"][scale_vnf_request.aspect_id] = resource_number
        return param

    def heal(base_hot_dict=None, vnfd_dict=None, heal_vnf_request=None, vnf_instances=None, inst_vnf_info=None,
             param=None, vnfc_resource_info=None):
        print("heals", [vnfc.vdu_id for vnfc in vnfc_resource_info], heal_vnf_request.cause)
        del param["word"]
        return param
`

// newV1 is a world with an instance whose stack a class of API version 1 makes: a group with one VNFC.
func newV1(t *testing.T, class string) *world {
	t.Helper()
	pkg := plainPackage(t, "computeFlavourId", "flavor", "vcImageId", "image",
		"nfv, VDU, VDU1, desired_capacity", "nfv, desired_capacity, VDU1_scale",
		"  nfv:\n    type: json\n", "  nfv:\n    type: json\n  word:\n    type: string\n    default: none\n")
	files, _ := pkg.files.(fstest.MapFS)
	files["UserData/v1.py"] = &fstest.MapFile{Data: []byte(class)}
	w := newSite(t, pkg)
	params := map[string]any{
		"lcm-operation-user-data": "./UserData/v1.py", "lcm-operation-user-data-class": "V1", "word": "given",
	}
	w.store.instance.Params = encoded(t, params)
	w.admit(sol.LcmOperationInstantiate, map[string]any{
		"flavourId": "groups", "additionalParams": params,
		"extVirtualLinks": []any{link("ext", w.cloud.Net0ID(), "VDU1_CP1")},
	})
	w.completed()
	return w
}

// scaleV1 scales the aspect of the VNF.
func (w *world) scaleV1(typ sol.ScaleType, n int) {
	w.t.Helper()
	w.resize(sol.LcmOperationScale, "groups", map[string]int{"VDU1": n},
		sol.ScaleVnfRequest{Type: typ, AspectID: "VDU1_scale"})
	w.completed()
}

// TestClassOfVersion1: a user-data class of API version 1 gives the parameters of the base HOT, also those beside nfv,
// for an instantiation, and for a scale and a heal if it has these methods. A change of external connectivity calls no
// method.
func TestClassOfVersion1(t *testing.T) {
	t.Parallel()
	w := newV1(t, classV1)
	require.True(t, w.logged("the flavour groups ['VDU1.yaml', 'heat_template'] {'vcpus': 1, 'ram': 488}"))
	require.True(t, w.logged("the address IP_OVER_ETHERNET"))
	values := func(network string, members float64) map[string]any {
		return map[string]any{
			"VDU": map[string]any{
				"VDU1": map[string]any{"flavor": "m1.tiny", "image": "cirros-0.5.2-x86_64-disk"},
			},
			"CP":               map[string]any{"VDU1_CP1": map[string]any{"network": network}},
			"desired_capacity": map[string]any{"VDU1_scale": members},
		}
	}
	require.Equal(t, map[string]any{"word": "given", "nfv": values(w.cloud.Net0ID(), 1)},
		w.store.instance.Assembled.Parameters)
	first := w.ids("OS::Nova::Server")
	require.Len(t, first, 1)

	w.scaleV1(sol.ScaleTypeOut, 3)
	require.True(t, w.logged("scales {'VDU1_scale': 1} SCALE_OUT VDU1_scale INSTANTIATED"))
	grown := w.ids("OS::Nova::Server")
	require.Len(t, grown, 3)
	for name, id := range first {
		require.Equal(t, id, grown[name])
	}
	w.scaleV1(sol.ScaleTypeIn, 2)
	require.Len(t, w.ids("OS::Nova::Server"), 2)
	require.Equal(t, map[string]any{"word": "given", "nfv": values(w.cloud.Net0ID(), 2)},
		w.store.instance.Assembled.Parameters)

	other := w.otherNetwork()
	w.change(sol.LcmOperationChangeExtConn, map[string]any{
		"extVirtualLinks": []any{link("ext-2", other, "VDU1_CP1")},
	}, lcm.Scope{Flavour: "groups"})
	w.completed()
	require.Equal(t, map[string]any{"word": "given", "nfv": values(other, 2)}, w.store.instance.Assembled.Parameters)

	servers := w.ids("OS::Nova::Server")
	w.heal(nil, w.store.instance.Instantiated.VnfcInfo[0].ID)
	w.completed()
	require.True(t, w.logged("heals ['VDU1'] "))
	require.NotEqual(t, servers, w.ids("OS::Nova::Server"))
	require.Equal(t, map[string]any{"nfv": values(other, 2)}, w.store.instance.Assembled.Parameters,
		"a parameter that the class leaves out is gone")

	w.terminate()
	w.completed()
}

// TestClassOfVersion1WithoutMethods: a class that has instantiate only can be scaled by the sizes of its groups,
// healed, and moved to other networks. All else is refused before the operation.
func TestClassOfVersion1WithoutMethods(t *testing.T) {
	t.Parallel()
	class, _, _ := strings.Cut(classV1, "    def scale(")
	w := newV1(t, class)
	servers, parameters := w.ids("OS::Nova::Server"), w.store.instance.Assembled.Parameters
	w.heal(nil, w.store.instance.Instantiated.VnfcInfo[0].ID)
	w.completed()
	require.NotEqual(t, servers, w.ids("OS::Nova::Server"))
	require.Equal(t, parameters, w.store.instance.Assembled.Parameters)

	for _, n := range []int{3, 2} {
		before := slices.Collect(maps.Values(w.ids("OS::Nova::Server")))
		w.scaleV1(map[bool]sol.ScaleType{true: sol.ScaleTypeOut, false: sol.ScaleTypeIn}[n > len(before)], n)
		after := slices.Collect(maps.Values(w.ids("OS::Nova::Server")))
		require.Len(t, after, n)
		if n > len(before) {
			require.Subset(t, after, before)
		} else {
			require.Subset(t, before, after)
		}
	}
	require.Equal(t, parameters, w.store.instance.Assembled.Parameters)
	w.heal(nil, w.store.instance.Instantiated.VnfcInfo[1].ID)
	w.completed()
	require.Len(t, w.ids("OS::Nova::Server"), 2, "the size stays")

	d, _ := w.node()
	defer d.Close()
	for typ, want := range map[sol.LcmOperationType]string{
		sol.LcmOperationChangeVnfpkg:  "V1 is a class of API version 1, which has no method for CHANGE_VNFPKG",
		sol.LcmOperationScaleToLevel:  "there is no method that a class has for SCALE_TO_LEVEL",
		sol.LcmOperationChangeFlavour: "there is no method that a class has for CHANGE_FLAVOUR",
	} {
		req := siteRequest(t, w, typ, nil)
		req.Flavour = flavourOf(w.pkg.model, "groups")
		err := d.Validate(t.Context(), req)
		require.ErrorContains(t, err, want)
		require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
	}
}

// siteRequest is the request of an instantiation with a class of the package.
func siteRequest(t *testing.T, w *world, typ sol.LcmOperationType, params map[string]any) lcm.Request {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"flavourId": "default", "additionalParams": params,
		"extVirtualLinks": []any{link("ext", w.cloud.Net0ID(), "VDU1_CP1")},
	})
	require.NoError(t, err)
	i := w.store.instance
	return lcm.Request{
		Type: typ, Instance: &i, VNFD: w.pkg.model, Flavour: flavourOf(w.pkg.model, "default"), Package: w.pkg.files,
		Params: raw,
	}
}

func flavourOf(m *vnfd.VNFD, id string) *vnfd.Flavour {
	for n := range m.Flavours {
		if m.Flavours[n].ID == id {
			return &m.Flavours[n]
		}
	}
	return nil
}

// TestClassesAreRefused: a class of the package that cannot be run is refused before anything is created, with a
// pointer.
func TestClassesAreRefused(t *testing.T) {
	t.Parallel()
	const file, class = "lcm-operation-user-data", "lcm-operation-user-data-class"
	w := newSite(t, plainPackage(t))
	with, _ := w.node()
	defer with.Close()
	w.scripts, w.cfg.Scripts = nil, nil
	without, _ := w.node()
	defer without.Close()
	for name, tt := range map[string]struct {
		d            *openstack.Driver
		params       map[string]any
		member, want string
	}{
		"scripts are off": {without, siteClass, class, "have the operator switch scripts on (scripts.python)"},
		"no such file":    {with, map[string]any{file: "./x.py", class: "C"}, file, "has no file x.py"},
		"outside":         {with, map[string]any{file: "../x.py", class: "C"}, file, "not a path within the package"},
		"no class":        {with, map[string]any{file: "x.py", class: "import os"}, class, "not the name of a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.d.Validate(t.Context(), siteRequest(t, w, sol.LcmOperationInstantiate, tt.params))
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code)
			require.Equal(t, "/additionalParams/"+tt.member, e.Params[0].Pointer)
			require.Contains(t, e.Params[0].Detail, tt.want)
		})
	}
	require.NoError(t, with.Validate(t.Context(), siteRequest(t, w, sol.LcmOperationInstantiate, siteClass)))
}

// TestPlanWithAClass: a plan runs the class, and changes nothing.
func TestPlanWithAClass(t *testing.T) {
	t.Parallel()
	w := newSite(t, plainPackage(t))
	d, _ := w.node()
	defer d.Close()
	p, err := d.Preview(t.Context(), siteRequest(t, w, sol.LcmOperationInstantiate, siteClass))
	require.NoError(t, err)
	var names []string
	for _, r := range p.Add {
		names = append(names, r.Type+" "+r.Name)
	}
	require.ElementsMatch(t, []string{"OS::Nova::Server VDU1-0", "OS::Neutron::Port VDU1_CP1-0"}, names)
	require.Nil(t, w.store.instance.Assembled)
	require.Empty(t, w.cloud.State()["stacks"])

	broken := plainPackage(t, "top[\"outputs\"] =", "x =")
	w.pkg = broken
	req := siteRequest(t, w, sol.LcmOperationInstantiate, siteClass)
	files, _ := broken.files.(fstest.MapFS)
	files["UserData/site.py"].Data = []byte("class SiteUserData:\n    @staticmethod\n    def instantiate(*a):\n" +
		"        return {'template': 'heat_template_version: 2013-05-23', 'parameters': {'a': 1}}\n")
	_, err = d.Preview(t.Context(), req)
	require.ErrorContains(t, err, "a value for the parameter a, which its template does not declare")
}
