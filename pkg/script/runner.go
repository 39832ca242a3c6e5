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
	Bwrap = "bwrap" // bubblewrap: a script sees its package, the interpreter and the network
	None  = "none"  // no confinement: a script can do what the user that it runs as can do
)

// Options of a Runner.
type Options struct {
	// Python is the path or name of the interpreter, 3.8 or newer.
	Python string
	// Sandbox is Bwrap or None.
	Sandbox string
	// Dir is where packages are unpacked; "" = the system's directory for temporary files.
	Dir string
	// Abandon is how long nobody may ask about a run before it is killed and forgotten; default 2 minutes.
	Abandon time.Duration
	Log     *slog.Logger
}

// Runner runs scripts. It is safe for concurrent use.
type Runner struct {
	opts   Options
	python interpreter
	bwrap  sandbox

	mu     sync.Mutex
	closed bool
	runs   map[string]*run
	wg     sync.WaitGroup
}

//go:embed start.py probe.py
var own embed.FS

// probeTime bounds the look at the interpreter, and the script by which New tries it.
const probeTime = 30 * time.Second

// New looks at the interpreter and the sandbox, and runs a script of its own in them: the error says what is not usable. The caller must Close
// the Runner.
func New(ctx context.Context, opts Options) (*Runner, error) {
	if opts.Abandon <= 0 {
		opts.Abandon = 2 * time.Minute
	}
	r := &Runner{opts: opts, runs: map[string]*run{}}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var err error
	if r.python, err = look(ctx, opts.Python); err != nil {
		return nil, fmt.Errorf("scripts.python: %w", err)
	}
	if opts.Sandbox == Bwrap {
		if r.bwrap, err = findSandbox(ctx); err != nil {
			return nil, fmt.Errorf("scripts.sandbox: %w", err)
		}
	}
	r.sweep(ctx)
	if err := r.probe(ctx); err != nil {
		r.Close()
		return nil, fmt.Errorf("scripts.python: %s cannot run a script (scripts.sandbox: %s, %s): %w", r.python.path, opts.Sandbox, asWhom(), err)
	}
	return r, nil
}

// probe runs our own script as any other.
func (r *Runner) probe(ctx context.Context) error {
	const key = "probe"
	if err := r.Start(ctx, key, own, "probe.py", map[string]any{"ready": true}, probeTime); err != nil {
		return err
	}
	defer r.Stop(key)
	if _, over, err := r.Follow(ctx, key, probeTime, func(string) {}); over {
		return err
	}
	return context.Cause(ctx)
}

// Local is the path of a script within its package, as io/fs wants it: requests write ./Scripts/x.py as well. "" means that the path does not
// stay in the package.
func Local(p string) string {
	if clean := path.Clean(p); fs.ValidPath(clean) && clean != "." {
		return clean
	}
	return ""
}

// Start begins a run in the background, under a key that no run has. It unpacks the package and returns; the run goes on after ctx ends, for at
// most timeout. input is whatever encoding/json can write; the script finds a pickle of it on standard input.
//
// The errors are *lcm.Error: CodeUnprocessable when there is no such script, a transient one when this node cannot start it now.
func (r *Runner) Start(ctx context.Context, key string, pkg fs.FS, script string, input any, timeout time.Duration) error {
	name := Local(script)
	if info, err := fs.Stat(pkg, name); name == "" || err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return lcm.Errorf(lcm.CodeUnprocessable, "the package has no script %s", script)
	}
	dir, err := unpack(ctx, r.opts.Dir, pkg)
	if err != nil {
		return err
	}
	t, err := r.task(dir, name, input)
	if err == nil {
		err = r.begin(ctx, key, dir, name, t, timeout)
	}
	if err != nil {
		dir.remove(r.opts.Log)
		return err
	}
	return nil
}

var errStopped = errors.New("the script was stopped")

// begin starts the goroutine of a run.
func (r *Runner) begin(ctx context.Context, key string, dir *workdir, name string, t task, timeout time.Duration) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.runs[key]; ok || r.closed {
		cancel(nil)
		return lcm.Errorf(lcm.CodeUnavailable, "the script %s cannot be started: the node is stopping, or another run is not over", name).AsTransient()
	}
	n := &run{script: name, started: time.Now(), timeout: timeout, cancel: cancel, out: newOutput(secretsOf(t.input)), done: make(chan struct{})}
	n.abandon = time.AfterFunc(r.opts.Abandon, func() {
		if !n.over() {
			r.opts.Log.WarnContext(ctx, "a script is killed that nobody asks about any more", "script", name, "key", key)
		}
		r.drop(key, n)
	})
	r.runs[key] = n
	r.wg.Go(func() {
		defer close(n.done)
		defer cancel(nil)
		defer dir.remove(r.opts.Log)
		n.err = n.execute(ctx, r.command(dir, t))
	})
	return nil
}

// get finds a run, which somebody has now asked about.
func (r *Runner) get(key string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.runs[key]
	if n != nil {
		n.abandon.Reset(r.opts.Abandon)
	}
	return n
}

// drop kills a run and forgets it.
func (r *Runner) drop(key string, n *run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.abandon.Stop()
	n.cancel(errStopped)
	if r.runs[key] == n {
		delete(r.runs, key)
	}
}

// Follow hands over the lines that the script has written since the last call, masked and without line ends, and waits until the run is over,
// or for a time, at most half of Options.Abandon, or until ctx ends. known is false when this process has no such run, or no longer. err is the outcome of a run that is over:
// nil when the script has succeeded, otherwise an *lcm.Error of CodeUpstream or CodeTimeout with the script's words. The outcome can be asked
// for again, until Stop or until nobody has asked for a while.
func (r *Runner) Follow(ctx context.Context, key string, wait time.Duration, line func(string)) (known, over bool, err error) {
	n := r.get(key)
	if n == nil {
		return false, false, nil
	}
	t := time.NewTimer(min(wait, r.opts.Abandon/2)) // who waits here has asked
	defer t.Stop()
	for {
		select {
		case <-n.done:
			n.out.take(line)
			return !errors.Is(n.err, errStopped), true, n.err
		case <-n.out.more:
			n.out.take(line)
		case <-t.C:
			return true, false, nil
		case <-ctx.Done():
			return true, false, nil
		}
	}
}

// Running names the script that runs under a key with this beginning, "" when none does. It counts as asking.
func (r *Runner) Running(prefix string) string {
	for _, key := range r.under(prefix) {
		if n := r.get(key); n != nil && !n.over() {
			return fmt.Sprintf("%s, for %s", n.script, time.Since(n.started).Round(time.Second))
		}
	}
	return ""
}

// Stop kills the runs whose keys have this beginning, waits for their end, and forgets them.
func (r *Runner) Stop(prefix string) {
	for _, key := range r.under(prefix) {
		if n := r.get(key); n != nil {
			r.drop(key, n)
			<-n.done
		}
	}
}

func (r *Runner) under(prefix string) []string {
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
	r.wg.Wait() // those that nobody asked about, too
}
