package script

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// The sandboxes.
const (
	Bwrap = "bwrap" // bubblewrap: a script sees its package and the interpreter
	None  = "none"  // no confinement: a script has all rights of the user that it runs as
)

// The networks of sandboxed scripts.
const (
	NetworkNone = "none" // a network of its own, in which nothing answers
	NetworkHost = "host" // the node's network, with its localhost
)

// Options of a Runner.
type Options struct {
	// Python is the path or name of the interpreter, 3.8 or newer.
	Python string
	// Sandbox is Bwrap or None.
	Sandbox string
	// Network is NetworkNone or NetworkHost. A script without a sandbox has the node's network in any case.
	Network string
	// Playbook is the path or name of ansible-playbook, which has to be where scripts see it; "" = playbooks are not
	// run.
	Playbook string
	// Dir is the directory in which packages are unpacked; "" = the system's directory for temporary files.
	Dir string
	// Abandon is the time after which a run that is not polled is killed and removed; default 2 minutes.
	Abandon time.Duration
	Log     *slog.Logger
}

// Runner runs scripts. It is safe for concurrent use.
type Runner struct {
	opts   Options
	python interpreter
	bwrap  sandbox
	// playbook is the path of ansible-playbook; "" = playbooks are not run.
	playbook string
	groups   *groups // nil if no control group is delegated to this process

	mu     sync.Mutex
	closed bool
	runs   map[string]*run
	wg     sync.WaitGroup
}

//go:embed start.py probe.py library
var ownScripts embed.FS

// probeTime limits the check of the interpreter in New.
const probeTime = 30 * time.Second

// New checks the interpreter and the sandbox, and runs its own script in them. The error says which of them cannot be
// used. The caller must Close the Runner.
func New(ctx context.Context, opts Options) (*Runner, error) {
	if opts.Abandon <= 0 {
		opts.Abandon = 2 * time.Minute
	}
	r := &Runner{opts: opts, runs: map[string]*run{}}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var err error
	if r.python, err = inspectInterpreter(ctx, opts.Python); err != nil {
		return nil, fmt.Errorf("scripts.python: %w", err)
	}
	if opts.Sandbox == Bwrap {
		if r.bwrap, err = findSandbox(ctx); err != nil {
			return nil, fmt.Errorf("scripts.sandbox: %w", err)
		}
	}
	if err = r.findPlaybook(); err != nil {
		return nil, err
	}
	r.sweep(ctx)
	r.findLimits(ctx)
	if err := r.probe(ctx); err != nil {
		r.Close()
		return nil, fmt.Errorf(
			"scripts.python: %s cannot run a script (scripts.sandbox: %s, %s): %w",
			r.python.path,
			opts.Sandbox,
			describeScriptUser(),
			err,
		)
	}
	return r, nil
}

// findLimits looks for a control group, and logs which limits scripts have.
func (r *Runner) findLimits(ctx context.Context) {
	groups, err := findGroups()
	if err != nil {
		r.opts.Log.WarnContext(ctx, "scripts of packages have limits for each process, and none as a whole",
			"network", r.network(), "sandbox", r.opts.Sandbox, "reason", err)
		return
	}
	r.groups = groups
	log := r.opts.Log.With(
		"network", r.network(), "sandbox", r.opts.Sandbox, "group", groups.dir, "limited", groups.controllers,
	)
	if missing := groups.missing(); len(missing) > 0 {
		log.WarnContext(
			ctx, "scripts of packages have some limits for all their processes together; others are for each process",
			"not_limited", missing,
		)
		return
	}
	log.InfoContext(ctx, "scripts of packages have limits for all their processes together")
}

// network returns the network that scripts have.
func (r *Runner) network() string {
	if r.opts.Sandbox != Bwrap || r.opts.Network == NetworkHost {
		return NetworkHost
	}
	return NetworkNone
}

// probe runs our own script like a script of a package.
func (r *Runner) probe(ctx context.Context) error {
	const key = "probe"
	if err := r.Start(ctx, key, ownScripts, "probe.py", map[string]any{"ready": true}, probeTime); err != nil {
		return err
	}
	defer r.Stop(key)
	if _, over, err := r.Follow(ctx, key, probeTime, func(string) {}); over {
		return err
	}
	return context.Cause(ctx)
}

// Local returns the path of a script within its package in the form of io/fs; requests may also contain
// ./Scripts/x.py. "" means that the path is outside the package.
func Local(p string) string {
	if clean := path.Clean(p); fs.ValidPath(clean) && clean != "." {
		return clean
	}
	return ""
}

// Start starts a script that returns no value: Kind is Plain. See StartJob.
func (r *Runner) Start(
	ctx context.Context,
	key string,
	pkg fs.FS,
	script string,
	input any,
	timeout time.Duration,
) error {
	return r.StartJob(ctx, key, Job{Package: pkg, Script: script, Input: input, Timeout: timeout})
}

