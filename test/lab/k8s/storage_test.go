package k8s_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: nfs
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
`

// TestStorage: persistent volumes can be claimed, read and written from any node, and are not removed while they are in
// use.
func TestStorage(t *testing.T) {
	w := start(t, "storage")
	id := w.up()
	w.volumes(id, "Available", "Available")
	w.shares(id)

	file := filepath.Join(w.dir, "claim.yaml")
	require.NoError(t, os.WriteFile(file, []byte(claim), 0o600))
	w.kubectl(id, "apply", "-f", file)
	w.volumes(id, "Available", "Bound")

	op, err := w.api.Heal(t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{w.vnfcs(id, server)[0].id}})
	require.NoError(t, err)
	o := w.ended(op)
	require.Equal(t, sol.LcmOperationStateFailedTemp, o.OperationState)
	require.Contains(t, o.Error.Detail, "by claim default/data")
	w.kubectl(id, "delete", "-f", file)
	w.completed("heal the storage server", op, w.api.Retry(t.Context(), op))
	w.ready(id)
	w.volumes(id, "Available", "Available")
	w.shares(id)

	w.scale(id, sol.ScaleTypeOut, 1)
	w.shares(id)
	w.down(id)
}

// shares writes a file from one worker and reads it from another, on every volume.
func (w *world) shares(id string) {
	w.t.Helper()
	list := w.vnfcs(id, workers)
	address := strings.Fields(w.host(w.vnfcs(id, server)[0].server, "hostname", "-I"))[0]
	for _, dir := range []string{"/volume/nfs/pv1", "/volume/nfs/pv2"} {
		require.Contains(w.t, w.host(list[0].server, "showmount", "-e", address), dir)
		file := fmt.Sprintf("nfs://%s%s/%d", address, dir, time.Now().UnixNano())
		w.host(list[0].server, "bash", "-c", "echo "+dir+" >/tmp/file; nfs-cp /tmp/file "+file)
		require.Equal(w.t, dir, w.host(list[len(list)-1].server, "nfs-cat", file))
	}
}

// volumes waits until the cluster's volumes are in these phases, which are in the order of the alphabet.
func (w *world) volumes(id string, phases ...string) {
	w.t.Helper()
	const list = `{range .items[*]}{.status.phase}{"\n"}{end}`
	var got []string
	for began := time.Now(); time.Since(began) < time.Minute; pause(w.t.Context(), time.Second) {
		got = strings.Fields(w.kubectl(id, "get", "pv", "-o", "jsonpath="+list))
		if slices.Sort(got); slices.Equal(got, phases) {
			return
		}
	}
	require.Equal(w.t, phases, got)
}
