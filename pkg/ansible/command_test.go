package ansible_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/mgmttest"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// commands is a configuration with a command for each operation.
const commands = `
configurable_properties: { _VAR_user: ubuntu, _VAR_password: s3cret-password }
vdus:
  VDU2:
    config:
      order: 0
      vm_app_config:
        type: remote-command
        username: _VAR_user
        password: _VAR_password
        instantiation: [ { command: 'echo instantiation >>/tmp/ran', order: 0 } ]
  VDU1:
    config:
      order: 1
      vm_app_config:
        type: remote-command
        username: _VAR_user
        password: _VAR_password
        instantiation:
          - { command: 'echo "two _VAR_word" >>/tmp/ran', order: 2 }
          - { command: 'echo "one at _VAR_VDU_INSTANCE_IP with _VAR_password" | tee -a /tmp/ran', order: 1 }
        healing: [ { command: 'echo "heal _VAR_vnf.failed_vdu_name" >>/tmp/ran', order: 0 } ]
        scale-in: [ { command: 'echo in >>/tmp/ran', order: 0 } ]
        scale-out: [ { command: 'echo out >>/tmp/ran', order: 0 } ]
        termination: [ { command: 'echo end >>/tmp/ran', order: 0 } ]
`

// TestCommands: commands run over SSH on every VNFC, VDU by VDU, in their order, with the values of the request, and
// their output is in the steps' logs without secrets.
func TestCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(sol.LcmOperationInstantiate, commands, nil, `{"flavourId":"default","additionalParams":{"word":"w"}}`, nil)
	w.Complete(t)
	require.Equal(t, []string{
		"instantiation 1: command VDU2-0", "instantiation 1: command VDU1-0", "instantiation 2: command VDU1-0",
		"instantiation 1: command VDU1-1", "instantiation 2: command VDU1-1",
	}, w.order())
	require.Equal(t, "instantiation\n", w.on("VDU2-0", "cat /tmp/ran"))
	for _, vnfc := range []string{"VDU1-0", "VDU1-1"} {
		want := fmt.Sprintf("one at %s with %s\ntwo w\n", w.address(vnfc), password)
		require.Equal(t, want, w.on(vnfc, "cat /tmp/ran"))
	}
	require.Equal(t, []string{"one at " + w.address("VDU1-0") + " with ***"},
		w.Log("instantiation 1: command", "VDU1-0"))
	require.NotContains(t, w.Stored(t), password)
	require.Empty(t, strings.TrimSpace(w.on("VDU1-0", "ls -d /tmp/gybe-* 2>/dev/null; true")), "nothing is left behind")
}

// otherOperation is one that runs commands of the configuration for some VNFCs.
type otherOperation struct {
	typ    sol.LcmOperationType
	params string
	scope  *lcm.Scope
	before []string // VNFCs before the operation, if it adds some
	steps  []string
}

var otherOperations = []otherOperation{
	{
		typ: sol.LcmOperationHeal, params: `{"vnfcInstanceId":["VDU1-1"]}`,
		scope: &lcm.Scope{Flavour: "default", VNFCs: []string{"VDU1-1"}},
		steps: []string{"healing 1: command VDU1-1"},
	},
	{ // the machine and the id of the VNFC are new
		typ: sol.LcmOperationHeal, params: `{"vnfcInstanceId":["VDU1-7"]}`,
		scope:  &lcm.Scope{Flavour: "default", VNFCs: []string{"VDU1-7"}},
		before: []string{"VDU1-0", "VDU1-7", "VDU2-0"},
		steps:  []string{"healing 1: command VDU1-1"},
	},
	{
		typ: sol.LcmOperationScale, params: `{"type":"SCALE_IN","aspectId":"a"}`,
		scope:  &lcm.Scope{Flavour: "default", Remove: []string{"VDU1-1"}},
		before: []string{"VDU1-0", "VDU1-1", "VDU2-0"},
		steps:  []string{"scale-in 1: command VDU1-1"},
	},
	{
		typ: sol.LcmOperationScale, params: `{"type":"SCALE_OUT","aspectId":"a"}`,
		scope: &lcm.Scope{Flavour: "default", Add: map[string]int{"VDU1": 1}}, before: []string{"VDU1-0", "VDU2-0"},
		steps: []string{"scale-out 1: command VDU1-1"},
	},
	{
		typ: sol.LcmOperationTerminate, params: `{"terminationType":"FORCEFUL"}`,
		steps: []string{"termination 1: command VDU1-0", "termination 1: command VDU1-1"},
	},
}

// beginOther admits it.
func (w *world) beginOther(o otherOperation) {
	w.t.Helper()
	w.begin(o.typ, commands, nil, o.params, func(op *lcm.Operation) {
		op.Scope = o.scope
		if o.before == nil {
			return
		}
		op.Before.Instantiated.VnfcInfo = nil
		for _, id := range o.before {
			op.Before.Instantiated.VnfcInfo = append(op.Before.Instantiated.VnfcInfo, sol.VnfcInfo{ID: id})
		}
	})
}

