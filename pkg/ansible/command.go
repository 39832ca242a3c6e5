package ansible

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/remote"
	"github.com/gybe-nfv/gybe/pkg/sol/redact"
)

// authPatience is how long a machine may refuse a login: cloud-init sets passwords and keys some time after sshd
// answers.
const authPatience = time.Minute

// commandState is the checkpoint of a command.
type commandState struct {
	// Attempt numbers the runs on the machine; each has its own directory there.
	Attempt int `json:"try"`
	// Failures counts those of the present try of the operation.
	Failures int `json:"failures,omitempty"`
	// Offset is the position in the run's log up to which lines are in the step's log.
	Offset int64 `json:"offset,omitempty"`
	// Began is when the run was started; After is when the next one may start.
	Began time.Time `json:"began,omitzero"`
	After time.Time `json:"after,omitzero"`
	// Seen is when the machine last answered.
	Seen time.Time `json:"seen,omitzero"`
	// Ended says that the run has failed, so that another one is started.
	Ended bool `json:"ended,omitempty"`
}

// command runs a command on a machine as a step: detached, so that it goes on when a node dies or the connection is
// lost, and is not started twice.
func (t *task) command(ctx context.Context, r *resolver) error {
	to, ok := r.host(t.item, t.vdu, t.machine, t.all)
	command := r.text(t.item.command)
	if !ok || len(r.bad) > 0 {
		return refused(t.c.file, r.bad)
	}
	t.hide = redact.NewHider(func() []string { return t.secrets(nil, to.credentials) })
	c := &commandRun{task: t, to: to, command: command}
	err := t.w.Step(ctx, t.title, t.vnfc, func(ctx context.Context, s *lcm.Step) error {
		c.s = s
		return c.follow(ctx)
	})
	if err == nil && c.s != nil { // not before the step is done: the files show that the command has run
		c.tidy(ctx)
	}
	return err
}

// commandRun is a command in one tick.
type commandRun struct {
	*task
	s       *lcm.Step
	to      target
	command string
	cp      commandState
}

// prefix begins the names of all runs on the machine.
func (c *commandRun) prefix() string {
	sum := sha256.Sum256([]byte(c.title + "\n" + c.vnfc))
	return fmt.Sprintf("%s-%d-%s-", c.w.Op.ID, c.w.Op.Run, hex.EncodeToString(sum[:6]))
}

// id names the present run on the machine.
func (c *commandRun) id() string { return c.prefix() + strconv.Itoa(c.cp.Attempt) }

