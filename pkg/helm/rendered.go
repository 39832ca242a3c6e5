package helm

import (
	"context"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/gybe-nfv/gybe/pkg/helm/render"
)

// rendered executes the templates of a chart in a process of their own, and returns a chart in which nothing is left to
// execute. is is the present record of the release; nil for an installation.
func (r *releaseWork) rendered(
	ctx context.Context, is *release.Release, c *chart.Chart, values map[string]any,
) (*chart.Chart, error) {
	r.kinds.notOlder(kindsFresh) // templates can ask for kinds that were installed a moment ago
	version, err := r.kinds.ServerVersion()
	if err != nil {
		return nil, r.session.failure("ask for the version", err)
	}
	kinds, err := action.GetVersionSet(r.kinds)
	if err != nil {
		return nil, r.session.failure("ask for the kinds", err)
	}
	options := common.ReleaseOptions{Name: r.name, Namespace: r.namespace, Revision: 1, IsInstall: is == nil}
	if is != nil {
		options.Revision, options.IsUpgrade = is.Version+1, true
	}
	return render.Render(ctx, c, render.Input{
		Values: values, Release: options, Capabilities: &common.Capabilities{
			APIVersions: kinds, HelmVersion: common.DefaultCapabilities.HelmVersion,
			KubeVersion: common.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor},
		},
	}, r.lookup)
}

// lookup is the function of templates: an object, or a list when name is "". What does not exist is empty.
func (s *session) lookup(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	m, err := s.kinds.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, s.failure("look up the kind "+kind, err)
	}
	var c dynamic.ResourceInterface = s.objects.Resource(m.Resource)
	if m.Scope.Name() == meta.RESTScopeNameNamespace && namespace != "" {
		c = s.objects.Resource(m.Resource).Namespace(namespace)
	}
	if name == "" {
		list, err := c.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, s.failure("look up "+kind, err)
		}
		return list.UnstructuredContent(), nil
	}
	o, err := c.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, s.failure("look up "+kind+" "+name, err)
	}
	return o.UnstructuredContent(), nil
}
