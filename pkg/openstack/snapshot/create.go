package snapshot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/openstack/cloud"
)

// Worker works on a snapshot for an operation, in one VIM.
type Worker struct {
	Cloud     *cloud.Client
	Execution *lcm.Execution
	// Vim is the key of the VIM connection.
	Vim string
	// Timeout is how long Nova and Cinder may work on one image or copy.
	Timeout time.Duration
}

// progress is the checkpoint of a step that makes an image or a copy.
type progress struct {
	Try int `json:"try"` // of the operation
	// Since is when the step began to work on it, Asked when the VIM was asked last, Requests how often it was.
	Since    time.Time `json:"since"`
	Asked    time.Time `json:"asked,omitzero"`
	Requests int       `json:"requests,omitempty"`
	// Broken is the id of the resource with which an earlier try has failed.
	Broken string `json:"broken,omitempty"`
}

// askAgain is how long a resource may be missing after the VIM has said yes, before the VIM is asked again.
const askAgain = 5 * time.Second

// maxRequests is how often the VIM may say yes and have nothing afterwards.
const maxRequests = 4

// Create makes images and copies, each as a step, and records what it has made.
func (w *Worker) Create(ctx context.Context, sources []Source) error {
	err := lcm.Each(ctx, 8, sources, func(ctx context.Context, s Source) error {
		name := "copy volume"
		if s.Image {
			name = "create image"
		}
		return w.Execution.Step(ctx, name, s.Name, func(ctx context.Context, step *lcm.Step) error {
			return w.reach(ctx, step, s)
		})
	})
	if err != nil {
		return err
	}
	return w.record(ctx, sources)
}

// reach brings one image or copy to its end.
func (w *Worker) reach(ctx context.Context, step *lcm.Step, s Source) error {
	var cp progress
	if _, err := step.Load(&cp); err != nil {
		return fmt.Errorf("read the step's checkpoint: %w", err)
	}
	now := w.Execution.Clock.Now()
	if cp.Try != w.Execution.Op.Try || cp.Since.IsZero() {
		cp = progress{Try: w.Execution.Op.Try, Since: now, Broken: cp.Broken}
		if err := step.Save(ctx, cp); err != nil {
			return err
		}
	}
	has, found, err := w.look(ctx, s)
	if err != nil {
		return of(s, err)
	}
	elapsed := now.Sub(cp.Since)
	switch {
	case found && (has.status == cloud.ImageActive || has.status == "available"):
		step.Detail(s.kind() + " " + has.ID)
		return nil
	case found && has.broken():
		return w.broken(ctx, step, cp, s, has)
	case elapsed > w.Timeout:
		return s.failure("is not complete after %s", elapsed.Round(time.Second))
	case found:
		return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: %s %s is %s", s.VNFC, s.kind(), has.ID, has.status))
	case now.Sub(cp.Asked) < askAgain:
		return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: waiting for the %s", s.VNFC, s.kind()))
	}
	return w.request(ctx, step, cp, s)
}

// kind names the resource in messages.
func (s Source) kind() string {
	if s.Image {
		return "image"
	}
	return "copy of volume"
}

// broken says that the resource never becomes complete.
func (r resource) broken() bool {
	switch r.status {
	case "error", "killed", "deactivated", "error_deleting":
		return true
	}
	return false
}

// look finds the resource by its name.
func (w *Worker) look(ctx context.Context, s Source) (resource, bool, error) {
	id := w.Execution.Op.SnapshotID()
	if s.Image {
		all, err := find(ctx, w.Cloud, w.Execution.Instance.ID, id)
		has, ok := named(all, s.Name)
		return has, ok, err
	}
	volumes, err := w.Cloud.ListVolumes(ctx, url.Values{"name": {s.Name}})
	for _, v := range volumes {
		if v.Name == s.Name && v.Metadata[cloud.MarkSnapshot] == id && v.Status != "deleting" {
			return resource{
				SnapshotResource: lcm.SnapshotResource{Type: cloud.TypeVolume, ID: v.ID, Name: v.Name},
				status:           v.Status,
			}, true, nil
		}
	}
	return resource{}, false, err
}

