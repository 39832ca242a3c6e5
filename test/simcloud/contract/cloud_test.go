package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gybe-nfv/gybe/test/simcloud"
	"github.com/gybe-nfv/gybe/test/simcloud/sim"
)

type obj = map[string]any

// cloud is the cloud under test, as one user sees it.
type cloud struct {
	t     *testing.T
	topic string
	// sim is nil on a real cloud.
	sim       *simcloud.Cloud
	login     login
	token     string
	endpoints map[string]string
	project   string
}

// login is who comes.
type login struct{ url, region, user, password, project, domain string }

// places bound how many topics a real cloud has to bear at a time.
var places = sync.OnceValue(func() chan struct{} { return make(chan struct{}, 4) })

var client = &http.Client{
	Timeout:       2 * time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// connect logs in to the real cloud that the environment names, or to a fresh simulated one.
func connect(t *testing.T, topic string) *cloud {
	t.Helper()
	return connectWith(t, topic, simcloud.Options{})
}

// slow is a simulated cloud that takes a moment for everything, so that something can be seen in progress.
var slow = simcloud.Options{Timing: simcloud.Timing{
	Create: map[string]simcloud.Duration{"*": simcloud.Duration(150 * time.Millisecond)},
	Update: map[string]simcloud.Duration{"*": simcloud.Duration(150 * time.Millisecond)},
	Delete: map[string]simcloud.Duration{"*": simcloud.Duration(50 * time.Millisecond)},
}}

func connectWith(t *testing.T, topic string, opts simcloud.Options) *cloud {
	t.Helper()
	c := &cloud{t: t, topic: topic}
	if url := os.Getenv("OS_AUTH_URL"); url != "" {
		places() <- struct{}{}
		t.Cleanup(func() { <-places() })
		c.login = login{
			url: url, region: env("OS_REGION_NAME", "RegionOne"), user: os.Getenv("OS_USERNAME"),
			password: os.Getenv("OS_PASSWORD"), project: os.Getenv("OS_PROJECT_NAME"),
			domain: env("OS_USER_DOMAIN_ID", "default"),
		}
	} else {
		c.sim = simcloud.StartTest(t, opts)
		c.login = login{
			url: c.sim.AuthURL(), region: simcloud.Region, user: simcloud.Username, password: simcloud.Password,
			project: simcloud.Project, domain: "default",
		}
	}
	require.Equal(t, http.StatusCreated, c.logIn().status)
	return c
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

func (c *cloud) kind() string {
	if c.sim != nil {
		return "simulated"
	}
	return "real"
}

// other is the same cloud as a user of the second project sees it.
func (c *cloud) other() *cloud {
	o := *c
	o.login.project, o.login.user = env("CONTRACT_OTHER_PROJECT", simcloud.OtherProject), env(
		"CONTRACT_OTHER_USERNAME", simcloud.OtherUsername,
	)
	require.Equal(c.t, http.StatusCreated, o.logIn().status, "the second project")
	return &o
}

// logIn gets a token and the catalogue that comes with it.
func (c *cloud) logIn() reply {
	c.t.Helper()
	l := c.login
	r := c.request(http.MethodPost, l.url+"/auth/tokens", "", obj{"auth": obj{
		"identity": obj{"methods": []string{"password"}, "password": obj{
			"user": obj{"name": l.user, "password": l.password, "domain": obj{"id": l.domain}},
		}},
		"scope": obj{"project": obj{"name": l.project, "domain": obj{"id": l.domain}}},
	}}, nil)
	if r.status != http.StatusCreated {
		return r
	}
	c.token, c.project, c.endpoints = r.header.Get("X-Subject-Token"), r.str("token", "project",
		"id"), map[string]string{}
	for _, s := range r.list("token", "catalog") {
		for _, e := range at(s, "endpoints").([]any) {
			if at(e, "interface") == "public" && at(e, "region") == l.region {
				c.endpoints[at(s, "type").(string)] = strings.TrimSuffix(at(e, "url").(string), "/")
			}
		}
	}
	return r
}

// The services by the type in the catalogue and what comes before their paths.
var services = map[string][2]string{
	"heat": {"orchestration", ""}, "nova": {"compute", ""}, "neutron": {"network", "/v2.0"}, "glance": {"image", "/v2"},
	"cinder": {"volumev3", ""},
}

// call does one request to a service. A body that is a string is sent as it is.
func (c *cloud) call(method, service, path string, body any) reply {
	c.t.Helper()
	return c.callWith(method, service, path, body, nil)
}

func (c *cloud) callWith(method, service, path string, body any, header obj) reply {
	c.t.Helper()
	h := obj{}
	if service == "nova" {
		h["X-OpenStack-Nova-API-Version"] = "2.90"
	}
	maps.Copy(h, header)
	return c.request(method, c.url(service)+path, c.token, body, h)
}

func (c *cloud) url(service string) string {
	s := services[service]
	return c.endpoints[s[0]] + s[1]
}

func (c *cloud) request(method, url, token string, body any, header obj) reply {
	c.t.Helper()
	var content []byte
	switch b := body.(type) {
	case nil:
	case string:
		content = []byte(b)
	default:
		var err error
		content, err = json.Marshal(b)
		require.NoError(c.t, err)
	}
	// What a test has made must go after its end.
	req, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), method, url, bytes.NewReader(content))
	require.NoError(c.t, err)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("X-Auth-Token", token)
	}
	for k, v := range header {
		req.Header.Set(k, v.(string))
	}
	resp, err := client.Do(req)
	require.NoError(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	r := reply{status: resp.StatusCode, header: resp.Header, text: string(text)}
	_ = json.Unmarshal(text, &r.body) // not every body is JSON
	return r
}

// eventually polls at the pace of the cloud under test.
func (c *cloud) eventually(what string, ok func() bool) {
	c.t.Helper()
	patience, pause := 10*time.Second, time.Millisecond
	if c.sim == nil {
		patience, pause = 10*time.Minute, 300*time.Millisecond
	}
	end := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(end) {
			require.FailNow(c.t, "it never came to be that "+what)
		}
		c.idle(pause)
	}
}

// idle lets time pass.
func (c *cloud) idle(d time.Duration) {
	c.t.Helper()
	require.NoError(c.t, sim.Sleep(context.WithoutCancel(c.t.Context()), d))
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	text   string
	body   any
}

// at follows names and indexes; what is not there is nil.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (r reply) get(path ...any) any { return at(r.body, path...) }

func (r reply) str(path ...any) string {
	s, _ := r.get(path...).(string)
	return s
}

func (r reply) list(path ...any) []any {
	l, _ := r.get(path...).([]any)
	return l
}

// names are the values of one member of every entry of a list.
func names(list []any, member string) []string {
	out := []string{}
	for _, e := range list {
		s, _ := at(e, member).(string)
		out = append(out, s)
	}
	return out
}

// idOf finds something by its exact name in a list of a service.
func (c *cloud) idOf(service, path, plural, name string) string {
	c.t.Helper()
	for _, e := range c.call(http.MethodGet, service, path, nil).list(plural) {
		if at(e, "name") == name {
			return at(e, "id").(string)
		}
	}
	require.FailNow(c.t, "no "+name+" in "+plural)
	return ""
}
