package e2e_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tackerapi"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
	"github.com/gybe-nfv/gybe/test/stack"
	"github.com/gybe-nfv/gybe/test/tacker"
)

// takeover is a Tacker whose instances a node takes over, in one cloud.
type takeover struct {
	*world
	tacker *tacker.Server
	theirs *tacker.VIM
	vim    string // id of the VIM that is registered at the node
	last   *tacker.VNF
}

// startTakeover starts a Tacker and a node that knows the cloud. change changes the node's configuration; nil = as it
// is.
func startTakeover(t *testing.T, change func(*configuration)) *takeover {
	t.Helper()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	requests, err := stack.NewRequests(t.Context(), cloud)
	require.NoError(t, err)
	w := &takeover{world: start(t, cloud, change), tacker: tacker.Start(t, tacker.Options{})}
	w.requests, w.before = requests, cloud.State()
	w.theirs = w.tacker.Connect(cloud.AuthOptions())
	w.vim = w.registered("openstack", simcloud.Project)
	return w
}

// registered registers the cloud with a project, and returns the id of the VIM.
func (w *takeover) registered(name, project string) string {
	w.t.Helper()
	vim, err := w.api.CreateVim(w.t.Context(), gybeapi.Vim{
		Name: name, Type: "openstack", AuthURL: w.cloud.AuthURL(),
		VimProject: sol.KeyValuePairs{"name": project, "project_domain_name": simcloud.Domain},
		AuthCred: sol.KeyValuePairs{
			"username": simcloud.Username, "password": simcloud.Password, "user_domain_name": simcloud.Domain,
		},
	})
	require.NoError(w.t, err)
	return vim.ID
}

// request reads an instance from Tacker, and makes the request to adopt it.
func (w *takeover) request(vnf *tacker.VNF) gybeapi.AdoptionRequest {
	w.t.Helper()
	c, err := tackerapi.New(w.tacker.URL, tackerapi.Options{})
	require.NoError(w.t, err)
	in, err := c.Instance(w.t.Context(), vnf.ID, 0)
	require.NoError(w.t, err)
	req := in.Request
	req.VnfPkgID = w.packageOf(in.VnfdID)
	req.VimConnections = map[string]string{}
	for _, conn := range in.Connections {
		if conn.VimType != "kubernetes" {
			req.VimConnections[conn.Key] = w.vim
		}
	}
	return req
}

// packageOf is the id of the package with a VNFD.
func (w *takeover) packageOf(vnfd string) string {
	w.t.Helper()
	all, err := w.api.Packages(w.t.Context(), "", true)
	require.NoError(w.t, err)
	at := slices.IndexFunc(all, func(p sol.VnfPkgInfo) bool { return p.VnfdID == vnfd })
	require.GreaterOrEqual(w.t, at, 0, "no package has the VNFD %s", vnfd)
	return all[at].ID
}

// onlyRead wants the cloud to have received nothing but requests that change nothing.
func (w *takeover) onlyRead() {
	w.t.Helper()
	for _, c := range w.cloud.Calls() {
		login := c.Service == "keystone" && c.Method == http.MethodPost
		if c.Method != http.MethodGet && c.Method != http.MethodHead && !login {
			require.Zero(w.t, c.Count, "%+v", c)
		}
	}
}

// adopted adopts an instance after a dry run, and returns what the dry run has said.
func (w *takeover) adopted(vnf *tacker.VNF) *gybeapi.AdoptionPlan {
	w.t.Helper()
	req := w.request(vnf)
	before := w.cloud.State()
	w.cloud.ResetCalls()
	req.DryRun = true
	p, err := w.api.Adopt(w.t.Context(), req)
	require.NoError(w.t, err)
	require.Empty(w.t, p.Refusals)
	require.Empty(w.t, slices.Concat(p.Update.Add, p.Update.Remove, p.Update.Replace, p.Update.Change))
	_, err = w.api.Instance(w.t.Context(), vnf.ID)
	require.ErrorContains(w.t, err, "404", "a dry run stores nothing")

	req.DryRun = false
	done, err := w.api.Adopt(w.t.Context(), req)
	require.NoError(w.t, err)
	require.True(w.t, done.Adopted)
	require.False(w.t, done.AlreadyAdopted)
	p.Adopted = true
	require.Equal(w.t, p, done)
	again, err := w.api.Adopt(w.t.Context(), req)
	require.NoError(w.t, err)
	require.True(w.t, again.AlreadyAdopted)
	require.Equal(w.t, done.Vnfcs, again.Vnfcs)
	w.onlyRead()
	require.Equal(w.t, before, w.cloud.State())
	return p
}

