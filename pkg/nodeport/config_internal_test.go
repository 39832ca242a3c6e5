package nodeport

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
)

const (
	one = "11111111-1111-4111-8111-111111111111"
	two = "22222222-2222-4222-8222-222222222222"
)

const file = `global
    stats socket /run/haproxy/admin.sock mode 660
defaults
    mode tcp
frontend http # all of it
    bind *:80,:::443 ssl crt /etc/ssl/a.pem
    bind ipv4@10.0.0.1:8000-8010
    bind unix@/run/x.sock
    bind fd@${FD}
    default_backend web

# the servers
backend web
    server a 10.0.0.2:80 check
`

func TestBoundPortsAreFound(t *testing.T) {
	t.Parallel()
	c := parseConfig(file)
	for port, want := range map[int]bool{
		80: true, 443: true, 8000: true, 8005: true, 8010: true, 8011: false, 660: false, 22: false,
	} {
		require.Equal(t, want, c.bound(port), port)
	}
	by, ok := c.taken(one, []int{7999, 8003})
	require.True(t, ok)
	require.Equal(t, "the port 8003 is used by the frontend http of HAProxy", by.String())
}

// Sections of two instances are replaced and removed in any order, and the rest of the file keeps every byte, also
// where it does not end with a newline.
func TestOnlyTheSectionsOfTheInstanceChange(t *testing.T) {
	t.Parallel()
	services := func(ports ...int) []service {
		return []service{{serviceName: serviceName{"default", "web"}, ports: ports}}
	}
	nodes := []node{{"worker1", netip.MustParseAddr("10.0.0.21")}, {"worker2", netip.MustParseAddr("2001:db8::1")}}
	for name, base := range map[string]string{
		"usual": file, "no newline": strings.TrimSpace(file), "empty": "", "only comments": "# nothing\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, shared := range []bool{true, false} {
				put := func(text, instance string, list []service) string {
					return parseConfig(text).replace(instance, render(instance, list, nodes, shared))
				}
				both := put(put(base, one, services(30001, 30002)), two, services(30003))
				require.Equal(t, []int{30001, 30002}, parseConfig(both).owned(one))
				require.Equal(t, []int{30003}, parseConfig(both).owned(two))
				require.Equal(t, both, put(both, one, services(30001, 30002)), "the same again changes nothing")
				changed := put(both, one, services(30004))
				require.Equal(t, []int{30004}, parseConfig(changed).owned(one))
				require.Equal(t, []int{30003}, parseConfig(changed).owned(two))
				require.Equal(t, strings.TrimSpace(base), strings.TrimSpace(put(put(changed, one, nil), two, nil)))
				by, ok := parseConfig(both).taken(one, []int{30003})
				require.True(t, ok)
				require.Contains(t, by.String(), "is used by VNF instance "+two)
			}
		})
	}
}

// Those who add servers to the section before ours, or sections after it, keep what they have written.
func TestLinesOfOthersStay(t *testing.T) {
	t.Parallel()
	const others = "\n# of others\nfrontend z\n    bind *:1\n"
	services := []service{{serviceName{"default", "web"}, []int{30001}}}
	with := parseConfig(file).replace(one, render(one, services, nil, true))
	with = strings.Replace(with, "    server a 10.0.0.2:80 check\n",
		"    server a 10.0.0.2:80 check\n    server b 10.0.0.3:80 check\n", 1) + others
	without := parseConfig(with).replace(one, "")
	require.Contains(t, without, "server b 10.0.0.3:80 check\n")
	require.Contains(t, without, others)
	require.NotContains(t, without, one)
}

func TestRenderedServers(t *testing.T) {
	t.Parallel()
	got := render(one, []service{{serviceName{"default", "web"}, []int{30001}}}, []node{
		{"worker1", netip.MustParseAddr("10.0.0.21")}, {"worker2", netip.MustParseAddr("2001:db8::1")},
	}, false)
	require.Contains(t, got, "    server worker1 10.0.0.21:30001 check\n    server worker2 [2001:db8::1]:30001 check\n")
}

