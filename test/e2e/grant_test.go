package e2e_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/nfvo"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// managed is a world whose operations an NFVO grants.
type managed struct {
	*world
	nfvo *nfvo.Server
}

// startManaged starts a node with an NFVO in front of a cloud with two zones.
func startManaged(t *testing.T, change ...func(*configuration)) *managed {
	t.Helper()
	cloud := simcloud.StartTest(t, simcloud.Options{
		Hosts: []simcloud.Host{
			{Name: "c1", Zone: "az1"},
			{Name: "c2", Zone: "az1"},
			{Name: "c3", Zone: "az2"},
			{Name: "c4", Zone: "az2"},
			{Name: "c5", Zone: "az2"},
		},
		Images: []string{"granted-image"},
	})
	requests, err := stack.NewRequests(t.Context(), cloud)
	require.NoError(t, err)
	m := &managed{nfvo: nfvo.Start(t)}
	m.world = start(t, cloud, func(c *configuration) {
		c.NFVO.URL = m.nfvo.URL
		c.NFVO.Poll, c.NFVO.RetryBase, c.NFVO.RetryMax = interval, time.Millisecond, interval
		for _, f := range change {
			f(c)
		}
	})
	m.requests = requests
	return m
}

// server is a server of Nova, as far as a grant decides on it.
type server struct{ zone, flavour, image string }

// servers returns those of the cloud, by the VDU in their names.
func (m *managed) servers() map[string][]server {
	m.t.Helper()
	ctx := m.t.Context()
	provider, err := simcloud.Login(ctx, m.cloud.AuthOptions())
	require.NoError(m.t, err)
	defer provider.HTTPClient.CloseIdleConnections()
	compute, err := openstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: simcloud.Region})
	require.NoError(m.t, err)
	pages, err := servers.List(compute, servers.ListOpts{}).AllPages(ctx)
	require.NoError(m.t, err)
	all, err := servers.ExtractServers(pages)
	require.NoError(m.t, err)
	out := map[string][]server{}
	for _, s := range all {
		flavour, _ := s.Flavor["id"].(string)
		image, _ := s.Image["id"].(string)
		for _, vdu := range []string{"VDU1", "VDU2"} {
			if strings.Contains(s.Name, "-"+vdu+"-") {
				out[vdu] = append(out[vdu], server{s.AvailabilityZone, flavour, m.image(image)})
			}
		}
	}
	return out
}

// image is the name of an image.
func (m *managed) image(id string) string {
	for _, i := range m.cloud.State()["images"] {
		if i.ID == id {
			return i.Name
		}
	}
	return id
}

func (m *managed) imageID(name string) string {
	m.t.Helper()
	for _, i := range m.cloud.State()["images"] {
		if i.Name == name {
			return i.ID
		}
	}
	require.Fail(m.t, "no such image", name)
	return ""
}

// count counts resources in the form of changes.
func count(list []sol.ResourceDefinition) map[string]int {
	n := map[string]int{}
	for _, d := range list {
		n[string(d.Type)+" "+d.ResourceTemplateID]++
	}
	return n
}

// Every operation is granted, and what it adds and removes is what it has asked for.
func TestGrantOfEveryOperation(t *testing.T) {
	t.Parallel()
	asked := map[sol.LcmOperationType]bool{}
	for _, o := range standardOperations() {
		asked[o.typ] = true
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			m := startManaged(t)
			m.nfvo.Set(nfvo.Behaviour{Looks: 1})
			before := m.standard(o)
			occ := m.completed(m.begin(o, before))
			o.want(t, before, m.instance(before.ID))
			require.Equal(t, o.changes, changes(occ))
			m.checkGrant(occ, o.typ)
			m.end(before.ID)
		})
	}
	require.Contains(t, asked, sol.LcmOperationChangeVnfpkg)
}

