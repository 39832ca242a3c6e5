package nfvo_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/pkg/nfvo"
	"github.com/gybe-nfv/gybe/pkg/sol"
	"github.com/gybe-nfv/gybe/test/apitest"
	fake "github.com/gybe-nfv/gybe/test/nfvo"
)

// world is the domain with an NFVO.
type world struct {
	*apitest.Domain
	t    *testing.T
	nfvo *fake.Server
	id   string
}

// start makes an instance of the cluster package whose operations an NFVO grants.
func start(t *testing.T) *world {
	t.Helper()
	w := &world{Domain: apitest.NewDomain(t), t: t, nfvo: fake.Start(t)}
	w.use(nfvo.Options{URL: w.nfvo.URL})
	w.id = w.create()
	return w
}

func (w *world) create() string {
	w.t.Helper()
	i, err := w.Service.CreateInstance(w.t.Context(), sol.CreateVnfRequest{VnfdID: apitest.ClusterID})
	require.NoError(w.t, err)
	return i.ID
}

// use lets an NFVO grant operations.
func (w *world) use(o nfvo.Options) {
	w.t.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	c, err := nfvo.New(o)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	w.Runner.Planner.Grantor = &nfvo.Grantor{
		Client: c, Vims: w.Store, PublicURL: "https://vnfm.example", Poll: time.Millisecond,
		RetryBase: time.Millisecond, RetryMax: 2 * time.Millisecond,
	}
}

// submit sends a request.
func (w *world) submit(kind sol.LcmOperationType, body any) *lcm.Operation {
	w.t.Helper()
	op, err := w.Submit(w.t, w.id, kind, body)
	require.NoError(w.t, err)
	return op
}

// ended works on an operation until it rests.
func (w *world) ended(op *lcm.Operation, want sol.LcmOperationStateType) *lcm.Operation {
	w.t.Helper()
	state := w.Work(w.t, op.ID)
	got := w.read(op)
	require.Equal(w.t, want, state, "%+v", got.Error)
	return got
}

func (w *world) read(op *lcm.Operation) *lcm.Operation {
	w.t.Helper()
	got, err := w.Store.Operation(w.t.Context(), op.ID)
	require.NoError(w.t, err)
	return got
}

// instantiated makes the instance a VNF.
func (w *world) instantiated() {
	w.t.Helper()
	w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateCompleted)
}

func TestGrantorOfEveryOperation(t *testing.T) {
	t.Parallel()
	w := start(t)
	asked := map[sol.LcmOperationType]bool{}
	snapshot, err := w.Service.CreateSnapshot(t.Context(), sol.CreateVnfSnapshotInfoRequest{})
	require.NoError(t, err)
	ofSnapshot := json.RawMessage(`{"vnfSnapshotInfoId":"` + snapshot.ID + `"}`)
	for _, tt := range []struct {
		kind sol.LcmOperationType
		body any
	}{
		{sol.LcmOperationInstantiate, apitest.Params()},
		{sol.LcmOperationScale, json.RawMessage(`{"type":"SCALE_OUT","aspectId":"workers"}`)},
		{sol.LcmOperationScaleToLevel, json.RawMessage(`{"instantiationLevelId":"small"}`)},
		{sol.LcmOperationHeal, json.RawMessage(`{}`)},
		{sol.LcmOperationOperate, json.RawMessage(`{"changeStateTo":"STOPPED"}`)},
		{sol.LcmOperationOperate, json.RawMessage(`{"changeStateTo":"STARTED"}`)},
		{sol.LcmOperationChangeExtConn, json.RawMessage(
			`{"extVirtualLinks":[{"id":"l","resourceId":"net","extCps":[{"cpdId":"workerNode_CP1"}]}]}`)},
		{sol.LcmOperationCreateSnapshot, ofSnapshot},
		{sol.LcmOperationRevertToSnapshot, ofSnapshot},
		{sol.LcmOperationChangeFlavour, json.RawMessage(`{"newFlavourId":"complex"}`)},
		{sol.LcmOperationChangeVnfpkg, json.RawMessage(`{"vnfdId":"` + apitest.NextID + `"}`)},
		{sol.LcmOperationTerminate, json.RawMessage(`{"terminationType":"FORCEFUL"}`)},
	} {
		for looks := range 2 { // 201, then 202 with a look; the second is of another instance
			if looks == 1 && tt.kind != sol.LcmOperationInstantiate {
				continue
			}
			w.nfvo.Set(fake.Behaviour{Looks: looks})
			if looks == 1 {
				w.id = w.create()
			}
			op := w.ended(w.submit(tt.kind, tt.body), sol.LcmOperationStateCompleted)
			grants := w.nfvo.Grants(op.ID)
			require.Len(t, grants, 1, "%s", tt.kind)
			require.Len(t, w.nfvo.Requests(op.ID), 1, "%s", tt.kind)
			require.Equal(t, tt.kind, w.nfvo.Requests(op.ID)[0].Operation)
			require.Equal(t, grants[0].ID, op.Grant.ID)
			require.Equal(t, grants[0].Links.Self.Href, op.GrantHref)
		}
		asked[tt.kind] = true
	}
	for _, k := range lcm.OperationKinds() {
		require.Equal(t, k.NeedsGrant, asked[k.Type], "%s", k.Type)
	}
}

