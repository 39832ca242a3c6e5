package e2e_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/client"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/nfvo"
	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/stack"
)

// standardVnfd is the vnfdId of the package standard.
const standardVnfd = "0c3f8b1e-5d0f-4a55-8f0f-6a1f3f0c5d01"

// startWithPackages starts a node whose NFVO has packages.
func startWithPackages(t *testing.T) *managed {
	t.Helper()
	cloud := simcloud.StartTest(t, simcloud.Options{})
	requests, err := stack.NewRequests(t.Context(), cloud)
	require.NoError(t, err)
	m := &managed{nfvo: nfvo.Start(t)}
	m.world = start(t, cloud, func(c *configuration) {
		c.NFVO.URL, c.NFVO.Packages, c.NFVO.Grants = m.nfvo.URL, true, false
	})
	m.requests = requests
	return m
}

// answered returns the status and the text of an error of the API.
func answered(t *testing.T, err error) (int, string) {
	t.Helper()
	var e *client.Error
	require.ErrorAs(t, err, &e)
	return e.Status(), e.Error()
}

// made creates an instance as a client does that repeats a request with 503.
func (m *managed) made(vnfdID string) string {
	m.t.Helper()
	id, err := m.created(vnfdID)
	require.NoError(m.t, err)
	return id
}

// created is the result of a request for an instance, which is repeated while the answer is 503: the package is on its
// way.
func (m *managed) created(vnfdID string) (string, error) {
	m.t.Helper()
	for {
		i, err := m.api.CreateInstance(m.t.Context(), sol.CreateVnfRequest{VnfdID: vnfdID})
		if err == nil {
			return i.ID, nil
		}
		if code, _ := answered(m.t, err); code != http.StatusServiceUnavailable {
			return "", err
		}
	}
}

// A package that is not onboarded comes from the NFVO, continued after an interruption, and is used by later requests.
func TestPackageFromTheNFVO(t *testing.T) {
	t.Parallel()
	m := startWithPackages(t)
	raw, err := os.ReadFile(archive(t, standardSource))
	require.NoError(t, err)
	const vnfdID = standardVnfd
	create := sol.CreateVnfRequest{VnfdID: vnfdID}

	_, err = m.api.CreateInstance(t.Context(), create)
	code, text := answered(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, code)
	require.Contains(t, text, "the NFVO "+m.nfvo.URL+" has no package")

	m.nfvo.Set(nfvo.Behaviour{Down: true})
	_, err = m.api.CreateInstance(t.Context(), create)
	code, text = answered(t, err)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "cannot be asked for the package")

	m.nfvo.Onboard(vnfdID, raw)
	m.nfvo.Set(nfvo.Behaviour{Cut: 1})
	id := m.made(vnfdID)
	reads := m.nfvo.Reads()
	require.Len(t, reads, 2)
	require.Regexp(t, `^bytes=\d+-$`, reads[1], "the second request asks for the rest")
	m.completed(m.instantiate(id, m.requests.Standard("smallest")))
	m.end(id)
	require.Equal(t, vnfdID, m.instance(m.made(vnfdID)).VnfdID)
	require.Len(t, m.nfvo.Reads(), 2, "it is here now")
}

// A package that cannot be onboarded is an error that says why; the NFVO is not asked again for a while.
func TestBrokenPackageFromTheNFVO(t *testing.T) {
	t.Parallel()
	m := startWithPackages(t)
	m.nfvo.Onboard("broken", []byte("no archive"))
	for range 2 {
		_, err := m.created("broken")
		code, text := answered(t, err)
		require.Equal(t, http.StatusUnprocessableEntity, code, text)
		require.Contains(t, text, "could not be brought from the NFVO")
	}
	require.Len(t, m.nfvo.Reads(), 1)
	raw, err := os.ReadFile(archive(t, standardSource))
	require.NoError(t, err)
	m.nfvo.Onboard("other", raw)
	_, err = m.created("other")
	code, text := answered(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, code)
	require.Contains(t, text, `has the vnfdId "`+standardVnfd+`"`)
}
