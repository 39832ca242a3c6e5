package cloud

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// TestAddressesAreChecked: neither Keystone nor an endpoint of its catalogue may have an address that the policy
// rejects, and the VIM's server does not hear of it.
func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	withStacks(s)
	c, err := testPool(t, Config{Outbound: &outbound.Policy{Loopback: true}}).Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	require.NoError(t, ping(t.Context(), c))

	logins := s.Logins.Load()
	_, err = testPool(t, Config{Outbound: &outbound.Policy{}}).Connect(t.Context(), "v", s.Vim())
	require.True(t, AddressRejected(err))
	e := asError(t, err)
	require.Equal(t, lcm.Permanent, e.Class)
	require.Equal(t, lcm.CodeUpstream, e.Code)
	at := strings.TrimPrefix(s.URL, "http://")
	require.Equal(t, "log in as nfv_user: Keystone: "+at+" (127.0.0.1) is not an address that this VNFM connects to "+
		"(settings outbound.allow, outbound.deny and outbound.loopback)", e.Detail)
	require.Equal(t, logins, s.Logins.Load())
}

func TestAddressesOfTheCatalogueAreChecked(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	s.Login = func(w http.ResponseWriter, _ *http.Request) {
		raw, err := json.Marshal(s.Body())
		if err != nil {
			panic(err)
		}
		w.Header().Set("X-Subject-Token", "token-1")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(strings.ReplaceAll(string(raw), s.URL, "http://169.254.169.254")))
	}
	c, err := testPool(t, Config{Outbound: &outbound.Policy{Loopback: true}}).Connect(t.Context(), "v", s.Vim())
	require.NoError(t, err)
	require.Contains(t, asError(t, ping(t.Context(), c)).Detail,
		"Heat: 169.254.169.254:80 (169.254.169.254) is not an address that this VNFM connects to")
}

func TestCoordinationServersAreChecked(t *testing.T) {
	t.Parallel()
	s := stubcloud.New(t)
	for _, tt := range []struct {
		policy *outbound.Policy
		works  bool
	}{
		{nil, true},
		{&outbound.Policy{Loopback: true}, true},
		{&outbound.Policy{Loopback: true, Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, false},
		{&outbound.Policy{}, false},
	} {
		rt, err := Config{Outbound: tt.policy}.Transport()
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		require.NoError(t, err)
		res, err := rt.RoundTrip(req)
		if tt.works {
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			continue
		}
		require.True(t, AddressRejected(err), "%v", err)
	}
}
