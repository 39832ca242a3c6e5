package helm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// instantiationLevel reads the level of an instantiation; "" is the default one.
func instantiationLevel(params []byte) (string, error) {
	var req sol.InstantiateVnfRequest
	if err := json.Unmarshal(params, &req); err != nil {
		return "", fmt.Errorf("decode the operation's request: %w", err)
	}
	return req.InstantiationLevelID, nil
}

// Instantiate implements lcm.Infra: Helm installs the releases, then their objects become ready.
func (d *Driver) Instantiate(ctx context.Context, w *lcm.Execution) error {
	k, err := d.begin(w)
	if err != nil {
		return err
	}
	if err := w.Hold(ctx); err != nil {
		return err
	}
	return k.reach(ctx)
}

// reach applies the releases with the operation's numbers of VNFCs and waits until they are ready.
func (k *work) reach(ctx context.Context) error {
	counts, err := k.counts()
	if err != nil {
		return err
	}
	if err := k.applyAll(ctx, counts); err != nil {
		return err
	}
	return k.ready(ctx, counts)
}

// ready waits until the objects of all releases are ready. The time counts from the beginning of the step.
func (k *work) ready(ctx context.Context, counts map[string]int) error {
	return k.Step(ctx, "wait until the pods are ready", fmt.Sprintf("try %d", k.Op.Try),
		func(ctx context.Context, step *lcm.Step) error {
			s, err := k.session(ctx)
			if err != nil {
				return err
			}
			defer s.close()
			seen, err := k.observe(ctx, s)
			if err != nil {
				return err
			}
			why, failed := k.unready(seen, counts)
			switch {
			case why == "":
				return nil
			case failed || k.Clock.Now().Sub(step.Started()) > k.cfg.ReadyTimeout:
				e := lcm.Errorf(lcm.CodeUpstream, "%s (namespace %s, cluster %s)", why, k.settings.namespace, s.host)
				e.Title = "Pods do not become ready"
				e.Hint = "correct the cause and retry the operation, or roll it back"
				return e
			}
			return lcm.Wait(pause, why)
		})
}

// Terminate implements lcm.Infra: Helm uninstalls the releases, then everything that carries the label of the instance
// is deleted.
func (d *Driver) Terminate(ctx context.Context, w *lcm.Execution) error {
	k, err := d.begin(w)
	if err != nil {
		return err
	}
	if err := k.WaitGracefully(ctx, k.cfg.GracefulTimeout); err != nil {
		return err
	}
	return k.remove(ctx)
}
