package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gybe-nfv/gybe/api/frame"
	"github.com/gybe-nfv/gybe/api/gybe"
	"github.com/gybe-nfv/gybe/api/vims"
	"github.com/gybe-nfv/gybe/api/vnflcm"
	"github.com/gybe-nfv/gybe/api/vnfpkgm"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/secret"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/sol/paging"
)

// openListeners takes the addresses, so that a node that cannot have them fails at once.
func (a *App) openListeners(ctx context.Context) (err error) {
	var lc net.ListenConfig
	if a.listener, err = lc.Listen(ctx, "tcp", a.cfg.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if a.cfg.DebugListen != "" {
		if a.debug, err = lc.Listen(ctx, "tcp", a.cfg.DebugListen); err != nil {
			return fmt.Errorf("debug_listen: %w", err)
		}
	}
	a.publicURL = strings.TrimRight(a.cfg.PublicURL, "/")
	if a.publicURL == "" {
		a.publicURL = a.listenURL(ctx)
	}
	return nil
}

// listenURL makes a URL of the listener's address.
func (a *App) listenURL(ctx context.Context) string {
	host, port, _ := net.SplitHostPort(a.Addr()) // a listener's address has both
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		a.log.WarnContext(ctx, "public_url is not set: links point to this machine only", "listen", a.Addr())
	}
	scheme := "http://"
	if a.cfg.TLS.CertFile != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}

// openHTTP mounts all interfaces.
func (a *App) openHTTP(ring *secret.Ring) error {
	// All nodes have the same keys, so all read each other's markers.
	markers, err := paging.NewSigner(ring.Fingerprint([]byte("paging markers")))
	if err != nil {
		return err
	}
	if a.auth, err = newAuth(a.cfg, a.log, a.metrics.AuthFailed); err != nil {
		return err
	}
	origins, err := a.origins()
	if err != nil {
		return fmt.Errorf("public_url: %w", err)
	}
	limits := a.cfg.Limits
	a.frame = frame.New(frame.Options{
		Auth: a.auth, Audit: a.audit,
		Log: a.log, PublicURL: a.publicURL, MaxBody: int64(limits.Body), BodyBudget: int64(limits.Bodies),
		AnswerBudget: int64(limits.Answers),
		Requests:     limits.Requests,
		Limits: frame.Limits{
			Values: limits.BodyValues, Attribute: int(limits.Attribute), Params: int(limits.Params),
			PageBytes: int(limits.PageBytes),
		},
		PageSize: limits.PageSize, Origins: origins, Markers: markers, Observe: a.metrics.Request,
		RequestKeys: a.store,
	})
	feeds := Feeds{a.store, a.feed, a.publicURL}
	(&vnflcm.API{Services: a.services, Subscriptions: a.subscriptions}).Mount(a.frame)
	(&vnfpkgm.API{
		Services: a.packages, MaxSize: int64(a.cfg.Limits.PackageSize), Subscriptions: a.subscriptions,
	}).Mount(a.frame)
	(&vims.API{
		Services: a.services, Clock: lcm.SystemClock{}, Check: a.checkVim, Unavailable: a.store.UnavailableVims,
	}).Mount(a.frame)
	api := &gybe.API{
		Services: a.services, Packages: a.packages, Feeds: feeds, Nodes: nodes(a.store), Kubeconfig: kubeconfig,
		KubernetesType: kubernetes.VimType,
		Clusters:       clusters{a.drivers.cluster, a.packages, a.store},
		Audit:          a.auditTrails,
		Subscriptions:  a.subscriptions,
		Quotas:         func(p lcm.Principal) gybe.Quota { return a.store.Of(p) },
		Streams:        a.cfg.Limits.EventStreams, Stopping: a.stopping, Ready: a.ready,
	}
	api.Mount(a.frame)
	if err := a.mountConsole(api, feeds, ring); err != nil {
		return err
	}
	conns := limitConnections(a.listener, limits.Connections, a.cfg.TLS.CertFile == "", a.log)
	a.listener = conns
	handler := http.Handler(a.frame)
	if a.opts.WrapAPI != nil {
		handler = a.opts.WrapAPI(handler)
	}
	a.server = &http.Server{
		Handler: handler, ConnState: conns.observe, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
		MaxHeaderBytes: int(limits.Header),
		// The memory of a connection with HTTP/2 before a handler reads, and its requests at the same time.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 100, MaxReceiveBufferPerConnection: 256 << 10, MaxReceiveBufferPerStream: 256 << 10,
		},
		// For requests and answers of ordinary size. Uploads, downloads and event streams set deadlines of their own.
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: writeTimeout,
		IdleTimeout: 2 * time.Minute,
	}
	a.server.RegisterOnShutdown(func() { close(a.stopping) })
	if a.cfg.TLS.CertFile != "" {
		a.server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		a.auth.ConfigureTLS(a.server.TLSConfig)
	}
	return nil
}

// writeTimeout bounds a request of ordinary size from start to end.
const writeTimeout = time.Minute

// ready says whether the node can serve: the database answers and the engine takes work. The heartbeats of the engine
// show both. They have a connection of their own, so a node is ready also while requests wait for one, and a probe,
// which needs no credentials, costs nothing. That the schema is there was made sure at the start.
func (a *App) ready(context.Context) error {
	if !a.engine.Registered() {
		return lcm.Errorf(
			lcm.CodeUnavailable, "the database does not answer, or the node is not registered with it yet",
		)
	}
	return nil
}

// checkVim logs in to a VIM that is about to be registered or changed.
func (a *App) checkVim(ctx context.Context, v lcm.Vim) (regions []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(a.cfg.OpenStack.RequestTimeout, writeTimeout*3/4))
	defer cancel()
	if v.Connection.VimType == kubernetes.VimType {
		_, err := kubernetes.Verify(ctx, v.Name, v.Connection, outboundPolicy(&a.cfg))
		return nil, err
	}
	return a.drivers.openstack.Check(ctx, v.Name, v.Connection)
}

func kubeconfig(c sol.VimConnectionInfo, cluster string) ([]byte, error) {
	access, err := kubernetes.FromVim(c)
	if err != nil {
		return nil, err
	}
	return access.Kubeconfig(cluster)
}

// serveHTTP serves the API until ctx ends, and lets running requests finish.
func (a *App) serveHTTP(ctx context.Context) error {
	return serve(ctx, a.server, func() error {
		if a.cfg.TLS.CertFile != "" {
			return a.server.ServeTLS(a.listener, a.cfg.TLS.CertFile, a.cfg.TLS.KeyFile)
		}
		return a.server.Serve(a.listener)
	})
}

// serveDebug serves /metrics and pprof.
func (a *App) serveDebug(ctx context.Context) error {
	h, err := guardDebug(a.metrics.Handler())
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	return serve(ctx, s, func() error { return s.Serve(a.debug) })
}

func serve(ctx context.Context, s *http.Server, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := s.Shutdown(stop); err != nil {
		return errors.Join(fmt.Errorf("requests did not end in time: %w", err), s.Close())
	}
	return nil
}
