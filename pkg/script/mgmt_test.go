package script_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/script"
)

// runMgmt runs a mgmt driver script and returns its value as JSON.
func runMgmt(t *testing.T, r *script.Runner, text string) (value string, lines []string, err error) {
	t.Helper()
	key := keyOf(t)
	require.NoError(t, r.StartJob(t.Context(), key, script.Job{
		Package: pack(text), Script: "Scripts/x.py", Kind: script.Mgmt, Timeout: limit,
		Input: map[string]any{"operation": "instantiate_end", "vnf_instance": map[string]any{"metadata": nil}},
	}))
	known, over, err := r.Follow(t.Context(), key, limit, func(l string) { lines = append(lines, l) })
	require.True(t, known)
	require.True(t, over)
	value = string(r.Result(key))
	r.Stop(key)
	return value, lines, err
}

// TestMgmtScript: a mgmt driver script reads a pickle and may write one, and ends in its own way.
func TestMgmtScript(t *testing.T) {
	t.Parallel()
	const begin = "import os, pickle, sys\nv = pickle.load(sys.stdin.buffer)\n"
	r := start(t, options(t, script.Bwrap))
	for name, tt := range map[string]struct {
		text, value string
		lines       []string
		failure     string
	}{
		"without a value": {
			begin + "sys.stderr.write(v['operation'] + ' of ' + str(sorted(v)) + '\\n')\nos._exit(0)", "{}",
			[]string{"instantiate_end of ['operation', 'tmp_csar_dir', 'vnf_instance']"},
			"",
		},
		"with a value": {
			begin + "pickle.dump({'vnf_instance': {'metadata': {'a': 1}}}, sys.stdout.buffer)\n" +
				"sys.stdout.flush()\nos._exit(0)",
			`{"vnf_instance": {"metadata": {"a": 1}}}`, nil, "",
		},
		"with a text":   {begin + "print('done')", "{}", []string{"done"}, ""},
		"with a status": {begin + "sys.exit('not now')", "{}", []string{"not now"}, "exit status 1: not now"},
		"a failure with a value": {
			begin + "sys.stdout.buffer.write(pickle.dumps({'user_script_err_handling_data': {'k': 'v'}}))\n" +
				"sys.stdout.flush()\nsys.stderr.write('too late')\nos._exit(3)",
			`{"user_script_err_handling_data": {"k": "v"}}`,
			[]string{"too late"},
			"exit status 3: too late",
		},
		"a killed script": {begin + "os.kill(os.getpid(), 9)", "{}", nil, "exit status 137"},
		"a pickle that runs code": {
			"import sys\n" +
				"sys.stdout.buffer.write(b'\\x80\\x04cposix\\nsystem\\n(S\"id -u >&2; touch /package/x\"\\ntR.')\n",
			"",
			[]string{
				"65534", "touch: cannot touch '/package/x': Read-only file system",
				"the pickle on standard output is a int instead of a dict",
			},
			"is a int instead of a dict",
		},
		"a large text": {
			begin + "sys.stdout.write('x' * (9 << 20))", "",
			[]string{"the script has written more than 8 MiB to standard output"},
			"more than 8 MiB",
		},
		"an import of Tacker": {
			"import tacker.objects", "{}",
			[]string{"the script imports tacker.objects, which is not available here: see docs/package-scripts.md"},
			"imports tacker.objects, which is not available here",
		},
		"modules of Tacker": {
			begin + "from tacker.common import config\nfrom tacker.sol_refactored.common import coord_client\n" +
				"config.init([])\nprint(callable(coord_client.create_coordination))", "{}", []string{"True"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, lines, err := runMgmt(t, r, tt.text)
			require.Equal(t, tt.value, value)
			require.Equal(t, tt.lines, lines)
			if tt.failure == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.failure)
			}
		})
	}
}
