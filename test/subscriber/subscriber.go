package subscriber

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/oracle"
)

// The paths of the callbacks, one for each subscription.
const (
	full     = "/full"
	short    = "/short"
	packages = "/packages"
)

// patience is how long notifications may take after the last request of a test, on a machine that does other things.
const patience = 2 * time.Minute

// Subscriber is the notification endpoint of a test.
type Subscriber struct {
	tb  testing.TB
	url string
	// http is what Client gives away, api the node that is asked how operations ended.
	http *http.Client
	api  *client.Client

	requested requested

	mu  sync.Mutex
	got map[string][]notification // by the path of the callback, each once
}

// notification holds the attributes that are compared.
type notification struct {
	ID               string                                `json:"id"`
	Type             string                                `json:"notificationType"`
	Status           string                                `json:"notificationStatus"`
	State            string                                `json:"operationState"`
	Verbosity        sol.LcmOpOccNotificationVerbosityType `json:"verbosity"`
	Operation        string                                `json:"vnfLcmOpOccId"`
	Instance         string                                `json:"vnfInstanceId"`
	Package          string                                `json:"vnfPkgId"`
	Change           string                                `json:"changeType"`
	OperationalState string                                `json:"operationalState"`
}

// about is the identifier of the operation occurrence, package or VNF instance that a notification is about.
func (n notification) about() string {
	for _, id := range []string{n.Operation, n.Package} {
		if id != "" {
			return id
		}
	}
	return n.Instance
}

// text is how a notification is compared: its type, and what it says.
func (n notification) text() string {
	words := []string{n.Type, n.Status, n.State, n.Change, n.OperationalState}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Start starts the endpoint, which ends with the test. Nodes that send to it MUST be started later, so that they end
// before it does. They need no setting if their API listens on a loopback address.
func Start(tb testing.TB) *Subscriber {
	tb.Helper()
	if oracle.Folder() == "" {
		tb.Log("the published documents are not at hand: it is only looked at which notifications arrive")
	}
	s := &Subscriber{tb: tb, http: oracle.Client(tb), got: map[string][]notification{}}
	s.requested.next = s.http.Transport
	s.http.Transport = &s.requested
	server := httptest.NewServer(oracle.Subscriber(tb, s))
	tb.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// Client is oracle.Client, and it also remembers which requests were accepted.
func (s *Subscriber) Client() *http.Client { return s.http }

// ServeHTTP implements http.Handler.
func (s *Subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var n notification
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			s.tb.Errorf("%s has got no notification: %s", r.URL.Path, err)
		}
		s.mu.Lock()
		again := func(o notification) bool { return o.ID == n.ID }
		if !slices.ContainsFunc(s.got[r.URL.Path], again) {
			s.got[r.URL.Path] = append(s.got[r.URL.Path], n)
		}
		s.mu.Unlock()
	}
	w.WriteHeader(http.StatusNoContent)
}

// Subscribe creates subscriptions at a node: one to all notifications of VNF lifecycle management with each verbosity,
// and one to all of VNF package management. When the test ends without a failure, and before anything ends that was
// started earlier, it requires the notifications of all requests that clients of s have made.
func (s *Subscriber) Subscribe(endpoint string) {
	s.tb.Helper()
	var err error
	if s.api, err = client.New(endpoint, s.http); err != nil {
		s.tb.Fatal(err)
	}
	ctx := s.tb.Context()
	for path, verbosity := range map[string]sol.LcmOpOccNotificationVerbosityType{
		full: sol.VerbosityFull, short: sol.VerbosityShort,
	} {
		if _, err := s.api.Subscribe(ctx, sol.LccnSubscriptionRequest{
			CallbackURI: s.url + path, Verbosity: verbosity,
		}); err != nil {
			s.tb.Fatal(err)
		}
	}
	if err := s.subscribeToPackages(ctx, endpoint); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() {
		if !s.tb.Failed() {
			s.await(context.WithoutCancel(ctx))
		}
	})
}

func (s *Subscriber) subscribeToPackages(ctx context.Context, endpoint string) error {
	raw, err := json.Marshal(sol.PkgmSubscriptionRequest{CallbackURI: s.url + packages})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(
		ctx, http.MethodPost, endpoint+"/vnfpkgm/v2/subscriptions", bytes.NewReader(raw),
	)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Version", "2.1.0")
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("the subscription to packages is answered with %s", resp.Status)
	}
	return nil
}

// await waits until all notifications have arrived, and fails the test if they do not.
func (s *Subscriber) await(ctx context.Context) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	want, err := s.expected(ctx)
	if err != nil {
		s.tb.Errorf("the notifications that must arrive are not known: %s", err)
		return
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		differences, count := differences(want, s.got), len(s.got[full])+len(s.got[short])+len(s.got[packages])
		s.mu.Unlock()
		if len(differences) == 0 {
			s.tb.Logf("%d notifications about %d resources", count, len(want))
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.tb.Errorf("notifications are missing or wrong:\n%s", strings.Join(differences, "\n"))
			return
		}
	}
}
