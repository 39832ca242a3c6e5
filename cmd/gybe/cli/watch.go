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
	"github.com/gybe-nfv/gybe/pkg/client/wire"
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
	cmd.Flags().BoolVarP(&w.watch, "watch", "w", false, "show phases and steps as they happen, until the operation ends")
	cmd.Flags().BoolVar(&w.wait, "wait", false, "wait until the operation ends, without showing how")
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
			printf(a.env.Stderr, "the operation goes on; follow it with: gybe op watch %s\n", id)
			return &toldError{ctx.Err()}
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
	return &codeError{ExitOperation, &toldError{fmt.Errorf("operation %s is %s", id, op.OperationState)}}
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

// untilRest follows the event feed from the operation's first event on. When the feed breaks off, it goes on where it
// was, also at another node behind the same endpoint; a server without a feed is polled.
func (a *app) untilRest(ctx context.Context, c *client.Client, v *view, id string) (*sol.VnfLcmOpOcc, error) {
	cursor, lastSeen := client.FromStart, time.Now()
	for {
		for e, err := range c.Events(ctx, client.EventQuery{OpID: id, After: cursor}) {
			if err != nil {
				if answer, ok := errors.AsType[*client.Error](err); ok {
					if answer.Status() == http.StatusNotFound || answer.Status() == http.StatusNotAcceptable {
						return a.poll(ctx, c, v, id)
					}
				}
				break
			}
			cursor, lastSeen = e.Cursor, time.Now()
			entered := v.event(e)
			if entered.IsZero() {
				continue
			}
			// It rested then; the feed may tell of the past, so ask whether it has gone on since.
			op, err := c.Operation(ctx, id)
			if err != nil {
				break
			}
			if !running(op.OperationState) && !entered.Before(op.StateEnteredTime) {
				return op, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		op, err := c.Operation(ctx, id)
		switch {
		case err == nil && !running(op.OperationState):
			if p, err := c.Progress(ctx, id, "", 0); err == nil {
				v.progress(p) // what the broken feed did not tell any more
			}
			return op, nil
		case err == nil:
			lastSeen = time.Now()
		case time.Since(lastSeen) > patience:
			return nil, err
		}
		if err := pause(ctx, retryEvery); err != nil {
			return nil, err
		}
	}
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
func (v *view) event(e wire.Event) (rests time.Time) {
	switch e.Kind {
	case wire.KindPhase:
		var p wire.Phase
		if json.Unmarshal(e.Body, &p) == nil {
			v.phase(e.Time, p)
		}
	case wire.KindStep:
		var s wire.Step
		if json.Unmarshal(e.Body, &s) == nil {
			v.step(e.Time, s)
		}
	case wire.KindLog:
		var l wire.Log
		if json.Unmarshal(e.Body, &l) == nil {
			for _, line := range l.Lines {
				v.line(line.Time, l.Phase, stepName(l.Name, l.Target), line.Text)
			}
		}
	case wire.KindOperationState:
		var s wire.OperationState
		if json.Unmarshal(e.Body, &s) == nil {
			v.state(s.Entered, s.State)
			if !running(s.State) {
				return s.Entered
			}
		}
	}
	return time.Time{}
}
