package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gybe-nfv/gybe/test/oracle"
)

// receiver is the notification endpoint of a subscriber: it keeps what each of its paths gets, and finds differences
// from the published documents.
type receiver struct {
	url string

	mu  sync.Mutex
	got map[string][]notification // by path
	bad map[string][]string
}

// notification holds the attributes that cases look at.
type notification struct {
	ID             string `json:"id"`
	Type           string `json:"notificationType"`
	SubscriptionID string `json:"subscriptionId"`
	Status         string `json:"notificationStatus"`
	State          string `json:"operationState"`
	Operation      string `json:"vnfLcmOpOccId"`
	Instance       string `json:"vnfInstanceId"`
	Package        string `json:"vnfPkgId"`
	ChangeType     string `json:"changeType"`
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: map[string][]notification{}, bad: map[string][]string{}}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost {
		raw, err := io.ReadAll(req.Body)
		var n notification
		if err == nil {
			err = json.Unmarshal(raw, &n)
		}
		r.mu.Lock()
		if err != nil {
			r.bad[req.URL.Path] = append(r.bad[req.URL.Path], err.Error())
		}
		r.bad[req.URL.Path] = append(r.bad[req.URL.Path], oracle.Notification(raw)...)
		if !slices.ContainsFunc(r.got[req.URL.Path], func(o notification) bool { return o.ID == n.ID }) {
			r.got[req.URL.Path] = append(r.got[req.URL.Path], n)
		}
		r.mu.Unlock()
	}
	w.WriteHeader(http.StatusNoContent)
}

// await waits until a path has got a notification, and returns all until then.
func (r *receiver) await(ctx context.Context, path string, last func(notification) bool) ([]notification, error) {
	var got []notification
	err := await(ctx, "the notification arrives", func() (bool, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if bad := r.bad[path]; len(bad) > 0 {
			return false, fmt.Errorf("a notification differs from the standard: %s", strings.Join(bad, "; "))
		}
		got = slices.Clone(r.got[path])
		return slices.ContainsFunc(got, last), nil
	})
	return got, err
}