func FuzzParseConfig(f *testing.F) {
	f.Add(file)
	f.Add("frontend gybe_" + one + "_a_b\n bind :\nlisten\n bind *:1-x,\n")
	f.Fuzz(func(t *testing.T, text string) {
		next := parseConfig(text).replace(one, render(one, []service{{serviceName{"a", "b"}, []int{1}}}, nil, true))
		if got := parseConfig(next).owned(one); len(got) != 1 || got[0] != 1 {
			t.Fatalf("%q has %v", next, got)
		}
	})
}

// fakeCluster is an API server that is not to be trusted.
type fakeCluster struct {
	services []kubernetes.Service
	nodes    []kubernetes.Node
}

// Services implements cluster.
func (f fakeCluster) Services(context.Context, string) ([]kubernetes.Service, error) {
	return f.services, nil
}

// Nodes implements cluster.
func (f fakeCluster) Nodes(context.Context) ([]kubernetes.Node, error) { return f.nodes, nil }

// The API server of a cluster belongs to a VNF. Its names never become settings of HAProxy.
func TestHostileNamesAreRefused(t *testing.T) {
	t.Parallel()
	port := []kubernetes.ServicePort{{Protocol: "TCP", NodePort: 30001}}
	for _, name := range []string{
		"web\n    bind *:22", "web bind", "", "Web", "web_x", "-web", "#", "web$(id)", strings.Repeat("a", 254), "wéb",
	} {
		for _, s := range []kubernetes.Service{
			{Namespace: "default", Name: name, Type: "NodePort", Ports: port},
			{Namespace: name, Name: "web", Type: "NodePort", Ports: port},
		} {
			_, _, err := readServices(t.Context(), fakeCluster{services: []kubernetes.Service{s}}, one)
			require.ErrorContains(t, err, "not a valid name", "%q", name)
		}
		_, err := readNodes(t.Context(), fakeCluster{nodes: []kubernetes.Node{{Name: name, InternalIP: "10.0.0.1"}}})
		require.ErrorContains(t, err, "not a valid name", "%q", name)
	}
}

func TestServicesAndNodesThatAreUsed(t *testing.T) {
	t.Parallel()
	c := fakeCluster{services: []kubernetes.Service{
		{Namespace: "b", Name: "dns", Type: "NodePort", Ports: []kubernetes.ServicePort{
			{Protocol: "UDP", NodePort: 30053},
			{Protocol: "TCP", NodePort: 30054},
			{Protocol: "TCP", NodePort: 30052},
			{Protocol: "TCP", NodePort: 0},
			{Protocol: "TCP", NodePort: 70000},
		}},
		{Namespace: "a", Name: "inside", Type: "ClusterIP", Ports: []kubernetes.ServicePort{{Protocol: "TCP"}}},
	}}
	services, other, err := readServices(t.Context(), c, one)
	require.NoError(t, err)
	require.Equal(t, []service{{serviceName{"b", "dns"}, []int{30052, 30054}}}, services)
	require.Equal(t, []string{"30053/UDP of Service b/dns"}, other)

	_, err = readNodes(t.Context(), c)
	require.ErrorContains(t, err, "has no node with an address")
	master := kubernetes.Node{
		Name: "m", InternalIP: "10.0.0.1", ControlPlane: true, Labels: map[string]string{excludeLabel: ""},
	}
	c.nodes = []kubernetes.Node{master, {Name: "x", InternalIP: "not an address"}}
	nodes, err := readNodes(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, []node{{"m", netip.MustParseAddr("10.0.0.1")}}, nodes)
	c.nodes = append(c.nodes, kubernetes.Node{Name: "w", InternalIP: "10.0.0.2"}, kubernetes.Node{
		Name: "v", InternalIP: "10.0.0.3", Labels: map[string]string{excludeLabel: ""},
	})
	nodes, err = readNodes(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, []node{{"w", netip.MustParseAddr("10.0.0.2")}}, nodes)
}
