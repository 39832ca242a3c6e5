package k8s_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// node is what these tests look at of a Kubernetes node.
type node struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Status struct {
		Conditions []struct{ Type, Status string }
		NodeInfo   struct{ KubeletVersion string }
	}
}

func (n node) role() string {
	if _, ok := n.Metadata.Labels["node-role.kubernetes.io/control-plane"]; ok {
		return masters
	}
	return workers
}

func (n node) ready() bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return false
		}
	}
	return true
}

func (w *world) nodes(id string) []node {
	w.t.Helper()
	var list struct{ Items []node }
	require.NoError(w.t, json.NewDecoder(strings.NewReader(w.kubectl(id, "get", "nodes", "-o", "json"))).Decode(&list))
	return list.Items
}

// ready wants as many Ready nodes in the cluster as the instance has VNFCs, each of its own role.
func (w *world) ready(id string) {
	w.t.Helper()
	want := map[string]int{masters: len(w.vnfcs(id, masters)), workers: len(w.vnfcs(id, workers))}
	got := map[string]int{}
	for began := time.Now(); time.Since(began) < 3*time.Minute; pause(w.t.Context(), time.Second) {
		clear(got)
		for _, n := range w.nodes(id) {
			if n.ready() {
				got[n.role()]++
			} else {
				got[n.Metadata.Name+" is not Ready"]++
			}
		}
		if maps.Equal(got, want) {
			return
		}
	}
	require.Equal(w.t, want, got, "Ready nodes by role")
}

func (w *world) kubeconfigText(id string) string {
	w.t.Helper()
	raw, err := os.ReadFile(w.kubeconfig(id))
	require.NoError(w.t, err)
	return string(raw)
}

// etcd checks that the started members of etcd are exactly the masters.
func (w *world) etcd(id string) {
	w.t.Helper()
	list := w.vnfcs(id, masters)
	const pki = "/etc/kubernetes/pki/etcd/"
	out := w.host(list[0].server, "etcdctl", "--endpoints", "https://127.0.0.1:2379", "--cacert", pki+"ca.crt",
		"--cert", pki+"server.crt",
		"--key", pki+"server.key", "member", "list")
	require.Len(w.t, regexp.MustCompile(`(?m)^[0-9a-f]+, started, `).FindAllString(out, -1), len(list), out)
	require.Len(w.t, strings.Split(out, "\n"), len(list), out)
}

// holder is the master that has the cluster's address now, an address of its own beside the machine's.
func (w *world) holder(id string) vnfc {
	w.t.Helper()
	list := w.vnfcs(id, masters)
	i := slices.IndexFunc(list, func(m vnfc) bool {
		return strings.Contains(w.host(m.server, "ip", "-4", "-o", "address", "show", "dev", "eth0"), "/32 ")
	})
	require.GreaterOrEqual(w.t, i, 0, "no master has an address of the cluster")
	return list[i]
}

// answers notes how long it takes until the API server answers again, and until it does so time after time: what is on
// its way to the lost master when HAProxy takes it out of the backend is cut off.
func (w *world) answers(id, title string) {
	w.t.Helper()
	config := w.kubeconfig(id)
	began := time.Now()
	var first time.Duration
	for inRow := 0; inRow < 10; {
		_, err := w.output(
			kubeboxes[0], "kubectl", "--kubeconfig", config, "--request-timeout", "2s", "get", "--raw", "/readyz",
		)
		if err != nil {
			require.Less(w.t, time.Since(began), 2*time.Minute, "the API server: %v", err)
			inRow = 0
			pause(w.t.Context(), 100*time.Millisecond)
			continue
		}
		if first == 0 {
			first = time.Since(began)
		}
		inRow++
	}
	spent.add(w.flavour, title+", first answer", first)
	spent.add(w.flavour, title+", ten in a row", time.Since(began))
}

// placed wants every node to say on which compute host and in which zone it runs, as OpenStack's administrator knows
// it.
func (w *world) placed(id string) {
	w.t.Helper()
	var servers []struct {
		ID, Host string
		Zone     string `json:"Availability Zone"`
	}
	list := w.admin(
		"server", "list", "--all-projects", "-f", "json", "-c", "ID", "-c", "Host", "-c", "Availability Zone",
	)
	require.NoError(w.t, json.Unmarshal([]byte(list), &servers))
	where, seen := map[string]string{}, map[string]bool{}
	for _, vdu := range []string{masters, workers} {
		for _, c := range w.vnfcs(id, vdu) {
			for _, s := range servers {
				if s.ID == c.server {
					require.False(w.t, seen[vdu+s.Host], "two of %s run on %s", vdu, s.Host)
					seen[vdu+s.Host] = true
					where[w.host(c.server, "hostname")] = s.Host + " " + s.Zone
				}
			}
		}
	}
	got := map[string]string{}
	for _, n := range w.nodes(id) {
		l := n.Metadata.Labels
		got[n.Metadata.Name] = l["CIS-node"] + " " + l["kubernetes.io/zone"]
		require.Equal(w.t, l["kubernetes.io/zone"], l["topology.kubernetes.io/zone"])
	}
	require.Equal(w.t, where, got)
}
