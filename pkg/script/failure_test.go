package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
)

// TestScriptEnds: the user learns whether a script has succeeded, and reads its last output if not.
func TestScriptEnds(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script string
		want   []string // none = success
		hint   string
	}{
		"at its end":     {"pass", nil, ""},
		"by an exit":     {"import sys; sys.exit()", nil, ""},
		"by a hard exit": {"import os; os._exit(0)", nil, ""},
		"by another exit": {
			"import os, sys; sys.stderr.write('no room\\n'); os._exit(1)",
			[]string{"exit status 1", "no room"},
			"",
		},
		"by status 3": {"import sys; print('only this'); sys.exit(3)", []string{"exit status 3", "only this"}, ""},
		"by a text":   {"import sys; sys.exit('not now')", []string{"exit status 1", "not now"}, ""},
		"by an exception": {
			"def f():\n    raise ValueError('bad value')\nf()",
			[]string{"exit status 1", "Traceback", "line 3, in <module>", "ValueError: bad value"},
			"",
		},
		"before it begins": {"def f(:", []string{"exit status 1", "SyntaxError"}, ""},
		"by an import": {
			"import nosuchmodule.x",
			[]string{"ModuleNotFoundError"},
			"the interpreter of scripts.python lacks the module nosuchmodule",
		},
		"by an import of Tacker": {
			"from tacker.db import x",
			[]string{"the script imports tacker.db, which is not available here"},
			"change the script so that it does without tacker.db",
		},
		"without a line": {"import sys; sys.stderr.write('broken off'); sys.exit(1)", []string{"broken off"}, ""},
		"by its memory":  {"x = b'x' * (4 << 30)", []string{"MemoryError"}, ""},
		"by a large file": {
			"f = open('/tmp/x', 'wb')\nfor _ in range(300): f.write(b'x' * (1 << 20))",
			[]string{"exit status 1", "Error"},
			"",
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, r *script.Runner) {
				t.Helper()
				_, err := run(t, r, tt.script, nil)
				if tt.want == nil {
					require.NoError(t, err)
					return
				}
				e := lcm.AsError(err)
				require.NotNil(t, e)
				require.Equal(t, lcm.CodeUpstream, e.Code)
				require.Equal(t, lcm.Permanent, e.Class, "it is for the user to decide whether it is run again")
				require.Contains(t, e.Detail, "the script Scripts/x.py ended with ")
				for _, w := range tt.want {
					require.Contains(t, e.Detail, w)
				}
				require.NotContains(t, e.Detail, "start.py", "our own frames tell the author nothing")
				require.NotContains(t, e.Detail, "runpy")
				require.Contains(t, e.Hint, tt.hint)
			})
		})
	}
}

// TestScriptThatDoesNotStart: errors that a new run cannot correct are reported immediately.
func TestScriptThatDoesNotStart(t *testing.T) {
	t.Parallel()
	r := start(t, options(t, script.None))
	files := pack("pass")
	for _, path := range []string{"Scripts/y.py", "Scripts", "", ".", "../x.py", "/etc/passwd", "Scripts/../../x.py"} {
		err := lcm.AsError(r.Start(t.Context(), "k", files, path, nil, limit))
		require.NotNil(t, err, path)
		require.Equal(t, lcm.CodeUnprocessable, err.Code, path)
	}
	require.ErrorContains(t, r.Start(t.Context(), "k", files, "Scripts/x.py", make(chan int), limit), "input")
	require.NoError(t, r.Start(t.Context(), "k", files, "Scripts//./x.py", nil, limit))
	require.Error(t, r.Start(t.Context(), "k", files, "Scripts/x.py", nil, limit), "the key has a run")
	_, err := outcome(t, r, "k")
	require.NoError(t, err)
	known, _, _ := r.Follow(t.Context(), "k", 0, nil)
	require.False(t, known)
}

// TestPackageTooLargeForAScript: it is rejected instead of filling the disk.
func TestPackageTooLargeForAScript(t *testing.T) {
	t.Parallel()
	r := start(t, options(t, script.None))
	files := pack("pass")
	file := pack(string(make([]byte, 15<<20)))["Scripts/x.py"]
	for i := range 20 {
		files[fmt.Sprintf("Files/%d", i)] = file
	}
	require.ErrorContains(t, r.Start(t.Context(), "k", files, "Scripts/x.py", nil, limit), "256 MiB")
}

// TestScriptWithLargeOutput: large output does not fill the memory, the database or a response; its last lines are
// kept.
func TestScriptWithLargeOutput(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"lines":    "for i in range(100000): print('x' * 100)",
		"one line": "for i in range(100000): print('x' * 100, end='')",
		"rubbish":  "import sys\nfor i in range(1000): sys.stdout.buffer.write(bytes(range(256)) * 40)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, r *script.Runner) {
				t.Helper()
				lines, err := run(t, r, text+"\nimport sys\nsys.stdout.flush()\nsys.exit('\\nlast words')", nil)
				require.ErrorContains(t, err, "last words")
				require.Less(t, len(lcm.AsError(err).Detail), 4<<10)
				size := 0
				for _, l := range lines {
					size += len(l)
					require.LessOrEqual(t, len(l), 4096)
					require.NotContains(t, l, "\x00")
					require.Equal(t, strings.ToValidUTF8(l, ""), l)
				}
				require.Positive(t, size)
				require.Less(t, size, 2<<20)
			})
		})
	}
}

// TestScriptPrintsSecrets: secrets of the request are masked in the output, in any encoding.
func TestScriptPrintsSecrets(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----\n"
	input := map[string]any{
		"username": "admin", "password": `pä55"w/rd`, "endpoint": "https://user:in-the-url@em/",
		"other":      "https://user:%89@em/", // a password that is not text
		"pin_secret": 123456789012, "short": map[string]any{"password": "abc"},
		"authentication": map[string]any{
			"paramsOauth2ClientCredentials": map[string]any{"clientPassword": "oauth-s3cret"},
		}, "key": key,
	}
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		lines, err := run(t, r, `
import base64, json, pickle, sys, urllib.parse
v = pickle.load(sys.stdin.buffer)
print(v)
print(json.dumps(v))
print(v["username"], v["password"], urllib.parse.quote(v["password"]), v["pin_secret"], v["key"])
print("abc alphabet abcdef", base64.b64encode(v["password"].encode()).decode())
print("Authorization: Basic", base64.b64encode(b"admin:oauth-s3cret").decode())
print("z" * 4090 + "oauth-s3cret" * 10)
sys.stderr.write("cannot log in with " + v["authentication"]["paramsOauth2ClientCredentials"]["clientPassword"] + " at " + v["endpoint"])
sys.exit(1)
`, input)
		require.ErrorContains(t, err, "cannot log in with *** at https://user:***@em/")
		all := strings.Join(lines, "\n")
		require.Contains(t, all, "admin ***")
		require.Contains(t, all, "*** alphabet abcdef ***")
		for _, secret := range []string{
			`w/rd`, "in-the-url", "123456789012", "s3cret", "MIIEvQIBADANBg",
			"kqhkiG9w0BAQEF", "cMOkNTUidy9yZA", "p%C3%A455", "YWRtaW46", "zoauth",
		} {
			require.NotContains(t, all, secret)
		}
	})
}
