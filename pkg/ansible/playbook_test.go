package ansible_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/pkg/script/durable"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/sandbox"
)

// playing gives the world the real ansible-playbook, in the sandbox.
func (w *world) playing() {
	w.t.Helper()
	python, playbook := sandbox.Python(w.t, true), sandbox.Playbook(w.t)
	dir := w.t.TempDir()
	require.NoError(w.t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(w.t, os.Chmod(dir, 0o755))
	r, err := script.New(w.t.Context(), script.Options{
		Python: python, Sandbox: script.Bwrap, Network: script.NetworkHost, Playbook: playbook, Dir: dir,
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(w.t, err)
	w.t.Cleanup(r.Close)
	w.o.Host = durable.Host{Scripts: r, Process: "p", NodeAlive: func(context.Context, string) bool { return false }}
	w.o.CanPlay = r.CanPlay
}

// playbooks is a configuration with a playbook for VDU1.
const playbooks = `
configurable_properties: { _VAR_user: ubuntu }
vdus:
  VDU1:
    config:
      order: 0
      vm_app_config:
        username: _VAR_user
        password: _VAR_vdu_password
        node_pair: VDU2
        instantiation:
          - path: _VAR_vnf_package_path/Scripts/start.yaml
            params: { word: hello, folder: _VAR_vnf_package_path }
            order: 0
`

// start writes a file with raw commands, because the simulated machines have no Python.
const start = `
- hosts: "{{ host }}"
  gather_facts: no
  tasks:
    - name: write a file
      raw: echo "{{ word }} {{ host }} {{ node_pair_ip }} {{ VDU1 | length }}" >>/tmp/played
    - name: read the package
      debug: { msg: "{{ lookup('file', folder + 'Scripts/text') }}, {{ ansible_ssh_pass }}" }
    - name: look for a license
      raw: test ! -e /tmp/refuse || { echo no license; exit 3; }
`

func played() fstest.MapFS {
	return fstest.MapFS{"Scripts/start.yaml": {Data: []byte(start)}, "Scripts/text": {Data: []byte("the text")}}
}

const withPassword = `{"flavourId":"default","additionalParams":{"vdu_password":"` + password + `"}}`

// TestPlaybooks: the real ansible-playbook configures simulated machines over SSH. Each host of PLAY RECAP is a step,
// the host keys are those that Gybe knows, and the password is nowhere.
func TestPlaybooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	w.begin(sol.LcmOperationInstantiate, playbooks, played(), withPassword, nil)
	w.Complete(t)
	const title = "instantiation 1: Scripts/start.yaml"
	require.Equal(t, []string{title + " VDU1-0", title + " VDU1-1"}, w.order())
	for _, vnfc := range []string{"VDU1-0", "VDU1-1"} {
		require.Equal(t, "hello "+w.address(vnfc)+" "+w.address("VDU2-0")+" 2\n", w.on(vnfc, "cat /tmp/played"))
		recap := w.Step("PLAY RECAP of "+title, vnfc)
		require.NotNil(t, recap, w.Stored(t))
		require.Equal(t, "ok=3 changed=2 unreachable=0 failed=0 skipped=0 rescued=0 ignored=0", recap.Detail)
		require.Equal(t, lcm.StepDone, recap.State)
	}
	require.Contains(t, w.Stored(t), "the text, ***")
	require.NotContains(t, w.Stored(t), password)
}

// TestPlaybookFailsOnAHost: the error names the host, the task and its message; a retry runs only what has failed.
func TestPlaybookFailsOnAHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	w.on("VDU1-1", "touch /tmp/refuse")
	w.begin(sol.LcmOperationInstantiate, playbooks, played(), withPassword, nil)
	f := w.Fail(t)
	require.Equal(t, "Playbook failed", f.Title)
	require.Contains(t, f.Detail, "the playbook Scripts/start.yaml failed on VNFC VDU1-1 ("+w.address("VDU1-1")+
		`) at task "look for a license": non-zero return code: no license`)
	recap := w.Step("PLAY RECAP of instantiation 1: Scripts/start.yaml", "VDU1-1")
	require.Equal(t, lcm.StepFailed, recap.State)
	require.Contains(t, recap.Error.Detail, `at task "look for a license"`)

	w.on("VDU1-1", "rm /tmp/refuse")
	w.Steer(t, lcm.EventRetry)
	w.Complete(t)
	require.Len(t, w.on("VDU1-0", "cat /tmp/played | wc -l"), 2, "once")
	require.Contains(t, w.on("VDU1-1", "cat /tmp/played | wc -l"), "2")
	require.NotNil(t, w.Step("PLAY RECAP of instantiation 1: Scripts/start.yaml, attempt 2", "VDU1-1"))
}

// TestPlaybookChecksHostKeys: a machine with another key than the pinned one is not configured.
func TestPlaybookChecksHostKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	w.on("VDU1-0", "true")
	w.on("VDU2-0", "true")
	other := w.keys.All()[remote.Machine{Instance: instanceID, VNFC: "VDU2-0"}]
	w.keys.Set(remote.Machine{Instance: instanceID, VNFC: "VDU1-1"}, other)
	w.begin(sol.LcmOperationInstantiate, playbooks, played(), withPassword, nil)
	require.Contains(t, w.Fail(t).Detail, "the host key of VDU1-1 has changed")
	require.Nil(t, w.Step("instantiation 1: Scripts/start.yaml", "VDU1-1"))
}