// serverIDs are the servers of an instance, sorted.
func (w *world) serverIDs(id string) []string {
	w.t.Helper()
	var out []string
	for _, r := range w.instance(id).InstantiatedVnfInfo.VnfcResourceInfo {
		out = append(out, r.ComputeResource.ResourceID)
	}
	slices.Sort(out)
	return out
}

func TestAnInstanceOfTackersVersion2LivesOn(t *testing.T) {
	t.Parallel()
	w := startTakeover(t, nil)
	w.onboard(standardSource)
	vnf := w.theirs.Standard(w.tacker.AddPackage(standardSource), "standard", w.requests.Standard("volumes"))
	vnf.Scale(sol.ScaleTypeOut, "VDU1_scale", 1)
	p := w.adopted(vnf)
	require.Equal(t, gybeapi.AdoptedStack{Name: vnf.StackName, ID: vnf.StackID, Status: "UPDATE_COMPLETE"}, p.Stack)
	require.Equal(t, "standard", p.Instance.Name)
	require.Equal(t, map[string]int{"VDU1_scale": 1}, p.Instance.Levels)
	require.Len(t, p.Vnfcs, 3)
	require.Equal(t, 2, p.Storages)

	i := w.instance(vnf.ID)
	require.Equal(t, sol.InstantiationStateInstantiated, i.InstantiationState)
	require.Equal(t, identifiers(t, w.request(vnf).VnfInstance), identifiersOf(i.InstantiatedVnfInfo))
	had := w.serverIDs(vnf.ID)
	w.completed(w.task(vnf.ID, sol.LcmOperationScale, object(t, stack.Scale(sol.ScaleTypeOut, 1))))
	require.Subset(t, w.serverIDs(vnf.ID), had)
	require.Len(t, w.serverIDs(vnf.ID), 4)
	w.completed(w.task(vnf.ID, sol.LcmOperationScale, object(t, stack.Scale(sol.ScaleTypeIn, 1))))
	require.Equal(t, had, w.serverIDs(vnf.ID))

	healed := i.InstantiatedVnfInfo.VnfcInfo[0]
	w.completed(w.task(vnf.ID, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{healed.ID}}))
	now := w.serverIDs(vnf.ID)
	require.Len(t, now, len(had))
	for _, id := range had {
		require.Equal(t, id != healed.VnfcResourceInfoID, slices.Contains(now, id), "only the healed one is another")
	}
	w.completed(w.task(vnf.ID, sol.LcmOperationChangeExtConn, object(t, w.requests.Readdressed("10.10.1.78"))))
	require.Equal(t, now, w.serverIDs(vnf.ID))
	w.completed(w.terminate(vnf.ID))
	w.gone()
}

// An instance whose package has a user-data class of its own: the class continues with the template that Heat has.
func TestAnInstanceWithAClassOfItsPackageLivesOn(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, true)
	w := startTakeover(t, func(c *configuration) { c.Scripts.Python = python })
	w.onboard(plainSource)
	var req sol.InstantiateVnfRequest
	params := w.plain("default")
	params["additionalParams"] = map[string]any{
		"lcm-operation-user-data": "./UserData/site.py", "lcm-operation-user-data-class": "SiteUserData",
	}
	require.NoError(t, json.Unmarshal(encode(t, params), &req))
	vnf := w.theirs.Standard(w.tacker.AddPackage(plainSource), "its own class", req)
	p := w.adopted(vnf)
	require.Len(t, p.Vnfcs, 1)

	had := w.serverIDs(vnf.ID)
	w.completed(w.task(vnf.ID, sol.LcmOperationScale, object(t, stack.Scale(sol.ScaleTypeOut, 1))))
	require.Subset(t, w.serverIDs(vnf.ID), had)
	require.Len(t, w.serverIDs(vnf.ID), 2)
	w.completed(w.task(vnf.ID, sol.LcmOperationScale, object(t, stack.Scale(sol.ScaleTypeIn, 1))))
	require.Equal(t, had, w.serverIDs(vnf.ID))
	w.completed(w.task(vnf.ID, sol.LcmOperationHeal, map[string]any{}))
	require.NotEqual(t, had, w.serverIDs(vnf.ID))
	w.completed(w.terminate(vnf.ID))
	w.gone()
}

