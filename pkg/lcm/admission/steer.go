package admission

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Steer applies retry, rollback or fail to an operation in FAILED_TEMP (SOL003 clauses 5.4.14 to 5.4.16);
// CodeConflict in any other state, and if the instance is protected and a retry or rollback would delete its machines.
// A retried or rolled back operation gets a new deadline.
func (s *Service) Steer(ctx context.Context, opID string, ev lcm.Event) (*lcm.Operation, error) {
	return s.Store.Steer(ctx, opID, func(op *lcm.Operation, p *lcm.Protection) ([]lcm.Message, error) {
		if err := s.requireVersion(op); err != nil {
			return nil, err
		}
		to, err := lcm.Next(op, ev)
		if err == nil {
			err = lcm.RefuseSteering(op, ev, p)
		}
		if err != nil {
			return nil, err
		}
		now := s.Clock.Now()
		if ev == lcm.EventRollback || ev == lcm.EventRetry && op.FailedIn == sol.LcmOperationStateRollingBack {
			op.Run++
			op.Phase = ""
		}
		op.State, op.StateEntered, op.Waiting = to, now, ""
		op.AddAction(s.principal, string(ev), now, "")
		if lcm.Running(to) {
			op.Try++
			op.Deadline = now.Add(s.limit(op.Type))
		}
		m, err := lcm.StateMessage(op, s.Clock)
		if err != nil {
			return nil, err
		}
		return []lcm.Message{m}, nil
	})
}

// haltTime is the least time that a cancelled operation gets to come to rest; a FORCEFUL cancel gets no more.
const haltTime = 10 * time.Minute

// Cancel asks for the end of an operation that is STARTING, PROCESSING or ROLLING_BACK (SOL003 clause 5.4.17): GRACEFUL
// lets the VIM finish what it is doing, FORCEFUL makes it stop. CodeConflict in any other state, and once it is being
// cancelled FORCEFULly. The state changes when the operation has come to rest; the node that works on it is fenced
// immediately.
func (s *Service) Cancel(ctx context.Context, opID string, mode sol.CancelModeType) (*lcm.Operation, error) {
	if mode != sol.CancelModeGraceful && mode != sol.CancelModeForceful {
		return nil, lcm.Unprocessable(
			lcm.InvalidParam{Pointer: "/cancelMode", Detail: "is neither GRACEFUL nor FORCEFUL"},
		)
	}
	return s.Store.Steer(ctx, opID, func(op *lcm.Operation, _ *lcm.Protection) ([]lcm.Message, error) {
		if err := s.requireVersion(op); err != nil {
			return nil, err
		}
		if _, err := lcm.Next(op, lcm.EventCancel); err != nil {
			return nil, err
		}
		now := s.Clock.Now()
		op.AddAction(s.principal, string(lcm.EventCancel), now, string(mode))
		if by := now.Add(haltTime); mode == sol.CancelModeForceful || op.Deadline.Before(by) {
			op.Deadline = by
		}
		op.Cancel = mode
		return nil, nil // the state does not change, so there is no notification
	})
}