// checkGrant compares an operation with its grant request.
func (m *managed) checkGrant(occ *sol.VnfLcmOpOcc, typ sol.LcmOperationType) {
	m.t.Helper()
	requests := m.nfvo.Requests(occ.ID)
	if typ == sol.LcmOperationModifyInfo {
		require.Empty(m.t, requests)
		require.Nil(m.t, occ.Links.Grant)
		return
	}
	require.Len(m.t, requests, 1)
	grants := m.nfvo.Grants(occ.ID)
	require.Len(m.t, grants, 1)
	require.Equal(m.t, grants[0].ID, occ.GrantID)
	require.Equal(m.t, grants[0].Links.Self.Href, occ.Links.Grant.Href)
	if occ.ResourceChanges == nil {
		return
	}
	added, removed := map[string]int{}, map[string]int{}
	tell := func(key string, change sol.ChangeType) {
		switch change {
		case sol.ChangeTypeAdded:
			added[key]++
		case sol.ChangeTypeRemoved:
			removed[key]++
		default:
		}
	}
	named := map[string]string{}
	for change, list := range map[sol.ChangeType][]sol.ResourceDefinition{
		sol.ChangeTypeAdded: requests[0].AddResources, sol.ChangeTypeRemoved: requests[0].RemoveResources,
	} {
		for _, d := range list {
			named[string(change)+" "+d.ID] = d.ResourceTemplateID
		}
	}
	refers := func(change sol.ChangeType, id, template string) {
		if change == sol.ChangeTypeAdded || change == sol.ChangeTypeRemoved {
			require.Equal(m.t, template, named[string(change)+" "+id], "resourceDefinitionId %s of %s", id, template)
		}
	}
	for _, v := range occ.ResourceChanges.AffectedVnfcs {
		tell("COMPUTE "+v.VduID, v.ChangeType)
		refers(v.ChangeType, v.ResourceDefinitionID, v.VduID)
	}
	for _, s := range occ.ResourceChanges.AffectedVirtualStorages {
		tell("STORAGE "+s.VirtualStorageDescID, s.ChangeType)
		refers(s.ChangeType, s.ResourceDefinitionID, s.VirtualStorageDescID)
	}
	for _, l := range occ.ResourceChanges.AffectedVirtualLinks {
		tell("VL "+l.VnfVirtualLinkDescID, l.ChangeType)
		refers(l.ChangeType, l.ResourceDefinitionID, l.VnfVirtualLinkDescID)
	}
	for key, n := range added {
		require.Equal(m.t, n, count(requests[0].AddResources)[key], "%s added, %s", key, typ)
	}
	for key, n := range removed {
		require.Equal(m.t, n, count(requests[0].RemoveResources)[key], "%s removed, %s", key, typ)
	}
}

// decides lets the NFVO put each VDU where it wants it, and provide its flavour and image.
func (m *managed) decides(zones map[string]string) func(sol.GrantRequest, *sol.Grant) {
	image := m.imageID("granted-image")
	return func(r sol.GrantRequest, g *sol.Grant) {
		for _, zone := range slices.Sorted(maps.Values(zones)) {
			if !slices.ContainsFunc(g.Zones, func(z sol.ZoneInfo) bool { return z.ZoneID == zone }) {
				g.Zones = append(g.Zones, sol.ZoneInfo{ID: "zone of " + zone, ZoneID: zone})
			}
		}
		for n, d := range r.AddResources {
			if zone := zones[d.ID]; zone != "" {
				g.AddResources[n].ZoneID = "zone of " + zone
			}
		}
		if r.Operation == sol.LcmOperationInstantiate {
			g.VimAssets = &sol.VimAssets{
				ComputeResourceFlavours: []sol.VimComputeResourceFlavour{
					{VnfdVirtualComputeDescID: "VDU1", VimFlavourID: "m1.small"},
				},
				SoftwareImages: []sol.VimSoftwareImage{{VnfdSoftwareImageID: "VDU1", VimSoftwareImageID: image}},
			}
		}
	}
}

