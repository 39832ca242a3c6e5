package helm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// maxHistory is how many revisions of a release are kept.
const maxHistory = 10

// Labels of a release's record, and of all its objects.
const (
	labelInstance  = "gybe.io/vnf-instance"
	labelOperation = "gybe.io/operation"
)

// releaseWork is one release of an instance in a cluster.
type releaseWork struct {
	*session
	helm      *action.Configuration
	name      string
	instance  string
	operation string
	hooks     time.Duration // limit of each hook
}

func (s *session) release(name, instance, operation string) *releaseWork {
	return &releaseWork{
		session: s, helm: s.helm(), name: name, instance: instance, operation: operation, hooks: s.cfg.HookTimeout,
	}
}

// last returns the newest record of the release; nil when there is none.
func (r *releaseWork) last() (*release.Release, error) {
	rel, err := r.helm.Releases.Last(r.name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil //nolint:nilnil // the absence is an answer
	}
	if err != nil {
		return nil, r.failure("read the record of", err)
	}
	return record(rel)
}

// record is the only form of records that this version of Helm writes.
func record(rel any) (*release.Release, error) {
	out, ok := rel.(*release.Release)
	if !ok {
		return nil, fmt.Errorf("a record of a Helm release is a %T", rel)
	}
	return out, nil
}

// owned refuses a release that is not the instance's.
func (r *releaseWork) owned(rel *release.Release) error {
	if owner := rel.Labels[labelInstance]; owner != r.instance {
		e := lcm.Errorf(lcm.CodeConflict, "the release %s in the namespace %s belongs to %s", r.name, r.namespace,
			map[bool]string{true: "no VNF instance", false: "the VNF instance " + owner}[owner == ""])
		e.Title, e.Hint = "Helm release exists", "choose another namespace or another name for the release"
		return e
	}
	return nil
}

// current returns the newest record on which work can go on; nil is none. The record of an unfinished attempt of this
// operation, and any that a dead node has left pending, is removed: the attempt is made again and adopts its objects,
// which carry Helm's marks of the release.
func (r *releaseWork) current() (*release.Release, error) {
	for {
		rel, err := r.last()
		if rel == nil || err != nil {
			return nil, err
		}
		if err := r.owned(rel); err != nil {
			return nil, err
		}
		own := rel.Labels[labelOperation] == r.operation && rel.Info.Status != common.StatusDeployed
		if !own && !rel.Info.Status.IsPending() {
			return rel, nil
		}
		if _, err := r.helm.Releases.Delete(rel.Name, rel.Version); err != nil &&
			!errors.Is(err, driver.ErrReleaseNotFound) {
			return nil, r.failure("remove the unfinished record of", err)
		}
	}
}

// apply makes the release what the operation leads to: Helm installs or upgrades it once.
func (r *releaseWork) apply(ctx context.Context, c *chart.Chart, values map[string]any) error {
	rel, err := r.current()
	if err != nil || rel != nil && rel.Labels[labelOperation] == r.operation {
		return err
	}
	if c, err = r.rendered(ctx, rel, c, values); err != nil {
		return err
	}
	if rel == nil {
		return r.install(ctx, c, values)
	}
	u := action.NewUpgrade(r.helm)
	u.Namespace, u.Timeout, u.MaxHistory, u.WaitStrategy = r.namespace, r.hooks, maxHistory, kube.HookOnlyStrategy
	u.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	u.PostRenderer, u.Labels, u.ForceConflicts = r.marker(), r.labels(), true
	u.ServerSideApply, u.ResetValues, u.DisableOpenAPIValidation = "true", true, true
	_, err = u.RunWithContext(ctx, r.name, c, values)
	return r.failure("upgrade", err)
}

func (r *releaseWork) install(ctx context.Context, c *chart.Chart, values map[string]any) error {
	i := action.NewInstall(r.helm)
	i.ReleaseName, i.Namespace, i.Timeout, i.WaitStrategy = r.name, r.namespace, r.hooks, kube.HookOnlyStrategy
	i.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	i.PostRenderer, i.Labels, i.ForceConflicts = r.marker(), r.labels(), true
	i.DisableOpenAPIValidation = true
	_, err := i.RunWithContext(ctx, c, values)
	return r.failure("install", err)
}

