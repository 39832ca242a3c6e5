package vnflcm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	v1 "github.com/gybe-nfv/gybe/pkg/sol/v1"
	"github.com/gybe-nfv/gybe/test/apitest"
)

// TestSubscriptionsOfVersion1 get notifications in the form of version 1, and are those of version 2.
func TestSubscriptionsOfVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := listen(t)
	a := b.Do(t, "POST", subscriptionsV1, map[string]any{"callbackUri": s.URL})
	require.Equal(t, 201, a.Status, string(a.Body))
	id := a.LocationID(t)
	require.JSONEq(t, `{"id":"`+id+`","callbackUri":"`+s.URL+`",
		"_links":{"self":{"href":"`+apitest.PublicURL+subscriptionsV1+"/"+id+`"}}}`, string(a.Body))
	require.Equal(t, "1.3.0", s.tests[0].Header.Get("Version"))
	shown := apitest.JSON[sol.LccnSubscription](t, b.Do(t, "GET", subscriptions+"/"+id, nil))
	require.Equal(t, sol.VerbosityFull, shown.Verbosity)
	require.Len(t, apitest.JSON[[]any](t, b.Do(t, "GET", subscriptionsV1, nil)), 1)

	b.VIM.Fail(lcm.Errorf(lcm.CodeUpstream, "no valid host was found"))
	instance, op := b.instantiate(t)
	b.VIM.Fail(nil)
	b.Deliver(t)
	require.Len(t, s.bodies, 4)
	created := decoded(t, s.bodies[0])
	require.Equal(t, map[string]any{
		"vnfInstance":  map[string]any{"href": apitest.PublicURL + instancesV1 + "/" + instance},
		"subscription": map[string]any{"href": apitest.PublicURL + subscriptionsV1 + "/" + id},
	}, created["_links"])
	last := decoded(t, s.bodies[3])
	require.Equal(t, "FAILED_TEMP", last["operationState"])
	require.NotContains(t, last, "verbosity")
	var failed v1.VnfLcmOperationOccurrenceNotification
	require.NoError(t, json.Unmarshal([]byte(s.bodies[3]), &failed))
	require.Contains(t, failed.Error.Detail, "no valid host was found")
	require.Equal(t, apitest.PublicURL+operationsV1+"/"+op, failed.Links.VnfLcmOpOcc.Href)
	for _, r := range s.posts {
		require.Equal(t, "1.3.0", r.Header.Get("Version"))
	}
	require.Equal(t, 204, b.Do(t, "DELETE", subscriptions+"/"+id, nil).Status)
	require.Equal(t, 404, b.Do(t, "GET", subscriptionsV1+"/"+id, nil).Status)
}

func decoded(t *testing.T, body string) (out map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), &out))
	return out
}
