package openstack_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// nfv puts values of its own for one resource below nfv.VDU into a request.
func nfv(req sol.InstantiateVnfRequest, name string, values map[string]any) sol.InstantiateVnfRequest {
	req.AdditionalParams["nfv"] = map[string]any{"VDU": map[string]any{name: values}}
	return req
}

// An error of OpenStack is reported with OpenStack's text and a hint; a rollback leaves nothing.
func TestInstantiationThatOpenStackRefusesIsExplainedAndRolledBack(t *testing.T) {
	w := start(t, 1)
	vnfd := w.vnfd("plain")
	const nowhere = "5e1f3c1e-0000-4000-8000-000000000000"
	for _, tt := range []struct {
		name  string
		req   func(w *world) sol.InstantiateVnfRequest
		words []string
	}{
		{"no such flavour", func(w *world) sol.InstantiateVnfRequest {
			return nfv(w.plain(), "VDU1-0", map[string]any{"computeFlavourId": "m1.nowhere"})
		}, []string{"m1.nowhere"}},
		{"no such image", func(w *world) sol.InstantiateVnfRequest {
			return nfv(w.plain(), "VDU1-0", map[string]any{"vcImageId": "no-such-image"})
		}, []string{"no-such-image"}},
		{"no such network", func(w *world) sol.InstantiateVnfRequest {
			req := w.plain()
			req.ExtVirtualLinks[0].ResourceID = nowhere
			return req
		}, []string{nowhere}},
		{"larger than any host", func(w *world) sol.InstantiateVnfRequest {
			return nfv(w.plain(), "VDU1-0", map[string]any{"computeFlavourId": "m1.huge"})
		}, []string{"No valid host was found"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			id := w.create(vnfd)
			op := w.instantiate(id, tt.req(w))
			o := w.failed(op, tt.words...)
			require.NotEmpty(t, o.Error.Title)
			w.rolledBack(op)
			require.Equal(t, sol.InstantiationStateNotInstantiated, w.instance(id).InstantiationState)
			w.discard(id)
		})
	}
}

// project is the id of the project in which the instances are.
func (w *world) project() string {
	w.t.Helper()
	return w.cloud.get(w.t, w.cloud.neutron, "networks/"+w.cloud.network(w.t, "net1"), "network").text("project_id")
}

// instanceQuota bounds the number of servers of the project; -1 is no bound.
func (w *world) instanceQuota(limit int) {
	w.t.Helper()
	project := w.project()
	_, err := w.cloud.nova.Put(context.WithoutCancel(w.t.Context()), w.cloud.nova.ServiceURL("os-quota-sets", project),
		map[string]any{"quota_set": map[string]any{"instances": limit}}, nil, ok)
	require.NoError(w.t, err)
}

// portQuota bounds the number of ports of the project; -1 is no bound.
func (w *world) portQuota(limit int) {
	w.t.Helper()
	project := w.project()
	_, err := w.cloud.neutron.Put(context.WithoutCancel(w.t.Context()), w.cloud.neutron.ServiceURL("quotas", project),
		map[string]any{"quota": map[string]any{"port": limit}}, nil, ok)
	require.NoError(w.t, err)
}

// An exceeded quota is reported; after it was raised, a retry completes the instantiation.
func TestQuotaThatIsUsedUpIsExplainedAndRetried(t *testing.T) {
	w := start(t, 1)
	vnfd := w.vnfd("plain")
	for _, tt := range []struct {
		name string
		set  func(w *world, limit int)
		word string
	}{
		{"instances", (*world).instanceQuota, "Quota exceeded for instances"},
		{"ports", (*world).portQuota, "Quota exceeded for resources: ['port']"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			tt.set(w, 0)
			t.Cleanup(func() { tt.set(w, -1) })
			id := w.create(vnfd)
			op := w.instantiate(id, w.plain())
			w.failed(op, tt.word)
			tt.set(w, -1)
			w.retried(op)
			w.down(id)
		})
	}
}

