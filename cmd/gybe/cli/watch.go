package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// watch says how a command stays with the operation that it started.
type watch struct {
	watch, wait, logs bool
	// goals are the states that count as success; none is COMPLETED.
	goals []sol.LcmOperationStateType
}

func (a *app) addWatch(cmd *cobra.Command) *watch {
	w := &watch{}
	cmd.Flags().BoolVarP(&w.watch, "watch", "w", false, "show phases and steps until the operation ends")
	cmd.Flags().BoolVar(&w.wait, "wait", false, "wait until the operation ends, without showing progress")
	cmd.Flags().BoolVar(&w.logs, "logs", false, "with --watch, show the output of steps, too")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if w.logs && !w.watch {
			return usagef("--logs needs --watch")
		}
		return nil
	}
	return w
}

// started tells about an operation that was just accepted, or steered, or stays with it.
func (a *app) started(ctx context.Context, c *client.Client, w *watch, id string) error {
	if w.watch || w.wait {
		return a.follow(ctx, c, w, id)
	}
	op, err := c.Operation(ctx, id)
	if err != nil {
		return err
	}
	if a.output != "table" {
		return a.show(op, nil)
	}
	printf(a.env.Stdout, "operation %s (%s) is %s\n", op.ID, op.Operation, op.OperationState)
	if running(op.OperationState) {
		printf(a.env.Stderr, "follow it with: gybe op watch %s\n", op.ID)
	}
	return nil
}

// follow stays with an operation until it rests. Its failure is a codeError.
func (a *app) follow(ctx context.Context, c *client.Client, w *watch, id string) error {
	op, err := c.Operation(ctx, id)
	if err != nil {
		return err
	}
	out := a.env.Stdout
	if a.output != "table" {
		out = a.env.Stderr // the result goes to standard output
	}
	v := &view{out: out, paint: a.paint, logs: w.logs, silent: !w.watch, start: op.StartTime}
	v.begin(op)
	if running(op.OperationState) {
		op, err = a.untilRest(ctx, c, v, id)
		if ctx.Err() != nil {
			printf(a.env.Stderr, "the operation continues; follow it with: gybe op watch %s\n", id)
			return &reportedError{ctx.Err()}
		}
		if err != nil {
			return err
		}
	} else if p, err := c.Progress(ctx, id, "", w.lines()); err == nil {
		v.progress(p)
	}
	v.end(op)
	if a.output != "table" {
		if err := a.show(op, nil); err != nil {
			return err
		}
	}
	if w.reached(op.OperationState) {
		return nil
	}
	return &codeError{ExitOperation, &reportedError{fmt.Errorf("operation %s is %s", id, op.OperationState)}}
}

func (w *watch) reached(s sol.LcmOperationStateType) bool {
	if len(w.goals) == 0 {
		return s == sol.LcmOperationStateCompleted
	}
	return slices.Contains(w.goals, s)
}

func (w *watch) lines() int {
	if w.logs {
		return 1000
	}
	return 0
}

// retryEvery is the pause between attempts to reach a server that went away, and between polls.
const retryEvery = time.Second

// patience is how long a server may be away before following gives up.
const patience = 2 * time.Minute

