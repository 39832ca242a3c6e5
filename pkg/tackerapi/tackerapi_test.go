package tackerapi_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/pkg/gybeapi"
	"github.com/gybe-nfv/gybe/pkg/tackerapi"
)

const (
	id     = "0b7b95a9-21d5-4ac4-80c8-9ae9f7323787"
	vnfdID = "b1db0ce7-ebca-2fb7-95ed-4840d70a1163"
	vimID  = "c3369b54-e376-4423-bb61-afd255900fea"
	pkgID  = "4e8b9d2c-ecb5-408b-a8ce-8ea0890bacbb"
	k8sVIM = "9b95449d-cac9-4e23-8e35-749c917ed181"
)

// answers is a server whose answers are given by path.
type answers struct {
	t    *testing.T
	base string

	mu       sync.Mutex
	byPath   map[string]http.HandlerFunc
	requests []string // method and path with query
}

func serve(t *testing.T) *answers {
	t.Helper()
	a := &answers{t: t, byPath: map[string]http.HandlerFunc{}}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	a.base = srv.URL
	return a
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests = append(a.requests, r.Method+" "+r.URL.RequestURI())
	h := a.byPath[r.URL.Path]
	a.mu.Unlock()
	if h == nil {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"status":404,"title":"Not Found","detail":"nothing at %s"}`, r.URL.Path)
		return
	}
	h(w, r)
}

// on answers a path with a JSON document.
func (a *answers) on(path, body string) {
	a.handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	})
}

func (a *answers) status(path string, status int, body string) {
	a.handle(path, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func (a *answers) handle(path string, h http.HandlerFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byPath[path] = h
}

func (a *answers) client(o tackerapi.Options) *tackerapi.Client {
	a.t.Helper()
	c, err := tackerapi.New(a.base+"/", o)
	require.NoError(a.t, err)
	return c
}

// version1 has an instance as version 1 of Tacker shows it: null members, a list of connections, relative links,
// parameters as a string.
func version1(t *testing.T) *answers {
	t.Helper()
	a := serve(t)
	a.on("/vnflcm/v1/vnf_instances/"+id, `{"id":"`+id+`","vnfInstanceName":"c","vnfInstanceDescription":null,
		"vnfdId":"`+vnfdID+`","vnfPkgId":"","instantiationState":"INSTANTIATED","vimConnectionInfo":[
		{"id":"k1","vimId":"`+vimID+`","vimType":"openstack","interfaceInfo":{},"accessInfo":{"password":"shown"}},
		{"id":"k2","vimId":"`+k8sVIM+`","vimType":"kubernetes","interfaceInfo":null}],
		"instantiatedVnfInfo":{"flavourId":"simple","extCpInfo":[{"id":"e","extLinkPortId":null}],
		"additionalParams":{"k8sClusterInstallationParam":{"vimName":"my cluster"}}},
		"_links":{"self":{"href":"/vnflcm/v1/vnf_instances/`+id+`"}}}`)
	a.on("/vnflcm/v1/vnf_lcm_op_occs", `[
		{"id":"o1","vnfInstanceId":"`+id+`","operation":"INSTANTIATE","startTime":"2024-05-01 10:00:00+00:00"},
		{"id":"o2","vnfInstanceId":"`+id+`","operation":"SCALE","startTime":"2024-05-02 10:00:00+00:00"},
		{"id":"other","vnfInstanceId":"another","operation":"SCALE","startTime":"2024-05-03 10:00:00+00:00"}]`)
	a.on("/vnflcm/v1/vnf_lcm_op_occs/o1", `{"id":"o1","operation":"INSTANTIATE","operationState":"COMPLETED",
		"error":null,"operationParams":"{\"flavourId\": \"simple\", \"additionalParams\": {\"a\": 1}}"}`)
	a.on("/vnflcm/v1/vnf_lcm_op_occs/o2", `{"id":"o2","operation":"SCALE","operationParams":""}`)
	a.on("/v1.0/vims/"+vimID, `{"vim":{"id":"`+vimID+`","name":"VIM0","type":"openstack",
		"auth_cred":{"password":"***"}}}`)
	a.on("/v1.0/vims", `{"vims":[{"id":"`+k8sVIM+`","name":"my cluster","type":"kubernetes"},
		{"id":"x","name":"someone else's"}]}`)
	return a
}

func TestInstanceOfVersion1(t *testing.T) {
	a := version1(t)
	in, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 0)
	require.NoError(t, err)
	require.Equal(t, "c", in.Name)
	require.Equal(t, "INSTANTIATED", in.State)
	require.Equal(t, vnfdID, in.VnfdID)
	require.Equal(t, []tackerapi.Connection{
		{Key: "k1", VimID: vimID, VimType: "openstack"}, {Key: "k2", VimID: k8sVIM, VimType: "kubernetes"},
	}, in.Connections)
	require.Equal(t, gybeapi.AdoptionSource{System: "tacker", Address: a.base, APIVersion: 1}, in.Request.Source)
	require.Contains(t, string(in.Request.VnfInstance), `"password":"shown"`, "the document is as Tacker shows it")
	require.Len(t, in.Request.Operations, 2)
	require.JSONEq(t, `{"id":"o2","operation":"SCALE","operationParams":null}`, string(in.Request.Operations[0]))
	require.JSONEq(t, `{"id":"o1","operation":"INSTANTIATE","operationState":"COMPLETED","error":null,
		"operationParams":{"flavourId":"simple","additionalParams":{"a":1}}}`, string(in.Request.Operations[1]))
	require.Len(t, in.Request.Vims, 2, "that of the list is k2's, which /v1.0/vims/{id} does not have")
	require.Contains(t, string(in.Request.Vims[0]), "VIM0")
	require.Contains(t, string(in.Request.Vims[1]), "my cluster")
}

func TestOnlyReadsAreSent(t *testing.T) {
	a := version1(t)
	content := []byte("PK content")
	sum := sha512.Sum512(content)
	shown := `{"id":"` + pkgID + `","vnfdId":"` + vnfdID + `","onboardingState":"ONBOARDED",
		"checksum":{"algorithm":"sha512","hash":"` + hex.EncodeToString(sum[:]) + `"}}`
	a.on("/vnfpkgm/v1/vnf_packages", "["+shown+"]")
	a.on("/vnfpkgm/v1/vnf_packages/"+pkgID, shown)
	a.on("/vnfpkgm/v1/vnf_packages/"+pkgID+"/package_content", string(content))
	c := a.client(tackerapi.Options{})
	_, err := c.Instance(t.Context(), id, 1)
	require.NoError(t, err)
	p, err := c.Package(t.Context(), vnfdID)
	require.NoError(t, err)
	var got bytes.Buffer
	n, err := c.Content(t.Context(), p, &got)
	require.NoError(t, err)
	require.EqualValues(t, len(content), n)
	require.Equal(t, content, got.Bytes())
	require.Greater(t, len(a.requests), 8)
	for _, r := range a.requests {
		require.True(t, strings.HasPrefix(r, "GET /"), r)
	}
}

func TestInstanceOfVersion2(t *testing.T) {
	a := serve(t)
	a.on("/vnflcm/api_versions", `{"uriPrefix":"/vnflcm","apiVersions":[{"version":"1.3.0","isDeprecated":false},
		{"version":"2.0.0"},{"version":"9.0.0"}]}`)
	a.on("/vnflcm/v2/vnf_instances/"+id, `{"id":"`+id+`","vnfdId":"`+vnfdID+`","instantiationState":"INSTANTIATED",
		"vimConnectionInfo":{"vim2":{"vimType":"t"},"vim1":{"vimId":"gone","vimType":"t"}}}`)
	page := func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "2.0.0", r.Header.Get("Version"))
		switch marker := r.URL.Query().Get("nextpage_opaque_marker"); marker {
		case "":
			assert.Equal(t, "(eq,vnfInstanceId,"+id+")", r.URL.Query().Get("filter"))
			next := "http://tacker.internal:9890/vnflcm/v2/vnf_lcm_op_occs?filter=f&nextpage_opaque_marker=m"
			w.Header().Set("Link", "<"+next+`>;rel="next"`)
			fmt.Fprintf(w, `[{"id":"a","vnfInstanceId":"%s","startTime":"2024-05-01T00:00:00Z"}]`, id)
		case "m":
			fmt.Fprintf(w, `[{"id":"b","vnfInstanceId":"%s","startTime":"2024-05-01T00:00:01Z"}]`, id)
		}
	}
	a.handle("/vnflcm/v2/vnf_lcm_op_occs", page)
	a.on("/vnflcm/v2/vnf_lcm_op_occs/a", `{"id":"a","operationParams":{"type":"SCALE_OUT"}}`)
	a.on("/vnflcm/v2/vnf_lcm_op_occs/b", `{"id":"b"}`)
	in, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 0)
	require.NoError(t, err)
	require.Equal(t, 2, in.Request.Source.APIVersion)
	require.Equal(t, []tackerapi.Connection{
		{Key: "vim1", VimID: "gone", VimType: "t"}, {Key: "vim2", VimType: "t"},
	}, in.Connections)
	require.Len(t, in.Request.Operations, 2)
	require.JSONEq(t, `{"id":"b"}`, string(in.Request.Operations[0]), "the newest first")
	require.JSONEq(t, `{"id":"a","operationParams":{"type":"SCALE_OUT"}}`, string(in.Request.Operations[1]))
	require.Empty(t, in.Request.Vims)
}

func TestOldTackerHasVersion1Only(t *testing.T) {
	a := version1(t)
	a.status("/vnflcm/v1/vnf_lcm_op_occs", http.StatusNotFound, "<html>404</html>")
	in, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 0)
	require.NoError(t, err)
	require.Equal(t, 1, in.Request.Source.APIVersion)
	require.Equal(t, []json.RawMessage{}, in.Request.Operations)
}

func TestInstanceOfVersion1IsFoundBesideVersion2(t *testing.T) {
	a := version1(t)
	a.on("/vnflcm/api_versions", `{"apiVersions":[{"version":"1.3.0"},{"version":"2.0.0"}]}`)
	in, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 0)
	require.NoError(t, err)
	require.Equal(t, 1, in.Request.Source.APIVersion)
}

func TestOperationsAreBoundedAndHaveTheInstantiation(t *testing.T) {
	a := version1(t)
	type occ struct {
		ID        string `json:"id"`
		Operation string `json:"operation"`
		Start     string `json:"startTime"`
	}
	all := []occ{{"first", "INSTANTIATE", "2020-01-01T00:00:00"}}
	a.on("/vnflcm/v1/vnf_lcm_op_occs/first", `{"id":"first"}`)
	for i := range gybeapi.MaxAdoptionOperations + 10 {
		o := occ{fmt.Sprintf("s%d", i), "SCALE", fmt.Sprintf("2021-01-01T%02d:%02d:00", i/60, i%60)}
		all = append(all, o)
		a.on("/vnflcm/v1/vnf_lcm_op_occs/"+o.ID, `{"id":"`+o.ID+`"}`)
	}
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	a.on("/vnflcm/v1/vnf_lcm_op_occs", string(raw))
	in, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 1)
	require.NoError(t, err)
	require.Len(t, in.Request.Operations, gybeapi.MaxAdoptionOperations)
	require.JSONEq(t, fmt.Sprintf(`{"id":"s%d"}`, gybeapi.MaxAdoptionOperations+9), string(in.Request.Operations[0]))
	require.JSONEq(t, `{"id":"first"}`, string(in.Request.Operations[gybeapi.MaxAdoptionOperations-1]))
}

func TestErrorsNameTackerThePathAndItsText(t *testing.T) {
	path := "/vnflcm/v2/vnf_instances/" + id
	for name, tc := range map[string]struct {
		status int
		body   string
		want   string
		hint   string
	}{
		"problem details": {
			404, `{"title":"VnfInstance","status":404,"detail":"VnfInstance 1 not found."}`,
			"404 Not Found: VnfInstance: VnfInstance 1 not found.", "try version 1",
		},
		"legacy": {
			400, `{"TackerError":{"type":"T","message":"bad \u001b[31mthing","detail":""}}`,
			"400 Bad Request: bad [31mthing", "",
		},
		"fault":             {500, `{"computeFault":{"code":500,"message":"boom\nboom"}}`, "500 Internal Server Error: boom boom", ""},
		"middleware":        {401, `{"error":{"message":"requires authentication","code":401}}`, "requires authentication", "OS_"},
		"forbidden":         {403, `{"forbidden":{"message":"no"}}`, "403 Forbidden: no", "who may read"},
		"page":              {502, "<html>a proxy</html>", "502 Bad Gateway", ""},
		"text":              {503, "try later", "503 Service Unavailable: try later", ""},
		"no JSON":           {200, "<html>hello</html>", "not the JSON of Tacker: syntax error", "port 9890"},
		"another document":  {200, `{"id":"x"}`, "not this VNF instance", "port 9890"},
		"connections":       {200, `{"id":"` + id + `","vnfdId":"d","vimConnectionInfo":"secret"}`, "wrong type (string)", ""},
		"wrong type":        {200, `{"id":["secret"]}`, "wrong type (array)", ""},
		"success, no body":  {204, "", "204 No Content", ""},
		"too much":          {200, `"` + strings.Repeat("x", 33<<20) + `"`, "larger than 32 MiB", ""},
		"text has an end":   {500, strings.Repeat("y", 9000), strings.Repeat("y", 500) + "…", ""},
		"text of a problem": {422, `{"detail":"only detail"}`, "422 Unprocessable Entity: only detail", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t)
			a.status(path, tc.status, tc.body)
			_, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 2)
			require.ErrorContains(t, err, "GET "+path+" of Tacker at "+a.base+": ")
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, tc.hint)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "\x1b")
			e, ok := errors.AsType[*tackerapi.Error](err)
			require.True(t, ok)
			require.Equal(t, tc.status, e.Status)
		})
	}
}

func TestListErrors(t *testing.T) {
	for name, tc := range map[string]struct{ link, body, want string }{
		"no list":             {"", `{"a":1}`, "not a list"},
		"a page names itself": {`</x?nextpage_opaque_marker=1>; rel="next"`, `[]`, "names itself"},
	} {
		t.Run(name, func(t *testing.T) {
			a := version1(t)
			a.handle("/vnflcm/v1/vnf_lcm_op_occs", func(w http.ResponseWriter, _ *http.Request) {
				if tc.link != "" {
					w.Header().Set("Link", tc.link)
				}
				_, _ = w.Write([]byte(tc.body))
			})
			_, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 1)
			require.ErrorContains(t, err, tc.want)
		})
	}
	t.Run("without end", func(t *testing.T) {
		a := version1(t)
		n := 0
		a.handle("/vnflcm/v1/vnf_lcm_op_occs", func(w http.ResponseWriter, _ *http.Request) {
			n++
			w.Header().Set("Link", fmt.Sprintf(`</x?nextpage_opaque_marker=%d>; rel="next"`, n))
			_, _ = w.Write([]byte("[]"))
		})
		_, err := a.client(tackerapi.Options{}).Instance(t.Context(), id, 1)
		require.ErrorContains(t, err, "more than 200 pages")
	})
}

func TestAddressAndID(t *testing.T) {
	for _, address := range []string{
		"", "tacker", "ftp://tacker", "http://", "http://user:secret@tacker", "http://tacker?a=b",
	} {
		_, err := tackerapi.New(address, tackerapi.Options{})
		require.Error(t, err, address)
		require.NotContains(t, err.Error(), "secret")
	}
	a := serve(t)
	for _, bad := range []string{"", "..", "name", "{" + id + "}", "urn:uuid:" + id} {
		_, err := a.client(tackerapi.Options{}).Instance(t.Context(), bad, 1)
		require.ErrorContains(t, err, "is a UUID")
	}
	require.Empty(t, a.requests)
}

// session is a login whose first token is rejected.
type session struct {
	token string
	again bool
	err   error
}

func (s *session) Apply(_ context.Context, h http.Header) error {
	h.Set("X-Auth-Token", s.token)
	return s.err
}

func (s *session) Renew(context.Context, []string) (bool, error) {
	s.token = "new"
	return s.again, nil
}

func TestCredentials(t *testing.T) {
	withLogin := func(t *testing.T) *answers {
		t.Helper()
		a := serve(t)
		path := "/vnflcm/v1/vnf_instances/" + id
		a.handle(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Auth-Token") != "new" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprintf(w, `{"id":"%s","vnfdId":"d"}`, id)
		})
		return a
	}
	a := withLogin(t)
	_, err := a.client(tackerapi.Options{Credentials: &session{token: "old", again: true}}).Instance(t.Context(), id, 1)
	require.NoError(t, err)
	_, err = withLogin(t).client(tackerapi.Options{Credentials: &session{token: "old"}}).Instance(t.Context(), id, 1)
	require.ErrorContains(t, err, "Tacker rejects the token")
	failing := &session{err: errors.New("Keystone is away")}
	_, err = withLogin(t).client(tackerapi.Options{Credentials: failing}).Instance(t.Context(), id, 1)
	require.ErrorContains(t, err, "Keystone is away")
}

func TestTokensDoNotFollowARedirect(t *testing.T) {
	thief := serve(t)
	a := serve(t)
	a.handle("/vnflcm/v1/vnf_instances/"+id, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.base+"/stolen", http.StatusTemporaryRedirect)
	})
	_, err := a.client(tackerapi.Options{HTTP: &http.Client{}, Credentials: &session{token: "t"}}).
		Instance(t.Context(), id, 1)
	require.ErrorContains(t, err, "which is not the same scheme, host and port")
	require.Empty(t, thief.requests)
}

func TestSilentTackerIsGivenUp(t *testing.T) {
	a := serve(t)
	hang := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte(`{"id"`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	a.handle("/vnflcm/v1/vnf_instances/"+id, hang)
	a.handle("/vnfpkgm/v1/vnf_packages/p/package_content", hang)
	c := a.client(tackerapi.Options{Timeout: 100 * time.Millisecond})
	_, err := c.Instance(t.Context(), id, 1)
	require.ErrorContains(t, err, "no complete response within 100ms")
	_, err = c.Content(t.Context(), &tackerapi.Package{ID: "p"}, &bytes.Buffer{})
	require.ErrorContains(t, err, "nothing has arrived for 100ms")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Instance(ctx, id, 1)
	require.ErrorIs(t, err, context.Canceled)

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c, err = tackerapi.New(gone.URL, tackerapi.Options{})
	require.NoError(t, err)
	_, err = c.Instance(t.Context(), id, 1)
	require.ErrorContains(t, err, "no complete response: ")
	require.ErrorContains(t, err, "check the address of Tacker")
}

func TestPackages(t *testing.T) {
	for name, tc := range map[string]struct{ list, shown, want string }{
		"envelope": {`{"vnf_packages":[{"id":"p","vnfdId":"d","onboardingState":"ONBOARDED"}]}`, `{"id":"p","vnfdId":"d"}`, ""},
		"list": {`[{"id":"q","vnfdId":"e","onboardingState":"ONBOARDED"},
			{"id":"p","vnfdId":"d","onboardingState":"ONBOARDED"}]`, `{"id":"p","vnfdId":"d"}`, ""},
		"none":                      {`[]`, ``, `no package has the VNFD "d"`},
		"created":                   {`[{"id":"p","vnfdId":"d","onboardingState":"PROCESSING"}]`, ``, `PROCESSING, not ONBOARDED`},
		"another":                   {`[{"id":"p","vnfdId":"d","onboardingState":"ONBOARDED"}]`, `{"id":"z"}`, "not this package"},
		"envelope without the list": {`{"packages":[]}`, ``, "not a list: it has a value of the wrong type (object)"},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t)
			a.on("/vnfpkgm/v1/vnf_packages", tc.list)
			a.on("/vnfpkgm/v1/vnf_packages/p", tc.shown)
			p, err := a.client(tackerapi.Options{}).Package(t.Context(), "d")
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "p", p.ID)
		})
	}
}

func TestContentIsVerifiedAndBounded(t *testing.T) {
	const content = "PK content of a package"
	sum := sha512.Sum512([]byte(content))
	good := hex.EncodeToString(sum[:])
	for name, tc := range map[string]struct {
		checksum tackerapi.Checksum
		limit    int64
		body     string
		want     string
	}{
		"with checksum":    {tackerapi.Checksum{Algorithm: "SHA-512", Hash: strings.ToUpper(good)}, 0, content, ""},
		"without checksum": {tackerapi.Checksum{}, 0, content, ""},
		"exactly":          {tackerapi.Checksum{}, int64(len(content)), content, ""},
		"other content":    {tackerapi.Checksum{Algorithm: "sha512", Hash: good}, 0, "other", "have the checksum"},
		"odd algorithm":    {tackerapi.Checksum{Algorithm: "md5", Hash: "00"}, 0, content, `unknown algorithm "md5"`},
		"no hash":          {tackerapi.Checksum{Algorithm: "sha512", Hash: "zz"}, 0, content, "not hexadecimal"},
		"too large":        {tackerapi.Checksum{}, int64(len(content)) - 1, content, "larger than 22 bytes"},
		"empty":            {tackerapi.Checksum{}, 0, "", "has no content"},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %t", name, chunked), func(t *testing.T) {
				a := serve(t)
				a.handle("/vnfpkgm/v1/vnf_packages/p/package_content", func(w http.ResponseWriter, _ *http.Request) {
					if chunked {
						_ = http.NewResponseController(w).Flush()
					}
					_, _ = w.Write([]byte(tc.body))
				})
				c := a.client(tackerapi.Options{MaxContent: tc.limit})
				n, err := c.Content(t.Context(), &tackerapi.Package{ID: "p", Checksum: tc.checksum}, &bytes.Buffer{})
				if tc.want != "" {
					require.ErrorContains(t, err, tc.want)
					return
				}
				require.NoError(t, err)
				require.EqualValues(t, len(content), n)
			})
		}
	}
}

func TestContentEndsEarly(t *testing.T) {
	a := serve(t)
	a.handle("/vnfpkgm/v1/vnf_packages/p/package_content", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("short"))
	})
	_, err := a.client(tackerapi.Options{}).Content(t.Context(), &tackerapi.Package{ID: "p"}, &bytes.Buffer{})
	require.ErrorContains(t, err, "no complete response: unexpected EOF")
}