// An address in use is reported with the address; when it is free, a retry completes the instantiation.
func TestAddressInUseIsExplainedAndRetried(t *testing.T) {
	w := start(t, 1)
	subnet, net1 := w.cloud.subnet(t, "subnet1"), w.cloud.network(t, "net1")
	port := w.cloud.create(t, w.cloud.neutron, "ports", "port", map[string]any{
		"network_id": net1, "name": "occupied",
		"fixed_ips": []any{map[string]any{"ip_address": "10.10.1.77", "subnet_id": subnet}},
	})
	id := w.create(w.vnfd("standard"))
	op := w.instantiate(id, w.standard("volumes"))
	w.failed(op, "10.10.1.77")
	w.cloud.remove(t, w.cloud.neutron, "ports/"+port)
	w.retried(op)
	require.Equal(t, map[string]int{"VDU1": 1, "VDU2": 1}, vnfcs(w.instance(id)))
	w.down(id)
}

// A stack of that name that is not ours is neither taken nor touched.
func TestStackOfTheSameNameIsNotTouched(t *testing.T) {
	w := start(t, 1)
	id := w.create(w.vnfd("plain"))
	*w.instances = (*w.instances)[:0] // this stack is the test's, and goes with it
	var made map[string]object
	_, err := w.cloud.heat.Post(t.Context(), w.cloud.heat.ServiceURL("stacks"), map[string]any{
		"stack_name": "vnf-" + id,
		"template": map[string]any{"heat_template_version": "2018-08-31", "resources": map[string]any{
			"theirs": map[string]any{"type": "OS::Heat::Value", "properties": map[string]any{"value": "precious"}},
		}},
	}, &made, nil)
	require.NoError(t, err)
	stack := made["stack"].text("id")
	t.Cleanup(func() { w.cloud.remove(t, w.cloud.heat, "stacks/vnf-"+id+"/"+stack) })
	w.until(
		"their stack is there", func() bool { return w.cloud.stack(t, id).text("stack_status") == "CREATE_COMPLETE" },
	)

	op := w.instantiate(id, w.plain())
	w.failed(op, "vnf-"+id)
	require.Equal(t, stack, w.cloud.stack(t, id).text("id"))
	w.rolledBack(op)
	require.Equal(t, stack, w.cloud.stack(t, id).text("id"), "the rollback has deleted a stack that was not ours")
	require.NoError(t, w.api.DeleteInstance(t.Context(), id))
}

// A server that never comes is given up when the stack's time is over; nothing waits for ever.
func TestCreationThatTakesTooLongIsGivenUp(t *testing.T) {
	w := start(t, 1, "GYBE_OPENSTACK_STACK_TIMEOUT=1m")
	vnfd := w.vnfd("plain")
	w.lab.service(t, nil, "stop", "nova-compute")
	up := func() { w.lab.service(t, nil, "start", "nova-compute") }
	t.Cleanup(up)
	id := w.create(vnfd)
	op := w.instantiate(id, w.plain())
	o := w.failed(op)
	require.Regexp(t, `(?i)timed? ?out`, o.Error.Detail)
	up()
	w.rolledBack(op)
	w.discard(id)
}

// Rejected credentials and an unreachable Keystone are reported, and nothing is created.
func TestCloudThatCannotBeEnteredIsExplained(t *testing.T) {
	w := start(t, 1, "GYBE_ENGINE_RETRIES=2")
	vnfd := w.vnfd("plain")
	for _, tt := range []struct {
		name   string
		change func(v *sol.VimConnectionInfo)
		word   string
	}{
		{"wrong password", func(v *sol.VimConnectionInfo) { v.AccessInfo["password"] = "wrong" }, "401"},
		{"no such project", func(v *sol.VimConnectionInfo) { v.AccessInfo["project"] = "nowhere" }, "401"},
		{"no server listens", func(v *sol.VimConnectionInfo) {
			v.InterfaceInfo["endpoint"] = "http://127.0.0.1:1/v3"
		}, "refuses"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.in(t)
			req := w.plain()
			v := req.VimConnectionInfo["vim1"]
			tt.change(&v)
			id := w.create(vnfd)
			op := w.instantiate(id, req)
			o := w.failed(op)
			require.Regexp(t, tt.word, o.Error.Detail)
			require.NotContains(t, o.Error.Detail, w.lab.vars["OS_PASSWORD"])
			// Nothing was made, so that the cloud is not needed for a rollback.
			w.rolledBack(op)
			w.discard(id)
		})
	}
	// A flavour that the VNFD does not have is refused before anything begins.
	id := w.create(vnfd)
	req := w.plain()
	req.FlavourID = "nowhere"
	_, err := w.api.Instantiate(t.Context(), id, encode(t, req))
	refused(t, err, http.StatusUnprocessableEntity)
	w.discard(id)
}