func (r *releaseWork) labels() map[string]string {
	return map[string]string{labelInstance: r.instance, labelOperation: r.operation}
}

// restore rolls the release back to the revision before the operation; without one it is left as it is.
func (r *releaseWork) restore(ctx context.Context) error {
	rel, err := r.last()
	if rel == nil || err != nil {
		return err
	}
	if err := r.owned(rel); err != nil {
		return err
	}
	if rel.Info.Status == common.StatusPendingRollback { // a dead node's, which is done again
		if _, err := r.helm.Releases.Delete(rel.Name, rel.Version); err != nil {
			return r.failure("remove the unfinished record of", err)
		}
		return r.restore(ctx)
	}
	if rel.Labels[labelOperation] != r.operation {
		return nil
	}
	target := 0
	for v := rel.Version - 1; v > 0 && target == 0; v-- {
		old, err := r.helm.Releases.Get(r.name, v)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			continue
		}
		if err != nil {
			return r.failure("read the record of", err)
		}
		was, err := record(old)
		if err != nil {
			return err
		}
		done := was.Info.Status == common.StatusDeployed || was.Info.Status == common.StatusSuperseded
		if done && was.Labels[labelOperation] != r.operation {
			target = v
		}
	}
	if target == 0 {
		return lcm.Errorf(lcm.CodeConflict, "the release %s has no revision from before the operation", r.name)
	}
	if rel.Info.Status.IsPending() {
		rel.SetStatus(common.StatusFailed, "the operation was given up")
		if err := r.helm.Releases.Update(rel); err != nil {
			return r.failure("mark the unfinished record of", err)
		}
	}
	b := action.NewRollback(r.helm)
	b.Version, b.Timeout, b.MaxHistory, b.WaitStrategy = target, r.hooks, maxHistory, kube.HookOnlyStrategy
	b.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	b.ForceConflicts, b.ServerSideApply = true, "true"
	return r.failure("roll back", b.Run(r.name))
}

// uninstall deletes the release; nil when there is none.
func (r *releaseWork) uninstall(ctx context.Context) error {
	rel, err := r.last()
	if rel == nil || err != nil {
		return err
	}
	if err := r.owned(rel); err != nil {
		return err
	}
	u := action.NewUninstall(r.helm)
	u.IgnoreNotFound, u.Timeout, u.WaitStrategy = true, r.hooks, kube.HookOnlyStrategy
	u.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	u.DeletionPropagation = "foreground"
	heard := &heard{}
	r.helm.SetLogger(heard)
	_, err = u.Run(r.name)
	return r.failure("uninstall", heard.complete(err))
}

// failure is the error of an action, with Helm's or the API server's own text.
func (r *releaseWork) failure(what string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok {
		return e
	}
	e := lcm.Errorf(lcm.CodeUpstream, "%s the Helm release %s in the namespace %s: %w (cluster %s)", what, r.name,
		r.namespace, err, r.host)
	e.Title = "Helm failed"
	return classify(e, err)
}

// classify sets code, class and hint of the error of a request to a cluster.
func classify(e *lcm.Error, err error) *lcm.Error {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
	case strings.Contains(err.Error(), "cluster unreachable"), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Class = lcm.CodeUnavailable, lcm.Transient
		return e
	default:
		return e
	}
	switch code := status.Status().Code; {
	case apierrors.IsUnauthorized(err):
		e.Class = lcm.Auth
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		e.Class, e.Hint = lcm.Quota, "raise the quota of the namespace or choose a smaller instantiation level"
	case apierrors.IsForbidden(err):
		e.Class, e.Hint = lcm.Auth, "give the user of the VIM connection the rights for the objects of the chart"
	case apierrors.IsTooManyRequests(err), apierrors.IsConflict(err), code >= 500:
		e.Class = lcm.Transient
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			e.RetryAfter = time.Duration(seconds) * time.Second
		}
	}
	return e
}
