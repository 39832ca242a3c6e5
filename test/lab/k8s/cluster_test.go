package k8s_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Masters and workers are the VDUs of the sample package.
const (
	masters = "masterNode"
	workers = "workerNode"
	aspect  = "workerNode_scale"
)

// TestSimple: whoever makes a small cluster wants every node in it, more of them and fewer, and a broken worker replaced.
func TestSimple(t *testing.T) {
	w := start(t, "simple")
	id := w.up()
	w.ready(id)
	w.scaleOutAndIn(id)
	w.heal(id, workers)
	w.down(id)
}

// TestComplex: whoever makes a cluster with three masters wants it to answer at one address, also when a master has been lost.
func TestComplex(t *testing.T) {
	w := start(t, "complex")
	id := w.up()
	w.ready(id)
	w.scaleOutAndIn(id)
	w.heal(id, workers)
	w.heal(id, masters)
	w.down(id)
}

func (w *world) up() string {
	w.t.Helper()
	i, err := w.api.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: w.vnfd, VnfInstanceName: w.t.Name()})
	require.NoError(w.t, err)
	op, err := w.api.Instantiate(w.t.Context(), i.ID, w.request())
	w.completed("instantiate", op, err)
	return i.ID
}

func (w *world) down(id string) {
	w.t.Helper()
	op, err := w.api.Terminate(w.t.Context(), id, sol.TerminateVnfRequest{TerminationType: sol.TerminationTypeForceful})
	w.completed("terminate", op, err)
	require.NoError(w.t, w.api.DeleteInstance(w.t.Context(), id))
}

func (w *world) scaleOutAndIn(id string) {
	w.t.Helper()
	for _, kind := range []sol.ScaleType{sol.ScaleTypeOut, sol.ScaleTypeIn} {
		op, err := w.api.Scale(w.t.Context(), id, sol.ScaleVnfRequest{Type: kind, AspectID: aspect})
		w.completed(string(kind), op, err)
		w.ready(id)
	}
}

// heal replaces the first VNFC of a VDU.
func (w *world) heal(id, vdu string) {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	infos := i.InstantiatedVnfInfo.VnfcInfo
	at := slices.IndexFunc(infos, func(v sol.VnfcInfo) bool { return v.VduID == vdu })
	require.GreaterOrEqual(w.t, at, 0)
	op, err := w.api.Heal(w.t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{infos[at].ID}})
	w.completed("heal a "+vdu, op, err)
	w.ready(id)
}

// ready wants as many Ready nodes in the cluster as the instance has VNFCs, each of its own role and address, asked at the cluster's
// address with the certificate of its administrator.
func (w *world) ready(id string) {
	w.t.Helper()
	i, err := w.api.Instance(w.t.Context(), id)
	require.NoError(w.t, err)
	want := map[string]int{}
	for _, v := range i.InstantiatedVnfInfo.VnfcInfo {
		want[v.VduID]++
	}
	got := map[string]int{}
	began := time.Now()
	for ; time.Since(began) < 3*time.Minute; pause(w.t.Context(), time.Second) {
		if got = w.nodes(); got[masters] == want[masters] && got[workers] == want[workers] && got[""] == 0 {
			return
		}
	}
	require.Equal(w.t, want, got, "Ready nodes by role; \"\" are the ones that are not Ready")
}

// nodes counts the cluster's nodes by role.
func (w *world) nodes() map[string]int {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(lab, "hosts", "hosts", "*", "data", "etc", "kubernetes", "admin.conf"))
	require.NoError(w.t, err)
	require.NotEmpty(w.t, found, "no host holds the file of a cluster's administrator")
	raw, err := os.ReadFile(found[0])
	require.NoError(w.t, err)
	if w.flavour == "complex" {
		require.Contains(w.t, string(raw), ":16443", "the cluster is not asked through its virtual address")
	}
	var list struct {
		Items []struct {
			Metadata struct{ Labels map[string]string }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	out := w.kubebox("kubectl", "--kubeconfig", found[0], "--request-timeout", "20s", "get", "nodes", "-o", "json")
	require.NoError(w.t, json.NewDecoder(strings.NewReader(out)).Decode(&list))
	count := map[string]int{}
	for _, n := range list.Items {
		role := workers
		if _, ok := n.Metadata.Labels["node-role.kubernetes.io/control-plane"]; ok {
			role = masters
		}
		for _, c := range n.Status.Conditions {
			if c.Type == "Ready" && c.Status != "True" {
				role = ""
			}
		}
		count[role]++
	}
	return count
}
