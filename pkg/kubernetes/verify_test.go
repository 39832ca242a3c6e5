package kubernetes_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gybe-nfv/gybe/pkg/kubernetes"
	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/outbound"
	"github.com/gybe-nfv/gybe/test/simcloud/kubeapi"
)

// simulated is a simulated cluster with credentials of each kind.
type simulated struct {
	url   string
	ca    []byte
	token string // of a service account
	admin kubeapi.Credential
}

func startCluster(t *testing.T) simulated {
	t.Helper()
	c, err := kubeapi.NewCluster(kubeapi.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cert, err := c.IssueServing("127.0.0.1")
	require.NoError(t, err)
	t.Cleanup(c.Serve(cert, l).Close)
	s := simulated{url: "https://" + l.Addr().String()}
	s.admin, err = c.IssueClient(kubeapi.Admin.Name, kubeapi.Admin.Groups...)
	require.NoError(t, err)
	raw, err := c.AdminKubeconfig(s.url)
	require.NoError(t, err)
	cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
	require.NoError(t, err)
	s.ca = cfg.CAData
	client, err := clientset.NewForConfig(cfg)
	require.NoError(t, err)
	accounts := client.CoreV1().ServiceAccounts("default")
	_, err = accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "vnfm"}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := accounts.CreateToken(t.Context(), "vnfm", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.token = token.Status.Token
	return s
}

// provider is an OpenID provider with one user, whose ID token is the token of the simulated cluster.
type provider struct {
	*httptest.Server
	asked atomic.Int32
}

func startProvider(t *testing.T, token string) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		form := func(name string) string { return r.PostFormValue(name) }
		switch {
		case form("grant_type") != "password" || form("scope") != "openid" || form("client_id") != "gybe":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_request"}`))
		case form("username") != "admin" || form("password") != "right":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":"Invalid user credentials"}`))
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{
				"access_token": "for-the-provider", "token_type": "Bearer", "expires_in": 60, "id_token": token,
			})
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// TestEachKindOfCredentialsConnects: a VIM connection with these credentials leads to a client that the API server
// knows.
func TestEachKindOfCredentialsConnects(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	p := startProvider(t, s.token)
	const account = "system:serviceaccount:default:vnfm"
	oidc := &kubernetes.OIDC{TokenURL: p.URL, ClientID: "gybe"}
	for name, tt := range map[string]struct {
		access kubernetes.Access
		user   string
	}{
		"token": {kubernetes.Access{CA: s.ca, Token: s.token}, account},
		"certificate": {
			kubernetes.Access{CA: s.ca, Certificate: s.admin.Certificate, Key: s.admin.Key}, kubeapi.Admin.Name,
		},
		"OIDC":     {kubernetes.Access{CA: s.ca, Username: "admin", Password: "right", OIDC: oidc}, account},
		"insecure": {kubernetes.Access{Insecure: true, Token: s.token}, account},
	} {
		t.Run(name, func(t *testing.T) {
			tt.access.Endpoint = s.url
			back, err := kubernetes.FromVim(tt.access.Vim())
			require.NoError(t, err)
			require.Equal(t, tt.access, back)
			who, err := kubernetes.Verify(t.Context(), "k", tt.access.Vim(), &outbound.Policy{Loopback: true})
			require.NoError(t, err)
			require.Equal(t, tt.user, who.User)
			require.Regexp(t, `^v1\.\d+\.\d+`, who.Version)

			if tt.access.OIDC != nil {
				_, err := back.Kubeconfig("k")
				require.ErrorContains(t, err, p.URL)
				return
			}
			raw, err := back.Kubeconfig("k")
			require.NoError(t, err)
			cfg, err := clientcmd.RESTConfigFromKubeConfig(raw)
			require.NoError(t, err)
			client, err := clientset.NewForConfig(cfg)
			require.NoError(t, err)
			me, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
				&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
			require.NoError(t, err)
			require.Equal(t, tt.user, me.Status.UserInfo.Username)
		})
	}
}

// TestATokenOfAnOpenIDProviderIsUsedUntilItEnds: the provider is not asked for each request.
func TestATokenOfAnOpenIDProviderIsUsedUntilItEnds(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	p := startProvider(t, s.token)
	a := kubernetes.Access{
		Endpoint: s.url, CA: s.ca, Username: "admin", Password: "right",
		OIDC: &kubernetes.OIDC{TokenURL: p.URL, ClientID: "gybe", ClientSecret: "s"},
	}
	c, err := kubernetes.New(a.Config())
	require.NoError(t, err)
	defer c.Close()
	for range 3 {
		require.NoError(t, c.Ready(t.Context()))
	}
	require.Equal(t, int32(1), p.asked.Load())
}

// TestMistakesOfAConnectionArePointedAt: each is the user's, with the member and the text of the other side.
func TestMistakesOfAConnectionArePointedAt(t *testing.T) {
	t.Parallel()
	s := startCluster(t)
	p := startProvider(t, s.token)
	other := startCluster(t)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	allowed := &outbound.Policy{Loopback: true}
	good := kubernetes.Access{Endpoint: s.url, CA: s.ca, Token: s.token}
	with := func(change func(*kubernetes.Access)) kubernetes.Access {
		a := good
		change(&a)
		return a
	}
	login := func(url, password string) kubernetes.Access {
		return with(func(a *kubernetes.Access) {
			a.Token, a.Username, a.Password = "", "admin", password
			a.OIDC = &kubernetes.OIDC{TokenURL: url, ClientID: "gybe"}
		})
	}
	for name, tt := range map[string]struct {
		access       kubernetes.Access
		policy       *outbound.Policy
		member, text string
	}{
		"token": {
			with(func(a *kubernetes.Access) { a.Token = other.token }), allowed, "accessInfo/bearer_token",
			"Unauthorized",
		},
		"certificate of another cluster": {
			with(func(a *kubernetes.Access) {
				a.Token, a.Certificate, a.Key = "", other.admin.Certificate, other.admin.Key
			}), allowed, "accessInfo/client_certificate", "Unauthorized",
		},
		"key of another certificate": {
			with(func(a *kubernetes.Access) {
				a.Token, a.Certificate, a.Key = "", s.admin.Certificate, other.admin.Key
			}), allowed, "accessInfo/client_certificate", "private key does not match",
		},
		"basic authentication": {
			with(func(a *kubernetes.Access) { a.Token, a.Username, a.Password = "", "admin", "wrong" }), allowed,
			"accessInfo/password", "Unauthorized",
		},
		"password of the provider": {
			login(p.URL, "wrong"), allowed, "accessInfo/password", "Invalid user credentials",
		},
		"provider that is none": {
			login(web.URL, "right"), allowed, "accessInfo/oidc_token_url", "answered 404",
		},
		"authority": {
			with(func(a *kubernetes.Access) { a.CA = other.ca }), allowed, "interfaceInfo/ssl_ca_cert",
			"certificate signed by unknown authority",
		},
		"no certificate": {
			with(func(a *kubernetes.Access) { a.CA = []byte("nonsense") }), allowed, "interfaceInfo/ssl_ca_cert",
			"is not a PEM certificate",
		},
		"no API server": {
			with(func(a *kubernetes.Access) { a.Endpoint = web.URL }), allowed, "interfaceInfo/endpoint",
			"is not a Kubernetes API server",
		},
		"no server": {
			with(func(a *kubernetes.Access) { a.Endpoint = "https://127.0.0.1:1" }), allowed, "interfaceInfo/endpoint",
			"connection refused",
		},
		"no URL": {
			with(func(a *kubernetes.Access) { a.Endpoint = "k8s" }), allowed, "interfaceInfo/endpoint", "is not a URL",
		},
		"address": {
			good, &outbound.Policy{}, "interfaceInfo/endpoint", "is not an address that this VNFM connects to",
		},
		"address of the provider": {
			login("http://169.254.169.254/token", "right"), allowed, "accessInfo/oidc_token_url",
			"is not an address that this VNFM connects to",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := kubernetes.Verify(t.Context(), "k/1", tt.access.Vim(), tt.policy)
			e := lcm.AsError(err)
			require.Equal(t, lcm.CodeUnprocessable, e.Code, e)
			require.NotEmpty(t, e.Hint, "it says what to do")
			require.Equal(t, []lcm.InvalidParam{{Pointer: "/vimConnectionInfo/k~11/" + tt.member, Detail: e.Detail}},
				e.Params)
			require.Contains(t, e.Detail, tt.text)
			for _, secret := range []string{other.token, s.token, "wrong", "right", string(other.admin.Key)} {
				require.NotContains(t, e.Detail, secret)
			}
		})
	}
}

// TestAnAPIServerThatFailsIsNotTheUsersMistake: the request can be sent again.
func TestAnAPIServerThatFailsIsNotTheUsersMistake(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.failWith = http.StatusInternalServerError
	_, err := kubernetes.Verify(t.Context(), "k", kubernetes.Access{Endpoint: a.URL, CA: a.ca(), Token: "good"}.Vim(),
		&outbound.Policy{Loopback: true})
	require.Equal(t, lcm.CodeUpstream, lcm.AsError(err).Code)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = kubernetes.Verify(ctx, "k", kubernetes.Access{Endpoint: a.URL, CA: a.ca(), Token: "good"}.Vim(),
		&outbound.Policy{Loopback: true})
	require.Error(t, err)
}
