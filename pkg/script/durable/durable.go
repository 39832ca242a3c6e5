// Package durable runs a script of a package as a step of an operation, at least once: the next node runs it again
// after the death of a node, because only the script knows how far it got. The step's checkpoint says which node runs
// it, so that no other one does at the same time.
package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/script"
)

// Runner runs scripts of packages in the background of this process (*script.Runner). The errors are *lcm.Error and
// carry no secrets.
type Runner interface {
	// StartJob begins a run under a key that no run has. It goes on after ctx ends, and ends with the process or when
	// no tick has asked about it for abandonedAfter.
	StartJob(ctx context.Context, key string, j script.Job) error
	// CanRun says with a CodeUnprocessable error why a file of a package cannot be run as a program (script.Program).
	CanRun(pkg fs.FS, name string) error
	// Follow hands over the lines written since the last call, and waits for the end of the run or for a time. known is
	// false when this process has no such run; err is the outcome of one that is over.
	Follow(ctx context.Context, key string, wait time.Duration, line func(string)) (known, over bool, err error)
	// Result returns the JSON value that a run has returned; nil while it runs and after a failure.
	Result(key string) json.RawMessage
	// LastLine returns the newest line that the run has written, also if Follow has handed it over before; "" if there
	// is no such line.
	LastLine(key string) string
	// Running names a script that runs under a key with this beginning; "" when none does.
	Running(prefix string) string
	// Stop kills the runs whose keys have this beginning, waits for their end and forgets them.
	Stop(prefix string)
}

// Host is a process that runs scripts.
type Host struct {
	Scripts Runner // nil = scripts are not run
	// Process names this process, and no other one, also of the same node.
	Process string
	// NodeAlive tells whether another node of this VNFM runs; may be nil.
	NodeAlive func(ctx context.Context, node string) bool
}

// Run is a script for one step.
type Run struct {
	// Name says in words what runs, Script is its path.
	Name, Script string
	// Key is unique among the scripts of the operation.
	Key string
	// Job makes the script's input when it is started.
	Job func(ctx context.Context) (script.Job, error)
	// Failed explains the failure of a run; nil = as it is.
	Failed func(err error) error
}

// beatLimit is how long the node that runs a script may be silent before it counts as dead.
const beatLimit = time.Minute

// abandonedAfter is how long a run goes on that no tick follows. Another node leaves a run alone for longer than this.
const abandonedAfter = 2 * time.Minute

// state is the checkpoint of a step. It is durable before the script begins.
type state struct {
	// Node and Process say who runs the script, Beat when it last said so.
	Node    string    `json:"node"`
	Process string    `json:"process"`
	Beat    time.Time `json:"beat"`
	// Try is the operation's try in which it began, Starts how often it has been started.
	Try    int `json:"try"`
	Starts int `json:"starts"`
	// Over says that the run has ended, and that its outcome has been reported.
	Over bool `json:"over,omitempty"`
}

// The time that a tick stays with a script, which is longer the longer the script runs.
const (
	lookMin = 200 * time.Millisecond
	lookMax = 5 * time.Second
)

// Prefix is the beginning of the keys of all scripts of an operation.
func Prefix(op *lcm.Operation) string { return op.ID + "/" }

// step is one look at a script.
type step struct {
	Host
	run Run
	w   *lcm.Execution
	s   *lcm.Step
	cp  state
	key string
}

