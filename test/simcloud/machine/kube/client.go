package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/test/simcloud/machine/netstack"
	"github.com/gybe-nfv/gybe/test/simcloud/machine/process"
)

// config is what a kubeconfig file says of the cluster and the user in its current context.
type config struct {
	server, token string
	namespace     string
	ca, cert, key []byte
	insecure      bool // only for discovery, which checks the CA itself
}

func loadConfig(data []byte) (*config, error) {
	cfg, err := clientcmd.Load(data)
	if err != nil {
		return nil, err
	}
	ctx := cfg.Contexts[cfg.CurrentContext]
	if ctx == nil || cfg.Clusters[ctx.Cluster] == nil {
		return nil, errors.New("no configuration has been provided, try setting KUBERNETES_MASTER environment variable")
	}
	cl := cfg.Clusters[ctx.Cluster]
	k := &config{server: cl.Server, ca: cl.CertificateAuthorityData, namespace: ctx.Namespace}
	if u := cfg.AuthInfos[ctx.AuthInfo]; u != nil {
		k.token, k.cert, k.key = u.Token, u.ClientCertificateData, u.ClientKeyData
	}
	return k, nil
}

// client talks to an API server over the machine's network.
type client struct {
	*config
	table bool // ask for what kubectl prints
	http  *http.Client
	tr    *http.Transport
}

// connect makes a client for programs of p's machine.
func (k *config) connect(p *process.Proc, timeout time.Duration) (*client, error) {
	// As the API server, without a key for ML-KEM: scripts call kubectl thousands of times.
	conf := &tls.Config{InsecureSkipVerify: k.insecure, CurvePreferences: []tls.CurveID{tls.X25519}}
	if len(k.ca) > 0 {
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AppendCertsFromPEM(k.ca)
	}
	if len(k.cert) > 0 {
		pair, err := tls.X509KeyPair(k.cert, k.key)
		if err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	tr := &http.Transport{
		TLSClientConfig: conf, TLSHandshakeTimeout: 10 * time.Second,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return p.Sys.Net.Dial(ctx, addr) },
	}
	c := &http.Client{Transport: tr}
	if timeout > 0 {
		c.Timeout = max(p.Sys.Clock.Real(timeout), 6*time.Second) // a busy machine needs more than a fast clock gives
	}
	return &client{config: k, http: c, tr: tr}, nil
}

func (c *client) close() { c.tr.CloseIdleConnections() }

// maxAnswer bounds what is read of an answer.
const maxAnswer = 16 << 20

// do makes one request and returns status and body.
func (c *client) do(ctx context.Context, method, path, contentType string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	if c.table {
		req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
	}
	req.Header.Set("User-Agent", "kubectl/simulated")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res.StatusCode, b, err
}

// get makes a request and returns the body of the answer; a refusal is an error.
func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	st, body, err := c.do(ctx, http.MethodGet, path, "", nil)
	if err == nil && st != http.StatusOK {
		return nil, errors.New(message(body))
	}
	return body, err
}

// message is the text of an error answer.
func message(body []byte) string {
	var st struct{ Message string }
	if json.Unmarshal(body, &st) == nil && st.Message != "" {
		return st.Message
	}
	return strings.TrimSpace(string(body))
}

// healthy reports whether the API server answers that it is ready.
func (k *config) healthy(ctx context.Context, p *process.Proc) bool {
	c, err := k.connect(p, 5*time.Second)
	if err != nil {
		return false
	}
	defer c.close()
	_, err = c.get(ctx, "/readyz")
	return err == nil
}

// connectError says in kubectl's words why there was no answer.
func connectError(err error) string {
	var u *url.Error
	if !errors.As(err, &u) {
		return err.Error()
	}
	at := u.URL
	if p, perr := url.Parse(u.URL); perr == nil {
		at = p.Host
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", at)
	case errors.As(err, &unknown), errors.As(err, &host):
		return "Unable to connect to the server: " + u.Err.Error()
	case netstack.NoHost(err):
		return fmt.Sprintf("Unable to connect to the server: dial tcp: lookup %s: no such host", at)
	case u.Timeout():
		return "Unable to connect to the server: net/http: request canceled while waiting for connection " +
			"(Client.Timeout exceeded while awaiting headers)"
	}
	return "Unable to connect to the server: " + u.Err.Error()
}
