package openstack_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/stretchr/testify/require"
)

// cloud asks the services behind Gybe's back, as a user who may see every project.
type cloud struct {
	heat, nova, neutron, cinder, glance *gophercloud.ServiceClient
}

// connect logs in as the lab's project user, or as another one.
func (l *lab) connect(t *testing.T, user, project string) *cloud {
	t.Helper()
	p, err := openstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: l.vars["OS_AUTH_URL"], Username: user, Password: l.vars["OS_PASSWORD"], TenantName: project,
		DomainID: l.vars["OS_USER_DOMAIN_ID"], AllowReauth: true,
	})
	require.NoError(t, err)
	c := &cloud{}
	region := gophercloud.EndpointOpts{Region: l.vars["OS_REGION_NAME"]}
	for _, s := range []struct {
		into **gophercloud.ServiceClient
		make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&c.heat, openstack.NewOrchestrationV1},
		{&c.nova, openstack.NewComputeV2},
		{&c.neutron, openstack.NewNetworkV2},
		{&c.cinder, openstack.NewBlockStorageV3},
		{&c.glance, openstack.NewImageV2},
	} {
		*s.into, err = s.make(p, region)
		require.NoError(t, err)
	}
	c.nova.Microversion = "2.79"
	return c
}

// object is anything that a service lists.
type object map[string]any

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

// list asks a service for objects; key is the member of the answer that holds them.
func list(ctx context.Context, s *gophercloud.ServiceClient, path, key string) ([]object, error) {
	var body map[string]any
	if _, err := s.Get(ctx, s.ServiceURL(path), &body, nil); err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	raw, ok := body[key].([]any)
	if !ok {
		return nil, fmt.Errorf("list %s: the answer has no %s", path, key)
	}
	out := make([]object, len(raw))
	for i, v := range raw {
		out[i], _ = v.(map[string]any)
	}
	return out, nil
}

// everything is all that the services hold: what it is, by "kind id".
type everything map[string]string

// everything lists every kind of object that an instance can be made of, in all projects.
func (c *cloud) everything(ctx context.Context) (everything, error) {
	all := everything{}
	for _, k := range []struct {
		kind    string
		service *gophercloud.ServiceClient
		path    string
		key     string
	}{
		{"stack", c.heat, "stacks?show_nested=true", "stacks"},
		{"server", c.nova, "servers/detail?all_tenants=1", "servers"},
		{"server group", c.nova, "os-server-groups?all_projects=1", "server_groups"},
		{"network", c.neutron, "networks", "networks"},
		{"subnet", c.neutron, "subnets", "subnets"},
		{"port", c.neutron, "ports", "ports"},
		{"floating IP", c.neutron, "floatingips", "floatingips"},
		{"security group", c.neutron, "security-groups", "security_groups"},
		{"router", c.neutron, "routers", "routers"},
		{"volume", c.cinder, "volumes/detail?all_tenants=1", "volumes"},
		{"snapshot", c.cinder, "snapshots?all_tenants=1", "snapshots"},
		{"image", c.glance, "images?limit=1000", "images"},
	} {
		objects, err := list(ctx, k.service, k.path, k.key)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			text := strings.TrimSpace(o.text("name") + o.text("stack_name") + o.text(
				"floating_ip_address",
			) + " " + o.text("status") + o.text("stack_status"))
			if o.text("stack_status") != "DELETE_COMPLETE" { // listed for a moment after its deletion
				all[k.kind+" "+o.text("id")] = text
			}
		}
	}
	// Each project gets a security group "default" when it first uses Neutron.
	maps.DeleteFunc(all, func(k, v string) bool { return strings.HasPrefix(k, "security group ") && v == "default" })
	return all, nil
}

