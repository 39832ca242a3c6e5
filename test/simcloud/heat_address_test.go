package simcloud

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	"github.com/stretchr/testify/require"
)

// TestFixedAddressIsFreeAgain: however a port with a fixed address came to an end, the next one can have the address.
func TestFixedAddressIsFreeAgain(t *testing.T) {
	t.Parallel()
	c, u := start(t)
	const top = `
heat_template_version: 2018-08-31
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.50.0.0/24}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: sub}, ip_address: 10.50.0.77}]}}
  late: {type: OS::Heat::None, depends_on: port}
`
	id := createStack(t, u, "fixed", top, nil, nil)
	waitStack(t, u, id, "CREATE_COMPLETE")
	address := func() []any {
		r, err := stackresources.Get(t.Context(), u.heat, "fixed", id, "port").Extract()
		require.NoError(t, err)
		return r.Attributes["fixed_ips"].([]any)
	}
	mark := func() {
		require.NoError(t, stackresources.MarkUnhealthy(t.Context(), u.heat, "fixed", id, "port",
			stackresources.MarkUnhealthyOpts{MarkUnhealthy: true}).ExtractErr())
	}
	mark()
	change(t, u, http.MethodPatch, "fixed", id, map[string]any{}, "UPDATE_COMPLETE")
	require.Equal(t, "10.50.0.77", address()[0].(map[string]any)["ip_address"])

	mark()
	rule := c.AddFault(Fault{Kind: "fail_resource", ResourceName: "late", Action: "create"})
	more := strings.Replace(top, "late:", "later: {type: OS::Heat::None, depends_on: port}\n  late:", 1)
	change(t, u, http.MethodPatch, "fixed", id, map[string]any{"template": strings.Replace(more,
		"late: {type: OS::Heat::None", "late: {type: OS::Heat::Value, properties: {value: x}", 1)}, "UPDATE_FAILED")
	require.True(t, c.Faults().Remove(rule))
	change(t, u, http.MethodPatch, "fixed", id, map[string]any{"template": top}, "UPDATE_COMPLETE")
	require.Equal(t, "10.50.0.77", address()[0].(map[string]any)["ip_address"])

	// the old port goes last
	change(t, u, http.MethodPatch, "fixed", id, map[string]any{"template": strings.NewReplacer("  port: {",
		"  other: {", "depends_on: port", "depends_on: other").Replace(top)}, "UPDATE_FAILED")
	change(t, u, http.MethodPatch, "fixed", id, map[string]any{"template": top}, "UPDATE_COMPLETE")
	require.NoError(t, stacks.Delete(t.Context(), u.heat, "fixed", id).ExtractErr())
	waitStack(t, u, id, "DELETE_COMPLETE")
}
