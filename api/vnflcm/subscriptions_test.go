package vnflcm_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
	"github.com/gybe-nfv/gybe/test/oracle"
)

const subscriptions = "/vnflcm/v2/subscriptions"

// subscriber accepts everything, and keeps it.
type subscriber struct {
	*httptest.Server
	mu     sync.Mutex
	tests  []*http.Request
	posts  []*http.Request
	bodies []string
	status int // of the answer to tests
}

func listen(t *testing.T) *subscriber {
	t.Helper()
	s := &subscriber{status: http.StatusNoContent}
	s.Server = httptest.NewServer(oracle.Subscriber(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodGet {
			s.tests = append(s.tests, r)
			w.WriteHeader(s.status)
			return
		}
		s.posts, s.bodies = append(s.posts, r), append(s.bodies, string(body))
		w.WriteHeader(http.StatusNoContent)
	})))
	t.Cleanup(s.Close)
	return s
}

// TestSubscriptionLifecycle creates, reads, lists and deletes a subscription. Its credentials are never shown.
func TestSubscriptionLifecycle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := listen(t)
	request := map[string]any{
		"callbackUri": s.URL + "/lccn", "verbosity": "SHORT",
		"filter": map[string]any{
			"notificationTypes": []string{"VnfLcmOperationOccurrenceNotification"}, "operationTypes": []string{"SCALE"},
			"vnfInstanceSubscriptionFilter": map[string]any{"vnfdIds": []string{apitest.VnfdID}},
		},
		"authentication": map[string]any{
			"authType": []string{"BASIC"}, "paramsBasic": map[string]any{"userName": "u", "password": apitest.Password},
		},
	}
	a := b.Do(t, "POST", subscriptions, request)
	require.Equal(t, 201, a.Status, string(a.Body))
	id := a.LocationID(t)
	user, password, _ := s.tests[0].BasicAuth()
	require.Equal(t, "u "+apitest.Password, user+" "+password, "the test has the credentials of notifications")
	require.Equal(t, "2.0.0", s.tests[0].Header.Get("Version"))

	shown := apitest.JSON[map[string]any](t, a)
	require.Equal(t, map[string]any{
		"id": id, "callbackUri": s.URL + "/lccn", "verbosity": "SHORT",
		"filter": map[string]any{
			"notificationTypes": []any{"VnfLcmOperationOccurrenceNotification"}, "operationTypes": []any{"SCALE"},
			"vnfInstanceSubscriptionFilter": map[string]any{"vnfdIds": []any{apitest.VnfdID}},
		},
		"_links": map[string]any{"self": map[string]any{"href": apitest.PublicURL + subscriptions + "/" + id}},
	}, shown)
	got := b.Do(t, "GET", subscriptions+"/"+id, nil)
	require.Equal(t, 200, got.Status)
	require.Equal(t, shown, apitest.JSON[map[string]any](t, got))
	list := b.Do(t, "GET", subscriptions, nil)
	require.Equal(t, []map[string]any{shown}, apitest.JSON[[]map[string]any](t, list))
	for _, x := range []apitest.Answer{a, got, list} {
		require.NotContains(t, string(x.Body), apitest.Password)
	}
	require.NotContains(t, b.Log.String(), apitest.Password)

	require.Equal(t, 204, b.Do(t, "DELETE", subscriptions+"/"+id, nil).Status)
	require.Equal(t, 404, b.Do(t, "DELETE", subscriptions+"/"+id, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", subscriptions+"/"+id, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", subscriptions+"/x", nil).Status)
	require.Equal(t, 405, b.Do(t, "PUT", subscriptions+"/"+id, nil).Status)
}

