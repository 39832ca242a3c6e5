package script_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
	"github.com/gybe-nfv/gybe/test/sandbox"
)

// playing starts a runner with the real ansible-playbook.
func playing(t *testing.T, kind string) *script.Runner {
	t.Helper()
	opts := options(t, kind)
	opts.Playbook = sandbox.Playbook(t)
	return start(t, opts)
}

// play runs the playbook p.yaml to its end.
func play(
	t *testing.T, r *script.Runner, text string, in script.PlaybookInput, secrets ...string,
) (res script.PlaybookResult, lines string, err error) {
	t.Helper()
	files := fstest.MapFS{"Scripts/p.yaml": {Data: []byte(text)}, "Scripts/motd": {Data: []byte("welcome")}}
	if in.Timeout == 0 {
		in.Timeout = 60
	}
	require.NoError(t, r.StartJob(t.Context(), keyOf(t), script.Job{
		Package: files, Script: "Scripts/p.yaml", Kind: script.Playbook, Input: in, Secrets: secrets,
		Timeout: 3 * limit,
	}))
	var all []string
	for {
		known, over, failure := r.Follow(t.Context(), keyOf(t), limit, func(l string) { all = append(all, l) })
		require.True(t, known)
		if over {
			err = failure
			break
		}
	}
	require.NoError(t, json.Unmarshal(r.Result(keyOf(t)), &res))
	r.Stop(keyOf(t))
	return res, strings.Join(all, "\n"), err
}

// hosts is an inventory of local hosts.
func hosts(names ...string) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, n := range names {
		out[n] = map[string]any{
			"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3",
		}
	}
	return out
}

const playbook = `
- hosts: all
  gather_facts: no
  tasks:
    - name: copy a file
      copy: { src: "{{ folder }}Scripts/motd", dest: "{{ lookup('env', 'HOME') }}/motd-{{ inventory_hostname }}" }
    - name: show a word
      debug: { msg: "word is {{ word }}" }
    - name: refuse one host
      fail: { msg: "not here, {{ word }}" }
      when: inventory_hostname == bad
`

// TestPlaybook: the real ansible-playbook runs a playbook of the package in the sandbox. The result has the PLAY RECAP,
// and the host and the task that failed; secrets are hidden.
func TestPlaybook(t *testing.T) {
	t.Parallel()
	both := func(bad string) script.PlaybookInput {
		return script.PlaybookInput{
			Hosts: hosts("10.0.0.1", "10.0.0.2"), PackageVariable: "_PKG_",
			Vars: map[string]any{"folder": "_PKG_", "word": "s3cret-word", "bad": bad},
		}
	}
	for _, kind := range []string{script.Bwrap, script.None} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := playing(t, kind)
			require.NoError(t, r.CanPlay())
			res, lines, err := play(t, r, playbook, both("none"), "s3cret-word")
			require.NoError(t, err, lines)
			require.Equal(t, map[string]script.PlaybookRecap{
				"10.0.0.1": {OK: 2, Changed: 1, Skipped: 1}, "10.0.0.2": {OK: 2, Changed: 1, Skipped: 1},
			}, res.Recap)
			require.Empty(t, res.Failures)
			require.Contains(t, lines, "word is ***")
			require.NotContains(t, lines, "s3cret-word")
			require.Contains(t, lines, "PLAY RECAP")
		})
	}
	t.Run("failure", func(t *testing.T) {
		t.Parallel()
		res, lines, err := play(t, playing(t, script.Bwrap), playbook, both("10.0.0.2"), "s3cret-word")
		require.ErrorContains(t, err, "the script Scripts/p.yaml ended with exit status 2")
		require.NotContains(t, err.Error(), "s3cret-word")
		require.Equal(t, 1, res.Recap["10.0.0.2"].Failures, lines)
		require.Equal(t, []script.PlaybookFailure{
			{Host: "10.0.0.2", Task: "refuse one host", Message: "not here, s3cret-word"},
		}, res.Failures, "the result is for the caller, who hides what is secret")
		require.Empty(t, res.Of("10.0.0.1"))
	})
}