func TestGroupsOfTackersVersion1LiveOn(t *testing.T) {
	t.Parallel()
	w := startTakeover(t, nil)
	source := w.tacker.Version1(filepath.FromSlash("../packages/groups"))
	w.onboard(source)
	req := w.requests.Groups("policies", "smallest")
	req.AdditionalParams = sol.KeyValuePairs{
		"lcm-operation-user-data":       "./UserData/k8s_cluster_user_data.py",
		"lcm-operation-user-data-class": "KubernetesClusterUserData",
	}
	vnf := w.theirs.Groups(w.tacker.AddPackage(source), "groups", req)
	vnf.Scale(sol.ScaleTypeOut, "VDU1_scale", 1)
	p := w.adopted(vnf)
	require.Equal(t, "vnflcm_"+vnf.ID, p.Stack.Name)
	require.Equal(t, map[string]int{"VDU1_scale": 1}, p.Instance.Levels)

	i := w.instance(vnf.ID)
	theirs := identifiers(t, w.request(vnf).VnfInstance)
	for _, c := range i.InstantiatedVnfInfo.VnfcInfo {
		require.Equal(t, theirs[c.VnfcResourceInfoID], c.ID, "users of version 1 name VNFCs by these ids")
	}
	had := w.serverIDs(vnf.ID)
	w.completed(w.task(vnf.ID, sol.LcmOperationScale, object(t, stack.Scale(sol.ScaleTypeOut, 1))))
	require.Subset(t, w.serverIDs(vnf.ID), had)
	require.Len(t, w.serverIDs(vnf.ID), len(had)+1)
	healed := i.InstantiatedVnfInfo.VnfcInfo[0]
	w.completed(w.task(vnf.ID, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{healed.ID}}))
	now := w.serverIDs(vnf.ID)
	for _, id := range had {
		require.Equal(t, id != healed.VnfcResourceInfoID, slices.Contains(now, id), "only the healed one is another")
	}
	w.completed(w.terminate(vnf.ID))
	w.gone()
}

// identifiers are the ids of VNFCs as Tacker shows them, by their servers.
func identifiers(t *testing.T, raw json.RawMessage) map[string]string {
	t.Helper()
	var doc sol.VnfInstance
	var loose struct {
		Info struct {
			Resources []sol.VnfcResourceInfo `json:"vnfcResourceInfo"`
		} `json:"instantiatedVnfInfo"`
	}
	require.NoError(t, json.Unmarshal(raw, &loose))
	if json.Unmarshal(raw, &doc) == nil {
		return identifiersOf(doc.InstantiatedVnfInfo)
	}
	out := map[string]string{}
	for _, r := range loose.Info.Resources {
		out[r.ComputeResource.ResourceID] = r.ID
	}
	return out
}

func identifiersOf(i *sol.InstantiatedVnfInfo) map[string]string {
	servers := map[string]string{}
	for _, r := range i.VnfcResourceInfo {
		servers[r.ID] = r.ComputeResource.ResourceID
	}
	out := map[string]string{}
	for _, c := range i.VnfcInfo {
		out[servers[c.VnfcResourceInfoID]] = c.ID
	}
	return out
}

// object is a request as a JSON object.
func object(t *testing.T, v any) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(encode(t, v), &out))
	return out
}