// TestSubscribeReportsMistakes points at the member that is wrong, and stores nothing.
func TestSubscribeReportsMistakes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := listen(t)
	many := make([]string, 400)
	for n := range many {
		many[n] = strconv.Quote(strconv.Itoa(n))
	}
	at := func(rest string) string { return `{"callbackUri":"` + s.URL + `",` + rest + `}` }
	for name, tt := range map[string]struct {
		body    string
		pointer string
	}{
		"no callback":       {`{}`, "/callbackUri"},
		"no URL":            {`{"callbackUri":"x"}`, "/callbackUri"},
		"unknown type":      {at(`"filter":{"notificationTypes":["X"]}`), "/filter/notificationTypes/0"},
		"unknown operation": {at(`"filter":{"operationTypes":["SCALE","GROW"]}`), "/filter/operationTypes/1"},
		"unknown state":     {at(`"filter":{"operationStates":["DONE"]}`), "/filter/operationStates/0"},
		"unknown verbosity": {at(`"verbosity":"LONG"`), "/verbosity"},
		"unknown way":       {at(`"authentication":{"authType":["KERBEROS"]}`), "/authentication/authType/0"},
		"operation of an identifier": {
			at(`"filter":{"notificationTypes":["VnfIdentifierCreationNotification"],"operationTypes":["SCALE"]}`),
			"/filter/operationTypes",
		},
		"state of an identifier": {
			at(`"filter":{"notificationTypes":["VnfIdentifierDeletionNotification"],"operationStates":["FAILED"]}`),
			"/filter/operationStates",
		},
		"too many": {
			at(`"filter":{"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":[` + strings.Join(many, ",") + `]}}`),
			"/filter/vnfInstanceSubscriptionFilter/vnfInstanceIds",
		},
		"no parameters":  {at(`"authentication":{"authType":["BASIC"]}`), "/authentication/paramsBasic"},
		"no certificate": {at(`"authentication":{"authType":["TLS_CERT"]}`), "/authentication/authType"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := b.Do(t, "POST", subscriptions, tt.body)
			want := 422
			if strings.HasPrefix(name, "unknown") || name == "no callback" { // not as the schema
				want = 400
			}
			require.Equal(t, want, a.Status, string(a.Body))
			require.Equal(t, []string{tt.pointer}, a.Pointers())
		})
	}
	t.Cleanup(func() { require.Empty(t, s.tests) })
}

// TestSubscribeTestsTheCallback: an answer other than 204 rejects the subscription and says why.
func TestSubscribeTestsTheCallback(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := listen(t)
	for status, want := range map[int]string{
		200: "it answered 200 OK instead of 204", 404: "it answered 404 Not Found",
		500: "it answered 500 Internal Server Error",
		302: "it answered 302 Found, a redirect, and redirects are not followed",
	} {
		s.status = status
		a := b.Do(t, "POST", subscriptions, sol.LccnSubscriptionRequest{CallbackURI: s.URL})
		require.Equal(t, 422, a.Status)
		require.Contains(t, a.Problem.Detail, want)
		require.Equal(t, []string{"/callbackUri"}, a.Pointers())
	}
	s.Close()
	a := b.Do(t, "POST", subscriptions, sol.LccnSubscriptionRequest{CallbackURI: s.URL})
	require.Equal(t, 422, a.Status)
	require.Contains(t, a.Problem.Detail, "connection refused")
	require.Empty(t, apitest.JSON[[]any](t, b.Do(t, "GET", subscriptions, nil)))
	b.Subscriptions.Options.TestCallback = false
	require.Equal(t, 201, b.Do(t, "POST", subscriptions, sol.LccnSubscriptionRequest{CallbackURI: s.URL}).Status)
}

// TestDuplicateSubscriptions: the node creates another one, or leads to the one that exists.
func TestDuplicateSubscriptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := listen(t)
	request := sol.LccnSubscriptionRequest{CallbackURI: s.URL}
	first := b.Do(t, "POST", subscriptions, request)
	second := b.Do(t, "POST", subscriptions, request)
	require.Equal(t, 201, second.Status)
	require.NotEqual(t, first.LocationID(t), second.LocationID(t))
	require.Equal(t, 204, b.Do(t, "DELETE", subscriptions+"/"+second.LocationID(t), nil).Status)
	b.Subscriptions.Options.RejectDuplicates = true
	again := b.Do(t, "POST", subscriptions, request)
	require.Equal(t, 303, again.Status)
	require.Empty(t, again.Body)
	require.Equal(t, first.LocationID(t), again.LocationID(t))
	require.Equal(t, 201, b.Do(t, "POST", subscriptions, sol.LccnSubscriptionRequest{CallbackURI: s.URL + "/x"}).Status)
	b.Subscriptions.Options.Limit = 2
	require.Equal(t, 403, b.Do(t, "POST", subscriptions, sol.LccnSubscriptionRequest{CallbackURI: s.URL + "/y"}).Status)
}

// TestSubscriptionsAreListedInPages with filter and selectors.
func TestSubscriptionsAreListedInPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := listen(t)
	for n := range 5 {
		request := sol.LccnSubscriptionRequest{CallbackURI: s.URL, Verbosity: sol.VerbosityFull}
		if n < 2 {
			request.Verbosity = sol.VerbosityShort
		}
		require.Equal(t, 201, b.Do(t, "POST", subscriptions, request).Status)
	}
	page := b.Do(t, "GET", subscriptions, nil)
	require.Len(t, apitest.JSON[[]any](t, page), apitest.PageSize)
	link := page.Header.Get("Link")
	next, _, ok := strings.Cut(strings.TrimPrefix(link, "<"+apitest.PublicURL), ">")
	require.True(t, ok, link)
	require.Len(t, apitest.JSON[[]any](t, b.Do(t, "GET", next, nil)), 2)
	short := b.Do(t, "GET", subscriptions+"?filter=(eq,verbosity,SHORT)", nil)
	require.Len(t, apitest.JSON[[]any](t, short), 2)
	require.Equal(t, 400, b.Do(t, "GET", subscriptions+"?filter=(eq,password,x)", nil).Status)
	require.Equal(t, 400, b.Do(t, "GET", subscriptions+"?x=y", nil).Status)
}

