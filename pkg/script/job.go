package script

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// Kind says how a script is run.
type Kind string

// The kinds of scripts.
const (
	// Plain is `python3 <package>/<script>` with a pickle of the input on standard input. It returns no value.
	Plain Kind = ""
	// UserData is a user-data class for OpenStack: a static method of it is called with members of the input, and
	// returns a dict. The input has request, vnf_instance, grant_request, grant_response, vnfd_id, and yaml, which has
	// the contents of the package's YAML files by path.
	UserData Kind = "userdata"
	// Mgmt is Plain with a value: the pickle of a dict that the script writes to standard output, also if it fails. The
	// input is an object; its member tmp_csar_dir, the folder of the package, is added. A script that writes no pickle
	// has returned an empty dict.
	Mgmt Kind = "mgmt"
)

// Program says by its kind that a script is not run as Python, but as a program in any language: with the input as a
// JSON object on standard input, and the value that it returns as one on standard output. version, kind and
// tmp_csar_dir, the folder of the package, are added to the input. docs/package-scripts.md describes both.
type Program string

// The kinds of programs.
const (
	UserDataProgram     Program = "user-data"
	MgmtProgram         Program = "mgmt-driver"
	CoordinationProgram Program = "coordination"
)

// Job is a script of a package that is to be run.
type Job struct {
	Package fs.FS
	// Script is the path of the script in the package.
	Script string
	// Kind says how a Python script is run; Program, if it is not empty, how another one is.
	Kind    Kind
	Program Program
	// Class and Method name the static method of a UserData.
	Class, Method string
	// Input is any value that encoding/json can write.
	Input any
	// Secrets are hidden in the output, besides the texts of Input whose names show that they are secret.
	Secrets []string
	// Timeout limits the run.
	Timeout time.Duration
}

// MaxResult limits the value that a script returns, as JSON, in bytes.
const MaxResult = 8 << 20

// returned collects the value that a script returns.
type returned struct {
	raw   []byte
	large bool
}

// Write implements io.Writer. It never fails: what exceeds the limit is dropped, so that the script ends by itself.
func (r *returned) Write(p []byte) (int, error) {
	if r.large = r.large || len(r.raw)+len(p) > MaxResult; r.large {
		r.raw = nil
	} else {
		r.raw = append(r.raw, p...)
	}
	return len(p), nil
}

// resultError is the error of a script that has ended with success but without a value that can be used.
func (n *run) resultError() error {
	switch {
	case n.returns == nil:
		return nil
	case n.returns.large:
		return lcm.Errorf(lcm.CodeUpstream, "%s", n.withOutput(fmt.Sprintf(
			"the script %s has returned a value of more than %d MiB", n.script, MaxResult>>20,
		)))
	case !json.Valid(n.returns.raw):
		return lcm.Errorf(lcm.CodeUpstream, "%s", n.withOutput(fmt.Sprintf(
			"the script %s has ended without returning a value", n.script,
		)))
	}
	return nil
}

// Result returns the JSON value that the run with the key has returned; nil while it runs, and for a script that has
// returned none. A script of the kind Mgmt may fail and return a value. It counts as polling.
func (r *Runner) Result(key string) json.RawMessage {
	n := r.touchRun(key)
	if n == nil || n.returns == nil || !n.isOver() || !json.Valid(n.returns.raw) {
		return nil
	}
	return n.returns.raw
}
