package k8scluster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// testInventory is a stack with these masters' and workers' fixed addresses.
func testInventory(masters, workers []string) []lcm.Resource {
	var inv []lcm.Resource
	for vdu, ips := range map[string][]string{"masterNode": masters, "workerNode": workers} {
		for n, ip := range ips {
			vnfc := vdu + "-" + ip
			inv = append(inv,
				lcm.Resource{
					Name: vdu, Kind: lcm.KindCompute, Type: "OS::Nova::Server", VNFC: vnfc, VDU: vdu, Index: n,
				},
				lcm.Resource{Name: vdu + "_CP1", VNFC: vnfc, VDU: vdu, Index: n, Addresses: []lcm.Address{
					{IP: "fd00::1"}, {IP: ip}, {IP: "172.24." + ip[len("10.10."):], Floating: true},
				}})
		}
	}
	return inv
}

func testParams() params {
	l := func(vdu string) login {
		return login{vdu: vdu, sshCP: vdu + "_CP1", nicCP: vdu + "_CP1", username: "ubuntu", password: "ubuntu"}
	}
	return params{master: l("masterNode"), worker: l("workerNode"), clusterCP: "masterNode_CP1"}
}

func names(nodes []node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.name+"="+n.ip+"="+n.target.Host)
	}
	return out
}

func TestResolveFindsNodesAndTheirNames(t *testing.T) {
	t.Parallel()
	c, err := resolve(
		&lcm.Instance{Inventory: testInventory([]string{"10.10.0.5"}, []string{"10.10.0.9", "10.10.0.30"})},
		testParams(), 22,
	)
	require.NoError(t, err)
	require.Equal(t, []string{"master5=10.10.0.5=172.24.0.5"}, names(c.masters))
	require.Equal(t, []string{"worker9=10.10.0.9=172.24.0.9", "worker30=10.10.0.30=172.24.0.30"}, names(c.workers))
	require.Equal(t, "10.10.0.5", c.internal)
	require.Equal(t, "https://172.24.0.5:6443", c.url())
}

// Two nodes of one name would be one node to Kubernetes, and a node that changed its name would be a stranger to its
// cluster.
func TestNodesWhoseAddressesEndAlikeHaveNamesThatLast(t *testing.T) {
	t.Parallel()
	workers := []string{"10.10.0.9", "10.10.1.5", "10.10.1.9"}
	want := []string{
		"worker9=10.10.0.9=172.24.0.9", "worker5=10.10.1.5=172.24.1.5", "worker-10-10-1-9=10.10.1.9=172.24.1.9",
	}
	for n := range workers { // one comes after the other
		c, err := resolve(
			&lcm.Instance{Inventory: testInventory([]string{"10.10.0.5"}, workers[:n+1])}, testParams(), 22,
		)
		require.NoError(t, err)
		require.Equal(t, want[:n+1], names(c.workers))
	}
}

func TestResolveSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	inv := testInventory([]string{"10.10.0.5", "10.10.0.6"}, []string{"10.10.0.9"})
	vip := lcm.Resource{
		Name: "vip_CP", Kind: lcm.KindPort, Type: "OS::Neutron::Port", Addresses: []lcm.Address{{IP: "10.10.0.100"}},
	}
	tests := []struct {
		name   string
		change func(p *params)
		inv    []lcm.Resource
		want   string
	}{
		{"no machines", func(*params) {}, nil, "no machine of the VDU masterNode"},
		{"no such nic", func(p *params) {
			p.worker.nicCP = "eth1"
		}, inv, "VNFC workerNode-10.10.0.9 has no resource eth1 (nic_cp_name)"},
		{"no such login address", func(p *params) { p.master.sshCP = "fip" }, inv, "has no resource fip (ssh_cp_name)"},
		{
			"cluster address of one master only", func(*params) {}, inv,
			"no resource masterNode_CP1 (cluster_cp_name) of its own",
		},
		{"no floating address", func(p *params) {
			p.clusterCP, p.clusterFIP = "vip_CP", "vip_fip"
		}, slices.Concat(inv, []lcm.Resource{vip}), "no floating IP vip_fip"},
		{"no address", func(p *params) {
			p.clusterCP = "vip_CP"
		}, slices.Concat(inv, []lcm.Resource{{Name: "vip_CP"}}), "has no IPv4 address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := testParams()
			tt.change(&p)
			_, err := resolve(&lcm.Instance{Inventory: tt.inv}, p, 22)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
		})
	}
	p := testParams()
	p.clusterCP = "vip_CP"
	c, err := resolve(&lcm.Instance{Inventory: slices.Concat(inv, []lcm.Resource{vip})}, p, 22)
	require.NoError(t, err)
	require.Equal(t, "https://10.10.0.100:16443", c.url())
	require.Equal(t, "10.10.0.5,10.10.0.6", c.masterIPs())
}

func TestClusterNeverTakesTheKeyOfAnotherVIM(t *testing.T) {
	t.Parallel()
	own := sol.VimConnectionInfo{Extra: sol.KeyValuePairs{lcm.ExtraOwner: "i"}}
	require.Equal(t, "kubernetes_vim", connectionKey("kubernetes_vim", nil))
	require.Equal(t, "a_b_c", connectionKey("a?b#c", nil))
	require.Equal(t, "vim1_", connectionKey("vim1", map[string]sol.VimConnectionInfo{"vim1": {}}))
	require.Equal(t, "k8s", connectionKey("k8s", map[string]sol.VimConnectionInfo{"k8s": own}),
		"a repeated tick replaces its own")
}

func TestMaskHidesWhatScriptsPrint(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"token:abcdef.0123456789abcdef":                            "token:***",
		"certificate_key:00ff00":                                   "certificate_key:***",
		"kubeadm join --token abcdef.0123456789abcdef --discovery": "kubeadm join --token *** --discovery",
		"  --control-plane --certificate-key 0123456789abcdef0123": "  --control-plane --certificate-key ***",
		"using http://user:pw@proxy:3128 now":                      "using *** now",
		"ssl_ca_cert_hash:sha256:53eecb14eea1b0edb03ec460":         "ssl_ca_cert_hash:sha256:53eecb14eea1b0edb03ec460",
		"Setting up kubelet (1.34.2-1.1) ...":                      "Setting up kubelet (1.34.2-1.1) ...",
		"error creating token: failed to fetch":                    "error creating token: failed to fetch",
		"password=swordfish next":                                  "password=*** next",
		"image: ubuntu":                                            "image: ubuntu",
	} {
		require.Equal(t, want, mask(in, []string{"ubuntu-secret", "http://user:pw@proxy:3128", "", "pw"}))
	}
}