func TestGrantorRejection(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, tt := range []struct {
		status  int
		problem *sol.ProblemDetails
		want    lcm.Failure
	}{
		{
			http.StatusForbidden, &sol.ProblemDetails{Title: "No capacity", Detail: "PoP 7 is full: 3 of 3 racks"},
			lcm.Failure{Status: 403, Title: "No capacity", Detail: "PoP 7 is full: 3 of 3 racks"},
		},
		{http.StatusConflict, nil, lcm.Failure{Status: 409, Title: "Grant rejected", Detail: "not now"}},
		{http.StatusTeapot, nil, lcm.Failure{Status: 403, Title: "Grant rejected", Detail: "(HTTP 418): not now"}},
		{
			http.StatusUnprocessableEntity, &sol.ProblemDetails{Detail: strings.Repeat("ä", 5000)},
			lcm.Failure{Status: 422, Title: "Grant rejected", Detail: strings.Repeat("ä", 1000) + "…"},
		},
	} {
		w.nfvo.Set(fake.Behaviour{Status: tt.status, Problem: tt.problem})
		op := w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateRolledBack)
		require.Equal(t, tt.want.Status, op.Error.Status)
		require.Equal(t, tt.want.Title, op.Error.Title)
		require.Contains(t, op.Error.Detail, tt.want.Detail)
		require.NotEmpty(t, op.Error.Hint)
		i, err := w.Store.Instance(t.Context(), w.id)
		require.NoError(t, err)
		require.Equal(t, sol.InstantiationStateNotInstantiated, i.State)
		require.Nil(t, i.VimConnections)
	}
}

// An NFVO that is away for longer than the retries of a phase is waited for.
func TestGrantorUnreachable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		how  fake.Behaviour
		want string
	}{
		{"closes connections", fake.Behaviour{Down: true}, "EOF"},
		{"503", fake.Behaviour{Status: http.StatusServiceUnavailable}, "HTTP 503"},
		{"429", fake.Behaviour{Status: http.StatusTooManyRequests}, "HTTP 429"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.Runner.Tuning.InlineWait = time.Nanosecond // every wait ends the tick
			w.nfvo.Set(tt.how)
			op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
			for range 12 {
				_, again, err := w.Runner.Advance(t.Context(), op.ID)
				require.NoError(t, err)
				require.True(t, again)
			}
			waiting := w.read(op)
			require.Equal(t, sol.LcmOperationStateStarting, waiting.State)
			require.Contains(t, waiting.Waiting, "waits for the NFVO "+w.nfvo.URL)
			require.Contains(t, waiting.Waiting, "(try 12): ")
			require.Contains(t, waiting.Waiting, tt.want)
			w.nfvo.Set(fake.Behaviour{})
			w.ended(op, sol.LcmOperationStateCompleted)
			require.Len(t, w.nfvo.Requests(op.ID), 1)
		})
	}
}

// late is a clock that a test sets.
type late struct{ now time.Time }

func (c *late) Now() time.Time { return c.now }

func TestGrantorDeadline(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Runner.Tuning.InlineWait = time.Nanosecond
	w.nfvo.Set(fake.Behaviour{Looks: 1000, RetryAfter: "600"})
	op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
	after, again, err := w.Runner.Advance(t.Context(), op.ID)
	require.NoError(t, err)
	require.True(t, again)
	require.InDelta(t, 600, after.Seconds(), 1, "Retry-After")
	clock := &late{op.Deadline.Add(-time.Minute)}
	w.Runner.Clock = clock
	after, _, err = w.Runner.Advance(t.Context(), op.ID)
	require.NoError(t, err)
	require.InDelta(t, 60, after.Seconds(), 1, "a wait does not exceed the deadline")
	clock.now = op.Deadline.Add(time.Second)
	got := w.ended(op, sol.LcmOperationStateRolledBack)
	require.Equal(t, http.StatusGatewayTimeout, got.Error.Status)
	require.Contains(t, got.Error.Detail, "waits for the grant from the NFVO "+w.nfvo.URL+" since ")
}

