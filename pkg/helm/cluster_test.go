package helm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/helm"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/lcm/infratest"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/tosca"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// sample is the folder of a sample package.
const sample = "../../vnf-packages/cnf-web-helm"

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
	cred, err := sim.IssueClient("admin", "system:masters")
	require.NoError(t, err)
	return &cluster{Cluster: sim, t: t, url: url, cred: cred}
}

// roundTrip is a node's transport to the API server.
type roundTrip struct {
	*cluster
	node *infratest.Node // nil for one that does not die
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r roundTrip) RoundTrip(req *http.Request) (res *http.Response, err error) {
	changes := req.Method != http.MethodGet
	send := func() error {
		r.mu.Lock()
		text := r.refusal
		r.mu.Unlock()
		if text != "" && changes && strings.Contains(req.URL.Path, "/deployments/") {
			res = refused(req, text)
			return nil
		}
		if changes { // what a node has sent reaches the cluster, although the node dies
			req = req.WithContext(context.WithoutCancel(req.Context()))
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
	d := helm.New(helm.Config{WrapTransport: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip{c, node, next}
	}}, slog.New(slog.DiscardHandler))
	c.t.Cleanup(d.Close)
	return d
}

// Connections implements infratest.VIM.
func (c *cluster) Connections() map[string]sol.VimConnectionInfo {
	vim := kubernetes.Access{
		Endpoint: c.url, CA: c.CAPEM(), Certificate: c.cred.Certificate, Key: c.cred.Key,
	}.Vim()
	vim.VimType = helm.VimType
	return map[string]sol.VimConnectionInfo{"vim1": vim}
}

// Second implements infratest.VIM.
func (c *cluster) Second() sol.VimConnectionInfo { return c.Connections()["vim1"] }

// own gives every instance a namespace of its own.
func own(vim infratest.VIM, r sol.InstantiateVnfRequest, instance string) sol.InstantiateVnfRequest {
	c, _ := vim.(*cluster)
	ns := "ns-" + instance[:8]
	c.create("Namespace", "", ns, nil)
	r.AdditionalParams = maps.Clone(r.AdditionalParams)
	r.AdditionalParams["namespace"] = ns
	return r
}

// create makes an object without the driver.
func (c *cluster) create(kind, namespace, name string, labels map[string]any) string {
	c.t.Helper()
	meta := kubeapi.Object{"name": name}
	if labels != nil {
		meta["labels"] = labels
	}
	o, err := c.Store().Create(kubeapi.Kind(kind), namespace, kubeapi.Object{"metadata": meta})
	require.NoError(c.t, err)
	return kubeapi.String(o, "metadata", "uid")
}

// Contents implements infratest.VIM: the objects of instances, and each release once.
func (c *cluster) Contents() []infratest.Content {
	var out []infratest.Content
	for _, kind := range []string{"Deployment", "ReplicaSet", "Pod", "Job", "Service", "ConfigMap"} {
		for _, o := range c.objects(kind) {
			out = append(out, infratest.Content{Kind: kind, ID: kubeapi.String(o, "metadata", "uid")})
		}
	}
	releases := map[string]bool{}
	for _, o := range c.objects("Secret") {
		if o["type"] == "helm.sh/release.v1" {
			releases[kubeapi.Namespace(o)+"/"+kubeapi.String(o, "metadata", "labels", "name")] = true
		}
	}
	for id := range releases {
		out = append(out, infratest.Content{Kind: "HelmRelease", ID: id})
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
		if kubeapi.String(p, "metadata", "uid") == machine.ID {
			code, body := c.Do(c.t.Context(), kubeapi.Admin, http.MethodDelete,
				kubeapi.Kind("Pod").Path(kubeapi.Namespace(p), kubeapi.Name(p)), "", nil)
			require.Equal(c.t, http.StatusOK, code, "%s", body)
		}
	}
}

// Leave implements infratest.VIM.
func (c *cluster) Leave(instance string) string {
	c.t.Helper()
	return c.create("ConfigMap", "ns-"+instance[:8], "left-"+uuid.NewString()[:8],
		map[string]any{"gybe.io/vnf-instance": instance})
}

// Refuse implements infratest.VIM.
func (c *cluster) Refuse(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusal = text
	return "vnf"
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

// TestDriverFulfilsTheContract: the domain expects of every infra driver what infratest.Contract tests.
func TestDriverFulfilsTheContract(t *testing.T) {
	t.Parallel()
	parsed, err := tosca.Parse(os.DirFS(sample), tosca.Options{Entry: "Definitions/cnf_web_helm_top.vnfd.yaml"})
	require.NoError(t, err)
	params, err := os.ReadFile(sample + "/params/instantiate.json")
	require.NoError(t, err)
	var request sol.InstantiateVnfRequest
	require.NoError(t, json.Unmarshal(params, &request))
	infratest.Contract(t, infratest.Harness{
		VNFD: parsed.VNFD, Files: os.DirFS(sample), Request: request, Aspect: "web", NoSnapshots: true, Own: own,
		New: func(t *testing.T) infratest.VIM { t.Helper(); return newCluster(t) },
	})
}