// request asks the VIM for the resource.
func (w *Worker) request(ctx context.Context, step *lcm.Step, cp progress, s Source) error {
	if cp.Requests >= maxRequests {
		return s.failure("was accepted %d times, and is not there", cp.Requests)
	}
	elapsed := w.Execution.Clock.Now().Sub(cp.Since)
	if s.Image {
		sv, err := w.Cloud.ReadServer(ctx, s.ID)
		if err != nil {
			return of(s, err)
		}
		if sv.Task != "" {
			return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: server %s", s.VNFC, sv))
		}
	}
	before := cp
	cp.Asked, cp.Requests = w.Execution.Clock.Now(), cp.Requests+1
	if err := step.Save(ctx, cp); err != nil {
		return err
	}
	m := marks(w.Execution.Instance.ID, w.Execution.Op.SnapshotID())
	var err error
	if s.Image {
		err = w.Cloud.CreateServerImage(ctx, s.ID, s.Name, m)
	} else {
		err = w.Cloud.CopyVolume(ctx, s.ID, s.Name, m)
	}
	if s.Image && cloud.Conflict(err) && elapsed <= askAgain { // a task that has just begun may pass
		if err := step.Save(ctx, before); err != nil {
			return err
		}
		return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: %s", s.VNFC, lcm.AsError(err).Detail))
	}
	if err != nil {
		if e := step.Save(ctx, before); e != nil {
			return e
		}
		return of(s, err)
	}
	return lcm.Wait(cloud.Pace(elapsed), fmt.Sprintf("VNFC %s: %s", s.VNFC, s.kind()))
}

// broken fails with a resource that is in error, or replaces one with which an earlier try has failed.
func (w *Worker) broken(ctx context.Context, step *lcm.Step, cp progress, s Source, has resource) error {
	if cp.Broken == has.ID {
		if err := w.remove(ctx, has); err != nil {
			return of(s, err)
		}
		return lcm.Wait(cloud.Pace(0), fmt.Sprintf("VNFC %s: deleting the %s that failed", s.VNFC, s.kind()))
	}
	err := s.failure("%s has the status %s", has.ID, has.status)
	cp.Broken = has.ID
	if e := step.Save(ctx, cp); e != nil {
		return e
	}
	return err
}

// failure is the error of an image or copy.
func (s Source) failure(format string, args ...any) *lcm.Error {
	e := lcm.Errorf(lcm.CodeUpstream, "VNFC %s: the %s %s "+format, append([]any{s.VNFC, s.kind(), s.ID}, args...)...)
	e.Title = "Snapshot not taken"
	hint := "look at the log of the volume service"
	if s.Image {
		e.Detail = fmt.Sprintf("VNFC %s: the image of server %s "+format, append([]any{s.VNFC, s.ID}, args...)...)
		hint = "look at the server's actions in Nova, and at the quota and the store of the image service"
	}
	return e.WithHint(hint + "; then retry the operation, or roll it back")
}

// of says in a failure which VNFC it is about.
func of(s Source, err error) error {
	e, ok := errors.AsType[*lcm.Error](err)
	if !ok {
		return err
	}
	named := *e
	named.Detail = "VNFC " + s.VNFC + ": " + e.Detail
	return &named
}

// record finds everything that was made, and records it with the snapshot.
func (w *Worker) record(ctx context.Context, sources []Source) error {
	op := w.Execution.Op
	before := op.Before
	all, err := find(ctx, w.Cloud, before.ID, op.SnapshotID())
	if err != nil {
		return err
	}
	out := map[string]*lcm.VNFCSnapshot{}
	for _, id := range op.Scope.VNFCs {
		c, res, ok := before.VNFC(id)
		if !ok {
			return lcm.Errorf(lcm.CodeUnprocessable, "the instance has no VNFC %s", id)
		}
		index, _ := before.ComputeIndex(id)
		out[id] = &lcm.VNFCSnapshot{
			ID: lcm.VNFCSnapshotID(c.VduID, index), VNFC: id, Resource: res.ID, VDU: c.VduID, Index: index, Vim: w.Vim,
			Started: op.Started, Finished: w.Execution.Clock.Now(),
		}
	}
	for _, s := range sources {
		has, ok := named(all, s.Name)
		if !ok {
			return s.failure("is not there any more")
		}
		c := out[s.VNFC]
		if s.Image {
			c.Compute = &has.SnapshotResource
			continue
		}
		c.Storages = append(c.Storages, lcm.SnapshotStorage{
			Storage: s.ID, Name: s.Storage, Resource: has.SnapshotResource,
		})
	}
	for _, c := range out {
		w.Execution.RecordSnapshot(*c)
	}
	return nil
}
