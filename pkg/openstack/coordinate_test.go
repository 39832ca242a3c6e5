package openstack_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/simcloud"
)

// hurried is a rolling world in which waiting costs nothing, with a coordination server about VDU2, which has one VNFC.
func hurried(t *testing.T) (*world, *coordinator, map[string]any) {
	t.Helper()
	w := newRolling(t, simcloud.StartTest(t, simcloud.Options{}))
	w.clock = fastClock{time.Now()}
	w.retry.InlineWait = time.Millisecond
	c := newCoordinator(t, w)
	params := c.vduParams("VDU2")
	return w, c, params
}

// param is new_vnfc_param of the only entry.
func param(params map[string]any) map[string]any {
	entry, _ := params["vdu_params"].([]any)[0].(map[string]any)
	p, _ := entry["new_vnfc_param"].(map[string]any)
	return p
}

// accepts is the asynchronous answer.
func accepts(w http.ResponseWriter, retryAfter string) {
	w.Header().Set("Location", "/lcmcoord/v1/coordinations/c1")
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(http.StatusAccepted)
}

// TestCoordinationServersTakeTheirTime: whatever a server does before it says yes, it is asked for one coordination,
// and the operation goes on.
func TestCoordinationServersTakeTheirTime(t *testing.T) {
	t.Parallel()
	refuses := func(status int, retryAfter string) func(int, http.ResponseWriter, *http.Request) {
		return func(n int, w http.ResponseWriter, r *http.Request) {
			if n > 2 {
				says("CONTINUE")(n, w, r)
				return
			}
			w.Header().Set("Retry-After", retryAfter)
			http.Error(w, `{"detail":"not now"}`, status)
		}
	}
	polled := func(retryAfter string) func(int, http.ResponseWriter, *http.Request) {
		var polls atomic.Int64
		return func(_ int, w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost || polls.Add(1) < 3:
				accepts(w, retryAfter)
			case r.URL.Path != "/lcmcoord/v1/coordinations/c1":
				http.NotFound(w, r)
			default:
				_, _ = w.Write([]byte(`{"coordinationResult":"CONTINUE"}`))
			}
		}
	}
	for name, tt := range map[string]struct {
		answer      func(int, http.ResponseWriter, *http.Request)
		posts, keys int
	}{
		"at once":                  {says("CONTINUE"), 1, 1},
		"later":                    {polled("2"), 1, 1},
		"later, without a time":    {polled(""), 1, 1},
		"later, at a date":         {polled(time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)), 1, 1},
		"not now":                  {refuses(http.StatusServiceUnavailable, "3"), 3, 1},
		"not now, as another runs": {refuses(http.StatusConflict, "1"), 3, 1},
		"too many":                 {refuses(http.StatusTooManyRequests, "nonsense"), 3, 1},
		"broken for a moment":      {refuses(http.StatusInternalServerError, "0"), 3, 1},
		"wants another one afterward": {func(n int, w http.ResponseWriter, r *http.Request) {
			says(map[bool]string{true: "RETRY", false: "CONTINUE"}[n < 3])(n, w, r)
		}, 3, 3},
		"elsewhere, says the proxy": {func(n int, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.Header().Set("Location", "http://internal.invalid/x/lcmcoord/v1/coordinations/c1")
				w.WriteHeader(http.StatusAccepted)
				return
			}
			require.Equal(t, "/lcmcoord/v1/coordinations/c1", r.URL.Path)
			_, _ = w.Write([]byte(`{"coordinationResult":"CONTINUE"}`))
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c, params := hurried(t)
			c.answer = tt.answer
			w.upgrade(params)
			w.completed()
			require.Len(t, c.keys, tt.posts)
			unique := map[string]bool{}
			for _, k := range c.keys {
				unique[k] = true
			}
			require.Len(t, unique, tt.keys)
			require.Equal(t, lcm.StepDone, w.store.step(t, "coordinate").State)
			require.Equal(t, "VDU2-0", w.store.step(t, "coordinate").Target)
		})
	}
}

// TestCoordinationSaysNo: the server's reason is the operation's, a retry asks again, and a rollback asks for
// permission, too.
func TestCoordinationSaysNo(t *testing.T) {
	t.Parallel()
	for _, result := range []string{"ABORT", "CANCELLED", "SOMETHING_NEW"} {
		for _, then := range []lcm.Event{lcm.EventRetry, lcm.EventRollback} {
			t.Run(result+", "+string(then), func(t *testing.T) {
				t.Parallel()
				w, c, params := hurried(t)
				c.answer = func(n int, rw http.ResponseWriter, r *http.Request) {
					says(map[bool]string{true: result, false: "CONTINUE"}[n == 1])(n, rw, r)
				}
				w.upgrade(params)
				f := w.failed()
				require.Equal(t, "Coordination failed", f.Title)
				require.Contains(t, f.Detail, "answers "+result+" after VDU2-0 of VDU2-")
				require.Contains(t, f.Detail, "no: because")
				w.steer(then)
				if then == lcm.EventRetry {
					w.completed()
					require.Len(t, c.keys, 2)
					require.NotEqual(t, c.keys[0], c.keys[1], "it is another coordination")
					return
				}
				require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
				require.Equal(t, []string{"VDU2", "VDU2 back"}, c.about())
			})
		}
	}
}

