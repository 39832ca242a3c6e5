package cnf_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/cnf"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/kubernetes/objects"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/infratest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/vnfd"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// model is a VNFD with one VDU, the Deployment web.
func model() *vnfd.VNFD {
	return &vnfd.VNFD{
		ID: "b1bb0ce7-ebca-4fa7-95ed-4840d70a1177", Version: "1.0", Provider: "Company", ProductName: "Sample CNF",
		SoftwareVersion: "1.0", Flavours: []vnfd.Flavour{{
			ID:   "simple",
			VDUs: []vnfd.VDU{{Name: "VDU1", DisplayName: "web", MinInstances: 1, MaxInstances: 4, InitialInstances: 2}},
			Aspects: []vnfd.ScalingAspect{{
				ID: "web", MaxScaleLevel: 2, Steps: []map[string]int{{"VDU1": 1}, {"VDU1": 1}},
			}},
			Levels: []vnfd.InstantiationLevel{
				{ID: "small", ScaleLevels: map[string]int{"web": 0}, VDUs: map[string]int{"VDU1": 2}},
			},
			DefaultLevel: "small",
		}},
	}
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 7
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: registry.test/web:1
`

const service = `apiVersion: v1
kind: ConfigMap
metadata:
  name: page
data:
  index.html: hello
---
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  type: NodePort
  selector: {app: web}
  ports:
  - port: 80
`

func files() fstest.MapFS {
	return fstest.MapFS{
		"Files/kubernetes/deployment.yaml": {Data: []byte(deployment)},
		"Files/kubernetes/service.yaml":    {Data: []byte(service)},
	}
}

func request() sol.InstantiateVnfRequest {
	return sol.InstantiateVnfRequest{FlavourID: "simple", AdditionalParams: sol.KeyValuePairs{
		"lcm-kubernetes-def-files": []any{"Files/kubernetes/deployment.yaml", "Files/kubernetes/service.yaml"},
	}}
}

// cluster is a simulated cluster as the VIM of one test.
type cluster struct {
	*kubeapi.Cluster
	t    *testing.T
	url  string
	cred kubeapi.Credential

	mu      sync.Mutex
	refusal string
	slow    time.Duration
	timer   *time.Timer
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	sim, url := kubeapi.StartTest(t)
	sim.CNIInstalled(true)
	sim.AddNode(kubeapi.NodeSpec{Name: "worker1", IP: "10.0.0.2"})
	c := &cluster{Cluster: sim, t: t, url: url}
	cred, err := sim.IssueClient("admin", "system:masters")
	require.NoError(t, err)
	c.cred = cred
	return c
}

// roundTrip is a node's transport to the API server.
type roundTrip struct {
	*cluster
	node *infratest.Node
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r roundTrip) RoundTrip(req *http.Request) (res *http.Response, err error) {
	if req.URL.Query().Get("watch") != "" { // the driver has no watch that could be cut
		r.t.Errorf("%s is watched", req.URL)
	}
	changes := req.Method != http.MethodGet && req.URL.Query().Get("dryRun") == ""
	send := func() error {
		r.mu.Lock()
		text := r.refusal
		r.mu.Unlock()
		if text != "" && changes && strings.Contains(req.URL.Path, "/deployments/") {
			res = refused(req, text)
			return nil
		}
		res, err = r.next.RoundTrip(req)
		return err
	}
	if r.node == nil {
		return res, send()
	}
	if err := r.node.Call(changes, send); err != nil {
		if res != nil {
			_ = res.Body.Close()
		}
		return nil, err
	}
	return res, nil
}

// refused is the answer of an API server whose webhook denies a request.
func refused(req *http.Request, text string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":400,"reason":"BadRequest",
		"message":"admission webhook \"guard\" denied the request: %s"}`, text)
	return &http.Response{
		Status: "400 Bad Request", StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		Request: req,
	}
}

// Infra implements infratest.VIM.
func (c *cluster) Infra(node *infratest.Node) lcm.Infra {
	d := cnf.New(cnf.Config{Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip{c, node, next}
	}}, slog.New(slog.DiscardHandler))
	c.t.Cleanup(d.Close)
	return d
}

