package k8s_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/sandbox"
)

const ansibleDir = "../../../vnf-packages/ansible-app"

// TestAnsibleApplication: the package's playbooks run with the real ansible-playbook in the sandbox of scripts, and its
// commands over SSH, on machines of the cloud, through the whole life of an instance.
func TestAnsibleApplication(t *testing.T) {
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("this machine has no ansible-playbook; `make test-lab-kubespray` installs it")
	}
	if lab == "" {
		t.Skipf("%s names no running lab; `make test-lab-kubespray` starts one (root, Debian 12)", envLab)
	}
	s := startSample(t, filepath.Join(ansibleDir, "params"), ansibleDir, "instantiate",
		"GYBE_SCRIPTS_PYTHON="+sandbox.Python(t, true), "GYBE_ANSIBLE_PLAYBOOK="+program, "GYBE_SCRIPTS_NETWORK=host",
		"GYBE_AUTH_NONE=true") // the authors of the package can reach Gybe through the network
	i, err := s.api.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: s.vnfd, VnfInstanceName: t.Name()})
	require.NoError(t, err)
	s.do(i.ID, "instantiate", "instantiate", s.request)
	s.configured(i.ID, 1)
	s.do(i.ID, "scale out", "scale", s.read("scale_out"))
	s.configured(i.ID, 2)
	c := s.vnfcs(i.ID, "VDU1")[0]
	s.do(i.ID, "heal a VDU1", "heal", map[string]any{"vnfcInstanceId": []string{c.id}})
	s.replaced(i.ID, c)
	s.configured(i.ID, 2)
	s.end(i.ID)
	require.NotContains(t, s.run(hosts, "list"), c.server)
	require.NotContains(t, s.openstack("stack", "list", "-f", "value", "-c", "Stack Name"), i.ID, "its stack is left")
}

// configured wants the page of the playbook on each of some web servers, with the title and the address of the machine
// that has it.
func (s *sampled) configured(id string, servers int) {
	s.t.Helper()
	title := s.vnfcs(id, "VDU2")[0].server
	require.Equal(s.t, "a page by Ansible", s.host(title, "cat", "/tmp/app/title"))
	list := s.vnfcs(id, "VDU1")
	require.Len(s.t, list, servers)
	for _, c := range list {
		page := s.host(c.server, "cat", "/tmp/app/index.html")
		s.t.Log(page)
		require.Contains(s.t, page, "a page by Ansible at ")
		require.Contains(s.t, page, s.address(c.server)+", with "+s.address(title))
	}
}

// address is that of a host.
func (s *sampled) address(server string) string {
	s.t.Helper()
	for line := range strings.Lines(s.run(hosts, "list")) {
		if f := strings.Fields(line); f[0] == server {
			return f[1]
		}
	}
	require.Fail(s.t, "there is no host "+server)
	return ""
}
