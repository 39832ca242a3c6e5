package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The limits of a script and its child processes, by the names of setrlimit: size of one file, memory of one process,
// and in a sandbox the number of processes and threads. Without a sandbox the processes of other programs would be
// counted, too. Core dumps are off.
const (
	limitFile      = 256 << 20
	limitMemory    = 2 << 30
	limitProcesses = 512
)

// outputGrace is the time to wait for the last output of a script that has ended: a process that has left the process
// group can keep it open.
const outputGrace = 5 * time.Second

// task is the input of start.py.
type task struct {
	Package string         `json:"package"`
	Script  string         `json:"script"`
	Limits  map[string]int `json:"limits"`
	Input   any            `json:"input"`
	Library string         `json:"library"`
	Kind    Kind           `json:"kind"`
	Program Program        `json:"program"`
	Returns bool           `json:"returns"`
	Class   string         `json:"class,omitempty"`
	Method  string         `json:"method,omitempty"`
	// Playbook is the path of ansible-playbook.
	Playbook string `json:"playbook,omitempty"`

	input any // Input after encoding and decoding, as the script sees it
	raw   []byte
}

// task returns the input of start.py for one run.
func (r *Runner) task(dir *workdir, name string, j Job) (task, error) {
	t := task{
		Package:  dir.path(packageDir),
		Library:  dir.path(libraryDir),
		Script:   name,
		Input:    j.Input,
		Kind:     j.Kind,
		Program:  j.Program,
		Returns:  j.Kind != Plain || j.Program != "",
		Class:    j.Class,
		Method:   j.Method,
		Playbook: r.playbook,
		Limits:   map[string]int{"CORE": 0, "FSIZE": limitFile, "AS": limitMemory},
	}
	if r.opts.Sandbox == Bwrap {
		t.Package, t.Library, t.Limits["NPROC"] = sandboxPackage, sandboxLibrary, limitProcesses
	}
	var err error
	if t.raw, err = json.Marshal(t); err != nil {
		return t, fmt.Errorf("encode the input of a script: %w", err)
	}
	var back task
	dec := json.NewDecoder(bytes.NewReader(t.raw))
	dec.UseNumber()
	if err := dec.Decode(&back); err != nil {
		return t, fmt.Errorf("decode the input of a script: %w", err)
	}
	t.input = back.Input
	return t, nil
}

// command returns the command of a run: with an empty environment, as an ordinary user.
func (r *Runner) command(dir *workdir, t task, in group) func(context.Context) *exec.Cmd {
	home, starter := dir.path(homeDir), dir.path(starterFile)
	var argv []string
	if r.opts.Sandbox == Bwrap {
		home, starter = "/tmp", sandboxStarter
		argv = r.bwrap.argv(r.python, dir, r.network())
	}
	// -I: only the standard paths; -u: no buffering of output; -B: no files beside the modules.
	argv = append(argv, r.python.path, "-I", "-u", "-B", starter)
	return func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the operator's interpreter, our own arguments
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=" + r.python.searchPath(), "LANG=C.UTF-8", "HOME=" + home, "TMPDIR=" + home}
		cmd.Stdin = bytes.NewReader(t.raw)
		cmd.SysProcAttr = attributes()
		in.join(cmd.SysProcAttr)
		cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
		cmd.WaitDelay = outputGrace
		return cmd
	}
}

// run is a script that runs or has ended.
type run struct {
	script  string
	started time.Time
	timeout time.Duration
	cancel  context.CancelCauseFunc
	abandon *time.Timer
	out     *output
	returns *returned // nil for a script that returns no value

	done chan struct{}
	err  error // valid when done is closed
}

func (n *run) isOver() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

// execute runs the process and its child processes to their end.
func (n *run) execute(ctx context.Context, command func(context.Context) *exec.Cmd) error {
	// A child dies with the thread that started it (PR_SET_PDEATHSIG), so this thread must live until the end.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithTimeoutCause(ctx, n.timeout, context.DeadlineExceeded)
	defer cancel()
	cmd := command(ctx)
	read := make(chan struct{}, 3)
	var ends []*os.File
	pipe := func(into io.Writer) (*os.File, error) {
		from, to, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ends = append(ends, from)
		go func() {
			_, _ = io.Copy(into, from) // until all writers have ended, or the deadline
			_ = from.Close()
			read <- struct{}{}
		}()
		return to, nil
	}
	stdout, err := pipe(n.out.stdout)
	if err != nil {
		return n.startError(err)
	}
	stderr, err := pipe(n.out.stderr)
	if err != nil {
		_ = stdout.Close()
		<-read
		return n.startError(err)
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	own := []*os.File{stdout, stderr}
	if n.returns != nil {
		result, err := pipe(n.returns)
		if err != nil {
			_, _ = stdout.Close(), stderr.Close()
			<-read
			<-read
			return n.startError(err)
		}
		cmd.ExtraFiles = []*os.File{result}
		own = append(own, result)
	}
	started := cmd.Start()
	for _, f := range own { // the child has its own
		_ = f.Close()
	}
	if started == nil {
		err = cmd.Wait()
		_ = killGroup(cmd.Process.Pid) // remaining child processes; usually none
	}
	for _, e := range ends {
		_ = e.SetReadDeadline(time.Now().Add(outputGrace)) // pipes support deadlines
	}
	for range ends {
		<-read
	}
	n.out.flush()
	switch cause := context.Cause(ctx); {
	case started != nil:
		return n.startError(started)
	case err == nil:
		return n.resultError()
	case errors.Is(cause, errStopped):
		return errStopped
	case cause != nil:
		return n.timeoutError()
	}
	return n.exitError(err)
}

func (n *run) startError(err error) error {
	return lcm.Errorf(lcm.CodeUnavailable, "the script %s cannot be started: %w", n.script, err).AsTransient()
}

func (n *run) timeoutError() error {
	return lcm.Errorf(
		lcm.CodeTimeout,
		"%s",
		n.withOutput(fmt.Sprintf("the script %s has not ended within %s", n.script, n.timeout)),
	)
}

// missingModule matches the error of a failed import.
var missingModule = regexp.MustCompile(`ModuleNotFoundError: No module named '([^']+)'`)

// notProvided matches the error of an import of a module of Tacker that the library does not have.
var notProvided = regexp.MustCompile(`the script imports (tacker\.[\w.]+), which is not available here`)

// exitError explains an exit status that is not 0, or a signal.
func (n *run) exitError(err error) error {
	how := err.Error()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		how = exit.ProcessState.String()
	}
	e := lcm.Errorf(lcm.CodeUpstream, "%s", n.withOutput(fmt.Sprintf("the script %s ended with %s", n.script, how)))
	if m := notProvided.FindStringSubmatch(n.out.lastOutput()); m != nil {
		return e.WithHint(
			fmt.Sprintf("change the script so that it does without %s, or uses a module that is there", m[1]),
		)
	}
	if m := missingModule.FindStringSubmatch(n.out.lastOutput()); m != nil {
		return e.WithHint(
			fmt.Sprintf(
				"the interpreter of scripts.python lacks the module %s: install it there, then retry the operation",
				m[1],
			),
		)
	}
	return e
}

func (n *run) withOutput(text string) string {
	return strings.TrimSuffix(text+": "+n.out.lastOutput(), ": ")
}
