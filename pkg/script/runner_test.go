package script_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/script"
)

// TestScriptGetsItsInput: a script for Tacker reads a pickle with every member, and finds the files of its package.
func TestScriptGetsItsInput(t *testing.T) {
	t.Parallel()
	const text = `
import os, pickle, sys
import beside
v = pickle.load(sys.stdin.buffer)
print(sorted(v), v["n"] + 1, v["é"], v["flag"] is True, v["big"], v["none"], v["list"])
print(sys.argv == [__file__], __name__, sys.path[0] == os.path.dirname(__file__), os.path.basename(__file__), beside.word)
print(open(os.path.join(os.path.dirname(__file__), "..", "Files", "data.txt")).read(), open("Files/data.txt").read(), os.path.exists("Files/image"))
os._exit(0)
`
	both(t, func(t *testing.T, r *script.Runner) {
		t.Helper()
		require.NoError(t, r.Start(t.Context(), "k", fstest.MapFS{
			"Scripts/x.py": {
				Data: []byte(text),
			}, "Scripts/beside.py": {Data: []byte("word = 'found'")}, "Files/data.txt": {Data: []byte("data")},
			"Files/image": {Data: make([]byte, 16<<20+1)},
		}, "./Scripts/x.py",
			map[string]any{"é": "ü", "n": 1, "flag": true, "big": 1<<60 + 1, "none": nil, "list": []string{"a"}},
			limit))
		lines, err := outcome(t, r, "k")
		require.NoError(t, err)
		require.Equal(t, []string{
			"['big', 'flag', 'list', 'n', 'none', 'é'] 2 ü True 1152921504606846977 None ['a']",
			"True __main__ True x.py found", "data data False",
		}, lines)
	})
}
