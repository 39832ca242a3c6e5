package gybe_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/api/gybe"
	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/pkg/app"
	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/pkg/store"
	"github.com/gybe-nfv/gybe/test/apitest"
)

type bundle struct {
	*apitest.Domain
	*apitest.Server
	client   *client.Client
	stopping chan struct{}
	notReady error
	clusters *fixed
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Domain: apitest.NewDomain(t), stopping: make(chan struct{}), clusters: &fixed{}}
	feed := store.NewFeed(b.Store.Store)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { feed.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	b.Server = apitest.Serve(t, (&gybe.API{
		Services: b.Services, Feeds: app.Feeds{Store: b.Store.Store, Feed: feed, PublicURL: publicURL},
		Streams: 2, Stopping: b.stopping,
		Nodes: func(context.Context) ([]gybeapi.Node, error) {
			return []gybeapi.Node{{ID: "n-1", Name: "n", Started: time.Now().UTC(), Seen: time.Now().UTC()}}, nil
		},
		Kubeconfig: func(c sol.VimConnectionInfo, cluster string) ([]byte, error) {
			a, err := kubernetes.FromVim(c)
			if err != nil {
				return nil, err
			}
			return a.Kubeconfig(cluster)
		},
		KubernetesType: kubernetes.VimType,
		Clusters:       b.clusters,
		Subscriptions:  b.Subscriptions,
		Quotas:         func(p lcm.Principal) gybe.Quota { return b.Store.Of(p) },
		Ready:          func(context.Context) error { return b.notReady },
	}).Mount)
	var err error
	b.client, err = client.New(b.URL, nil)
	require.NoError(t, err)
	return b
}

// operation admits an instantiation; it does not work on it.
func (b *bundle) operation(t *testing.T) (instance string, op *lcm.Operation) {
	t.Helper()
	i, err := b.Service.CreateInstance(t.Context(), sol.CreateVnfRequest{VnfdID: apitest.VnfdID, VnfInstanceName: "n"})
	require.NoError(t, err)
	op, err = b.Submit(t, i.ID, sol.LcmOperationInstantiate, apitest.Params())
	require.NoError(t, err)
	return i.ID, op
}

func TestProgressTellsPhasesStepsAndOutput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance, op := b.operation(t)
	path := "/gybe/v1/vnf_lcm_op_occs/" + op.ID + "/progress"

	p := apitest.JSON[gybeapi.Progress](t, b.Do(t, "GET", path, nil, "Version", ""))
	require.Equal(t, sol.LcmOperationStateStarting, p.OperationState)
	require.Empty(t, p.Phases)

	b.Work(t, op.ID)
	require.Eventually(t, func() bool { // output shows up when nothing older is still being written
		p = apitest.JSON[gybeapi.Progress](t, b.Do(t, "GET", path+"?limit=1", nil))
		return len(p.Lines) > 0
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, sol.LcmOperationStateCompleted, p.OperationState)
	require.Equal(t, instance, p.VnfInstanceID)
	var names []string
	for _, ph := range p.Phases {
		require.Equal(t, "DONE", ph.State)
		require.False(t, ph.Finished.IsZero())
		names = append(names, ph.Name)
	}
	require.Equal(t, []string{"grant", "infra", "inventory"}, names)
	require.Len(t, p.Steps, 1)
	require.Equal(t, "create stack", p.Steps[0].Name)
	require.Len(t, p.Lines, 1)
	require.Equal(t, "the first line", p.Lines[0].Text)
	require.Equal(t, p.Steps[0].ID, p.Lines[0].StepID)

	next := path + "?limit=10&since=" + strings.ReplaceAll(p.Next, "+", "%2B")
	require.Eventually(t, func() bool {
		p = apitest.JSON[gybeapi.Progress](t, b.Do(t, "GET", next, nil))
		return len(p.Lines) > 0
	}, time.Minute, 5*time.Millisecond)
	require.Len(t, p.Lines, 1)
	require.Equal(t, "the second line", p.Lines[0].Text)

	for query, status := range map[string]int{
		"?limit=-1": 400, "?limit=x": 400, "?since=x&limit=1": 400, "?nope=1": 400,
	} {
		require.Equal(t, status, b.Do(t, "GET", path+query, nil).Status, query)
	}
	require.Equal(t, 404, b.Do(t, "GET", strings.ReplaceAll(path, op.ID, uuid.NewString()), nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", strings.ReplaceAll(path, op.ID, "x"), nil).Status)
}

func TestAFailureIsInTheProgress(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.operation(t)
	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "no valid host").WithHint("add one"))
	b.Work(t, op.ID)
	p := apitest.JSON[gybeapi.Progress](t, b.Do(t, "GET", "/gybe/v1/vnf_lcm_op_occs/"+op.ID+"/progress", nil))
	require.Equal(t, sol.LcmOperationStateFailedTemp, p.OperationState)
	require.Equal(t, "infra", p.Phase)
	require.Equal(t, "add one", p.Error.Hint)
	require.Equal(t, "no valid host", p.Steps[0].Error.Detail)
	require.Equal(t, "FAILED", p.Phases[1].State)
}

func TestEventsAreFollowedAndReplayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, other := b.operation(t)
	_, op := b.operation(t)
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { b.Work(t, other.ID) })

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	started := make(chan struct{})
	work.Go(func() {
		<-started
		b.Work(t, op.ID)
	})
	var kinds, cursors []string
	for e, err := range b.client.Events(ctx, client.EventQuery{OpID: op.ID, After: client.FromStart}) {
		require.NoError(t, err)
		require.Equal(t, op.ID, e.VnfLcmOpOccID)
		kinds, cursors = append(kinds, e.Kind), append(cursors, e.Cursor)
		if len(kinds) == 1 {
			close(started) // the past was replayed, what follows is live
		}
		if e.Kind == gybeapi.KindOperationState && strings.Contains(string(e.Body), "COMPLETED") {
			break
		}
	}
	require.Equal(t, gybeapi.KindOperationState, kinds[0])
	require.Contains(t, kinds, gybeapi.KindPhase)
	require.Contains(t, kinds, gybeapi.KindStep)
	require.Contains(t, kinds, gybeapi.KindLog)

	// A client that comes back misses nothing and gets nothing twice.
	var again []string
	for e, err := range b.client.Events(ctx, client.EventQuery{OpID: op.ID, After: cursors[2]}) {
		require.NoError(t, err)
		if again = append(again, e.Cursor); e.Cursor == cursors[len(cursors)-1] {
			break
		}
	}
	require.Equal(t, cursors[3:], again)
}

func TestAnEventStreamIsAWellFormedOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, op := b.operation(t)
	open := func(headers ...string) *http.Response {
		req, err := http.NewRequestWithContext(
			t.Context(), http.MethodGet, b.URL+"/gybe/v1/events?vnfLcmOpOccId="+op.ID, http.NoBody,
		)
		require.NoError(t, err)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		return resp
	}
	resp := open("Accept", "text/event-stream", "Last-Event-ID", "0-0")
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	buf := make([]byte, 4096)
	text := ""
	for !strings.Contains(text, "STARTING") {
		n, err := resp.Body.Read(buf)
		require.NoError(t, err)
		text += string(buf[:n])
	}
	require.True(t, strings.HasPrefix(text, "retry: 1000\n\nid: "), text)
	require.Contains(t, text, "\nevent: op.state\ndata: {")

	second := open()
	require.Equal(t, 200, second.StatusCode)
	third := open()
	require.Equal(t, 503, third.StatusCode, "the number of streams is bounded")
	require.NotEmpty(t, third.Header.Get("Retry-After"))
	third.Body.Close()
	second.Body.Close()

	head, err := http.Head(b.URL + "/gybe/v1/events")
	require.NoError(t, err)
	head.Body.Close()

	close(b.stopping)
	for {
		if _, err := resp.Body.Read(buf); err != nil {
			break // a server that stops ends its streams
		}
	}
	resp.Body.Close()

	require.Equal(t, 406, b.Do(t, "GET", "/gybe/v1/events", nil, "Accept", "application/json").Status)
	require.Equal(t, 400, b.Do(t, "GET", "/gybe/v1/events?since=x", nil).Status)
	require.Equal(t, 400, b.Do(t, "GET", "/gybe/v1/events?vnfInstanceId=x", nil).Status)
}

func TestTheKubeconfigOfACluster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	path := func(id string) string { return "/gybe/v1/vnf_instances/" + id + "/kubeconfig" }
	require.Equal(t, 404, b.Do(t, "GET", path(uuid.NewString()), nil).Status)

	instance, op := b.operation(t)
	a := b.Do(t, "GET", path(instance), nil)
	require.Equal(t, 409, a.Status, "it has no cluster yet")
	require.Contains(t, a.Problem.Detail, "NOT_INSTANTIATED")

	b.Work(t, op.ID)
	require.Equal(t, 404, b.Do(t, "GET", path(instance), nil).Status, "it is no cluster")

	now := lcm.SystemClock{}.Now()
	cluster := kubernetes.Access{Endpoint: "https://10.0.0.1:6443", CA: []byte("CA"), Token: apitest.Password}.Vim()
	i := &lcm.Instance{
		ID: uuid.NewString(), Name: "my cluster", Created: now, Updated: now, VnfdID: apitest.VnfdID,
		VnfPkgID: apitest.VnfPkgID,
		State:    sol.InstantiationStateInstantiated,
	}
	cluster.Extra = sol.KeyValuePairs{lcm.ExtraOwner: i.ID}
	i.VimConnections = map[string]sol.VimConnectionInfo{"kubernetes": cluster}
	require.NoError(t, b.Store.InsertInstance(t.Context(), i, nil))
	a = b.Do(t, "GET", path(i.ID), nil, "Version", "")
	require.Equal(t, 200, a.Status, string(a.Body))
	require.Equal(t, "application/yaml", a.Header.Get("Content-Type"))
	require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
	require.Contains(t, string(a.Body), "https://10.0.0.1:6443")
	require.Contains(t, string(a.Body), apitest.Password)
	require.NotContains(t, b.Log.String(), apitest.Password)
	require.Equal(t, 406, b.Do(t, "GET", path(i.ID), nil, "Accept", "image/png").Status)
}

func TestNodesAndHealth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	nodes := apitest.JSON[[]gybeapi.Node](t, b.Do(t, "GET", "/gybe/v1/nodes", nil))
	require.Equal(t, "n", nodes[0].Name)
	require.Equal(t, 200, b.Do(t, "GET", "/healthz", nil, "Version", "").Status)
	require.Equal(t, 200, b.Do(t, "GET", "/readyz", nil, "Version", "").Status)
	b.notReady = errors.New("the database is away")
	require.Equal(t, 503, b.Do(t, "GET", "/readyz", nil).Status)
	require.Equal(t, 200, b.Do(t, "GET", "/healthz", nil).Status, "a node without its database must not be killed")
	require.Equal(t, 405, b.Do(t, "POST", "/healthz", nil).Status)
	for _, name := range openapi.Names() {
		doc, err := openapi3.NewLoader().LoadFromData(b.Do(t, "GET", "/gybe/v1/openapi/"+name, nil).Body)
		require.NoError(t, err)
		require.NoError(t, doc.Validate(t.Context()))
	}
	require.Equal(t, 404, b.Do(t, "GET", "/gybe/v1/openapi/nothing", nil).Status)
}
