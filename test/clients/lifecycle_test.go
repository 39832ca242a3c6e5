package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
)

// form is a version of the API, as the command uses it.
type form struct {
	version string
	option  string // at the end of a command line
	// created and shown are the rows of an instance that the guides show. In the guides of version 1 the VNFDs have no
	// configurable properties.
	created, shown []string
	// info are the members of the row Instantiated Vnf Info in the guides, and more.
	info []string
}

var (
	version1 = form{
		version: "v1",
		created: []string{
			"Field", "ID", "Instantiation State", "Links", "VNF Configurable Properties", "VNF Instance Description",
			"VNF Instance Name", "VNF Product Name", "VNF Provider", "VNF Software Version", "VNFD ID", "VNFD Version",
			"vnfPkgId",
		},
		shown: []string{
			"ID", "Instantiated Vnf Info", "Instantiation State", "Links", "VIM Connection Info",
			"VNF Configurable Properties", "VNF Instance Description", "VNF Instance Name", "VNF Product Name",
			"VNF Provider", "VNF Software Version", "VNFD ID", "VNFD Version", "vnfPkgId",
		},
		info: []string{
			"flavourId", "vnfState", "scaleStatus", "extCpInfo", "extVirtualLinkInfo", "vnfcResourceInfo",
			"vnfcInfo",
		},
	}
	version2 = form{
		version: "v2", option: " --os-tacker-api-version 2",
		created: []string{
			"Field", "ID", "Instantiation State", "Links", "VNF Configurable Properties", "VNF Instance Description",
			"VNF Instance Name", "VNF Product Name", "VNF Provider", "VNF Software Version", "VNFD ID", "VNFD Version",
		},
		shown: []string{
			"ID", "Instantiated Vnf Info", "Instantiation State", "Links", "VIM Connection Info",
			"VNF Configurable Properties", "VNF Instance Description", "VNF Instance Name", "VNF Product Name",
			"VNF Provider", "VNF Software Version", "VNFD ID", "VNFD Version",
		},
		info: []string{
			"flavourId", "vnfState", "scaleStatus", "maxScaleLevels", "extCpInfo", "extVirtualLinkInfo",
			"vnfcResourceInfo", "vnfcInfo", "metadata",
		},
	}
)

// prepare onboards the plain package, and writes the parameter files of a version.
func (w *world) prepare(f form) (vnfd string) {
	w.t.Helper()
	w.plain()
	vnfd, err := stack.Onboard(w.t.Context(), w.api, w.dir+"/plain.zip")
	require.NoError(w.t, err)
	params := stack.PlainParams("default", "", w.cloud.Info())
	links, _ := params["extVirtualLinks"].([]any)
	if f.version == "v1" {
		vim := stack.VimConnection(w.cloud.Info())
		params["vimConnectionInfo"] = []any{obj{
			"id": "vim1", "vimId": vim.VimID, "vimType": "openstack",
			"interfaceInfo": vim.InterfaceInfo, "accessInfo": vim.AccessInfo,
		}}
		link, _ := links[0].(obj)
		cps, _ := link["extCps"].([]any)
		cp, _ := cps[0].(obj)
		config, _ := cp["cpConfig"].(obj)
		cp["cpConfig"] = []any{config["VDU1_CP1"]}
	}
	w.write("param_file.json", params)
	w.write("connectivity.json", obj{"extVirtualLinks": links})
	w.write("change.json", obj{"vnfInstanceName": "changed", "vnfInstanceDescription": "by a client"})
	w.write("additional_params", obj{"additionalParams": obj{"note": "any"}})
	w.write("broken.json", "{\"flavourId\": ")
	w.write("nothing.json", obj{"flavourId": "unknown"})
	return vnfd
}

// patience ends a test whose operation never reaches a state, also on a busy machine.
const patience = 5 * time.Minute

// reaches waits until the newest operation of a VNF instance has a state, and returns its id.
func (w *world) reaches(instance string, state sol.LcmOperationStateType) (op string) {
	w.t.Helper()
	failed := false
	require.Eventually(w.t, func() bool {
		all, err := w.api.Operations(w.t.Context(), "(eq,vnfInstanceId,"+instance+")", false)
		if err != nil || len(all) == 0 {
			return false
		}
		newest := all[0]
		for _, o := range all {
			if o.StartTime.After(newest.StartTime) {
				newest = o
			}
		}
		op = newest.ID
		if state == sol.LcmOperationStateCompleted && newest.OperationState == sol.LcmOperationStateFailedTemp {
			failed = true
			return true
		}
		return newest.OperationState == state
	}, patience, 50*time.Millisecond, state)
	if failed {
		o, err := w.api.Operation(w.t.Context(), op)
		require.NoError(w.t, err)
		require.Failf(w.t, "the operation has failed", "%+v", o.Error)
	}
	return op
}