func TestAnInstanceThatCannotBeManagedIsRefused(t *testing.T) {
	t.Parallel()
	w := startTakeover(t, nil)
	w.onboard(standardSource)
	plain := w.onboard(plainSource)
	theirs := w.tacker.AddPackage(standardSource)
	altered := w.tacker.AddPackage(alteredPackage(t))
	standard := func() *tacker.VNF { return w.theirs.Standard(theirs, "standard", w.requests.Standard("smallest")) }
	refused := map[string]struct {
		vnf    func() *tacker.VNF
		change func(r *gybeapi.AdoptionRequest)
		at     string // pointer
		want   string
	}{
		"an operation under way": {
			vnf: func() *tacker.VNF {
				v := standard()
				v.AddOperation("HEAL", "PROCESSING", map[string]any{})
				return v
			},
			at: "/operations/0/operationState", want: "(HEAL) of the instance is PROCESSING",
		},
		"a failed stack": {
			vnf: func() *tacker.VNF {
				v := standard()
				w.cloud.AddFault(simcloud.Fault{
					Kind: fault.FailResource, ResourceType: "OS::Nova::Server", Action: "create",
					Reason: "no valid host",
				})
				v.SetOperation(v.Scale(sol.ScaleTypeOut, "VDU1_scale", 1), "COMPLETED")
				w.cloud.Faults().Clear()
				return v
			},
			at: "/vnfInstance/id", want: "is UPDATE_FAILED",
		},
		"a stack that is being updated": {
			vnf: func() *tacker.VNF {
				v := standard()
				w.cloud.AddFault(simcloud.Fault{Kind: fault.HangStack, Stack: v.StackName, Action: "update"})
				v.BeginUpdate()
				return v
			},
			at: "/vnfInstance/id", want: "is UPDATE_IN_PROGRESS",
		},
		"a server that is gone": {
			vnf: func() *tacker.VNF {
				v := standard()
				v.DeleteServer(0)
				return v
			},
			at: "/vnfInstance/instantiatedVnfInfo/vnfcResourceInfo", want: "is not in the VIM",
		},
		"a server more": {
			vnf: func() *tacker.VNF {
				v := standard()
				v.ScaleUnrecorded(sol.ScaleTypeOut, "VDU1_scale", 1)
				return v
			},
			at: "/vnfInstance/instantiatedVnfInfo/vnfcResourceInfo", want: "that the other VNFM does not name",
		},
		"another package": {
			vnf:    standard,
			change: func(r *gybeapi.AdoptionRequest) { r.VnfPkgID = w.packageOf(plain) },
			at:     "/vnfPkgId", want: "and the instance has",
		},
		"a package that is not here": {
			vnf:    standard,
			change: func(r *gybeapi.AdoptionRequest) { r.VnfPkgID = absentID },
			at:     "/vnfPkgId", want: absentID,
		},
		"a VIM that is not registered": {
			vnf:    standard,
			change: func(r *gybeapi.AdoptionRequest) { r.VimConnections["vim1"] = absentID },
			at:     "/vimConnections/vim1", want: absentID,
		},
		"another project": {
			vnf: standard,
			change: func(r *gybeapi.AdoptionRequest) {
				text := strings.ReplaceAll(string(r.VnfInstance), `"`+simcloud.Project+`"`, `"elsewhere"`)
				r.VnfInstance = []byte(text)
				r.Vims = nil
			},
			at: "/vimConnections/vim1", want: `in project "elsewhere"`,
		},
		"no stack": {
			vnf: standard,
			change: func(r *gybeapi.AdoptionRequest) {
				text := strings.ReplaceAll(string(r.VnfInstance), w.last.ID, absentID)
				r.VnfInstance = []byte(strings.ReplaceAll(text, w.last.StackID, absentID))
			},
			at: "/vnfInstance/id", want: "has no stack whose name contains " + absentID,
		},
		"the stack of another instance": {
			vnf: standard,
			change: func(r *gybeapi.AdoptionRequest) {
				r.VnfInstance = []byte(strings.ReplaceAll(string(r.VnfInstance), w.last.ID, absentID))
				r.VnfInstance = []byte(strings.ReplaceAll(string(r.VnfInstance), "vnf-"+absentID, "vnf-"+w.last.ID))
			},
			at: "/vnfInstance/id", want: "belongs to VNF instance ",
		},
		"a class of the package, which this node does not run": {
			vnf: standard,
			change: func(r *gybeapi.AdoptionRequest) {
				r.AdditionalParams = []byte(`{"lcm-operation-user-data-class": "Mine"}`)
			},
			at: "/additionalParams/lcm-operation-user-data-class", want: "Mine is not a class that is built in",
		},
		"a stack of another template": {
			vnf: func() *tacker.VNF {
				return w.theirs.Standard(altered, "standard", w.requests.Standard("smallest"))
			},
			at: "/vnfPkgId", want: "would replace OS::Nova::Server VDU1-0: config_drive",
		},
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		tt := refused[name]
		vnf := tt.vnf()
		w.last = vnf
		req := w.request(vnf)
		if tt.change != nil {
			tt.change(&req)
		}
		req.DryRun = true
		p, err := w.api.Adopt(t.Context(), req)
		require.NoError(t, err, name)
		at := slices.IndexFunc(p.Refusals, func(r gybeapi.AdoptionRefusal) bool {
			return r.Pointer == tt.at && strings.Contains(r.Detail, tt.want)
		})
		require.GreaterOrEqual(t, at, 0, "%s: %+v", name, p.Refusals)
		req.DryRun = false
		_, err = w.api.Adopt(t.Context(), req)
		answer, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, 422, answer.Problem.Status, name)
		require.Len(t, answer.Problem.InvalidParams, len(p.Refusals), name)
		_, err = w.api.Instance(t.Context(), vnf.ID)
		require.ErrorContains(t, err, "404", name)
	}

	vnf := standard()
	w.adopted(vnf)
	req := w.request(vnf)
	req.VnfInstance = []byte(strings.ReplaceAll(string(req.VnfInstance), vnf.StackID, absentID))
	_, err := w.api.Adopt(t.Context(), req)
	require.ErrorContains(t, err, "with other resources")
}

