package cloud

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gybe-nfv/gybe/pkg/lcm"
	"github.com/gybe-nfv/gybe/test/stubcloud"
)

// canned answers every request with the same bytes, without a network, and a login as a healthy Keystone if login is
// nil.
type canned struct {
	status   int
	header   http.Header
	body     []byte
	login    []byte
	requests atomic.Int64
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	res := &http.Response{
		StatusCode: c.status, Header: maps.Clone(c.header), Body: io.NopCloser(bytes.NewReader(c.body)),
		ContentLength: int64(len(c.body)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if strings.HasSuffix(r.URL.Path, "/auth/tokens") && c.login != nil {
		res.StatusCode, res.Header = http.StatusCreated, http.Header{"X-Subject-Token": {"token"}}
		res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(c.login)), int64(len(c.login))
	} else {
		c.requests.Add(1)
	}
	return res, nil
}

// fuzzPool is a pool whose requests all get the canned answer.
func fuzzPool(c *canned) *Pool {
	return NewPool(Config{
		WrapTransport: func(http.RoundTripper) http.RoundTripper { return c }, Timeout: time.Minute,
	}, slog.New(slog.DiscardHandler))
}

const healthyLogin = `{"token": {"expires_at": "2999-01-01T00:00:00.000000Z", "project": {"id": "p1", "name": "nfv"}, "catalog": [
{"type": "orchestration", "name": "heat", "endpoints": [{"interface": "public", "region": "RegionOne", "url": "http://vim.example/heat/v1/p1"}]},
{"type": "compute", "endpoints": [{"interface": "public", "region_id": "RegionOne", "url": "http://vim.example/compute/v2.1"}]},
{"type": "network", "endpoints": [{"interface": "public", "region": "RegionOne", "url": "http://vim.example"}]},
{"type": "volumev3", "endpoints": [{"interface": "public", "region": "RegionOne", "url": "http://vim.example/volume/v3/p1"}]},
{"type": "image", "endpoints": [{"interface": "public", "region": "RegionOne", "url": "http://vim.example/image"}]}]}}`

// checkError fails when an error is not one for users: without a class of its own, with secrets, too long, or with
// control characters.
func checkError(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	e, ok := errors.AsType[*lcm.Error](err)
	switch {
	case !ok:
		t.Fatalf("%T is not for users: %v", err, err)
	case e.Code != lcm.CodeUpstream && e.Code != lcm.CodeUnavailable && e.Code != lcm.CodeTimeout:
		t.Fatalf("an answer of a VIM is %s: %v", e.Code, e)
	case len(e.Error()) > 3000 || !utf8.ValidString(e.Error()):
		t.Fatalf("%d bytes: %q", len(e.Error()), e.Error())
	case strings.ContainsAny(e.Detail, "\n\r\x00"):
		t.Fatalf("lines: %q", e.Detail)
	}
	stubcloud.SecretFree(t, e.Error()+e.Hint)
}

// checkBudgets fails when an answer still holds memory.
func checkBudgets(t *testing.T, p *Pool) {
	t.Helper()
	if p.answers.held != 0 || !p.answers.decode.TryAcquire(p.answers.decoding) {
		t.Fatalf("%d bytes are still reserved, or a share of decoding", p.answers.held)
	}
	p.answers.decode.Release(p.answers.decoding)
}

// FuzzLogin gives the answer to a login. The session uses no address that is not in it, and no other service.
func FuzzLogin(f *testing.F) {
	f.Add(201, "token", []byte(healthyLogin))
	f.Add(201, "", []byte(healthyLogin))
	f.Add(401, "", []byte(`{"error": {"code": 401, "message": "no", "title": "Unauthorized"}}`))
	f.Add(302, "", []byte(""))
	f.Add(201, "t", []byte(`{"token": {"expires_at": 5, "catalog": {}}}`))
	f.Add(201, "t", []byte(`{"token": {"catalog": [{"type": "compute", "endpoints": [{"interface": "public", "url": "x"}]}]}}`))
	f.Fuzz(func(t *testing.T, status int, token string, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		answer := &canned{status: status, body: body, header: http.Header{"X-Subject-Token": {token}}}
		pool := fuzzPool(answer)
		c, err := pool.Connect(t.Context(), "v", stubcloud.VimAt("http://vim.example/identity/v3"))
		checkError(t, err)
		checkBudgets(t, pool)
		if n := answer.requests.Load(); n > 1 && status != http.StatusTooManyRequests {
			t.Fatalf("%d requests for one login", n)
		}
		if err != nil {
			return
		}
		if c.provider.Token() == "" {
			t.Fatal("logged in without a token")
		}
		for svc, base := range c.services {
			if !slices.Contains([]Service{Heat, Nova, Neutron, Glance, Cinder}, svc) {
				t.Fatalf("unknown service %q", svc)
			}
			if strings.HasSuffix(base, "/") && base != "/" && !strings.HasSuffix(base, "//") {
				t.Fatalf("%s at %q ends with a slash", svc, base)
			}
		}
	})
}

// FuzzServices gives the answer to a request to a service. Results are what was asked for, whatever else the answer
// has, and no answer causes more than a bounded number of requests.
func FuzzServices(f *testing.F) {
	for n, body := range []string{
		`{"stacks": [{"id": "a", "stack_name": "x", "stack_status": "CREATE_COMPLETE", "tags": ["t"]}], "links": [{"rel": "next", "href": "h"}]}`,
		`{"stack": {"id": "a", "creation_time": "2026-01-01T00:00:00Z", "parameters": {"nfv": "{}"}}}`,
		`{"resources": [{"resource_name": "r", "physical_resource_id": "a", "resource_type": "OS::Nova::Server", "links": [{"rel": "stack", "href": "http://h/v1/p/stacks/n/i"}]}]}`,
		`{"servers": [{"id": "a", "status": "ACTIVE", "image": "", "addresses": {"n": [{"addr": "10.0.0.1"}]}, "flavor": {"id": "1"}}]}`,
		`{"server": {"id": "a", "status": "ERROR", "fault": {"message": "m"}}}`,
		`{"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": true}}]}`,
		`{"ports": [{"id": "a", "fixed_ips": [{"ip_address": "10.0.0.1", "subnet_id": "s"}]}], "ports_links": [{"rel": "next"}]}`,
		`{"quota": {"port": {"used": 1, "limit": 2, "reserved": 0}}}`,
		`{"images": [{"id": "a", "name": "x", "tags": ["t"]}], "next": "/v2/images?marker=a"}`,
		`{"volumes": [{"id": "a", "size": 1, "attachments": [{"server_id": "s", "device": "/dev/vdb"}]}]}`,
		`{"limits": {"absolute": {"maxTotalInstances": 10, "maxTotalVolumes": 10}}}`,
		`{"versions": [{"id": "v2.1", "version": "2.96", "min_version": "2.1"}]}`,
		`{"itemNotFound": {"code": 404, "message": "m"}}`,
	} {
		for call := range uint8(16) {
			f.Add(call, []int{200, 404, 500}[n%3], []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, call uint8, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		answer := &canned{status: status, body: body, login: []byte(healthyLogin)}
		pool := fuzzPool(answer)
		c, err := pool.Connect(t.Context(), "v", stubcloud.VimAt("http://vim.example/identity/v3"))
		if err != nil {
			t.Fatal(err)
		}
		err = fuzzedCall(t, c, int(call)%16)
		if !errors.Is(err, errResult) {
			checkError(t, err)
		} else {
			t.Fatal(err)
		}
		checkBudgets(t, pool)
		if n := answer.requests.Load(); n > SurveyPages+20 {
			t.Fatalf("%d requests", n)
		}
	})
}

var errResult = errors.New("the result is not what was asked for")

// fuzzedCall makes one of 16 calls, and checks its result.
func fuzzedCall(t *testing.T, c *Client, call int) error { //nolint:cyclop // a table of calls
	t.Helper()
	ctx, began, ids := context.WithoutCancel(t.Context()), time.Unix(0, 0), []string{"a", "b"}
	switch call {
	case 0:
		s, err := c.FindStack(ctx, "x")
		if err == nil && s != nil && (s.Name != "x" || s.Status == "DELETE_COMPLETE") {
			return errResult
		}
		return err
	case 1:
		s, err := c.FindStackByID(ctx, "a")
		if err == nil && s != nil && s.ID != "a" {
			return errResult
		}
		return err
	case 2:
		_, created, err := c.StackParameters(ctx, &Stack{ID: "a", Name: "x"})
		if err != nil && !created.IsZero() {
			return errResult
		}
		return err
	case 3:
		all, err := c.ListResources(ctx, &Stack{ID: "a", Name: "x"})
		for _, r := range all {
			linked := r.Owner().ID + r.Nested().ID
			if r.Created().Location() != time.UTC || strings.Contains(linked, "?") && !hasEscape(r) {
				return errResult
			}
		}
		return err
	case 4:
		found, err := c.ReadServers(ctx, ids, began)
		for id, s := range found {
			if !slices.Contains(ids, id) || s.deleted() {
				return errResult
			}
		}
		return err
	case 5:
		s, err := c.ReadServer(ctx, "a")
		if len(s.String()) > len(s.ID)+len(s.Status)+len(s.Task)+MaxText+20 {
			return errResult
		}
		return err
	case 6:
		_, err := c.ListZones(ctx)
		return err
	case 7:
		_, err := c.ListFlavours(ctx)
		return err
	case 8:
		_, err := c.ComputeLimits(ctx)
		return err
	case 9:
		found, err := c.ReadPorts(ctx, ids)
		for id, p := range found {
			if id != p.ID || !slices.Contains(ids, id) {
				return errResult
			}
		}
		return err
	case 10:
		_, err := c.FindNetworks(ctx, ids)
		return err
	case 11:
		_, err := c.NetworkQuota(ctx)
		return err
	case 12:
		all, err := c.ListTaggedImages(ctx, "t")
		if slices.ContainsFunc(all, func(i Image) bool { return !i.HasTag("t") }) {
			return errResult
		}
		return err
	case 13:
		_, err := c.FindImages(ctx, "x")
		return err
	case 14:
		found, err := c.ReadVolumes(ctx, ids, began)
		for id := range found {
			if !slices.Contains(ids, id) {
				return errResult
			}
		}
		return err
	}
	_, _, err := c.VolumeLimits(ctx)
	return err
}

// hasEscape says whether a link of a resource has an escaped character: then its path may have any.
func hasEscape(r Resource) bool {
	return slices.ContainsFunc(r.Links, func(l Link) bool { return strings.Contains(l.Href, "%") })
}

// FuzzConnection reads a VIM connection of a request.
func FuzzConnection(f *testing.F) {
	f.Add("http://vim/identity/v3", "user", "s3cret-word", "nfv", "")
	f.Add("https://user:pass@vim/", "", "", "", "-----BEGIN CERTIFICATE-----")
	f.Add("//[::1%25eth0]:5000", "u", "p", "", "AAAA")
	f.Fuzz(func(t *testing.T, endpoint, user, password, project, ca string) {
		v := stubcloud.VimAt(endpoint)
		v.AccessInfo["username"], v.AccessInfo["password"], v.AccessInfo["project"] = user, password, project
		if ca != "" {
			v.InterfaceInfo["caCert"] = ca
		}
		c, bad := parseConnection("v", v)
		for _, b := range bad {
			if !strings.HasPrefix(b.Pointer, "/vimConnectionInfo/v/") ||
				len(password) > 6 && strings.Contains(b.Detail, password) {
				t.Fatalf("%+v", b)
			}
		}
		if len(bad) > 0 {
			return
		}
		u, err := url.Parse(c.base)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" ||
			u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q was accepted as %q", endpoint, c.base)
		}
		if _, err := c.tlsConfig(); err != nil {
			t.Fatalf("certificates were accepted: %v", err)
		}
	})
}
