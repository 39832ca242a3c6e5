package oracle

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every correction is needed: read fails if a document does not have the error.
func TestDocumentsHaveTheErrorsThatAreCorrected(t *testing.T) {
	t.Parallel()
	Require(t)
	for _, d := range documents {
		_, err := d.load()
		require.NoError(t, err)
	}
}

const instance = `{"id":"i","vnfdId":"d","vnfProvider":"p","vnfProductName":"n","vnfSoftwareVersion":"1",` +
	`"vnfdVersion":"1","instantiationState":"NOT_INSTANTIATED","_links":{"self":{"href":"http://x/i"}}}`

func TestResponseFindsDifferences(t *testing.T) {
	t.Parallel()
	Require(t)
	const one, list = "/vnflcm/v2/vnf_instances/i", "/vnflcm/v2/vnf_instances"
	problem := `{"status":404,"detail":"no"}`
	for name, tt := range map[string]struct {
		method, path string
		status       int
		header       http.Header
		body         string
		want         string // in every finding; "" means that there is none
	}{
		"instance":              {"GET", one, 200, nil, instance, ""},
		"HEAD":                  {"HEAD", one, 200, nil, "", ""},
		"list":                  {"GET", list, 200, nil, "[" + instance + "]", ""},
		"not modified":          {"GET", one, 304, nil, "", ""},
		"not described":         {"GET", "/vnflcm/v2/other", 200, nil, "{}", ""},
		"other interface":       {"GET", "/gybe/v1/vnf_instances", 200, nil, "{}", ""},
		"without an attribute":  {"GET", one, 200, nil, strings.Replace(instance, `"id":"i",`, "", 1), `"id"`},
		"of another type":       {"GET", one, 200, nil, strings.Replace(instance, `"i"`, `1`, 1), "must be a string"},
		"unknown value":         {"GET", one, 200, nil, strings.Replace(instance, "NOT_", "X", 1), "allowed values"},
		"not an array":          {"GET", list, 200, nil, instance, "must be an array"},
		"unknown status":        {"GET", one, 203, nil, instance, "does not have this status"},
		"media type":            {"GET", one, 200, http.Header{"Content-Type": {"text/plain"}}, instance, "text/plain"},
		"problem":               {"GET", one, 404, nil, problem, ""},
		"problem of an extra":   {"POST", "/vnflcm/v2/other", 404, nil, problem, ""},
		"problem without":       {"GET", one, 404, nil, `{"status":404}`, `"detail" is missing`},
		"error without Allow":   {"PUT", one, 405, nil, problem, "Allow is missing"},
		"error without Retry":   {"GET", one, 503, nil, problem, "Retry-After is missing"},
		"error of another kind": {"GET", one, 418, nil, problem, "does not have this status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Content-Type": {"application/json"}}
			if tt.status >= 400 {
				header.Set("Content-Type", "application/problem+json")
			}
			maps.Copy(header, tt.header)
			got := Response(tt.method, tt.path, tt.status, header, []byte(tt.body))
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 2, "both documents describe this resource: %v", got)
			for _, finding := range got {
				require.Contains(t, finding, tt.want)
			}
		})
	}
}

const created = `{"id":"n","notificationType":"VnfIdentifierCreationNotification","subscriptionId":"s",` +
	`"timeStamp":"2026-01-02T03:04:05Z","vnfInstanceId":"i","_links":{"vnfInstance":{"href":"http://x/i"},` +
	`"subscription":{"href":"http://x/s"}}}`

func TestNotificationFindsDifferences(t *testing.T) {
	t.Parallel()
	Require(t)
	require.Empty(t, Notification([]byte(created)))
	require.Contains(t, strings.Join(Notification([]byte(strings.Replace(created, `"id":"n",`, "", 1))), " "), "missing")
	require.Contains(t, strings.Join(Notification([]byte(`{"notificationType":"Other"}`)), " "), "Other")
	require.NotEmpty(t, Notification([]byte(`nonsense`)))
}