// follow starts the command, or finds it on the machine, and follows it to its end.
func (c *commandRun) follow(ctx context.Context) error {
	if _, err := c.s.Load(&c.cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	if c.cp.Attempt == 0 || c.cp.Ended { // a retry of the operation
		if err := c.next(ctx, time.Time{}, 0); err != nil {
			return err
		}
	}
	for {
		if wait := c.cp.After.Sub(c.w.Clock.Now()); wait > 0 {
			return lcm.Wait(wait, "the command failed; it is started again at "+
				c.cp.After.UTC().Format(time.TimeOnly))
		}
		st, err := c.once(ctx)
		switch {
		case err == nil:
			again, err := c.settle(ctx, st)
			if !again {
				return err
			}
			continue
		case ctx.Err() != nil:
			return err
		case errors.Is(err, errTooLong):
			return c.tooLong(ctx)
		}
		if fatal := c.mayWait(err); fatal != nil {
			return fatal
		}
		if why := fmt.Sprintf("waits for SSH on %s: %v", c.to.address, cause(err)); why != c.s.Told() {
			if err := errors.Join(c.s.Waits(ctx, why), c.s.Save(ctx, c.cp)); err != nil {
				return err
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return lcm.Wait(0, c.s.Told())
		}
	}
}

// errTooLong ends the wait for a command.
var errTooLong = errors.New("the command has not ended in its time")

// once follows the command over one connection.
func (c *commandRun) once(ctx context.Context) (remote.Status, error) {
	conn, release, err := c.Driver.connect(ctx, c.w.Instance.ID, c.to)
	if err != nil {
		return remote.Status{}, err
	}
	defer release()
	c.cp.Seen = c.w.Clock.Now()
	short, cancel := context.WithTimeoutCause(ctx, c.o.CommandTimeout, errSlow)
	defer cancel()
	st, err := conn.Status(short, c.id())
	if err == nil && st.State == remote.Absent && c.cp.Offset == 0 {
		c.cp.Began = c.cp.Seen
		if err := c.s.Save(ctx, c.cp); err != nil {
			return st, err
		}
		st, _, err = conn.StartOrAdopt(short, remote.Job{RunID: c.id(), Command: c.command})
	}
	if err != nil {
		return st, slow(ctx, err)
	}
	if st.State == remote.Absent || st.State == remote.Lost {
		return st, nil
	}
	if err := c.s.Tell(ctx, "the command runs on "+c.to.machine.String()); err != nil {
		return st, err
	}
	return c.read(ctx, conn)
}

// errSlow ends a short exchange.
var errSlow = errors.New("the machine did not answer in time")

// slow turns the end of a short exchange into an error of the machine.
func slow(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.Is(err, errSlow) {
		return &remote.Error{Kind: remote.KindTimeout, Op: "run", Err: errSlow}
	}
	return err
}

// read hands the output of the command to the step's log. The offset is saved after the lines before it, so a crash
// repeats lines and loses none.
func (c *commandRun) read(ctx context.Context, conn Connection) (remote.Status, error) {
	left := c.cp.Began.Add(c.limit).Sub(c.w.Clock.Now())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limited, stop := context.WithTimeoutCause(ctx, max(left, time.Millisecond), errTooLong)
	defer stop()
	if c.cp.Offset > maxOutput {
		return c.awaitEnd(limited, conn)
	}

	var mu sync.Mutex
	at := c.cp.Offset
	keep := func(ctx context.Context) error {
		mu.Lock()
		offset := at
		mu.Unlock()
		if err := c.s.Flush(ctx); err != nil || offset == c.cp.Offset {
			return err
		}
		c.cp.Offset, c.cp.Seen = offset, c.w.Clock.Now()
		return c.s.Save(ctx, c.cp)
	}
	var keeper sync.WaitGroup
	over := make(chan struct{})
	keeper.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
			}
			if err := keep(ctx); err != nil { // for example, another node owns the operation now
				cancel(err)
				return
			}
		}
	})
	enough, full := context.WithCancelCause(limited)
	defer full(nil)
	st, err := conn.Follow(enough, c.id(), at, func(line string, next int64) {
		mu.Lock()
		defer mu.Unlock()
		if at > maxOutput {
			return
		}
		if at = next; at > maxOutput {
			line = fmt.Sprintf("(the command writes more than %d KiB; the rest is not shown)", maxOutput>>10)
			full(errFull)
		}
		c.s.Logf(ctx, c.hide.Hide(line))
	})
	close(over)
	keeper.Wait()
	if kept := keep(context.WithoutCancel(ctx)); kept != nil {
		return st, kept
	}
	if errors.Is(err, errFull) {
		return c.awaitEnd(limited, conn)
	}
	return st, err
}

// maxOutput limits the output of one run of a command in the step's log, in bytes, like that of scripts.
const maxOutput = 1 << 20

// errFull ends the reading of a command's output.
var errFull = errors.New("the log has enough output of the command")

// awaitEnd waits for the end of a command whose output is not read any more.
func (c *commandRun) awaitEnd(ctx context.Context, conn Connection) (remote.Status, error) {
	for {
		st, err := conn.Status(ctx, c.id())
		if err == nil && st.State == remote.Running {
			err = pause(ctx, time.Second)
		} else if err == nil {
			return st, nil
		}
		if ctx.Err() != nil {
			return st, context.Cause(ctx)
		}
		if err != nil {
			return st, err
		}
	}
}

// settle acts on the end of a run; it returns true when another run is to begin.
func (c *commandRun) settle(ctx context.Context, st remote.Status) (again bool, err error) {
	if st.State == remote.Exited && st.Code == 0 {
		c.s.Detail("the command has succeeded on " + c.to.machine.String())
		return false, nil
	}
	why := fmt.Sprintf("exit status %d", st.Code)
	if st.State != remote.Exited {
		why = "it vanished before its end: it was killed, or the machine rebooted"
	}
	return c.failed(ctx, lcm.CodeUpstream, why)
}