// since lists what is there now and was not before, and the reverse.
func (e everything) since(before everything) []string {
	var out []string
	for k, v := range e {
		if _, ok := before[k]; !ok {
			out = append(out, fmt.Sprintf("%s (%s) is left", k, v))
		}
	}
	for k, v := range before {
		if _, ok := e[k]; !ok {
			out = append(out, fmt.Sprintf("%s (%s) was there before and is gone", k, v))
		}
	}
	return slices.Sorted(slices.Values(out))
}

// look is everything that is there now.
func (c *cloud) look(t *testing.T) everything {
	t.Helper()
	all, err := c.everything(t.Context())
	require.NoError(t, err)
	return all
}

// stack finds the top stack of an instance; nil if it does not exist.
func (c *cloud) stack(t *testing.T, instance string) object {
	t.Helper()
	stacks, err := list(t.Context(), c.heat, "stacks?name=vnf-"+instance, "stacks")
	require.NoError(t, err)
	for _, s := range stacks {
		return s
	}
	return nil
}

// get reads one object; the path is below the service's address, key the member of the answer.
func (c *cloud) get(t *testing.T, s *gophercloud.ServiceClient, path, key string) object {
	t.Helper()
	var body map[string]any
	_, err := s.Get(context.WithoutCancel(t.Context()), s.ServiceURL(path), &body, nil)
	require.NoError(t, err)
	o, ok := body[key].(map[string]any)
	require.True(t, ok, "%s has no %s", path, key)
	return o
}

// named is the id of the object of that name.
func (c *cloud) named(t *testing.T, s *gophercloud.ServiceClient, path, key, name string) string {
	t.Helper()
	objects, err := list(context.WithoutCancel(t.Context()), s, path, key)
	require.NoError(t, err)
	for _, o := range objects {
		if o.text("name") == name {
			return o.text("id")
		}
	}
	require.Fail(t, "there is no such thing", "%s %s", path, name)
	return ""
}

// network is the id of a network, subnet that of a subnet.
func (c *cloud) network(t *testing.T, name string) string {
	t.Helper()
	return c.named(t, c.neutron, "networks", "networks", name)
}

func (c *cloud) subnet(t *testing.T, name string) string {
	t.Helper()
	return c.named(t, c.neutron, "subnets", "subnets", name)
}

// clear deletes the stack and the images of an instance, when a test has failed on the way.
func (c *cloud) clear(t *testing.T, instance string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, 5*time.Second) {
		stacks, err := list(ctx, c.heat, "stacks?name=vnf-"+instance, "stacks")
		if err != nil || len(stacks) == 0 {
			break
		}
		// Also when it is being deleted: Heat may have forgotten it.
		_, _ = c.heat.Delete(ctx, c.heat.ServiceURL("stacks", stacks[0].text("stack_name"), stacks[0].text("id")), nil)
	}
	images, _ := list(ctx, c.glance, "images?tag="+instance, "images")
	for _, i := range images {
		_, _ = c.glance.Delete(ctx, c.glance.ServiceURL("images", i.text("id")), nil)
	}
}

// create makes something and returns its id; it goes with the test. key is the member of the request and the answer;
// Glance has none.
func (c *cloud) create(t *testing.T, s *gophercloud.ServiceClient, path, key string, body map[string]any) string {
	t.Helper()
	in := body
	if key != "" {
		in = map[string]any{key: body}
	}
	var out map[string]any
	_, err := s.Post(t.Context(), s.ServiceURL(path), in, &out, ok)
	require.NoError(t, err)
	if key != "" {
		out, _ = out[key].(map[string]any)
	}
	id := object(out).text("id")
	t.Cleanup(func() { c.remove(t, s, path+"/"+id) })
	return id
}

// remove deletes something that may be gone already.
func (c *cloud) remove(t *testing.T, s *gophercloud.ServiceClient, path string) {
	t.Helper()
	_, err := s.Delete(context.WithoutCancel(t.Context()), s.ServiceURL(path), nil)
	if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		require.NoError(t, err)
	}
}

// pause waits, or less when the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
