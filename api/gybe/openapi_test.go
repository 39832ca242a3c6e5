package gybe_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/openapi"
	"github.com/gybe-nfv/gybe/test/apitest"
)

func TestDocumentsOfAllInterfacesAreServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var index []struct{ Name, Title, Version, JSON, YAML string }
	for _, path := range []string{"/openapi", "/openapi/"} {
		a := b.Do(t, "GET", path, nil)
		require.Equal(t, 200, a.Status)
		require.NoError(t, json.Unmarshal(a.Body, &index))
		require.Len(t, index, len(openapi.Names()))
	}
	for _, d := range index {
		require.NotEmpty(t, d.Title)
		for _, url := range []string{d.JSON, d.YAML} {
			path := strings.TrimPrefix(url, apitest.PublicURL)
			a := b.Do(t, "GET", path, nil)
			require.Equal(t, 200, a.Status, path)
			doc, err := openapi3.NewLoader().LoadFromData(a.Body)
			require.NoError(t, err, path)
			require.Equal(t, d.Version, doc.Info.Version)
			require.NoError(t, doc.Validate(t.Context()))
			tag := a.Header.Get("Etag")
			require.Equal(t, http.StatusNotModified, b.Do(t, "GET", path, nil, "If-None-Match", tag).Status)
			require.Equal(t, 200, b.Do(t, "HEAD", path, nil).Status)
		}
	}
	for _, path := range []string{"/openapi/vnflcm-v2", "/openapi/vnflcm-v2.xml", "/openapi/none.json"} {
		require.Equal(t, 404, b.Do(t, "GET", path, nil).Status, path)
	}
	require.Equal(t, 405, b.Do(t, "POST", "/openapi/vnflcm-v2.json", nil).Status)
}
