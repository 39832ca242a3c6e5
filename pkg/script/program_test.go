package script_test

import (
	"encoding/json"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
)

// runProgram runs a program of a kind to its end and returns the value that it returns.
func runProgram(
	t *testing.T, r *script.Runner, kind script.Program, text string,
) (value string, lines []string, err error) {
	t.Helper()
	pkg := fstest.MapFS{"Scripts/x": {Data: []byte(text)}, "Files/word": {Data: []byte("found")}}
	require.NoError(t, r.StartJob(t.Context(), keyOf(t), script.Job{
		Package: pkg, Script: "Scripts/x", Program: kind, Timeout: limit,
		Input: map[string]any{"operation": "scale", "request": map[string]any{"n": 1<<60 + 1, "password": "geheim-1"}},
	}))
	var known, over bool
	for known = true; known && !over; {
		known, over, err = r.Follow(t.Context(), keyOf(t), limit, func(l string) { lines = append(lines, l) })
	}
	require.True(t, known)
	value = string(r.Result(keyOf(t)))
	r.Stop(keyOf(t))
	return value, lines, err
}

// TestProgram: a script in any language reads JSON and writes JSON. Its standard error is the log.
func TestProgram(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		for name, tt := range map[string]struct {
			kind         script.Program
			text, want   string
			lines        []string
			failure      string
			withoutValue bool
		}{
			"a shell script without a result": {
				script.CoordinationProgram,
				"#!/bin/sh -e\ncat Files/word >&2\necho >&2\ngrep -o '\"kind\": \"[a-z-]*\"' >&2",
				`{}`,
				[]string{"found", `"kind": "coordination"`},
				"", false,
			},
			"a shell script with a result": {
				script.UserDataProgram,
				`#! /bin/sh
cat > /dev/null
echo '{"version": 1, "template": {"a": [1]}, "files": {"b": {}}}'
`,
				`{"template": "{\"a\": [1]}", "files": {"b": "{}"}}`, nil, "", false,
			},
			"Python without our library": {
				script.MgmtProgram, `#!/usr/bin/env python3
import json, os, sys
v = json.load(sys.stdin)
print(sorted(v), v["version"], v["operation"], v["request"]["n"], file=sys.stderr)
print(os.path.exists(v["tmp_csar_dir"] + "/Scripts/x"), file=sys.stderr)
print(v["request"]["password"], file=sys.stderr)
try:
    import gybe_names
except ImportError as e:
    print(e, file=sys.stderr)
json.dump({"user_script_err_handling_data": {"n": 1}}, sys.stdout)
`, `{"user_script_err_handling_data": {"n": 1}}`, []string{
					"['kind', 'operation', 'request', 'tmp_csar_dir', 'version'] 1 scale 1152921504606846977", "True",
					"***",
					"No module named 'gybe_names'",
				}, "", false,
			},
			"a failure with a result": {
				script.MgmtProgram,
				"#!/bin/sh\necho '{\"user_script_err_handling_data\": {\"k\": 1}}'\necho too late >&2\nexit 3",
				`{"user_script_err_handling_data": {"k": 1}}`,
				[]string{"too late"},
				"exit status 3: too late", false,
			},
			"a failure with a text": {
				script.MgmtProgram, "#!/bin/sh\necho begins\nexit 4", `{}`, nil, "exit status 4", false,
			},
			"a killed program": {script.MgmtProgram, "#!/bin/sh\nkill -9 $$", `{}`, nil, "exit status 137", false},
			"a text instead of JSON": {
				script.MgmtProgram, "#!/bin/sh\necho done", "", nil,
				"standard output of Scripts/x is not JSON", true,
			},
			"another value": {script.MgmtProgram, "#!/bin/sh\necho 1", "", nil, "is not a JSON object", true},
			"a member of another kind": {
				script.MgmtProgram, "#!/bin/sh\necho '{\"template\": \"\"}'", "", nil,
				"has the member template, which a mgmt-driver script does not return", true,
			},
			"another version": {
				script.MgmtProgram, "#!/bin/sh\necho '{\"version\": 2}'", "", nil,
				"returns another version than 1", true,
			},
			"a large result": {
				script.UserDataProgram, "#!/bin/sh\nhead -c 9000000 /dev/zero", "", nil,
				"has written more than 8 MiB to standard output", true,
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				value, lines, err := runProgram(t, r, tt.kind, tt.text)
				if tt.failure == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, tt.failure)
				}
				if tt.withoutValue {
					require.Empty(t, value)
					return
				}
				require.JSONEq(t, tt.want, value)
				require.Equal(t, tt.lines, lines)
			})
		}
	})
}

// TestProgramThatCannotRun: a file that is no program is refused before the start, and so is one whose interpreter
// scripts do not see.
func TestProgramThatCannotRun(t *testing.T) {
	t.Parallel()
	binary, err := os.ReadFile("/bin/true")
	require.NoError(t, err)
	outside := open(t)
	require.NoError(t, os.WriteFile(outside+"/sh", []byte("x"), 0o755))
	files := fstest.MapFS{
		"sh": {Data: []byte("#!/bin/sh\n")}, "env": {Data: []byte("#!/usr/bin/env -S LANG=C sh -e")},
		"python.py":  {Data: []byte("#!/usr/bin/env python3\n")},
		"binary":     {Data: binary, Mode: 0o755},
		"unmarked":   {Data: binary},
		"text":       {Data: []byte("echo 1\n")},
		"empty":      {},
		"no path":    {Data: []byte("#!sh\n")},
		"no line":    {Data: []byte("#!\n")},
		"lua":        {Data: []byte("#!/usr/bin/no-such-lua -e\n")},
		"env lua":    {Data: []byte("#!/usr/bin/env no-such-lua\n")},
		"outside":    {Data: []byte("#!" + outside + "/sh\n")},
		"no program": {Data: []byte("#!/etc/passwd\n")},
	}
	r := start(t, options(t, script.Bwrap))
	for name, want := range map[string]string{
		"sh": "", "env": "", "binary": "", "python.py": "",
		"unmarked":   "not marked as executable",
		"text":       "its first line does not name an interpreter (#!)",
		"empty":      "its first line does not name an interpreter (#!)",
		"no path":    "its first line does not name the path of an interpreter",
		"no line":    "its first line does not name the path of an interpreter",
		"lua":        "names the interpreter /usr/bin/no-such-lua, which scripts do not find on this node",
		"env lua":    "names the interpreter no-such-lua, which scripts do not find",
		"outside":    "names the interpreter " + outside + "/sh, which scripts do not find",
		"no program": "names the interpreter /etc/passwd, which scripts do not find",
		"missing":    "the package does not have it",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := r.CanRun(files, name)
			if want == "" {
				require.NoError(t, err)
				require.Equal(t, name != "python.py", script.IsProgram(files, name))
				return
			}
			require.ErrorContains(t, err, want)
			require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code)
			err = r.StartJob(t.Context(), name, script.Job{
				Package: files, Script: name, Program: script.MgmtProgram, Input: json.RawMessage("{}"), Timeout: limit,
			})
			require.Equal(t, lcm.CodeUnprocessable, lcm.AsError(err).Code, "%v", err)
		})
	}
	require.NoError(t, r.StartJob(t.Context(), "binary", script.Job{
		Package: files, Script: "binary", Program: script.MgmtProgram, Input: json.RawMessage("{}"), Timeout: limit,
	}))
	_, err = outcome(t, r, "binary")
	require.NoError(t, err)
}