// TestNotificationsOfAnInstance: the whole life of an instance at subscribers with both verbosities. Every body is
// valid against the published documents, has the links of this node, and has the same id for both.
func TestNotificationsOfAnInstance(t *testing.T) {
	t.Parallel()
	b := setup(t)
	full, short := listen(t), listen(t)
	ids := map[*subscriber]string{}
	for _, tt := range []struct {
		s         *subscriber
		verbosity sol.LcmOpOccNotificationVerbosityType
		version   string
	}{{full, "", "2.0.0"}, {short, sol.VerbosityShort, "2.3.0"}} {
		s := tt.s
		a := b.Do(t, "POST", subscriptions, sol.LccnSubscriptionRequest{CallbackURI: s.URL, Verbosity: tt.verbosity},
			"Version", tt.version)
		require.Equal(t, 201, a.Status)
		ids[s] = a.LocationID(t)
	}
	instance, _ := b.instantiate(t)
	broken, failed := b.broken(t)
	require.Equal(t, 200, b.Do(t, "POST", operations+"/"+failed+"/fail", nil).Status)
	op := b.Do(t, "POST", instances+"/"+instance+"/terminate", `{"terminationType":"FORCEFUL"}`).LocationID(t)
	b.Work(t, op)
	require.Equal(t, 204, b.Do(t, "DELETE", instances+"/"+instance, nil).Status)
	b.Deliver(t)

	type notification struct {
		sol.VnfLcmOperationOccurrenceNotification
	}
	read := func(s *subscriber) (all []notification, texts []string) {
		for _, body := range s.bodies {
			var n notification
			require.NoError(t, json.Unmarshal([]byte(body), &n))
			if n.VnfInstanceID == instance {
				texts = append(texts, strings.TrimSpace(string(n.NotificationType)[3:13]+" "+string(n.Operation)+" "+
					string(n.OperationState)+" "+string(n.NotificationStatus)))
			}
			all = append(all, n)
			require.NotContains(t, body, apitest.Password)
		}
		return all, texts
	}
	inFull, order := read(full)
	inShort, same := read(short)
	require.Equal(t, []string{
		"Identifier", "LcmOperati INSTANTIATE STARTING START", "LcmOperati INSTANTIATE PROCESSING START",
		"LcmOperati INSTANTIATE COMPLETED RESULT", "LcmOperati TERMINATE STARTING START",
		"LcmOperati TERMINATE PROCESSING START", "LcmOperati TERMINATE COMPLETED RESULT", "Identifier",
	}, order)
	require.Equal(t, order, same)
	require.Equal(t, "2.0.0", full.posts[0].Header.Get("Version"))
	require.Equal(t, "2.3.0", short.posts[0].Header.Get("Version"))

	byID := map[string]notification{}
	affected, errors := 0, 0
	for _, n := range inFull {
		byID[n.ID] = n
		require.Equal(t, ids[full], n.SubscriptionID)
		require.Equal(t, apitest.PublicURL+subscriptions+"/"+ids[full], n.Links.Subscription.Href)
		require.Equal(t, apitest.PublicURL+instances+"/"+n.VnfInstanceID, n.Links.VnfInstance.Href)
		if n.NotificationType == lcm.KindOperation {
			require.Equal(t, apitest.PublicURL+operations+"/"+n.VnfLcmOpOccID, n.Links.VnfLcmOpOcc.Href)
			require.Equal(t, sol.VerbosityFull, n.Verbosity)
		}
		affected += len(n.AffectedVnfcs)
		if n.Error != nil {
			require.Equal(t, broken, n.VnfInstanceID)
			errors++
		}
	}
	require.Positive(t, affected)
	require.Equal(t, 2, errors, "FAILED_TEMP and FAILED")
	require.Len(t, inShort, len(inFull))
	for _, n := range inShort {
		require.Contains(t, byID, n.ID, "the same id at all subscribers")
		require.Empty(t, n.AffectedVnfcs)
		require.Nil(t, n.ChangedInfo)
		require.Equal(t, byID[n.ID].Error, n.Error)
	}
}