// TestPlaybookRetries: a playbook that fails is repeated as often as its input says; its time is limited.
func TestPlaybookRetries(t *testing.T) {
	t.Parallel()
	r := playing(t, script.Bwrap)
	res, lines, err := play(t, r, `
- hosts: all
  gather_facts: no
  tasks:
    - shell: 'echo x >>"$HOME/tries"; test "$(wc -l <"$HOME/tries")" -ge 2'
`, script.PlaybookInput{Hosts: hosts("h"), Retries: 2, Interval: 0})
	require.NoError(t, err, lines)
	require.Equal(t, 1, strings.Count(lines, "retry 1 of 2 in 0 seconds"), lines)
	require.NotContains(t, lines, "retry 2 of 2")
	require.Equal(t, map[string]script.PlaybookRecap{"h": {OK: 1, Changed: 1}}, res.Recap)
	require.Empty(t, res.Failures)

	_, lines, err = play(t, r, `
- hosts: all
  gather_facts: no
  tasks: [ { command: sleep 600 } ]
`, script.PlaybookInput{Hosts: hosts("h"), Timeout: 3})
	require.ErrorContains(t, err, "the playbook has not ended within 3 seconds", lines)
}

// TestPlaybookWithAnError: what Ansible says about a wrong file is the error.
func TestPlaybookWithAnError(t *testing.T) {
	t.Parallel()
	r := playing(t, script.Bwrap)
	res, _, err := play(t, r, "- hosts: all\n  tusks: []\n", script.PlaybookInput{Hosts: hosts("h")})
	require.ErrorContains(t, err, "'tusks' is not a valid attribute for a Play")
	require.Empty(t, res.Recap)
}

// TestPlaybookSecretsAreNotInProcesses: data for logins is in no argument and not in the environment of any process,
// and in files that only the user of the sandbox can read.
func TestPlaybookSecretsAreNotInProcesses(t *testing.T) {
	t.Parallel()
	_, lines, err := play(t, playing(t, script.Bwrap), `
- hosts: all
  gather_facts: no
  tasks:
    - shell: |
        cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -c 'hunter2-pas[s]' || true
      register: seen
    - debug: { msg: "seen {{ seen.stdout_lines[-1] }}" }
    - shell: find "$HOME" -name vars.json -perm 600 -o -name key -perm 600 | wc -l
      register: files
    - debug: { msg: "files {{ files.stdout }}" }
`, script.PlaybookInput{
		Hosts: hosts("h"), Vars: map[string]any{"ansible_ssh_pass": "hunter2-pass"}, Key: "hunter2-pass\n",
	})
	require.NoError(t, err, lines)
	require.Contains(t, lines, "seen 0")
	require.Contains(t, lines, "files 2")
}

// TestPlaybookIsRefused: a node without the program says so, at its start and later.
func TestPlaybookIsRefused(t *testing.T) {
	t.Parallel()
	opts := options(t, script.Bwrap)
	r := start(t, opts)
	e := lcm.AsError(r.CanPlay())
	require.Equal(t, lcm.CodeUnprocessable, e.Code)
	require.Contains(t, e.Hint, "ansible.playbook")
	err := r.StartJob(t.Context(), keyOf(t), script.Job{
		Package: fstest.MapFS{"p.yaml": {}}, Script: "p.yaml", Kind: script.Playbook, Timeout: limit,
	})
	require.ErrorContains(t, err, "this node runs no Ansible playbooks")

	opts.Playbook = "no-such-ansible-playbook"
	_, err = script.New(t.Context(), opts)
	require.ErrorContains(t, err, "ansible.playbook: scripts do not find no-such-ansible-playbook")

	opts = options(t, script.None)
	opts.Playbook = open(t) + "/ansible-playbook"
	require.NoError(t, os.WriteFile(opts.Playbook, []byte("#!/bin/sh\n"), 0o755))
	r = start(t, opts)
	require.NoError(t, r.CanPlay())
	require.NoError(t, os.Remove(opts.Playbook))
	require.ErrorContains(t, r.CanPlay(), "has no program "+opts.Playbook+" any more")
}