const absentID = "c4000000-0000-4000-8000-000000000000"

// alteredPackage is the package standard with another property of the servers of VDU1.
func alteredPackage(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "standard")
	require.NoError(t, os.CopyFS(dir, os.DirFS(standardSource)))
	changed := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "BaseHOT"), func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(
			string(raw), "    type: OS::Nova::Server\n    properties:\n",
			"    type: OS::Nova::Server\n    properties:\n      config_drive: true\n",
		)
		if text != string(raw) {
			changed++
		}
		return os.WriteFile(p, []byte(text), 0o600)
	}))
	require.Positive(t, changed)
	return dir
}

// A cluster that another VNFM has made: a first node makes it, and is forgotten with its database.
func TestAClusterLivesOn(t *testing.T) {
	t.Parallel()
	first, fleet := withMachines(t, nil)
	id := first.create(first.onboard(clusterSource))
	params := first.cluster("simple")
	first.completed(first.instantiate(id, params))
	doc := object(t, first.instance(id))
	doc["vimConnectionInfo"] = map[string]any{"vim1": map[string]any{"vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3"}}
	kubeconfig, err := first.api.Kubeconfig(t.Context(), id)
	require.NoError(t, err)
	config, err := clientcmd.Load(kubeconfig)
	require.NoError(t, err)
	first.stop()

	w := &takeover{world: start(t, first.cloud, func(c *configuration) { c.SSH.Port = sshPort })}
	w.before = first.before
	vnfd := w.onboard(clusterSource)
	w.vim = w.registered("openstack", simcloud.Project)
	operation := encode(t, map[string]any{
		"id": absentID, "operation": "INSTANTIATE", "operationState": "COMPLETED", "operationParams": params,
	})
	req := gybeapi.AdoptionRequest{
		Source: gybeapi.AdoptionSource{System: gybeapi.SystemTacker, APIVersion: 2}, VnfInstance: encode(t, doc),
		Operations: []json.RawMessage{operation}, VnfPkgID: w.packageOf(vnfd),
		VimConnections: map[string]string{"vim1": w.vim}, DryRun: true,
	}
	wrong := req
	wrong.AdditionalParams = []byte(`{"k8s_cluster_installation_param": {"worker_node": {"password": "wrong"}}}`)
	p, err := w.api.Adopt(t.Context(), wrong)
	require.NoError(t, err)
	require.Len(t, p.Refusals, 2, "both workers refuse the login: %+v", p.Refusals)
	require.Contains(t, p.Refusals[0].Hint, "--params FILE")
	require.Equal(t, "/additionalParams/k8s_cluster_installation_param/worker_node", p.Refusals[0].Pointer)

	p, err = w.api.Adopt(t.Context(), req)
	require.NoError(t, err)
	require.Empty(t, p.Refusals)
	require.Empty(t, p.Warnings)
	require.Equal(t, gybeapi.ClusterVerified, p.Cluster.Access, "with the administrator's credentials of a master")
	require.Equal(t, 3, p.Cluster.Nodes)

	cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
	user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	req.Vims = []json.RawMessage{encode(t, map[string]any{
		"id": absentID, "name": p.Cluster.Name, "type": "kubernetes", "auth_url": cluster.Server,
		"auth_cred": map[string]any{
			"bearer_token": user.Token, "ssl_ca_cert": string(cluster.CertificateAuthorityData),
		},
	})}
	req.DryRun = false
	w.cloud.ResetCalls()
	p, err = w.api.Adopt(t.Context(), req)
	require.NoError(t, err)
	require.True(t, p.Adopted)
	w.onlyRead()
	w.members(id, 1, 2)
	vims, err := w.api.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, vims, 2)

	had := w.serverIDs(id)
	w.completed(w.task(id, sol.LcmOperationScale, map[string]any{
		"type": "SCALE_OUT", "aspectId": "workerNode_scale", "numberOfSteps": 1,
	}))
	w.members(id, 1, 3)
	require.Subset(t, w.serverIDs(id), had)
	dead, worker := w.machineOf(id, "workerNode", 0)
	fleet.PowerOff(dead)
	w.completed(w.task(id, sol.LcmOperationHeal, map[string]any{"vnfcInstanceId": []string{worker}}))
	w.members(id, 1, 3)
	w.completed(w.terminate(id))
	w.gone()
	vims, err = w.api.Vims(t.Context())
	require.NoError(t, err)
	require.Len(t, vims, 1, "the cluster is no VIM any more")
}
