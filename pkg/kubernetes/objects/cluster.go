package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
)

// ErrUnknownKind is the cause of errors about an object whose kind the cluster does not serve: it does not exist, or
// its CustomResourceDefinition has not been applied yet.
var ErrUnknownKind = errors.New("the cluster does not serve the kind")

// Cluster is a client of one API server for objects of all kinds. It is safe for concurrent use.
type Cluster struct {
	client *kubernetes.Client

	mu    sync.Mutex
	known map[schema.GroupVersion][]metav1.APIResource // what the API server has said
}

// New returns a client with the configuration of kubernetes.Access. It does not connect.
func New(cfg *rest.Config) (*Cluster, error) {
	c, err := kubernetes.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Cluster{client: c, known: map[schema.GroupVersion][]metav1.APIResource{}}, nil
}

// Close ends the connections. Running and later calls fail.
func (c *Cluster) Close() { c.client.Close() }

// resource returns how the API server serves a kind. It asks again if the kind is not in what it knows.
func (c *Cluster) resource(ctx context.Context, gvk schema.GroupVersionKind) (metav1.APIResource, error) {
	gv := gvk.GroupVersion()
	find := func(list []metav1.APIResource) int {
		return slices.IndexFunc(list, func(r metav1.APIResource) bool {
			return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/")
		})
	}
	c.mu.Lock()
	list := c.known[gv]
	c.mu.Unlock()
	if n := find(list); n >= 0 {
		return list[n], nil
	}
	list, err := c.discover(ctx, gv)
	if err != nil {
		return metav1.APIResource{}, err
	}
	if n := find(list); n >= 0 {
		return list[n], nil
	}
	e := lcm.Errorf(lcm.CodeUnprocessable, "the cluster does not serve the kind %s of %s", gvk.Kind, gv)
	e.Title, e.Cause = "Unknown kind", ErrUnknownKind
	return metav1.APIResource{}, e.WithHint(
		"install the CustomResourceDefinition of the kind, or use an API version that the cluster has")
}

// discover reads the resources of a group and version; none if there is no such group.
func (c *Cluster) discover(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	raw, err := c.send(ctx, "read the API of "+gv.String(), c.client.REST().Get().AbsPath(groupPath(gv)))
	if err != nil {
		if lcm.AsError(err).Code == lcm.CodeNotFound {
			return nil, nil
		}
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the API of %s is not a list of resources: %w", gv, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[gv] = list.APIResources
	return list.APIResources, nil
}

// forget lets the next call ask which kinds the API server serves of a group and version.
func (c *Cluster) forget(gv schema.GroupVersion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, gv)
}

func groupPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

// Namespaced says whether objects of a kind belong to a namespace. An error with the cause ErrUnknownKind if the
// cluster does not serve the kind.
func (c *Cluster) Namespaced(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	r, err := c.resource(ctx, gvk)
	return r.Namespaced, err
}

// path returns the path of an object, or of a collection if name is empty. An empty namespace of an object means
// default, that of a collection all namespaces.
func (c *Cluster) path(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (string, error) {
	r, err := c.resource(ctx, gvk)
	if err != nil {
		return "", err
	}
	p := groupPath(gvk.GroupVersion())
	if r.Namespaced && namespace == "" && name != "" {
		namespace = metav1.NamespaceDefault
	}
	if r.Namespaced && namespace != "" {
		p += "/namespaces/" + namespace
	}
	p += "/" + r.Name
	if name != "" {
		p += "/" + name
	}
	if problem := rest.IsValidPathSegmentName(name); len(problem) > 0 {
		return "", lcm.Errorf(lcm.CodeUnprocessable, "the name %q of a %s %s", name, gvk.Kind, problem[0])
	}
	if problem := rest.IsValidPathSegmentName(namespace); len(problem) > 0 {
		return "", lcm.Errorf(lcm.CodeUnprocessable, "the namespace %q of a %s %s", namespace, gvk.Kind, problem[0])
	}
	return p, nil
}

// send makes a request and returns the answer's body. A request is not repeated here: ticks are.
func (c *Cluster) send(ctx context.Context, what string, r *rest.Request) ([]byte, error) {
	res := r.MaxRetries(0).SetHeader("Accept", "application/json").Do(ctx)
	if err := res.Error(); err != nil {
		return nil, c.client.Explain(what, err)
	}
	raw, err := res.Raw()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return raw, nil
}
