package kubeapi

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a new cluster. Everything has a default.
type Options struct {
	Name     string           // of the cluster in kubeconfig files; default kubernetes
	Version  string           // gitVersion of the API server; default v1.36.2
	Endpoint string           // controlPlaneEndpoint host:port, for the kube-public/cluster-info config map
	Now      func() time.Time // default time.Now
}

// Cluster is the state that all API servers of a cluster share. It is safe for concurrent use.
type Cluster struct {
	opts  Options
	now   func() time.Time
	pki   *pki
	store *Store
	line  *history

	once sync.Once
	done chan struct{} // closed by Close

	mu       sync.Mutex
	kubelets map[string]kubelet
	cni      bool
	etcd     map[string]*Member
	subnets  int // pod networks given to nodes so far
	faults   faults
	cut      chan struct{} // closed to end the watches of now

	requests    atomic.Int64
	controllers sync.Mutex // one round of controllers at a time
}

// NewCluster makes a cluster as kubeadm init leaves it, without nodes and without etcd members: as long as no member
// was added, quorum is not asked for.
func NewCluster(o Options) (*Cluster, error) {
	o.Name, o.Version = cmp.Or(o.Name, "kubernetes"), cmp.Or(o.Version, "v1.36.2")
	o.Endpoint = cmp.Or(o.Endpoint, "127.0.0.1:6443")
	if o.Now == nil {
		o.Now = time.Now
	}
	p, err := newPKI(o.Now())
	if err != nil {
		return nil, fmt.Errorf("make the CA of a cluster: %w", err)
	}
	c := &Cluster{
		opts: o, now: o.Now, pki: p, store: NewStore(o.Now), line: &history{}, done: make(chan struct{}),
		kubelets: map[string]kubelet{}, etcd: map[string]*Member{},
	}
	c.store.onCreate = c.admit
	if err := c.install(); err != nil {
		return nil, err
	}
	return c, nil
}

// Requests is the number of requests to all API servers of the cluster, without health checks.
func (c *Cluster) Requests() int64 { return c.requests.Load() }

// Close ends all watches and refuses further ones. Servers are closed by who started them.
func (c *Cluster) Close() {
	c.once.Do(func() { close(c.done) })
	c.CutWatches()
}

// install makes what kubeadm init leaves in a cluster.
func (c *Cluster) install() error {
	s := c.store
	info, err := c.clusterInfo()
	if err != nil {
		return fmt.Errorf("write the kubeconfig of cluster-info: %w", err)
	}
	s.mustCreate("ConfigMap", "kube-public", "cluster-info", Object{"data": Object{"kubeconfig": info}})
	conf := fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nclusterName: %s\ncontrolPlaneEndpoint: %s\n"+
		"kind: ClusterConfiguration\nkubernetesVersion: %s\n", c.opts.Name, c.opts.Endpoint, c.opts.Version)
	s.mustCreate("ConfigMap", "kube-system", "kubeadm-config", Object{"data": Object{"ClusterConfiguration": conf}})
	s.mustCreate("Service", "default", "kubernetes", Object{"spec": Object{
		"clusterIP": "10.96.0.1", "clusterIPs": []any{"10.96.0.1"},
		"ports": []any{Object{"name": "https", "port": int64(443), "targetPort": int64(6443), "protocol": "TCP"}},
	}})
	for _, sa := range []string{"coredns", "kube-proxy"} {
		s.mustCreate("ServiceAccount", "kube-system", sa, nil)
	}
	everywhere := []any{Object{"operator": "Exists"}}
	c.workload("DaemonSet", "kube-proxy", Object{}, Object{"hostNetwork": true, "tolerations": everywhere},
		"registry.k8s.io/kube-proxy:"+c.opts.Version)
	c.workload("Deployment", "coredns", Object{"replicas": int64(2)}, Object{"tolerations": []any{
		Object{"key": taintMaster, "effect": "NoSchedule"},
		Object{"key": "CriticalAddonsOnly", "operator": "Exists"},
	}}, "registry.k8s.io/coredns/coredns:v1.13.1")
	c.control()
	return nil
}

// workload makes a workload in kube-system.
func (c *Cluster) workload(kind, name string, spec, pod Object, image string) {
	labels := Object{"k8s-app": name}
	pod["containers"] = []any{Object{"name": name, "image": image}}
	pod["serviceAccountName"] = name
	spec["selector"] = Object{"matchLabels": labels}
	spec["template"] = Object{"metadata": Object{"labels": labels}, "spec": pod}
	c.store.mustCreate(kind, "kube-system", name, Object{"metadata": Object{"labels": labels}, "spec": spec})
}

// Store returns the objects themselves, without authorisation and quorum.
func (c *Cluster) Store() *Store { return c.store }

// userKey is the context key of the user of a request made in process.
type userKey struct{}

// Do makes one request in process, without TCP and TLS: the same routes, authorisation, quorum and answers as over
// HTTP. path may have a query; body may be JSON or YAML (contentType application/yaml). A watch ends with ctx or
// timeoutSeconds.
func (c *Cluster) Do(ctx context.Context, u User, method, path, contentType string, body []byte) (int, []byte) {
	target, err := url.ParseRequestURI(path)
	if err != nil {
		return http.StatusBadRequest, []byte(err.Error())
	}
	r := (&http.Request{
		Method: method, URL: target, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: "kubernetes.default.svc",
	}).WithContext(context.WithValue(ctx, userKey{}, u))
	r.Header.Set("Content-Type", cmp.Or(contentType, "application/json"))
	w := &recorder{header: http.Header{}}
	(&handler{c}).ServeHTTP(w, r)
	return cmp.Or(w.code, http.StatusOK), w.body.Bytes()
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(code int)        { w.code = cmp.Or(w.code, code) }
func (w *recorder) Write(b []byte) (int, error) { return w.body.Write(b) }
func (w *recorder) Flush()                      {}
