package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/test/facts"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

type obj = kubeapi.Object

func TestMain(m *testing.M) { os.Exit(facts.Run(m)) }

// The media types of requests.
const (
	typeJSON  = "application/json"
	typeMerge = "application/merge-patch+json"
	typeApply = "application/apply-patch+yaml"
)

// api is the API under test, as one user sees it.
type api struct {
	t     *testing.T
	topic string
	real  bool
	cfg   *rest.Config
	http  *http.Client
	// namespace is one of this test.
	namespace string
}

// connect connects to the real cluster that the environment names, or to a fresh simulated one, as its administrator.
func connect(t *testing.T, topic string) *api {
	t.Helper()
	a := &api{t: t, topic: topic}
	var raw []byte
	if file := os.Getenv("CONTRACT_KUBECONFIG"); file != "" {
		a.real = true
		var err error
		raw, err = os.ReadFile(file)
		require.NoError(t, err)
	} else {
		raw = simulated(t)
	}
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(t, err)
	a.use(cfg)
	a.namespace = a.fresh()
	a.create("/api/v1/namespaces", "Namespace", "v1", a.namespace, nil)
	return a
}

// simulated starts a simulated cluster with a master and a worker, and returns its admin.conf.
func simulated(t *testing.T) []byte {
	t.Helper()
	c, err := kubeapi.NewCluster(kubeapi.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	c.AddNode(kubeapi.NodeSpec{Name: "master1", IP: "10.0.0.1", ControlPlane: true})
	c.AddNode(kubeapi.NodeSpec{Name: "worker1", IP: "10.0.0.2"})
	c.CNIInstalled(true)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cert, err := c.IssueServing("127.0.0.1")
	require.NoError(t, err)
	t.Cleanup(c.Serve(cert, l).Close)
	conf, err := c.AdminKubeconfig("https://" + l.Addr().String())
	require.NoError(t, err)
	return conf
}

// use changes the credentials.
func (a *api) use(cfg *rest.Config) {
	a.t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	require.NoError(a.t, err)
	a.t.Cleanup(client.CloseIdleConnections)
	a.cfg, a.http = cfg, client
}

// as is the same API with other credentials.
func (a *api) as(change func(*rest.Config)) *api {
	a.t.Helper()
	other := *a
	cfg := rest.AnonymousClientConfig(a.cfg)
	change(cfg)
	other.use(cfg)
	return &other
}

// reply is an answer; body is nil when it is not a JSON object.
type reply struct {
	status int
	text   string
	body   obj
}

func (r reply) str(path ...string) string { return kubeapi.String(r.body, path...) }

func (r reply) get(path ...string) any { return kubeapi.At(r.body, path...) }

func (r reply) version() string { return r.str("metadata", "resourceVersion") }

// items are the objects of a list.
func (r reply) items() []obj {
	list, _ := r.body["items"].([]any)
	var out []obj
	for _, x := range list {
		o, _ := x.(map[string]any)
		out = append(out, o)
	}
	return out
}

func (a *api) open(ctx context.Context, method, path, contentType string, body any, header ...string) *http.Response {
	a.t.Helper()
	content, ok := body.(string)
	if !ok && body != nil {
		raw, err := json.Marshal(body)
		require.NoError(a.t, err)
		content = string(raw)
	}
	req, err := http.NewRequestWithContext(
		ctx, method, strings.TrimSuffix(a.cfg.Host, "/")+path, bytes.NewReader([]byte(content)),
	)
	require.NoError(a.t, err)
	req.Header.Set("Accept", typeJSON)
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	for n := 0; n+1 < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	resp, err := a.http.Do(req)
	require.NoError(a.t, err)
	return resp
}

// call makes one request. A body that is a string is sent as it is; header are names and values.
func (a *api) call(method, path, contentType string, body any, header ...string) reply {
	a.t.Helper()
	// Objects that a test has created are deleted after its end.
	resp := a.open(context.WithoutCancel(a.t.Context()), method, path, contentType, body, header...)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(a.t, err)
	r := reply{status: resp.StatusCode, text: string(text)}
	_ = json.Unmarshal(text, &r.body) // not every body is JSON
	return r
}

func (a *api) read(path string) reply { a.t.Helper(); return a.call(http.MethodGet, path, "", nil) }

func (a *api) patch(path, contentType string, body any) reply {
	a.t.Helper()
	return a.call(http.MethodPatch, path, contentType, body)
}

// object is the manifest of an object; rest are its further members.
func object(apiVersion, kind, name string, rest obj) obj {
	o := obj{"apiVersion": apiVersion, "kind": kind, "metadata": obj{"name": name}}
	maps.Copy(o, rest)
	return o
}

// create creates an object that is deleted after the test.
func (a *api) create(collection, kind, apiVersion, name string, rest obj) reply {
	a.t.Helper()
	r := a.call(http.MethodPost, collection, typeJSON, object(apiVersion, kind, name, rest))
	require.Equal(a.t, http.StatusCreated, r.status, r.text)
	a.t.Cleanup(func() { a.call(http.MethodDelete, collection+"/"+name+"?gracePeriodSeconds=0", "", nil) })
	return r
}

// in is the path of a collection in the test's namespace.
func (a *api) in(collection string) string {
	return "/api/v1/namespaces/" + a.namespace + "/" + collection
}

// fresh is a name that nothing has.
func (a *api) fresh() string { return "ct-" + uuid.NewString()[:13] }

// eventually polls until ok returns true.
func (a *api) eventually(what string, ok func() bool) {
	a.t.Helper()
	patience := 30 * time.Second
	if a.real {
		patience = 5 * time.Minute
	}
	require.Eventually(a.t, ok, patience, 100*time.Millisecond, "it never came to be that "+what)
}

// fact checks one sentence and continues; got is shown when it does not hold.
func (a *api) fact(sentence string, holds bool, got ...any) {
	a.t.Helper()
	kind := "simulated"
	if a.real {
		kind = "real"
	}
	facts.Check(a.t, kind, a.topic, sentence, holds, got...)
}

// same is a fact about a value.
func (a *api) same(sentence string, want, got any) {
	a.t.Helper()
	a.fact(sentence, assert.ObjectsAreEqualValues(want, got), got)
}

// answers is a fact about the status of an answer.
func (a *api) answers(sentence string, status int, r reply) {
	a.t.Helper()
	a.fact(sentence, r.status == status, r.status, r.text)
}

// refuses is a fact about a refusal: a Status object with a code, a reason and a text of a form.
func (a *api) refuses(sentence string, code int, reason, pattern string, r reply) {
	a.t.Helper()
	a.fact(sentence, r.status == code && r.str("kind") == "Status" && r.str("apiVersion") == "v1" &&
		r.str("status") == "Failure" &&
		r.str("reason") == reason && assert.ObjectsAreEqualValues(code, r.get("code")) &&
		regexp.MustCompile(pattern).MatchString(r.str("message")), r.status, r.text)
}
