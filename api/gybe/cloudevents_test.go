package gybe_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
)

// publicURL is what links of notifications begin with.
const publicURL = "https://nfv.example/events"

// streamed is a CloudEvent of a stream.
type streamed struct {
	cursor string // of the stream
	SpecVersion, ID, Source, Type, Subject,
	DataContentType string
	Data map[string]json.RawMessage
}

// cloudEvents follows the notifications after a cursor until there are n.
func (b *bundle) cloudEvents(t *testing.T, after string, n int) (out []streamed) {
	t.Helper()
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodGet, b.URL+"/gybe/v1/events?format=cloudevents", http.NoBody,
	)
	require.NoError(t, err)
	req.Header.Set("Last-Event-ID", after)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, 200, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	e := streamed{}
	for len(out) < n && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.cursor = value
		case "event":
			require.Equal(t, gybeapi.KindNotification, value)
		case "data":
			require.NoError(t, json.Unmarshal([]byte(value), &e))
			out, e = append(out, e), streamed{}
		}
	}
	require.Len(t, out, n)
	return out
}

// TestNotificationsAsCloudEvents: a client without a receiver gets the notifications that subscribers get, and
// continues after the last one that it knows.
func TestNotificationsAsCloudEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	instance, op := b.operation(t)
	b.Work(t, op.ID)
	rows, err := b.Pool.Query(t.Context(), "SELECT id::text FROM outbox ORDER BY seq")
	require.NoError(t, err)
	defer rows.Close()
	var want []string
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		want = append(want, id)
	}
	require.Len(t, want, 4, "creation, STARTING, PROCESSING, COMPLETED")

	got := b.cloudEvents(t, "0-0", 4)
	for n, e := range got {
		require.Equal(t, "1.0", e.SpecVersion)
		require.Equal(t, want[n], e.ID)
		require.Equal(t, instance, e.Subject)
		require.Equal(t, publicURL+"/vnflcm", e.Source)
		require.Equal(t, "application/json", e.DataContentType)
		require.JSONEq(t, `"`+want[n]+`"`, string(e.Data["id"]))
		require.NotContains(t, e.Data, "subscriptionId")
		require.NotContains(t, string(e.Data["_links"]), "subscription")
		require.Contains(t, string(e.Data["_links"]), publicURL+"/vnflcm/v2/vnf_instances/"+instance)
	}
	require.Equal(t, "org.etsi.nfv.vnflcm.VnfIdentifierCreationNotification", got[0].Type)
	require.Equal(t, "org.etsi.nfv.vnflcm.VnfLcmOperationOccurrenceNotification", got[3].Type)
	require.JSONEq(t, `"COMPLETED"`, string(got[3].Data["operationState"]))
	require.Contains(t, got[3].Data, "affectedVnfcs")
	for n := range 3 {
		if got[n].cursor != "" {
			require.Equal(t, want[n+1], b.cloudEvents(t, got[n].cursor, 1)[0].ID)
		}
	}
	require.NotEmpty(t, got[3].cursor)
	require.Equal(t, 400, b.Do(t, "GET", "/gybe/v1/events?format=xml", nil).Status)
}
