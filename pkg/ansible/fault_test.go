package ansible_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// TestOutputIsLimited: a command may write any amount; the step's log has the beginning, and says so. The error has the
// end.
func TestOutputIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	loud := "for i in 1 2 3 4 5 6 7 8; do seq 1 40000; done; echo the last words; false"
	w.begin(sol.LcmOperationInstantiate, one(loud), nil, instantiate, nil)
	f := w.Fail(t)
	require.Contains(t, f.Detail, "the last words (exit status 1)")
	log := w.Log("instantiation 1: command", "VDU2-0")
	require.Equal(t, "(the command writes more than 1024 KiB; the rest is not shown)", log[len(log)-1])
	size := 0
	for _, line := range log {
		size += len(line) + 1
	}
	require.Less(t, size, 1<<20+200)
	require.Greater(t, size, 1<<19)
}

// TestErrorIsLimited: a last line of any length gives a short error, and a secret in it is hidden.
func TestErrorIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := "x=$(seq 1 3000 | tr -d '\\n'); echo ${x}" + password + "${x}" + password + "; false"
	w.begin(sol.LcmOperationInstantiate, one(long), nil, instantiate, nil)
	f := w.Fail(t)
	require.Less(t, len(f.Detail), 2500)
	require.Contains(t, f.Detail, "*** (exit status 1)")
	require.NotContains(t, w.Stored(t), password)
}

// settings are members of vm_app_config.
func settings(config, more string) string {
	return strings.Replace(config, "        node_pair: VDU2\n", "        node_pair: VDU2\n        "+more+"\n", 1)
}

// raw is a playbook of one command on the machine.
func raw(command string) fstest.MapFS {
	return fstest.MapFS{"Scripts/start.yaml": {Data: fmt.Appendf(nil,
		"- hosts: all\n  gather_facts: no\n  tasks:\n    - name: the task\n      raw: %s\n", command)}}
}

// TestMachineIsAway: commands and playbooks wait for a machine as long as the file says; then the error names it.
func TestMachineIsAway(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"command":  one("true", "connection_wait_timeout: 1"),
		"playbook": settings(playbooks, "connection_wait_timeout: 1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.playing()
			vnfc := map[string]string{"command": "VDU2-0", "playbook": "VDU1-0"}[name]
			w.fleet.PowerOff(vnfc)
			w.begin(sol.LcmOperationInstantiate, config, played(), withPassword, nil)
			f := w.Fail(t)
			require.Equal(t, "Machine failed", f.Title)
			require.Contains(t, f.Detail, " on VNFC "+vnfc+" ("+w.address(vnfc)+"): ")
			require.Contains(t, f.Hint, "check that the machine has booted")
			require.Contains(t, w.Told(), "waits for SSH on "+w.address(vnfc))

			w.fleet.PowerOn(vnfc)
			w.Steer(t, lcm.EventRetry)
			w.Complete(t)
		})
	}
}

// TestPlaybookLoginIsRefused: the error is that of Ansible, for the machine that refuses.
func TestPlaybookLoginIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	w.begin(sol.LcmOperationInstantiate, playbooks, played(),
		strings.Replace(withPassword, password, "another-passw0rd", 1), nil)
	f := w.Fail(t)
	require.Equal(t, "Playbook failed", f.Title)
	require.Contains(t, f.Detail, "host unreachable on VNFC VDU1-0 ("+w.address("VDU1-0")+`) at task "write a file": `)
	require.Contains(t, f.Detail, "assword")
	require.NotContains(t, w.Stored(t), "another-passw0rd")
	recap := w.Step("PLAY RECAP of instantiation 1: Scripts/start.yaml", "VDU1-0")
	require.Contains(t, recap.Detail+recap.Error.Detail, "host unreachable")
}

// TestPlaybookHostIsUnreachable: a host of target_hosts that is no VNFC has a step of its own, too.
func TestPlaybookHostIsUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	away := strings.Replace(w.address("VDU1-0"), ".11", ".99", 1)
	config := strings.Replace(playbooks, "            order: 0\n",
		"            order: 0\n            target_hosts: [ VDU1, "+away+" ]\n", 1)
	w.begin(sol.LcmOperationInstantiate, config, raw("ls /"), withPassword, nil)
	f := w.Fail(t)
	require.Contains(t, f.Detail, "the playbook Scripts/start.yaml host unreachable on "+away+` at task "the task": `)
	const recap = "PLAY RECAP of instantiation 1: Scripts/start.yaml"
	require.Equal(t, lcm.StepDone, w.Step(recap, "VDU1-0").State)
	require.Equal(t, lcm.StepDone, w.Step(recap+" for VDU1-0", "VDU1-1").State)
	require.Equal(t, lcm.StepFailed, w.Step(recap+" for VDU1-0", away).State)
}

// TestPlaybookTakesTooLong: a playbook that does not end is ended.
func TestPlaybookTakesTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	config := settings(playbooks, "command_execution_wait_timeout: 2")
	w.begin(sol.LcmOperationInstantiate, config, raw("sleep 100000"), withPassword, nil)
	require.Contains(t, w.Fail(t).Detail, "the playbook has not ended within 2 seconds")
}

// TestPlaybookIsRepeated: retry_count and retry_interval hold for playbooks, too.
func TestPlaybookIsRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	w.begin(sol.LcmOperationInstantiate, settings(playbooks, "retry_count: 1\n        retry_interval: 1"),
		raw(`"echo x >>/tmp/tries; test $(cat /tmp/tries | wc -l) -ge 2"`), withPassword, nil)
	w.Complete(t)
	require.Equal(t, "x\nx\n", w.on("VDU1-0", "cat /tmp/tries"))
	require.Contains(t, w.Logs(), "retry 1 of 1 in 1 seconds")
}

// TestPlaybookOutputIsLimited: so is the output of playbooks.
func TestPlaybookOutputIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playing()
	w.inst.Instantiated.VnfcInfo = w.inst.Instantiated.VnfcInfo[:1]
	w.begin(sol.LcmOperationInstantiate, playbooks, fstest.MapFS{"Scripts/start.yaml": {Data: []byte(
		"- { hosts: all, gather_facts: no, tasks: [ { debug: { msg: '{{ range(0, 120000) | list }}' } } ] }",
	)}}, withPassword, nil)
	w.Complete(t)
	require.Contains(t, w.Logs(), "(the script writes more than 1024 KiB; the rest is not shown)")
	require.Less(t, len(w.Logs()), 8<<20, "each line has the name of its step")
}