// untilRest follows the event feed from the operation's first event on, and looks at the operation itself when no event
// comes: the feed can be late. When the feed breaks off, it goes on where it was, also at another node behind the same
// endpoint; a server without a feed is polled.
func (a *app) untilRest(ctx context.Context, c *client.Client, v *view, id string) (*sol.VnfLcmOpOcc, error) {
	f := &following{client: c, view: v, id: id, cursor: client.FromStart, lastSeen: time.Now()}
	for {
		op, err := f.stream(ctx)
		if op != nil {
			return op, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if answer, ok := errors.AsType[*client.Error](err); ok {
			if answer.Status() == http.StatusNotFound || answer.Status() == http.StatusNotAcceptable {
				return a.poll(ctx, c, v, id)
			}
		}
		op, err = f.look(ctx)
		switch {
		case op != nil:
			return op, nil
		case err != nil && time.Since(f.lastSeen) > patience:
			return nil, err
		}
		if err := pause(ctx, retryEvery); err != nil {
			return nil, err
		}
	}
}

// following is an operation that is followed by its events.
type following struct {
	client   *client.Client
	view     *view
	id       string
	cursor   string    // of the last event
	lastSeen time.Time // when the server last answered
}

// quietLooks is how often in a row an operation is seen at rest before its last events are not waited for any more.
const quietLooks = 2

// stream shows events until the operation rests (then it returns the operation) or the stream ends.
func (f *following) stream(ctx context.Context) (*sol.VnfLcmOpOcc, error) {
	type update struct {
		event gybeapi.Event
		err   error
	}
	streamCtx, cancel := context.WithCancel(ctx)
	updates := make(chan update)
	go func() {
		defer close(updates)
		for e, err := range f.client.Events(streamCtx, client.EventQuery{OpID: f.id, After: f.cursor}) {
			select {
			case updates <- update{e, err}:
			case <-streamCtx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range updates { // until the goroutine has ended
		}
	}()

	quiet := time.NewTicker(retryEvery)
	defer quiet.Stop()
	atRest := 0
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case u, ok := <-updates:
			if !ok || u.err != nil {
				return nil, u.err
			}
			quiet.Reset(retryEvery)
			atRest = 0
			if op, err := f.show(ctx, u.event); op != nil || err != nil {
				return op, err
			}
		case <-quiet.C:
			op, err := f.client.Operation(ctx, f.id)
			if err != nil {
				continue // the stream ends, too, or the server answers again
			}
			f.lastSeen = time.Now()
			if running(op.OperationState) {
				atRest = 0
			} else if atRest++; atRest == quietLooks {
				return f.rested(ctx, op), nil
			}
		}
	}
}

// show shows an event. It returns the operation when that rests.
func (f *following) show(ctx context.Context, e gybeapi.Event) (*sol.VnfLcmOpOcc, error) {
	f.cursor, f.lastSeen = e.Cursor, time.Now()
	entered := f.view.event(e)
	if entered.IsZero() {
		return nil, nil //nolint:nilnil // the operation goes on
	}
	// It rested then. The event can be old, so ask whether the operation has gone on since.
	op, err := f.client.Operation(ctx, f.id)
	if err != nil || running(op.OperationState) || entered.Before(op.StateEnteredTime) {
		return nil, err
	}
	return op, nil
}

// look asks for the operation. It returns nil when that does not rest.
func (f *following) look(ctx context.Context) (*sol.VnfLcmOpOcc, error) {
	op, err := f.client.Operation(ctx, f.id)
	if err != nil {
		return nil, err
	}
	f.lastSeen = time.Now()
	if running(op.OperationState) {
		return nil, nil //nolint:nilnil // the operation goes on
	}
	return f.rested(ctx, op), nil
}

// rested shows what the events have not shown of an operation that rests.
func (f *following) rested(ctx context.Context, op *sol.VnfLcmOpOcc) *sol.VnfLcmOpOcc {
	lines := 0
	if f.view.logs {
		lines = 1000
	}
	if p, err := f.client.Progress(ctx, f.id, f.cursor, lines); err == nil {
		f.view.progress(p)
	}
	return op
}

// poll is untilRest without a feed.
func (a *app) poll(ctx context.Context, c *client.Client, v *view, id string) (*sol.VnfLcmOpOcc, error) {
	cursor, lastSeen := "", time.Now()
	for {
		op, err := c.Operation(ctx, id) // before the progress, so that nothing is missed at the end
		if err == nil {
			lastSeen = time.Now()
			lines := 0
			if v.logs {
				lines = 1000
			}
			if p, err := c.Progress(ctx, id, cursor, lines); err == nil {
				cursor = p.Next
				v.progress(p)
			}
			if !running(op.OperationState) {
				return op, nil
			}
		} else if time.Since(lastSeen) > patience || ctx.Err() != nil {
			return nil, err
		}
		if err := pause(ctx, retryEvery); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// event shows one event. When it says that the operation has come to rest, it returns since when.
func (v *view) event(e gybeapi.Event) (rests time.Time) {
	switch e.Kind {
	case gybeapi.KindPhase:
		var p gybeapi.Phase
		if json.Unmarshal(e.Body, &p) == nil {
			v.phase(e.Time, p)
		}
	case gybeapi.KindStep:
		var s gybeapi.Step
		if json.Unmarshal(e.Body, &s) == nil {
			v.step(e.Time, s)
		}
	case gybeapi.KindLog:
		var l gybeapi.Log
		if json.Unmarshal(e.Body, &l) == nil {
			for _, line := range l.Lines {
				v.line(line.Time, l.Phase, stepName(l.Name, l.Target), line.Text)
			}
		}
	case gybeapi.KindOperationState:
		var s gybeapi.OperationState
		if json.Unmarshal(e.Body, &s) == nil {
			v.state(s.Entered, s.State)
			if !running(s.State) {
				return s.Entered
			}
		}
	}
	return time.Time{}
}