// TestDeathAroundPlaybooks: nodes die at every write of the hook. The playbook runs at least once, and every host has
// its step.
func TestDeathAroundPlaybooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	w.inst.Instantiated.VnfcInfo = w.inst.Instantiated.VnfcInfo[:1]
	short := fstest.MapFS{"Scripts/start.yaml": {Data: []byte(
		"- { hosts: all, gather_facts: no, tasks: [ { raw: echo x >>/tmp/played } ] }",
	)}}
	for at := 1; ; at++ {
		w.o.Host.Scripts.Stop("")
		w.on("VDU1-0", "rm -f /tmp/played")
		w.begin(sol.LcmOperationInstantiate, playbooks, short, withPassword, nil)
		w.DieAt, w.DieAfter = at, at%2 == 0
		w.Complete(t)
		require.NotEmpty(t, w.on("VDU1-0", "cat /tmp/played"), "death at write %d", at)
		require.NotNil(t, w.Step("PLAY RECAP of instantiation 1: Scripts/start.yaml", "VDU1-0"))
		if w.Deaths() == 0 {
			require.Greater(t, at, 10, "the test has to kill")
			return
		}
	}
}

// TestValidate: requests are refused before anything is created, with a pointer for a value that the request lacks.
func TestValidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := func(typ sol.LcmOperationType, config, params string) *lcm.Error {
		w.begin(typ, config, played(), withPassword, nil)
		var kv sol.KeyValuePairs
		require.NoError(t, json.Unmarshal([]byte(params), &kv))
		return lcm.AsError(w.driver().Validate(t.Context(), lcm.Request{
			Type: typ, Flavour: &w.vnf.VNFD.Flavours[0], Package: w.vnf.Package, AdditionalParams: kv,
		}))
	}
	e := ask(sol.LcmOperationInstantiate, playbooks, `{}`)
	require.Equal(t, lcm.CodeUnprocessable, e.Code)
	require.Equal(t, []lcm.InvalidParam{{
		Pointer: "/additionalParams/vdu_password",
		Detail: "ScriptANSIBLE/config.yaml:9: _VAR_vdu_password has no value: neither configurable_properties nor " +
			"additionalParams has it",
	}}, e.Params)
	e = ask(sol.LcmOperationInstantiate, playbooks, `{"vdu_password":"x"}`)
	require.Contains(t, e.Detail, "this node runs none")
	require.Contains(t, e.Hint, "ansible.playbook")
	require.Nil(t, ask(sol.LcmOperationHeal, playbooks, `{}`), "it runs nothing")
	require.Contains(t, ask(sol.LcmOperationHeal, "[]", `{}`).Detail, "ScriptANSIBLE:1: the file is not a mapping")

	w.begin(sol.LcmOperationInstantiate, playbooks, nil, withPassword, nil)
	warnings := w.driver().CheckPackage(w.vnf.Package, w.vnf.VNFD)
	require.Len(t, warnings, 1)
	require.Equal(t, "ScriptANSIBLE/config.yaml:12: the package has no playbook Scripts/start.yaml", warnings[0].Text)
}