// completed waits until the newest operation of a VNF instance has ended well.
func (w *world) completed(instance string) string {
	w.t.Helper()
	return w.reaches(instance, sol.LcmOperationStateCompleted)
}

// vnfcs are the ids that the guide of a version takes for healing.
func vnfcs(t *testing.T, f form, row any) []string {
	t.Helper()
	info, _ := row.(obj)
	list := "vnfcInfo"
	if f.version == "v1" {
		list = "vnfcResourceInfo"
	}
	all, _ := info[list].([]any)
	var ids []string
	for _, v := range all {
		vnfc, _ := v.(obj)
		ids = append(ids, text(t, vnfc, "id"))
	}
	return ids
}

// TestInstancesOfVersion1 and TestInstancesOfVersion2 are the sessions with VNF instances of the guides.
func TestInstancesOfVersion1(t *testing.T) { t.Parallel(); lifeOfAnInstance(t, version1) }

func TestInstancesOfVersion2(t *testing.T) { t.Parallel(); lifeOfAnInstance(t, version2) }

func lifeOfAnInstance(t *testing.T, f form) {
	t.Helper()
	w := start(t)
	vnfd := w.prepare(f)
	name, description := "", any(nil)
	options := ""
	if f.version == "v2" {
		name, description, options = "sample", "sample", " --name sample --description sample"
	}

	// Create: the table has the rows of the guides.
	table := w.run("vnflcm create " + vnfd + options + f.option)
	require.Equal(t, f.created, columns(table))
	instances := w.list("vnflcm list" + f.option)
	require.Len(t, instances, 1)
	id := text(t, instances[0], "ID")
	if f.version == "v1" {
		name = "vnf-" + id
		require.Regexp(t, `\| VNF Instance Description +\| None +\|`, table)
	}
	require.Equal(t, obj{
		"ID": id, "VNF Instance Name": name, "Instantiation State": "NOT_INSTANTIATED", "VNF Provider": "Gybe",
		"VNF Software Version": "1.0", "VNF Product Name": "Plain VMs", "VNFD ID": vnfd,
	}, instances[0])
	w.refused("vnflcm create 00000000-0000-4000-8000-000000000000"+f.option, "00000000-0000-4000-8000-000000000000")
	w.refused("vnflcm scale "+id+" --type SCALE_OUT --aspect-id VDU1_scale"+f.option, id, "NOT_INSTANTIATED")

	// Instantiate.
	w.refused("vnflcm instantiate "+id+" broken.json"+f.option, "Failed to load parameter file")
	w.refused("vnflcm instantiate "+id+" nothing.json"+f.option, "/flavourId", "unknown", "default")
	require.Equal(t, "Instantiate request for VNF Instance "+id+" has been accepted.",
		w.run("vnflcm instantiate "+id+" ./param_file.json"+f.option))
	first := w.completed(id)
	shown := w.show("vnflcm show " + id + f.option)
	require.ElementsMatch(t, f.shown, keys(shown))
	require.Equal(t, name, shown["VNF Instance Name"])
	require.Equal(t, description, shown["VNF Instance Description"])
	require.Equal(t, "INSTANTIATED", shown["Instantiation State"])
	info, _ := shown["Instantiated Vnf Info"].(obj)
	for _, member := range f.info {
		require.Contains(t, info, member)
	}
	w.refused("vnflcm op list --filter nonsense"+f.option, "an expression looks like (eq,attribute,value)")
	require.Equal(t, "default", info["flavourId"])
	require.Equal(t, "STARTED", info["vnfState"])
	require.Equal(t, []any{obj{"aspectId": "VDU1_scale", "scaleLevel": 0.0}}, scaleStatus(info))
	w.checkLinks(f, id, shown["Links"])
	w.checkVIM(f, shown["VIM Connection Info"])
	require.NotContains(t, fmt.Sprint(shown), "devstack", "the password is not shown")

	// Scale, with the words of the guides.
	scale := "vnflcm scale " + id + " --type %s --aspect-id VDU1_scale --number-of-steps %d" +
		" --additional-param-file additional_params" + f.option
	w.refused(fmt.Sprintf(scale, "SCALE_OUT", 3), "/numberOfSteps")
	accepted := "Scale request for VNF Instance " + id + " has been accepted."
	require.Equal(t, accepted, w.run(fmt.Sprintf(scale, "SCALE_OUT", 1)))
	w.completed(id)
	shown = w.show("vnflcm show " + id + f.option)
	info, _ = shown["Instantiated Vnf Info"].(obj)
	require.Equal(t, []any{obj{"aspectId": "VDU1_scale", "scaleLevel": 1.0}}, scaleStatus(info))
	ids := vnfcs(t, f, info)
	require.Len(t, ids, 2)
	require.Equal(t, accepted, w.run(fmt.Sprintf(scale, "SCALE_IN", 1)))
	w.completed(id)

	// Heal one VNFC, and all.
	healed := "Heal request for VNF Instance " + id + " has been accepted."
	w.refused("vnflcm heal "+id+" --vnfc-instance nonsense"+f.option, "/vnfcInstanceId", "nonsense")
	i, err := w.api.Instance(t.Context(), id)
	require.NoError(t, err)
	one := i.InstantiatedVnfInfo.VnfcInfo[0].ID
	if f.version == "v1" {
		one = i.InstantiatedVnfInfo.VnfcResourceInfo[0].ID
	}
	require.Equal(t, healed, w.run("vnflcm heal "+id+" --cause any --vnfc-instance "+one+f.option))
	w.completed(id)
	require.Equal(t, healed, w.run("vnflcm heal "+id+" --additional-param-file additional_params"+f.option))
	w.completed(id)

	w.change(f, id, vnfd)

	// Terminate and delete.
	w.refused("vnflcm delete "+id+f.option, id, "INSTANTIATED")
	ops := w.list("vnflcm op list" + f.option)
	require.NotEmpty(t, ops)
	require.Subset(t, keys(ops[0]), []string{"ID", "Operation State", "VNF Instance ID", "Operation"})
	op := w.show("vnflcm op show " + first + f.option)
	require.Equal(t, "COMPLETED", op["Operation State"])
	require.Equal(t, "INSTANTIATE", op["Operation"])
	require.Equal(t, id, op["VNF Instance ID"])
	require.NotContains(t, fmt.Sprint(op), "devstack")
	w.refused("vnflcm op show nonsense"+f.option, "nonsense")
	require.Equal(t, "Terminate request for VNF Instance '"+id+"' has been accepted.",
		w.run("vnflcm terminate "+id+f.option))
	w.completed(id)
	w.refused("vnflcm terminate "+id+f.option, id, "NOT_INSTANTIATED")
	require.Equal(t, "Vnf instance '"+id+"' is deleted successfully", w.run("vnflcm delete "+id+f.option))
	w.refused("vnflcm show "+id+f.option, id)
}