func TestGrantorCancel(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Runner.Tuning.InlineWait = time.Nanosecond
	w.nfvo.Set(fake.Behaviour{Looks: 1000})
	op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
	_, _, err := w.Runner.Advance(t.Context(), op.ID)
	require.NoError(t, err)
	_, err = w.Service.Cancel(t.Context(), op.ID, sol.CancelModeGraceful)
	require.NoError(t, err)
	require.Equal(t, "Cancelled", w.ended(op, sol.LcmOperationStateRolledBack).Error.Title)
}

// A lost answer leads to the same request: the NFVO has one grant.
func TestGrantorLostAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.nfvo.Set(fake.Behaviour{Lose: 3})
	op := w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateCompleted)
	require.Len(t, w.nfvo.Requests(op.ID), 4)
	require.Len(t, w.nfvo.Grants(op.ID), 1)
}

// A pending grant that the NFVO has lost is requested again.
func TestGrantorLostGrant(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Runner.Tuning.InlineWait = time.Nanosecond
	w.nfvo.Set(fake.Behaviour{Looks: 1000})
	op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
	_, _, err := w.Runner.Advance(t.Context(), op.ID)
	require.NoError(t, err)
	w.nfvo.Forget()
	w.nfvo.Set(fake.Behaviour{})
	w.ended(op, sol.LcmOperationStateCompleted)
	require.Len(t, w.nfvo.Requests(op.ID), 2)
}

func TestGrantorInvalidAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"no Location", func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusAccepted)
		}, "202 and no Location"},
		{"a Location elsewhere", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", "http://127.0.0.2:1/grants/1")
			rw.WriteHeader(http.StatusAccepted)
		}, "is not on the server of nfvo.url"},
		{"a redirect", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "redirects are not followed"},
		{"200", func(http.ResponseWriter, *http.Request) {}, "the unexpected status 200"},
		{"no JSON", func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusCreated)
			_, _ = rw.Write([]byte("<html>"))
		}, "not valid JSON"},
		{"another operation's grant", func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusCreated)
			_, _ = rw.Write([]byte(`{"id":"g","vnfLcmOpOccId":"x"}`))
		}, `vnfLcmOpOccId is "x"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := httptest.NewServer(tt.answer)
			defer other.Close()
			w.use(nfvo.Options{URL: other.URL})
			op := w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateRolledBack)
			require.Equal(t, http.StatusBadGateway, op.Error.Status)
			require.Contains(t, op.Error.Detail, tt.want)
		})
	}
}

// A 303 or 409 with a Location says that the grant was asked for before.
func TestGrantorDuplicate(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusSeeOther, http.StatusConflict} {
		w := start(t)
		gate := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				w.nfvo.ServeHTTP(rw, r)
				return
			}
			had := httptest.NewRecorder()
			w.nfvo.ServeHTTP(had, r)
			rw.Header().Set("Location", had.Header().Get("Location"))
			rw.WriteHeader(status)
		}))
		w.use(nfvo.Options{URL: gate.URL})
		op := w.ended(w.submit(sol.LcmOperationInstantiate, apitest.Params()), sol.LcmOperationStateCompleted)
		require.Len(t, w.nfvo.Requests(op.ID), 1)
		gate.Close()
	}
}

// An answer without an end is not read to its end, and the NFVO counts as one that does not answer.
func TestGrantorEndlessAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Runner.Tuning.InlineWait = time.Nanosecond
	endless := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusCreated)
		for block := make([]byte, 1<<16); ; {
			if _, err := rw.Write(block); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	w.use(nfvo.Options{URL: endless.URL})
	op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
	_, _, err := w.Runner.Advance(t.Context(), op.ID)
	require.NoError(t, err)
	require.Contains(t, w.read(op).Waiting, "the answer is larger than 8 MiB")
}

// gone waits until the client has gone, which the server notices when it has read the request.
func gone(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the client may have gone
	<-r.Context().Done()
}

// A hostile NFVO holds no operation without end: every request is bounded, and the wait says why.
func TestGrantorHostileNFVO(t *testing.T) {
	t.Parallel()
	grant := func(change func(*sol.Grant)) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			var req sol.GrantRequest
			_ = json.NewDecoder(r.Body).Decode(&req) // an empty one is a wrong answer, too
			g := sol.Grant{ID: "g", VnfInstanceID: req.VnfInstanceID, VnfLcmOpOccID: req.VnfLcmOpOccID}
			change(&g)
			rw.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(rw).Encode(g) // the client may have gone
		}
	}
	redirect := func(status int) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://169.254.169.254/grant/v1/grants/g", status)
		}
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		// waits is a part of what the operation waits for, fails of its error.
		waits, fails string
	}{
		{name: "stalls", answer: func(_ http.ResponseWriter, r *http.Request) {
			gone(r)
		}, waits: "no answer in time"},
		{name: "stalls after the headers", answer: func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(http.StatusCreated)
			_ = http.NewResponseController(rw).Flush() // the client may have gone
			gone(r)
		}, waits: "no answer in time"},
		{name: "a byte now and then", answer: func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the client may have gone
			rw.WriteHeader(http.StatusCreated)
			for tick := time.Tick(20 * time.Millisecond); ; {
				_, _ = rw.Write([]byte(" ")) // the client may have gone
				_ = http.NewResponseController(rw).Flush()
				select {
				case <-tick:
				case <-r.Context().Done():
					return
				}
			}
		}, waits: "no answer in time"},
		{name: "an announced body of 1 GiB", answer: func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "1073741824")
			rw.WriteHeader(http.StatusCreated)
			for block := make([]byte, 1<<16); ; {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		}, waits: "the answer is larger than 8 MiB"},
		{name: "endless headers", answer: func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", "/"+strings.Repeat("x", 1<<20))
			rw.WriteHeader(http.StatusAccepted)
		}, waits: "headers exceeded"},
		{
			name: "a redirect to a private address", answer: redirect(http.StatusTemporaryRedirect),
			fails: "redirects are not followed",
		},
		{name: "303 to a private address", answer: redirect(http.StatusSeeOther), fails: "is not on the server"},
		{
			name: "a grant of another instance", answer: grant(func(g *sol.Grant) { g.VnfInstanceID = "x" }),
			fails: `/vnfInstanceId is "x"`,
		},
		{
			name: "a grant of another operation", answer: grant(func(g *sol.Grant) { g.VnfLcmOpOccID = "x" }),
			fails: `/vnfLcmOpOccId is "x"`,
		},
		{name: "a grant without id", answer: grant(func(g *sol.Grant) { g.ID = "" }), fails: "/id is missing"},
		{name: "a grant of nothing", answer: grant(func(*sol.Grant) {}), fails: "/addResources does not have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			w.Runner.Tuning.InlineWait = time.Nanosecond
			hostile := httptest.NewServer(tt.answer)
			t.Cleanup(hostile.Close)
			w.use(nfvo.Options{URL: hostile.URL, Timeout: time.Second})
			op := w.submit(sol.LcmOperationInstantiate, apitest.Params())
			if tt.fails != "" {
				require.Contains(t, w.ended(op, sol.LcmOperationStateRolledBack).Error.Detail, tt.fails)
				return
			}
			_, again, err := w.Runner.Advance(t.Context(), op.ID)
			require.NoError(t, err)
			require.True(t, again)
			require.Contains(t, w.read(op).Waiting, tt.waits)
		})
	}
}

// The NFVO may bring the VIM.
func TestGrantorBringsTheVim(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Services.NFVO = w.nfvo.URL
	req := apitest.Params()
	vim := req.VimConnectionInfo["vim1"]
	req.VimConnectionInfo = nil

	w.nfvo.Set(fake.Behaviour{})
	op := w.ended(w.submit(sol.LcmOperationInstantiate, req), sol.LcmOperationStateRolledBack)
	require.Contains(t, op.Error.Detail, "names no VIM connection")

	w.nfvo.Set(fake.Behaviour{Looks: 1, Change: func(_ sol.GrantRequest, g *sol.Grant) {
		other := vim
		other.VimType = "OTHER"
		g.VimConnectionInfo = map[string]sol.VimConnectionInfo{"chosen": vim, "another": other}
		for n := range g.AddResources {
			g.AddResources[n].VimConnectionID = "chosen"
		}
	}})
	w.ended(w.submit(sol.LcmOperationInstantiate, req), sol.LcmOperationStateCompleted)
	i, err := w.Store.Instance(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, vim.AccessInfo, i.VimConnections["chosen"].AccessInfo)
	key, _, _ := lcm.PrimaryVim(i.VimConnections)
	require.Equal(t, "chosen", key)
	require.Contains(t, i.VimConnections, "another")
	w.noSecrets()
	w.ended(w.submit(sol.LcmOperationTerminate, json.RawMessage(`{"terminationType":"FORCEFUL"}`)),
		sol.LcmOperationStateCompleted)
}

// noSecrets looks for the password of the VIM in the database.
func (w *world) noSecrets() {
	w.t.Helper()
	for _, table := range []string{"vnf_lcm_op_occ", "lcm_op_step", "lcm_op_phase", "event", "vnf_instance", "outbox"} {
		var rows, found int
		query := "SELECT count(*), count(*) FILTER (WHERE x::text LIKE $1) FROM " + table + " x"
		require.NoError(w.t, w.Pool.QueryRow(w.t.Context(), query, "%"+apitest.Password+"%").Scan(&rows, &found), table)
		require.Positive(w.t, rows, table)
		require.Zero(w.t, found, table)
	}
}