// TestCoordinationIsBounded: a server that never decides does not hold the operation for ever, and a retry goes on with
// the same coordination.
func TestCoordinationIsBounded(t *testing.T) {
	t.Parallel()
	w, c, params := hurried(t)
	param(params)["timeout"] = "20"
	var ready atomic.Bool
	c.answer = func(_ int, w http.ResponseWriter, r *http.Request) {
		if ready.Load() && r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"coordinationResult":"CONTINUE"}`))
			return
		}
		accepts(w, "5")
	}
	w.upgrade(params)
	f := w.failed()
	require.Equal(t, http.StatusGatewayTimeout, f.Status)
	require.Contains(t, f.Detail, "has not said within 20s whether to go on after VDU2-0")
	ready.Store(true)
	w.steer(lcm.EventRetry)
	w.completed()
	require.Len(t, c.keys, 1)
}

// TestCoordinationIsForgotten: a server that has lost a coordination is asked for another one by a retry.
func TestCoordinationIsForgotten(t *testing.T) {
	t.Parallel()
	w, c, params := hurried(t)
	c.answer = func(n int, w http.ResponseWriter, r *http.Request) {
		switch {
		case n > 1:
			says("CONTINUE")(n, w, r)
		case r.Method == http.MethodPost:
			accepts(w, "0")
		default:
			http.NotFound(w, r)
		}
	}
	w.upgrade(params)
	f := w.failed()
	require.Contains(t, f.Detail, "404 Not Found")
	require.Equal(t, http.StatusBadGateway, f.Status)
	w.steer(lcm.EventRetry)
	w.completed()
	require.Len(t, c.keys, 2)
}

// TestCoordinationServerIsBroken: the operation fails with what is wrong and where, and goes on when that is put right.
func TestCoordinationServerIsBroken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		breaks func(w *world, c *coordinator)
		want   string
	}{
		"hangs": {func(w *world, c *coordinator) {
			w.cfg.RequestTimeout = time.Second
			c.answer = func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}, "context deadline exceeded"},
		"is gone": {
			func(_ *world, c *coordinator) { c.CloseClientConnections(); c.Listener.Close() }, "connection refused",
		},
		"breaks off": {func(_ *world, c *coordinator) {
			c.answer = func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		}, "EOF"},
		"has no such thing": {
			func(_ *world, c *coordinator) { c.answer = status(http.StatusNotFound) },
			"404 Not Found, no ProblemDetails (9 bytes)",
		},
		"does not understand": {func(_ *world, c *coordinator) {
			c.answer = status(http.StatusUnprocessableEntity)
		}, "422 Unprocessable Entity, no ProblemDetails (9 bytes)"},
		"is on fire": {func(_ *world, c *coordinator) {
			c.answer = status(http.StatusInternalServerError)
		}, "500 Internal Server Error, no ProblemDetails (9 bytes)"},
		"sends us elsewhere": {func(_ *world, c *coordinator) {
			c.answer = func(_ int, w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://thief.invalid/", http.StatusTemporaryRedirect)
			}
		}, "redirects to http://thief.invalid/"},
		"answers with nonsense": {func(_ *world, c *coordinator) {
			c.answer = func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write([]byte("yes"))
			}
		}, "(3 bytes) has no coordinationResult"},
		"accepts without a word": {
			func(_ *world, c *coordinator) { c.answer = status(http.StatusAccepted) }, "no usable Location",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c, params := hurried(t)
			tt.breaks(w, c)
			w.upgrade(params)
			f := w.failed()
			require.Equal(t, "Coordination failed", f.Title)
			require.Contains(t, f.Detail, tt.want)
			require.Contains(t, f.Detail, "coordination about VDU2-0 of VDU2-")
			require.NotEmpty(t, f.Hint)
			require.Equal(t, "infra", f.Phase)
		})
	}
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", code) }
}

// TestCoordinationServerWantsToKnowUs: the credentials reach the server and the token endpoint, and nothing else.
func TestCoordinationServerWantsToKnowUs(t *testing.T) {
	t.Parallel()
	const secret = "pa55-word"
	basic := map[string]any{
		"authType": []any{"BASIC"}, "paramsBasic": map[string]any{"userName": "em", "password": secret},
	}
	for name, tt := range map[string]struct {
		auth func(tokens string) map[string]any
		want string
		good bool
	}{
		"basic":         {func(string) map[string]any { return basic }, "Basic ZW06cGE1NS13b3Jk", true},
		"basic refused": {func(string) map[string]any { return basic }, "other", false},
		"oauth": {func(tokens string) map[string]any {
			return map[string]any{
				"authType": []any{"OAUTH2_CLIENT_CREDENTIALS"}, "paramsOauth2ClientCredentials": map[string]any{
					"clientId": "em", "clientPassword": secret, "tokenEndpoint": tokens,
				},
			}
		}, "Bearer t0ken", true},
		"oauth refused": {func(tokens string) map[string]any {
			return map[string]any{
				"authType": []any{"OAUTH2_CLIENT_CREDENTIALS"}, "paramsOauth2ClientCredentials": map[string]any{
					"clientId": "client", "clientPassword": secret, "tokenEndpoint": tokens,
				},
			}
		}, "Bearer t0ken", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c, params := hurried(t)
			tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, pass, _ := r.BasicAuth(); user != "em" || pass != secret ||
					r.FormValue("grant_type") != "client_credentials" {
					http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
					return
				}
				_, _ = w.Write([]byte(`{"access_token":"t0ken","token_type":"Bearer"}`))
			}))
			t.Cleanup(tokens.Close)
			c.answer = func(n int, w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != tt.want {
					http.Error(w, "who are you", http.StatusUnauthorized)
					return
				}
				says("CONTINUE")(n, w, r)
			}
			param(params)["authentication"] = tt.auth(tokens.URL)
			u, err := url.Parse(c.URL)
			require.NoError(t, err)
			u.User = url.UserPassword("in", secret)
			if strings.HasPrefix(name, "oauth") {
				param(params)["endpoint"] = u.String()
			}
			w.upgrade(params)
			if tt.good {
				w.completed()
			} else {
				f := w.failed()
				require.Contains(t, f.Detail, "401 Unauthorized")
				require.Equal(t, http.StatusBadGateway, f.Status, "it is not the user of our API who was refused")
			}
			steps, err := json.Marshal([]any{w.store.steps, w.store.op.Error, w.store.phases})
			require.NoError(t, err)
			require.NotContains(t, string(steps), secret)
		})
	}
}

// TestCoordinationServerIsVerified: an untrusted certificate fails the operation immediately; the request can contain
// the CA.
func TestCoordinationServerIsVerified(t *testing.T) {
	t.Parallel()
	w, _, params := hurried(t)
	var calls atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		says("CONTINUE")(1, w, r)
	}))
	t.Cleanup(server.Close)
	param(params)["endpoint"] = server.URL
	delete(params["vdu_params"].([]any)[0].(map[string]any), "old_vnfc_param")
	w.upgrade(params)
	f := w.failed()
	require.Contains(t, f.Detail, "certificate")
	require.Contains(t, f.Hint, "trustedCertificate")
	require.Zero(t, calls.Load())
	require.Equal(t, 1, w.store.phases["infra"].Attempts, "waiting makes no certificate valid")

	w.steer(lcm.EventRollback)
	require.Equal(t, sol.LcmOperationStateRolledBack, w.run(), "%+v", w.store.op.Error)
	param(params)["trustedCertificate"] = string(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	)
	w.upgrade(params)
	w.completed()
	require.EqualValues(t, 1, calls.Load())
}

// toServer sends calls to one host to a server of the test.
type toServer struct {
	next http.RoundTripper
	host *atomic.Value // string: where calls went
	to   string
}

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Port() == "8443" {
		s.host.Store(r.URL.Host)
		r = r.Clone(r.Context())
		r.URL.Host = s.to
	}
	return s.next.RoundTrip(r)
}

// TestCoordinationByTheVNFC: the server can be the VNFC itself, at the address of a connection point.
func TestCoordinationByTheVNFC(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"http://{ip}:8443/em", "http://:8443/em"} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			w, c, params := hurried(t)
			var host atomic.Value
			wrap := w.cfg.WrapTransport
			w.cfg.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
				return toServer{wrap(next), &host, strings.TrimPrefix(c.URL, "http://")}
			}
			var path atomic.Value
			c.answer = func(n int, w http.ResponseWriter, r *http.Request) {
				path.Store(r.URL.Path)
				says("CONTINUE")(n, w, r)
			}
			param(params)["endpoint"], param(params)["cp_name"] = endpoint, "VDU2_CP1"
			w.upgrade(params)
			w.completed()
			var ip string
			for _, r := range w.store.instance.Inventory {
				if r.Name == "VDU2_CP1" {
					ip = r.Addresses[0].IP
				}
			}
			require.Equal(t, ip+":8443", host.Load())
			require.Equal(t, "/em/lcmcoord/v1/coordinations", path.Load())
		})
	}
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		w, _, params := hurried(t)
		param(params)["endpoint"], param(params)["cp_name"] = "http://{ip}/", "nothing"
		w.upgrade(params)
		require.Contains(t, w.failed().Detail, fmt.Sprintf("has no address of %q", "nothing"))
	})
}