// change uses the commands that the guides do not have.
func (w *world) change(f form, id, vnfd string) {
	w.t.Helper()
	w.run("vnflcm update " + id + " --I change.json" + f.option)
	w.completed(id)
	w.refused("vnflcm update "+id+" --I broken.json"+f.option, "Failed to load parameter file")
	require.Equal(w.t, "Change External VNF Connectivity for VNF Instance "+id+" has been accepted.",
		w.run("vnflcm change-ext-conn "+id+" connectivity.json"+f.option))
	w.completed(id)
	w.refused("vnflcm change-ext-conn "+id+" change.json"+f.option, "extVirtualLinks")
	if f.version == "v2" {
		w.write("package.json", obj{"vnfdId": "00000000-0000-4000-8000-000000000000"})
		w.refused("vnflcm change-vnfpkg "+id+" package.json"+f.option, "00000000-0000-4000-8000-000000000000")
		w.write("package.json", obj{"vnfdId": vnfd})
		w.refused("vnflcm change-vnfpkg "+id+" package.json"+f.option, "/vnfdId: is the VNFD that the VNF has already")
		w.write("package.json", obj{"vnfdId": w.nextVersion(vnfd)})
		require.Equal(w.t, "Change Current VNF Package for VNF Instance "+id+" has been accepted.",
			w.run("vnflcm change-vnfpkg "+id+" package.json"+f.option))
		w.completed(id)
	}
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	require.Equal(w.t, "changed", i.VnfInstanceName)
}

// checkLinks compares the links of an instance: version 1 has paths, as in Tacker.
func (w *world) checkLinks(f form, id string, row any) {
	w.t.Helper()
	links, _ := row.(obj)
	at := "/vnflcm/" + f.version + "/vnf_instances/" + id
	if f.version == "v2" {
		at = w.url + at
	}
	for name, path := range map[string]string{
		"self": "", "terminate": "/terminate", "scale": "/scale", "heal": "/heal", "changeExtConn": "/change_ext_conn",
	} {
		require.Equal(w.t, obj{"href": at + path}, links[name], name)
	}
}

