package openstack_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/fault"
)

// outsider is another client of the cloud.
type outsider struct {
	t        *testing.T
	cloud    *simcloud.Cloud
	provider *gophercloud.ProviderClient
}

func newOutsider(t *testing.T, cloud *simcloud.Cloud) *outsider {
	t.Helper()
	p, err := simcloud.Login(t.Context(), cloud.AuthOptions())
	require.NoError(t, err)
	t.Cleanup(p.HTTPClient.CloseIdleConnections)
	return &outsider{t, cloud, p}
}

// do makes a call below the cloud's URL and returns the id of the object in the answer's member.
func (o *outsider) do(method, path, member string, body any) string {
	o.t.Helper()
	var out map[string]any
	opts := &gophercloud.RequestOpts{JSONBody: body, OkCodes: []int{200, 201, 202, 204}}
	if member != "" {
		opts.JSONResponse = &out
	}
	res, err := o.provider.Request(o.t.Context(), method, o.cloud.URL()+path, opts)
	require.NoError(o.t, err)
	require.NoError(o.t, res.Body.Close())
	object, _ := out[member].(map[string]any)
	id, _ := object["id"].(string)
	return id
}

func (o *outsider) named(kind, member, name string, more map[string]any) string {
	o.t.Helper()
	object := map[string]any{"name": name}
	maps.Copy(object, more)
	return o.do(http.MethodPost, kind, member, map[string]any{member: object})
}

func names(list []lcm.Leftover) []string {
	out := []string{}
	for _, l := range list {
		out = append(out, l.Type+" "+l.Name)
	}
	slices.Sort(out)
	return out
}

func (w *world) leftovers() *lcm.Leftovers {
	w.t.Helper()
	d, _ := w.node()
	defer d.Close()
	i := w.store.instance
	l, err := d.Leftovers(w.t.Context(), &i, nil)
	require.NoError(w.t, err)
	return l
}

// TestLeftovers: whatever carries the instance's name and is not in its records is found and can be removed; nothing
// else is touched.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	require.Empty(t, w.leftovers().Extra, "what an instance has is no leftover")
	require.Empty(t, w.leftovers().Missing)

	o := newOutsider(t, cloud)
	const project = "/volume/v3/"
	mine, id := w.stackName(), w.store.instance.ID
	net := o.named("/network/v2.0/networks", "network", mine+"-net", nil)
	subnet := o.named("/network/v2.0/subnets", "subnet", mine+"-subnet",
		map[string]any{"network_id": net, "cidr": "10.99.0.0/24", "ip_version": 4})
	router := o.named("/network/v2.0/routers", "router", mine+"-router", nil)
	o.do(http.MethodPut, "/network/v2.0/routers/"+router+"/add_router_interface", "",
		map[string]any{"subnet_id": subnet})
	port := o.named("/network/v2.0/ports", "port", mine+"-port", map[string]any{"network_id": net})
	o.named("/compute/v2.1/servers", "server", mine+"-server", map[string]any{
		"flavorRef": "1", "imageRef": cloud.State()["images"][0].ID, "networks": []any{map[string]any{"port": port}},
	})
	o.named(project+cloud.ProjectID()+"/volumes", "volume", mine+"-volume", map[string]any{"size": 1})
	o.named("/network/v2.0/security-groups", "security_group", mine, nil)
	o.named(
		"/compute/v2.1/os-server-groups", "server_group", mine+"-group", map[string]any{"policies": []any{"affinity"}},
	)
	o.do(http.MethodPost, "/image/v2/images", "", map[string]any{
		"name": "half an image", "tags": []any{id}, "disk_format": "raw", "container_format": "bare",
	})
	o.do(http.MethodPost, "/orchestration/v1/"+cloud.ProjectID()+"/stacks", "stack",
		map[string]any{"stack_name": mine + "-theirs", "template": "heat_template_version: 2013-05-23"})
	// another name, if only by a letter
	o.named("/network/v2.0/ports", "port", mine+"x", map[string]any{"network_id": net})
	o.named(project+cloud.ProjectID()+"/volumes", "volume", "backup of "+mine, map[string]any{"size": 1})

	want := []string{
		"OS::Cinder::Volume " + mine + "-volume", "OS::Glance::Image half an image",
		"OS::Neutron::Net " + mine + "-net", "OS::Neutron::Port " + mine + "-port",
		"OS::Neutron::Router " + mine + "-router", "OS::Neutron::SecurityGroup " + mine,
		"OS::Neutron::Subnet " + mine + "-subnet", "OS::Nova::Server " + mine + "-server",
		"OS::Nova::ServerGroup " + mine + "-group",
	}
	found := w.leftovers()
	require.Equal(t, want, names(found.Extra))

	d, _ := w.node()
	defer d.Close()
	i := w.store.instance
	left, err := d.RemoveLeftovers(t.Context(), &i, nil, found.Extra)
	require.NoError(t, err)
	// The network and its subnet are in use by a port that is not ours: they stay, and it is said why.
	require.Equal(
		t, []string{"OS::Neutron::Net " + mine + "-net", "OS::Neutron::Subnet " + mine + "-subnet"}, names(left), left,
	)
	for _, l := range left {
		require.Contains(t, l.Why, "409 Conflict", l.Type)
	}
	for _, p := range cloud.State()["ports"] {
		if p.Name == mine+"x" {
			o.do(http.MethodDelete, "/network/v2.0/ports/"+p.ID, "", nil)
		}
	}
	left, err = d.RemoveLeftovers(t.Context(), &i, nil, w.leftovers().Extra)
	require.NoError(t, err)
	require.Empty(t, left)
	w.terminate()
	w.completed()
	since := cloud.State().Since(before)
	require.Len(t, since, 2, since)
	require.Contains(t, since[0]+since[1], mine+"-theirs", "a stack without the instance's tag is not ours")
	require.Contains(t, since[0]+since[1], "backup of "+mine)
}

// TestLeftoversOfAStackOfAFailedInstantiation: a failed instantiation that was given up leaves a whole stack; it goes
// as one, also when its deletion fails at first.
func TestLeftoversOfAStackOfAFailedInstantiation(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	before := cloud.State()
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	i := w.store.instance
	i.Instantiated, i.Inventory, i.State = nil, nil, sol.InstantiationStateNotInstantiated
	d, _ := w.node()
	defer d.Close()
	found, err := d.Leftovers(t.Context(), &i, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"OS::Glance::Image masterNode-image", "OS::Glance::Image workerNode-image", "OS::Heat::Stack " + w.stackName(),
	}, names(found.Extra))
	cloud.AddFault(simcloud.Fault{
		Kind: fault.FailResource, ResourceName: "masterNode_CP1", Action: "delete", Count: 1,
		Reason: "Conflict: Port p1 is still in use.",
	})
	left, err := d.RemoveLeftovers(t.Context(), &i, nil, found.Extra)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, cloud.State().Since(before))
}

// TestMissing: resources that another client has deleted are reported.
func TestMissing(t *testing.T) {
	t.Parallel()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	w := newWorld(t, cloud)
	w.instantiate("simple")
	w.completed()
	o := newOutsider(t, cloud)
	server := w.store.instance.Instantiated.VnfcResourceInfo[0]
	o.do(http.MethodDelete, "/compute/v2.1/servers/"+server.ID, "", nil)
	require.Eventually(t, func() bool {
		return slices.Equal(names(w.leftovers().Missing), []string{"OS::Nova::Server " + server.VduID})
	}, time.Minute, 10*time.Millisecond)
	require.Empty(t, w.leftovers().Extra)
}
