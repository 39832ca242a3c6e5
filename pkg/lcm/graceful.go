package lcm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gybe-nfv/gybe/pkg/sol"
)

// WaitGracefully gives a VNF the time to finish its work before a GRACEFUL termination (SOL003 clause 5.4.8) or stop
// (clause 5.4.10), as a step: as long as the request says, or byDefault. Before any other operation it does nothing.
func (w *Execution) WaitGracefully(ctx context.Context, byDefault time.Duration) error {
	name, seconds, err := w.grace()
	if err != nil || name == "" {
		return err
	}
	timeout := byDefault
	if seconds > 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	return w.Step(ctx, name, "", func(_ context.Context, s *Step) error {
		if left := s.Started().Add(timeout).Sub(w.Clock.Now()); left > 0 {
			return Wait(left, fmt.Sprintf("%s: %s left for the VNF to finish its work", name, left.Round(time.Second)))
		}
		s.Detail("waited " + timeout.String())
		return nil
	})
}

// grace is the name of the step of a graceful operation, and the time of the request in seconds; 0 is the default.
func (w *Execution) grace() (name string, seconds int, err error) {
	var to sol.TerminateVnfRequest
	var stop sol.OperateVnfRequest
	switch w.Op.Type { //nolint:exhaustive // the others are not graceful
	case sol.LcmOperationTerminate:
		err = json.Unmarshal(w.Op.Params, &to)
	case sol.LcmOperationOperate:
		err = json.Unmarshal(w.Op.Params, &stop)
	}
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("decode the operation's request: %w", err)
	case to.TerminationType == sol.TerminationTypeGraceful:
		return "graceful termination", to.GracefulTerminationTimeout, nil
	case stop.StopType == sol.StopTypeGraceful:
		return "graceful stop", stop.GracefulStopTimeout, nil
	}
	return "", 0, nil
}
