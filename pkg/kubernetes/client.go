package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/redirect"
)

// requestTimeout limits one call of the API server.
const requestTimeout = 15 * time.Second

// Client is a client of one API server.
type Client struct {
	rest  *rest.RESTClient
	conns *connections
	host  string
}

// New returns a client. It does not connect.
func New(cfg *rest.Config) (*Client, error) {
	c := rest.CopyConfig(cfg)
	c.ContentType = runtime.ContentTypeJSON
	c.GroupVersion = &schema.GroupVersion{Version: "v1"}
	c.NegotiatedSerializer = codecs.WithoutConversion()
	c.Timeout = requestTimeout
	c.QPS = -1 // no rate limit: there are only a few calls per operation
	c.WarningHandler = rest.NoWarnings{}
	c.UserAgent = "gybe"
	conns := &connections{dial: c.Dial, open: map[*connection]struct{}{}}
	if conns.dial == nil {
		conns.dial = (&net.Dialer{}).DialContext
	}
	c.Dial = conns.dialContext
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the credentials of the cluster %s cannot be used: %w", cfg.Host, err)
	}
	h.Transport = limitedAnswers{h.Transport}
	h.CheckRedirect = redirect.SameServer // client-go adds the token to every request, also to redirected ones
	r, err := rest.RESTClientForConfigAndClient(c, h)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the address of the cluster %s cannot be used: %w", cfg.Host, err)
	}
	return &Client{rest: r, conns: conns, host: cfg.Host}, nil
}

var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(authenticationv1.AddToScheme(scheme))
	utilruntime.Must(authorizationv1.AddToScheme(scheme))
	utilruntime.Must(coordinationv1.AddToScheme(scheme))
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme)
}()

// Close ends the client's connections. Running and later calls fail.
func (c *Client) Close() { c.conns.close() }

// Ready asks whether the API server is ready to serve (GET /readyz).
func (c *Client) Ready(ctx context.Context) error {
	return c.requestError("ask the cluster whether it is ready", c.rest.Get().AbsPath("/readyz").Do(ctx).Error())
}

// Node is a node of a cluster.
type Node struct {
	Name    string
	Ready   bool
	Reason  string // why it is not Ready, as the kubelet reports it
	Version string // of the kubelet
	// InternalIP is the address by which the cluster knows the node.
	InternalIP   string
	ControlPlane bool
	Labels       map[string]string
	Annotations  map[string]string
	// Closed means that the node accepts no new pods (cordoned).
	Closed bool
}

// Nodes lists the nodes of the cluster.
func (c *Client) Nodes(ctx context.Context) ([]Node, error) {
	var list corev1.NodeList
	if err := c.rest.Get().AbsPath("/api/v1/nodes").Do(ctx).Into(&list); err != nil {
		return nil, c.requestError("list the nodes", err)
	}
	out := make([]Node, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, nodeOf(&list.Items[i]))
	}
	return out, nil
}

// NodeLeases returns when the kubelet of each node has last said that it runs, by the clock of the node. It does so
// every 10 s, and at its start. A node whose kubelet has never done it is not in the map.
func (c *Client) NodeLeases(ctx context.Context) (map[string]time.Time, error) {
	var list coordinationv1.LeaseList
	const path = "/apis/coordination.k8s.io/v1/namespaces/" + corev1.NamespaceNodeLease + "/leases"
	if err := c.rest.Get().AbsPath(path).Do(ctx).Into(&list); err != nil {
		return nil, c.requestError("list the leases of the nodes", err)
	}
	out := map[string]time.Time{}
	for i := range list.Items {
		if at := list.Items[i].Spec.RenewTime; at != nil {
			out[list.Items[i].Name] = at.Time
		}
	}
	return out, nil
}

// controlPlaneLabel is set by kubeadm on masters.
const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

func nodeOf(n *corev1.Node) Node {
	_, master := n.Labels[controlPlaneLabel]
	out := Node{
		Name: n.Name, Reason: "it has not reported yet", Version: n.Status.NodeInfo.KubeletVersion,
		ControlPlane: master, Labels: n.Labels, Annotations: n.Annotations, Closed: n.Spec.Unschedulable,
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out.Ready, out.Reason = c.Status == corev1.ConditionTrue, c.Message
			if out.Reason == "" {
				out.Reason = c.Reason
			}
		}
	}
	if out.Ready {
		out.Reason = ""
	}
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && out.InternalIP == "" {
			out.InternalIP = a.Address
		}
	}
	return out
}

// Label sets labels of a node. CodeNotFound when the cluster has no such node.
func (c *Client) Label(ctx context.Context, node string, labels map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return err
	}
	err = c.rest.Patch(types.MergePatchType).AbsPath("/api/v1/nodes", node).Body(patch).Do(ctx).Error()
	return c.requestError("label node "+node, err)
}

// requestError returns the error of a request, with the API server's text and a class for retries.
func (c *Client) requestError(what string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*lcm.Error](err); ok { // of the OpenID provider
		return e
	}
	var status apierrors.APIStatus
	answered := errors.As(err, &status)
	text := err.Error()
	if answered && isForeign(status.Status()) {
		text = fmt.Sprintf("the server answered %d without a Kubernetes Status", status.Status().Code)
	}
	e := lcm.Errorf(lcm.CodeUpstream, "%s: %s (cluster %s)", what, text, c.host)
	e.Title, e.Cause = "Kubernetes API failed", err
	var redirected *redirect.Error
	switch {
	case errors.As(err, &redirected):
		e.Title, e.Hint = "Kubernetes API redirects to another "+
			"server", "the token is not sent there; check the address of the cluster"
	case !answered:
		e.Code, e.Class = lcm.CodeUnavailable, lcm.Transient
		e.Hint = "check that the API server runs and that Gybe reaches its address"
	case apierrors.IsNotFound(err):
		e.Code = lcm.CodeNotFound
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
		e.Class = lcm.Auth
	case apierrors.IsConflict(err), apierrors.IsTooManyRequests(err),
		status.Status().Code >= http.StatusInternalServerError:
		e.Class = lcm.Transient
	}
	return e
}

// isForeign says that client-go made a Status of an answer that is none: its message quotes the answer.
func isForeign(s metav1.Status) bool {
	return s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}
