package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// deletion is the checkpoint of the step that deletes a sick server.
type deletion struct {
	Try   int       `json:"try,omitempty"` // of the operation
	Since time.Time `json:"since,omitzero"`
}

// Delete deletes the server that a VNFC is, as a step. It is done when the server is not in Nova any more.
func (w *Worker) Delete(ctx context.Context, vnfc, id string) error {
	return w.Execution.Step(ctx, "delete server", vnfc, func(ctx context.Context, s *lcm.Step) error {
		var cp deletion
		if _, err := s.Load(&cp); err != nil {
			return fmt.Errorf("read the step's checkpoint: %w", err)
		}
		sv, err := w.Cloud.ReadServer(ctx, id)
		// believed at the second look: this step is not repeated, and a server that is there has the volumes
		if cloud.NotFound(err) {
			sv, err = w.Cloud.ReadServer(ctx, id)
		}
		if cloud.NotFound(err) || err == nil && strings.HasSuffix(sv.Status, "DELETED") {
			s.Detail("server " + id + " is gone")
			return nil
		}
		if err != nil {
			return nameVNFC(vnfc, err)
		}
		now := w.Execution.Clock.Now()
		if cp.Try != w.Execution.Op.Try || cp.Since.IsZero() {
			cp = deletion{Try: w.Execution.Op.Try, Since: now}
			if err := s.Save(ctx, cp); err != nil {
				return err
			}
		}
		elapsed := now.Sub(cp.Since)
		if elapsed > w.Timeout {
			return stuck(vnfc, sv, "is not deleted", elapsed)
		}
		if sv.Task == "deleting" {
			return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: server %s", vnfc, sv))
		}
		err = w.Cloud.DeleteServer(ctx, id)
		if err != nil && !cloud.NotFound(err) {
			return nameVNFC(vnfc, err)
		}
		return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: deleting server %s", vnfc, id))
	})
}
