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
	if err := k.uninstallAll(ctx); err != nil {
		return err
	}
	s, err := k.session(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return k.gone(ctx, s)
}

// uninstallAll lets Helm uninstall all releases, the last one first, each in a step of its own.
func (k *work) uninstallAll(ctx context.Context) error {
	for n := len(k.settings.releases) - 1; n >= 0; n-- {
		r := &k.settings.releases[n]
		err := k.Step(ctx, "uninstall the Helm release", r.name, func(ctx context.Context, _ *lcm.Step) error {
			instance, operation, name := k.Instance.ID, k.Op.ID, r.name
			return k.run(ctx, k.runKey(r.name), k.vim, k.settings.namespace, k.limit(),
				"Helm uninstalls the release "+r.name, func(ctx context.Context, s *session) error {
					return s.release(name, instance, operation).uninstall(ctx)
				})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// gone deletes what is left with the label of the instance, and waits until nothing is.
func (k *work) gone(ctx context.Context, s *session) error {
	left, err := s.labelled(ctx, k.Instance.ID)
	if err != nil {
		return err
	}
	pods, err := k.remainingPods(ctx, s)
	if err != nil {
		return err
	}
	if len(left)+len(pods) == 0 {
		return nil
	}
	for _, o := range left {
		if o.GetDeletionTimestamp() == nil {
			if err := s.delete(ctx, o); err != nil {
				return err
			}
		}
	}
	what := append(left, pods...)[0]
	return lcm.Wait(pause, fmt.Sprintf("%s %s is being deleted", what.GetKind(), what.GetName()))
}