// What the NFVO decides is what Nova gets: at the instantiation, and later without being repeated.
func TestGrantDecidesOnServers(t *testing.T) {
	t.Parallel()
	m := startManaged(t)
	// The package brings an image of its own, which is not uploaded.
	id := m.create(m.onboard(nextSource))
	before := len(m.cloud.State()["images"])
	m.nfvo.Set(nfvo.Behaviour{Change: m.decides(map[string]string{"VDU1-0": "az2", "VDU2-0": "az1"})})
	m.completed(m.instantiate(id, m.requests.Standard("volumes")))
	m1small := m.flavour("m1.small")
	require.Equal(t, []server{{"az2", m1small, "granted-image"}}, m.servers()["VDU1"])
	require.Equal(t, "az1", m.servers()["VDU2"][0].zone)
	require.Len(t, m.cloud.State()["images"], before, "an image was uploaded although the grant names one")

	m.nfvo.Set(nfvo.Behaviour{Change: m.decides(map[string]string{"VDU1-1": "az1", "VDU1-2": "az2"})})
	op, err := m.api.Scale(t.Context(), id, stack.Scale(sol.ScaleTypeOut, 2))
	require.NoError(t, err)
	m.completed(op)
	require.ElementsMatch(t, []server{
		{"az2", m1small, "granted-image"}, {"az1", m1small, "granted-image"}, {"az2", m1small, "granted-image"},
	}, m.servers()["VDU1"])

	// a heal moves the VNFC that it replaces, and no other
	m.nfvo.Set(nfvo.Behaviour{Change: m.decides(map[string]string{"VDU1-0": "az1"})})
	ids := vnfcs(m.instance(id), "VDU1")
	op, err = m.api.Heal(t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: ids[len(ids)-1:]})
	require.NoError(t, err)
	m.completed(op)
	require.ElementsMatch(t, []server{
		{"az1", m1small, "granted-image"}, {"az1", m1small, "granted-image"}, {"az2", m1small, "granted-image"},
	}, m.servers()["VDU1"])
	m.nfvo.Set(nfvo.Behaviour{})
	m.end(id)
}

// flavour is the id of a flavour of Nova.
func (m *managed) flavour(name string) string {
	return map[string]string{"m1.tiny": "1", "m1.small": "2", "m1.medium": "3"}[name]
}

// Links and parameters of the grant take precedence over those of the request.
func TestGrantDecidesOnLinksAndParameters(t *testing.T) {
	t.Parallel()
	m := startManaged(t)
	id := m.create(m.onboard(standardSource))
	request := m.requests.Standard("volumes")
	other := m.requests.Reconnected("net_mgmt").ExtVirtualLinks
	internal := m.requests.Reconnected("net1").ExtVirtualLinks[0].ResourceID
	m.nfvo.Set(nfvo.Behaviour{Change: func(_ sol.GrantRequest, g *sol.Grant) {
		g.ExtVirtualLinks = other
		g.ExtManagedVirtualLinks = []sol.ExtManagedVirtualLinkData{
			{ID: "internal", VnfVirtualLinkDescID: "internalVL1", ResourceID: internal},
		}
		g.AdditionalParams = sol.KeyValuePairs{"nfv": map[string]any{"VDU": map[string]any{
			"VDU1-0": map[string]any{"computeFlavourId": "m1.medium"},
		}}}
	}})
	networks := len(m.cloud.State()["networks"])
	m.completed(m.instantiate(id, request))
	require.Len(t, m.cloud.State()["networks"], networks, "the internal link is managed by the NFVO")
	require.Equal(t, m.flavour("m1.medium"), m.servers()["VDU1"][0].flavour)
	i := m.instance(id).InstantiatedVnfInfo
	require.Equal(t, internal, i.ExtManagedVirtualLinkInfo[0].NetworkResource.ResourceID)
	found := map[string]string{}
	for _, l := range i.ExtVirtualLinkInfo {
		found[l.ID] = l.ResourceHandle.ResourceID
	}
	require.Equal(t, map[string]string{
		"link1": request.ExtVirtualLinks[0].ResourceID, "link3": other[0].ResourceID,
	}, found)
	addresses("192.168.120.")(t, m.instance(id), m.instance(id))
	m.nfvo.Set(nfvo.Behaviour{})
	m.end(id)
}