// tooLong ends a command whose time is over.
func (c *commandRun) tooLong(ctx context.Context) error {
	conn, release, err := c.Driver.connect(ctx, c.w.Instance.ID, c.to)
	if err == nil {
		err = conn.Kill(ctx, c.id())
		release()
	}
	if err != nil {
		c.s.Logf(ctx, fmt.Sprintf("the command could not be ended: %v", cause(err)))
	}
	again, err := c.failed(ctx, lcm.CodeTimeout,
		fmt.Sprintf("it has not ended within %s (command_execution_wait_timeout)", c.limit))
	if again {
		return lcm.Wait(0, c.s.Told())
	}
	return err
}

// failed decides whether a command is started again after a failure.
func (c *commandRun) failed(ctx context.Context, code lcm.Code, why string) (again bool, err error) {
	if failures := c.cp.Failures + 1; failures <= c.retries {
		c.s.Logf(ctx, fmt.Sprintf("the command failed: %s; retry %d of %d in %s", why, failures, c.retries, c.interval))
		return true, c.next(ctx, c.w.Clock.Now().Add(c.interval), failures)
	}
	last := c.lastLine(ctx)
	c.cp.Ended = true
	if err := c.s.Save(ctx, c.cp); err != nil {
		return false, err
	}
	if last != "" {
		why = last + " (" + why + ")"
	}
	return false, &lcm.Error{
		Code: code, Title: "Command failed",
		Detail: fmt.Sprintf("the command at %s:%d failed on %s: %s", c.c.file, c.item.line, c.to.machine, why),
		Hint: "the log of the step has its output; remove the cause and retry the operation, which runs the command " +
			"again",
	}
}

// next turns to another run.
func (c *commandRun) next(ctx context.Context, after time.Time, failures int) error {
	c.cp = commandState{Attempt: c.cp.Attempt + 1, Failures: failures, After: after, Seen: c.w.Clock.Now()}
	return c.s.Save(ctx, c.cp)
}

// maxReason limits the output of a command in an error, in bytes.
const maxReason = 2000

// lastLine reads the end of the output; it is only for the message.
func (c *commandRun) lastLine(ctx context.Context) string {
	conn, release, err := c.Driver.connect(ctx, c.w.Instance.ID, c.to)
	if err != nil {
		return ""
	}
	defer release()
	short, cancel := context.WithTimeoutCause(ctx, c.o.CommandTimeout, errSlow)
	defer cancel()
	// Twice as much as is shown, so that no secret is cut before it is hidden.
	out, err := conn.Output(short, fmt.Sprintf("tail -c %d %s/log", 2*maxReason, remote.Dir(c.id())), nil, 4*maxReason)
	if err != nil {
		return ""
	}
	text := c.hide.Hide(strings.ToValidUTF8(string(out), "\uFFFD"))
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	if len(lines) == 0 {
		return ""
	}
	last := strings.TrimSpace(lines[len(lines)-1])
	if len(last) > maxReason {
		last = "…" + strings.ToValidUTF8(last[len(last)-maxReason:], "")
	}
	return last
}

// tidy removes the files of the runs from the machine. A failure does no harm: they go with the next reboot.
func (c *commandRun) tidy(ctx context.Context) {
	conn, release, err := c.Driver.connect(ctx, c.w.Instance.ID, c.to)
	if err != nil {
		return
	}
	defer release()
	short, cancel := context.WithTimeoutCause(ctx, c.o.CommandTimeout, errSlow)
	defer cancel()
	if err := conn.CleanupAll(short, c.prefix()); err != nil {
		c.w.Log.WarnContext(ctx, "files of a command stay on a machine", "vnfc", c.to.vnfc, "error", err)
	}
}

// mayWait decides whether to wait after a failure to reach the machine: the error that ends the step, or nil.
func (c *commandRun) mayWait(err error) error {
	if _, ok := errors.AsType[*remote.Error](err); !ok {
		return err
	}
	since := c.s.Started()
	for _, t := range []time.Time{c.cp.Seen, c.w.Op.StateEntered} {
		if t.After(since) {
			since = t
		}
	}
	waited := c.w.Clock.Now().Sub(since)
	switch {
	case remote.KindOf(err) == remote.KindAuth && waited < min(authPatience, c.settings.connect):
		return nil
	case transient(err) && waited < c.settings.connect:
		return nil
	}
	return failure(c.to, "run a command", err)
}
