package helm

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/redirect"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// maxAnswer bounds an answer of an API server, in bytes.
const maxAnswer = 64 << 20

// session is the use of a cluster by one tick. Helm's actions do not take a context for their requests: the session's
// transport ends them with the tick, and lets none through after it.
type session struct {
	*Driver
	*server
	config    *rest.Config
	host      string
	namespace string
	objects   dynamic.Interface
	core      *corev1client.CoreV1Client
	close     func() // ends the requests of the session
}

// open begins a session with the connection of an instance. note gets every answer; it may be nil. The caller must
// close the session.
func (d *Driver) open(
	ctx context.Context, vim sol.VimConnectionInfo, namespace string, note func(*http.Request, *http.Response),
) (*session, error) {
	srv, release, err := d.clusters.Get(vim)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		Driver: d, server: srv, host: srv.config.Host, namespace: namespace, config: srv.bounded(ctx, 0, note),
		close: func() { cancel(); release() },
	}
	if s.objects, err = dynamic.NewForConfig(s.config); err == nil {
		s.core, err = corev1client.NewForConfig(s.config)
	}
	if err != nil {
		s.close()
		return nil, lcm.Errorf(lcm.CodeUpstream, "the address of the cluster %s cannot be used: %w", s.host, err)
	}
	srv.kinds.notOlder(kindsAge)
	return s, nil
}

// helm is the configuration of Helm's actions in the session's namespace.
func (s *session) helm() *action.Configuration {
	quiet := slog.DiscardHandler
	client := kube.New(s)
	client.Namespace = s.namespace
	client.SetLogger(quiet)
	records := driver.NewSecrets(s.core.Secrets(s.namespace))
	records.SetLogger(quiet)
	releases := storage.Init(records)
	releases.SetLogger(quiet)
	releases.MaxHistory = maxHistory
	c := action.NewConfiguration(action.ConfigurationSetLogger(quiet))
	c.RESTClientGetter, c.KubeClient, c.Releases = s, unvalidated{client}, releases
	c.HookOutputFunc = func(string, string, string) io.Writer { return io.Discard }
	return c
}

// unvalidated leaves the validation of objects to the API server. Helm would read the whole OpenAPI document of the
// cluster for each hook.
type unvalidated struct{ *kube.Client }

// Build implements kube.Interface.
func (c unvalidated) Build(r io.Reader, _ bool) (kube.ResourceList, error) {
	return c.Client.Build(r, false)
}

// ToRESTConfig implements action.RESTClientGetter.
func (s *session) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(s.config), nil }

// ToDiscoveryClient implements action.RESTClientGetter.
func (s *session) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return s.kinds, nil
}

// ToRESTMapper implements action.RESTClientGetter.
func (s *session) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewShortcutExpander(s.kinds.mapper, s.kinds, nil), nil
}

// ToRawKubeConfigLoader implements action.RESTClientGetter. Helm asks it for the namespace only.
func (s *session) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*api.NewConfig(), &clientcmd.ConfigOverrides{
		Context: api.Context{Namespace: s.namespace}, ClusterInfo: api.Cluster{Server: s.host},
	})
}

// sameServer refuses redirects of an API server: client-go adds the token to every request, also to redirected ones.
type sameServer struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r sameServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if via := req.Response; via != nil && via.Request != nil {
		if err := redirect.SameServer(req, []*http.Request{via.Request}); err != nil {
			return nil, err
		}
	}
	return r.next.RoundTrip(req)
}

// bound ends requests with a context besides their own, and bounds their answers.
type bound struct {
	//nolint:containedctx // it is the tick's, which Helm's actions do not pass on
	ctx  context.Context
	next http.RoundTripper
	note func(*http.Request, *http.Response)
}

// RoundTrip implements http.RoundTripper.
func (b bound) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := b.ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(b.ctx, cancel) //nolint:contextcheck // the request has its own, and this one besides
	end := func() { stop(); cancel() }
	res, err := b.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	if b.note != nil {
		b.note(req, res)
	}
	res.Body = &boundBody{ReadCloser: res.Body, left: maxAnswer, end: sync.OnceFunc(end)}
	return res, nil
}

// boundBody ends its request when it is closed, and fails when it is larger than left.
type boundBody struct {
	io.ReadCloser
	left int
	end  func()
}

// Read implements io.Reader.
func (b *boundBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, lcm.Errorf(lcm.CodeUpstream, "the answer of the API server is larger than %d MiB", maxAnswer>>20)
	}
	return n, err
}

// Close implements io.Closer.
func (b *boundBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// pause is the time between two looks at what the cluster is doing.
const pause = time.Second
