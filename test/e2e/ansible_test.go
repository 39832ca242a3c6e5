package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/config"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
	"github.com/gybe-nfv/gybe/test/sandbox"
	"github.com/gybe-nfv/gybe/test/simcloud/machine"
	"github.com/gybe-nfv/gybe/test/stack"
)

const (
	ansibleSource   = "../../vnf-packages/ansible-app"
	ansiblePassword = "An51blePasswordOfThisTest"
)

// userData are properties of a server that set the password of the image's user.
const userData = `      user_data_format: RAW
      user_data: |
        #cloud-config
        password: ` + ansiblePassword + `
        chpasswd: { expire: false }
`

// playing is a node that runs playbooks, with the package ansible-app, whose machines have the password of this test.
type playing struct {
	*world

	fleet *machine.Fleet
	vnfd  string
	data  string // folder of the node
}

// startPlaying starts the node. With playbooks = false, its operator has not enabled them.
func startPlaying(t *testing.T, playbooks bool) *playing {
	t.Helper()
	python, playbook := sandbox.Python(t, true), sandbox.Playbook(t)
	a := &playing{}
	a.world, a.fleet = withMachines(t, func(c *config.Config) {
		c.Scripts.Python, c.Scripts.Network = python, "host"
		if playbooks {
			c.Ansible.Playbook = playbook
		}
		a.data = c.DataDir
	})
	dir := filepath.Join(t.TempDir(), filepath.Base(t.Name())+"-ansible-app")
	require.NoError(t, os.CopyFS(dir, os.DirFS(ansibleSource)))
	for _, vdu := range []string{"VDU1", "VDU2"} {
		name := filepath.Join(dir, "BaseHOT", "default", "nested", vdu+".yaml")
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		text := strings.Replace(string(raw), "      networks:\n", userData+"      networks:\n", 1)
		require.Contains(t, text, ansiblePassword)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	a.vnfd = a.onboard(dir)
	return a
}

// request is the parameter file of the package, with the names of this cloud in it.
func (a *playing) request() map[string]any {
	a.t.Helper()
	to := filepath.Join(a.t.TempDir(), "local.json")
	require.NoError(a.t, stack.LocalParams(ansibleSource+"/params/instantiate.json", to, a.cloud.Info()))
	raw, err := os.ReadFile(to)
	require.NoError(a.t, err)
	p := map[string]any{}
	decode(a.t, raw, &p)
	at(a.t, p, "additionalParams")["vdu_password"] = ansiblePassword
	return p
}

// pages are the texts that the playbooks and commands have written on the machines of a VDU, by VNFC.
func (a *playing) pages(id, vdu, file string) map[string]string {
	a.t.Helper()
	out := map[string]string{}
	i := a.instance(id)
	for vnfc, server := range serverOf(i) {
		if !strings.HasPrefix(vnfc, vdu) {
			continue
		}
		raw, err := a.fleet.Machine(server).FS().ReadFile("/tmp/app/" + file)
		require.NoError(a.t, err, vnfc)
		out[vnfc] = string(raw)
	}
	return out
}

// configured wants a page on each of a number of web servers, with the address of the machine and that of VDU2.
func (a *playing) configured(id string, servers int) {
	a.t.Helper()
	require.Equal(a.t, map[string]int{"VDU1": servers, "VDU2": 1}, counts(a.instance(id)))
	for _, text := range a.pages(id, "VDU2", "title") {
		require.Equal(a.t, "a page by Ansible\n", text)
	}
	pages := a.pages(id, "VDU1", "index.html")
	require.Len(a.t, pages, servers)
	seen := map[string]bool{}
	for _, text := range pages {
		require.Regexp(a.t, `^a page by Ansible at [0-9.]+, with [0-9.]+\n$`, text)
		seen[text] = true
	}
	require.Len(a.t, seen, servers, "each page has the address of its machine")
}

// ran counts the playbooks and commands that an operation has run, and wants PLAY RECAP of each playbook.
func (a *playing) ran(op string) (playbooks, commands int) {
	a.t.Helper()
	recaps := 0
	for _, s := range a.progress(op).Steps {
		require.Equal(a.t, "DONE", s.State, s.Name)
		switch {
		case strings.HasPrefix(s.Name, "PLAY RECAP"):
			recaps++
		case strings.Contains(s.Name, "Scripts/"):
			playbooks++
		case strings.HasSuffix(s.Name, ": command"):
			commands++
		}
	}
	require.Equal(a.t, playbooks, recaps)
	return playbooks, commands
}

// wants checks how much an operation has run.
func (a *playing) wants(op string, playbooks, commands int) {
	a.t.Helper()
	gotPlaybooks, gotCommands := a.ran(op)
	require.Equal(a.t, playbooks, gotPlaybooks, "playbooks")
	require.Equal(a.t, commands, gotCommands, "commands")
}

// secret wants the password of the machines nowhere.
func (a *playing) secret() {
	a.t.Helper()
	for name, text := range a.tables() {
		require.NotContains(a.t, text, ansiblePassword, name)
	}
	for name, text := range files(a.t, a.data) {
		require.NotContains(a.t, text, ansiblePassword, name)
	}
	require.NotContains(a.t, a.log.String(), ansiblePassword)
	require.NotContains(a.t, a.seen.String(), ansiblePassword)
}

// An app that Ansible configures lives its whole life: the real ansible-playbook and commands over SSH configure the
// machines of each operation, and those only.
func TestAnAppByAnsibleLivesItsWholeLife(t *testing.T) {
	t.Parallel()
	a := startPlaying(t, true)
	id := a.create(a.vnfd)
	params := a.request()
	plan, err := a.api.Plan(t.Context(), gybeapi.PlanRequest{
		VnfInstanceID: id, Operation: sol.LcmOperationInstantiate, Params: encode(t, params),
	})
	require.NoError(t, err)
	require.True(t, plan.Possible, "%+v", plan)
	require.Contains(t, string(encode(t, plan)), "run the playbook Scripts/install.yaml for each VNFC of VDU1")
	op := a.instantiate(id, params)
	a.completed(op)
	a.wants(op, 1, 2)
	a.configured(id, 1)

	op, err = a.api.Scale(t.Context(), id, sol.ScaleVnfRequest{
		Type: sol.ScaleTypeOut, AspectID: "VDU1_scale", NumberOfSteps: 2,
	})
	require.NoError(t, err)
	a.completed(op)
	a.wants(op, 2, 0)
	a.configured(id, 3)

	healed := ""
	for vnfc := range a.pages(id, "VDU1", "index.html") {
		healed = vnfc
	}
	op, err = a.api.Heal(t.Context(), id, sol.HealVnfRequest{VnfcInstanceID: []string{healed}})
	require.NoError(t, err)
	a.completed(op)
	a.wants(op, 1, 0)
	a.configured(id, 3)

	op, err = a.api.Scale(t.Context(), id, sol.ScaleVnfRequest{Type: sol.ScaleTypeIn, AspectID: "VDU1_scale"})
	require.NoError(t, err)
	a.completed(op)
	a.wants(op, 1, 0)
	a.configured(id, 2)

	op, err = a.api.Heal(t.Context(), id, sol.HealVnfRequest{})
	require.NoError(t, err)
	a.completed(op)
	a.wants(op, 2, 2)
	a.configured(id, 2)

	op = a.terminate(id)
	a.completed(op)
	a.wants(op, 2, 1)
	a.gone()
	a.secret()
}

// The same through version 1 of the interface alone.
func TestAnAppByAnsibleThroughVersion1(t *testing.T) {
	t.Parallel()
	a := startPlaying(t, true)
	var made v1.VnfInstance
	a.v1(http.MethodPost, "", map[string]any{"vnfdId": a.vnfd}, 201, &made)
	id := "/" + made.ID
	a.wants(a.doneV1(id+"/instantiate", olderForm(t, a.request())).ID, 1, 2)
	a.configured(made.ID, 1)
	out := map[string]any{"type": "SCALE_OUT", "aspectId": "VDU1_scale", "numberOfSteps": 1}
	a.wants(a.doneV1(id+"/scale", out).ID, 1, 0)
	a.configured(made.ID, 2)
	in := map[string]any{"type": "SCALE_IN", "aspectId": "VDU1_scale", "numberOfSteps": 1}
	a.wants(a.doneV1(id+"/scale", in).ID, 1, 0)
	a.configured(made.ID, 1)
	a.wants(a.doneV1(id+"/heal", map[string]any{}).ID, 1, 2)
	a.configured(made.ID, 1)
	a.wants(a.doneV1(id+"/terminate", map[string]any{"terminationType": "FORCEFUL"}).ID, 1, 1)
	a.gone()
	a.secret()
}

// A node whose operator has not enabled playbooks refuses the request before anything is made.
func TestAnAppByAnsibleNeedsTheOperator(t *testing.T) {
	t.Parallel()
	a := startPlaying(t, false)
	id := a.create(a.vnfd)
	_, err := a.api.Instantiate(t.Context(), id, encode(t, a.request()))
	status(t, err, 422)
	require.ErrorContains(t, err, "the operation runs Ansible playbooks of the package, and this node runs none")
	params := a.request()
	delete(at(t, params, "additionalParams"), "vdu_password")
	_, err = a.api.Instantiate(t.Context(), id, encode(t, params))
	status(t, err, 422)
	require.ErrorContains(t, err, "_VAR_vdu_password has no value")
	a.gone()
}
