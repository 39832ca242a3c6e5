package kubeapi

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Server serves a cluster: one kube-apiserver.
type Server struct {
	http    *http.Server
	wg      sync.WaitGroup // the accept loop and requests
	mu      sync.Mutex
	closing bool
}

// Serve serves the cluster over TLS on a listener, which the server then owns.
func (c *Cluster) Serve(cert tls.Certificate, l net.Listener) *Server {
	s := &Server{}
	h := handler{c}
	s.http = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !s.begin() {
				panic(http.ErrAbortHandler)
			}
			defer s.wg.Done()
			h.ServeHTTP(w, r)
		}),
		// A certificate of a foreign CA must be answered with 401 and not with an alert, so it is checked later.
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert,
			MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519},
		},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // failed handshakes are no news in a simulation
	}
	s.wg.Go(func() { _ = s.http.ServeTLS(l, "", "") })
	return s
}

// begin counts a request in, unless the server is being closed.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.wg.Add(1)
	}
	return !s.closing
}

// Close closes the listeners and kills all connections at once, and waits until nothing of the server runs.
func (s *Server) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	_ = s.http.Close()
	s.wg.Wait()
}

// handler is the HTTP surface of one API server.
type handler struct{ c *Cluster }

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Cache-Control", "no-cache, private")
	path := strings.TrimSuffix(req.URL.Path, "/")
	u, ok := h.c.authenticate(req)
	if !ok {
		if hasCredentials(req) {
			writeError(w, apierrors.NewUnauthorized("Unauthorized"))
			return
		}
		u = anonymous
	}
	if check, ok := health(path); ok {
		h.health(w, check)
		return
	}
	h.c.requests.Add(1)
	if h.c.fail(w, req) {
		return
	}
	if err := h.route(w, req, u, path); err != nil {
		writeError(w, err)
	}
}

// hasCredentials reports whether a request carries credentials. One that has none is anonymous.
func hasCredentials(req *http.Request) bool {
	return req.Header.Get("Authorization") != "" || req.TLS != nil && len(req.TLS.PeerCertificates) > 0
}

// health returns the name of a health check.
func health(path string) (string, bool) {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return name, name == "healthz" || name == "livez" || name == "readyz"
}

func (h *handler) health(w http.ResponseWriter, check string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !h.c.Quorum() {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n%s check failed\n", check)
		return
	}
	_, _ = io.WriteString(w, "ok")
}

// ready refuses everything while etcd has no majority.
func (h *handler) ready() error {
	up, ok := h.c.etcdState()
	switch {
	case ok:
		return nil
	case up == 0:
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable,
			Reason: metav1.StatusReasonServiceUnavailable, Message: "etcdserver: no leader",
		}}
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "etcdserver: request timed out",
	}}
}
