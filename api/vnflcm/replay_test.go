package vnflcm_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
)

func (b *bundle) count(t *testing.T, table string) (n int) {
	t.Helper()
	require.NoError(t, b.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

func TestRequestsWithTheSameKeyTakeEffectOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.create(t)
	_, retried := b.broken(t)
	_, rolledBack := b.broken(t)
	_, failed := b.broken(t)
	create := sol.CreateVnfRequest{VnfdID: apitest.VnfdID, VnfInstanceName: "n"}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(receiver.Close)
	tests := []struct {
		path        string
		body, other any
		status      int
	}{
		{instances, create, `{"vnfdId":"` + apitest.VnfdID + `","vnfInstanceName":"other"}`, 201},
		{instances + "/" + made + "/instantiate", apitest.Params(), `{"flavourId":"simple"}`, 202},
		{"/vnflcm/v2/vnf_snapshots", `{}`, nil, 201},
		{
			"/vnflcm/v2/subscriptions", `{"callbackUri":"` + receiver.URL + `"}`,
			`{"callbackUri":"` + receiver.URL + `/other"}`, 201,
		},
		{operations + "/" + retried + "/retry", nil, nil, 202},
		{operations + "/" + rolledBack + "/rollback", nil, nil, 202},
		{operations + "/" + failed + "/fail", nil, nil, 200},
		{operations + "/" + retried + "/cancel", `{"cancelMode":"GRACEFUL"}`, `{"cancelMode":"FORCEFUL"}`, 202},
	}
	for _, tt := range tests {
		key := uuid.NewString()
		first := b.Do(t, "POST", tt.path, tt.body, "Idempotency-Key", key)
		require.Equal(t, tt.status, first.Status, "%s: %s", tt.path, first.Body)
		require.Empty(t, first.Header.Get("Idempotency-Replayed"))
		before := [3]int{b.count(t, "vnf_instance"), b.count(t, "event"), b.count(t, "subscription")}
		for _, k := range []string{key, `"` + key + `"`} {
			again := b.Do(t, "POST", tt.path, tt.body, "Idempotency-Key", k)
			require.Equal(t, first.Status, again.Status, "%s: %s", tt.path, again.Body)
			require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
			require.Equal(t, first.Header.Get("Location"), again.Header.Get("Location"))
			require.Equal(t, first.Header.Get("Etag"), again.Header.Get("Etag"))
			require.Equal(t, string(first.Body), string(again.Body))
		}
		after := [3]int{b.count(t, "vnf_instance"), b.count(t, "event"), b.count(t, "subscription")}
		require.Equal(t, before, after, "%s has no second effect", tt.path)
		if tt.other != nil {
			a := b.Do(t, "POST", tt.path, tt.other, "Idempotency-Key", key)
			require.Equal(t, 422, a.Status, tt.path)
			require.Contains(t, a.Problem.Detail, key)
		}
	}
	for _, bad := range []string{strings.Repeat("k", 256), "ü", `""`} {
		require.Equal(t, 400, b.Do(t, "POST", instances, create, "Idempotency-Key", bad).Status, bad)
	}
}

func TestRequestThatWasRejectedCanBeSentAgainWithItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.Do(t, "POST", instances, `{"vnfdId":"unknown"}`, "Idempotency-Key", "k")
	require.Equal(t, 422, a.Status)
	a = b.Do(t, "POST", instances, `{"vnfdId":"`+apitest.VnfdID+`"}`, "Idempotency-Key", "k")
	require.Equal(t, 201, a.Status, "a request without effect leaves no key")
	id := a.LocationID(t)
	require.Equal(t, 204, b.Do(t, "DELETE", instances+"/"+id, nil).Status)
	a = b.Do(t, "POST", instances, `{"vnfdId":"`+apitest.VnfdID+`"}`, "Idempotency-Key", "k")
	require.Equal(t, 404, a.Status)
	require.Contains(t, a.Problem.Detail, id)

	_, err := b.Pool.Exec(t.Context(), "UPDATE request_key SET created = now() - interval '25 hours'")
	require.NoError(t, err)
	a = b.Do(t, "POST", instances, `{"vnfdId":"`+apitest.VnfdID+`"}`, "Idempotency-Key", "k")
	require.Equal(t, 201, a.Status, "a key is known for a day")
}

func TestRequestsWithTheSameKeyAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const clients = 8
	var done sync.WaitGroup
	answers := make(chan apitest.Answer, clients)
	for range clients {
		done.Go(func() {
			answers <- b.Do(t, "POST", instances, `{"vnfdId":"`+apitest.VnfdID+`"}`, "Idempotency-Key", "k")
		})
	}
	done.Wait()
	close(answers)
	locations := map[string]bool{}
	for a := range answers {
		if a.Status == http.StatusConflict {
			require.Equal(t, "1", a.Header.Get("Retry-After"))
			continue
		}
		require.Equal(t, 201, a.Status, string(a.Body))
		locations[a.Header.Get("Location")] = true
	}
	require.Len(t, locations, 1)
	require.Equal(t, 1, b.count(t, "vnf_instance"))
}

// Another node has handled the same request between the look for its key and its effect.
func TestRequestThatAnotherNodeHasHandledGetsItsAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fingerprint := []byte("one request")
	key := func(principal lcm.Principal) context.Context {
		return lcm.WithRequestKey(
			t.Context(), &lcm.RequestKey{Principal: principal, Key: "k", Fingerprint: fingerprint},
		)
	}
	request := sol.CreateVnfRequest{VnfdID: apitest.VnfdID}
	i, err := b.Service.CreateInstance(key(lcm.Principal{}), request)
	require.NoError(t, err)
	_, err = b.Service.CreateInstance(key(lcm.Principal{}), request)
	e := lcm.AsError(err)
	require.Equal(t, lcm.CodeConflict, e.Code)
	require.NotZero(t, e.RetryAfter)
	require.Equal(t, 1, b.count(t, "vnf_instance"), "the second one has no effect")
	kept, err := b.Store.KeptRequest(t.Context(), lcm.RequestKeyOf(key(lcm.Principal{})))
	require.NoError(t, err)
	require.Equal(t, &lcm.KeptRequest{Fingerprint: fingerprint, ID: i.ID}, kept)

	for _, other := range []lcm.Principal{
		{Project: "red"}, {Subject: "another"}, {Subject: "x", Mode: "keystone"}, {Subject: "x", Mode: "token"},
	} {
		kept, err := b.Store.KeptRequest(t.Context(), lcm.RequestKeyOf(key(other)))
		require.NoError(t, err)
		require.Nil(t, kept, "keys belong to a principal")
		_, err = b.Service.CreateInstance(key(other), request)
		require.NoError(t, err)
	}
}