// The NFVO selects the VIM, also one for each VDU, and the request names none.
func TestGrantSelectsVims(t *testing.T) {
	t.Parallel()
	m := startManaged(t)
	edge := simcloud.StartTest(t, simcloud.Options{})
	there, err := stack.NewRequests(t.Context(), edge)
	require.NoError(t, err)
	params := m.requests.Standard("volumes")
	params.ExtVirtualLinks[0] = there.Standard("volumes").ExtVirtualLinks[0]
	vims := map[string]sol.VimConnectionInfo{
		"core": params.VimConnectionInfo["vim1"], "edge": stack.VimConnection(edge.Info()),
	}
	params.VimConnectionInfo = nil
	m.before = m.cloud.State()
	atEdge := edge.State()
	id := m.create(m.onboard(standardSource))
	_, err = m.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, params),
	})
	require.ErrorContains(t, err, "selects the VIM when it grants")
	m.nfvo.Set(nfvo.Behaviour{Looks: 1, Change: func(r sol.GrantRequest, g *sol.Grant) {
		g.VimConnectionInfo = vims
		for n, d := range r.AddResources {
			g.AddResources[n].VimConnectionID = "core"
			if strings.HasPrefix(d.ID, "VDU1") || d.Type == sol.ResourceTypeVl {
				g.AddResources[n].VimConnectionID = "edge"
			}
		}
	}})
	granted := m.instantiate(id, params)
	m.completed(granted)
	var key, queue string
	require.NoError(t, m.pool.QueryRow(t.Context(), `SELECT o.vim_key, split_part(j.queue, '/', 2)
		FROM vnf_lcm_op_occ o JOIN river_job j ON j.id = o.job_id WHERE o.id = $1`, granted).Scan(&key, &queue))
	require.Equal(t, lcm.VimKey(vims["edge"]), key, "the operation counts for the VIM of the grant")
	require.Equal(t, key, queue)
	require.Equal(t, []string{"VDU1"}, serversOf(edge, "VDU1", "VDU2"))
	require.Equal(t, []string{"VDU2"}, serversOf(m.cloud, "VDU1", "VDU2"))
	i := m.instance(id)
	require.Len(t, i.VimConnectionInfo, 2)
	require.NotContains(t, m.seen.String(), simcloud.Password)
	require.NotContains(t, m.log.String(), simcloud.Password)

	m.nfvo.Set(nfvo.Behaviour{Change: func(_ sol.GrantRequest, g *sol.Grant) {
		for n := range g.AddResources {
			g.AddResources[n].VimConnectionID = "core"
		}
	}})
	op, err := m.api.Scale(t.Context(), id, stack.Scale(sol.ScaleTypeOut, 1))
	require.NoError(t, err)
	refused := m.resting(op)
	require.Equal(t, sol.LcmOperationStateRolledBack, refused.OperationState)
	require.Contains(t, refused.Error.Detail, "they cannot move")
	m.nfvo.Set(nfvo.Behaviour{})
	m.end(id)
	require.Empty(t, edge.State().Since(atEdge))
}