// TestCommandsOfOtherOperations: each operation runs its commands for the VNFCs that it is about.
func TestCommandsOfOtherOperations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, o := range otherOperations {
		w.beginOther(o)
		w.Complete(t)
		require.Equal(t, o.steps, w.order(), string(o.typ))
	}
	require.Equal(t, "heal VDU1\nheal VDU1\nin\nout\nend\n", w.on("VDU1-1", "cat /tmp/ran"))
}

// TestDeathInOtherOperations: nodes die at every write of every hook. Each command runs once.
func TestDeathInOtherOperations(t *testing.T) {
	t.Parallel()
	for n, o := range otherOperations {
		t.Run(fmt.Sprintf("%d %s", n, o.typ), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			deaths := mgmttest.SurviveDeaths(t, func() *mgmttest.Task {
				w.on("VDU1-1", "rm -f /tmp/ran")
				w.beginOther(o)
				return w.Task
			}, func(k *mgmttest.Task) {
				require.Equal(t, o.steps, w.order())
				require.Equal(t, 1, strings.Count(w.on("VDU1-1", "cat /tmp/ran"), "\n"), "death at write %d", k.DieAt)
			})
			require.Greater(t, deaths, 12)
		})
	}
}

// one is a configuration with one command for VDU2.
func one(command string, more ...string) string {
	return "vdus:\n  VDU2:\n    config:\n      order: 0\n      vm_app_config:\n        type: remote-command\n" +
		"        username: ubuntu\n        password: " + password + "\n        " + strings.Join(more, "\n        ") +
		"\n        instantiation:\n          - order: 0\n            command: |\n              " + command + "\n"
}

const instantiate = `{"flavourId":"default"}`

// TestCommandFails: a command is repeated as often as the file says; then the error names it, the machine and its last
// line, and a retry of the operation runs it again.
func TestCommandFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(sol.LcmOperationInstantiate, one(
		"echo x >>/tmp/tries; echo no license for "+password+" >&2; test -e /tmp/license", "retry_count: 1",
		"retry_interval: 1",
	), nil, instantiate, nil)
	f := w.Fail(t)
	require.Equal(t, "Command failed", f.Title)
	require.Contains(t, f.Detail, "the command at ScriptANSIBLE/config.yaml:12 failed on VNFC VDU2-0 ("+
		w.address("VDU2-0")+"): no license for *** (exit status 1)")
	require.Equal(t, "x\nx\n", w.on("VDU2-0", "cat /tmp/tries"))
	require.NotContains(t, w.Stored(t), password)

	w.on("VDU2-0", "touch /tmp/license")
	w.Steer(t, lcm.EventRetry)
	w.Complete(t)
	require.Equal(t, "x\nx\nx\n", w.on("VDU2-0", "cat /tmp/tries"))
}

// TestCommandTakesTooLong: a command that does not end is ended.
func TestCommandTakesTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := one("sleep 100000", "command_execution_wait_timeout: 1")
	w.begin(sol.LcmOperationInstantiate, long, nil, instantiate, nil)
	require.Contains(t, w.Fail(t).Detail, "it has not ended within 1s (command_execution_wait_timeout)")
}

// TestCommandOnAnotherHost: execute-host is another VDU with its login, or an address with one of its own.
func TestCommandOnAnotherHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := strings.Replace(commands, "order: 2 }", "order: 2, execute-host: { host: VDU2 } }", 1)
	config = strings.Replace(config, "order: 1 }", fmt.Sprintf(
		"order: 1, execute-host: { host: %s, username: ubuntu, password: %s } }", w.address("VDU2-0"), password), 1)
	w.begin(sol.LcmOperationInstantiate, config, nil, `{"flavourId":"default","additionalParams":{"word":"w"}}`, nil)
	w.Complete(t)
	require.Equal(t, fmt.Sprintf(
		"instantiation\none at %s with %s\ntwo w\none at %s with %s\ntwo w\n", w.address("VDU1-0"), password,
		w.address("VDU1-1"), password,
	), w.on("VDU2-0", "cat /tmp/ran"))
}

// TestLoginIsRefused: the error says where the login comes from.
func TestLoginIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(sol.LcmOperationInstantiate, strings.Replace(one("ls", "connection_wait_timeout: 0"), password, "other", 1),
		nil, instantiate, nil)
	f := w.Fail(t)
	require.Contains(t, f.Detail, "run a command on VNFC VDU2-0")
	require.Contains(t, w.Stored(t), "check username, password and priv_key_file")
}

// TestDeathAroundCommands: nodes die at every write of the hook. No command runs twice, and each runs.
func TestDeathAroundCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deaths := mgmttest.SurviveDeaths(t, func() *mgmttest.Task {
		w.on("VDU2-0", "rm -f /tmp/ran")
		w.begin(sol.LcmOperationInstantiate, one("echo once >>/tmp/ran"), nil, instantiate, nil)
		return w.Task
	}, func(k *mgmttest.Task) {
		require.Equal(t, "once\n", w.on("VDU2-0", "cat /tmp/ran"), "death at write %d", k.DieAt)
	})
	require.Greater(t, deaths, 12)
}