// Connections implements infratest.VIM.
func (c *cluster) Connections() map[string]sol.VimConnectionInfo {
	return map[string]sol.VimConnectionInfo{"vim1": kubernetes.Access{
		Endpoint: c.url, CA: c.CAPEM(), Certificate: c.cred.Certificate, Key: c.cred.Key,
	}.Vim()}
}

// Second implements infratest.VIM.
func (c *cluster) Second() sol.VimConnectionInfo { return c.Connections()["vim1"] }

// own gives every instance a namespace of its own.
func own(vim infratest.VIM, r sol.InstantiateVnfRequest, instance string) sol.InstantiateVnfRequest {
	c, _ := vim.(*cluster)
	ns := "ns-" + instance[:8]
	c.create("Namespace", "", ns, kubeapi.Object{})
	params := sol.KeyValuePairs{"namespace": ns}
	maps.Copy(params, r.AdditionalParams)
	r.AdditionalParams = params
	return r
}

// create makes an object without the driver.
func (c *cluster) create(kind, namespace, name string, o kubeapi.Object) {
	c.t.Helper()
	meta, _ := o["metadata"].(kubeapi.Object)
	if meta == nil {
		meta = kubeapi.Object{}
	}
	meta["name"] = name
	o["metadata"] = meta
	_, err := c.Store().Create(kubeapi.Kind(kind), namespace, o)
	require.NoError(c.t, err)
}

// Contents implements infratest.VIM.
func (c *cluster) Contents() []infratest.Content {
	var out []infratest.Content
	for _, kind := range []string{"Deployment", "ReplicaSet", "DaemonSet", "Pod", "Service", "ConfigMap"} {
		for _, o := range c.objects(kind) {
			id := kubeapi.Name(o)
			if kind != "Pod" {
				id = kubeapi.Namespace(o) + "/" + id
			}
			out = append(out, infratest.Content{Kind: kind, ID: id})
		}
	}
	return out
}

// objects lists the objects of the instances.
func (c *cluster) objects(kind string) []kubeapi.Object {
	all, _ := c.Store().List(kubeapi.Kind(kind), "")
	return slices.DeleteFunc(all, func(o kubeapi.Object) bool {
		ns := kubeapi.Namespace(o)
		return ns == "kube-system" || ns == "kube-public" || ns == "default" && kubeapi.Name(o) == "kubernetes" ||
			kubeapi.Name(o) == "kube-root-ca.crt" || kubeapi.Meta(o)["deletionTimestamp"] != nil
	})
}

// Busy implements infratest.VIM. From the first pending pod on it takes the time of Slow until pods run.
func (c *cluster) Busy() bool {
	pending := slices.ContainsFunc(c.objects("Pod"), func(o kubeapi.Object) bool {
		return kubeapi.String(o, "status", "phase") != "Running"
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if pending && c.slow > 0 && c.timer == nil {
		c.timer = time.AfterFunc(c.slow, func() { c.CNIInstalled(true) })
	}
	return pending
}

// Lose implements infratest.VIM.
func (c *cluster) Lose(machine lcm.Resource) {
	c.t.Helper()
	for _, p := range c.objects("Pod") {
		if kubeapi.Name(p) == machine.ID {
			code, body := c.Do(context.Background(), kubeapi.Admin, http.MethodDelete,
				kubeapi.Kind("Pod").Path(kubeapi.Namespace(p), machine.ID), "", nil)
			require.Equal(c.t, http.StatusOK, code, "%s", body)
		}
	}
}

// Leave implements infratest.VIM.
func (c *cluster) Leave(instance string) string {
	c.t.Helper()
	name := "left-" + uuid.NewString()[:8]
	c.create("ConfigMap", "default", name, kubeapi.Object{"metadata": kubeapi.Object{
		"labels": map[string]any{objects.LabelInstance: instance},
	}})
	return "default/" + name
}

// Refuse implements infratest.VIM.
func (c *cluster) Refuse(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal = text
	return "web"
}

// Slow implements infratest.VIM.
func (c *cluster) Slow(d time.Duration) {
	c.mu.Lock()
	c.slow = d
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.mu.Unlock()
	c.CNIInstalled(d == 0)
}

// TestDriverFulfilsTheContract runs the contract of infra drivers.
func TestDriverFulfilsTheContract(t *testing.T) {
	infratest.Contract(t, harness(deployment))
}