// Do is one look at the script of a step, and what follows from it. It returns the value that the script has returned
// when it has succeeded, and a wait while it runs.
func (h Host) Do(ctx context.Context, w *lcm.Execution, s *lcm.Step, r Run) (json.RawMessage, error) {
	if h.Scripts == nil {
		return nil, lcm.Errorf(lcm.CodeUnprocessable,
			"the %s cannot be run: this node runs no scripts of packages", r.Name).
			WithHint(
				"all nodes need the same setting scripts.python; set it, then retry the operation, or roll it back",
			)
	}
	c := step{Host: h, run: r, w: w, s: s, key: fmt.Sprintf("%s%d/%s", Prefix(w.Op), w.Op.Run, r.Key)}
	if _, err := s.Load(&c.cp); err != nil {
		return nil, fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if known, value, err := c.follow(ctx); known {
		return value, err
	}
	if !c.cp.Over && c.cp.Node != "" && c.runsElsewhere(ctx) {
		return nil, lcm.Wait(3*time.Second, fmt.Sprintf("node %s runs the %s", c.cp.Node, r.Name))
	}
	return c.start(ctx)
}

// Halt ends the operation's scripts on this node, or waits for them. One on another node ends when no tick follows it
// any more.
func (h Host) Halt(op *lcm.Operation, forceful bool) error {
	if h.Scripts == nil {
		return nil
	}
	if forceful {
		h.Scripts.Stop(Prefix(op))
	} else if name := h.Scripts.Running(Prefix(op)); name != "" {
		return lcm.Wait(time.Second, "a script of the package is still running: "+name)
	}
	return nil
}

// runsElsewhere says whether another node may still be running the script.
func (c *step) runsElsewhere(ctx context.Context) bool {
	if c.cp.Node == c.w.Op.Node { // this node before it was restarted, or it has stopped the script
		return false
	}
	if c.NodeAlive != nil && !c.NodeAlive(ctx, c.cp.Node) {
		return false
	}
	return c.w.Clock.Now().Sub(c.cp.Beat) < abandonedAfter+beatLimit
}

// start begins the script, even if it has run before: the script must cope with that.
func (c *step) start(ctx context.Context) (json.RawMessage, error) {
	job, err := c.run.Job(ctx)
	if err != nil {
		return nil, err
	}
	op, now := c.w.Op, c.w.Clock.Now()
	if end := op.Deadline; !end.IsZero() { // the operation does not wait for longer
		job.Timeout = max(min(job.Timeout, end.Sub(now)), time.Second)
	}
	c.cp = state{Node: op.Node, Process: c.Process, Beat: now, Try: op.Try, Starts: c.cp.Starts + 1}
	if err := c.s.Save(ctx, c.cp); err != nil {
		return nil, err
	}
	if c.cp.Starts > 1 {
		c.s.Logf(ctx, fmt.Sprintf("the %s is started again", c.run.Name))
	}
	c.Scripts.Stop(Prefix(op)) // of an earlier try or run, which is not followed any more
	if err := c.Scripts.StartJob(ctx, c.key, job); err != nil {
		return nil, err
	}
	if err := c.s.Tell(ctx, c.run.Name); err != nil {
		if errors.Is(err, lcm.ErrFenced) { // cancelled between the checkpoint and the start
			c.Scripts.Stop(c.key)
		}
		return nil, err
	}
	if known, value, err := c.follow(ctx); known {
		return value, err
	}
	return nil, lcm.Wait(lookMax, c.run.Name+" was stopped")
}

// follow stays with a script of this process for a while. known is false when this process does not run it.
func (c *step) follow(ctx context.Context) (known bool, value json.RawMessage, err error) {
	if c.cp.Over || c.cp.Process != c.Process {
		return false, nil, nil
	}
	wait := min(max(c.w.Clock.Now().Sub(c.s.Started()), lookMin), lookMax)
	known, over, err := c.Scripts.Follow(ctx, c.key, wait, func(line string) { c.s.Logf(ctx, line) })
	if !known {
		return false, nil, nil
	}

	last := c.Scripts.LastLine(c.key) // an earlier call may have read it
	if !over {
		return true, nil, c.running(ctx, last)
	}
	if err == nil {
		c.s.Detail(strings.TrimSuffix(c.run.Name+" has succeeded: "+shortened(last), ": "))
		return true, c.Scripts.Result(c.key), nil
	}
	if c.cp.Try != c.w.Op.Try { // its outcome was not reported; the user has asked for another try
		return false, nil, nil
	}
	c.cp.Over = true
	if err := c.s.Save(ctx, c.cp); err != nil {
		return true, nil, err
	}
	value = c.Scripts.Result(c.key)
	c.Scripts.Stop(c.key)
	if c.run.Failed != nil {
		err = c.run.Failed(err)
	}
	return true, value, err
}

// running says that the script is still running.
func (c *step) running(ctx context.Context, last string) error {
	if now := c.w.Clock.Now(); now.Sub(c.cp.Beat) > beatLimit/4 {
		c.cp.Beat = now
		if err := c.s.Save(ctx, c.cp); err != nil {
			return err
		}
	}
	why := c.run.Name
	if last != "" {
		why += ": " + shortened(last)
	}
	return lcm.Wait(lookMin/2, why)
}

// shortened is a line as it fits beside others.
func shortened(line string) string {
	const most = 200
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}
