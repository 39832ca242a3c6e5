package app

import (
	"context"
	"time"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/store"
)

// wakeOperations lets the operations go on that wait for a VIM. It returns immediately.
func (a *App) wakeOperations(key string) {
	select {
	case a.answering <- key:
	default: // they look again by themselves
	}
}

// reportVims notes that the availability of a VIM has changed. It returns immediately.
func (a *App) reportVims() {
	select {
	case a.vimsChanged <- struct{}{}:
	default: // it is noted already
	}
}

// watchVims lets all nodes know which VIMs do not answer to this one, and wakes operations when a VIM answers again. It
// is for users only: no node decides by it.
func (a *App) watchVims(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case key := <-a.answering:
			if err := a.engine.WakeShare(ctx, store.OperationJobs, key); err != nil && ctx.Err() == nil {
				a.log.WarnContext(ctx, "operations that wait for a VIM look later", "vim_key", key, "error", err)
			}
		case <-a.vimsChanged:
			if err := a.store.ReportVims(ctx, a.engine.ID(), a.unavailableVims()); err != nil && ctx.Err() == nil {
				a.log.WarnContext(ctx, "the state of VIMs is not stored; trying again", "error", err)
				time.AfterFunc(time.Second, a.reportVims)
			}
		}
	}
}

// unavailableVims lists the VIMs that do not answer.
func (a *App) unavailableVims() []lcm.VimFault {
	out := []lcm.VimFault{}
	for _, h := range a.drivers.openstack.Health() {
		if !h.Available() {
			out = append(out, lcm.VimFault{Key: h.Key, Since: h.Since.UTC().Truncate(time.Second), Error: h.Error})
		}
	}
	for _, s := range a.drivers.clusters.Servers() {
		if !s.Available() {
			out = append(out, lcm.VimFault{Key: s.Key, Since: s.Since.UTC().Truncate(time.Second), Error: s.Error})
		}
	}
	return out
}

// countVims is the metric of VIMs. It does not name them: they belong to projects.
func (a *App) countVims(context.Context) (map[string]float64, error) {
	out := map[string]float64{"available": 0, "unavailable": 0}
	for _, h := range a.drivers.openstack.Health() {
		if h.Available() {
			out["available"]++
		} else {
			out["unavailable"]++
		}
	}
	for _, s := range a.drivers.clusters.Servers() {
		if s.Available() {
			out["available"]++
		} else {
			out["unavailable"]++
		}
	}
	return out, nil
}
