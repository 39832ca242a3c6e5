package crash_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/devpg"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/ansible"
	"github.com/gybe-nfv/gybe/test/simcloud/machines"
	"github.com/gybe-nfv/gybe/test/stack"
)

// kubespraySource is the package of clusters that Kubespray makes.
const kubespraySource = "../../vnf-packages/kubernetes-cluster-kubespray"

// kubespray is the request of that package's parameter file, in the form of version 2.
func (w *world) kubespray(ansibleHost string) map[string]any {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(kubespraySource, "params", "simple_kubernetes_param_file.json"))
	require.NoError(w.t, err)
	var p struct {
		AdditionalParams map[string]any `json:"additionalParams"`
	}
	require.NoError(w.t, json.Unmarshal(raw, &p))
	install, _ := p.AdditionalParams["k8s_cluster_installation_param"].(map[string]any)
	delete(install, "proxy") // there is none in the simulation
	host, _ := install["ansible"].(map[string]any)
	host["ip_address"] = ansibleHost
	var links []any
	for _, cpd := range []string{"masterNode_CP1", "workerNode_CP2", "externalLB_CP3"} {
		links = append(links, map[string]any{
			"id": cpd, "resourceId": w.cloud.Info().Net0ID, "extCps": []any{map[string]any{
				"cpdId": cpd, "cpConfig": map[string]any{cpd: map[string]any{"cpProtocolData": []any{map[string]any{
					"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": map[string]any{
						"ipAddresses": []any{map[string]any{"type": "IPV4", "numDynamicAddresses": 1}},
					},
				}}}},
			}},
		})
	}
	return map[string]any{
		"flavourId": "simple", "additionalParams": p.AdditionalParams, "extVirtualLinks": links,
		"vimConnectionInfo": map[string]any{"vim1": stack.VimConnection(w.cloud.Info())},
	}
}

// TestDeathWhileAPlaybookRuns: a node dies while the Ansible host makes a cluster. The playbook goes on, and the next
// node waits for it; it is not started a second time.
func TestDeathWhileAPlaybookRuns(t *testing.T) {
	t.Parallel()
	python := sandbox.Python(t, true) // the package has a user-data class
	database := devpg.TestURL(t)
	cloud, fleet := machines.StartTest(t, simcloud.Options{}, machine.Options{
		SSHPort: sshPort, Playbook: ansible.Playbook{Script: os.DirFS(clusterSource + "/Scripts")},
	})
	w := newWorld(t, cloud, database, devpg.Pool(t, database))
	host := machines.BootAnsible(t, fleet).String()
	env := []string{"GYBE_SCRIPTS_PYTHON=" + python, "GYBE_SCRIPTS_NETWORK=host", "GYBE_AUTH_NONE=true"}
	node := spawn(t, database, w.data, env...)
	id := w.create(node.api, w.onboard(node.api, kubespraySource))

	// The playbook waits on the master until the node is dead.
	running, dead := make(chan struct{}), make(chan struct{})
	fleet.Fail("", machine.Failure{Command: "kubeadm init --config", Times: 1, Pass: true, Notify: func() {
		close(running)
		<-dead
	}})
	op, err := w.instantiate(w.kubespray(host))(node.api, id)
	require.NoError(t, err)
	<-running
	node.kill()
	playing := 0
	for _, line := range fleet.Machine("ansible").Processes() {
		if strings.HasPrefix(line, "ansible-playbook ") {
			playing++
		}
	}
	require.Equal(t, 1, playing, "it does not end with the node")
	next := spawn(t, database, w.data, env...)
	close(dead)
	w.completed(next.api, op)
	w.healthy(next.api, fleet, id)
	require.Equal(t, 1, fleet.Count("ansible", "ansible-playbook"))
}
