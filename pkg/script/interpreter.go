package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// interpreter describes a Python interpreter.
type interpreter struct {
	path string
	// dirs are the directories of the interpreter and its modules, with those of the base of a virtual environment.
	dirs []string
}

// describeProgram is a program that prints version, path and directories of its interpreter.
const describeProgram = `import json, sys
print(json.dumps([list(sys.version_info[:2]), sys.executable, [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]]))`

// inspectInterpreter finds an interpreter and runs it to describe it.
func inspectInterpreter(ctx context.Context, name string) (interpreter, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return interpreter{}, fmt.Errorf("interpreter %s not found: %w", name, err)
	}
	cmd := exec.CommandContext(ctx, path, "-I", "-c", describeProgram) //nolint:gosec // the operator's choice
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return interpreter{}, fmt.Errorf("%s does not run: %w: %s", path, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var version []int
	var i interpreter
	if err := json.Unmarshal(out, &[]any{&version, &i.path, &i.dirs}); err != nil || len(version) != 2 {
		return interpreter{}, fmt.Errorf("%s is not Python: %q", path, out)
	}
	if slices.Compare(version, []int{3, 8}) < 0 {
		return interpreter{}, fmt.Errorf("%s is Python %d.%d; 3.8 or newer is required", path, version[0], version[1])
	}
	slices.Sort(i.dirs)
	i.dirs = slices.Compact(i.dirs)
	if !filepath.IsAbs(i.path) || slices.Contains(i.dirs, "/") ||
		slices.ContainsFunc(i.dirs, func(d string) bool { return !filepath.IsAbs(d) }) {
		return interpreter{}, errors.New(path + " does not report where it is installed")
	}
	return i, nil
}

// searchPath returns PATH for scripts.
func (i interpreter) searchPath() string {
	const usual = "/usr/local/bin:/usr/bin:/bin"
	dir := filepath.Dir(i.path)
	if slices.Contains(strings.Split(usual, ":"), dir) {
		return usual
	}
	return dir + ":" + usual
}
