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
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/redirect"
	"github.com/gybe-nfv/gybe/pkg/sol"
)

// maxAnswer bounds an answer of an API server, in bytes.
const maxAnswer = 64 << 20

// session is the connection of one tick to a cluster. Helm's actions do not take a context for their requests: the
// session's transport ends them with the tick, and lets none through after it.
type session struct {
	*Driver
	config    *rest.Config
	host      string
	namespace string

	mapper    meta.ResettableRESTMapper
	discovery discovery.CachedDiscoveryInterface
	objects   dynamic.Interface
	core      *corev1client.CoreV1Client

	transport *http.Transport
	cancel    context.CancelFunc
}

// open connects to a cluster with the connection of an instance. The caller must close the session.
func (d *Driver) open(ctx context.Context, vim sol.VimConnectionInfo, namespace string) (*session, error) {
	key := lcm.VimKey(vim)
	vim.VimType = kubernetes.VimType
	access, err := kubernetes.FromVim(vim)
	if err != nil {
		return nil, err
	}
	cfg := access.Outbound(d.cfg.Outbound)
	tls, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, lcm.Errorf(lcm.CodeUpstream, "the credentials of the cluster %s cannot be used: %w", cfg.Host, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		Driver: d, host: cfg.Host, namespace: namespace, cancel: cancel,
		transport: &http.Transport{
			TLSClientConfig: tls, DialContext: cfg.Dial, Proxy: cfg.Proxy, ForceAttemptHTTP2: true,
			ResponseHeaderTimeout: d.cfg.RequestTimeout, TLSHandshakeTimeout: d.cfg.RequestTimeout,
		},
	}
	rt := d.cfg.Availability.Wrap(key, s.transport)
	if d.cfg.WrapTransport != nil {
		rt = d.cfg.WrapTransport(rt)
	}
	cfg.TLSClientConfig, cfg.Dial, cfg.Proxy = rest.TLSClientConfig{}, nil, nil
	cfg.Transport = sameServer{bound{ctx, rt}}
	cfg.QPS, cfg.UserAgent, cfg.WarningHandler = -1, "gybe", rest.NoWarnings{}
	s.config = cfg
	if err := s.clients(); err != nil {
		s.close()
		return nil, lcm.Errorf(lcm.CodeUpstream, "the address of the cluster %s cannot be used: %w", cfg.Host, err)
	}
	return s, nil
}

func (s *session) clients() error {
	d, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		return err
	}
	s.discovery = memory.NewMemCacheClient(d)
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(s.discovery)
	if s.objects, err = dynamic.NewForConfig(s.config); err != nil {
		return err
	}
	s.core, err = corev1client.NewForConfig(s.config)
	return err
}

// close ends the requests of the session.
func (s *session) close() {
	s.cancel()
	s.transport.CloseIdleConnections()
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
	c.RESTClientGetter, c.KubeClient, c.Releases = s, client, releases
	c.HookOutputFunc = func(string, string, string) io.Writer { return io.Discard }
	return c
}

// ToRESTConfig implements action.RESTClientGetter.
func (s *session) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(s.config), nil }

// ToDiscoveryClient implements action.RESTClientGetter.
func (s *session) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return s.discovery, nil
}

// ToRESTMapper implements action.RESTClientGetter.
func (s *session) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewShortcutExpander(s.mapper, s.discovery, nil), nil
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
