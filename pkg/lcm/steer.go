package lcm

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Steer applies retry, rollback or fail to an operation in FAILED_TEMP (SOL003 clauses 5.4.14 to 5.4.16);
// CodeConflict in any other state. A retried or rolled back operation gets a new deadline.
func (s *Service) Steer(ctx context.Context, opID string, ev Event) (*Operation, error) {
	return s.Store.Steer(ctx, opID, func(op *Operation) ([]Message, error) {
		to, err := Next(op, ev)
		if err != nil {
			return nil, err
		}
		now := s.Clock.Now()
		if ev == EventRollback || ev == EventRetry && op.FailedIn == sol.LcmOperationStateRollingBack {
			op.Run++
			op.Phase = ""
		}
		op.State, op.StateEntered, op.Waiting = to, now, ""
		if Running(to) {
			op.Tries++
			op.Deadline = now.Add(s.limit(op.Type))
		}
		m, err := stateMessage(op, s.Clock)
		if err != nil {
			return nil, err
		}
		return []Message{m}, nil
	})
}

// haltTime is the least time that a cancelled operation gets to come to rest; a FORCEFUL cancel gets no more.
const haltTime = 10 * time.Minute

// Cancel asks for the end of an operation that is STARTING, PROCESSING or ROLLING_BACK (SOL003 clause 5.4.17): GRACEFUL lets the VIM finish
// what it is doing, FORCEFUL makes it stop. CodeConflict in any other state, and once it is being cancelled FORCEFULly. The state changes when
// the operation has come to rest; whoever works on it is fenced at once.
func (s *Service) Cancel(ctx context.Context, opID string, mode sol.CancelModeType) (*Operation, error) {
	if mode != sol.CancelModeGraceful && mode != sol.CancelModeForceful {
		return nil, Unprocessable(InvalidParam{"/cancelMode", "is neither GRACEFUL nor FORCEFUL"})
	}
	return s.Store.Steer(ctx, opID, func(op *Operation) ([]Message, error) {
		if _, err := Next(op, EventCancel); err != nil {
			return nil, err
		}
		if by := s.Clock.Now().Add(haltTime); mode == sol.CancelModeForceful || op.Deadline.Before(by) {
			op.Deadline = by
		}
		op.Cancel = mode
		return nil, nil // no state was left, so nobody is notified
	})
}
