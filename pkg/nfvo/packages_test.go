package nfvo_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/nfvo"
	"github.com/gybe-nfv/gybe/pkg/sol"
	fake "github.com/gybe-nfv/gybe/test/nfvo"
)

func TestPackages(t *testing.T) {
	t.Parallel()
	s := fake.Start(t)
	s.Onboard("id", []byte("0123456789"))
	c, err := nfvo.New(nfvo.Options{URL: s.URL, Timeout: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	src, err := c.FindPackage(t.Context(), "id")
	require.NoError(t, err)
	require.Equal(t, nfvo.AuthType, src.AuthType)
	res, err := c.GetContent(t.Context(), src, http.Header{"Range": {"bytes=7-"}})
	require.NoError(t, err)
	rest, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "789", string(rest))

	// a vnfdId is one segment of the path, with any character
	for _, id := range []string{"Sample VNF", "a/b", `a\b`, "50%", "a%2Fb", "?#;é", "...", "/", "id/package_content"} {
		s.Onboard(id, []byte(id))
		src, err := c.FindPackage(t.Context(), id)
		require.NoError(t, err, id)
		res, err := c.GetContent(t.Context(), src, http.Header{})
		require.NoError(t, err, id)
		content, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, id, string(content))
	}
	// and never another resource, also at a server that decodes the path before it divides it
	for _, id := range []string{"", ".", "..", "id/..", "../id", `id\..\..`, "id/./x", "id/vnfd", "none"} {
		_, err := c.FindPackage(t.Context(), id)
		require.Equal(t, lcm.CodeNotFound, lcm.AsError(err).Code, id)
	}
	_, err = c.GetContent(t.Context(), &sol.UploadVnfPackageFromUriRequest{
		AddressInformation: "http://127.0.0.2:1/x", AuthType: nfvo.AuthType,
	}, http.Header{})
	require.ErrorContains(t, err, "is not on the server of nfvo.url")
	require.Equal(t, lcm.Permanent, lcm.AsError(err).Class)
}