// StartJob unpacks the package, starts a run in the background under an unused key, and returns. The run continues
// after ctx ends, for at most Job.Timeout.
//
// The errors are *lcm.Error: CodeUnprocessable if the script does not exist, a transient one if this node cannot start
// it now.
func (r *Runner) StartJob(ctx context.Context, key string, j Job) error {
	name := Local(j.Script)
	info, err := fs.Stat(j.Package, name)
	if name == "" || err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return lcm.Errorf(lcm.CodeUnprocessable, "the package has no script %s", j.Script)
	}
	if j.Kind == Playbook {
		if err := r.CanPlay(); err != nil {
			return err
		}
	}
	if j.Program != "" {
		if err := r.CanRun(j.Package, name); err != nil {
			return err
		}
	}
	dir, err := unpack(ctx, r.opts.Dir, j.Package)
	if err != nil {
		return err
	}
	t, err := r.task(dir, name, j)
	if err == nil {
		err = r.startRun(ctx, key, dir, name, t, j)
	}
	if err != nil {
		dir.remove(r.opts.Log)
		return err
	}
	return nil
}

var errStopped = errors.New("the script was stopped")

// startRun registers a run and starts its goroutine.
func (r *Runner) startRun(
	ctx context.Context,
	key string,
	dir *workdir,
	name string,
	t task,
	j Job,
) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.runs[key]; ok || r.closed {
		cancel(nil)
		return lcm.Errorf(lcm.CodeUnavailable,
			"the script %s cannot be started: the node is stopping, or another run is not over", name).
			AsTransient()
	}
	n := &run{
		script:  name,
		started: time.Now(),
		timeout: j.Timeout,
		cancel:  cancel,
		out:     newOutput(append(secretsOf(t.input), j.Secrets...)),
		done:    make(chan struct{}),
	}
	if t.Returns {
		n.returns = &returned{}
	}
	n.abandon = time.AfterFunc(r.opts.Abandon, func() {
		if !n.isOver() {
			r.opts.Log.WarnContext(ctx, "killing a script that is no longer polled", "script", name, "key", key)
		}
		r.dropRun(key, n)
	})
	r.runs[key] = n
	r.wg.Go(func() {
		defer close(n.done)
		defer cancel(nil)
		defer dir.remove(r.opts.Log)
		n.err = r.runInGroup(ctx, n, dir, t)
	})
	return nil
}

// runInGroup runs a script to its end, in a control group if there are any.
func (r *Runner) runInGroup(ctx context.Context, n *run, dir *workdir, t task) error {
	var in group
	if r.groups != nil {
		var err error
		if in, err = r.groups.create(); err != nil {
			return n.startError(fmt.Errorf("create a control group: %w", err))
		}
	}
	defer func() {
		if err := in.remove(); err != nil {
			r.opts.Log.WarnContext(ctx, "cannot remove the control group of a script", "group", in.dir, "error", err)
		}
	}()
	return n.execute(ctx, r.command(dir, t, in))
}

// touchRun returns a run and restarts its Abandon timer.
func (r *Runner) touchRun(key string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.runs[key]
	if n != nil {
		n.abandon.Reset(r.opts.Abandon)
	}
	return n
}

// dropRun kills a run and removes it.
func (r *Runner) dropRun(key string, n *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.abandon.Stop()
	n.cancel(errStopped)
	if r.runs[key] == n {
		delete(r.runs, key)
	}
}

// Follow passes the lines that the script has written since the last call to line, masked and without line ends. It
// returns when the run is over, when ctx ends, or after wait, at most half of Options.Abandon.
//
// known is false if this process has no run with the key, or no longer. err is the outcome of a run that is over: nil
// if the script has succeeded, otherwise an *lcm.Error of CodeUpstream or CodeTimeout with the script's last output.
// The outcome stays available until Stop, or until the run has not been polled for Options.Abandon.
func (r *Runner) Follow(
	ctx context.Context,
	key string,
	wait time.Duration,
	line func(string),
) (known, over bool, err error) {
	n := r.touchRun(key)
	if n == nil {
		return false, false, nil
	}
	t := time.NewTimer(min(wait, r.opts.Abandon/2)) // get has restarted the Abandon timer
	defer t.Stop()
	for {
		select {
		case <-n.done:
			n.out.takeLines(line)
			return !errors.Is(n.err, errStopped), true, n.err
		case <-n.out.newLines:
			n.out.takeLines(line)
		case <-t.C:
			return true, false, nil
		case <-ctx.Done():
			return true, false, nil
		}
	}
}

// LastLine returns the newest line that the run with the key has written, masked, also if Follow has passed it before.
// It is "" if this process has no such run, or if the run has written nothing. It counts as polling.
func (r *Runner) LastLine(key string) string {
	n := r.touchRun(key)
	if n == nil {
		return ""
	}
	return n.out.lastLine()
}

// Running returns the name of the script that runs under a key with this prefix, "" if none runs. It counts as polling.
func (r *Runner) Running(prefix string) string {
	for _, key := range r.keysWithPrefix(prefix) {
		if n := r.touchRun(key); n != nil && !n.isOver() {
			return fmt.Sprintf("%s, for %s", n.script, time.Since(n.started).Round(time.Second))
		}
	}
	return ""
}

// Stop kills the runs whose keys have this prefix, waits for their end, and removes them.
func (r *Runner) Stop(prefix string) {
	for _, key := range r.keysWithPrefix(prefix) {
		if n := r.touchRun(key); n != nil {
			r.dropRun(key, n)
			<-n.done
		}
	}
}

func (r *Runner) keysWithPrefix(prefix string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for key := range r.runs {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	return out
}

// Close kills all runs and waits for their end.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.Stop("")
	r.wg.Wait() // runs that were dropped, too
}