// The NFVO moves a new VNF to a registered VIM, which the grant refers to by vimId alone.
func TestGrantRefersToARegisteredVim(t *testing.T) {
	t.Parallel()
	m := startManaged(t)
	edge := simcloud.StartTest(t, simcloud.Options{})
	there, err := stack.NewRequests(t.Context(), edge)
	require.NoError(t, err)
	params := m.requests.Standard("volumes")
	params.ExtVirtualLinks = there.Standard("volumes").ExtVirtualLinks
	m.before = m.cloud.State()
	atEdge := edge.State()
	vim, err := m.api.CreateVim(t.Context(), gybeapi.Vim{
		Name: "edge", Type: "openstack", AuthURL: edge.AuthURL(),
		VimProject: sol.KeyValuePairs{"name": simcloud.Project, "project_domain_name": simcloud.Domain},
		AuthCred: sol.KeyValuePairs{
			"username": simcloud.Username, "password": simcloud.Password, "user_domain_name": simcloud.Domain,
		},
	})
	require.NoError(t, err)
	refers := func(key, vimID string) nfvo.Behaviour {
		return nfvo.Behaviour{Looks: 1, Change: func(r sol.GrantRequest, g *sol.Grant) {
			g.VimConnectionInfo = map[string]sol.VimConnectionInfo{key: {
				VimID: vimID, VimType: params.VimConnectionInfo["vim1"].VimType,
			}}
			for n := range g.AddResources {
				g.AddResources[n].VimConnectionID = key
			}
		}}
	}
	id := m.create(m.onboard(standardSource))
	m.nfvo.Set(refers("edge", "a86d8d5b-8f8e-4d0c-9b6e-0f3f5f5d8c55"))
	refused := m.resting(m.instantiate(id, params))
	require.Equal(t, sol.LcmOperationStateRolledBack, refused.OperationState)
	require.Contains(t, refused.Error.Detail, `/vimConnectionInfo/edge/vimId is "a86d8d5b-8f8e-4d0c-9b6e-0f3f5f5d8c55"`)
	require.Empty(t, edge.State().Since(atEdge))

	m.nfvo.Set(refers("edge", vim.ID))
	m.completed(m.instantiate(id, params))
	require.Equal(t, []string{"VDU1", "VDU2"}, serversOf(edge, "VDU1", "VDU2"))
	m.gone()
	i := m.instance(id)
	require.Equal(t, vim.ID, i.VimConnectionInfo["edge"].VimID)
	require.Equal(t, edge.AuthURL(), i.VimConnectionInfo["edge"].InterfaceInfo["endpoint"])

	// The next grant has another key for the same VIM.
	m.nfvo.Set(refers("PoP 7", vim.ID))
	op, err := m.api.Scale(t.Context(), id, stack.Scale(sol.ScaleTypeOut, 1))
	require.NoError(t, err)
	m.completed(op)
	require.Equal(t, []string{"VDU1", "VDU1", "VDU2"}, serversOf(edge, "VDU1", "VDU2"))
	require.Len(t, m.instance(id).VimConnectionInfo, len(i.VimConnectionInfo))
	m.nfvo.Set(nfvo.Behaviour{})
	m.end(id)
	require.Empty(t, edge.State().Since(atEdge))
	require.NotContains(t, m.seen.String(), simcloud.Password)
	require.NotContains(t, m.log.String(), simcloud.Password)
}

// A grant that the request contradicts is an error before anything is created.
func TestGrantThatTheRequestContradicts(t *testing.T) {
	t.Parallel()
	m := startManaged(t)
	id := m.create(m.onboard(standardSource))
	m.nfvo.Set(nfvo.Behaviour{Change: m.decides(map[string]string{"VDU1-0": "az2"})})
	params := m.requests.Standard("smallest")
	params.AdditionalParams["nfv"] = map[string]any{"VDU": map[string]any{"VDU1-0": map[string]any{
		"locationConstraints": "az1",
	}}}
	occ := m.resting(m.instantiate(id, params))
	require.Equal(t, sol.LcmOperationStateRolledBack, occ.OperationState)
	require.Contains(t, occ.Error.Detail, "the grant places VDU1-0 in the zone az2, but it would be in az1")
	require.Empty(t, m.servers())
	m.gone()
}

// A rejection is shown as the NFVO has worded it, and an NFVO that is away is waited for.
func TestGrantRejectedThenUnreachable(t *testing.T) {
	t.Parallel()
	m := startManaged(t)
	id := m.create(m.onboard(standardSource))
	m.nfvo.Set(nfvo.Behaviour{
		Status: http.StatusForbidden, Problem: &sol.ProblemDetails{Title: "No capacity", Detail: "PoP 7 is full"},
	})
	occ := m.resting(m.instantiate(id, m.requests.Standard("smallest")))
	require.Equal(t, sol.LcmOperationStateRolledBack, occ.OperationState)
	require.Equal(t, http.StatusForbidden, occ.Error.Status)
	require.Equal(t, "No capacity", occ.Error.Title)
	require.Contains(t, occ.Error.Detail, "PoP 7 is full")
	m.gone()

	m.nfvo.Set(nfvo.Behaviour{Down: true})
	op := m.instantiate(id, m.requests.Standard("smallest"))
	require.Eventually(t, func() bool {
		waiting := m.progress(op).Waiting
		return strings.Contains(waiting, "waits for the NFVO "+m.nfvo.URL) && !strings.Contains(waiting, "(try 1)")
	}, patience, interval)
	m.nfvo.Set(nfvo.Behaviour{})
	m.completed(op)
	plan, err := m.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationScale, Params: encode(t, stack.Scale(sol.ScaleTypeOut, 1)),
	})
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(plan.Checks, func(c gybeapi.Check) bool {
		return c.Subject == "grant" && strings.Contains(c.Detail, m.nfvo.URL)
	}))
	m.end(id)
}
