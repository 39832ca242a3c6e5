package helm

import (
	"context"
	"fmt"
	"time"

	helmchart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/gybe-nfv/gybe/pkg/helm/chart"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// work is a tick's work on an operation.
type work struct {
	*Driver
	*lcm.Execution
	vim      sol.VimConnectionInfo
	key      string
	settings settings
}

// begin reads what the operation is about. While it rolls back, the parameters are those of the instance from before.
func (d *Driver) begin(w *lcm.Execution) (*work, error) {
	key, vim, ok := lcm.PrimaryVim(w.Instance.VimConnections)
	if !ok {
		return nil, lcm.Errorf(lcm.CodeUnprocessable, "the VNF instance %s has no VIM connection", w.Instance.ID)
	}
	k := &work{Driver: d, Execution: w, vim: vim, key: key}
	params, err := k.params()
	if err != nil {
		return nil, err
	}
	k.settings, err = parse(params, w.Flavour, w.Instance.ID)
	return k, err
}

func (k *work) params() (sol.KeyValuePairs, error) {
	if k.Op.State == sol.LcmOperationStateRollingBack && k.Op.Before != nil {
		return k.Op.Before.Params.Decode()
	}
	return k.Params()
}

// counts are the numbers of pods that the operation leads to.
func (k *work) counts() (map[string]int, error) {
	if k.Op.Scope != nil {
		return k.pods(k.Op.Scope.Counts), nil
	}
	level, err := instantiationLevel(k.Op.Params)
	if err != nil {
		return nil, err
	}
	counts, _ := k.Flavour.Counts(level)
	return counts, nil
}

// session opens a session for the tick.
func (k *work) session(ctx context.Context) (*session, error) {
	return k.open(ctx, k.vim, k.settings.namespace, nil)
}

// release is a release of the instance in a session.
func (k *work) release(s *session, spec *spec) *releaseWork {
	return s.release(spec.name, k.Instance.ID, k.Op.ID)
}

// chart brings the chart of a release.
func (k *work) chart(ctx context.Context, r *spec) (*helmchart.Chart, error) {
	if r.path != "" {
		return chart.FromPackage(k.Package, r.path)
	}
	return k.servers.Fetch(ctx, r.source)
}

// applyAll lets Helm install or upgrade all releases, each in a step of its own.
func (k *work) applyAll(ctx context.Context, counts map[string]int) error {
	for n := range k.settings.releases {
		r := &k.settings.releases[n]
		err := k.Step(ctx, "apply the Helm release", k.attempt(r.name), func(ctx context.Context, s *lcm.Step) error {
			s.Detail("namespace " + k.settings.namespace)
			return k.apply(ctx, r, counts)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *work) apply(ctx context.Context, r *spec, counts map[string]int) error {
	c, values := (*helmchart.Chart)(nil), map[string]any(nil)
	// The operation's records must not change while the action is under way; the action has copies.
	files, spec := k.Package, *r
	source := func(ctx context.Context) (err error) {
		if c, err = k.chart(ctx, &spec); err != nil {
			return err
		}
		values, err = spec.values(files, counts)
		return err
	}
	instance, operation := k.Instance.ID, k.Op.ID
	return k.run(ctx, k.runKey(r.name), k.vim, k.settings.namespace, k.limit(),
		"Helm works on the release "+r.name, func(ctx context.Context, s *session) error {
			if err := source(ctx); err != nil {
				return err
			}
			return s.release(spec.name, instance, operation).apply(ctx, c, values)
		})
}

// attempt is the target of a step that a retry and a rollback repeat: a cancel may have undone what it had reached.
func (k *work) attempt(release string) string {
	if k.Op.State == sol.LcmOperationStateRollingBack {
		return release + ", rollback"
	}
	if k.Op.Try <= 1 {
		return release
	}
	return fmt.Sprintf("%s, try %d", release, k.Op.Try)
}

// limit bounds an action: its hooks run one after another.
func (k *work) limit() time.Duration { return 4 * k.cfg.HookTimeout }

// runKey names the action of a release. A run and a try of the operation are part of it: what is left of an earlier one
// is not taken for its own.
func (k *work) runKey(release string) string {
	return fmt.Sprint(k.Op.ID, " ", release, " ", k.Op.Run, " ", k.Op.Try)
}