// checkVIM compares the connection to the VIM, a list in version 1.
func (w *world) checkVIM(f form, row any) {
	w.t.Helper()
	vim := stack.VimConnection(w.cloud.Info())
	if f.version == "v1" {
		list, _ := row.([]any)
		require.Len(w.t, list, 1)
		one, _ := list[0].(obj)
		require.Equal(w.t, vim.VimID, one["vimId"])
		require.Equal(w.t, "openstack", one["vimType"])
		return
	}
	all, _ := row.(obj)
	one, _ := all["vim1"].(obj)
	require.Equal(w.t, vim.VimID, one["vimId"])
	require.Equal(w.t, vim.VimType, one["vimType"])
	require.Equal(w.t, obj{"endpoint": w.cloud.AuthURL()}, one["interfaceInfo"])
	require.Equal(w.t, obj{
		"region": "RegionOne", "project": "nfv", "username": "nfv_user", "userDomain": "Default",
		"projectDomain": "Default",
	}, one["accessInfo"])
}

func scaleStatus(info obj) []any {
	var out []any
	list, _ := info["scaleStatus"].([]any)
	for _, s := range list {
		one, _ := s.(obj)
		out = append(out, obj{"aspectId": one["aspectId"], "scaleLevel": one["scaleLevel"]})
	}
	return out
}

func keys[V any](m map[string]V) []string {
	var names []string
	for name := range maps.Keys(m) {
		names = append(names, name)
	}
	return names
}

// TestFailedOperations uses the commands for operations that have failed, in both versions.
func TestFailedOperations(t *testing.T) {
	t.Parallel()
	w := start(t)
	vnfd := w.prepare(version1)
	i, err := w.api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: vnfd})
	require.NoError(t, err)
	raw, err := json.Marshal(stack.PlainParams("default", "", w.cloud.Info()))
	require.NoError(t, err)
	failing := fault.Rule{
		Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create",
		Reason: "No valid host was found.",
	}
	w.cloud.AddFault(failing)
	op, err := w.api.Instantiate(t.Context(), i.ID, raw)
	require.NoError(t, err)
	w.reaches(i.ID, sol.LcmOperationStateFailedTemp)
	shown := w.show("vnflcm op show " + op)
	require.Equal(t, "FAILED_TEMP", shown["Operation State"])
	require.Contains(t, fmt.Sprint(shown["Error"]), "No valid host was found.")
	require.Equal(t, "Retry request for LCM operation "+op+" has been accepted",
		w.run("vnflcm op retry "+op))
	w.reaches(i.ID, sol.LcmOperationStateFailedTemp)
	w.refused("vnflcm op cancel "+op, "FAILED_TEMP; cancel is not possible in this state")
	require.Equal(t, "Rollback request for LCM operation "+op+" has been accepted",
		w.run("vnflcm op rollback "+op+version2.option))
	w.reaches(i.ID, sol.LcmOperationStateRolledBack)
	for _, command := range []string{"retry", "rollback", "fail"} {
		w.refused("vnflcm op "+command+" "+op+version2.option,
			"the operation is ROLLED_BACK; "+command+" is not possible in this state")
	}

	hanging := failing
	hanging.Kind = fault.HangResource
	w.cloud.Faults().Clear()
	w.cloud.AddFault(hanging)
	op, err = w.api.Instantiate(t.Context(), i.ID, raw)
	require.NoError(t, err)
	w.reaches(i.ID, sol.LcmOperationStateProcessing)
	// After its message this command fails for every server: it has no object to print.
	out, _, _ := w.try("vnflcm op cancel --cancel-mode FORCEFUL " + op)
	require.Equal(t, "Cancel request for LCM operation "+op+" has been accepted", strings.TrimSpace(out))
	note("vnflcm op cancel", true)
	w.reaches(i.ID, sol.LcmOperationStateFailedTemp)
	require.Equal(t, "FAILED", w.show("vnflcm op fail " + op)["Operation State"])
}

// nextVersion onboards a copy of the plain package with another vnfdId.
func (w *world) nextVersion(vnfd string) (next string) {
	w.t.Helper()
	next = "7f9d0a2e-3c51-4b0e-9c6f-1f2b8d1f0a12"
	source := w.dir + "/next"
	require.NoError(w.t, os.CopyFS(source, os.DirFS("../packages/plain")))
	files, err := filepath.Glob(source + "/Definitions/*")
	require.NoError(w.t, err)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(w.t, err)
		require.NoError(w.t, os.WriteFile(name, bytes.ReplaceAll(raw, []byte(vnfd), []byte(next)), 0o600))
	}
	require.NoError(w.t, stack.BuildPackage(w.t.Context(), source, w.dir+"/next.zip"))
	got, err := stack.Onboard(w.t.Context(), w.api, w.dir+"/next.zip")
	require.NoError(w.t, err)
	require.Equal(w.t, next, got)
	return next
}
