package helm

import (
	"context"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gybe-nfv/gybe/pkg/helm/chart"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// Preview implements lcm.Infra: Helm renders the charts against the cluster without changing anything, and the objects
// are compared with those of the present releases.
func (d *Driver) Preview(ctx context.Context, r lcm.Request) (*lcm.Preview, error) {
	out := &lcm.Preview{Operation: r.Type, Possible: true}
	previewVNFCs(out, r)
	s, err := d.opened(ctx, r.Instance)
	if err != nil {
		return nil, err
	}
	defer s.close()
	settings, err := parse(r.AdditionalParams, r.Flavour, r.Instance.ID)
	if err != nil && r.Type != sol.LcmOperationTerminate {
		return nil, err
	}
	s.namespace = settings.namespace
	for n := range settings.releases {
		spec := &settings.releases[n]
		was, now, err := d.compare(ctx, s, spec, r)
		if err != nil {
			out.Possible = false
			e := lcm.AsError(err)
			out.Checks = append(out.Checks, lcm.Check{
				State: lcm.CheckFailed, Subject: "release " + spec.name, Detail: e.Detail, Hint: e.Hint,
			})
			continue
		}
		out.Checks = append(out.Checks, lcm.Check{
			State: lcm.CheckOK, Subject: "release " + spec.name, Detail: "Helm renders the chart in " + s.namespace,
		})
		if r.Type == sol.LcmOperationHeal && r.Scope != nil && r.Scope.Whole {
			for _, o := range was {
				out.Replace = append(out.Replace, planned(o, ""))
			}
			continue
		}
		difference(out, was, now)
	}
	out.Complete()
	return out, nil
}

// previewVNFCs lists the VNFCs that the request is about.
func previewVNFCs(out *lcm.Preview, r lcm.Request) {
	pod := func(id string) lcm.PlannedResource {
		p := lcm.PlannedResource{Type: "Pod", VNFC: id, Kind: lcm.KindContainer}
		for _, res := range r.Instance.Inventory {
			if res.VNFC == id {
				p.Name, p.VDU, p.ID = res.Name, res.VDU, res.ID
			}
		}
		return p
	}
	add := map[string]int{}
	switch {
	case r.Scope != nil:
		add = r.Scope.Add
	case r.Type == sol.LcmOperationInstantiate:
		level, _ := instantiationLevel(r.Params)
		add, _ = r.Flavour.Counts(level)
	default:
		for _, res := range r.Instance.Inventory {
			if res.VNFC != "" {
				out.Remove = append(out.Remove, pod(res.VNFC))
			}
		}
	}
	for n := range r.Flavour.VDUs {
		vdu := r.Flavour.VDUs[n].Name
		for range add[vdu] {
			out.Add = append(out.Add, lcm.PlannedResource{Type: "Pod", Name: vdu, VDU: vdu, Kind: lcm.KindContainer})
		}
	}
	if r.Scope == nil {
		return
	}
	for _, id := range r.Scope.Remove {
		out.Remove = append(out.Remove, pod(id))
	}
	if r.Type == sol.LcmOperationHeal {
		for _, id := range r.Scope.VNFCs {
			out.Replace = append(out.Replace, pod(id))
		}
	}
}

// compare returns the objects that a release has and would have.
func (d *Driver) compare(
	ctx context.Context, s *session, spec *spec, r lcm.Request,
) (was, now []*unstructured.Unstructured, err error) {
	w := s.release(spec.name, r.Instance.ID, "")
	rel, err := w.last()
	if err != nil {
		return nil, nil, err
	}
	if rel != nil {
		if err := w.owned(rel); err != nil {
			return nil, nil, err
		}
		if was, err = decode(strings.NewReader(rel.Manifest)); err != nil {
			return nil, nil, w.failure("read the objects of", err)
		}
	}
	switch r.Type { //nolint:exhaustive // the others render the charts
	case sol.LcmOperationTerminate:
		return was, nil, nil
	case sol.LcmOperationHeal:
		return was, was, nil
	}
	var c *helmchart.Chart
	if spec.path != "" {
		c, err = chart.FromPackage(r.Package, spec.path)
	} else {
		c, err = d.servers.Fetch(ctx, spec.source)
	}
	if err != nil {
		return nil, nil, err
	}
	values, err := spec.values(r.Package, plannedPods(r))
	if err != nil {
		return nil, nil, err
	}
	manifest, err := w.render(ctx, rel, c, values)
	if err != nil {
		return nil, nil, err
	}
	now, err = decode(strings.NewReader(manifest))
	return was, now, w.failure("read the objects of", err)
}

// render returns the manifests that Helm would apply. Nothing is changed.
func (r *releaseWork) render(
	ctx context.Context, is *release.Release, c *helmchart.Chart, values map[string]any,
) (string, error) {
	undefined := r.undefined(c)
	c, err := r.rendered(ctx, is, c, values)
	if err != nil {
		return "", err
	}
	if is == nil {
		if client, ok := r.helm.KubeClient.(unvalidated); ok && len(undefined) > 0 {
			r.helm.KubeClient = without{client, undefined}
		}
		i := action.NewInstall(r.helm)
		i.ReleaseName, i.Namespace, i.DryRunStrategy = r.name, r.namespace, action.DryRunServer
		i.PostRenderer, i.DisableOpenAPIValidation = r.marker(), true
		rel, err := i.RunWithContext(ctx, c, values)
		if err != nil {
			return "", r.failure("render", err)
		}
		out, err := record(rel)
		if err != nil {
			return "", err
		}
		return out.Manifest, nil
	}
	u := action.NewUpgrade(r.helm)
	u.Namespace, u.DryRunStrategy, u.ResetValues = r.namespace, action.DryRunServer, true
	u.PostRenderer, u.DisableOpenAPIValidation = r.marker(), true
	rel, err := u.RunWithContext(ctx, r.name, c, values)
	if err != nil {
		return "", r.failure("render", err)
	}
	out, err := record(rel)
	if err != nil {
		return "", err
	}
	return out.Manifest, nil
}

// planned is the entry of an object in a preview.
func planned(o *unstructured.Unstructured, detail string) lcm.PlannedResource {
	return lcm.PlannedResource{Type: o.GetKind(), Name: o.GetName(), Kind: kindOf(o.GetKind()), Detail: detail}
}

// difference lists the objects that come, go and change.
func difference(out *lcm.Preview, was, now []*unstructured.Unstructured) {
	same := func(a, b *unstructured.Unstructured) bool {
		return a.GroupVersionKind() == b.GroupVersionKind() && a.GetName() == b.GetName() &&
			a.GetNamespace() == b.GetNamespace()
	}
	for _, o := range now {
		n := slices.IndexFunc(was, func(old *unstructured.Unstructured) bool { return same(old, o) })
		switch {
		case n < 0:
			out.Add = append(out.Add, planned(o, ""))
		default:
			if detail := objects.Summarize(objects.Diff(was[n], o)); detail != "" {
				out.Change = append(out.Change, planned(o, detail))
			}
		}
	}
	for _, o := range was {
		if !slices.ContainsFunc(now, func(other *unstructured.Unstructured) bool { return same(o, other) }) {
			out.Remove = append(out.Remove, planned(o, "the chart does not have it any more"))
		}
	}
}
