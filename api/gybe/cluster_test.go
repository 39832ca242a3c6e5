package gybe_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// fixed answers for any instance with everything that there is to say.
type fixed struct{ forgotten []string }

func (*fixed) Cluster(context.Context, *lcm.Instance) (*gybeapi.Cluster, error) {
	return &gybeapi.Cluster{
		Endpoint: "https://10.0.0.1:6443", Problem: "the cluster sleeps", Nodes: []gybeapi.ClusterNode{
			{
				VnfcInstanceID: "m-1", VduID: "m", Name: "master1", Role: "master", Address: "10.0.0.1",
				State: gybeapi.NodeUnknown, ComputeHost: "c", Zone: "z",
			},
			{Name: "worker2", Role: "worker", State: gybeapi.NodeNotReady, Reason: "tired", Version: "v1.34.2"},
		},
	}, nil
}

func (*fixed) SSHHosts(context.Context, *lcm.Instance) ([]gybeapi.SSHHost, error) {
	return []gybeapi.SSHHost{{
		VnfcInstanceID: "m-1", VduID: "m", Name: "master1", Role: "master", Address: "10.0.0.1", Port: 22,
		User:    "ubuntu",
		HostKey: &gybeapi.HostKey{Type: "ssh-ed25519", Key: "AAAA", Fingerprint: "SHA256:x"},
	}}, nil
}

func (f *fixed) ForgetHostKey(_ context.Context, _ *lcm.Instance, vnfc string) error {
	f.forgotten = append(f.forgotten, vnfc)
	return nil
}

// What the API says of clusters is what its document promises and what the client reads.
func TestClusterListsMachinesAndNodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	below := func(id string) string { return "/gybe/v1/vnf_instances/" + id }
	instance, op := b.operation(t)
	for _, path := range []string{"/nodes", "/ssh_hosts"} {
		require.Equal(t, 404, b.Do(t, "GET", below(uuid.NewString())+path, nil).Status)
		require.Equal(t, 409, b.Do(t, "GET", below(instance)+path, nil).Status, "there are no machines yet")
	}
	require.ErrorContains(t, b.client.ForgetHostKey(t.Context(), instance, "m-1"), "no machines yet")
	require.NoError(t, b.client.ForgetHostKey(t.Context(), instance, "ansible-192.168.10.115"))
	require.Equal(t, []string{"ansible-192.168.10.115"}, b.clusters.forgotten)
	b.clusters.forgotten = nil
	b.Work(t, op.ID)
	for _, path := range []string{"/nodes", "/ssh_hosts"} {
		a := b.Do(t, "GET", below(instance)+path, nil)
		require.Equal(t, 200, a.Status)
		tag := a.Header.Get("ETag")
		require.Equal(t, 304, b.Do(t, "GET", below(instance)+path, nil, "If-None-Match", tag).Status)
		require.Equal(t, 200, b.Do(t, "GET", below(instance)+path, nil, "If-None-Match", `"other"`).Status)
	}

	want, _ := b.clusters.Cluster(t.Context(), nil)
	got, err := b.client.Cluster(t.Context(), instance)
	require.NoError(t, err)
	require.Equal(t, want, got)
	hosts, _ := b.clusters.SSHHosts(t.Context(), nil)
	told, err := b.client.SSHHosts(t.Context(), instance)
	require.NoError(t, err)
	require.Equal(t, hosts, told)

	var e *client.Error
	require.ErrorAs(t, b.client.ForgetHostKey(t.Context(), instance, "nobody"), &e)
	require.Equal(t, 404, e.Status())
	require.Empty(t, b.clusters.forgotten)
	i, err := b.Store.Instance(t.Context(), instance)
	require.NoError(t, err)
	vnfc := i.Instantiated.VnfcInfo[0].ID
	require.NoError(t, b.client.ForgetHostKey(t.Context(), instance, vnfc))
	require.NoError(t, b.client.ForgetHostKey(t.Context(), instance, "external-lb-192.168.10.182"))
	require.NoError(t, b.client.ForgetHostKey(t.Context(), instance, "ansible-2001:db8::7"))
	require.Error(t, b.client.ForgetHostKey(t.Context(), instance, "external-lb-x"))
	require.Error(t, b.client.ForgetHostKey(t.Context(), instance, "ansible-"))
	require.Equal(t, []string{vnfc, "external-lb-192.168.10.182", "ansible-2001:db8::7"}, b.clusters.forgotten)
}
